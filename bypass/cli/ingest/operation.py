"""`bypass ingest status`, `letters`, `replay`, `compact` and `plan`: an installation that runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from bypass.cli.console import show_table
from bypass.cli.ingest.group import folder_option, ingest


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
@click.option("--reason", help="Only those with this reason.")
@click.option("--device", help="Only those of the device with this id.")
@click.option("--since", help="Only those received from this time on: -1h, or ISO 8601.")
@click.option("--until", help="Only those received before this time.")
@click.option(
    "--most",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Show so many, the newest first; all are counted.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one document, for programs.")
def letters(
    folder: Path,
    reason: str | None,
    device: str | None,
    since: str | None,
    until: str | None,
    most: int,
    as_json: bool,
) -> None:
    """List dead letters: messages that could not be read, with the beginning of their bytes (hex).

    \b
    Examples:
      bypass ingest letters --reason "unknown device" --since -1d
      bypass ingest letters --device truck-7 --json
    """
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.queries.selection import parse_time
    from bypass.ingest.tables.letters import list_letters

    found = list_letters(
        IngestFolder(folder).dead_letters,
        most,
        reason=reason,
        device=device,
        since=None if since is None else parse_time(since),
        until=None if until is None else parse_time(until),
    )
    total = sum(found.reasons.values())
    if as_json:
        click.echo(json.dumps({"letters": total, **found._asdict()}, indent=2))
        return
    if found.latest:
        rows = [["received", "device", "stage", "reason", "detail", "payload", "bytes"]]
        for row in found.latest:
            at = datetime.fromtimestamp(row["received"] / 1000, UTC).isoformat(timespec="milliseconds")
            told = [_printable(row[name]) for name in ("device", "stage", "reason", "detail")]
            rest = "…" if 2 * row["bytes"] > len(row["payload"]) else ""
            rows.append([at, *told, row["payload"] + rest, str(row["bytes"])])
        show_table(rows, words=6)
    click.echo(f"{len(found.latest)} of {total} dead letters")


def _printable(text: str) -> str:
    """A text of a device on one line of a terminal, 100 characters at most."""
    plain = text if text.isprintable() else repr(text)
    return plain if len(plain) <= 100 else plain[:99] + "…"


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
    """Submit a plan (YAML): policies and row models are exchanged with the next batch, the durability of the
    log and the distribution of categories to connectors within a second or two.

    \b
    Example:
      plan: careful
      actions:
        - {proxy: durability, to: full-sync}
        - {proxy: precompute, to: every-nth, set: {n: 10}, members: [truck-7]}
    """
    from bypass.ingest.devices.own_mechanisms import bring_mechanisms
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.stream.plans import submit_plan
    from bypass.transitions import Plan

    parsed = Plan.from_yaml(plan.read_text())
    bring_mechanisms(IngestFolder(folder)).check(parsed, ["pipeline", "connector"])
    click.echo(f"plan {submit_plan(IngestFolder(folder).plans, parsed)} is submitted")
