"""`bypass ingest`: the data pipeline."""

from __future__ import annotations

import json
import logging
import signal
import threading
from pathlib import Path
from typing import Any

import click

from bypass.cli.console import show_table
from bypass.cli.group import commands, need_ingest

folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("ingest"),
    show_default=True,
    help="The folder of the installation: its log, registry, tables and state.",
)


@commands.group()
def ingest() -> None:
    """Take in messages of devices, keep them as measurements, and query them while they flow.

    \b
    Examples:
      bypass ingest register devices.yaml
      bypass ingest start --tcp 127.0.0.1:7791 --http 127.0.0.1:7792
      bypass ingest status --json
      bypass ingest query --device truck-7 --metric speed --since -1h
    """
    need_ingest()


@ingest.command()
@folder_option
@click.option("--tcp", metavar="HOST:PORT", help="Take length-prefixed frames there, with replies.")
@click.option("--udp", metavar="HOST:PORT", help="Take datagrams there; nothing is promised.")
@click.option("--http", metavar="HOST:PORT", help="Take POST requests there.")
@click.option(
    "--mqtt",
    metavar="HOST:PORT",
    help="Take messages from an MQTT broker, of the topics app/CATEGORY/DEVICE.",
)
@click.option("--files", type=click.Path(path_type=Path), help="Take files that appear in a folder.")
@click.option("--master", metavar="URL", help="A Spark cluster.  [default: this machine's cores]")
@click.option("--most", default=200_000, show_default=True, help="Messages of a batch.")
@click.option(
    "--letter-days",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    help="How long dead letters are kept.",
)
@click.option(
    "--durability",
    type=click.Choice(["none", "log-only", "full-sync"]),
    default="log-only",
    show_default=True,
    help="What an acknowledged message survives: nothing, the process, or the machine.",
)
def start(
    folder: Path,
    master: str | None,
    most: int,
    letter_days: int,
    durability: str,
    **addresses: str | Path | None,
) -> None:
    """Run connectors and the stream until interrupted. Each is a process of its own, which is started
    again if it ends; what was acknowledged is not lost with it."""
    from bypass.ingest.folder_lock import only_one
    from bypass.ingest.service.supervisor import Supervisor

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    folder = folder.resolve()  # other processes may have other directories
    folder.mkdir(parents=True, exist_ok=True)
    given = [f"--{name}={value}" for name, value in addresses.items() if value is not None]
    stream = ["bypass.ingest.service.stream_process", str(folder), f"--most={most}"]
    stream.append(f"--letter-days={letter_days}")
    processes = {"stream": [*stream, *([f"--master={master}"] if master else [])]}
    if given:
        given.append(f"--durability={durability}")
        processes["connectors"] = ["bypass.ingest.service.connector_process", str(folder), *given]
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with only_one(folder / "start.lock", "another `bypass ingest start` runs here"):
        click.echo(f"Ingesting into {folder}; Ctrl-C ends it.")
        Supervisor(processes).run(stop)


@ingest.command()
@folder_option
@click.option("--json", "as_json", is_flag=True, help="Print everything, for programs.")
def status(folder: Path, as_json: bool) -> None:
    """Say what became of all messages: received = refused + stored + filtered + duplicates + dead letters
    + lag."""
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.service.status import read_status

    found = read_status(IngestFolder(folder))
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    rows = [["messages", ""]]
    for name, value in found.to_dict().items():
        if isinstance(value, dict):
            rows.append([name, str(sum(value.values()))])
            rows += [[f"  {reason}", str(count)] for reason, count in sorted(value.items())]
        else:
            rows.append([name, f"{value:.1f}" if isinstance(value, float) else str(value)])
    show_table(rows)


