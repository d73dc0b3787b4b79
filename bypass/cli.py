"""The command `bypass`: runs experiments and says in one line what is wrong with a request."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bypass.errors import BypassError, MissingExtra

if TYPE_CHECKING:  # what runs experiments takes seconds to import
    from bypass.scenarios.experiment import Run
    from bypass.scenarios.result import Result

LAB = ("matplotlib", "pyarrow", "scipy")
"""What experiments need beyond the dependencies of the library: the extra of this name."""

INTERRUPTED = 130


class Commands(click.Group):
    """Leaves it to `main` to say that the user interrupted: click would print an empty line first."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except (KeyboardInterrupt, SystemError) as error:
            if not _is_interruption(error):
                raise
            raise click.Abort from None


def _is_interruption(error: BaseException | None) -> bool:
    """Whether the user interrupted: compiled code raises a SystemError because of the KeyboardInterrupt."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="bypass-pubsub", message="%(prog)s %(version)s")
@click.pass_context
def commands(context: click.Context) -> None:
    """Location-based publish/subscribe whose mechanisms can be exchanged while it runs.

    \b
    Examples:
      bypass scenarios
      bypass run total-transitions
      bypass run total-transitions --clients 100 --duration 300 --seed 7
      bypass run my-experiment.yaml --set filter.scheme=egrid --set filter.grid=10
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


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
    default=1,
    show_default=True,
    metavar="N",
    help="Where random numbers begin. The same seed gives the same run, bit for bit.",
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
def run(
    scenario: str,
    changes: Sequence[str],
    seed: int,
    duration: float | None,
    clients: int | None,
    out: Path | None,
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
    A scenario that compares several runs has the others in DIR/runs/NAME.

    \b
    Examples:
      bypass run total-transitions
      bypass run total-transitions --set filter.alpha=2.0 --seed 7
      bypass run total-transitions --clients 50 --duration 150 --out out/quick
    """
    for module in LAB:
        if find_spec(module) is None:
            raise MissingExtra(module)
    from bypass.models.streams import check_request
    from bypass.scenarios.loader import load
    from bypass.scenarios.runner import run as run_scenario

    checked = load(scenario, changes=dict(map(_change, changes)), duration=duration, clients=clients)
    check_request(checked.clients, checked.duration, seed)
    out = out or Path("out", f"{Path(scenario).stem}-seed{seed}")
    _refuse_unusable(out)
    with click.progressbar(
        length=100, label=checked.name, file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        result = run_scenario(
            checked, seed=seed, progress=lambda done, total: bar.update(round(100 * done / total) - bar.pos)
        )
    report = result.report(out)
    for line in _summary(result):
        click.echo(line)
    click.echo(f"report: {report}")


@commands.command()
def scenarios() -> None:
    """List the scenarios that are built in."""
    from bypass.scenarios.files import builtin_names, read

    width = max(map(len, builtin_names()))
    for name in builtin_names():
        sentence, *_ = re.split(r"\.\s+(?=[A-Z])", " ".join(read(name)["about"].split()))
        click.echo(f"{name:{width}}  {sentence.rstrip('.')}")


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 if all is well, 2 after an error, which takes one line."""
    try:
        sys.exit(commands.main(args, prog_name="bypass", standalone_mode=False))
    except click.Abort:
        click.echo("bypass: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        explanation = _explained(error)
        if explanation is None:
            raise
        click.echo(f"bypass: error: {' '.join(explanation.split())}", err=True)
        sys.exit(2)


def _explained(error: Exception) -> str | None:
    """What is wrong with the request; None if the error is not the request's fault."""
    from bypass.transitions import TransitionError

    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if isinstance(error, BypassError | TransitionError):
        return str(error)
    return None


def _change(text: str) -> tuple[str, Any]:
    from bypass.scenarios.files import parse_yaml

    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.UsageError(f"--set {text!r}: expected KEY=VALUE, such as filter.alpha=2.0")
    return key.strip(), parse_yaml(f"--set {text!r}", value)


def _refuse_unusable(out: Path) -> None:
    """Raises OSError if `out` could not be written to: after the run it would be too late."""
    nearest = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise NotADirectoryError(20, "is in the way: expected a directory", str(nearest))
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(13, "cannot be written to: expected permission", str(nearest))


def _summary(result: Result) -> Iterable[str]:
    """What is worth a look right after a run."""
    from bypass.scenarios.report import verdict_line

    for name, each in result.runs.items():
        scenario = each.scenario
        yield (
            f"{name}: {scenario.clients} clients, {scenario.duration:g} s, seed {each.seed},"
            f" simulated in {each.wall_s:.1f} s"
        )
        yield from _table(each)
        yield ""
    yield verdict_line(result.verdicts)


def _table(each: Run) -> Iterable[str]:
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
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    for name, *cells in rows:
        yield "  ".join((name.ljust(first), *map(str.rjust, cells, others)))
