"""`bypass ingest status`, `replay`, `compact` and `plan`: an installation that runs."""

from __future__ import annotations

import json
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
