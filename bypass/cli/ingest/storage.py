"""`bypass ingest`: how much is kept, for how long, and in how many bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from bypass.cli.console import show_table
from bypass.cli.ingest.group import folder_option, ingest
from bypass.ingest.quantities import parse_bytes, parse_seconds


def quantity(parse: Callable[[str], float]) -> Callable[..., float | None]:
    """Have click read an option by a function that raises ValueError."""

    def read(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


SIZE, DURATION = quantity(parse_bytes), quantity(parse_seconds)


@ingest.command()
@folder_option
@click.argument("region", required=False)
@click.option("--days", type=int, help="Keep what was received so many days before today, or later.")
@click.option(
    "--bytes", "size", callback=SIZE, help="Keep at most so much, such as 20GB; older days go first."
)
def retain(folder: Path, region: str | None, days: int | None, size: int | None) -> None:
    """Limit what is kept of a data region, or show all limits. A region without options is kept for ever.

    The stream removes what is beyond the limits.
    """
    from bypass.ingest.folder import IngestFolder
    from bypass.ingest.tables.retention import RegionLimits, read_expired, read_retentions, set_retention

    path = IngestFolder(folder).retention
    if region is not None:
        set_retention(path, region, RegionLimits(days, size))
        return
    if days is not None or size is not None:
        raise click.UsageError("--days and --bytes need the name of a region")
    retentions, expired = read_retentions(path), read_expired(path)
    rows = [["region", "days", "bytes", "expired rows", "expired bytes"]]
    for name in sorted({*retentions, *expired}):
        limits = retentions.get(name, RegionLimits())
        shown = ["-" if limit is None else f"{limit:,}" for limit in (limits.days, limits.bytes)]
        rows.append([name, *shown, *(f"{count:,}" for count in expired.get(name, (0, 0)))])
    show_table(rows)


@ingest.command()
@click.option("--rate", type=float, required=True, help="Measurements a second.")
@click.option("--bytes", "size", callback=SIZE, help="Bytes of a measurement.  [default: published ones]")
@click.option(
    "--window", callback=DURATION, required=True, help="The time for which they have to stay: 1h, 30d."
)
@click.option("--loss", default=0.05, show_default=True, help="The part of a window that may be lost.")
@click.option("--confidence", default=0.99, show_default=True, help="The probability of losing no more.")
def sizing(rate: float, size: float | None, window: float, loss: float, confidence: float) -> None:
    """Compute the bytes that a store needs for measurements to stay long enough.

    A table that removes the oldest days needs the bytes of the window. A store in memory that evicts the
    oldest of five random pages needs more, so that it seldom evicts what is fresh.
    """
    from bypass.ingest.sizing.entries import IGNITE
    from bypass.ingest.sizing.loss import PAGE_BYTES, LossTolerance, evictions

    if not rate > 0 or not window > 0:
        raise click.UsageError(f"--rate {rate:g} --window {window:g}: expected more than 0")
    try:
        tolerance = LossTolerance(loss, confidence)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    models = {"given": size} if size else {}
    if not size:
        models = {"in Ignite, one by one": IGNITE.standard()}
        models |= {f"in Ignite, {n} in an entry": IGNITE.batched(n) for n in (10, 60)}
    rows = [["model", "bytes each", "bytes/s", "window", "pages", "with eviction", "factor"]]
    for name, each in models.items():
        fresh = evictions(window, rate * each)
        pages = tolerance.pages(fresh)
        needed = (rate * each, rate * each * window, fresh, pages * PAGE_BYTES)
        rows.append([name, f"{each:.1f}", *(f"{value:,.0f}" for value in needed), f"{pages / fresh:.3f}"])
    show_table(rows)


@ingest.command()
@folder_option
@click.argument("policy", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--off", is_flag=True, help="Adapt no more; the policies of now stay.")
def adapt(folder: Path, policy: Path | None, off: bool) -> None:
    """Have policies follow the load, as a YAML file says, or show how it is.

    The file names the `budget` in bytes and the `window` for which measurements have to stay.
    """
    from bypass.ingest.adaptation.adaptive_policy import AdaptivePolicy
    from bypass.ingest.adaptation.controller import begin_adaptation, read_policy
    from bypass.ingest.adaptation.load import SampledLoad
    from bypass.ingest.devices.own_mechanisms import bring_mechanisms
    from bypass.ingest.folder import IngestFolder

    files = IngestFolder(folder)
    if off:
        files.adaptation.unlink(missing_ok=True)
        return
    if policy is not None:
        bring_mechanisms(files)
        begin_adaptation(files, AdaptivePolicy.from_yaml(policy.read_text(encoding="utf-8")))
        return
    followed = read_policy(files)
    if followed is None:
        click.echo("there is no adaptive policy")
        return
    load = SampledLoad(followed, files.plans, files.progress)
    name = "none yet" if load.rung is None else followed.ladder[load.rung].name
    facts = load.facts()
    show_table([["policy", name], *([fact, f"{value:,.6g}"] for fact, value in (facts or {}).items())])
    if facts is None:
        click.echo("no whole sample yet")
