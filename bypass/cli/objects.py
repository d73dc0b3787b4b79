"""`bypass objects`: store objects at a live broker, find them by their tags, fetch and delete them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bypass.cli.group import commands
from bypass.cli.operate import DEFAULT_BROKER

if TYPE_CHECKING:
    from bypass.live.client.blocking import BlockingConnection
    from bypass.objects.metadata import Metadata, ObjectKey

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_KEYS = Path("keys/me.key")
SESSION = "objects"
"""The name of the session that these commands share, beside those of a key's applications."""


@commands.group()
def objects() -> None:
    """Objects that stay: store them at a broker, find them by tags in the past and as they come.

    \b
    Examples:
      bypass objects insert photo.jpg --tag beach --tag sunset --summary "last evening"
      bypass objects query 'beach & (sunset | ~rain)' --since -1h
      bypass objects query 'beach' --follow --json
      bypass objects retrieve 7/photo.jpg --out photo.jpg
      bypass objects delete 7/photo.jpg

    A key such as 7/photo.jpg has the number of who inserted the object, and its name.
    """


def client_options(command: F) -> F:
    """How to reach the broker, and as whom."""
    options = (
        click.option("--broker", default=DEFAULT_BROKER, show_default=True, metavar="ADDRESS"),
        click.option(
            "--keys",
            type=click.Path(path_type=Path),
            default=DEFAULT_KEYS,
            show_default=True,
            help="A client's key: `bypass keygen me` makes one.",
        ),
        click.option("--open", "is_open", is_flag=True, help="The broker is open: no keys."),
    )
    for option in reversed(options):
        command = option(command)
    return command


namespace_option = click.option(
    "--namespace", default="", help="Objects of other namespaces are not seen, nor see this one."
)


@objects.command()
@click.argument("file", type=click.File("rb"))
@click.option("--tag", "tags", multiple=True, required=True, help="By which it is found; repeatable.")
@click.option("--name", default="", help="Unique among those of its owner; the file's if not given.")
@click.option("--summary", default="", help="A small description, told to whoever finds it.")
@click.option("--place", nargs=2, type=float, metavar="X Y", help="Where it belongs, in metres.")
@namespace_option
@client_options
def insert(
    file: Any,
    tags: tuple[str, ...],
    name: str,
    summary: str,
    place: tuple[float, float] | None,
    namespace: str,
    broker: str,
    keys: Path,
    is_open: bool,
) -> None:
    """Store FILE (- is standard input) and publish it: prints its key when it is safe.

    \b
    Examples:
      bypass objects insert photo.jpg --tag beach --tag sunset
      date | bypass objects insert - --tag clock --name "now"
    """
    data = file.read()
    name = name or ("" if file.name == "<stdin>" else Path(file.name).name)
    with _connection(broker, keys, is_open) as me:
        key = me.insert(
            data, set(tags), name=name, summary=summary.encode(), place=place or None, namespace=namespace
        )
    click.echo(str(key))


@objects.command()
@click.argument("formula")
@click.option("--since", help="Published then or later: -1h, 2026-11-18T10:00Z, or seconds since 1970.")
@click.option("--until", help="Published before then.")
@click.option("--near", nargs=3, type=float, metavar="X Y RADIUS", help="In this circle, in metres.")
@click.option("--limit", type=click.IntRange(min=1), help="So many at most.")
@click.option("--follow", is_flag=True, help="Go on with what comes, until interrupted.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with all that is known.")
@namespace_option
@client_options
def query(
    formula: str,
    since: str | None,
    until: str | None,
    near: tuple[float, float, float] | None,
    limit: int | None,
    follow: bool,
    as_json: bool,
    namespace: str,
    broker: str,
    keys: Path,
    is_open: bool,
) -> None:
    """Find objects whose tags satisfy FORMULA, the latest first.

    Tags are joined by & (and), | (or), ~ (not) and ( ); one with other characters stands in "quotes". A
    mistake is marked where it is.

    \b
    Examples:
      bypass objects query 'beach & ~rain' --since -1h
      bypass objects query 'beach & (sunset | sunrise)' --near 0 0 500 --json
      bypass objects query 'alarm' --since now --follow
    """
    if until is None and not follow:
        until = "now"
    with _connection(broker, keys, is_open) as me:
        window = {"since": since, "until": until}
        with me.query(formula, **window, near=near or None, namespace=namespace) as found:  # type: ignore[arg-type]
            for number, match in enumerate(found, 1):
                click.echo(json.dumps(_described(match.metadata)) if as_json else _line(match.metadata))
                sys.stdout.flush()
                if number == limit:
                    break


