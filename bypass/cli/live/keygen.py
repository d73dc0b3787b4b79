"""`bypass keygen`: keys for a broker and its clients."""

from __future__ import annotations

from pathlib import Path

import click

from bypass.cli.group import commands, refuse_unusable


@commands.command()
@click.argument("name", required=False)
@click.option("--admin", is_flag=True, help="The client may look at the broker and change it while it runs.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default="keys",
    show_default=True,
    metavar="DIR",
    help="The broker's folder of keys.",
)
@click.option("--group", is_flag=True, help="The key that nodes without a broker share.")
@click.option("--edge", "is_edge", is_flag=True, help="NAME is an edge, which `bypass edge` runs.")
def keygen(name: str | None, admin: bool, group: bool, is_edge: bool, folder: Path) -> None:
    """Make keys: without NAME those of the broker, which come first; with it those of a client, which the
    broker admits from then on, even while it runs.

    A NAME has 1 to 64 letters, digits, dots, _ and -. Nothing is ever overwritten.

    \b
    What is in DIR:
      broker.key        the broker's public and secret key; never leaves the broker's machine
      alice.key         a client's name, public and secret key, and the broker's public key:
                        move it to the client's machine, over a channel that nobody listens to,
                        where bypass.connect(..., keys="alice.key") reads it;
                        the broker does not need it
      group.key         what nodes without a broker know each other by: every member needs it, and can speak
                        for all
      hall.key          an edge's name and secret keys, for its own machine
      edges/hall.pub    its name and public keys, by which other edges and clients know it; a line such as
                        `address: 192.168.1.67` there has clients ask for it at that host, too
      clients/alice.pub the client's name, public key and rights: whoever has such a file is admitted

    Secret keys must be readable by their owner alone (mode 0600), on the client's machine too: that is how
    they are made, and others are not used. To expel a client, remove its .pub file; to take it in again, put
    the file back. To give it other keys, remove its .pub and its .key file and make new ones.

    \b
    Examples:
      bypass keygen
      bypass keygen alice
      bypass keygen operator --admin
      bypass keygen --group
      bypass keygen hall --edge
      bypass keygen alice --dir /etc/bypass/keys
      rm keys/clients/alice.pub
    """
    from bypass.live.keys import create_broker_keys, create_client_keys, create_group_key

    if name is None and admin:
        raise click.UsageError("--admin without NAME: expected the name of a client")
    if group and (name is not None or admin or is_edge):
        raise click.UsageError("--group with NAME, --admin or --edge: expected it alone")
    if is_edge and (name is None or admin):
        raise click.UsageError("--edge without NAME, or with --admin: expected the name of an edge")
    refuse_unusable(folder)
    if is_edge and name is not None:
        from bypass.live.edge.keys import create_edge_keys

        own, told = create_edge_keys(folder, name)
        click.echo(f"{name}'s keys, for its own machine: {own}")
        click.echo(f"for other edges and for clients: {told}")
        return
    if group:
        click.echo(f"the group's key, for every member: {create_group_key(folder)}")
        return
    if name is None:
        click.echo(f"the broker's keys: {create_broker_keys(folder)}")
        return
    own, listed = create_client_keys(folder, name, ("admin",) if admin else ())
    click.echo(f"{name}'s keys, for its own machine: {own}")
    click.echo(f"admitted{' as admin' if admin else ''}: {listed}")
