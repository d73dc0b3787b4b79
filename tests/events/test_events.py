import copy
import pickle
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.errors import InvalidEvent
from bypass.events.event import Event


class Level(IntEnum):
    HIGH = 3


def test_attributes_come_by_name_by_mapping_and_by_pairs() -> None:
    by_name = Event(kind="hello", level=42)
    assert by_name.attributes == (("kind", "hello"), ("level", 42))
    assert Event({"kind": "hello", "level": 42}) == by_name
    assert Event(MappingProxyType({"kind": "hello"}), level=42) == by_name
    assert Event((pair for pair in [("kind", "hello")]), level=42) == by_name
    assert Event([["kind", "hello"], ("level", 42)]) == by_name  # type: ignore[list-item]
    assert Event().attributes == ()


def test_names_that_are_parameters_elsewhere_are_attributes_too() -> None:
    assert Event(self=1, attributes=2).attributes == (("self", 1), ("attributes", 2))
    assert Event({"payload": 3}, payload=b"x")["payload"] == 3


def test_a_name_may_occur_again() -> None:
    event = Event([("tag", "a"), ("level", 1), ("tag", "b")], tag="c")
    assert event.attributes == (("tag", "a"), ("level", 1), ("tag", "b"), ("tag", "c"))
    assert event["tag"] == "a"
    assert event.all("tag") == ("a", "b", "c")
    assert event.all("level") == (1,)
    assert event.all("size") == ()
    assert list(event) == ["tag", "level"]


def test_look_up() -> None:
    event = Event(level=42)
    assert event["level"] == event.get("level") == 42
    assert event.get("size") is None
    assert event.get("size", 7) == 7
    assert "level" in event
    assert "size" not in event
    with pytest.raises(KeyError, match="size"):
        event["size"]


def test_values_become_plain() -> None:
    tags = {"a"}
    event = Event(level=Level.HIGH, speed=np.float64(1.5), tags=tags)
    tags.add("b")
    assert event.attributes == (("level", 3), ("speed", 1.5), ("tags", frozenset({"a"})))
    assert [type(value) for _, value in event.attributes] == [int, float, frozenset]
    assert Event([("level", Level.HIGH), ("level", 1)]).all("level") == (3, 1)


def test_an_event_never_changes() -> None:
    event = Event(level=42)
    for name in ("attributes", "payload", "level"):
        with pytest.raises(AttributeError):
            setattr(event, name, ())
    source = {"level": 42}
    event = Event(source)
    source["level"] = 1
    assert event["level"] == 42


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"level": None}, "event attribute 'level': value None of class NoneType: expected one of integer"),
        ({"level": None}, "event attribute 'level': value None"),
        ({"tags": {b"x"}}, "event attribute 'tags': value b'x'"),
        ({"": 1}, "event attribute name '': expected"),
        ({"n" * 256: 1}, "event attribute name 'nnn"),
    ],
)
def test_bad_attributes_are_refused_however_given(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidEvent, match=message) as caught:
        Event(attributes)
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidEvent, match=message):
        Event(attributes.items())
    with pytest.raises(InvalidEvent, match=message):
        Event(**attributes)


@pytest.mark.parametrize("attributes", [5, [5], ["abc"], [("level",)], [("a", 1, 2)]])
def test_what_is_neither_mapping_nor_pairs_is_refused(attributes: Any) -> None:
    with pytest.raises(InvalidEvent, match="expected a mapping or pairs"):
        Event(attributes)


@pytest.mark.parametrize("name", [5, None, [], b"level"])
def test_names_are_strings(name: Any) -> None:
    with pytest.raises(InvalidEvent, match="event attribute name"):
        Event([(name, 1)])


def test_the_number_of_attributes_is_limited() -> None:
    many: dict[str, Any] = {f"a{i}": i for i in range(257)}
    with pytest.raises(InvalidEvent, match="event with 257 attributes: expected at most 256"):
        Event(**many)
    with pytest.raises(InvalidEvent, match="event with 257 attributes"):
        Event([("a", 1)] * 257)
    many.popitem()
    assert len(Event(**many).attributes) == 256
    assert len(Event({"n" * 255: 1}).attributes) == 1


def test_the_payload_is_limited() -> None:
    assert Event(payload=bytes(65_536)).payload == bytes(65_536)
    with pytest.raises(InvalidEvent, match="event payload of 65537 bytes: expected at most 65536"):
        Event(payload=bytes(65_537))
    for wrong in ("text", None, bytearray(b"x")):
        with pytest.raises(InvalidEvent, match=r"event payload .*: expected bytes"):
            Event(payload=wrong)  # type: ignore[arg-type]


def test_equality_is_by_content() -> None:
    assert Event(level=1, payload=b"x") == Event({"level": 1}, payload=b"x")
    assert Event(level=1) != Event(level=2)
    assert Event(level=1) != Event(level=1, payload=b"x")
    assert Event(a=1, b=2) != Event(b=2, a=1)
    assert Event(level=1) != {"level": 1}


def test_repr_names_attributes_and_the_size_of_the_payload() -> None:
    assert (
        repr(Event(kind="hello", level=42, payload=b"abc"))
        == "Event(kind='hello', level=42, payload=<3 bytes>)"
    )


def test_repr_is_short() -> None:
    text = repr(Event({f"a{n}": "x" * 1000 for n in range(100)}))
    assert len(text) < 600
    assert text.endswith(", and 88 more)")


values = (
    st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.frozensets(st.integers() | st.floats(allow_nan=False) | st.text())
)
pairs = st.lists(st.tuples(st.text(min_size=1, max_size=5), values), max_size=8)


@given(pairs, st.binary(max_size=50))
def test_an_event_holds_what_it_was_given(given_pairs: list[tuple[str, Any]], payload: bytes) -> None:
    event = Event(given_pairs, payload=payload)
    assert event.attributes == tuple(given_pairs)
    assert event.payload == payload
    assert list(event) == list(dict.fromkeys(name for name, _ in given_pairs))
    for name, _ in given_pairs:
        assert event.all(name) == tuple(value for each, value in given_pairs if each == name)
        assert event[name] == event.all(name)[0]
    for twin in (
        pickle.loads(pickle.dumps(event)),
        copy.deepcopy(event),
        Event(event.attributes, payload=payload),
    ):
        assert twin == event
        assert hash(twin) == hash(event)
        assert [type(value) for _, value in twin.attributes] == [type(value) for _, value in event.attributes]
