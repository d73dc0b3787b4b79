"""Border events in a simulated system: every watcher is told those of the client's own fixes, each once."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.filters import attr
from bypass.places.areas import Area
from bypass.places.borders import EVERYBODY, BorderEvent
from bypass.places.region import Place, Region
from bypass.sim.system import SimulatedSystem
from bypass.transitions import Action, Plan
from tests.core.borders.walks import Walks

KINDS = {"enter", "exit", "dwell", "cross"}
REGION = Region((0, 0, 1000, 1000), (Place("market", 300, 500, 120), Place("station", 700, 500, 90)))
AREAS = {
    "triangle": Area.polygon([(200, 200), (800, 250), (450, 800)]),
    "ring": Area.polygon(
        [(400, 400), (600, 400), (600, 600), (400, 600)], [[(450, 450), (550, 450), (500, 550)]]
    ),
    "way": Area.corridor([(100, 600), (900, 650)], 60),
    "market": Area.circle((300, 500), 120),
}
SCHEMES = ("radial", "ste", "grid", "egrid", "attract", "multi")

corners = st.tuples(st.integers(0, 1000), st.integers(0, 1000))
ways = st.lists(corners, min_size=2, max_size=6).map(
    lambda places: [(20.0 * i, float(x), float(y)) for i, (x, y) in enumerate([(1, 1), *places])]
)
moves = st.lists(
    st.tuples(st.floats(6, 110).map(lambda each: round(each, 2)), st.sampled_from(SCHEMES)), max_size=4
)


def brief(events: list[BorderEvent]) -> list[tuple[str, str, int, float]]:
    return sorted((e.area, e.kind, e.client, round(e.at, 4)) for e in events)


@settings(max_examples=25, deadline=None)
@given(ways, ways, st.sampled_from(SCHEMES), moves, st.lists(st.floats(6, 110), max_size=4), st.data())
def test_transitions_and_cuts_lose_and_double_nothing(
    first: list[tuple[float, float, float]],
    second: list[tuple[float, float, float]],
    scheme: str,
    transitions: list[tuple[float, str]],
    cuts: list[float],
    data: st.DataObject,
) -> None:
    """A client watches itself, an operator everybody: both find the same, whichever schemes run, also if
    connections break."""
    walks = Walks([[(0.0, 0.0, 0.0)], first, second])
    system = SimulatedSystem(
        3, walks, REGION, scheme=scheme, durable=True, seed=data.draw(st.integers(1, 99))
    )
    told: list[BorderEvent] = []
    own: list[BorderEvent] = []
    for client in system.clients[1:]:
        client.subscribe(attr("kind") == "any", lambda *_: None, radius=50)
    system.run_until(0.5)
    system.clients[0].watch(AREAS, told.append, on=KINDS, dwell=7, whom=EVERYBODY, interval=2)
    for client in system.clients[1:]:
        client.watch(AREAS, own.append, on=KINDS, dwell=7, interval=2)
    away: set[int] = set()
    changes: list[tuple[float, str | int]] = [*transitions]
    changes += [(at, data.draw(st.integers(0, 2))) for at in cuts]
    for at, which in sorted(changes, key=lambda each: each[0]):
        system.run_until(at)
        if isinstance(which, str):
            system.broker.execute(Plan(plan="other", actions=(Action(proxy="filter", to=which),)))
        elif which in away:
            away.discard(which)
            system.reconnect(which)
        else:
            away.add(which)
            system.cut_off(which)
    system.run_until(130)
    for number in away:
        system.reconnect(number)
    system.run_until(200)
    if (
        cuts
    ):  # a broker that hears nothing for a while sees a straight way: what is inside in the end is the same
        for number in (1, 2):
            for area in AREAS:
                sides = [
                    e.kind
                    for e in told
                    if (e.client, e.area) == (number, area) and e.kind in ("enter", "exit")
                ]
                assert all(before != after for before, after in pairwise(sides))
                inside = [
                    e.kind
                    for e in own
                    if (e.client, e.area) == (number, area) and e.kind in ("enter", "exit")
                ]
                assert (sides[-1:] == ["enter"]) == (inside[-1:] == ["enter"])
    else:
        assert brief(told) == brief(own)


def test_a_place_that_was_on_its_way_at_the_switch_is_not_taken_for_one_of_later() -> None:
    """A place that a client reports by cells which it is about to leave has no time; its own report does."""
    walks = Walks([[(0.0, 0.0, 0.0)], [(0.0, 1.0, 1.0), (20.0, 864.0, 0.0), (40.0, 0.0, 350.0)]])
    system = SimulatedSystem(2, walks, REGION, scheme="egrid", durable=True, seed=55)
    told: list[BorderEvent] = []
    own: list[BorderEvent] = []
    operator, walker = system.clients
    walker.subscribe(attr("kind") == "any", lambda *_: None, radius=50)
    system.run_until(0.5)
    operator.watch(AREAS, told.append, on=KINDS, dwell=7, whom=EVERYBODY, interval=2)
    walker.watch(AREAS, own.append, on=KINDS, dwell=7, interval=2)
    system.run_until(30)
    system.broker.execute(Plan(plan="other", actions=(Action(proxy="filter", to="radial"),)))
    system.run_until(60)
    assert len(own) == 2
    assert brief(told) == brief(own)
