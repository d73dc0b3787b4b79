"""`bypass map`: maps from OpenStreetMap, and pictures of maps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bypass.cli.group import commands, need_lab, refuse_unusable

if TYPE_CHECKING:  # maps take a second to import
    from bypass.models.maps import StreetMap
    from bypass.models.maps.osm.reader import Skipped


@commands.command("map")
@click.argument("file")
@click.option(
    "--bbox",
    metavar="MINLON,MINLAT,MAXLON,MAXLAT",
    help="Cut the map at these borders, in degrees.  [default: the extract's own]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="map.json",
    show_default=True,
    metavar="FILE",
    help="Where the map goes; its picture goes beside it, under the same name with .png.",
)
def draw_map(file: str, bbox: str | None, out: Path) -> None:
    """Make a map of streets that people walk on, and draw it.

    FILE is an OpenStreetMap extract (.osm, .osm.pbf, .osm.gz, .osm.bz2), or a map to draw: a map file or a
    built-in map (darmstadt, mannheim, street-grid). Parks and squares of an extract become attraction points.
    What a map file has in it can be moved on by the mobility model "map".

    \b
    Examples:
      bypass map town.osm --out town.json
      bypass map hessen-latest.osm.pbf --bbox 8.645,49.868,8.664,49.880 --out centre.json
      bypass map darmstadt
      bypass run total-transitions --set mobility.map=centre.json
    """
    need_lab("osmium")
    from bypass.models.maps import MAPS, load_map, write_map
    from bypass.models.maps.osm.reader import read_osm
    from bypass.models.maps.picture import draw

    if out.suffix != ".json":
        raise click.UsageError(f"--out {out}: expected a name that ends in .json")
    refuse_unusable(out.parent)
    picture = out.with_suffix(".png")
    for path in (out, picture):
        if path.is_dir():
            raise IsADirectoryError(21, "is in the way: expected a file", str(path))
    skipped = None
    if file in MAPS or file.endswith(".json"):
        if bbox is not None:
            raise click.UsageError(f"--bbox with {file}: expected an OpenStreetMap extract to cut out of")
        street_map = load_map(file)
    elif not Path(file).is_file():
        raise click.UsageError(
            f"{file}: no such file: expected an OpenStreetMap extract, a map file or one of {', '.join(MAPS)}"
        )
    else:
        street_map, skipped = read_osm(file, bbox=None if bbox is None else _parse(bbox))
    out.parent.mkdir(parents=True, exist_ok=True)
    write_map(street_map, out)
    draw(street_map, picture)
    click.echo(_summary(street_map))
    if skipped is not None and any(skipped):
        click.echo(_left_out(skipped))
    click.echo(f"map: {out}, picture: {picture}")


def _parse(bbox: str) -> tuple[float, float, float, float]:
    try:
        min_lon, min_lat, max_lon, max_lat = map(float, bbox.split(","))
    except ValueError:
        raise click.UsageError(f"--bbox {bbox}: expected four numbers, as in 8.64,49.86,8.66,49.88") from None
    return min_lon, min_lat, max_lon, max_lat


def _summary(street_map: StreetMap) -> str:
    kilometres = street_map.lengths.sum() / 1000
    return (
        f"{street_map.name}: {street_map.width:.0f} × {street_map.height:.0f} m,"
        f" nodes: {len(street_map.nodes)}, streets: {len(street_map.edges)} ({kilometres:.1f} km),"
        f" attraction points: {len(street_map.attractions)}"
    )


def _left_out(skipped: Skipped) -> str:
    return (
        f"left out: ways where they lack nodes ({skipped.ways}), areas that are not whole ({skipped.areas}),"
        f" nodes that cannot be reached from most others ({skipped.nodes}),"
        f" attraction points that are nowhere ({skipped.points})"
    )
