"""`bypass evaluate` and `bypass publications`: filter schemes judged on traces of any size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bypass.cli.engines import chosen_engine, engine_options
from bypass.cli.group import commands, need_lab, parse_change, refuse_unusable, watched

if TYPE_CHECKING:
    from bypass.models.traces import Trace


@commands.command()
@click.argument("traces", type=click.Path(path_type=Path))
@click.option(
    "--schemes",
    default="radial,ste,grid,egrid",
    show_default=True,
    metavar="NAME[:VALUE],...",
    help="Filter schemes with a parameter: ste:ALPHA, grid:CELLS, egrid:CELLS, attract:METRES, multi:METRES.",
)
@click.option(
    "--workloads",
    default="ar",
    show_default=True,
    metavar="NAME,...",
    help="Who publishes what: ar, lbs, rnd.",
)
@click.option(
    "--publications",
    type=click.Path(path_type=Path),
    metavar="PARQUET",
    help="Recorded publications instead: columns t (s), client, x, y (m; empty: at the publisher's place).",
)
@click.option(
    "--radius", default=125.0, show_default=True, help="What events concern: clients within so many m."
)
@click.option("--interval", default=5.0, show_default=True, help="Seconds between two fixes of a client.")
@click.option("--cell", type=float, metavar="M", help="Side of the squares that cells/ has figures of.")
@click.option(
    "--seed", default=1, show_default=True, metavar="N", help="Decides when clients publish and have fixes."
)
@click.option("--step", default=1.0, show_default=True, help="Seconds between positions, for other Parquet.")
@engine_options
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where the files go."
)
def evaluate(
    traces: Path,
    schemes: str,
    workloads: str,
    publications: Path | None,
    radius: float,
    interval: float,
    cell: float | None,
    seed: int,
    step: float,
    engine: str | None,
    master: str | None,
    out: Path,
) -> None:
    """Judge filter schemes on a trace: recall, precision, deliveries and context traffic.

    TRACES is a folder that `bypass traces` made. Any other Parquet of positions (columns t, client, x, y, in
    any order) is laid out first, to DIR/trace. The broker's rules decide, and messages take no time: a run of
    the simulator with a network without latency gives the same figures, event by event.

    \b
    DIR gets
      summary.json                figures by scheme: means, percentiles, context traffic
      events/WORKLOAD/*.parquet   one row an event: whom it concerned, whom each scheme notified
      cells/WORKLOAD.parquet      figures by scheme and square of the world
      pieces.json                 what each piece of the work had to look at
      schemes.png                 recall and precision as box plots

    \b
    Examples:
      bypass evaluate out/da --schemes radial,ste:1.5,ste:2,grid:5,egrid:10 --out out/da-schemes
      bypass evaluate out/da --schemes attract,multi --workloads ar,lbs,rnd --out out/da-channels
      bypass evaluate out/city --engine spark --master spark://host:7077 --out /shared/city-schemes
      bypass evaluate positions.parquet --publications messages.parquet --out out/recorded
    """
    need_lab("pyspark")
    from bypass.models.traces import Trace, lay_out, recognise
    from bypass.models.traces.source import count_rows
    from bypass.scenarios.evaluation import draw, make_workload, parse_schemes
    from bypass.scenarios.evaluation import evaluate as judge

    names = [name.strip() for name in workloads.split(",") if name.strip()]
    asked = [scheme for scheme in schemes.split(",") if scheme.strip()]
    parse_schemes(asked)
    for name in names:
        make_workload(name, {})
    refuse_unusable(out)
    kind = recognise(traces)
    trace: Trace | None = None
    if kind == "trace":
        trace = Trace.open(traces)
        size = int(trace.clients * trace.duration) * len(names)
    elif kind == "parquet":
        size = count_rows(traces) * len(names)
    else:
        raise click.UsageError(f"{traces} is {kind}: convert it first, with bypass traces {traces} --out DIR")
    with chosen_engine(engine, master, size, "events") as running:
        if trace is None:
            with watched("laying out") as progress:
                trace = lay_out(traces, out / "trace", step=step, engine=running, progress=progress)
        with watched("judging") as progress:
            result = judge(
                trace,
                asked,
                out=out,
                engine=running,
                workloads={name: {} for name in names},
                publications=publications,
                seed=seed,
                radius=radius,
                interval=interval,
                cell=cell,
                progress=progress,
            )
    draw(result, out / "schemes.png")
    for line in _lines(result.summaries):
        click.echo(line)
    click.echo(f"summary: {out / 'summary.json'}")


def _lines(summaries: dict[str, dict[str, Any]]) -> Iterable[str]:
    """A table for each workload."""
    for name, summary in summaries.items():
        yield (
            f"{name}: {summary['clients']:,} clients, {summary['duration_s']:g} s,"
            f" {summary['events']:,} events for {summary['subscribers_mean']:.2f} subscribers each,"
            f" judged in {summary['wall_s']:.1f} s"
        )
        rows = [
            ("scheme", "recall %", "p2.5", "precision %", "p2.5", "deliveries", "context up", "down kbit/s")
        ]
        for scheme, figures in summary["schemes"].items():
            shares = (
                figures["recall"],
                figures["percentiles"]["recall"]["p2.5"],
                figures["precision"],
                figures["percentiles"]["precision"]["p2.5"],
            )
            rows.append(
                (
                    scheme,
                    *("-" if share is None else f"{100 * share:.1f}" for share in shares),
                    f"{figures['deliveries']:,}",
                    f"{figures['context']['kbit_s_up']:.4f}",
                    f"{figures['context']['kbit_s_down']:.4f}",
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for first, *cells in rows:
            yield "  ".join((first.ljust(widths[0]), *map(str.rjust, cells, widths[1:])))
        yield ""


@commands.command()
@click.argument("traces", type=click.Path(path_type=Path))
@click.option("--workload", default="ar", show_default=True, metavar="NAME", help="ar, lbs or rnd.")
@click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="A parameter: rate, payload, uniform."
)
@click.option(
    "--seed", default=1, show_default=True, metavar="N", help="Decides who publishes when and where."
)
@engine_options
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="A new folder.")
def publications(
    traces: Path,
    workload: str,
    changes: Sequence[str],
    seed: int,
    engine: str | None,
    master: str | None,
    out: Path,
) -> None:
    """Write a workload as a table of publications, for the clients and the world of a trace.

    DIR gets Parquet with columns t (s), client, x and y (m; empty for an event at its publisher's place).
    Change it, or record such a table in a real system, and evaluate it: `bypass evaluate --publications DIR`.

    \b
    Example:
      bypass publications out/da --workload lbs --set rate=0.2 --out out/da-events
      bypass evaluate out/da --publications out/da-events --out out/da-recorded
    """
    need_lab("pyspark")
    from bypass.models.traces import Trace
    from bypass.models.workloads import World
    from bypass.scenarios.evaluation import make_workload, write_publications

    trace = Trace.open(traces)
    model = make_workload(workload, dict(map(parse_change, changes)))
    refuse_unusable(out)
    size = int(trace.clients * trace.duration * model.rate)
    with chosen_engine(engine, master, size, "publications") as running, watched("publishing") as progress:
        written = write_publications(
            model,
            World(trace.attractions, *trace.size),
            out,
            clients=trace.clients,
            duration=trace.duration,
            seed=seed,
            engine=running,
            progress=progress,
        )
    click.echo(f"{written:,} publications: {out}")
