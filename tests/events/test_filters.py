import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.errors import EmptySubscription, InvalidAttribute, InvalidFilter, UnknownOperator
from bypass.events.attributes import FLOAT, INTEGER, SET, STRING, Attribute, register_type
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription, attr
from bypass.events.matching import matches
from bypass.events.operators import OPERATORS


@pytest.mark.parametrize(
    ("built", "name", "kind", "value", "op"),
    [
        (attr("level") == 12, "level", INTEGER, 12, "="),
        (attr("level") != 12, "level", INTEGER, 12, "!="),
        (attr("level") < 12, "level", INTEGER, 12, "<"),
        (attr("level") <= 12.5, "level", FLOAT, 12.5, "<="),
        (attr("level") > 12, "level", INTEGER, 12, ">"),
        (attr("level") >= 12, "level", INTEGER, 12, ">="),
        (12 <= attr("level"), "level", INTEGER, 12, ">="),  # noqa: SIM300
        (attr("kind") == "monster", "kind", STRING, "monster", "="),
        (attr("kind").startswith("mon"), "kind", STRING, "mon", "prefix"),
        (attr("kind").endswith("ster"), "kind", STRING, "ster", "suffix"),
        (attr("kind").contains("nst"), "kind", STRING, "nst", "contains"),
        (attr("level").in_([1, 2, 2]), "level", INTEGER, frozenset({1, 2}), "in"),
        (attr("kind").in_({"a"}), "kind", STRING, frozenset({"a"}), "in"),
        (attr("speed", FLOAT) > 3, "speed", FLOAT, 3, ">"),
        (attr("tags") == {"a"}, "tags", SET, frozenset({"a"}), "="),
        (attr("tags", SET) == set(), "tags", SET, frozenset(), "="),
        (attr("tags", SET).in_(["a", "b"]), "tags", SET, frozenset("ab"), "in"),
        (attr("tags", SET).contains("a"), "tags", SET, "a", "contains"),
        (attr("tags").op("intersects", {1, "a"}), "tags", SET, frozenset({1, "a"}), "intersects"),
    ],
)
def test_attr_builds_filters(built: Filter, name: str, kind: Any, value: Any, op: str) -> None:
    assert built == Filter(Attribute(name, kind), value, op)
    assert built.attribute == Attribute(name, kind)
    assert built.value == value
    assert built.op == op


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: attr("level", INTEGER) == True, "filter level = True: expected type integer"),  # noqa: E712
        (lambda: attr("level").in_([1, True]), "expected type integer"),
        (lambda: attr("tags", SET).contains(True), "expected set elements"),
        (lambda: attr("level") == None, "filter level = None: value None of class NoneType"),  # noqa: E711
        (lambda: attr("level") > math.nan, "filter level > nan: expected a number"),
        (lambda: attr("level").in_([1.0, math.nan]), "expected a number"),
        (lambda: attr("tags") == {math.nan}, "expected a number"),
        (lambda: attr("level").in_([]), r"filter level in \[\]: expected at least one value"),
        (lambda: attr("level", INTEGER).in_(set()), r"filter level in set\(\): expected at least one value"),
        (lambda: attr("kind").in_("monster"), "expected a collection"),
        (lambda: attr("level").in_([1, "a"]), "expected type integer"),
        (lambda: attr("level").in_([1, 2.5]), "expected values of one type"),
        (lambda: attr("tags", SET).in_([1, "a"]), "expected values of one type"),
        (lambda: attr("tags", SET).in_([{1}]), "expected set elements"),
        (lambda: attr("tags", SET).contains({1}), "expected set elements"),
        (lambda: attr("tags", SET) == 5, "expected a collection"),
        (lambda: attr("level", INTEGER) == "x", "filter level = 'x': expected type integer"),
        (lambda: attr("kind", STRING) == 5, "expected type string"),
    ],
)
def test_unfit_values_are_refused(build: Callable[[], Filter], message: str) -> None:
    with pytest.raises(InvalidFilter, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)


def test_unknown_operators_and_bad_names_are_refused() -> None:
    with pytest.raises(UnknownOperator, match="operator 'prefix' of type integer"):
        attr("level").startswith(5)  # type: ignore[arg-type]
    with pytest.raises(UnknownOperator, match="operator '<' of type set"):
        _ = attr("tags") < {1}
    with pytest.raises(InvalidAttribute, match="attribute name ''"):
        _ = attr("") == 1


