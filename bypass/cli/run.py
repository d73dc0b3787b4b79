"""`bypass run` and `bypass scenarios`: experiments in the simulator."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bypass.cli.console import show_table, watched
from bypass.cli.group import commands, need_lab, parse_change, refuse_unusable

if TYPE_CHECKING:  # what runs experiments takes seconds to import
    from bypass.scenarios.figures.outcome import Run
    from bypass.scenarios.figures.storage import StoreFigures
    from bypass.scenarios.report.result import Result


@commands.command()
@click.argument("scenario")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the experiment, such as filter.alpha=2.0 or network.latency=0.05;"
    " the value is YAML. May be given several times.",
)
@click.option(
    "--seed",
    type=int,
    metavar="N",
    help="Where random numbers begin. The same seed gives the same run, bit for bit.  [default: the"
    " scenario's, which is 1 if it does not say]",
)
@click.option(
    "--duration",
    type=float,
    metavar="SECONDS",
    help="How long to simulate. Stretches or shrinks the whole timeline with it: with half the duration,"
    " every transition comes at half its time.",
)
@click.option("--clients", type=int, metavar="N", help="How many clients take part.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the files go.  [default: out/SCENARIO-seedN]",
)
@click.option(
    "--strict",
    is_flag=True,
    help="End with 1 if a checked figure differs from the stated one, or was not measured, and the scenario"
    " does not explain why. Runs that are shorter than the scenario's, or have fewer clients, are refused.",
)
def run(
    scenario: str,
    changes: Sequence[str],
    seed: int | None,
    duration: float | None,
    clients: int | None,
    out: Path | None,
    strict: bool,
) -> None:
    """Run an experiment in the simulator.

    SCENARIO is a built-in name (see `bypass scenarios`) or a YAML file. Everything is checked before
    anything runs or is written.

    \b
    DIR gets
      report.html         the plots, and our figures beside the published ones
      summary.json        figures for each stretch between two transitions
      events.parquet      one row an event: who should have got it, who did, how late
      timeline.parquet    one row a second: recall, precision, delay, bytes
      transitions.jsonl   one line a transition on a host
      experiment.yaml     the experiment, defaults included: bypass run DIR/experiment.yaml repeats it
      provenance.json     what it comes from: code, inputs, parameters, seeds, machine
    A scenario that compares several runs has the others in DIR/runs/NAME.

    \b
    Examples:
      bypass run total-transitions
      bypass run total-transitions --set filter.alpha=2.0 --seed 7
      bypass run total-transitions --clients 50 --duration 150 --out out/quick
    """
    need_lab()
    from bypass.models.request import check_request
    from bypass.scenarios.experiments.checks import unexplained
    from bypass.scenarios.experiments.variants import reduction
    from bypass.scenarios.runs.loader import load
    from bypass.scenarios.runs.runner import run as run_scenario

    changed = dict(map(parse_change, changes))
    checked = load(scenario, changes=changed, duration=duration, clients=clients)
    seed = checked.seed if seed is None else seed
    check_request(checked.clients, checked.duration, seed)
    if strict and (less := reduction(checked, load(scenario))):
        raise click.UsageError(f"--strict with {less}")
    out = out or Path("out", f"{Path(scenario).stem}-seed{seed}")
    refuse_unusable(out)
    with watched(checked.name) as progress:
        result = run_scenario(
            scenario, seed=seed, set=changed, duration=duration, clients=clients, progress=progress
        )
    report = result.report(out)
    _tell(result)
    click.echo(f"report: {report}")
    if strict and unexplained(result.verdicts):
        raise SystemExit(1)


@commands.command()
def scenarios() -> None:
    """List the scenarios that are built in."""
    from bypass.scenarios.experiments.files import builtin_names, read

    width = max(map(len, builtin_names()))
    for name in builtin_names():
        sentence, *_ = re.split(r"\.\s+(?=[A-Z])", " ".join(read(name)["about"].split()))
        click.echo(f"{name:{width}}  {sentence.rstrip('.')}")


def _tell(result: Result) -> None:
    """Print what is worth a look right after a run."""
    from bypass.scenarios.report.report import verdict_line

    for name, each in result.runs.items():
        scenario = each.scenario
        click.echo(
            f"{name}: {scenario.clients} clients, {scenario.duration:g} s, seed {each.seed},"
            f" simulated in {each.wall_s:.1f} s"
        )
        if each.store is None:
            show_table(_rows(each))
        else:
            show_table(_store_rows(each.store))
            click.echo(_store_line(each.store))
        click.echo()
    click.echo(verdict_line(result.verdicts))


def _store_rows(store: StoreFigures) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("phase", "from s", "owed", "recall %")]
    for phase in store.phases:
        told = "-" if math.isnan(phase.recall) else f"{100 * phase.recall:.1f}"
        rows.append((phase.name, f"{phase.start_s:g}", str(phase.owed), told))
    return rows


def _store_line(store: StoreFigures) -> str:
    return (
        f"{store.objects} objects, {store.acknowledged} acknowledged, {store.lost} lost;"
        f" {store.owed} notifications owed, {store.doubled} told twice;"
        f" {store.traffic['phy_bytes'] / 1e6:.2f} MB by radio"
    )


def _rows(each: Run) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("phase", "from s", "to s", "recall %", "precision %", "delay ms", "up kbit/s", "down kbit/s")
    ]
    for phase in each.phases:
        numbers = (
            f"{phase.start_s:g}",
            f"{phase.end_s:g}",
            f"{100 * phase.recall.mean:.1f}",
            f"{100 * phase.precision.mean:.1f}",
            f"{phase.delay_ms.mean:.0f}",
            f"{phase.traffic['cellular_up']:.2f}",
            f"{phase.traffic['cellular_down']:.2f}",
        )
        rows.append((phase.name, *("-" if number == "nan" else number for number in numbers)))
    return rows
