from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.events import Event
from bypass.filters import Filter, Subscription, attr
from bypass.matching import matches

at_least_12 = attr("level") >= 12
below_20 = attr("level") < 20


@pytest.mark.parametrize(
    ("event", "wanted", "expected"),
    [
        (Event(level=42), at_least_12, True),
        (Event(level=11), at_least_12, False),
        (Event(level=12), at_least_12, True),
        (Event(), at_least_12, False),
        (Event(level=42, name="x"), at_least_12, True),
        (Event(level=15), at_least_12 & below_20, True),
        (Event(level=25), at_least_12 & below_20, False),
        (Event([("level", 15), ("level", 25)]), below_20, False),
        (Event(level=42), at_least_12 & (attr("name") == "x"), False),
        (Event(stockvalue=151), attr("stockvalue") > 150, True),
    ],
)
def test_an_event_matches_if_all_its_values_pass_all_filters(
    event: Event, wanted: Filter | Subscription, expected: bool
) -> None:
    assert matches(event, Subscription.of(wanted)) is expected


@pytest.mark.parametrize(
    ("event", "wanted", "expected"),
    [
        (Event(level=12.5), at_least_12, True),
        (Event(level=13), attr("level") >= 12.5, True),
        (Event(level="42"), at_least_12, False),
        (Event(level="42"), attr("level") != 12, False),
        (Event(level=42), attr("level") != "x", False),
        (Event(level={42}), attr("level") != 12, False),
        (Event(level=2.0), attr("level").in_([1, 2]), True),
        (Event([("level", 15), ("level", "x")]), below_20, False),
        (Event([("level", 15), ("kind", "x"), ("level", 16)]), below_20, True),
        (Event([("kind", "x"), ("kind", "y"), ("level", 15)]), below_20, True),
        (Event(level=float("nan")), at_least_12, False),
    ],
)
def test_values_of_another_type_never_pass_but_numbers_compare(
    event: Event, wanted: Filter, expected: bool
) -> None:
    assert matches(event, Subscription.of(wanted)) is expected


names = st.sampled_from(["a", "b", "c"])
values = st.integers(-3, 3) | st.sampled_from([-1.5, 0.0, 2.5]) | st.sampled_from(["", "x", "xy"])
events = st.lists(st.tuples(names, values), max_size=5).map(Event)
filters = st.builds(
    lambda name, op, value: attr(name).op(op, value),
    names,
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    values,
)
COMPARE: dict[str, Any] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def passes(value: Any, each: Filter) -> bool:
    return isinstance(value, str) == isinstance(each.value, str) and COMPARE[each.op](value, each.value)


@given(events, st.lists(filters, min_size=1, max_size=4))
def test_matching_agrees_with_its_definition(event: Event, some: list[Filter]) -> None:
    expected = all(
        each.attribute.name in event and all(passes(value, each) for value in event.all(each.attribute.name))
        for each in some
    )
    assert matches(event, Subscription(some)) is expected


@given(events, st.lists(filters, min_size=2, max_size=4))
def test_a_conjunction_matches_what_all_its_filters_match(event: Event, some: list[Filter]) -> None:
    apart = [matches(event, Subscription.of(each)) for each in some]
    assert matches(event, Subscription(some)) is all(apart)
    assert matches(event, Subscription(reversed(some))) is all(apart)
