"""Objects at a real broker, message by message."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from bypass.events.event import Event
from bypass.live.broker.objects import live_queries
from bypass.live.broker.objects.object_database import PART_BYTES
from bypass.live.broker.service import Service
from bypass.objects.metadata import Metadata, ObjectKey, content_hash
from bypass.objects.query import MOST_ON_A_PAGE, ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.protocol.session import CAPABILITIES
from bypass.protocol.storage import (
    Acknowledge,
    Ask,
    Chunk,
    Delete,
    FoundObjects,
    Insert,
    OperationStatus,
    Retrieve,
    Retrieved,
    Withdraw,
)
from tests.live.brokers import Peer, config, running

SECRET = b"secret"


class ObjectPeer(Peer):
    """A client that stores objects, message by message."""

    def __init__(self, *args: Any, **hello: Any) -> None:
        super().__init__(*args, capabilities=CAPABILITIES, **hello)
        self.ops = 0

    def op(self) -> int:
        self.ops += 1
        return (self.number << 32) + self.ops

    def described(self, name: str, tags: str, data: bytes = b"x", **more: Any) -> Metadata:
        more = {"published_us": round(time.time() * 1e6), **more}
        digest, commitment = content_hash(data), content_hash(SECRET)
        key = ObjectKey(self.number, name)
        return Metadata(
            key, frozenset(tags.split()), more.pop("published_us"), len(data), digest, commitment, **more
        )

    def insert(self, metadata: Metadata, data: bytes | None = b"x") -> Acknowledge:
        self.send(Insert(self.op(), metadata, data))
        return self.get(Acknowledge)

    def query(self, formula: str, number: int = 1) -> ObjectQuery:
        return ObjectQuery((self.number << 32) + number, self.number, TagFormula.parse(formula))

    def names(self, found: FoundObjects) -> list[str]:
        return [each.key.name for each in found.items]


Make = Callable[[Service, str], ObjectPeer]


@pytest.fixture
def make() -> Iterator[Make]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    made: list[ObjectPeer] = []

    def peer(service: Service, name: str) -> ObjectPeer:
        made.append(ObjectPeer(context, service.server.endpoints[0], name))
        return made[-1]

    yield peer
    for each in made:
        each.close()
    context.term()


def test_insert_find_retrieve_and_delete(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        one, two = make(service, "one"), make(service, "two")
        photo = one.described("photo", "beach sunset", b"pixels", summary=b"small")
        assert one.insert(photo, b"pixels").status is OperationStatus.OK
        assert one.insert(photo, b"pixels").status is OperationStatus.OK  # once more, the same
        query = two.query("beach & ~rain")
        two.send(Ask(two.op(), query, limit=10))
        page = two.get(FoundObjects)
        assert (page.items, page.more) == ((photo,), False)
        two.send(Retrieve(two.op(), photo.key))
        assert two.get(Retrieved).data == b"pixels"
        later = one.described("later", "beach")
        one.insert(later)
        told = two.get(FoundObjects)
        assert (told.op, told.items) == (0, (later,))
        one.insert(one.described("wet", "beach rain"))
        two.send(Delete(two.op(), photo.key, SECRET))
        assert two.get(Acknowledge).status is OperationStatus.NOT_OWNER
        one.send(Delete(one.op(), photo.key, b"guess"))
        assert one.get(Acknowledge).status is OperationStatus.NOT_OWNER
        one.send(Delete(one.op(), photo.key, SECRET))
        assert one.get(Acknowledge).status is OperationStatus.OK
        two.send(Ask(two.op(), query, limit=10, live=False))
        assert two.names(two.get(FoundObjects)) == ["later"]
        two.send(Retrieve(two.op(), photo.key))
        assert two.get(Retrieved).data is None
        two.send(Withdraw(two.op(), query.id))
        assert two.get(Acknowledge).status is OperationStatus.OK
        one.insert(one.described("unheard", "beach"))
        assert len(service.server.objects.live) == 0


def test_what_must_not_be_inserted(tmp_path: Path, make: Make) -> None:
    limits = {"object_bytes": 100, "objects_per_key": 1}
    with running(config(tmp_path, objects=limits)) as service:
        one, two = make(service, "one"), make(service, "two")
        foreign = one.insert(two.described("a", "tag"))
        assert foreign.detail == f"object {two.number}/a: expected an owner of number {one.number}"
        large = one.insert(one.described("a", "tag", b"y" * 101), None)
        assert large.detail == "object of 101 bytes: expected at most 100"
        other = one.insert(one.described("a", "tag", b"y"), b"x")
        assert other.status is OperationStatus.REFUSED
        ahead = one.described("a", "tag", published_us=round((time.time() + 7200) * 1e6))
        assert "at most 1 h ahead" in one.insert(ahead).detail
        assert one.insert(one.described("a", "tag")).status is OperationStatus.OK
        assert one.insert(one.described("b", "tag")).status is OperationStatus.QUOTA
        assert two.insert(two.described("b", "tag")).status is OperationStatus.OK
        counters = service.server.counters
        assert counters["objects_not_owner"] == counters["objects_too_large"] == 1
        assert counters["objects_over_number"] == 1


def test_an_upload_goes_on_over_connections_and_brokers(tmp_path: Path, make: Make) -> None:
    data = bytes(range(256)) * 1024  # four parts
    with running(config(tmp_path)) as service:
        one = make(service, "one")
        photo = one.described("photo", "beach", data)
        one.send(Insert(one.op(), photo))
        first = one.get(Retrieve)
        assert (first.offset, first.length) == (0, PART_BYTES)
        one.send(Chunk(first.op, photo.key, 0, data[:PART_BYTES]))
        while one.get(Retrieve).offset < 3 * PART_BYTES:
            pass
        one.close()
    with running(config(tmp_path)) as service:
        one = make(service, "one")
        op = one.op()
        one.send(Insert(op, photo))
        for _ in range(3):
            asked = one.get(Retrieve)
            assert asked.offset
            assert asked.length
            one.send(Chunk(op, photo.key, asked.offset, data[asked.offset : asked.offset + asked.length]))
        assert one.get(Acknowledge) == Acknowledge(op)
        found = b""
        while len(found) < len(data):
            one.send(Retrieve(one.op(), photo.key, len(found), 100_000))
            part = one.get(Retrieved)
            assert part.data
            assert part.offset == len(found)
            found += part.data
        assert found == data


def test_a_part_is_taken_once_and_asked_for_again_with_its_operation(tmp_path: Path, make: Make) -> None:
    data = bytes(range(256)) * 512  # two parts
    with running(config(tmp_path)) as service:
        one = make(service, "one")
        photo = one.described("photo", "beach", data)
        one.send(Insert(one.op(), photo))
        first = one.get(Retrieve)
        assert one.get(Retrieve).offset == PART_BYTES
        op = one.op()
        one.send(Insert(op, photo))  # as if what the broker has asked for had not come
        assert [one.get(Retrieve).offset, one.get(Retrieve).offset] == [0, PART_BYTES]
        for _ in range(10):
            one.send(Chunk(op, photo.key, 0, data[:PART_BYTES]))
        one.send(Chunk(first.op, photo.key, PART_BYTES, data[PART_BYTES:]))
        assert one.get(Acknowledge) == Acknowledge(op)
        one.send(Chunk(op, photo.key, 0, data[:PART_BYTES]))
        one.send(Retrieve(one.op(), photo.key, 0, 1))
        assert one.get(Retrieved).data == data[:1]
        assert service.server.counters["uploads_unasked"] == 10


def test_who_does_not_confirm_is_held_back_and_loses_nothing(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        one, two = make(service, "one"), make(service, "two")
        query = two.query("tag")
        two.send(Ask(0, query, limit=0))
        many = 2 * live_queries.WINDOW + 10
        for number in range(many):
            one.insert(one.described(str(number), "tag"))
        heard: list[str] = []
        while len(heard) < live_queries.WINDOW:
            found = two.get(FoundObjects)
            heard += two.names(found)
        assert len(heard) == live_queries.WINDOW
        while len(heard) < many:
            two.send(Ask(0, query, limit=0, arrived=found.arrived))
            found = two.get(FoundObjects)
            heard += two.names(found)
        assert heard == [str(number) for number in range(many)]


def test_a_query_that_is_asked_again_goes_on_from_where_it_began(tmp_path: Path, make: Make) -> None:
    """The first page can take longer than the patience of who waits for it: what has come since it was asked
    for the first time is told once, and on no page."""
    many = live_queries.WINDOW + 10
    with running(config(tmp_path)) as service:
        one, two = make(service, "one"), make(service, "two")
        one.insert(one.described("past", "t", published_us=1))
        query = two.query("t")
        two.send(Ask(two.op(), query))
        first = two.get(FoundObjects)
        for number in range(many):
            one.insert(one.described(str(number), "t", published_us=0))
        two.send(Ask(two.op(), query))  # as if the page had not come
        told: list[str] = []
        while (found := two.get(FoundObjects)).op == 0:
            told += two.names(found)
        assert two.names(found) == ["past"]
        assert found.arrived == first.arrived
        two.send(Ask(two.op(), query, after=first.next, live=False, arrived=first.arrived))
        while (found := two.get(FoundObjects)).op == 0:
            told += two.names(found)
        assert two.names(found) == []
        while len(told) < many:
            two.send(Ask(0, query, limit=0, arrived=first.arrived + len(told)))
            told += two.names(two.get(FoundObjects))
        assert told == [str(number) for number in range(many)]


def test_who_comes_back_goes_on_where_it_was(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        one, two = make(service, "one"), make(service, "two")
        query = two.query("tag")
        two.send(Ask(two.op(), query, limit=1))
        reached = two.get(FoundObjects).arrived
        one.insert(one.described("first", "tag"))
        told = two.get(FoundObjects)
        two.close()
        one.insert(one.described("second", "tag"))
        one.insert(one.described("other", "else"))
        one.close()
    with running(config(tmp_path)) as service:
        one, two = make(service, "one"), make(service, "two")
        assert reached < told.arrived
        two.send(Ask(0, query, limit=0, arrived=told.arrived))
        assert two.names(two.get(FoundObjects)) == ["second"]
        one.insert(one.described("third", "tag"))
        assert two.names(two.get(FoundObjects)) == ["third"]


def test_pages_and_what_comes_fit_messages_however_much_is_said_of_objects(
    tmp_path: Path, make: Make
) -> None:
    """Sixty-four of the longest descriptions together are longer than a message can be."""
    with running(config(tmp_path)) as service:
        alice, bob = make(service, "alice"), make(service, "bob")
        told = bob.query("a", 2)
        bob.send(Ask(bob.op(), told, limit=0, live=True))
        bob.get(FoundObjects)
        attributes = Event(numbers=frozenset(range(1 << 62, (1 << 62) + 500)))
        tags = " ".join(("a", *(f"{tag:064}" for tag in range(31))))
        for number in range(70):
            name = f"{number:02}" * 60
            described = alice.described(name, tags, summary=bytes(8192), attributes=attributes)
            assert alice.insert(described).status is OperationStatus.OK
        coming: list[str] = []
        while len(coming) < 70:
            some = bob.get(FoundObjects)
            coming += bob.names(some)
            bob.send(Ask(0, told, limit=0, arrived=some.arrived))
        query, after, past = bob.query("a", 1), None, list[str]()
        more = True
        while more:
            bob.send(Ask(bob.op(), query, after=after, limit=MOST_ON_A_PAGE))
            page = bob.get(FoundObjects)
            past += bob.names(page)
            after, more = page.next, page.more
        assert past == sorted(coming, reverse=True)