@objects.command()
@click.argument("key")
@click.option("--out", type=click.Path(path_type=Path), help="A file; standard output if not given.")
@click.option("--digest", help="What the bytes are checked by, as `query` says; unchecked without.")
@client_options
def retrieve(key: str, out: Path | None, digest: str | None, broker: str, keys: Path, is_open: bool) -> None:
    """Fetch the bytes of the object KEY, as `query` has shown it.

    \b
    Examples:
      bypass objects retrieve 7/photo.jpg --out photo.jpg
      bypass objects retrieve 7/notes.txt | less
    """
    from bypass.errors import OperationFailed
    from bypass.objects.metadata import content_hash

    with _connection(broker, keys, is_open) as me:
        data = me.retrieve(_key(key))
    if digest is not None and content_hash(data).hex() != digest.lower():
        raise OperationFailed(f"object {key}: its bytes have another digest than {digest}: expected that one")
    if out is None:
        sys.stdout.buffer.write(data)
    else:
        out.write_bytes(data)


@objects.command()
@click.argument("keys_of_objects", nargs=-1, required=True, metavar="KEY...")
@client_options
def delete(keys_of_objects: Sequence[str], broker: str, keys: Path, is_open: bool) -> None:
    """Delete objects that this client's key has inserted, for everybody and for times past, too.

    \b
    Example:
      bypass objects delete 7/photo.jpg
    """
    wanted = [_key(each) for each in keys_of_objects]
    with _connection(broker, keys, is_open) as me:
        for each in wanted:
            me.delete(each)


def _connection(broker: str, keys: Path, is_open: bool) -> BlockingConnection:
    from bypass.live.client.blocking import connect_blocking

    if is_open:
        return connect_blocking(broker, open=True, name=SESSION)
    return connect_blocking(broker, keys=keys, name=SESSION)


def _key(text: str) -> ObjectKey:
    from bypass.objects.metadata import ObjectKey

    owner, slash, name = text.partition("/")
    if not (slash and name and owner.isascii() and owner.isdigit() and int(owner) < 1 << 32):
        raise click.UsageError(f"key {text!r}: expected OWNER/NAME, such as 7/photo.jpg")
    return ObjectKey(int(owner), name)


def _line(metadata: Metadata) -> str:
    at = datetime.fromtimestamp(metadata.published_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
    summary = metadata.summary.decode("utf-8", "replace")
    shown = "".join(each if each.isprintable() else " " for each in summary)[:60]
    tags = " ".join(sorted(metadata.tags))
    return f"{at}  {metadata.key}  {metadata.size} bytes  [{tags}]  {shown}".rstrip()


def _described(metadata: Metadata) -> dict[str, Any]:
    attributes = metadata.attributes
    return {
        "key": str(metadata.key),
        "owner": metadata.key.owner,
        "name": metadata.key.name,
        "tags": sorted(metadata.tags),
        "published": metadata.published_us / 1e6,
        "size": metadata.size,
        "digest": metadata.digest.hex(),
        "summary": metadata.summary.decode("utf-8", "replace"),
        "place": metadata.place,
        "attributes": None if attributes is None else {name: str(v) for name, v in attributes.attributes},
        "namespace": metadata.namespace,
    }