def test_filters_and_subscriptions_never_change() -> None:
    level = attr("level") >= 12
    with pytest.raises(AttributeError):
        level.value = 13  # type: ignore[misc]
    both = level & (attr("kind") == "monster")
    with pytest.raises(AttributeError, match="subscriptions do not change"):
        both.filters = ()
    with pytest.raises(AttributeError, match="subscriptions do not change"):
        del both.filters
    assert both.filters == (level, attr("kind") == "monster")


def test_subscriptions_are_sets_of_filters() -> None:
    a, b, c = attr("a") == 1, attr("b") == 2, attr("c") == 3
    assert a & b == b & a == Subscription([a, b, a])
    assert len({a & b, b & a, a & c}) == 2
    assert (a & b) & c == a & (b & c) == Subscription((c, b, a))
    assert Subscription([a, b, a]).filters == (a, b)
    assert Subscription([a]) != a


def test_whatever_can_stand_for_a_subscription_becomes_one() -> None:
    a, b = attr("a") == 1, attr("b") == 2
    both = a & b
    assert Subscription.of(both) is both
    assert Subscription.of(a) == Subscription([a])
    assert Subscription.of(each for each in (a, b)) == both


def test_a_subscription_has_filters() -> None:
    with pytest.raises(EmptySubscription, match="expected at least one filter"):
        Subscription([])
    wrong: Any
    for wrong in (None, 5, "kind", [attr("a") == 1, "kind"], [[]]):
        with pytest.raises(InvalidFilter, match="expected filters"):
            Subscription.of(wrong)
    with pytest.raises(TypeError):
        _ = (attr("a") == 1) & 5  # type: ignore[operator]


def test_python_logic_on_filters_is_refused_because_it_would_lose_one() -> None:
    with pytest.raises(InvalidFilter, match="join filters with &"):
        _ = (attr("a") == 1) and (attr("b") == 2)
    with pytest.raises(InvalidFilter, match="join filters with &"):
        _ = 12 <= attr("level") < 20
    with pytest.raises(InvalidFilter, match="join filters with &"):
        bool((attr("a") == 1) & (attr("b") == 2))


def test_subscriptions_read_like_conditions() -> None:
    wanted = (attr("level") >= 12) & (attr("kind") == "monster") & attr("size").in_([3, 1, 2])
    assert str(wanted) == "level >= 12 and kind = 'monster' and size in {1, 2, 3}"
    assert repr(wanted) == f"Subscription({wanted})"
    assert repr(attr("level") >= 12) == "Filter(level >= 12)"


def test_repr_is_short() -> None:
    wanted = Subscription([attr(f"level{n}") >= n for n in range(60)])
    assert repr(wanted).startswith("Subscription(level0 >= 0 and level1 >= 1 and ")
    assert repr(wanted).endswith("…)")
    assert len(repr(wanted)) < 250


@dataclass(frozen=True)
class Spot:
    x: float
    y: float


@dataclass(frozen=True)
class Disc:
    x: float
    y: float
    radius: float


def test_an_application_brings_its_own_type_and_operator() -> None:
    spot = register_type("spot", Spot)
    OPERATORS.register(spot, "in_area", in_area)
    inside = attr("where", spot).op("in_area", Disc(0, 0, 5))
    wanted = Subscription.of(inside)
    assert matches(Event(where=Spot(3, 4)), wanted)
    assert not matches(Event(where=Spot(4, 4)), wanted)
    assert not matches(Event(where="here"), wanted)
    assert pickle.loads(pickle.dumps(wanted)) == wanted
    with pytest.raises(InvalidFilter, match="expected a hashable value"):
        attr("where", spot).op("in_area", [0, 0, 5])


in_area = lambda spot, disc: math.hypot(spot.x - disc.x, spot.y - disc.y) <= disc.radius  # noqa: E731 - unpicklable

scalars = st.integers() | st.floats(allow_nan=False) | st.text()
filters = st.builds(
    lambda name, op, value: attr(name).op(op, value),
    st.text(min_size=1, max_size=255),
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    scalars,
)


@given(st.lists(filters, min_size=1, max_size=5))
def test_subscriptions_survive_pickling_with_their_hash(some: list[Filter]) -> None:
    wanted = Subscription(some)
    copy = pickle.loads(pickle.dumps(wanted))
    assert copy == wanted
    assert hash(copy) == hash(wanted)
    assert str(copy) == str(wanted)
    assert copy.checks == wanted.checks
