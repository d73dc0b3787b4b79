"""Whatever the strategies draw is what they say it is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bypass import Event, Plan, Registry, Subscription
from bypass.mechanisms.families import FILTER_PROXY
from bypass.places.region import Place, Region
from bypass.protocol.messages import Kind, Publish, Subscribe
from bypass.protocol.wire import decode, encode
from bypass.scenarios.experiments.variants import validated
from bypass.scenarios.runs.runner import run
from bypass.testing.strategies import Waypoint, events, places, plans, scenarios, subscriptions, walks
from bypass.transitions.yaml_text import dump_yaml, load_yaml

HEXAGONS = f"{Path(__file__).parents[2]}/examples/hexagons.py:Hexagons"
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

corners = st.integers(-500, 500).map(float)
sizes = st.integers(1, 900).map(float)
circles = st.builds(Place, st.just("park"), corners, corners, sizes)
regions = st.builds(
    lambda x, y, width, height, circle: Region((x, y, x + width, y + height), (circle,)),
    corners, corners, sizes, sizes, circles,
)  # fmt: skip


@given(event=events(), wanted=subscriptions())
@settings(deadline=None)
def test_events_and_subscriptions_survive_the_wire(event: Event, wanted: Subscription) -> None:
    for message in (Publish(1, event, Kind.PLAIN), Subscribe(1, wanted, 100)):
        assert decode(encode(message)) == message


@given(drawn=st.data(), region=regions)
@few
def test_places_and_walks_stay_in_the_region(drawn: Any, region: Region) -> None:
    x0, y0, x1, y1 = region.area
    way: tuple[Waypoint, ...] = drawn.draw(walks(region, duration=30.0))
    assert way[0].at == 0.0
    assert way[-1].at == 30.0
    assert all(before.at < after.at for before, after in pairwise(way))
    for x, y in [drawn.draw(places(region)), *((point.x, point.y) for point in way)]:
        assert x0 <= x <= x1
        assert y0 <= y <= y1


@given(plan=plans(clients=5))
@settings(deadline=None)
def test_plans_are_possible(plan: Plan) -> None:
    Registry().check(plan)
    for action in plan.actions:
        assert action.members is None or {*action.members} <= {*range(5)}


@given(plan=plans(Registry([HEXAGONS]), proxies=(FILTER_PROXY,)))
@few
def test_plans_of_a_registry_may_name_what_it_has(plan: Plan) -> None:
    Registry([HEXAGONS]).check(plan)
    assert {action.proxy for action in plan.actions} == {FILTER_PROXY}


@pytest.mark.parametrize("mechanisms", [(), (HEXAGONS,)])
def test_scenarios_load(mechanisms: tuple[str, ...]) -> None:
    """Also once they were written to a file."""
    schemes = set()

    @settings(few, max_examples=60)
    @given(data=scenarios(mechanisms))
    def load(data: dict[str, Any]) -> None:
        read: Any = load_yaml("drawn", dump_yaml(data), ValueError)
        assert validated("drawn", {"name": "drawn", **read}).clients == data["clients"]
        schemes.add(data["filter"]["scheme"])

    load()
    assert len(schemes) > 3


@pytest.mark.slow
@given(data=scenarios([HEXAGONS]))
@settings(few, max_examples=3)
def test_scenarios_run(data: dict[str, Any]) -> None:
    result = run(validated("drawn", {"name": "drawn", **data}))
    assert len(result.main.phases) == 1 + len(data["timeline"])
