"""`bypass ingest query`, `token` and `events`: what comes out of the data pipeline."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bypass import attr
from bypass.cli.ingest.group import folder_option, ingest
from bypass.events.filters import Subscription

if TYPE_CHECKING:
    import pyarrow as pa

    from bypass.ingest.queries.selection import Selection


@ingest.command()
@folder_option
@click.option("--tenant", default="default", show_default=True)
@click.option("--device", multiple=True, help="The id of a device; repeatable.  [default: all of the tenant]")
@click.option("--metric", multiple=True, help="A metric; repeatable.  [default: all]")
@click.option(
    "--devices",
    default="",
    metavar="PREDICATE",
    help="Only devices that pass it, by id, application, region, policy and metadata.",
)
@click.option(
    "--where",
    default="",
    metavar="PREDICATE",
    help="Only measurements that pass it, by device, metric, value, type, uom, time and received.",
)
@click.option("--since", help="A time: -1h, or ISO 8601.")
@click.option("--until", help="A time, excluded.")
@click.option("--latest", is_flag=True, help="Only the latest measurement of each metric.")
@click.option("--follow", is_flag=True, help="Go on with those that come, until interrupted.")
@click.option("--cursor", help="With --follow: go on behind this cursor of an earlier answer.")
@click.option("--cursors", is_flag=True, help="With --follow: print cursors, each behind what it stands for.")
def query(
    folder: Path,
    tenant: str,
    device: tuple[str, ...],
    metric: tuple[str, ...],
    devices: str,
    where: str,
    since: str | None,
    until: str | None,
    latest: bool,
    follow: bool,
    cursor: str | None,
    cursors: bool,
) -> None:
    """Print measurements, one a line, as JSON.

    \b
    Predicates are tests, joined by and, or, not and parentheses:
      kind = truck and (depot in {Turin, Milan} or not driver exists)
      metric = speed and value >= 20.5 or metric prefix alarm.
    Operators are = != < <= > >= in prefix suffix contains exists.

    \b
    Examples:
      bypass ingest query --devices "kind = truck" --where "metric = speed and value > 80" --since -1h
      bypass ingest query --device truck-7 --latest
      bypass ingest query --follow --since -5m --cursors
    """
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.queries.reader import MeasurementReader
    from bypass.ingest.queries.selection import Selection, parse_time

    if latest and follow:
        raise click.UsageError("--latest and --follow: expected one of them")
    if not follow and (cursor or cursors):
        raise click.UsageError("--cursor and --cursors: expected --follow")
    selection = Selection(
        tenant,
        _all_of(devices, "id", device),
        _all_of(where, "metric", metric),
        None if since is None else parse_time(since),
        None if until is None else parse_time(until),
    )
    reader = MeasurementReader(IngestFolder(folder))
    if follow:
        asyncio.run(_follow(folder, selection, cursor, cursors))
    elif latest:
        _print(reader.latest(selection))
    else:
        cursor_at = reader.begin()
        while cursor_at.in_snapshot:
            page = reader.page(selection, cursor_at)
            _print(page.rows)
            cursor_at = page.cursor


def _all_of(predicate: str, name: str, values: tuple[str, ...]) -> Subscription | str:
    """A predicate and, if there are values, that an attribute has one of them."""
    from bypass.ingest.queries.predicate import parse_predicate

    if not values:
        return predicate
    one = Subscription.of(attr(name).in_(values))
    return one & parse_predicate(predicate) if predicate.strip() else one


async def _follow(folder: Path, selection: Selection, cursor: str | None, cursors: bool) -> None:
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.queries.cursor import QueryCursor
    from bypass.ingest.queries.subscription import subscribe

    start = None if cursor is None else QueryCursor.parse(cursor)
    async for page in subscribe(IngestFolder(folder), selection, cursor=start):
        _print(page.rows)
        if cursors:
            click.echo(json.dumps({"cursor": str(page.cursor)}))


def _print(rows: pa.Table) -> None:
    from bypass.ingest.queries.plain_rows import plain_rows

    for row in plain_rows(rows):
        click.echo(json.dumps(row))


_DURATION = re.compile(r"(\d{1,9})([smhd])")


@ingest.command()
@folder_option
@click.option("--tenant", required=True, help="The tenant whose data it opens.")
@click.option(
    "--allow",
    default="query",
    show_default=True,
    help="Operations, with commas between: query, register, operate.",
)
@click.option("--for", "duration", default="1h", show_default=True, help="How long: 30m, 12h, 7d.")
def token(folder: Path, tenant: str, allow: str, duration: str) -> None:
    """Print a token for the HTTP interface. It is a secret: whoever has it may do what it allows.

    \b
    Examples:
      bypass ingest token --tenant fleet --allow query,register --for 12h
      curl -H "Authorization: Bearer $(bypass ingest token --tenant fleet)" http://127.0.0.1:7793/devices
    """
    from bypass.ingest.devices.key_store import KeyStore
    from bypass.ingest.exposure.tokens import issue_token
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.queries.selection import SECONDS

    given = _DURATION.fullmatch(duration)
    if given is None:
        raise click.UsageError(f"--for {duration!r}: expected a duration such as 30m, 12h or 7d")
    seconds = int(given[1]) * SECONDS[given[2]]
    operations = [each.strip() for each in allow.split(",") if each.strip()]
    click.echo(issue_token(KeyStore(IngestFolder(folder).keys), tenant, operations, seconds))


@ingest.command()
@folder_option
@click.argument("endpoint")
@click.option("--keys", type=click.Path(path_type=Path, exists=True), help="The key file of the client.")
@click.option("--name", default="ingestion", show_default=True, help="The name of the client.")
@click.option("--tenant", default="default", show_default=True)
@click.option("--devices", default="", metavar="PREDICATE", help="Only devices that pass it.")
@click.option("--where", default="", metavar="PREDICATE", help="Only measurements that pass it.")
def events(
    folder: Path, endpoint: str, keys: Path | None, name: str, tenant: str, devices: str, where: str
) -> None:
    """Publish measurements as they come to a live broker, as events at the place of their device.

    Devices say where they are by the metrics x and y (metres) or lat and lon (degrees). An event has the
    attributes device, time, ingested, and one for each metric.

    \b
    Examples:
      bypass ingest events tcp://127.0.0.1:7770 --tenant fleet --devices "kind = truck"
      bypass ingest events tcp://broker:7770 --keys ingestion.key --name fleet
    """
    from bypass.ingest.exposure.event_bridge import EventBridge
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.queries.selection import Selection
    from bypass.live.client.connection import connect

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    bridge = EventBridge(IngestFolder(folder), Selection(tenant, devices, where), name)
    click.echo(f"Publishing to {endpoint}; Ctrl-C ends it.")
    asyncio.run(bridge.run(lambda: connect(endpoint, keys=keys, open=keys is None, name=name)))
