"""Algorithms that select gateways are exchanged, and what they remember stays; relaying remembers nothing."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection

import pytest

from bypass.events.event import Event
from bypass.mechanisms import Registry
from bypass.mechanisms.families import GATEWAY_LOGIC, GATEWAY_SELECTION
from bypass.mechanisms.gateways import DkcLeach, GatewayChoice, Relay, SkcLeach
from bypass.places.sensor import LocationSensor
from bypass.ports.host import Lease
from bypass.ports.monitor import Monitor
from bypass.ports.proxies import GatewayLogic, GatewaySelection
from bypass.ports.state_info import LOCATION, Reading, Vector
from bypass.protocol.messages import Publish
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost
from bypass.sim.sensor import TraceSensor
from bypass.transitions import Engine, MechanismStopped, Nothing

CLIENTS = range(20)


SELECTIONS = [*Registry().kinds(GATEWAY_SELECTION).values()]


class Standing:
    def position(self, client: int, at: float) -> Vector:
        return 0.0, 0.0

    def velocity(self, client: int, at: float) -> Vector:
        return 0.0, 0.0


class Gateway:
    """A client's gateway dissemination, as its gateway logic sees it."""

    def __init__(self) -> None:
        self.asked: list[tuple[Publish, Collection[int] | None]] = []

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        self.asked.append((publication, targets))


class Site:
    """An engine on a simulated host that knows where 20 clients are."""

    def __init__(self) -> None:
        clock = VirtualClock()
        sensor: LocationSensor = TraceSensor(clock, Standing(), 0, 0.5)
        self.host = SimHost(0, clock, sensor, Monitor(), seed=1)
        numbers = random.Random(2)
        places = {client: (numbers.uniform(0, 300), numbers.uniform(0, 300)) for client in CLIENTS}
        self.host.state_info.provide(LOCATION, lambda client: Reading(places[client], 0.0))
        self.gateway = Gateway()
        self.engine = Engine(lease=lambda proxy: Lease(self.host, proxy, self.gateway), clock=clock.now)

    def selection(self, kind: type[GatewayChoice] | type[Nothing], **values: object) -> GatewaySelection:
        return self.engine.create_proxy(
            "gateway-selection", GatewaySelection, kind, mechanisms=SELECTIONS, set=values
        )

    @property
    def active(self) -> GatewayChoice:
        mechanism = self.engine.active("gateway-selection")
        assert isinstance(mechanism, GatewayChoice)
        return mechanism


def remembered(selection: GatewayChoice) -> list[dict[str, object]]:
    return [selection.history.of(client) for client in CLIENTS]


def test_names_that_plans_use() -> None:
    assert [kind.name for kind in SELECTIONS] == ["dkc-leach", "skc-leach", "cs-wca"]
    assert [*Registry().kinds(GATEWAY_LOGIC)] == ["relay"]


@pytest.mark.parametrize(
    ("source", "target"),
    [*itertools.permutations(SELECTIONS, 2)],
    ids=lambda kind: kind.name,
)
def test_history_outlives_the_algorithm(source: type[GatewayChoice], target: type[GatewayChoice]) -> None:
    site = Site()
    selection = site.selection(source)
    for _ in range(7):
        selection.assign(CLIENTS)
    before = remembered(site.active)
    assert sum(service["times"] > 0 for service in before) > 2  # type: ignore[operator]
    record = site.engine.transition("gateway-selection", target.name)
    assert (record.outcome, record.moved, record.dropped) == ("done", ("history",), ())
    assert type(site.active) is target
    assert remembered(site.active) == before
    selection.assign(CLIENTS)
    assert [service["rounds"] for service in remembered(site.active)] == [8] * len(CLIENTS)


@pytest.mark.parametrize("first", SELECTIONS, ids=lambda kind: kind.name)
def test_the_next_algorithm_goes_on_where_the_last_one_was(first: type[GatewayChoice]) -> None:
    site = Site()
    selection = site.selection(first)
    spared = {*CLIENTS} - selection.get_gateways(CLIENTS, 10).keys()
    site.engine.transition("gateway-selection", DkcLeach)
    turn = selection.get_gateways(CLIENTS, 10).keys()
    assert turn <= spared if len(spared) >= 10 else spared < turn


def test_after_dkc_those_who_served_are_spared_by_skc_too() -> None:
    site = Site()
    selection = site.selection(DkcLeach)
    chosen = selection.get_gateways(CLIENTS, 10).keys()
    site.engine.transition("gateway-selection", SkcLeach)
    assert selection.get_gateways(CLIENTS, 10).keys() == {*CLIENTS} - chosen


def test_history_survives_a_time_without_gateways() -> None:
    site = Site()
    selection = site.selection(DkcLeach)
    selection.assign(CLIENTS)
    before = remembered(site.active)
    site.engine.transition("gateway-selection", Nothing)
    assert selection.assign(CLIENTS) == {}
    site.engine.transition("gateway-selection", SkcLeach)
    assert remembered(site.active) == before


def test_the_first_algorithm_needs_nothing_from_anybody() -> None:
    site = Site()
    selection = site.selection(Nothing)
    site.engine.transition("gateway-selection", "cs-wca", set={"share": 0.2})
    assert 1 <= len(selection.assign(CLIENTS)) <= 4
    assert site.active.settings()["share"] == 0.2


def test_two_brokers_share_no_history() -> None:
    one, other = Site(), Site()
    one.selection(DkcLeach).assign(CLIENTS)
    other.selection(DkcLeach)
    assert other.active.history.of(0)["rounds"] == 0


def test_a_self_transition_changes_how_many() -> None:
    site = Site()
    selection = site.selection(DkcLeach)
    assert len(selection.assign(CLIENTS)) == 8
    site.engine.set("gateway-selection", share=0.2)
    assert len(selection.assign(CLIENTS)) == 4


# -- the client's part ------------------------------------------------------------------------------------


def test_a_gateway_passes_events_on_by_its_gateway_dissemination() -> None:
    site = Site()
    logic = site.engine.create_proxy("gateway-logic", GatewayLogic, Relay)
    publication = Publish(7, Event(kind="news"))
    logic.relay(publication, (3, 4))
    logic.relay(publication, ())
    assert site.gateway.asked == [(publication, (3, 4)), (publication, None)]


def test_who_is_no_gateway_any_more_passes_nothing_on() -> None:
    site = Site()
    logic = site.engine.create_proxy("gateway-logic", GatewayLogic, Relay)
    relay = site.engine.active("gateway-logic")
    assert isinstance(relay, Relay)
    record = site.engine.transition("gateway-logic", Nothing)
    assert (record.moved, record.dropped) == ((), ())
    publication = Publish(7, Event(kind="news"))
    logic.relay(publication, ())
    with pytest.raises(MechanismStopped):
        relay.relay(publication, ())
    assert site.gateway.asked == []
