"""Predicates: written as text, applied to devices and to measurements, they decide as matching does."""

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass import Event, attr
from bypass.events.filters import Subscription
from bypass.events.matching import matches
from bypass.ingest.devices.device import Device
from bypass.ingest.queries.conditions import MeasurementCondition, matches_device
from bypass.ingest.queries.invalid import InvalidSelection
from bypass.ingest.queries.predicate import parse_predicate
from bypass.ingest.queries.selection import Selection

NUMBERS = st.one_of(
    st.sampled_from([0, 1, 2, -3, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**70, 0.5, 2.5, 1e300, -1e300]),
    st.integers(-5, 5),
    st.floats(-3, 3, allow_nan=False),
)
TEXTS = st.sampled_from(["a", "b", "ab", "ba", "'", 'x"y', "Ω", "", "and"])


def number_tests(name: str) -> st.SearchStrategy[Any]:
    compared = st.builds(
        lambda op, value: attr(name).op(op, value),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        NUMBERS,
    )
    whole = st.lists(st.integers(-5, 5), min_size=1, max_size=3)
    return compared | whole.map(lambda values: attr(name).in_(values)) | st.just(attr(name).exists())


def text_tests(name: str) -> st.SearchStrategy[Any]:
    ops = ["=", "!=", "<", ">=", "prefix", "suffix", "contains"]
    compared = st.builds(lambda op, value: attr(name).op(op, value), st.sampled_from(ops), TEXTS)
    many = st.lists(TEXTS, min_size=1, max_size=3).map(lambda values: attr(name).in_(values))
    return compared | many | st.just(attr(name).exists())


def predicates(tests: st.SearchStrategy[Any]) -> st.SearchStrategy[Subscription]:
    return st.recursive(
        tests,
        lambda inner: (
            st.builds(lambda a, b: a & b, inner, inner)
            | st.builds(lambda a, b: a | b, inner, inner)
            | inner.map(lambda a: ~a)
        ),
        max_leaves=6,
    ).map(Subscription.of)


MEASUREMENT_TESTS = st.one_of(
    number_tests("value"), text_tests("value"), number_tests("time"), text_tests("metric"), text_tests("uom")
)
VALUES: list[dict[str, Any]] = [
    *({"long": n} for n in (0, 2, 2**53 + 1, 2**63 - 1, -(2**63))),
    *({"double": x} for x in (0.0, 0.5, 2.0, float(2**53), 1e300)),
    *({"label": text} for text in ("a", "ba", "'", "")),
]
ROWS: list[dict[str, Any]] = [
    {"metric": metric, "time": time, "uom": uom, "long": None, "double": None, "label": None} | value
    for metric, uom in (("a", None), ("ab", "Ω"))
    for time in (0, 3)
    for value in VALUES
]
TYPES = {"metric": pa.string(), "time": pa.int64(), "uom": pa.string()}
TYPES |= {"long": pa.int64(), "double": pa.float64(), "label": pa.string()}
TABLE = pa.table({name: pa.array([row[name] for row in ROWS], of) for name, of in TYPES.items()})


def event_of(row: dict[str, Any]) -> Event:
    value = next(row[name] for name in ("long", "double", "label") if row[name] is not None)
    named = {"metric": row["metric"], "time": row["time"], "value": value}
    return Event(named | ({} if row["uom"] is None else {"uom": row["uom"]}))


DATABASE = duckdb.connect()
DATABASE.register("rows", TABLE)
EVENTS = [event_of(row) for row in ROWS]


@settings(deadline=None, max_examples=150)
@given(predicates(MEASUREMENT_TESTS))
def test_sql_decides_as_matching_does(wanted: Subscription) -> None:
    condition = MeasurementCondition(wanted)
    found = DATABASE.execute(f"SELECT {condition.sql} FROM rows", condition.parameters).fetchall()
    assert [row[0] for row in found] == [matches(event, wanted) for event in EVENTS]


@settings(deadline=None)
@given(
    predicates(text_tests("id") | text_tests("kind") | text_tests("x")),
    st.dictionaries(st.just("kind"), TEXTS),
)
def test_devices_are_chosen_as_matching_does(wanted: Subscription, metadata: dict[str, str]) -> None:
    device = Device(id="ab", metadata=metadata)
    assert matches_device(device.record(), wanted) == matches(Event({"id": "ab", **metadata}), wanted)


@given(predicates(MEASUREMENT_TESTS))
def test_a_predicate_is_read_as_it_is_shown(wanted: Subscription) -> None:
    assert parse_predicate(str(wanted)) == wanted


@given(st.text(max_size=60) | st.text("()'\"=<>!{},\\ and or not x1.-", max_size=60))
def test_any_text_is_a_predicate_or_is_refused_in_one_line(text: str) -> None:
    line = ""
    try:
        parse_predicate(text)
    except InvalidSelection as error:
        line = str(error)
    assert not line or ("\n" not in line and "expected" in line)


def test_words_and_numbers_need_no_quotes() -> None:
    assert parse_predicate("kind = truck and id in {t-1, t-2}") == (attr("kind") == "truck") & attr("id").in_(
        ["t-1", "t-2"]
    )
    assert parse_predicate("not (a == 1 or b > -2.5e3)") == ~((attr("a") == 1) | (attr("b") > -2500.0))
    assert parse_predicate("a in {1, 2.5}") == Subscription.of(attr("a").in_([1.0, 2.5]))
    assert parse_predicate("serial prefix 007") == Subscription.of(attr("serial").startswith("007"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("speed", "found 'the end': expected an operator"),
        ("value >", "expected a value"),
        ("(value > 1", "found 'the end': expected )"),
        ("value > 1 or", "expected the name of an attribute"),
        ("value ~ 1", "expected"),
        ("value in {1, a}", "expected type integer"),
        ("(" * 17 + "a = 1" + ")" * 17, "expected 16 parentheses or negations"),
        ("x" * 5000, "predicate of 5000 characters: expected 4096 at most"),
        (" or ".join(["a = 1"] * 300), "expected 256 tests at most"),
    ],
)
def test_a_predicate_that_is_none_is_refused(text: str, line: str) -> None:
    with pytest.raises(InvalidSelection) as error:
        parse_predicate(text)
    assert line in str(error.value)


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("speed > 1", "expected one of device, metric"),
        ("time = noon", "milliseconds"),
        ("metric = 5", "a text"),
    ],
)
def test_a_test_that_no_measurement_can_pass_is_refused(where: str, line: str) -> None:
    with pytest.raises(InvalidSelection, match=line):
        Selection("default", where=where)
