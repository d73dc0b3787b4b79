"""The suite of attribute matching: an index finds what trying every subscription finds."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from hypothesis import strategies as st

from bypass.events.attributes import (
    ANYTHING,
    AREA,
    BOOLEAN,
    FLOAT,
    INTEGER,
    PLACE,
    SET,
    STRING,
    Attribute,
    AttributeTypes,
)
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription, attr
from bypass.events.matching import matches
from bypass.events.operators import ABSENT, OperatorRegistry
from bypass.mechanisms.families import MATCHING, MATCHING_PROXY, Family
from bypass.mechanisms.filters.indexes.groups import SubscriptionGroups
from bypass.mechanisms.matching.base import AttributeMatching
from bypass.places.areas import Area
from bypass.places.geo import PlanarLocation
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.simulated import SimulatedWorld
from bypass.transitions import Action, Plan


class Version(NamedTuple):
    """A type of one's own, which is no built-in one."""

    major: int
    minor: int


TYPES = AttributeTypes()
OPERATORS = OperatorRegistry()
VERSION = TYPES.register("version", Version)
OPERATORS.register(VERSION, "follows", lambda event, mine: tuple(event) > tuple(mine))
OPERATORS.register(INTEGER, "divides", lambda event, mine: event == event // 1 and event % mine == 0)
OPERATORS.register(ANYTHING, "absent", lambda event, _: event is ABSENT)

Toggles = Sequence[int]


class MatchingSuite(MechanismSuite):
    """The subscriptions found are those that `matches` accepts, whichever come and go and whatever runs."""

    family: ClassVar[Family] = MATCHING

    def matching(self, groups: SubscriptionGroups) -> AttributeMatching:
        """A mechanism that matches these subscriptions."""
        made: AttributeMatching = self.kind(None, **self.parameters)
        made.groups = groups
        made.start()
        return made

    # -- against the definition ---------------------------------------------------------------------------

    def test_it_finds_what_matches(self) -> None:
        """Subscriptions come and go, the same ones again; before each change an event is matched."""

        def finds(wanted: list[Subscription], toggles: Toggles, happening: list[Event]) -> None:
            groups = SubscriptionGroups()
            early, late = self.matching(groups), None
            numbers: dict[int, int] = {}
            for turn, toggled in enumerate(toggles):
                _toggle(groups, numbers, wanted, toggled % len(wanted))
                if turn == len(toggles) // 2:
                    late = self.matching(groups)  # hears first of what is there already
                for each in filter(None, (early, late)):
                    _assert_found(each, groups, happening[turn % len(happening)])
            for number in numbers.values():
                groups.leave(number)
            _assert_found(early, groups, happening[0])

        self.for_all(
            finds,
            wanted=st.lists(wishes(), min_size=1, max_size=12),
            toggles=st.lists(st.integers(0, 11), min_size=1, max_size=24),
            happening=st.lists(happenings(), min_size=1, max_size=6),
        )

    def test_it_keeps_rows_in_their_order(self) -> None:
        """Of some rows, those are left whose subscription accepts an event; rows may share subscriptions."""

        def keeps(wanted: list[Subscription], of: list[int], event: Event) -> None:
            groups = SubscriptionGroups()
            matching = self.matching(groups)
            numbers = [groups.join(each) for each in wanted]
            group_of = np.array([numbers[each % len(numbers)] for each in of], np.int64)
            rows = np.arange(0, len(of), 2)
            found = matching.accepted(event, rows, group_of).tolist()
            expected = [row for row in rows.tolist() if matches(event, groups[int(group_of[row])])]
            assert found == expected, f"rows {found}, expected {expected}, of {event}"

        self.for_all(
            keeps,
            wanted=st.lists(wishes(), min_size=1, max_size=12),
            of=st.lists(st.integers(0, 11), max_size=60),
            event=happenings(),
        )

    def test_it_stops_listening(self) -> None:
        """A mechanism that was stopped, or was given other subscriptions, is not told of any more."""
        first, second = SubscriptionGroups(), SubscriptionGroups()
        matching = self.matching(first)
        matching.watch(second)
        assert not first.listeners, "a mechanism listens to subscriptions that it does not match any more"
        second.join(Subscription.of(attr("a") == 1))
        assert matching.accepting(Event(a=1)).tolist() == [0]
        matching.stop()
        assert not second.listeners, "a mechanism that was stopped listens"

    # -- in a system --------------------------------------------------------------------------------------

    def test_it_can_be_exchanged(self) -> None:
        """Each built-in mechanism takes over from this one and hands over to it: nothing is lost or added."""
        world = SimulatedWorld("radial", {}, mechanisms=self.brought)
        world.enter("publisher", (500.0, 500.0))
        for number in range(8):
            name = f"subscriber {number}"
            world.enter(name, (500.0, 500.0))
            world.subscribe(name, None if number % 3 == 0 else 100, attr("level") == number % 4)
            world.subscribe(name, 100, (attr("level") >= number) | (attr("kind") == "other"))
        world.settle()
        for name in (self.name, *(each for other in self.others for each in (other, self.name))):
            (record,) = world.execute_plan(
                Plan(plan="test", actions=(Action(proxy=MATCHING_PROXY, to=name),))
            )
            assert record.outcome != "failed", f"transition to {name}: {record.error}"
            for at in ((510.0, 500.0), None):
                level = len(world.published) % 5
                event = world.publish("publisher", at, level=level)
                world.settle()
                _assert_told(world, event, level)
            late = world.subscribe("subscriber 1", 100, attr("level") < 9)
            world.settle()
            event = world.publish("publisher", (510.0, 500.0), level=3)
            world.settle()
            _assert_told(world, event, 3)
            world.unsubscribe("subscriber 1", late)


def _toggle(
    groups: SubscriptionGroups, numbers: dict[int, int], wanted: Sequence[Subscription], each: int
) -> None:
    """Have somebody subscribe, or end what it subscribed before."""
    if each in numbers:
        groups.leave(numbers.pop(each))
    else:
        numbers[each] = groups.join(wanted[each])


def _assert_found(matching: AttributeMatching, groups: SubscriptionGroups, event: Event) -> None:
    found = matching.accepting(event).tolist()
    expected = [number for number, each in groups.items() if matches(event, each)]
    assert sorted(found) == sorted(expected), (
        f"{event}: found {[str(groups[each]) for each in found]}, "
        f"expected {[str(groups[each]) for each in expected]}"
    )


def _assert_told(world: SimulatedWorld, event: int, level: int) -> None:
    """Whether exactly those were told of an event at everybody's place whose filters accept it."""
    content = world.published[event].event
    expected = [
        (name, number)
        for name, person in world.people.items()
        for number, wish in person.interests.items()
        if name != "publisher" and matches(content, Subscription.of(wish.wanted))
    ]
    told = sorted(world.deliveries[event])
    assert told == sorted(expected), f"event of level {level}: told {told}, expected {sorted(expected)}"


# -- what is drawn: few names and values, so that much of it meets ----------------------------------------

_NAMES = st.sampled_from("abc")
_LARGE = [2**53, 2**53 + 1, -(2**60) - 1, 10**400, float(2**53), 1e300, -1e-300, float("inf"), -float("inf")]
_NUMBERS = st.integers(-3, 3) | st.sampled_from([-1.5, 0.0, 2.5]) | st.sampled_from(_LARGE)
_TEXTS = st.sampled_from(
    ["", "x", "xy", "é", "y", "xyxyxyx", "xyxyxyy", "xy" * 20, "xy" * 20 + "z", "\ud800"]
)
_SCALARS = st.sampled_from([1, 2, 3.5, "x", "xy"])
_SETS = st.frozensets(_SCALARS, max_size=3)
_PLACES = st.builds(PlanarLocation, st.sampled_from([0.0, 3.0]), st.sampled_from([0.0, 3.0]))
_AREAS = st.builds(Area.circle, _PLACES, st.sampled_from([1, 3]))
_VERSIONS = st.builds(Version, st.integers(0, 1), st.integers(0, 1))


def happenings() -> st.SearchStrategy[Event]:
    """Events, some of whose attributes occur repeatedly, and with values that pass no comparison."""
    odd = st.just(float("nan")) | st.booleans() | _VERSIONS | st.just(frozenset({float("nan"), 1}))
    pairs = st.lists(st.tuples(_NAMES, _NUMBERS | _TEXTS | _SETS | _PLACES | _AREAS | odd), max_size=5)
    return st.builds(Event.of_types, st.just(TYPES), pairs)


def wishes() -> st.SearchStrategy[Subscription]:
    """Subscriptions with every operator, some of one's own among them, joined by and, or and not."""
    order = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])

    def on(kinds: Sequence[Any], values: st.SearchStrategy[Any], op: Any) -> st.SearchStrategy[Filter]:
        attributes = st.builds(Attribute, _NAMES, st.sampled_from(kinds))
        return st.builds(Filter, attributes, values, op, st.just(OPERATORS))

    conjunctions = st.builds(
        Subscription,
        st.lists(
            st.one_of(
                on([INTEGER, FLOAT], _NUMBERS, order),
                on([INTEGER, FLOAT], _NUMBERS, order),
                on([STRING], _TEXTS, order | st.sampled_from(["prefix", "suffix", "contains"])),
                on([FLOAT], st.sampled_from([{1, 2}, {2, 2**53 + 1}]), st.just("in")),
                on([STRING], st.sets(_TEXTS, min_size=1, max_size=3), st.just("in")),
                on([BOOLEAN], st.booleans(), st.sampled_from(["=", "!="])),
                on([SET], _SETS, st.sampled_from(["=", "!=", "intersects"])),
                on([SET], st.sampled_from([{1, 2}, {"x", "xy"}, {3.5}]), st.just("in")),
                on([SET], _SCALARS, st.just("contains")),
                on([ANYTHING], st.none(), st.just("exists")),
                on([PLACE], _PLACES, st.sampled_from(["=", "!="])),
                on([PLACE, AREA], _AREAS, st.sampled_from(["within", "intersects"])),
                on([VERSION], _VERSIONS, st.just("follows")),
                on([INTEGER], st.integers(1, 3), st.just("divides")),
                on([ANYTHING], st.none(), st.just("absent")),
            ),
            min_size=1,
            max_size=6,
        ),
    )
    return st.recursive(
        conjunctions,
        lambda inner: st.one_of(
            st.builds(operator.and_, inner, inner),
            st.builds(operator.or_, inner, inner),
            st.builds(operator.invert, inner),
        ),
        max_leaves=5,
    )
