"""`bypass status`, `transition`, `plan` and `transitions`: look at a live broker, and change it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bypass.cli.group import commands, parse_change

if TYPE_CHECKING:
    from bypass.live.operator import Operator

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_BROKER = "tcp://127.0.0.1:7700"
DEFAULT_KEYS = Path("keys/admin.key")

OVER = {
    "limited_bytes": "messages of too many bytes",
    "unread": "not read",
    "offended": "connections given up",
    "disconnected": "disconnected",
    "over_sessions": "sessions",
    "over_connections": "connections",
    "over_stored": "events beyond what is stored",
    "hello_repeated": "greetings",
    "kept_untold": "kept subscriptions untold",
    "kept_withdrawn": "kept subscriptions withdrawn",
    "subscriptions_over_limit": "kept subscriptions too large",
}
"""Counters of whatever is over a limit of a broker, and how they are shown."""


def broker_options(command: F) -> F:
    """How to reach the broker."""
    options = (
        click.option("--broker", default=DEFAULT_BROKER, show_default=True, metavar="ADDRESS"),
        click.option(
            "--keys",
            type=click.Path(path_type=Path),
            default=DEFAULT_KEYS,
            show_default=True,
            help="A key with the right admin: `bypass keygen admin --admin` makes one.",
        ),
        click.option("--open", "is_open", is_flag=True, help="The broker is open: no keys."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def operator_at(broker: str, keys: Path, is_open: bool) -> Operator:
    """A connection to the broker that the options name."""
    from bypass.live.operator import Operator

    return Operator(broker, None if is_open else keys)


@commands.command()
@click.option("--watch", is_flag=True, help="Again every second, until interrupted.")
@click.option("--json", "as_json", is_flag=True, help="All that is known, as one JSON object.")
@broker_options
def status(watch: bool, as_json: bool, broker: str, keys: Path, is_open: bool) -> None:
    """Show what a live broker does: clients, schemes, rates, the latest transitions.

    \b
    Examples:
      bypass status
      bypass status --watch --broker tcp://broker.example:7700 --keys ops.key
      bypass status --json | jq .rates
    """
    with operator_at(broker, keys, is_open) as operator:
        while True:
            snapshot = operator.ask("status")
            if watch and sys.stdout.isatty():
                click.clear()
            click.echo(json.dumps(snapshot) if as_json else _table(snapshot))
            if not watch:
                return
            time.sleep(1.0)


@commands.command()
@click.argument("proxy")
@click.argument("to", required=False)
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="A parameter; repeatable.")
@click.option("--clients", metavar="NAME,...", help="Only these clients.")
@click.option(
    "--area",
    metavar="FILE|WKT|NAME|X0,Y0,X1,Y1",
    help="Only clients that are there now: GeoJSON, a polygon or numbers in metres, or a place's name.",
)
@click.option("--why", default="", help="Kept in the record.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@broker_options
def transition(
    proxy: str,
    to: str | None,
    changes: tuple[str, ...],
    clients: str | None,
    area: str | None,
    why: str,
    dry_run: bool,
    broker: str,
    keys: Path,
    is_open: bool,
) -> None:
    """Exchange a mechanism of the running system: PROXY gets the mechanism TO.

    PROXY is `filter` for the filter scheme; without TO, parameters of what runs are changed. Clients follow
    by themselves, and no event is lost.

    \b
    Examples:
      bypass transition filter ste --set alpha=1.5
      bypass transition filter --set alpha=2.0 --why "people walk faster today"
      bypass transition filter grid --set grid=5 --area 0,0,500,500 --dry-run
      bypass transition filter attract --area old-town.geojson
      bypass transition filter ste --area Herrngarten
      bypass transition filter radial --clients alice,bob
    """
    action: dict[str, Any] = {"proxy": proxy}
    if to is not None:
        action["to"] = to
    if changes:
        action["set"] = dict(map(parse_change, changes))
    plan = {"plan": f"{proxy} {to or 'set'}", "actions": [action]}
    if why:
        plan["why"] = why
    _execute(plan, clients, area, dry_run, broker, keys, is_open)


@commands.group("plan")
def plan_commands() -> None:
    """Plans: several transitions as one file."""


@plan_commands.command("apply")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@broker_options
def apply(file: Path, dry_run: bool, broker: str, keys: Path, is_open: bool) -> None:
    """Execute the plan in a YAML file.

    \b
    Example of a file:
      plan: rush-hour
      why: many clients in the centre
      actions:
        - {proxy: filter, to: attract}
    """
    from bypass.transitions import Plan

    plan = Plan.from_yaml(file.read_text("utf-8"))
    _execute(plan.model_dump(mode="json", exclude_defaults=True), None, None, dry_run, broker, keys, is_open)


@commands.group("transitions")
def transitions() -> None:
    """Show the transitions that a live broker has recorded."""


@transitions.command("log")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with all that is known.")
@broker_options
def transitions_log(limit: int, as_json: bool, broker: str, keys: Path, is_open: bool) -> None:
    """Show the latest records, newest first: each transition, and what became of each plan at the clients."""
    with operator_at(broker, keys, is_open) as operator:
        records = operator.ask("log", limit=limit)
    for record in records:
        if as_json:
            click.echo(json.dumps(record))
            continue
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record["at"]))
        click.echo(f"{when}  {_told(record)}")


def _execute(
    plan: dict[str, Any],
    clients: str | None,
    area: str | None,
    dry_run: bool,
    broker: str,
    keys: Path,
    is_open: bool,
) -> None:
    arguments: dict[str, Any] = {"plan": plan, "dry_run": dry_run}
    if clients is not None:
        arguments["clients"] = [name.strip() for name in clients.split(",")]
    if area is not None:
        arguments["area"] = _area(area)
    with operator_at(broker, keys, is_open) as operator:
        answer = operator.ask("execute", **arguments)
    for record in answer["records"]:
        click.echo(f"{'would be done' if dry_run else record['outcome']}: {_action(record)}")
    if not dry_run:
        click.echo(f"epoch {answer['epoch']}, {answer['execution']['clients']} clients concerned")
    if any(record["outcome"] == "failed" for record in answer["records"]):
        sys.exit(1)


def _area(text: str) -> str | list[float] | dict[str, Any]:
    """The area that `--area` names, as plans have it."""
    if "," in text and not text.rstrip().endswith(")"):
        try:
            bounds = [float(part) for part in text.split(",")]
        except ValueError:
            bounds = []
        if len(bounds) == 4:
            return bounds
    file = Path(text)
    if file.suffix not in (".geojson", ".json", ".wkt", ".wkb"):
        return text
    from bypass.places import Area

    area = Area.from_file(file)
    return {**area.to_geojson(), "degrees": area.degrees}


def _action(record: dict[str, Any]) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in record["set"].items())
    parts = [record["proxy"], f"{record['source']} -> {record['target']}" if record["target"] else ""]
    error = f": {record['error']}" if record["error"] else ""
    return " ".join(filter(None, (*parts, values))) + error


def _told(record: dict[str, Any]) -> str:
    why = f" ({record['why']})" if record["why"] else ""
    if record["type"] == "transition":
        return f"{record['outcome']:8} {_action(record)}{why}"
    took = "" if record["took_ms"] is None else f" in {record['took_ms']:.0f} ms"
    isolated = f", isolated: {', '.join(record['isolated'])}" if record["isolated"] else ""
    obsolete = f", {record['obsolete']} obsolete" if record.get("obsolete") else ""
    share = record.get("acknowledged", record.get("recall"))  # as brokers of 0.1.0 call it
    acknowledged = f", acknowledged {'–' if share is None else f'{share:.3f}'}"
    return (
        f"plan     {record['plan']}, epoch {record['epoch']}: {record['done']} of {record['clients']} clients"
        f"{took}, {record['failed']} failed{obsolete}{isolated}{acknowledged}{why}"
    )


def _listed(counters: dict[str, int], names: dict[str, str]) -> str:
    """Counters that are not 0, each with its name; brokers of 0.1.0 have fewer."""
    return ", ".join(f"{counters[key]:,} {name}" for key, name in names.items() if counters.get(key)) or "–"


def _table(snapshot: dict[str, Any]) -> str:
    clients, rates, counters, store = (snapshot[key] for key in ("clients", "rates", "counters", "store"))
    up = snapshot["at"] - snapshot["started"]
    lines = [
        f"broker     {', '.join(snapshot['listen'])}{'  OPEN' if snapshot['open'] else ''}, up {up:,.0f} s, "
        f"epoch {snapshot['epoch']}, version {snapshot['version']}",
        f"clients    {clients['connected']:,} connected, {clients['sessions']:,} sessions, "
        f"{snapshot['subscriptions']:,} subscriptions",
    ]
    for scheme in snapshot["schemes"]:
        values = ", ".join(f"{name}={value}" for name, value in scheme["set"].items())
        lines.append(f"scheme     {scheme['name']:8} {scheme['clients']:>7,} clients   {values}")
    if "matching" in snapshot:  # not of brokers before 0.2
        lines.append(f"matching   {snapshot['matching']['name']}")
    lines += [
        f"rates      {rates['publications']:,.0f} events/s in, {rates['deliveries']:,.0f} deliveries/s, "
        f"{rates['bytes_in'] / 1e3:,.0f} kB/s in, {rates['bytes_out'] / 1e3:,.0f} kB/s out",
        f"events     {counters['publications']:,} published, {counters['deliveries']:,} for clients, "
        f"{counters['acknowledged']:,} acknowledged, {counters['waiting']:,} wait, "
        f"{counters['missed']:,} given up",
        f"refused    {counters['malformed']:,} malformed, {counters['oversized']:,} oversized, "
        f"{counters['limited']:,} too fast, {counters['unauthorised']:,} unauthorised, "
        f"{counters['not_admitted']:,} keys not admitted, {counters['refused']:,} others",
        f"over       {_listed(counters, OVER)}",
        f"store      {store['path']}, {store['bytes'] / 1e6:,.1f} MB, {store['commits']:,} commits of "
        f"{store['commit_ms']:.1f} ms{'  FAILING: ' + store['failing'] if store['failing'] else ''}",
    ]
    objects = snapshot.get("objects")  # brokers before 0.3 have none
    if objects:
        lines.append(
            f"objects    {objects['objects']:,} of {objects['bytes'] / 1e6:,.1f} MB, {objects['queries']:,} "
            f"queries, {objects['uploads']:,} uploads, {_refused_objects(counters):,} requests refused"
            f"{'  FAILING: ' + objects['failing'] if objects['failing'] else ''}"
        )
    for execution in snapshot["transitions"][:5]:
        when = time.strftime("%H:%M:%S", time.localtime(execution["at"]))
        lines.append(f"{when}   {_told({**execution, 'type': 'plan'})}")
    return "\n".join(lines)


def _refused_objects(counters: dict[str, int]) -> int:
    """How many requests about objects were refused, for whatever reason."""
    done = ("objects_inserted", "objects_deleted", "objects_expired")
    return sum(
        count
        for name, count in counters.items()
        if name.startswith(("objects_", "uploads_")) and name not in done
    )
