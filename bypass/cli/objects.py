"""`bypass objects`: store objects at a live broker, find them by their tags, fetch and delete them."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bypass.cli.group import commands, parse_change
from bypass.cli.object_way import ObjectWay, way_options

if TYPE_CHECKING:
    from bypass.events.event import Event
    from bypass.events.filters import Filter, Subscription
    from bypass.live.client.blocking import BlockingConnection
    from bypass.objects.metadata import Metadata, ObjectKey

CONDITION = re.compile(
    r"\s*([^\s=!<>]+)\s*(<=|>=|!=|[=<>]|(?<=\s)(?:in|prefix|suffix|contains)(?=\s))\s*(\S.*)"
)
"""The name of an attribute, an operator and a value."""


@commands.group()
def objects() -> None:
    """Objects that stay: store them at a broker, find them by tags in the past and as they come.

    With --neighbours there is no broker: each command is a node for a while among those that store.

    \b
    Examples:
      bypass objects insert photo.jpg --tag beach --tag sunset --summary "last evening"
      bypass objects query 'beach & (sunset | ~rain)' --since -1h
      bypass objects query 'beach' --follow --json
      bypass objects retrieve 7/photo.jpg --out photo.jpg
      bypass objects delete 7/photo.jpg
      bypass objects serve --neighbours 192.168.1.5/24 --at 50 50 --store node.db

    A key such as 7/photo.jpg has the number of who inserted the object, and its name.
    """


namespace_option = click.option(
    "--namespace", default="", help="Objects of other namespaces are not seen, nor see this one."
)


@objects.command()
@click.argument("file", type=click.File("rb"))
@click.option("--tag", "tags", multiple=True, required=True, help="By which it is found; repeatable.")
@click.option("--name", default="", help="Unique among those of its owner; the file's if not given.")
@click.option("--summary", default="", help="A small description, told to whoever finds it.")
@click.option("--place", nargs=2, type=float, metavar="X Y", help="Where it belongs, in metres.")
@click.option(
    "--attribute", "attributes", multiple=True, metavar="NAME=VALUE", help="An attribute; repeatable."
)
@namespace_option
@way_options
def insert(
    file: Any,
    tags: tuple[str, ...],
    name: str,
    summary: str,
    place: tuple[float, float] | None,
    attributes: tuple[str, ...],
    namespace: str,
    way: ObjectWay,
) -> None:
    """Store FILE (- is standard input) and publish it: prints its key when it is safe.

    \b
    Examples:
      bypass objects insert photo.jpg --tag beach --tag sunset
      date | bypass objects insert - --tag clock --name "now"
      bypass objects insert photo.jpg --tag beach --place 120 80 --attribute level=4
    """
    way.check_owner()
    described = _event(attributes)
    data = file.read()
    name = name or ("" if file.name == "<stdin>" else Path(file.name).name)
    with way.visit() as me:
        key = me.insert(
            data,
            set(tags),
            name=name,
            summary=summary.encode(),
            place=place or None,
            attributes=described,
            namespace=namespace,
        )
        shared = me.kept_by_others(key)
    click.echo(str(key))
    if not shared:
        raise click.ClickException(
            f"object {key}: no other node has it: it is found while one with --store {way.store} runs"
        )


@objects.command()
@click.argument("formula")
@click.option("--since", help="Published then or later: -1h, 2026-11-18T10:00Z, or seconds since 1970.")
@click.option("--until", help="Published before then.")
@click.option("--near", nargs=3, type=float, metavar="X Y RADIUS", help="In this circle, in metres.")
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="With such an attribute, as in 'level > 3'; repeatable: all have to hold.",
)
@click.option("--limit", type=click.IntRange(min=1), help="So many at most.")
@click.option("--follow", is_flag=True, help="Go on with what comes, until interrupted.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with all that is known.")
@namespace_option
@way_options
def query(
    formula: str,
    since: str | None,
    until: str | None,
    near: tuple[float, float, float] | None,
    conditions: tuple[str, ...],
    limit: int | None,
    follow: bool,
    as_json: bool,
    namespace: str,
    way: ObjectWay,
) -> None:
    """Find objects whose tags satisfy FORMULA, the latest first.

    Tags are joined by & (and), | (or), ~ (not) and ( ); one with other characters stands in "quotes". A
    mistake is marked where it is. A condition has the name of an attribute, one of = != < <= > >= in prefix
    suffix contains, and a value.

    \b
    Examples:
      bypass objects query 'beach & ~rain' --since -1h
      bypass objects query 'beach & (sunset | sunrise)' --near 0 0 500 --json
      bypass objects query 'alarm' --since now --follow --where 'level > 3'
    """
    where = _filters(conditions)
    if until is None and not follow:
        until = "now"
    with way.visit() as me:
        window = {"since": since, "until": until}
        with me.query(formula, **window, near=near or None, where=where, namespace=namespace) as found:
            for number, match in enumerate(found, 1):
                click.echo(json.dumps(_described(match.metadata)) if as_json else _line(match.metadata))
                sys.stdout.flush()
                if number == limit:
                    break


@objects.command()
@click.argument("key")
@click.option("--out", type=click.Path(path_type=Path), help="A file; standard output if not given.")
@click.option("--digest", help="What the bytes are checked by, as `query` says; unchecked without.")
@click.option("--query", "formula", help="A formula that finds it; needed without a broker.")
@namespace_option
@way_options
def retrieve(
    key: str, out: Path | None, digest: str | None, formula: str | None, namespace: str, way: ObjectWay
) -> None:
    """Fetch the bytes of the object KEY, as `query` has shown it.

    \b
    Examples:
      bypass objects retrieve 7/photo.jpg --out photo.jpg
      bypass objects retrieve 7/notes.txt | less
      bypass objects retrieve 7/notes.txt --neighbours 192.168.1.5/24 --at 50 50 --query notes
    """
    from bypass.errors import OperationFailed
    from bypass.objects.metadata import content_hash

    wanted = _key(key)
    if way.is_direct and formula is None:
        raise click.UsageError("--neighbours without --query: expected a formula that finds the object")
    with way.visit() as me:
        data = me.retrieve(wanted) if formula is None else _found(me, wanted, formula, namespace)
    if digest is not None and content_hash(data).hex() != digest.lower():
        raise OperationFailed(f"object {key}: its bytes have another digest than {digest}: expected that one")
    if out is None:
        sys.stdout.buffer.write(data)
    else:
        out.write_bytes(data)


@objects.command()
@click.argument("keys_of_objects", nargs=-1, required=True, metavar="KEY...")
@way_options
def delete(keys_of_objects: Sequence[str], way: ObjectWay) -> None:
    """Delete objects that this client's key has inserted, for everybody and for times past, too.

    \b
    Example:
      bypass objects delete 7/photo.jpg
    """
    wanted = [_key(each) for each in keys_of_objects]
    if way.is_direct and way.store is None:
        raise click.UsageError(
            "--neighbours without --store: expected the file with what deletes the objects"
        )
    with way.visit() as me:
        for each in wanted:
            me.delete(each)


@objects.command()
@way_options
def serve(way: ObjectWay) -> None:
    """Store for others without a broker, until interrupted: this machine works for the cell in which it is.

    \b
    Example:
      bypass objects serve --neighbours 192.168.1.5/24 --at 50 50 --set side=100 --store node.db
    """
    if not way.is_direct:
        raise click.UsageError("without --neighbours: expected them: at a broker `bypass broker` serves")
    ends = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # before there are threads that would take them
    with way.connect(visiting=False) as me:
        click.echo(f"node {way.node}, number {me.number}, serves", err=True)
        signal.sigwait(ends)


def _found(me: BlockingConnection, wanted: ObjectKey, formula: str, namespace: str) -> bytes:
    """Fetch an object that a formula finds. Raises UnknownObject if none with the key is found."""
    from bypass.errors import UnknownObject

    with me.query(formula, until="now", namespace=namespace) as found:
        for match in found:
            if match.key == wanted:
                return match.retrieve()
    raise UnknownObject(f"object {wanted}: expected one that {formula!r} finds")


def _key(text: str) -> ObjectKey:
    from bypass.objects.metadata import ObjectKey

    owner, slash, name = text.partition("/")
    if not (slash and name and owner.isascii() and owner.isdigit() and int(owner) < 1 << 32):
        raise click.UsageError(f"key {text!r}: expected OWNER/NAME, such as 7/photo.jpg")
    return ObjectKey(int(owner), name)


def _event(attributes: Sequence[str]) -> Event | None:
    """The attributes of an object; None if it has none. Raises UsageError and InvalidEvent."""
    from bypass.events.event import Event

    if not attributes:
        return None
    return Event([parse_change(each, "--attribute", "level=4") for each in attributes])


def _filters(conditions: Sequence[str]) -> Subscription | None:
    """The filters of an object's attributes; None if all pass. Raises UsageError and InvalidFilter."""
    from bypass.events.filters import Subscription

    return Subscription(tuple(map(_filter, conditions))) if conditions else None


def _filter(text: str) -> Filter:
    from bypass.events.filters import attr

    parts = CONDITION.fullmatch(text)
    if parts is None:
        raise click.UsageError(f"--where {text!r}: expected a condition, such as 'level > 3'")
    name, op, value = parts.groups()
    _, known = parse_change(f"{name}={value}", "--where", "level > 3")
    return attr(name).op(op, known)


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
