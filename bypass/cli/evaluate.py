"""`bypass evaluate` and `bypass publications`: filter schemes judged on traces of any size."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from bypass.cli.console import show_table, watched
from bypass.cli.engines import chosen_engine, engine_options
from bypass.cli.group import commands, need_lab, parse_change, refuse_unusable


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
    "--mechanism",
    "mechanisms",
    multiple=True,
    metavar="REFERENCE",
    help="A scheme of your own that --schemes may name: FILE.py:CLASS or MODULE:CLASS; repeatable.",
)
@click.option(
    "--workloads",
    metavar="NAME,...",
    help="Who publishes what: ar, lbs, rnd, FILE.py:CLASS, or several.  [default: ar]",
)
@click.option(
    "--publications",
    type=click.Path(path_type=Path),
    metavar="PARQUET",
    help="Recorded publications instead: columns t (s), client, x, y (m; empty: at the publisher's place).",
)
@click.option(
    "--areas",
    type=click.Path(path_type=Path),
    metavar="GEOJSON",
    help="What clients subscribe to instead of --radius: areas of the property `client`, others everybody's.",
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
@click.option(
    "--crs",
    metavar="EPSG:...",
    help="The reference system of x and y of other Parquet, such as EPSG:25832; without one they are metres.",
)
@engine_options
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where the files go."
)
def evaluate(
    traces: Path,
    schemes: str,
    mechanisms: tuple[str, ...],
    workloads: str | None,
    publications: Path | None,
    areas: Path | None,
    radius: float,
    interval: float,
    cell: float | None,
    seed: int,
    step: float,
    crs: str | None,
    engine: str | None,
    master: str | None,
    out: Path,
) -> None:
    """Judge filter schemes on a trace: recall, precision, deliveries and context traffic.

    TRACES is a folder that `bypass traces` made. Any other Parquet of positions (columns t, client, x and y,
    or lat and lon, in any order) is laid out first, to DIR/trace. The broker's rules decide, and messages
    take no time: a run of the simulator with a network without latency gives the same figures, event by
    event.

    \b
    DIR gets
      summary.json                figures by scheme: means, percentiles, context traffic
      events/WORKLOAD/*.parquet   one row an event: whom it concerned, whom each scheme notified
      cells/WORKLOAD.parquet      figures by scheme and square of the world
      pieces.json                 what each piece of the work had to look at
      schemes.png                 recall and precision as box plots
      provenance.json             what it comes from: code, inputs, what was asked for, machine

    \b
    Examples:
      bypass evaluate out/da --schemes radial,ste:1.5,ste:2,grid:5,egrid:10 --out out/da-schemes
      bypass evaluate out/da --schemes attract,multi --workloads ar,lbs,rnd --out out/da-channels
      bypass evaluate out/city --engine spark --master spark://host:7077 --out /shared/city-schemes
      bypass evaluate positions.parquet --publications messages.parquet --out out/recorded
      bypass evaluate out/da --areas zones.geojson --out out/zones
    """
    need_lab("pyspark")
    from bypass.models.traces import Trace, lay_out, recognise
    from bypass.models.traces.source import count_rows, parts_of
    from bypass.scenarios.evaluation import check_evaluation, draw
    from bypass.scenarios.evaluation import evaluate as judge
    from bypass.scenarios.experiments.provenance import FILE as PROVENANCE
    from bypass.scenarios.experiments.provenance import input_hashes, write_provenance
    from bypass.support.extensions import file_of

    if publications is not None and workloads is not None:
        raise click.UsageError("--publications with --workloads: expected one of them")
    asked = [scheme for scheme in schemes.split(",") if scheme.strip()]
    sources: dict[str, dict[str, Any]] = {
        name.strip(): {} for name in ("ar" if workloads is None else workloads).split(",") if name.strip()
    }
    check_evaluation(asked, sources, radius=radius, interval=interval, cell=cell, mechanisms=mechanisms)
    refuse_unusable(out)
    kind = recognise(traces)
    if kind not in ("trace", "parquet"):
        raise click.UsageError(f"{traces} is {kind}: convert it first, with bypass traces {traces} --out DIR")
    if kind == "parquet" and traces.absolute() in (out.absolute(), *out.absolute().parents):
        raise click.UsageError(f"--out {out} is in {traces}: expected another folder")
    if crs is not None and kind == "trace":
        raise click.UsageError(f"--crs with {traces}, a trace of ours: expected other Parquet")
    if publications is not None and kind == "parquet" and parts_of(traces, crs or "")[0].on_earth:
        raise click.UsageError(
            f"--publications with {traces}, which is on earth: expected the metres of publications"
        )
    trace = Trace.open(traces) if kind == "trace" else None
    if publications is not None:
        size = count_rows(publications)
    elif trace is not None:
        size = trace.clients * (trace.samples - 1) * len(sources)
    else:
        size = count_rows(traces, crs or "") * len(sources)
    laid = out / "trace"
    with chosen_engine(engine, master, size, "events") as running, _taken_back(laid) as keep:
        if trace is None:
            with watched("laying out") as progress:
                trace = lay_out(traces, laid, step=step, engine=running, crs=crs or "", progress=progress)
        with watched("judging") as progress:
            result = judge(
                trace,
                asked,
                out=out,
                engine=running,
                workloads=sources,
                publications=publications,
                seed=seed,
                radius=radius,
                interval=interval,
                cell=cell,
                progress=progress,
                mechanisms=mechanisms,
                areas=areas,
            )
        keep()
    files = (traces, publications, areas, *map(file_of, (*mechanisms, *sources)))
    write_provenance(
        out / PROVENANCE,
        {
            "inputs": input_hashes([path for path in files if path]),
            "asked": {
                "traces": str(traces),
                "schemes": asked,
                "mechanisms": list(mechanisms),
                "workloads": list(sources) if publications is None else [],
                "publications": None if publications is None else str(publications),
                "radius": radius,
                "interval": interval,
                "cell": cell,
                "step": step,
                **({} if crs is None else {"crs": crs}),
                **({} if areas is None else {"areas": str(areas)}),
            },
            "seeds": [seed],
        },
    )
    _tell(result.summaries)
    draw(result, out / "schemes.png")
    click.echo(f"summary: {out / 'summary.json'}")


@contextmanager
def _taken_back(folder: Path) -> Iterator[Callable[[], None]]:
    """Remove a folder that is not there yet, and its parent if that is left empty, unless told to keep it."""
    kept = folder.exists()

    def keep() -> None:
        nonlocal kept
        kept = True

    try:
        yield keep
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.parent.rmdir()


def _tell(summaries: dict[str, dict[str, Any]]) -> None:
    """Print a table for each workload."""
    for name, summary in summaries.items():
        click.echo(
            f"{name}: {summary['clients']:,} clients, {summary['duration_s']:g} s,"
            f" {summary['events']:,} events for {summary['subscribers_mean']:.2f} subscribers each,"
            f" judged in {summary['wall_s']:.1f} s"
            + (f"; {summary['late']:,} events after the trace's end are left out" if summary["late"] else "")
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
        show_table(rows)
        click.echo()


@commands.command()
@click.argument("traces", type=click.Path(path_type=Path))
@click.option("--workload", default="ar", show_default=True, metavar="NAME", help="ar, lbs or rnd.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="A parameter: rate, uniform.")
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
    parameters = dict(map(parse_change, changes))
    if idle := parameters.keys() & {"radius", "payload"}:
        raise click.UsageError(f"--set {idle.pop()}: expected rate or uniform, a publication has no more")
    model = make_workload(workload, parameters)
    refuse_unusable(out)
    seconds = (trace.samples - 1) * trace.step  # an evaluation has no positions for what comes later
    size = int(trace.clients * seconds * model.rate)
    with chosen_engine(engine, master, size, "publications") as running, watched("publishing") as progress:
        written = write_publications(
            model,
            World(trace.attractions, *trace.size),
            out,
            clients=trace.clients,
            duration=seconds,
            seed=seed,
            engine=running,
            progress=progress,
        )
    click.echo(f"{written:,} publications: {out}")
