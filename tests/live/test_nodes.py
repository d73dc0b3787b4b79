"""Nodes without a broker, on the loopback network: they store each other's objects, and hear each other."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import Any

import pytest

from bypass import (
    Action,
    BlockingConnection,
    Connection,
    Event,
    Neighbours,
    Plan,
    attr,
    connect,
    connect_blocking,
)
from bypass.errors import BypassError, InvalidObject, NotOwner, OperationFailed, QuotaExceeded, UnknownObject
from bypass.live import InvalidArgument, InvalidInterface, NotConnected, Unsupported
from bypass.live.client.objects import matches
from bypass.live.client.objects.matches import ObjectMatches
from bypass.support.database import DatabaseUnavailable
from tests.live.devices import KEY, LIMIT, until
from tests.live.scripted import on_loop

pytestmark = pytest.mark.slow

QUICK: dict[str, dict[str, Any]] = {
    "local": {"settle_s": 0.2, "join_coin": 1.0},
    "cells": {"side": 100.0, "beacon_s": 0.1, "listen_s": 0.3, "settle_s": 0.2},
    "server": {"server": 7},  # nobody has this number
}
"""Parameters with which little time passes; with `cells` all of these nodes are in one cell."""


@pytest.fixture
def port() -> int:
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def node(number: int, port: int, storage: str = "local", **more: Any) -> Connection:
    more.setdefault("name", f"node {number}")
    more.setdefault("set", QUICK[storage])
    nearby = Neighbours(KEY, (f"127.0.4.{number}/8",), port)
    return connect(None, neighbours=nearby, storage=storage, location=lambda: (10.0 * number, 50.0), **more)


async def met(*nodes: Connection) -> None:
    async with asyncio.timeout(LIMIT):
        for each in nodes:
            await each.until_connected()


async def taken(found: ObjectMatches, count: int) -> list[str]:
    async with asyncio.timeout(LIMIT):
        return [(await anext(found)).key.name for _ in range(count)]


async def past(asker: Connection, formula: str, **more: Any) -> list[str]:
    async with asyncio.timeout(LIMIT), asker.query(formula, until="now", **more) as found:
        return [match.key.name async for match in found]


@pytest.mark.parametrize("storage", ["local", "cells"])
@on_loop
async def test_objects_are_found_fetched_and_deleted(port: int, storage: str) -> None:
    async with node(1, port, storage) as one, node(2, port, storage) as two:
        await met(one, two)
        keys = [await one.insert(b"x" * number, {"a"}, name=f"{number:02}") for number in range(25)]
        async with two.query("a & ~b", since="-1h") as found:
            assert await taken(found, 25) == [f"{number:02}" for number in reversed(range(25))]
            large = bytes(range(250)) * 1000
            await one.insert(large, {"a"}, name="large", summary=b"small")
            match = await anext(found)
            assert (match.key.name, match.summary) == ("large", b"small")
            assert await match.retrieve() == large
            assert await two.retrieve(match.metadata) == large
        with pytest.raises(NotOwner):
            await two.delete(keys[3])
        await one.delete(keys[3])
        assert "03" not in await past(two, "a")
        with pytest.raises(UnknownObject):
            await one.delete(keys[4]._replace(name="never"))
        assert one.mechanisms["storage"] == storage


@pytest.mark.parametrize("storage", ["local", "cells"])
@on_loop
async def test_an_object_that_no_message_can_hold_is_fetched_in_pieces(port: int, storage: str) -> None:
    large = bytes(range(250)) * 5000
    async with node(1, port, storage) as one, node(2, port, storage) as two:
        await met(one, two)
        await one.insert(large, {"a"}, name="large")
        async with asyncio.timeout(LIMIT), two.query("a") as found:
            assert await (await anext(found)).retrieve() == large


@on_loop
async def test_a_node_has_its_objects_and_what_deletes_them_in_its_next_life(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bypass.support.database._PATIENCE_S", 0.1)
    file = tmp_path / "node.db"
    async with node(2, port) as other:
        async with node(1, port, store=file) as first:
            kept, gone = [await first.insert(b"x", {"a"}, name=name) for name in ("kept", "gone")]
            await first.delete(gone)
            number = first.number
            with pytest.raises(DatabaseUnavailable, match=r"node\.db"):
                await node(3, port, store=file).open()
        async with node(1, port, store=file) as again:
            assert again.number == number
            await met(again, other)
            assert await past(other, "a") == ["kept"]
            with pytest.raises(BypassError, match="was deleted"):
                await again.insert(b"x", {"a"}, name="gone")
            await again.delete(kept)
            assert await past(other, "a") == []


@on_loop
async def test_events_go_to_those_in_reach(port: int) -> None:
    async with node(1, port) as one, node(2, port) as two:
        await met(one, two)
        heard = await two.subscribe(attr("kind") == "hello", radius=50)
        all_of_them = await two.subscribe(attr("kind") == "hello")
        async with asyncio.timeout(LIMIT):
            event = None
            while event is None:  # a frame may be lost
                await one.publish_local(Event(kind="hello", n=1))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.3):
                        event = await anext(heard)
            assert event["n"] == 1
            publisher = (await anext(all_of_them)).publisher
            assert publisher is not None
            assert publisher.number == one.number
        await two.unsubscribe(heard)
        assert (one.missed, one.kept, one.resubscribing) == (0, (), 0)


@on_loop
async def test_one_node_decides_for_all_and_newcomers_follow(port: int) -> None:
    async with node(1, port) as one, node(2, port) as two:
        await met(one, two)
        async with two.query("a") as found:
            await one.insert(b"x", {"a"}, name="before")
            assert await taken(found, 1) == ["before"]
            actions = (
                Action(proxy="routing", to="cells", set={"side": 100.0, "beacon_s": 0.1}),
                Action(proxy="storage", to="cells", set={"listen_s": 0.3, "settle_s": 0.2}),
            )
            assert one.decide(Plan(plan="to cells", actions=actions)).ok
            await one.insert(b"x", {"a"}, name="after")
            assert await taken(found, 1) == ["after"]
            async with node(3, port) as late:
                assert set(await past(late, "a")) == {"before", "after"}
                assert late.mechanisms["storage"] == two.mechanisms["storage"] == "cells"
        with pytest.raises(BypassError, match="expected actions of routing and storage"):
            one.decide(Plan(plan="no", actions=(Action(proxy="mode", to="cloud"),)))


@on_loop
async def test_a_visitor_follows_what_those_who_stay_have_begun_with(port: int) -> None:
    async with node(1, port) as one:
        await one.insert(b"x", {"a"}, name="here")
        async with node(2, port, "cells", visiting=True) as visitor:
            await until(lambda: visitor.mechanisms["storage"] == one.mechanisms["storage"])
            assert one.mechanisms["storage"] == "local"
            assert await past(visitor, "a") == ["here"]


@on_loop
async def test_a_name_that_another_node_has_is_warned_of(port: int, caplog: pytest.LogCaptureFixture) -> None:
    same, too = node(1, port, name="ana"), node(2, port, name="ana")
    async with node(3, port) as other, same, too:
        await met(other)
        await same.publish(Event(a=1))
        await too.publish(Event(a=1))
        await until(lambda: len(caplog.records) == 2)
    assert sorted(each.getMessage() for each in caplog.records) == [
        f"datagram with this node's own number from 127.0.4.{number}: expected a name that no other node has"
        for number in (1, 2)
    ]


@on_loop
async def test_two_namespaces_do_not_meet(port: int) -> None:
    def of(number: int, namespace: str) -> Connection:
        return node(number, port, set={**QUICK["local"], "namespace": namespace})

    async with of(1, "a") as one, of(2, "a") as two, of(3, "b") as three, of(4, "b") as four:
        await met(one, two, three, four)
        async with two.query("x") as here, four.query("x") as there:
            assert one.decide(Plan(plan="dsdv", actions=(Action(proxy="routing", to="dsdv"),))).ok
            await one.insert(b"a", {"x"}, name="of a")
            await three.insert(b"b", {"x"}, name="of b")
            assert (await taken(here, 1), await taken(there, 1)) == (["of a"], ["of b"])
            assert await past(one, "x") == ["of a"]
            assert await past(three, "x") == ["of b"]
        assert two.mechanisms["routing"] == "dsdv"
        assert three.mechanisms["routing"] == four.mechanisms["routing"] == "one-hop"


def test_a_node_enters_a_world_of_its_peers_and_leaves_it(port: int) -> None:
    """There is no edge: worlds are known by their ids alone, and none can be made."""

    def blocking(number: int) -> BlockingConnection:
        nearby = Neighbours(KEY, (f"127.0.4.{number}/8",), port)
        quick = {**QUICK["local"], "hello_s": 0.5}
        return connect_blocking(None, neighbours=nearby, name=str(number), set=quick)

    with blocking(1) as one, blocking(2) as two, blocking(3) as three:
        assert list(one.worlds()) == []
        with pytest.raises(OperationFailed, match="expected one that knows edges"):
            one.create_world("gallery")
        for each in (one, two):
            each.enter_world("gallery")
        key = one.insert(b"photo", {"a"})
        with two.query("a") as found:
            assert found.get(LIMIT).key == key
        three.insert(b"other", {"a"}, name="other")
        three.enter_world("gallery")
        with three.query("a") as found:
            assert found.get(LIMIT).key == key
        three.enter_world("")
        with three.query("a") as found:
            assert found.get(LIMIT).key.name == "other"


@on_loop
async def test_matches_that_nobody_takes_are_bounded(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "MOST_WAITING", 5)
    async with node(1, port) as one, one.query("a") as found:
        for number in range(8):
            await one.insert(b"x", {"a"}, name=str(number))
        assert await taken(found, 5) == list("01234")
        with pytest.raises(QuotaExceeded, match="5 matches wait"):
            await anext(found)
        monkeypatch.undo()
        assert await past(one, "a") == list("76543210")


@on_loop
async def test_a_node_says_who_keeps_its_objects(port: int) -> None:
    async with node(1, port, "cells") as one:
        alone = await one.insert(b"x", {"a"})
        assert not await one.kept_by_others(alone)
        with pytest.raises(UnknownObject):
            await one.kept_by_others(alone._replace(name="never"))
        async with node(2, port, "cells") as two, node(3, port, "cells", visiting=True) as guest:
            await met(one, two, guest)
            for each in (one, guest):
                key = await each.insert(b"x" * 1000, {"b"})
                async with asyncio.timeout(LIMIT):
                    while not await each.kept_by_others(key):  # a broadcast may be lost; repaired later
                        await asyncio.sleep(0.05)
    async with node(1, port, "local") as one, node(2, port, "local") as two:
        await met(one, two)
        assert not await one.kept_by_others(await one.insert(b"x", {"b"}))
    nearby = Neighbours(KEY, ("127.0.4.2/8",), port)
    by_two = {"set": {"server": nearby.number_of("node 2")}}
    async with node(1, port, "server", **by_two) as one, node(2, port, "server", **by_two) as two:
        await met(one, two)
        for size, kept in ((10, True), (600_000, False)):
            key = await one.insert(b"x" * size, {"b"})
            assert await one.kept_by_others(key) is kept
            assert len(await past(two, "b")) == 1
            await one.delete(key)


@pytest.mark.parametrize(
    ("active", "own", "kept"),
    [("cell", None, True), ("off", None, False), ("cell", False, False), ("off", True, True)],
)
@on_loop
async def test_the_bytes_of_a_visitor_stay_with_others_if_copies_are_made(
    port: int, active: str, own: bool | None, kept: bool
) -> None:
    """Nobody else is in its cell: a node of the next one has them for that cell."""
    values = {**QUICK["cells"], "active": active}
    async with (
        node(1, port, "cells", set=values) as one,
        node(15, port, "cells", set=values, visiting=True) as guest,
    ):
        await met(one, guest)
        with pytest.raises(InvalidObject, match=r"^active 'off': expected True, False or None$"):
            await guest.insert(b"x", {"a"}, active="off")  # type: ignore[arg-type]
        key = await guest.insert(b"x" * 1000, {"a"}, active=own)
        assert guest._exchange.usable().node.routing.serving() is False
        assert await guest.kept_by_others(key) is kept
        guest._exchange.usable().close()  # it is gone without a word
        async with asyncio.timeout(LIMIT), one.query("a", until="now") as found:
            match = await anext(found)
        assert (one._exchange.usable().objects.store.metadata(match.key) is not None) is kept


def test_without_asyncio(port: int) -> None:
    def blocking(number: int) -> BlockingConnection:
        nearby = Neighbours(KEY, (f"127.0.4.{number}/8",), port)
        return connect_blocking(None, neighbours=nearby, name=str(number), set=QUICK["local"])

    with blocking(1) as one, blocking(2) as two:
        one.until_connected(LIMIT)
        key = one.insert(b"photo", {"a"})
        with two.query("a") as found:
            match = found.get(LIMIT)
            assert (match.key, match.retrieve()) == (key, b"photo")
        assert not one.kept_by_others(key)
        assert one.decide(Plan(plan="same", actions=(Action(proxy="storage", to="local"),))).ok
        one.delete(key)


@on_loop
async def test_what_needs_a_broker_says_so(port: int) -> None:
    async with node(1, port) as one:
        with pytest.raises(InvalidArgument, match="no broker keeps a session"):
            await one.close(forget=True)
        key = await one.insert(b"x", {"a"})
        with pytest.raises(Unsupported, match="expected its metadata"):
            await one.retrieve(key._replace(owner=5))
        assert await one.retrieve(key) == b"x"
    with pytest.raises(NotConnected, match="node 1"):
        await one.insert(b"x", {"a"})


@on_loop
async def test_a_node_is_connected_while_another_one_is_in_reach(port: int) -> None:
    quick = {**QUICK["local"], "forget_s": 0.5}
    states: list[str] = []

    def note(state: str) -> None:
        states.append(state)
        raise ValueError("what an application does here is its own business")

    async with node(1, port, set=quick) as one:
        one.on_state = note
        assert await one.open() is one
        async with node(2, port, set=quick):
            await met(one)
        async with asyncio.timeout(LIMIT):
            while one.connected:
                await asyncio.sleep(0.02)
    assert states == ["connected", "disconnected"]
    with pytest.raises(NotConnected, match="it was closed"):
        await one.open()
    with pytest.raises(NotConnected, match="it was closed"):
        await one.until_connected()


@on_loop
async def test_a_query_that_a_design_refuses_says_why(port: int) -> None:
    async with node(1, port, "cells") as one:
        with pytest.raises(OperationFailed, match="expected a tag that must be there"):
            await one.query("~a").__aenter__()
        assert len(one._exchange.usable().objects.queries) == 0


@on_loop
async def test_a_full_cell_and_one_that_does_not_answer_are_named(port: int) -> None:
    quick = {**QUICK["cells"], "most_per_subscriber": 1}
    async with node(1, port, "cells", set=quick) as one, one.query("a"):
        most = "expected at most 1 conjunctions of a subscriber, 10000 of all"
        with pytest.raises(QuotaExceeded, match=rf"^query \d+: no room in its cell: {most}$"):
            await one.query("a").__aenter__()
    async with node(1, port, "server") as one:
        with pytest.raises(OperationFailed, match=r"^operation \d+: no answer in 8(\.\d+)? s: expected one$"):
            await one.insert(b"", {"a"})


BAD: list[tuple[dict[str, Any], str]] = [
    ({"keys": "me.key"}, "keys: expected it with a broker alone"),
    ({"open": True}, "open: expected it with a broker alone"),
    ({"durable": False}, "durable: expected it with a broker alone"),
    ({"kept": "drop"}, "kept: expected it with a broker alone"),
    ({"name": ""}, "name ''"),
    ({"storage": "attic"}, "storage 'attic': 'storage' has no mechanism"),
    ({"storage": "broker"}, "storage 'broker': expected one that needs no broker"),
    ({"storage": "server"}, "storage 'server': expected set={'server': NUMBER}, the number of the node that"),
    ({"storage": 5}, "storage 5: expected the name of a mechanism"),
    ({"routing": "cells"}, "routing 'cells': expected one that offers node, for storage 'local'"),
    ({"routing": "tram"}, "routing 'tram': 'routing' has no mechanism"),
    ({"set": {"sides": 5}}, "set 'sides': expected one of "),
    ({"set": "side=5"}, "set 'side=5': expected names and values"),
    ({"store": 5}, "store 5: expected a path or None"),
    ({"visiting": "yes"}, "visiting 'yes': expected True or False"),
]


@pytest.mark.parametrize(("wrong", "why"), BAD)
def test_arguments_that_make_no_node_are_refused(port: int, wrong: dict[str, Any], why: str) -> None:
    nearby = Neighbours(KEY, ("127.0.4.1/8",), port)
    given = {"neighbours": nearby, "name": "me", **wrong}
    with pytest.raises(InvalidArgument) as caught:
        connect(None, **given)
    assert str(caught.value).startswith(why)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("option", [{"storage": "local"}, {"routing": "dsdv"}, {"set": {"side": 1.0}},
                                    {"store": "x.db"}, {"visiting": True}])  # fmt: skip
def test_arguments_of_nodes_are_refused_with_a_broker(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="expected none: a broker's plans decide"):
        connect("tcp://127.0.0.1:7700", open=True, name="me", **option)


@on_loop
async def test_what_a_node_cannot_begin_with_is_said_when_it_opens(port: int) -> None:
    nearby = Neighbours(KEY, ("203.0.113.7/24",), port)
    with pytest.raises(InvalidInterface, match=r"203\.0\.113\.7"):
        await connect(None, neighbours=nearby, name="me").open()
    with pytest.raises(BypassError, match="side"):
        await node(1, port, "cells", set={"side": -1.0}).open()
    async with node(1, port):
        """The address is free again."""
