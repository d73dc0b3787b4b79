"""Metadata that breaks the limits is refused in one line; hashes tie objects and deletions to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from bypass.errors import InvalidObject
from bypass.events.event import Event
from bypass.objects.metadata import Metadata, ObjectKey, Replica, StoredObject
from tests.object_strategies import SECRET, make_metadata, objects

GOOD = make_metadata()


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"tags": frozenset()}, "object with 0 tags: expected 1 to 32"),
        ({"tags": frozenset(map(str, range(33)))}, "object with 33 tags: expected 1 to 32"),
        ({"tags": frozenset({""})}, "object's tag of 0 bytes: expected 1 to 64"),
        ({"tags": frozenset({"ß" * 33})}, "object's tag of 66 bytes: expected 1 to 64"),
        ({"tags": frozenset({"a\nb"})}, r"object's tag 'a\\nb': expected printable text"),
        ({"tags": {"a"}}, "object's tags {'a'}: expected a frozenset"),
        ({"key": ObjectKey(1, "")}, "object's name of 0 bytes: expected 1 to 128"),
        ({"key": ObjectKey(1, "x" * 129)}, "object's name of 129 bytes: expected 1 to 128"),
        ({"key": ObjectKey(1, "\ud800")}, r"object's name '\\ud800': expected a text"),
        ({"key": ObjectKey(1, "a\nb")}, r"object's name 'a\\nb': expected printable text"),
        ({"key": ObjectKey(1, "\x1b[2J")}, r"object's name '\\x1b\[2J': expected printable text"),
        ({"key": ObjectKey(2**32, "x")}, "object's owner 4294967296: expected a number of 32 bits"),
        (
            {"published_us": 1.5},
            "object's published_us 1.5: expected -9223372036854775808 to 9223372036854775807",
        ),
        ({"size": -1}, "object's size -1: expected 0 to 67108864"),
        ({"size": (64 << 20) + 1}, "object's size 67108865: expected 0 to 67108864"),
        ({"digest": b"x"}, "object's digest of 1 bytes: expected 32"),
        ({"commitment": b""}, "object's commitment of 0 bytes: expected 32"),
        ({"summary": b"x" * 8193}, "object's summary of 8193 bytes: expected 0 to 8192"),
        ({"summary": "text"}, "object's summary 'text': expected bytes"),
        ({"place": (0.0, float("inf"))}, r"place \(0.0, inf\): expected 2 finite numbers"),
        ({"attributes": Event(payload=b"x")}, "object's attributes with 1 bytes of payload: expected none"),
        ({"attributes": Event(a="x" * 4096)}, "object's attributes of 4097 bytes: expected at most 4096"),
        ({"attributes": Event([("a", 1)] * 33)}, "object with 33 attributes: expected at most 32"),
        ({"replicas": (Replica(1),) * 17}, "17 replicas: expected at most 16"),
        ({"namespace": "x" * 129}, "namespace of 129 bytes: expected at most 128"),
    ],
)
def test_limits(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidObject, match=f"^{complaint}$"):
        replace(GOOD, **fields)


@given(objects)
def test_other_copies_leave_the_rest_as_it_is(metadata: Metadata) -> None:
    copies = (Replica(None, 3), Replica(7, 4))
    assert metadata.with_replicas(copies) == replace(metadata, replicas=copies)
    with pytest.raises(InvalidObject, match=r"^17 replicas: expected at most 16$"):
        metadata.with_replicas((Replica(1),) * 17)


def test_hashes() -> None:
    assert GOOD.opened_by(SECRET)
    assert not GOOD.opened_by(b"other")
    assert StoredObject(GOOD, b"data").key == GOOD.key
    with pytest.raises(
        InvalidObject, match=r"^object 1/object of 5 bytes: expected the 4 bytes that its metadata"
    ):
        StoredObject(GOOD, b"other")
    with pytest.raises(
        InvalidObject, match=r"^object 1/object of 4 bytes: expected the 4 bytes that its metadata"
    ):
        StoredObject(GOOD, b"dada")