@ingest.command()
@folder_option
@click.argument("devices", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def register(folder: Path, devices: Path) -> None:
    """Register the devices of a YAML or JSON file: a list, or one. Those that are known are changed."""
    from bypass.ingest.devices.device import InvalidDevice, make_device
    from bypass.ingest.devices.registry import DeviceRegistry
    from bypass.ingest.folder import IngestFolder
    from bypass.transitions.yaml_text import load_yaml

    content: Any = load_yaml(str(devices), devices.read_text(), InvalidDevice)
    made = [make_device(fields) for fields in (content if isinstance(content, list) else [content])]
    with DeviceRegistry(IngestFolder(folder).registry) as registry:
        known = [device for device in made if registry.find(device.id) is not None]
        registry.register(*(device for device in made if device not in known))
        for device in known:
            registry.update(device.id, device.model_dump())
        click.echo(f"{len(made) - len(known)} registered, {len(known)} changed; version {registry.version}")


@ingest.command()
@folder_option
@click.option("--tenant", default="default", show_default=True)
@click.option("--device", multiple=True, help="An id; repeatable.  [default: all of the tenant]")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Devices that have it; repeatable.")
@click.option("--metric", multiple=True, help="A metric; repeatable.  [default: all]")
@click.option("--since", help="A time: -1h, or ISO 8601.")
@click.option("--until", help="A time, excluded.")
@click.option(
    "--where", multiple=True, metavar="TEST", help="A test of the value, such as '>= 20.5'; repeatable."
)
@click.option("--latest", is_flag=True, help="Only the latest measurement of each metric.")
def query(
    folder: Path,
    tenant: str,
    device: tuple[str, ...],
    metadata: tuple[str, ...],
    metric: tuple[str, ...],
    since: str | None,
    until: str | None,
    where: tuple[str, ...],
    latest: bool,
) -> None:
    """Print measurements, one a line, as JSON."""
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.queries.reader import MeasurementReader
    from bypass.ingest.queries.selection import Selection, ValueTest, parse_time

    selection = Selection(
        tenant,
        frozenset(device),
        metadata=dict(_pair(each) for each in metadata),
        metrics=frozenset(metric),
        since=None if since is None else parse_time(since),
        until=None if until is None else parse_time(until),
        tests=tuple(ValueTest.parse(each) for each in where),
    )
    reader = MeasurementReader(IngestFolder(folder))
    rows = reader.latest(selection) if latest else reader.range(selection)
    for row in rows.to_pylist():
        value = next(
            (row[name] for name in ("long", "double", "label", "blob") if row[name] is not None), None
        )
        shown = {name: row[name] for name in ("device", "time", "metric", "type", "uom")}
        click.echo(json.dumps({**shown, "value": value.hex() if isinstance(value, bytes) else value}))


@ingest.command()
@folder_option
@click.option("--reason", help="Only those with this reason.")
def replay(folder: Path, reason: str | None) -> None:
    """Send dead letters through the stages once more, with the registry as it is now.

    They are not refused as copies of earlier messages.
    """
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.service.replay import replay_letters

    click.echo(f"{replay_letters(IngestFolder(folder), reason)} messages are in the log again")


@ingest.command()
@folder_option
def compact(folder: Path) -> None:
    """Join small files of the table now; a stream that runs does so by itself."""
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.tables.compaction import compact as join
    from bypass.ingest.tables.compaction import remove_orphans

    done = join(IngestFolder(folder).measurements)
    removed = remove_orphans(IngestFolder(folder).measurements)
    click.echo(
        f"{done.files} files became {done.files_after}, {done.rows} rows {done.rows_after}; {removed} removed"
    )


@ingest.command()
@folder_option
@click.argument("plan", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def plan(folder: Path, plan: Path) -> None:
    """Submit a plan (YAML): policies and row models are exchanged with the next batch."""
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.stream.plans import submit_plan
    from bypass.mechanisms.registry import Registry
    from bypass.transitions import Plan

    parsed = Plan.from_yaml(plan.read_text())
    Registry().check(parsed, ["pipeline"])
    click.echo(f"plan {submit_plan(IngestFolder(folder).plans, parsed)} is carried out with the next batch")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.UsageError(f"--metadata {text!r}: expected KEY=VALUE")
    return key, value
