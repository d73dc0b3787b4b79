"""`bypass sweep`: a scenario with many seeds and values, on Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bypass.cli.console import show_table, watched
from bypass.cli.group import commands, need_lab, parse_change, refuse_unusable

if TYPE_CHECKING:
    from bypass.scenarios.runs.sweep import Sweep

# Title, name in the means, factor, digits.
_FIGURES = (
    ("recall %", "recall", 100, 1),
    ("precision %", "precision", 100, 1),
    ("delay ms", "delay_ms_mean", 1, 0),
    ("up kbit/s", "traffic_cellular_up", 1, 2),
    ("down kbit/s", "traffic_cellular_down", 1, 2),
)


@commands.command()
@click.argument("scenario")
@click.option(
    "--seeds",
    multiple=True,
    required=True,
    metavar="N..M | N,...",
    help="Seeds to run everything with: a range such as 1..10, a list such as 1,4,9, or both. May be given"
    " several times.",
)
@click.option(
    "--grid",
    multiple=True,
    metavar="KEY=VALUE,...",
    help="Run everything with each of these values of a key, such as filter.alpha=0.5,1.5; values are YAML."
    " May be given several times: all combinations are run.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the experiment for all runs. May be given several times.",
)
@click.option(
    "--duration",
    type=float,
    metavar="SECONDS",
    help="How long to simulate. Stretches or shrinks the timeline.",
)
@click.option("--clients", type=int, metavar="N", help="How many clients take part.")
@click.option(
    "--master",
    metavar="URL",
    help="The Spark cluster that runs it, such as spark://host:7077. All its workers must reach DIR under the"
    " same path.  [default: the cores of this machine]",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where the files go."
)
@click.pass_context
def sweep(
    context: click.Context,
    scenario: str,
    seeds: Sequence[str],
    grid: Sequence[str],
    changes: Sequence[str],
    duration: float | None,
    clients: int | None,
    master: str | None,
    out: Path,
) -> None:
    """Run a scenario with many seeds and values.

    SCENARIO is a built-in name (see `bypass scenarios`) or a YAML file. Everything is checked before anything
    runs. The same command again runs only what is not done yet. Exits with 1 if a run failed; all others are
    run nevertheless.

    \b
    DIR gets
      results.parquet     one row for each phase of each run
      means.parquet       means over the seeds, and standard deviations of the runs' means
      means.json          the same
      runs/KEY.json       the summary of one run, or why it failed

    \b
    Examples:
      bypass sweep total-transitions --seeds 1..10 --out out/total
      bypass sweep my-experiment.yaml --seeds 1..5 --grid filter.alpha=0.5,1.5,2.5 --out out/alpha
      bypass sweep grid-factor --seeds 1..10 --master spark://host:7077 --out /shared/grid-factor
    """
    need_lab("pyspark")
    from bypass.scenarios.runs.sweep import sweep as run_sweep

    refuse_unusable(out)
    with watched(Path(scenario).stem) as progress:
        result = run_sweep(
            scenario,
            seeds=[seed for text in seeds for seed in _parse_seeds(text)],
            grid=_parse_grids(grid),
            set=dict(map(parse_change, changes)),
            duration=duration,
            clients=clients,
            master=master,
            out=out,
            progress=progress,
        )
    show_table(_rows(result), words=len(result.grid) + 2)
    click.echo(f"results: {out / 'results.parquet'}")
    for row in result.failed:
        where = " ".join(f"{key}={row[key]}" for key in (*result.grid, "variant", "seed"))
        click.echo(f"bypass: failed: {where}: {row['error']}", err=True)
    if result.failed:
        context.exit(1)


def _parse_seeds(text: str) -> Iterator[int]:
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise click.UsageError(
                f"--seeds {text!r}: expected a range such as 1..10 or a list such as 1,4,9"
            )
        yield from range(int(match[1]), int(match[2] or match[1]) + 1)


def _parse_grids(texts: Sequence[str]) -> dict[str, list[Any]]:
    from bypass.scenarios.experiments.files import InvalidScenario
    from bypass.transitions.yaml_text import load_yaml

    grid: dict[str, list[Any]] = {}
    for text in texts:
        key, equals, values = (part.strip() for part in text.partition("="))
        if not key or not equals:
            raise click.UsageError(f"--grid {text!r}: expected KEY=VALUE,VALUE, such as filter.alpha=0.5,1.5")
        if key in grid:
            raise click.UsageError(f"--grid {text!r}: {key} has a grid already: expected all values in one")
        grid[key] = load_yaml(f"--grid {text!r}", f"[{values}]", InvalidScenario)
    return grid


def _rows(result: Sweep) -> list[tuple[str, ...]]:
    """The means, with the standard deviation of the runs' means behind them."""
    return [
        (*result.grid, "variant", "phase", "runs", *(title for title, _, _, _ in _FIGURES)),
        *(
            (
                *(str(row[key]) for key in (*result.grid, "variant")),
                row["phase"] or "-",
                str(row["runs"]),
                *(_cell(row, name, factor, digits) for _, name, factor, digits in _FIGURES),
            )
            for row in result.means
        ),
    ]


def _cell(row: dict[str, Any], figure: str, factor: float, digits: int) -> str:
    mean, std = row[figure], row[f"{figure}_std"]
    if mean is None:
        return "-"
    return f"{factor * mean:.{digits}f}" + ("" if std is None else f" ± {factor * std:.{digits}f}")
