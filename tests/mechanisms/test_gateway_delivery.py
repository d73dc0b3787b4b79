"""Delivery by gateways, end to end: the broker tells a few, who tell those around them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.places.region import Place
from bypass.ports.state_info import LOCATION, VELOCITY
from bypass.protocol.messages import Publish
from tests.conftest import Point
from tests.vicinity import REACH, Choice, Vicinity, row

SELECTIONS = ["dkc-leach", "skc-leach", "cs-wca"]
PARK = Place("park", 300.0, 300.0, 120.0)


class Assignments:
    """Notes, as an analyzer, who was made gateway for whom."""

    def __init__(self) -> None:
        self.noted: list[dict[int, frozenset[int]]] = []

    def assigned(self, publication: Publish, gateways: dict[int, frozenset[int]]) -> None:
        self.noted.append(dict(gateways))


class Served(Vicinity):
    """A world in which the broker chooses gateways; client 0 publishes and is far from all others."""

    def __init__(
        self, places: list[Point], selection: str, gateway: Choice = "broadcast", **values: object
    ) -> None:
        super().__init__(
            [(950.0, 950.0), *places],
            {"mode": "gateway", "gateway": gateway, "gateway_logic": "relay", "direct": "nothing"},
            attractions=[PARK],
        )
        self.assignments = Assignments()
        self.system.monitor.register(self.assignments)
        self.broker.engine.transition("gateway-selection", selection, set=values)

    def settle(self, radius: int | None = 1000) -> None:
        self.subscribe_all(radius)
        self.run(2.0)


def alone(assigned: dict[int, frozenset[int]]) -> set[int]:
    """Gateways that serve nobody: they are told as anybody else, and pass nothing on."""
    return {gateway for gateway, clients in assigned.items() if not clients}


metres = st.integers(0, 200).map(float)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(metres, metres), min_size=2, max_size=9),
    st.sampled_from(SELECTIONS),
    st.sampled_from([("broadcast", False), ("unicast", True), ("unicast", False)]),
)
def test_everyone_in_reach_of_its_gateway_gets_it_once(
    where: list[Point], selection: str, way: tuple[str, bool]
) -> None:
    mechanism, contacts = way
    world = Served(where, selection, mechanism, contacts=contacts)
    world.settle()
    event = world.publish(0, (100.0, 100.0))
    world.run(2.0)
    (assigned,) = world.assignments.noted
    expected = set(assigned)
    for gateway, clients in assigned.items():
        reached = {n for n in clients if math.dist(world.place(gateway), world.place(n)) <= REACH}
        expected |= reached
    receivers = world.receivers(event)
    assert len(receivers) == len(set(receivers))
    assert 0 not in receivers
    if mechanism == "unicast" and contacts:
        assert set(receivers) == expected
    else:
        # Gateways speak at different times by chance alone: two may be heard as one noise.
        assert set(assigned) <= set(receivers)
        assert len(expected - set(receivers)) == 0 or len(assigned) > 1
    by_cellular = {client for _, client, _ in world.tap.notifications}
    assert by_cellular == alone(assigned)
    assert {gateway for _, gateway, _ in world.tap.relays} == set(assigned) - alone(assigned)


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("contacts", [True, False])
def test_contact_addresses_travel_only_if_they_are_wanted(selection: str, contacts: bool) -> None:
    world = Served(row(8, 5.0), selection, "broadcast", contacts=contacts, share=0.25)
    world.settle()
    world.publish(0)
    world.run()
    (assigned,) = world.assignments.noted
    assert sum(len(clients) for clients in assigned.values()) == 8 - len(assigned) > 0
    relays = {gateway: addresses for _, gateway, addresses in world.tap.relays}
    for gateway in assigned.keys() - alone(assigned):
        clients = assigned[gateway]
        expected = sorted(world.system.local.devices[n].address for n in clients)
        assert list(relays[gateway]) == (expected if contacts else [])


def test_who_has_no_radio_is_served_directly() -> None:
    world = Served(row(8, 5.0), "skc-leach")
    for client in (3, 5):
        world.change(client, "transport", "nothing")
    world.settle()
    event = world.publish(0)
    world.run()
    (assigned,) = world.assignments.noted
    assert {client for _, client, _ in world.tap.notifications} == {3, 5} | alone(assigned)
    assert {3, 5}.isdisjoint(assigned)
    assert all({3, 5}.isdisjoint(clients) for clients in assigned.values())
    assert world.receivers(event) == list(range(1, 9))


def test_who_turns_its_radio_off_is_served_directly_once_the_broker_has_heard_of_it() -> None:
    world = Served(row(6, 5.0), "skc-leach")
    world.settle()
    for client in range(1, 6):
        world.change(client, "transport", "nothing")
    world.run(3.0)
    event = world.publish(0)
    world.run()
    assert world.receivers(event) == list(range(1, 7))


def test_only_members_of_channels_are_served_by_gateways_if_so_wanted() -> None:
    inside = [(300.0 + 5 * n, 300.0) for n in range(4)]
    outside = [(300.0 + 5 * n, 430.0) for n in range(3)]
    world = Served([*inside, *outside], "skc-leach", serves="channels")
    world.settle()
    world.execute("attract", members=[1, 2, 3, 4])
    world.run(2.0)
    event = world.publish(0)
    world.run(2.0)
    (assigned,) = world.assignments.noted
    assert set(assigned).union(*assigned.values()) == {1, 2, 3, 4}
    assert {client for _, client, _ in world.tap.notifications} == {5, 6, 7} | alone(assigned)
    assert world.receivers(event) == list(range(1, 8))


def test_few_recipients_are_served_directly() -> None:
    world = Served(row(4, 5.0), "skc-leach", smallest=5)
    world.settle()
    event = world.publish(0)
    world.run()
    assert world.assignments.noted == []
    assert world.tap.relays == []
    assert world.receivers(event) == [1, 2, 3, 4]


def test_those_nearby_filter_by_themselves() -> None:
    """A gateway's frame reaches clients whom the event does not concern: they are not told."""
    world = Served(row(6, 5.0), "skc-leach", share=0.2)
    for client in range(1, 5):
        world.subscribe(client, 1000)
    world.run(2.0)
    event = world.publish(0, (60.0, 500.0))
    world.run()
    assert world.receivers(event) == [1, 2, 3, 4]


