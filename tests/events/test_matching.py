import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.errors import InvalidFilter
from bypass.events.event import Event
from bypass.events.filters import MAX_DEPTH, Filter, Subscription, attr
from bypass.events.matching import matches
from bypass.protocol.messages import Subscribe
from bypass.protocol.wire import decode, encode

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


@pytest.mark.parametrize(
    ("event", "wanted", "expected"),
    [
        (Event(open=True), attr("open") == True, True),  # noqa: E712
        (Event(open=True), attr("open") == False, False),  # noqa: E712
        (Event(open=True), attr("open") == 1, False),
        (Event(open=1), attr("open") == True, False),  # noqa: E712
        (Event(open=True), attr("open") >= 0.5, False),
        (Event([("open", 1), ("open", True)]), attr("open") == 1, False),
        (Event(open=True), attr("open").in_([True, False]), True),
        (Event(open=False), attr("open").exists(), True),
        (Event(open=""), attr("open").exists(), True),
        (Event(shut=1), attr("open").exists(), False),
        (Event(shut=1), ~attr("open").exists(), True),
        (Event(), ~at_least_12, True),
        (Event(level="x"), ~at_least_12, True),
        (Event(level=12), ~at_least_12, False),
        (Event(level=25), ~(at_least_12 & below_20), True),
        (Event(level=25), ~at_least_12 | ~below_20, True),
        (Event(level=25, kind="x"), (attr("kind") == "x") & (~at_least_12 | below_20), False),
    ],
)
def test_truth_values_alternatives_negations_and_existence(
    event: Event, wanted: Filter | Subscription, expected: bool
) -> None:
    assert matches(event, Subscription.of(wanted)) is expected


MORE = st.one_of(
    filters,
    st.builds(lambda name: attr(name).exists(), names),
    st.builds(lambda name, value: attr(name) == value, names, st.booleans()),
)
MORE_EVENTS = st.lists(st.tuples(names, values | st.booleans()), max_size=5).map(Event)
Tree = tuple[Any, ...]
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.tuples(st.just("leaf"), MORE),
    lambda inner: st.one_of(
        st.tuples(st.just("and"), inner, inner),
        st.tuples(st.just("or"), inner, inner),
        st.tuples(st.just("not"), inner),
    ),
    max_leaves=8,
)


def built(tree: Tree) -> Filter | Subscription:
    match tree:
        case ("leaf", leaf):
            return leaf  # type: ignore[no-any-return]
        case ("and", a, b):
            return built(a) & built(b)
        case ("or", a, b):
            return built(a) | built(b)
    return ~built(tree[1])


def holds(tree: Tree, event: Event) -> bool:
    """Plain Python."""
    match tree:
        case ("leaf", leaf):
            name = leaf.attribute.name
            if leaf.op == "exists":
                return name in event
            return name in event and all(
                isinstance(value, bool) == isinstance(leaf.value, bool) and passes(value, leaf)
                for value in event.all(name)
            )
        case ("and", a, b):
            return holds(a, event) and holds(b, event)
        case ("or", a, b):
            return holds(a, event) or holds(b, event)
    return not holds(tree[1], event)


@given(MORE_EVENTS, TREES)
def test_expressions_mean_what_they_mean_in_python(event: Event, tree: Tree) -> None:
    wanted = Subscription.of(built(tree))
    assert matches(event, wanted) is holds(tree, event)
    message = decode(encode(Subscribe(1, wanted)))
    assert isinstance(message, Subscribe)
    assert message.subscription == wanted
    assert hash(message.subscription) == hash(wanted)
    assert matches(event, message.subscription) is matches(event, wanted)
    assert pickle.loads(pickle.dumps(wanted)) == wanted
    assert wanted.size == len([*wanted.all_filters()])


def test_order_and_repetition_make_no_difference_in_alternatives_either() -> None:
    a, b, c = attr("a") == 1, attr("b") == 2, attr("c") == 3
    assert (a | b) | c == c | (b | a) == a | b | c | a
    assert a | a == Subscription.of(a)
    assert ~~(a & b) == a & b
    assert a & (b | c) != a | (b & c)
    assert str(a & (b | ~c)) == "a = 1 and (b = 2 or not (c = 3))"


def test_expressions_have_a_depth() -> None:
    wanted = Subscription.of(attr("a") == 0)
    for level in range(MAX_DEPTH - 1):
        wanted = ~(wanted & (attr("a") == level))
    assert wanted.depth == MAX_DEPTH
    with pytest.raises(InvalidFilter, match="depth 17: expected 16 or less"):
        ~(wanted & (attr("b") == 1))
