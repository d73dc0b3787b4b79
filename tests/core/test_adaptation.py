"""A broker that adapts by itself: what it observes of a few clients that are moved by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core.adaptation import TOPICS, WINDOW_S, Adaptation, density
from bypass.places.areas import Area
from bypass.places.region import Place
from bypass.scenarios.experiments.rulebooks import load_rules
from bypass.transitions import RuleBook
from tests.conftest import Point
from tests.vicinity import Vicinity

PARK, POND, SQUARE = (
    Place("park", 300.0, 300.0, 100.0),
    Place("pond", 380.0, 300.0, 60.0),
    Place("square", 800.0, 800.0, 50.0),
)
PLACES = (PARK, POND, SQUARE)
OUT, IN_PARK, IN_POND, IN_SQUARE = (600.0, 600.0), (280.0, 300.0), (390.0, 300.0), (800.0, 810.0)

NOTES = RuleBook.from_yaml(
    """
    rules:
      - {rule: located, on: location, when: client >= 0 and area >= 0 and before >= 0}
      - {rule: counted, on: density, when: area > 0 and count >= 0 and rho >= 0 and rho_before >= 0}
    """
)


class Observed(Vicinity):
    """A world whose broker adapts by rules; clients report where they are each second."""

    def __init__(
        self,
        places: list[Point],
        rules: str | RuleBook,
        known: tuple[Place, ...] = PLACES,
        **parameters: float,
    ) -> None:
        super().__init__(
            places, {"mode": "gateway", "gateway_logic": "relay"}, attractions=known, scheme="radial"
        )
        book = load_rules(rules, parameters)[0] if isinstance(rules, str) else rules
        self.rules = Adaptation(self.broker, book, known).rules
        for client in range(len(places)):
            self.subscribe(client, 100)
        self.run(2.0)

    def go(self, client: int, place: Point) -> None:
        self.put(client, place)
        self.run(3.0)

    def fired(self) -> list[str]:
        """The rules that have fired since this was last asked."""
        names = [firing.rule for firing in self.rules.firings]
        assert not [firing.error for firing in self.rules.firings if firing.error]
        self.rules.firings.clear()
        return names

    def schemes_of(self) -> list[str]:
        return [self.scheme_of(client).name for client in range(len(self.clients))]


# -- what is observed -------------------------------------------------------------------------------------


def counts(world: Observed) -> list[tuple[str, int, float, float]]:
    seen = [f for f in world.rules.firings if f.rule == "counted"]
    names = [place.name for place in PLACES]
    found = [
        (names[f.facts["area"] - 1], f.facts["count"], f.facts["rho"], f.facts["rho_before"]) for f in seen
    ]
    world.rules.firings.clear()
    return found


def test_densities_are_clients_in_a_circle_of_100_m() -> None:
    assert density(8, Place("a", 0.0, 0.0, 100.0)) == 8.0
    assert density(2, Place("a", 0.0, 0.0, 50.0)) == 8.0
    assert density(0, Place("a", 0.0, 0.0, 10.0)) == 0.0


def test_the_density_of_an_outline_is_that_of_its_true_size() -> None:
    yard = Place.of_area("yard", Area.polygon([(0, 0), (200, 0), (200, 50), (0, 50)]))
    assert density(4, yard) == pytest.approx(4 * math.pi * 100**2 / 10_000)
    disc = Place.of_area("disc", Area.circle((0, 0), 50))
    assert density(2, disc) == pytest.approx(density(2, Place("disc", 0.0, 0.0, 50.0)))


def test_only_clients_inside_an_outline_count() -> None:
    """The yard and its circle: both clients are in the circle, one of them in the yard."""
    yard = Place.of_area("yard", Area.polygon([(200, 280), (400, 280), (400, 320), (200, 320)]))
    book = RuleBook.from_yaml(
        "rules: [{rule: counted, on: density, when: count > 0 and rho > 0 and radius > 0 and members != 0}]"
    )
    world = Observed([(300.0, 300.0), (300.0, 380.0)], book, known=(yard,))
    assert yard.radius > 80
    [counted] = [firing.facts for firing in world.rules.firings]
    assert (counted["count"], counted["members"]) == (1, [0])
    assert counted["rho"] == pytest.approx(math.pi * 100**2 / 8000)
    assert counted["radius"] == pytest.approx(math.hypot(100, 20), abs=0.01)


def test_density_is_observed_when_somebody_comes_or_goes() -> None:
    world = Observed([IN_PARK, OUT], NOTES)
    assert counts(world) == [("park", 1, 1.0, 0.0)]
    world.run(5.0)
    assert counts(world) == []  # nothing has changed
    world.go(1, IN_SQUARE)
    assert counts(world) == [("square", 1, 4.0, 0.0)]
    world.go(0, IN_SQUARE)
    assert counts(world) == [("park", 0, 0.0, 1.0), ("square", 2, 8.0, 4.0)]
    world.system.leave(1)
    assert counts(world) == [("square", 1, 4.0, 8.0)]
    world.go(0, OUT)
    assert counts(world) == [("square", 0, 0.0, 4.0)]


def test_the_workload_is_counted_once_in_a_window() -> None:
    book = RuleBook.from_yaml(
        """
        rules:
          - rule: mix
            on: workload
            when: clients + came + left + churn + events + subscriptions >= 0
          - {rule: none, on: workload, when: ratio == None}
          - {rule: many, on: workload, when: ratio != None and ratio > 2}
        """
    )
    world = Observed([IN_PARK, OUT, IN_SQUARE], book)
    for _ in range(9):
        world.publish(0)
    world.run(WINDOW_S)
    world.system.leave(2)
    world.run(WINDOW_S)
    first, many, second, none = world.rules.firings
    assert first.facts == {
        "clients": 3, "came": 6.0, "left": 0.0, "churn": 2.0, "events": 18.0, "subscriptions": 6.0,
    }  # fmt: skip
    assert second.facts == {
        "clients": 2, "came": 0.0, "left": 2.0, "churn": 1.0, "events": 0.0, "subscriptions": 0.0,
    }  # fmt: skip
    assert (many.rule, none.rule) == ("many", "none")


def test_who_is_as_far_away_as_numbers_reach_is_nowhere() -> None:
    world = Observed([IN_PARK], NOTES)
    world.go(0, (1e200, -1e300))
    assert counts(world)[-1] == ("park", 0, 0.0, 1.0)


def test_where_areas_overlap_it_is_the_one_that_a_client_is_deepest_in() -> None:
    world = Observed([OUT], NOTES)
    found = []
    for x in (305.0, 349.0, 351.0, 400.0, 330.0):
        world.go(0, (x, 300.0))
        found += [(name, count) for name, count, _, _ in counts(world)]
    assert found == [("park", 1), ("park", 0), ("pond", 1), ("pond", 0), ("park", 1)]


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([OUT, IN_PARK, IN_POND, IN_SQUARE, None])), max_size=8
    )
)
def test_members_are_those_who_are_there(moves: list[tuple[int, Point | None]]) -> None:
    """However they move, leave and come again: the last observation of an area has its clients."""
    book = RuleBook.from_yaml(
        "rules: [{rule: counted, on: density, when: area > 0 and count >= 0, about: area,"
        " remember: {who: '{members}'}}]\ninitial: {who: []}"
    )
    world = Observed([OUT, OUT, OUT, OUT], book)
    where: dict[int, Point] = dict.fromkeys(range(4), OUT)
    last: dict[int, int] = {}
    for client, place in moves:
        if place is None and client in where:
            world.system.leave(client)
            del where[client]
            world.run(1.0)
        elif place is not None:
            if client not in where:
                world.system.join(client)
                world.subscribe(client, 100)
            where[client] = place
            world.go(client, place)
        last |= {f.facts["area"]: f.facts["count"] for f in world.rules.firings}
        world.rules.firings.clear()
    for area, inside in ((1, IN_PARK), (2, IN_POND), (3, IN_SQUARE)):
        assert last.get(area, 0) == sum(place == inside for place in where.values())


def test_the_facts_are_those_that_topics_promise() -> None:
    for topic, names in TOPICS.items():
        condition = " and ".join(f"{name} == {name}" for name in sorted(names))
        book = RuleBook.from_data({"rules": [{"rule": "all", "on": topic, "when": condition}]})
        world = Observed([IN_PARK, OUT], book)
        world.go(0, IN_SQUARE)
        world.run(WINDOW_S)
        assert not world.rules.faults
        assert {*world.rules.firings[0].facts} == names


# -- rule books -------------------------------------------------------------------------------------------


def test_borders_switch_schemes() -> None:
    world = Observed([OUT, IN_PARK], "borders")
    assert world.schemes_of() == ["radial", "attract"]
    world.go(0, IN_SQUARE)
    world.go(1, OUT)
    assert world.schemes_of() == ["attract", "radial"]
    assert world.fired() == ["enter", "enter", "leave"]


def test_near_attraction_points_clients_tell_each_other() -> None:
    world = Observed([OUT, IN_PARK], "cx-adhoc", p=0.7)
    assert world.active("direct") == ["nothing", "gossip"]
    assert world.clients[1].engine.active("direct").settings()["p"] == 0.7
    assert world.stamps()[1].scope == 1
    world.go(1, IN_SQUARE)
    assert world.stamps()[1].scope == 3
    assert world.fired() == ["enter", "cross"]
    world.go(1, OUT)
    assert world.active("direct") == ["nothing", "nothing"]
    assert world.schemes_of() == ["radial", "radial"]
    assert world.fired() == ["leave"]
    world.run(5.0)
    assert world.fired() == []


def test_gateways_near_attraction_points() -> None:
    world = Observed([OUT, IN_PARK], "cx-gateway")
    assert world.active("gateway") == ["nothing", "broadcast"]
    assert world.active("direct") == ["nothing", "gossip"]
    world.go(1, IN_POND)
    world.go(0, IN_POND)
    assert world.active("gateway") == ["broadcast"] * 2
    assert [stamp.scope for stamp in world.stamps("gateway")] == [2, 2]
    world.go(0, OUT)
    assert world.active("gateway") == ["nothing", "broadcast"]
    assert world.fired() == ["enter", "cross", "enter", "leave"]


BOOKS = ["density", "density-healing"]


@pytest.mark.parametrize("book", BOOKS)
def test_where_it_is_dense_others_mechanisms_run(book: str) -> None:
    """The square is dense with three clients: their density is 12, the limit is 8 plus a hysteresis of 1."""
    world = Observed([OUT] * 4, book, hysteresis=1.0)
    for client in (0, 1):
        world.go(client, IN_SQUARE)
    assert world.active("direct") == ["plan-b", "plan-b", "nothing", "nothing"]
    assert world.active("gateway") == ["unicast", "unicast", "nothing", "nothing"]
    world.go(2, IN_SQUARE)
    told = [0, 1, 2] if book == "density" else [2]
    if book == "density-healing":
        # Whoever comes next is told; the others follow what they hear of it.
        world.go(3, IN_SQUARE)
        told = [3]
        assert [world.active("direct")[n] for n in told] == ["gossip"]
        world.publish_local(3)
        world.run()
        told = [0, 1, 2, 3]
    assert {world.active("direct")[n] for n in told} == {"gossip"}
    assert len({world.stamps()[n] for n in told}) == 1
    assert not [firing.error for firing in world.rules.firings if firing.error]


def test_central_and_healing_differ_in_who_is_told() -> None:
    plans = {}
    for book in BOOKS:
        world = Observed([OUT] * 4, book)
        before = []
        for client in range(4):
            world.go(client, IN_SQUARE)
            before.append(world.broker.rollout.plans_sent)
        plans[book] = before[-1]
    assert plans["density"] > plans["density-healing"] == 4


@pytest.mark.parametrize("book", BOOKS)
def test_there_is_a_hysteresis(book: str) -> None:
    """Densities of 8 and 12 in turn; between 6 and 10 nothing is decided."""
    world = Observed([*[IN_SQUARE] * 2, OUT], book, delta=10.0, hysteresis=1.0)
    world.fired()
    for _ in range(3):
        world.go(2, IN_SQUARE)
        world.go(2, OUT)
    fired = world.fired()
    assert fired.count("dense") == fired.count("sparse") == 3
    world = Observed([*[IN_SQUARE] * 2, OUT], book, delta=10.0, hysteresis=3.0)
    world.fired()
    for _ in range(3):
        world.go(2, IN_SQUARE)
        world.go(2, OUT)
    assert {"dense", "sparse"}.isdisjoint(world.fired())


@pytest.mark.parametrize("book", BOOKS)
def test_decisions_of_an_area_are_numbered(book: str) -> None:
    world = Observed([*[IN_SQUARE] * 2, OUT], book, delta=10.0)
    for _ in range(2):
        world.go(2, IN_SQUARE)
        world.go(2, OUT)
    assert world.rules.decisions == {3: 4}


@pytest.mark.parametrize("book", BOOKS)
def test_who_comes_later_runs_what_the_area_runs(book: str) -> None:
    world = Observed([*[IN_SQUARE] * 3, OUT], book)
    world.go(3, IN_SQUARE)
    world.publish_local(3)
    world.run()
    assert world.active("direct") == ["gossip"] * 4
    assert world.active("gateway")[3] == "broadcast"
    assert len(set(world.stamps())) == 1


def test_a_firing_names_the_plan_that_clients_execute() -> None:
    """Also where the broker itself has nothing to do, and so no record."""
    world = Observed([OUT] * 4, "density", hysteresis=1.0)
    for client in range(3):
        world.go(client, IN_SQUARE)
    fired = [firing.plan for firing in world.rules.firings if firing.rule == "dense"]
    told = {record.id.rpartition("/")[0] for record in world.clients[2].engine.records}
    assert fired
    assert set(fired) <= told


VISITS = RuleBook.from_yaml(
    """
    rules:
      - {rule: enter, on: enter, when: place == 'park'}
      - {rule: leave, on: leave, when: place == 'park' and seconds > 0 and at > 0}
      - {rule: dwell, on: dwell, when: place == 'park' and before < 5 and seconds >= 5}
      - {rule: pond, on: enter, when: place == 'pond' and x < 381}
    """
)


def test_visits_are_entered_dwelt_in_once_and_left() -> None:
    """Each place for itself, although the park and the pond overlap, and also on the way through."""
    world = Observed([OUT], VISITS)
    world.fired()
    world.go(0, IN_PARK)
    assert world.fired() == ["enter"]
    world.run(9.0)
    assert world.fired() == ["dwell"]
    world.go(0, (480.0, 300.0))
    assert world.fired() == ["pond", "leave"]
    world.go(0, IN_PARK)
    world.broker.disconnect(0)
    assert world.fired() == ["enter", "leave"]
