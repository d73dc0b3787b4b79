"""`bypass ingest register`, `unregister`, `keys` and `mechanisms`: devices, and what they need."""

from __future__ import annotations

from pathlib import Path

import click

from bypass.cli.ingest.group import folder_option, ingest


@ingest.command()
@folder_option
@click.argument("devices", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def register(folder: Path, devices: Path) -> None:
    """Register the devices of a YAML or JSON file: a list, or one. Those that are known are changed.

    Files of code that it names, such as parsers, are looked for from its folder.
    """
    from bypass.ingest.devices.device import read_devices
    from bypass.ingest.devices.key_store import KeyStore
    from bypass.ingest.devices.own_mechanisms import bring_mechanisms
    from bypass.ingest.devices.registry import DeviceRegistry
    from bypass.ingest.folder import IngestFolder

    bring_mechanisms(IngestFolder(folder))
    made = read_devices(devices)
    with DeviceRegistry(IngestFolder(folder).registry) as registry:
        added, changed = registry.put(*made)
        click.echo(f"{added} registered, {changed} changed; version {registry.version}")
    known = {*KeyStore(IngestFolder(folder).keys).names()}
    for device in made:
        for name in (device.keys, device.peer and device.peer.keys):
            if name is not None and name not in known:
                click.echo(f"warning: device {device.id}: key set {name}: is not in the key store", err=True)


@ingest.command()
@folder_option
@click.argument("devices", nargs=-1, required=True, metavar="DEVICE...")
def unregister(folder: Path, devices: tuple[str, ...]) -> None:
    """Remove devices by their ids, all or none. From the next batch on, their messages are dead letters; what
    is stored of them stays, and queries do not find it any more.

    \b
    Example:
      bypass ingest unregister truck-7
    """
    from bypass.errors import shown
    from bypass.ingest.devices.registry import DeviceRegistry, UnknownDevice
    from bypass.ingest.folder import IngestFolder

    path = IngestFolder(folder).registry
    if not path.exists():
        raise UnknownDevice(f"device {shown(devices[0])}: is not registered")
    with DeviceRegistry(path) as registry:
        version = registry.remove(*devices)
    click.echo(f"{len(devices)} removed; version {version}")


@ingest.command()
@folder_option
@click.argument("name", required=False)
@click.option("--suite", help="Make a new key set for this security suite.")
@click.option("--rotate", is_flag=True, help="Make new keys for a set; those of before stay valid.")
@click.option("--retire", is_flag=True, help="Have the newest keys of a set alone be valid.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="With --suite and --rotate: the file for the device.  [default: NAME.keys]",
)
def keys(
    folder: Path, name: str | None, suite: str | None, rotate: bool, retire: bool, out: Path | None
) -> None:
    """Make, rotate and retire key sets of devices; without a name, list them.

    \b
    Examples:
      bypass ingest keys truck-7 --suite AES256-GCM --out truck-7.keys
      bypass ingest keys truck-7 --rotate --out truck-7.new.keys
      bypass ingest keys truck-7 --retire
    """
    from bypass.ingest.devices.key_store import KeyStore
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.security.suite import find_suite

    store = KeyStore(IngestFolder(folder).keys)
    if name is None:
        click.echo("\n".join(store.names()) or "no key sets")
        return
    if sum((suite is not None, rotate, retire)) != 1:
        raise click.UsageError(f"keys {name}: expected one of --suite, --rotate and --retire")
    if retire:
        store.retire(name)
        click.echo(f"{name}: the newest keys alone are valid")
        return
    file = out or Path(f"{name}.keys")
    if file.exists():
        raise click.UsageError(f"--out {file}: exists: expected a new file")
    if suite is not None:
        try:
            roles = find_suite(suite).roles
        except ValueError as error:
            raise click.UsageError(f"--suite {error}") from None
        if not roles:
            raise click.UsageError(f"--suite {suite}: expected one that has keys")
        made = store.generate(name, roles)
    else:
        made = store.renew(name)
    made.write(file)
    click.echo(f"{name}: keys for the device: {file}")


@ingest.command()
@folder_option
@click.argument("references", nargs=-1)
@click.option("--remove", is_flag=True, help="Remove them instead; refused while something uses one.")
def mechanisms(folder: Path, references: tuple[str, ...], remove: bool) -> None:
    """Bring policies, row models, distributions and durabilities, as file.py:Class or module:Class; without a
    reference, list them. Processes that run know them within a batch, connectors when they start again, and
    forget those that were removed when they start again.

    \b
    Examples:
      bypass ingest mechanisms rising.py:Rising
      bypass ingest mechanisms --remove rising.py:Rising
    """
    from bypass.ingest.devices.own_mechanisms import add_mechanisms, own_mechanisms
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.service.mechanism_removal import remove_mechanisms

    files = IngestFolder(folder)
    if remove:
        if not references:
            raise click.UsageError("--remove: expected the references to remove")
        click.echo("\n".join(remove_mechanisms(files, references)) or "no mechanisms are left")
        return
    listed = add_mechanisms(files, references) if references else own_mechanisms(files)
    click.echo("\n".join(listed) or "no mechanisms were brought")
