"""The outlines that the dashboard draws."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import shapely

from bypass import attr, connect_blocking
from bypass.live.broker.operations.outlines import MOST_CORNERS, outline, place_entry
from bypass.live.operator import Operator
from bypass.places.areas import Area
from bypass.places.region import Place
from tests.live.brokers import config, in_loop, running


def shape_of(area: Area) -> shapely.MultiPolygon:
    return shapely.MultiPolygon([(outer, holes) for outer, *holes in outline(area)])


@pytest.mark.parametrize(
    "area",
    [
        Area.circle((50, 50), 30),
        Area.box((0, 0), (40, 30)),
        Area.sector((0, 0), 100, 45, 90),
        Area.corridor([(0, 0), (100, 0), (100, 100)], 20),
        Area.polygon([(0, 0), (90, 0), (90, 90)], holes=[[(60, 20), (80, 20), (80, 40)]]),
        Area.polygons([([(0, 0), (9, 0), (9, 9)], []), ([(20, 0), (29, 0), (29, 9)], [])]),
    ],
    ids=lambda area: type(area.shape).__name__,
)
def test_an_outline_is_the_areas_shape(area: Area) -> None:
    shape = shape_of(area)
    assert shape.is_valid  # parts do not overlap, or they would be drawn darker
    assert shape.symmetric_difference(area.geometry()).area < 0.02 * area.size


def test_a_long_border_is_drawn_coarsely() -> None:
    turn = [2 * math.pi * i / 3000 for i in range(3000)]
    area = Area.polygon([(1000 * math.cos(a), 1000 * math.sin(a)) for a in turn])
    [[ring]] = outline(area)
    assert len(ring) == MOST_CORNERS
    assert shape_of(area).area == pytest.approx(area.size, rel=0.001)


def test_a_circle_needs_no_outline() -> None:
    entry = {"name": "park", "x": 1.0, "y": 2.0, "radius": 3.0}
    assert place_entry(Place("park", 1.0, 2.0, 3.0)) == entry
    square = place_entry(Place.of_area("yard", Area.box((0, 0), (10, 10))))
    assert [len(ring) for polygon in square["outline"] for ring in polygon] == [4]


def test_a_broker_shows_the_areas_of_subscriptions_where_they_are(tmp_path: Path) -> None:
    """Fixed ones, each once; one that moves with its owner, and one around another client who allows it."""
    park = {"name": "park", "x": 300.0, "y": 300.0, "radius": 50.0}
    with running(config(tmp_path, region={"places": [park]})) as service:
        endpoint = service.server.endpoints[0]
        with (
            connect_blocking(endpoint, open=True, name="one", location=lambda: (500.0, 500.0)) as one,
            connect_blocking(endpoint, open=True, name="two", location=lambda: (700.0, 500.0)) as two,
        ):
            wanted = attr("kind") == "news"
            for me in (one, two):
                me.subscribe(wanted, area=Area.box((0, 0), (40, 40)))
            one.subscribe(wanted, area=Area.of_place("park"))
            one.subscribe(wanted, area=Area.box((-10, -10), (10, 10)), relative=True)
            two.subscribe(wanted, radius=50)
            in_loop(service, service.status.refresh)
            shown = service.status.snapshot["areas"]
            boxes = sorted(shapely.Polygon(each["outline"][0][0]).bounds for each in shown)
    assert {each["kind"] for each in shown} == {"subscription"}
    assert boxes == [(0, 0, 40, 40), (250, 250, 350, 350), (490, 490, 510, 510)]


def test_a_broker_shows_the_areas_of_plans_that_were_executed(tmp_path: Path) -> None:
    """Not of those that were tried, and no more of those of some minutes ago."""
    with running(config(tmp_path)) as service:
        endpoint = service.server.endpoints[0]
        with connect_blocking(endpoint, open=True, name="one", location=lambda: (5.0, 5.0)) as one:
            one.subscribe(attr("kind") == "news", radius=50)
            with Operator(endpoint, None) as operator:
                plan = {"plan": "there", "actions": [{"proxy": "filter", "to": "ste"}]}
                operator.ask("execute", plan=plan, area=[0, 0, 30, 30], dry_run=True)
                in_loop(service, service.status.refresh)
                assert service.status.snapshot["areas"] == []
                operator.ask("execute", plan=plan, area=[0, 0, 30, 30])
                in_loop(service, service.status.refresh)
            [shown] = service.status.snapshot["areas"]
            areas = service.server.broker.plan_areas
            assert in_loop(service, lambda: areas.since(service.server.loop.now() + 1)) == []
    assert shown["kind"] == "plan"
    assert shapely.Polygon(shown["outline"][0][0]).bounds == (0, 0, 30, 30)
