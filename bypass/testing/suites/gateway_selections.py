"""The suite of gateway selections: promises that each of them keeps."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.mechanisms.families import GATEWAY_SELECTION, Family
from bypass.mechanisms.gateways import GatewayChoice
from bypass.ports.state_info import LOCATION, VELOCITY, Key, Reading, StateInformation, Vector
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.radio import RadioWorld, cluster

PROXY = "gateway-selection"
KnownPlace = tuple[float, float] | None
Round = tuple[frozenset[int], int]


class Site:
    """A broker's host that knows where clients are; `places[i]` is client i's, None: unknown."""

    id = 0

    def __init__(self, places: Sequence[KnownPlace], seed: int = 1) -> None:
        self.time = 0.0
        self.places = {client: place for client, place in enumerate(places) if place is not None}
        self.velocities: dict[int, Vector] = {}
        self.state_info = StateInformation(self.now)
        self.provide(LOCATION, self.places)
        self.provide(VELOCITY, self.velocities)
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def provide(self, key: Key[Vector], values: Mapping[int, Vector]) -> None:
        """Have the state information know `values` under a key."""

        def provider(client: int) -> Reading[Vector] | None:
            return Reading(values[client], self.time) if client in values else None

        self.state_info.provide(key, provider)

    def now(self) -> float:
        """The time, which passes when a test says so."""
        return self.time

    def random(self, purpose: str) -> random.Random:
        """The stream of random numbers for a purpose."""
        return self._streams.setdefault(purpose, random.Random(self._seed))


class GatewaySelectionSuite(MechanismSuite):
    """Everybody is a gateway or has one, whoever comes and goes, and the same each time."""

    family: ClassVar[Family] = GATEWAY_SELECTION

    def selection(self, places: Sequence[KnownPlace], seed: int = 1) -> tuple[Site, GatewayChoice]:
        """A selection at a broker that knows these places."""
        site = Site(places, seed)
        made: GatewayChoice = self.kind(site, **self.parameters)
        return site, made

    def _rounds(
        self, places: Sequence[KnownPlace], rounds: Sequence[Round], seed: int
    ) -> list[Mapping[int, frozenset[int]]]:
        """Choose in some rounds: each says who is away then, and how many gateways are wanted."""
        site, selection = self.selection(places, seed)
        chosen = []
        for away, k in rounds:
            site.time += 0.1
            present = [client for client in range(len(places)) if client not in away]
            chosen.append(selection.get_gateways(present, k))
        return chosen

    # -- the rules of the result --------------------------------------------------------------------------

    def test_everybody_is_a_gateway_or_has_one(self) -> None:
        """Gateways and those whom they serve are the clients who are there, each of them once."""

        def once(places: list[KnownPlace], rounds: list[Round], seed: int) -> None:
            for (away, k), gateways in zip(rounds, self._rounds(places, rounds, seed), strict=True):
                _assert_all_once(gateways, {*range(len(places))} - away, k)

        self.for_all(once, **_crowds())

    def test_nobody_is_lost_when_gateways_leave(self) -> None:
        """Gateways are gone in the next round, until nobody is left."""

        def goes_on(places: list[KnownPlace], k: int, seed: int) -> None:
            site, selection = self.selection(places, seed)
            left = {*range(len(places))}
            while left:
                site.time += 1.0
                gateways = selection.get_gateways(left, k)
                _assert_all_once(gateways, left, k)
                left -= gateways.keys()

        drawn = _crowds()
        self.for_all(goes_on, places=drawn["places"], k=st.integers(1, 3), seed=drawn["seed"])

    def test_a_selection_is_the_same_each_time(self) -> None:
        """The same places, rounds and seed give the same gateways."""

        def repeats(places: list[KnownPlace], rounds: list[Round], seed: int) -> None:
            first, second = (self._rounds(places, rounds, seed) for _ in range(2))
            assert first == second, f"the same rounds gave {first}, then {second}"

        self.for_all(repeats, **_crowds())

    def test_the_order_of_clients_does_not_matter(self) -> None:
        def agree(places: list[KnownPlace], seed: int) -> None:
            forms: list[Collection[int]] = [range(len(places)), [*range(len(places))][::-1]]
            one, other = (self.selection(places, seed)[1].get_gateways(form, 2) for form in forms)
            assert one == other, f"the order of clients matters: {one}, {other}"

        drawn = _crowds()
        self.for_all(agree, places=drawn["places"], seed=drawn["seed"])

    # -- in a system --------------------------------------------------------------------------------------

    def test_events_reach_everybody(self) -> None:
        """Clients close together leave one by one; those who are left hear each event once."""
        world = self._served(7)
        for leaver in (None, 2, 1, 4, 5):
            if leaver is not None:
                world.leave(leaver)
                world.run()
            for _ in range(3):
                self._assert_heard(world)

    def test_it_can_be_exchanged(self) -> None:
        """Each built-in selection takes over from this one and hands over to it, with who has served."""
        for other in self.others:
            world = self._served(6)
            engine = world.system.broker.engine
            self._assert_heard(world)
            history = getattr(engine.active(PROXY), "history", None)
            for name in (other, self.name):
                world.plan(PROXY, name)
                self._assert_heard(world)
                kept = getattr(engine.active(PROXY), "history", None)
                assert kept is history, f"who has served is forgotten in the transition to {name}"

    def _served(self, clients: int) -> RadioWorld:
        begin: dict[str, tuple[str, Mapping[str, Any]]] = {
            "mode": ("gateway", {}),
            "gateway": ("broadcast", {}),
            "gateway-logic": ("relay", {}),
        }
        world = RadioWorld(cluster(clients), begin, self.brought)
        world.plan(PROXY, self.name, **self.parameters)
        return world

    def _assert_heard(self, world: RadioWorld) -> None:
        event = world.publish(0)
        world.run()
        expected = [n for n in range(1, len(world.system.clients)) if n not in world.gone]
        assert world.heard(event) == expected, f"heard by {world.heard(event)}, expected {expected}"


def _assert_all_once(gateways: Mapping[int, frozenset[int]], clients: set[int], k: int) -> None:
    strangers = gateways.keys() - clients
    assert not strangers, f"{sorted(strangers)} are gateways: expected some of {sorted(clients)}"
    everybody = [*gateways, *(client for group in gateways.values() for client in group)]
    lost = clients - set(everybody)
    assert not lost, f"{sorted(lost)} have no gateway and are none, of {sorted(clients)} with {k} wanted"
    assert sorted(everybody) == sorted(clients), f"somebody has several gateways: {dict(gateways)}"


def _crowds() -> dict[str, st.SearchStrategy[Any]]:
    """Places of clients, some of them unknown; rounds in which some are away; a seed."""
    metres = st.sampled_from([0.0, 70.4, 500.0, 1e6]) | st.integers(-300, 300).map(float)
    place = st.tuples(metres, metres) | st.just((5.0, 5.0))
    away = st.frozensets(st.integers(0, 14), max_size=5)
    return {
        "places": st.lists(place | place | place | st.none(), min_size=2, max_size=15),
        "rounds": st.lists(st.tuples(away, st.integers(1, 5)), min_size=1, max_size=4),
        "seed": st.integers(0, 99),
    }
