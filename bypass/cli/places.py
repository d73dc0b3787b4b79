"""`bypass places`: the attraction points of a live broker, which come and go while it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from bypass.cli.console import show_table
from bypass.cli.group import commands
from bypass.cli.operate import broker_options, operator_at

MOST_BYTES = 60_000
"""Of one request: what has more is sent in several."""


@commands.group("places")
def places() -> None:
    """Places of a live broker's region: list them, add some, remove some."""


@places.command("list")
@click.option("--json", "as_json", is_flag=True, help="As one JSON list.")
@broker_options
def list_places(as_json: bool, broker: str, keys: Path, is_open: bool) -> None:
    """Show the places that there are, in metres."""
    with operator_at(broker, keys, is_open) as operator:
        _show(operator.ask("places"), as_json)


@places.command("add")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--name", help="The name of the only place in FILE, instead of its property `name`.")
@click.option("--metres", is_flag=True, help="Coordinates are metres of the region, not degrees.")
@broker_options
def add(file: Path, name: str | None, metres: bool, broker: str, keys: Path, is_open: bool) -> None:
    """Add the places in a GeoJSON file, or give those that have their names another shape.

    Each feature is one: polygons, or a point with a `radius` in metres. Clients of channels, subscriptions to
    places, watches and rules follow at once, and the broker knows the places after a restart.

    \b
    Examples:
      bypass places add parks.geojson
      bypass places add lawn.geojson --name Herrngarten
    """
    features = _features(file)
    if name is not None:
        if len(features) != 1:
            raise click.UsageError(f"--name with {file}, which has {len(features)} places: expected one")
        features = [{**features[0], "properties": {**(features[0].get("properties") or {}), "name": name}}]
    if metres:
        features = [{**feature, "degrees": False} for feature in features]
    with operator_at(broker, keys, is_open) as operator:
        for some in _requests(features):
            answer = operator.ask("places", put=some)
    click.echo(f"{len(features)} added or changed, {len(answer)} places")


@places.command("remove")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@broker_options
def remove(names: tuple[str, ...], broker: str, keys: Path, is_open: bool) -> None:
    """Remove places: clients in them are elsewhere from now on."""
    with operator_at(broker, keys, is_open) as operator:
        left = operator.ask("places", remove=names)
    click.echo(f"{len(names)} removed, {len(left)} places")


def _features(file: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(file.read_text("utf-8"))
        kind = content["type"]
        found = content["features"] if kind == "FeatureCollection" else [content]
        features = [each if each["type"] == "Feature" else {"geometry": each} for each in found]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise click.UsageError(f"{file}: {error}: expected GeoJSON") from None
    if not features:
        raise click.UsageError(f"{file}: expected at least one feature")
    return [{"properties": each.get("properties"), "geometry": each.get("geometry")} for each in features]


def _requests(features: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Features in lists, none of which has too many bytes unless a single one has."""
    requests: list[list[dict[str, Any]]] = [[]]
    size = 0
    for feature in features:
        length = len(json.dumps(feature))
        if requests[-1] and size + length > MOST_BYTES:
            requests.append([])
            size = 0
        requests[-1].append(feature)
        size += length
    return requests


def _show(found: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found))
        return
    rows = [("name", "x", "y", "radius", "shape")]
    for each in found:
        numbers = (f"{each[key]:,.1f}" for key in ("x", "y", "radius"))
        rows.append((each["name"], *numbers, "polygon" if "outline" in each else "circle"))
    show_table(rows)
