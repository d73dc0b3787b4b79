"""Mechanisms of one's own, by import path: in one system, and in no other."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import numpy as np
import pytest

from bypass.errors import UnusableMechanism
from bypass.mechanisms import Registry
from bypass.mechanisms.dissemination import Disseminator, Flooding
from bypass.mechanisms.gateways import GatewayChoice, RelayLogic
from bypass.mechanisms.gateways.selection import Candidates
from bypass.mechanisms.modes import ALL, OTHERS, HybridMode
from bypass.mechanisms.transports import Wifi
from bypass.protocol.messages import Kind, Publish
from bypass.support.arrays import Ints
from bypass.transitions import AtomicTransition, UnknownMechanism, auto_transfer
from tests.vicinity import Vicinity, row


class TwoHops(Disseminator):
    """Passes an event on only if it comes from its publisher."""

    flag: ClassVar[int] = 64

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        self.host.link.broadcast(publication)

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self.tell(publication)
        if sender == publication.client:
            self.host.link.broadcast(publication, 0.001 * (1 + self.host.id))


class ThreeHops(TwoHops):
    """Another one with the flag of the first: not for the same system."""

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self.tell(publication)


class Unfinished(Disseminator):
    """Does not say what it does with events that it hears."""

    flag: ClassVar[int] = 66

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        """Never called."""


class Whisper(HybridMode):
    """Tells devices nearby of all events, and nobody else of local ones."""

    by_radio: ClassVar[frozenset[Kind]] = ALL
    by_broker: ClassVar[frozenset[Kind]] = OTHERS


class Twice(RelayLogic):
    """Passes each event on two times."""

    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        self.host.link.disseminate_locally(publication, targets or None)
        self.host.link.disseminate_locally(publication, targets or None)


class Loud(Wifi):
    """A transport like any other."""


class Remembering(AtomicTransition[Flooding, TwoHops]):
    """Notes that it was used."""

    used: ClassVar[list[str]] = []

    def transfer_state(self, a: Flooding, b: TwoHops) -> None:
        self.used.append(f"{a.name} {b.name}")
        auto_transfer(a, b)


class TheFirst(GatewayChoice):
    """The client with the lowest number is the gateway."""

    def choose(self, candidates: Candidates, k: int) -> Ints:
        return np.zeros(1, np.int64)


class Between(AtomicTransition[Flooding, TheFirst]):
    """Makes no sense: nothing has both behind one proxy."""

    def transfer_state(self, a: Flooding, b: TheFirst) -> None:
        """Never called."""


class Impostor(Flooding):
    """Has the flag of another one."""

    flag: ClassVar[int] = 64


class Renamed(Disseminator):
    """Has the name of another one."""

    name: ClassVar[str] = "gossip"
    flag: ClassVar[int] = 65

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        """Never called."""

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        """Never called."""


class Flagless(Flooding):
    """Has a flag that does not fit."""

    flag: ClassVar[int] = 128


NUMBER = 7


def own(*names: str) -> Registry:
    """A registry that knows these classes of this module, by reference."""
    return Registry([f"{__name__}:{name}" for name in names])


def test_a_mechanism_of_ones_own_spreads_events() -> None:
    registry = own("TwoHops", "TwoHops")
    assert registry.find("client", "direct", "two-hops") is TwoHops
    world = Vicinity(row(6), {"direct": "two-hops"}, registry=registry)
    world.subscribe_all(None)
    world.run()
    event = world.publish(0)
    world.run()
    assert world.receivers(event) == [1, 2]
    assert world.frames() == [1, 1, 0, 0, 0, 0]


def test_it_can_be_switched_to_and_heals_like_others() -> None:
    places, mechanisms = row(4, 10.0), {"direct": "flooding", "mode": "augment"}
    world = Vicinity(places, mechanisms, registry=own("TwoHops"))
    world.subscribe_all(500)
    world.run()
    world.broker.execute(world.plan("direct", "two-hops", 2, decision=world.broker.rollout.decide(0)))
    world.run()
    assert world.active("direct") == ["flooding", "flooding", "two-hops", "flooding"]
    world.publish_local(2)
    world.run()
    assert world.active("direct") == ["two-hops"] * 4


def test_a_selection_of_ones_own_chooses_gateways() -> None:
    world = Vicinity(
        [(900.0, 900.0), *row(5, 5.0)],
        {"mode": "gateway", "gateway": "broadcast", "gateway_logic": "relay"},
        registry=own("TheFirst"),
    )
    world.subscribe_all()
    world.run()
    world.broker.execute(world.plan("gateway-selection", "the-first"))
    event = world.publish(0)
    world.run()
    assert [gateway for _, gateway, _ in world.tap.relays] == [1]
    assert world.receivers(event) == [1, 2, 3, 4, 5]


def test_modes_logics_and_transports_of_ones_own_run_like_others() -> None:
    world = Vicinity(
        [(900.0, 900.0), *row(3, 5.0)],
        {"mode": "whisper", "transport": "loud", "gateway": "broadcast", "gateway_logic": "twice"},
        registry=own("Whisper", "Twice", "Loud", "TheFirst"),
    )
    world.subscribe_all()
    world.run()
    world.broker.execute(world.plan("gateway-selection", "the-first"))
    event = world.publish(0, (52.0, 500.0))
    world.run()
    assert world.receivers(event) == [1, 2, 3]
    assert world.frames() == [0, 2, 0, 0]


def test_a_custom_transition_is_used_where_it_fits() -> None:
    Remembering.used.clear()
    world = Vicinity(row(2), {"direct": "flooding"}, registry=own("Remembering", "TwoHops"))
    world.change(0, "direct", "two-hops")
    world.change(0, "direct", "flooding")
    assert Remembering.used == ["flooding two-hops"]
    assert [r.custom for r in world.clients[0].engine.records if r.target == "two-hops"] == ["Remembering"]


def test_systems_in_one_process_have_mechanisms_of_their_own() -> None:
    first = Vicinity(row(6), {"direct": "two-hops"}, registry=own("TwoHops"))
    second = Vicinity(row(6), {"direct": "three-hops"}, registry=own("ThreeHops"))
    plain = Vicinity(row(6), {"direct": "broadcast"})
    for world, receivers in ((first, [1, 2]), (second, [1]), (plain, [1])):
        world.subscribe_all(None)
        world.run()
        event = world.publish(0)
        world.run()
        assert world.receivers(event) == receivers
    with pytest.raises(UnknownMechanism, match="'direct' has no mechanism 'three-hops'; it has: broadcast"):
        first.broker.execute(first.plan("direct", "three-hops"))
    with pytest.raises(UnknownMechanism, match="'direct' has no mechanism 'two-hops'"):
        plain.broker.execute(plain.plan("direct", "two-hops"))


def test_without_being_brought_it_is_unknown() -> None:
    with pytest.raises(
        UnknownMechanism, match="'direct' has no mechanism 'two-hops'; it has: nothing, unicast"
    ):
        Registry().find("client", "direct", "two-hops")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("no.such.module:Class", "expected module:Class, an import path"),
        (f"{__name__}:NoSuchClass", "expected module:Class, an import path"),
        (__name__, "expected module:Class, an import path"),
        (":", "expected module:Class, an import path"),
        ("", "expected module:Class, an import path"),
        (f"{__name__}:NUMBER", "expected a class of mechanisms"),
        (
            f"{__name__}:Vicinity",
            "Vicinity: expected a subclass of RadioTransport, Disseminator, R",
        ),
        (f"{__name__}:Flagless", "flag 128: expected a number from 1 to 127 of its own"),
        (f"{__name__}:Renamed", "name 'gossip': expected one that no other mechanism has"),
        (f"{__name__}:Unfinished", "Unfinished lacks heard: expected a method of this name"),
        (f"{__name__}:Between", "expected AtomicTransition[From, To] between mechanisms of one family"),
        ("bypass.transitions:AtomicTransition", "expected AtomicTransition[From, To]"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(path: str, problem: str) -> None:
    with pytest.raises(UnusableMechanism) as refused:
        Registry([path])
    message = str(refused.value)
    assert message.startswith(f"{path}: ")
    assert problem in message
    assert "\n" not in message


def test_flags_are_ones_own() -> None:
    with pytest.raises(UnusableMechanism, match="flag 64: expected a number from 1 to 127 of its own"):
        own("TwoHops", "Impostor")