@pytest.mark.parametrize("gateway", ["broadcast", "flooding"])
def test_more_hops_reach_farther(gateway: str) -> None:
    """One gateway at most in each row of clients, of whom all but a few are not in its reach."""
    world = Served(row(8), "cs-wca", (gateway, {}), share=0.1)
    world.settle()
    event = world.publish(0)
    world.run(2.0)
    (assigned,) = world.assignments.noted
    assert len(assigned) == 1
    assert (len(world.receivers(event)) == 8) == (gateway == "flooding")


def test_gateways_can_be_given_up_at_run_time() -> None:
    world = Served(row(6, 5.0), "skc-leach")
    world.settle()
    events = []
    for selection in ("cs-wca", "nothing", "dkc-leach"):
        events.append(world.publish(0))
        world.broker.execute(world.plan("gateway-selection", selection))
        world.run()
    assert [world.receivers(event) for event in events] == [list(range(1, 7))] * 3
    assert len(world.assignments.noted) == 2


def test_the_broker_says_the_same_of_many_clients_as_of_each() -> None:
    world = Served(row(3, 5.0), "cs-wca")
    for client in (1, 2):
        world.subscribe(client, 1000)
    world.run(2.0)
    world.put(1, world.place(1), vector=(2.0, 0.0))
    world.run(5.0)
    sis = world.broker.host.state_info
    everybody = [3, 1, 2]
    for key in (LOCATION, VELOCITY):
        readings = [sis.get(key, client) for client in everybody]
        assert sis.get_many(key, everybody) == [reading and reading.value for reading in readings]
    silent, moving, standing = sis.get_many(LOCATION, everybody)
    assert (silent, standing) == (None, world.place(2))
    assert moving is not None
    silent, moving, standing = sis.get_many(VELOCITY, everybody)
    assert (silent, standing) == (None, (0.0, 0.0))
    assert moving is not None
    assert moving[0] > 0.0  # how much exactly depends on how long its reports took
    world.broker.disconnect(1)
    assert sis.get_many(LOCATION, [1]) == sis.get_many(VELOCITY, [1]) == [None]


def test_the_same_events_cost_the_broker_less() -> None:
    bytes_down = []
    for selection in ("nothing", "skc-leach"):
        world = Served(row(8, 5.0), selection)
        world.settle()
        for _ in range(10):
            world.publish(0)
            world.run(0.2)
        world.run()
        assert len(world.deliveries) == 80
        bytes_down.append(int(world.system.cellular.down[0].sum()))
    assert bytes_down[1] < 0.6 * bytes_down[0]
