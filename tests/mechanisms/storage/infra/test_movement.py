"""Predictions of where clients go, and items that are sent there before them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.mobility.arrivals import ArrivalPrefetch
from bypass.mechanisms.storage.infra.edge.mobility.movement import ClientMovement, Visit
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.protocol.edge import ItemKey
from tests.mechanisms.storage.infra.edge_world import EdgeWorld, counted, item

HERE, HALL, YARD, GATE = 1, 2, 3, 4
CLIENT = 70


class Walks:
    """An edge that hears of clients, and a clock."""

    def __init__(self, **bounds: int) -> None:
        self.now = 0.0
        self.movement = ClientMovement(HERE, lambda: self.now, **bounds)

    def walk(self, *stays: tuple[int, float], client: int = CLIENT) -> None:
        """Have a client be at edges, for so many seconds each."""
        for edge, stay_s in stays:
            self.movement.heard(client, edge)
            self.now += stay_s


def test_a_client_goes_where_it_went_before_and_stays_as_long() -> None:
    walks = Walks()
    walks.walk((HERE, 100.0), (HALL, 50.0), (HERE, 120.0), (HALL, 50.0), (HERE, 30.0))
    assert walks.movement.predicted(CLIENT) == (HALL, 90.0)  # of 120, as when it came from there
    walks.now += 80.0
    walks.movement.heard(CLIENT, HERE)  # still
    assert walks.movement.predicted(CLIENT) == (HALL, 10.0)
    walks.now += 80.0
    assert walks.movement.predicted(CLIENT) == (HALL, 0.0)  # longer than usual
    assert walks.movement.visits(CLIENT)[:2] == (
        Visit(None, HERE, 100.0, HALL),
        Visit(HERE, HALL, 50.0, HERE),
    )
    assert walks.movement.predicted(71) is None


def test_where_it_came_from_decides_then_the_number_of_times_then_the_latest() -> None:
    walks = Walks()
    walks.walk((HALL, 1.0), (HERE, 10.0), (YARD, 1.0), (HERE, 20.0), (GATE, 1.0))
    walks.walk((HERE, 5.0), (HALL, 1.0), (HERE, 30.0), (HALL, 1.0))
    walks.movement.heard(CLIENT, HERE)
    assert walks.movement.predicted(CLIENT) == (HALL, 30.0)  # from there to the yard once, then back
    walks.walk((HERE, 8.0), (YARD, 1.0))
    walks.movement.heard(CLIENT, HERE)
    assert walks.movement.predicted(CLIENT) == (GATE, 20.0)  # it comes from the yard now
    walks.walk((HERE, 1.0), (9, 1.0))
    walks.movement.heard(CLIENT, HERE)
    assert walks.movement.predicted(CLIENT) == (YARD, 9.0)  # it never came from there: after 10 and 8 s


def test_a_client_that_has_left_is_expected_now_and_one_that_came_back_is_not() -> None:
    walks = Walks()
    walks.walk((HERE, 40.0), (HALL, 1.0), (HERE, 10.0))
    walks.movement.left(CLIENT, HALL)  # late, it is not there
    assert walks.movement.predicted(CLIENT) == (HALL, 30.0)
    walks.movement.left(CLIENT, HERE)
    walks.now += 5.0
    walks.movement.left(CLIENT, HERE)  # again
    assert walks.movement.predicted(CLIENT) == (HALL, 0.0)
    walks.movement.heard(CLIENT, HERE)
    assert walks.movement.predicted(CLIENT) == (HALL, 25.0)
    walks.movement.left(CLIENT, HERE)
    walks.now += 7.0
    walks.movement.heard(CLIENT, YARD)
    assert walks.movement.visits(CLIENT)[-1] == Visit(HALL, HERE, 15.0, YARD)  # the way there is no stay


def test_the_share_of_clients_that_move() -> None:
    """Of five that were here one is here, and one went to the hall and came back."""
    walks = Walks()
    for client, stays in enumerate([(HERE,), (HERE, HALL), (HERE, HALL, HERE), (HERE, YARD, GATE), (HERE,)]):
        walks.walk(*[(edge, 1.0) for edge in stays], client=client)
    walks.walk((HALL, 1.0), (YARD, 1.0), client=9)  # it was never here
    movement = walks.movement
    assert [movement.migration(edge) for edge in (HALL, YARD, GATE)] == pytest.approx([0.4, 0.2, 0.0])
    assert Walks().movement.migration(HALL) == 0.0


steps = st.lists(
    st.tuples(
        st.sampled_from(("heard", "left")), st.integers(1, 5), st.integers(1, 4), st.floats(0.0, 100.0)
    ),
    max_size=60,
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(steps, st.integers(1, 4), st.integers(1, 5))
def test_predictions_are_of_a_clients_own_visits_and_histories_are_bounded(
    drawn: list[tuple[str, int, int, float]], most_clients: int, most_visits: int
) -> None:
    walks, twin = (Walks(most_clients=most_clients, most_visits=most_visits) for _ in range(2))
    for what, client, edge, later in drawn:
        for each in (walks, twin):
            each.now += later
            getattr(each.movement, what)(client, edge)
        movement = walks.movement
        assert len(movement) <= most_clients
        for known in range(1, 6):
            visits = movement.visits(known)
            assert len(visits) <= most_visits
            assert all(visit.stay_s >= 0 and visit.next_edge != visit.edge for visit in visits)
            assert all(a.next_edge == b.edge and a.edge == b.came_from for a, b in pairwise(visits))
            found, place = movement.predicted(known), movement.place(known)
            assert (found is None) or (found.in_s >= 0.0)
            if place is None:
                assert found is None
                assert not visits
            else:
                there = Counter(visit.next_edge for visit in visits if visit.edge == place[0])
                assert (found is None) == (not there)
                assert found is None or found.edge in there
            assert found == twin.movement.predicted(known)
        shares = [movement.migration(edge) for edge in range(1, 6)]
        assert all(share >= 0.0 for share in shares)
        assert sum(shares) <= 1.0 + 1e-9


# ---- items for where clients are expected


def query(number: int, tags: str, client: int = CLIENT) -> ObjectQuery:
    return ObjectQuery((client << 32) + number, client, TagFormula.parse(tags), namespace="w")


class Area:
    """An edge whose client 70 goes to the hall after 100 s, each time."""

    def __init__(self, **settings: float) -> None:
        self.walks = Walks()
        self.walks.walk((HALL, 10.0), (HERE, 100.0), (HALL, 10.0), (HERE, 0.0))
        self.popularity = PopularityTable()
        self.caches = EdgeCaches(EdgeWorld().workshop, lambda _: False)
        self.prefetch = ArrivalPrefetch(
            HERE,
            self.walks.movement,
            self.caches,
            self.popularity,
            **settings,  # type: ignore[arg-type]
        )

    def due(self) -> list[tuple[int, int, list[str]]]:
        found = self.prefetch.due()
        return [(edge, client, [each.key.object.name for each in items]) for edge, client, items in found]


def test_items_that_a_client_asks_for_are_at_the_next_edge_before_it() -> None:
    area = Area(ahead_s=30.0)
    items = [item("new", "a", at=9), item("used", "a"), item("wanted", "ab"), item("other", "c")]
    area.caches.insert_local(items)
    area.caches.take_provision([item("theirs", "a", source=HALL), item("far", "a", source=YARD)])
    area.caches.prefetch.metadata.put(item("no data", "a", source=YARD)._replace(data=None))
    area.popularity.add("w", counted(items[2], 3), 1)
    area.prefetch.asked(CLIENT, query(1, "a"))
    area.prefetch.asked(CLIENT, query(2, "b"))
    area.prefetch.asked(CLIENT, query(3, "c"))
    area.prefetch.withdrawn(CLIENT, query(3, "c").id)
    area.prefetch.used(CLIENT, items[1].key)
    area.prefetch.asked(71, query(1, "a", 71))  # it was never here before
    area.prefetch.withdrawn(72, 1)
    area.walks.now += 69.0
    assert area.due() == []  # too early
    area.walks.now += 2.0
    assert area.due() == [(HALL, CLIENT, ["wanted", "new", "far"])]
    assert area.due() == []  # once in each visit
    area.walks.walk((HALL, 10.0))
    assert area.due() == []  # it is there
    area.walks.walk((HERE, 80.0))
    assert area.due() == [(HALL, CLIENT, ["wanted", "new", "far"])]


def test_a_client_that_has_left_is_served_and_its_own_items_stay() -> None:
    area = Area(most_items=1)
    area.prefetch.asked(CLIENT, query(1, "a"))
    area.walks.now += 1.0
    area.walks.movement.left(CLIENT, HERE)
    assert area.due() == []  # there is nothing
    own = item("own", "a", at=9)
    metadata = own.metadata
    area.caches.insert_local([own, item("x", "a", at=5), item("y", "a", at=6)])
    one = ArrivalPrefetch(HERE, area.walks.movement, area.caches, area.popularity, most_items=2)
    assert metadata.key.owner == 1
    one.asked(1, query(1, "a", 1))
    assert area.due() == [(HALL, CLIENT, ["own"])]
    for edge in (HERE, HALL, HERE):
        area.walks.movement.heard(1, edge)
    assert one.due() == []  # all are of client 1


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    st.lists(st.sampled_from(["a", "b", "ab", "c"]), max_size=12),
    st.lists(st.sampled_from(["a", "b", "c", "a b"]), max_size=4),
    st.sets(st.integers(0, 11)),
    st.integers(1, 5),
)
def test_items_match_a_query_are_not_used_and_bounded(
    tags: list[str], asked: list[str], used: set[int], most: int
) -> None:
    area = Area(most_items=most)
    items = [item(number, each) for number, each in enumerate(tags)]
    area.caches.insert_local(items)
    queries = [query(number, each.replace(" ", " & ")) for number, each in enumerate(asked)]
    for each in queries:
        area.prefetch.asked(CLIENT, each)
    for number in used:
        area.prefetch.used(CLIENT, ItemKey("w", item(number).key.object, 1))
    area.walks.now += 99.0
    wanted = {
        each.metadata.key.name
        for number, each in enumerate(items)
        if number not in used and any(query.matches(each.metadata) for query in queries)
    }
    found = [name for _, _, names in area.due() for name in names]
    assert len(found) == len(set(found)) == min(most, len(wanted))
    assert {*found} <= wanted
