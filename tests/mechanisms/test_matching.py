"""Indexes over attributes: how many subscriptions an event looks at, and what is given back in the end."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.attributes import SET
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.mechanisms.filters.indexes.groups import SubscriptionGroups
from bypass.mechanisms.matching.columns import NumberPool
from bypass.mechanisms.matching.counting import SHORTEST, Counting
from bypass.mechanisms.matching.indexed import IndexedMatching
from bypass.mechanisms.matching.numbers import bounds_of, bounds_of_text
from bypass.mechanisms.matching.ranges import MOST_WIDTHS, RangeKeys
from bypass.mechanisms.matching.tree import Tree
from bypass.testing.suites.matchings import wishes

KINDS = (Counting, Tree)


def indexed(
    kind: type[IndexedMatching], wanted: list[Subscription]
) -> tuple[SubscriptionGroups, IndexedMatching]:
    groups = SubscriptionGroups()
    matching = kind(None)
    matching.groups = groups
    matching.start()
    for each in wanted:
        groups.join(each)
    return groups, matching


MANY = range(1000)


@pytest.mark.parametrize(
    ("wanted", "event", "most"),
    [
        ([(attr("id") == n) & (attr("kind") == "x") for n in MANY], Event(id=7, kind="x"), 1),
        ([(attr("level") >= n) & (attr("level") < n + 2) for n in MANY], Event(level=500), 8),
        ([Subscription.of(attr("level") > n) for n in MANY], Event(level=15.5), 48),
        ([Subscription.of(attr("level") <= -n) for n in MANY], Event(level=-5.5), 48),
        ([Subscription.of(attr("name").startswith(f"{n:04}")) for n in MANY], Event(name="0123x"), 1),
        ([Subscription.of(attr("name").endswith(f"{n:04}")) for n in MANY], Event(name="x0123"), 1),
        ([Subscription.of(attr("id").in_([n, n + 1, n + 2])) for n in MANY], Event(id=500), 3),
        ([Subscription.of(attr("tags", SET).contains(n)) for n in MANY], Event(tags={1, 2}), 2),
        ([(attr("id") == n) | (attr("id") == -n) for n in MANY], Event(id=7), 1),
        ([(attr("id") == n) & ~(attr("kind") == "x") for n in MANY], Event(id=7, kind="y"), 1),
        ([Subscription.of(attr("name").contains(f"{n:04}")) for n in MANY], Event(other=1), 0),
    ],
)
def test_an_event_looks_at_few_subscriptions(wanted: list[Subscription], event: Event, most: int) -> None:
    _, matching = indexed(Counting, wanted)
    assert matching.candidates(event) <= most


def test_a_tree_tells_equalities_apart_that_are_rare_together() -> None:
    wanted = [
        (attr("a") == n // 100) & (attr("b") == n // 10 % 10) & (attr("c") == n % 10) & (attr("d") != -1)
        for n in MANY
    ]
    event = Event(a=1, b=2, c=3, d=4)
    _, counting = indexed(Counting, wanted)
    _, tree = indexed(Tree, wanted)
    assert tree.candidates(event) == 1 < 50 < counting.candidates(event)
    assert tree.accepting(event).tolist() == counting.accepting(event).tolist() == [123]


def test_subscriptions_move_to_where_events_lead_more_rarely() -> None:
    wanted = [(attr("kind") == n % 100) & (attr("id") == n % 50) & (attr("n") >= n) for n in MANY]
    _, matching = indexed(Counting, wanted)
    events = [Event(kind=3, id=n % 50, n=5000) for n in range(200)]
    before = sum(map(matching.candidates, events[:50]))
    for event in events[: 2 * SHORTEST]:
        matching.accepting(event)
    after = sum(map(matching.candidates, events[:50]))
    assert before >= 50 * 10
    assert after <= before / 10
    assert matching.accepting(Event(kind=3, id=3, n=5000)).tolist().count(3) == 1


def test_subscriptions_that_were_looked_at_often_may_be_withdrawn() -> None:
    groups, matching = indexed(Counting, [(attr("kind") == 1) & (attr("n") >= n) for n in range(100)])
    lasting = groups.join(Subscription.of(attr("kind") == 2))
    for _ in range(SHORTEST - 2):
        matching.accepting(Event(kind=1, n=5))
    for number in range(100):
        groups.leave(number)
    for _ in range(3 * SHORTEST):
        assert matching.accepting(Event(kind=2, n=5)).tolist() == [lasting]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(wanted=st.lists(wishes(), max_size=10))
def test_everything_is_given_back(kind: type[IndexedMatching], wanted: list[Subscription]) -> None:
    groups, matching = indexed(kind, [])
    numbers = [groups.join(each) for each in wanted]
    random.Random(1).shuffle(numbers)
    for number in numbers:
        groups.leave(number)
    predicates = matching.predicates
    assert (len(predicates), predicates.names, len(groups.listeners)) == (0, {}, 1)
    assert predicates.keys.in_use == 1  # that of what any event may satisfy
    assert matching.candidates(Event(a=1)) == 0


def test_predicates_that_subscriptions_share_are_there_once() -> None:
    _, matching = indexed(Counting, [(attr("level") >= n % 10) & (attr("id") == n) for n in range(100)])
    assert len(matching.predicates) == 110


numbers = st.integers() | st.floats(allow_nan=False)


@given(numbers, numbers)
def test_bounds_tell_numbers_apart_that_are_floats(one: float, other: float) -> None:
    (low, high), (least, most) = bounds_of(one), bounds_of(other)
    assert low <= one <= high
    if high < least:
        assert one < other
    if one < other:
        assert low <= least
        assert high <= most


@given(st.text(st.characters(), max_size=10), st.text(st.characters(), max_size=10))
def test_bounds_order_texts(one: str, other: str) -> None:
    if bounds_of_text(one)[1] <= bounds_of_text(other)[0]:
        assert one < other
    if one <= other:
        assert bounds_of_text(one) <= bounds_of_text(other)


ends = st.integers(-50, 50) | st.floats(-1e3, 1e3) | st.sampled_from([1e300, -1e300, 5e-324, 0.0, 2.0**60])


@given(st.lists(st.tuples(ends, ends), max_size=30), st.lists(ends, min_size=1, max_size=10), st.data())
def test_a_number_leads_to_all_ranges_that_hold_it(
    ranges: list[tuple[float, float]], values: list[float], data: st.DataObject
) -> None:
    pool = NumberPool()
    keys = RangeKeys(pool)
    whole = [(float("-inf"), high) if i % 5 == 3 else (low, high) for i, (low, high) in enumerate(ranges)]
    whole = [(low, float("inf")) if i % 5 == 4 else (low, high) for i, (low, high) in enumerate(whole)]
    taken = {i: keys.take(float(low), float(high)) for i, (low, high) in enumerate(whole)}
    gone = data.draw(st.sets(st.sampled_from([*taken]))) if taken else set()
    for i in gone:
        for key, name in taken.pop(i):
            keys.give_back(key, name)
    for value in values:
        found: list[int] = []
        keys.at(bounds_of(value), found)
        for i, own in taken.items():
            low, high = whole[i]
            if low <= value <= high:
                assert {key for key, _ in own} & {*found}, f"{value} in {low}..{high}"
    for own in taken.values():
        for key, name in own:
            keys.give_back(key, name)
    assert not keys
    assert pool.in_use == 0


def test_ranges_of_very_many_widths_share_some() -> None:
    keys = RangeKeys(NumberPool())
    for exponent in range(-200, 200):
        keys.take(1.0, 1.0 + 2.0**exponent)
    found: list[int] = []
    keys.at(bounds_of(1.0), found)
    assert len(found) <= 2 * MOST_WIDTHS
