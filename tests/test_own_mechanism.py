"""A dissemination mechanism and a gateway selection of one's own, by import path."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar

import numpy as np
import pytest

from bypass.mechanisms import (
    BROKER_MECHANISMS,
    CLIENT_MECHANISMS,
    UnusableMechanism,
    find_mechanism,
    use_mechanism,
)
from bypass.mechanisms.dissemination import Disseminator, Flooding
from bypass.mechanisms.gateways import GatewayChoice
from bypass.mechanisms.gateways.selection import Candidates
from bypass.protocol.messages import Publish
from bypass.support.arrays import Ints
from bypass.transitions import UnknownMechanism
from tests.vicinity import Vicinity, row


class TwoHops(Disseminator):
    """Who hears an event from its publisher passes it on; others do not."""

    flag: ClassVar[int] = 64

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        self.host.link.broadcast(publication)

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self.tell(publication)
        if sender == publication.client:
            self.host.link.broadcast(publication, 0.001 * (1 + self.host.id))


class TheFirst(GatewayChoice):
    """The client with the lowest number is the gateway."""

    def _choose(self, candidates: Candidates, k: int) -> Ints:
        return np.zeros(1, np.int64)


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


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Other tests must not see mechanisms of this one."""
    before = [dict(CLIENT_MECHANISMS[p]) for p in ("direct", "gateway")]
    selections = dict(BROKER_MECHANISMS["gateway-selection"])
    yield
    for proxy, mechanisms in zip(("direct", "gateway"), before, strict=True):
        CLIENT_MECHANISMS[proxy].clear()
        CLIENT_MECHANISMS[proxy].update(mechanisms)
    BROKER_MECHANISMS["gateway-selection"].clear()
    BROKER_MECHANISMS["gateway-selection"].update(selections)


def test_a_mechanism_of_ones_own_spreads_events() -> None:
    assert use_mechanism(f"{__name__}:TwoHops") is TwoHops
    assert use_mechanism(f"{__name__}:TwoHops") is TwoHops
    world = Vicinity(row(6), {"direct": "two-hops"})
    world.subscribe_all(None)
    world.run()
    event = world.publish(0)
    world.run()
    assert world.receivers(event) == [1, 2]
    assert world.frames() == [1, 1, 0, 0, 0, 0]


def test_it_can_be_switched_to_and_heals_like_others() -> None:
    use_mechanism(f"{__name__}:TwoHops")
    world = Vicinity(row(4, 10.0), {"direct": "flooding", "mode": "augment"})
    world.subscribe_all(500)
    world.run()
    world.broker.execute(world.plan("direct", "two-hops", 2, decision=world.broker.decide(0)))
    world.run()
    assert world.active("direct") == ["flooding", "flooding", "two-hops", "flooding"]
    world.publish_local(2)
    world.run()
    assert world.active("direct") == ["two-hops"] * 4


def test_a_selection_of_ones_own_chooses_gateways() -> None:
    use_mechanism(f"{__name__}:TheFirst")
    world = Vicinity(
        [(900.0, 900.0), *row(5, 5.0)],
        {"mode": "gateway", "gateway": "broadcast", "gateway_logic": "relay"},
    )
    world.subscribe_all()
    world.run()
    world.broker.execute(world.plan("gateway-selection", "the-first"))
    event = world.publish(0)
    world.run()
    assert [gateway for _, gateway, _ in world.tap.relays] == [1]
    assert world.receivers(event) == [1, 2, 3, 4, 5]


def test_without_being_used_it_is_unknown() -> None:
    with pytest.raises(
        UnknownMechanism, match="'direct' has no mechanism 'two-hops'; it has: nothing, unicast"
    ):
        find_mechanism(CLIENT_MECHANISMS, "direct", "two-hops")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("no.such.module:Class", "expected module:Class, an import path"),
        (f"{__name__}:NoSuchClass", "expected module:Class, an import path"),
        (__name__, "expected module:Class, an import path"),
        (":", "expected module:Class, an import path"),
        ("", "expected module:Class, an import path"),
        (f"{__name__}:NUMBER", "expected a class of mechanisms"),
        ("bypass.mechanisms.modes:Cloud", "expected a subclass of Disseminator or GatewayChoice"),
        (f"{__name__}:Flagless", "flag 128: expected a number from 1 to 127 of its own"),
        (f"{__name__}:Renamed", "name 'gossip': expected one that no other mechanism has"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(path: str, problem: str) -> None:
    before = {proxy: dict(kinds) for proxy, kinds in CLIENT_MECHANISMS.items()}
    with pytest.raises(UnusableMechanism) as refused:
        use_mechanism(path)
    message = str(refused.value)
    assert message.startswith(f"{path}: ")
    assert problem in message
    assert "\n" not in message
    assert before == CLIENT_MECHANISMS


def test_flags_are_ones_own() -> None:
    use_mechanism(f"{__name__}:TwoHops")
    with pytest.raises(UnusableMechanism, match="flag 64: expected a number from 1 to 127 of its own"):
        use_mechanism(f"{__name__}:Impostor")
