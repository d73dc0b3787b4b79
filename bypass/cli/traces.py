"""`bypass traces`: where clients are, on disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bypass.cli.console import show_table, watched
from bypass.cli.engines import chosen_engine, engine_options
from bypass.cli.group import commands, need_lab, parse_change, refuse_unusable

if TYPE_CHECKING:  # models take seconds to import
    from bypass.models.mobility import MobilityModel
    from bypass.models.traces import Trace
    from bypass.models.waypoints import Waypoints
    from bypass.support.arrays import Singles

CLIENTS, DURATION = 297, 1500.0
TEXT = ("bonnmotion", "ns2", "one", "gpx")


@commands.command()
@click.argument("model")
@click.option(
    "--clients", type=int, metavar="N", help=f"How many clients.  [default: {CLIENTS}, or the trace's]"
)
@click.option(
    "--duration", type=float, metavar="SECONDS", help=f"How long.  [default: {DURATION:g}, or the trace's]"
)
@click.option(
    "--seed", type=int, default=1, show_default=True, metavar="N", help="Where random numbers begin."
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter of the model, such as speed=[1,3]; the value is YAML. May be given several times.",
)
@click.option("--step", type=float, default=1.0, show_default=True, help="Seconds between two positions.")
@click.option("--slab", type=float, help="Seconds that a file covers.  [default: about 20, by the step]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", *TEXT]),
    default="parquet",
    show_default=True,
    help="parquet is a folder; the others are files for other simulators and tools.",
)
@click.option(
    "--crs",
    metavar="EPSG:...",
    help="The reference system of x and y of other Parquet, such as EPSG:25832; without one they are metres.",
)
@engine_options
@click.option("--partitions", type=int, metavar="N", help="Into how many blocks the clients are divided.")
@click.option(
    "--digest", is_flag=True, help="Print a SHA-256 of the rows, however they are spread over files."
)
@click.option("--statistics", is_flag=True, help="Print speeds, pauses, visits, contacts.")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="PATH", help="A new folder or file."
)
def traces(
    model: str,
    clients: int | None,
    duration: float | None,
    seed: int,
    changes: Sequence[str],
    step: float,
    slab: float | None,
    form: str,
    crs: str | None,
    engine: str | None,
    master: str | None,
    partitions: int | None,
    digest: bool,
    statistics: bool,
    out: Path,
) -> None:
    """Write where clients are, second by second, or convert such a trace.

    MODEL is a mobility model (such as rwp or map, or one of your own: FILE.py:CLASS), a map file that ends in
    .json, to walk on its streets, or a trace: a folder that this command made, a file of BonnMotion, ns-2,
    ONE or GPX, or any Parquet with columns t (s), client, x and y (m, or of --crs) or lat and lon (degrees),
    in any order, which is laid out. Who asks again gets the same rows, whatever the engine and the number of
    partitions.

    \b
    A folder gets
      _trace.json                                 what it is a trace of
      slab=00000/clients=0000000000.parquet ...   columns t, client, x, y, sorted by t, then client
    pyarrow and Spark read it as it is.

    \b
    Examples:
      bypass traces rwp --out out/rwp
      bypass traces map --set map=darmstadt --clients 1000 --statistics --out out/darmstadt
      bypass traces rwp --clients 100000 --duration 600 --engine spark --out out/city
      bypass traces town.json --format one --step 0.5 --out town.one
      bypass traces out/rwp --format ns2 --out rwp.ns_movements
      bypass traces scene.movements.gz --out out/scene
      bypass traces positions.parquet --step 5 --slab 100 --out out/positions
    """
    need_lab("pyspark")
    from bypass.models.mobility import Playback
    from bypass.models.request import check_request
    from bypass.models.traces import lay_out, write_trace
    from bypass.models.traces.manifest import check_step, checked_slab, count_samples
    from bypass.models.traces.source import count_rows

    if form in TEXT:
        check_step(step)
    else:
        slab = checked_slab(step, slab)
    name, source = _source(model, changes)
    if form in TEXT:
        _refuse(
            f"--format {form}", engine=engine, master=master, partitions=partitions, digest=digest or None
        )
    if isinstance(source, Path):
        _refuse("Parquet that is laid out", clients=clients, duration=duration, partitions=partitions)
        if form in TEXT:
            raise click.UsageError(
                f"--format {form} with Parquet of another layout: expected a trace of ours"
            )
    else:
        _refuse("no Parquet of another layout", crs=crs)
    if isinstance(source, Playback):
        clients = source.clients if clients is None else clients
        duration = source.duration if duration is None else duration
    clients = CLIENTS if clients is None else clients
    duration = DURATION if duration is None else duration
    check_request(clients, duration, seed)
    if isinstance(source, Playback):
        source.check(clients, duration)
    samples = count_samples(duration, step)
    if statistics and not isinstance(source, Path) and samples < 2:
        raise click.UsageError(
            f"--statistics with {duration:g} s, a position each {step:g} s: expected two positions or more"
        )
    _refuse_taken(out, form)

    if not isinstance(source, Path) and form in TEXT:
        with watched(form) as progress:
            movement = source.generate(clients, duration, seed)
            progress(1, 2)
            _export(movement, source, form, step, seed, out)
            progress(2, 2)
        click.echo(f"{clients:,} clients, {duration:g} s, {out.stat().st_size / 1e6:.1f} MB: {out}")
        _note_origin(
            out.with_name(f"{out.name}.provenance.json"), name, source, clients, duration, seed, step
        )
        if statistics:
            _tell_statistics(*_sampled(movement, step), step, source.size)
        return
    rows = count_rows(source, crs or "") if isinstance(source, Path) else clients * samples
    with chosen_engine(engine, master, rows, "rows") as running:
        began = time.perf_counter()
        with watched(name) as progress:
            if isinstance(source, Path):
                trace = lay_out(
                    source, out, step=step, slab=slab, engine=running, crs=crs or "", progress=progress
                )
            else:
                trace = write_trace(
                    source,
                    name,
                    out,
                    clients=clients,
                    duration=duration,
                    seed=seed,
                    step=step,
                    slab=slab,
                    engine=running,
                    blocks=partitions,
                    progress=progress,
                )
        seconds = time.perf_counter() - began
    _note_origin(out / "_provenance.json", name, source, trace.clients, trace.duration, seed, step)
    _tell(trace, seconds)
    if digest:
        click.echo(f"digest: {trace.digest()}")
    if statistics and trace.samples < 2:  # which is known only now that it has been laid out
        click.echo("no statistics: there is one position of each client, and two are needed")
    elif statistics:
        _tell_statistics(*trace.read(0, trace.samples), trace.step, trace.size)


def _source(model: str, changes: Sequence[str]) -> tuple[str, MobilityModel | Path]:
    """The model that was asked for, or the Parquet files to lay out, with a name."""
    from pydantic import ValidationError

    from bypass.models.catalogue import INSTALLED_MODELS, find_model
    from bypass.models.mobility import MOBILITY, MobilityModel
    from bypass.models.traces import Format, recognise
    from bypass.support.validation import first_misfit

    name, given = model, dict(map(parse_change, changes))
    found = MOBILITY.get(model)
    if found is None and not Path(model).exists():
        found = find_model(model, MOBILITY, MobilityModel, INSTALLED_MODELS)
    if model.endswith(".json"):
        name, given = "map", {"map": model, **given}
    elif found is None and not Path(model).exists():
        known = ", ".join(MOBILITY)
        raise click.UsageError(f"MODEL {model!r} is unknown: expected a map, a trace or one of {known}")
    elif found is None:
        _refuse("a trace", set=changes or None)
        if recognise(Path(model)) is Format.PARQUET:
            return "laying out", Path(model)
        name, given = "playback", {"path": model}
    kind = MOBILITY[name] if found is None else found
    try:
        return name, kind.model_validate(given)
    except ValidationError as error:
        raise click.UsageError(f"{name}: {first_misfit(error, lambda _: kind.model_fields)}") from None


def _note_origin(
    path: Path,
    name: str,
    source: MobilityModel | Path,
    clients: int,
    duration: float,
    seed: int,
    step: float,
) -> None:
    """Say beside a trace what it comes from; in a folder under a name that readers of Parquet look past."""
    from bypass.scenarios.experiments.provenance import input_hashes, write_provenance

    files = (source,) if isinstance(source, Path) else source.inputs
    parameters = {} if isinstance(source, Path) else source.model_dump(mode="json")
    asked = {"model": name, "clients": clients, "duration": duration, "step": step, "parameters": parameters}
    write_provenance(path, {"inputs": input_hashes(files), "asked": asked, "seeds": [seed]})


def _refuse(what: str, **options: object) -> None:
    """Raise UsageError for the first option that is given."""
    for name, value in options.items():
        if value is not None:
            raise click.UsageError(f"--{name} with {what}: expected nothing, it has no meaning there")


def _refuse_taken(out: Path, form: str) -> None:
    """Raise an error if something is in the way: after the work it would be too late."""
    from bypass.models.traces import InvalidTrace
    from bypass.models.traces.files import refuse_used
    from bypass.models.traces.formats import bonnmotion

    if form == "parquet":
        refuse_used(out)
        refuse_unusable(out)
        return
    for path in (out, bonnmotion.params_file(out)) if form == "bonnmotion" else (out,):
        if path.exists():
            raise InvalidTrace(f"{path} is in the way: expected a new file")
    refuse_unusable(out.parent)
    out.parent.mkdir(parents=True, exist_ok=True)


def _export(movement: Waypoints, model: MobilityModel, form: str, step: float, seed: int, out: Path) -> None:
    """Write movement in a format of other tools. A world that is nowhere on earth is put to 0° N, 0° E."""
    from bypass.models.traces.formats import bonnmotion, gpx, ns2, one
    from bypass.places.geo import GeoLocation

    match form:
        case "bonnmotion":
            bonnmotion.write(movement, out, size=model.size, model=type(model).__name__, seed=seed)
        case "ns2":
            ns2.write(movement, out, size=model.size)
        case "one":
            one.write(movement, out, size=model.size, step=step)
        case _:
            gpx.write(movement, out, origin=model.georeference or GeoLocation(0.0, 0.0))


def _tell(trace: Trace, seconds: float) -> None:
    size = sum(path.stat().st_size for path in trace.files)
    click.echo(
        f"{trace.clients:,} clients, {trace.duration:g} s, {trace.rows:,} rows in {len(trace.files):,} files,"
        f" {size / 1e6:.1f} MB, {trace.rows / seconds / 1e6:.1f} million rows/s: {trace.path}"
    )


def _sampled(movement: Waypoints, step: float) -> tuple[Singles, Singles]:
    import numpy as np

    from bypass.models.traces.manifest import count_samples

    times = np.arange(count_samples(movement.duration, step)).astype(np.float64) * step
    x, y = (np.empty((len(times), len(movement)), np.float32) for _ in range(2))
    movement.cursor().sample(times, x, y)
    return x, y


def _tell_statistics(x: Singles, y: Singles, step: float, size: tuple[float, float]) -> None:
    from bypass.models.traces.statistics import statistics

    figures = statistics(x, y, step, size=size).summary()
    show_table([(name, _figure(value)) for name, value in figures.items()], words=2, head=False)


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
