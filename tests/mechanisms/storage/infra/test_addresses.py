"""Addresses of clients, and the ways to them and to their cells."""

from __future__ import annotations

from collections.abc import Hashable

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.edge.address_store import AddressStore
from bypass.mechanisms.storage.infra.edge.contact import MOST_PARKED, CellContact, Sent
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import EdgeRelay
from bypass.protocol.storage import JoinRequest, StorageMessage

W = "gallery"


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time


class Network:
    """Physical addresses of which some answer."""

    def __init__(self, *alive: Hashable) -> None:
        self.alive = set(alive)
        self.tried: list[tuple[Hashable, StorageMessage]] = []

    def __call__(self, physical: Hashable, body: StorageMessage, sent: Sent) -> None:
        self.tried.append((physical, body))
        sent(physical in self.alive)

    @property
    def reached(self) -> list[Hashable]:
        return [physical for physical, _ in self.tried]


def at(node: int, cell: int = 0) -> NodeAddress:
    return NodeAddress(node, cell)


def test_an_address_lives_from_its_last_writing_on() -> None:
    clock = Clock()
    store = AddressStore(clock.now, ttl_s=300.0)
    store.put(W, at(1), "one")
    clock.time = 200.0
    store.put(W, at(2), "two")
    assert store.translate(W, at(1)) == "one"
    store.put(W, at(1), "moved")
    clock.time = 500.0
    assert (store.translate(W, at(1)), store.translate(W, at(2)), len(store)) == ("moved", "two", 2)
    clock.time = 500.5
    assert (store.translate(W, at(1)), len(store)) == (None, 0)
    assert store.translate("other", at(1)) is None


def test_the_address_that_was_written_first_makes_room() -> None:
    store = AddressStore(Clock().now, size=2)
    for node in (1, 2, 1, 3):
        store.put(W, at(node), node)
    assert [store.translate(W, at(node)) for node in (1, 2, 3)] == [1, None, 3]
    assert store.all_in_cell(W, 0) == [3, 1]
    store.resize(1)
    assert store.all_in_cell(W, 0) == [3]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 4), st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40)), max_size=30))
def test_bounds_hold_and_what_is_there_is_the_last_that_was_written(
    size: int, writes: list[tuple[int, int]]
) -> None:
    clock = Clock()
    store = AddressStore(clock.now, size=size, ttl_s=60.0)
    known: dict[int, float] = {}
    for node, wait in writes:
        clock.time += wait
        store.put(W, at(node), (node, clock.time))
        known.pop(node, None)
        known[node] = clock.time
    expected = {n: t for n, t in list(known.items())[max(0, len(known) - size) :] if clock.time - t <= 60.0}
    assert {n: store.translate(W, at(n)) for n in range(1, 10)} == {
        n: (n, expected[n]) if n in expected else None for n in range(1, 10)
    }


def test_stable_nodes_are_there_at_size_0_and_listeners_are_told() -> None:
    store = AddressStore(Clock().now, size=0)
    told: list[tuple[str, int]] = []
    store.on_stable(lambda world, cell: told.append((world, cell)))
    store.put(W, at(1, 4), "one")
    store.establish(W, 4, "one")
    store.establish(W, 4, "two")
    assert (len(store), store.stable(W, 4), store.stable("other", 4), told) == (0, "two", None, [(W, 4)] * 2)
    store.forget_cells(W)
    assert store.stable(W, 4) is None


def test_a_client_is_reached_directly_or_by_the_stable_node() -> None:
    store, network = AddressStore(Clock().now), Network("one", "stable")
    contact = CellContact(store, network)
    results: list[bool] = []
    body = JoinRequest(1)
    contact.to_node(W, at(1), body, results.append)
    store.establish(W, 0, "stable")
    contact.to_node(W, at(1), body, results.append)
    store.put(W, at(1), "one")
    contact.to_node(W, at(1), body, results.append)
    assert (results, contact.relayed) == ([False, True, True], 1)
    assert network.tried == [("stable", EdgeRelay(at(1), body)), ("one", body)]
    network.alive.remove("one")
    contact.to_node(W, at(1), body, results.append)
    assert (results[-1], network.reached[2:], store.translate(W, at(1))) == (True, ["one", "stable"], None)
    network.alive.clear()
    contact.to_node(W, at(1), body, results.append)
    assert results[-1] is False


def test_with_room_for_all_nothing_is_relayed() -> None:
    """100 clients are written in turn, and each is then sent to: the fewer addresses, the more relays."""
    relayed = []
    for size in (0, 25, 50, 75, 100):
        store, network = AddressStore(Clock().now, size=size), Network(*range(100))
        contact = CellContact(store, network)
        for cell in range(9):
            store.establish(W, cell, cell)
        for node in range(100):
            store.put(W, at(node, node % 9), node)
        for node in range(100):
            contact.to_node(W, at(node, node % 9), JoinRequest(), lambda _: None)
        relayed.append(contact.relayed)
    assert relayed == [100, 75, 50, 25, 0]


def test_a_cell_is_reached_by_its_stable_node_then_by_any_other() -> None:
    store, network = AddressStore(Clock().now), Network("two")
    contact = CellContact(store, network)
    for node, physical in ((1, "one"), (2, "two"), (3, "three")):
        store.put(W, at(node), physical)
    store.establish(W, 0, "three")
    contact.to_cell(W, 0, JoinRequest(1))
    assert network.reached == ["three", "two"]
    assert network.tried[0][1] == EdgeRelay(NodeAddress(None, 0), JoinRequest(1))
    assert store.stable(W, 0) is None  # it did not answer


def test_what_nobody_takes_waits_for_a_stable_node() -> None:
    store, network = AddressStore(Clock().now), Network("new")
    contact = CellContact(store, network)
    store.put(W, at(1), "dead")
    for number in range(MOST_PARKED + 2):
        contact.to_cell(W, 0, JoinRequest(number))
    assert (contact.waiting(W, 0), contact.dropped) == (MOST_PARKED, 2)
    store.establish(W, 0, "also dead")
    assert contact.waiting(W, 0) == MOST_PARKED
    network.tried.clear()
    store.establish(W, 0, "new")
    assert contact.waiting(W, 0) == 0
    assert [body.body for _, body in network.tried] == [  # type: ignore[attr-defined]
        JoinRequest(number) for number in range(2, MOST_PARKED + 2)
    ]


def test_nothing_overtakes_what_waits_for_a_cell() -> None:
    store, network = AddressStore(Clock().now), Network("one")
    contact = CellContact(store, network)
    contact.to_cell(W, 0, JoinRequest(1))
    store.put(W, at(1), "one")
    contact.to_cell(W, 0, JoinRequest(2))
    store.establish(W, 0, "one")
    contact.to_cell(W, 0, JoinRequest(3))
    assert [body.body for _, body in network.tried] == [  # type: ignore[attr-defined]
        JoinRequest(number) for number in (1, 2, 3)
    ]
