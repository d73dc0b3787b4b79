"""The suite for hybrid modes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.mechanisms.families import MODE, Family
from bypass.protocol.messages import Kind
from bypass.sim.cellular import Traffic
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.radio import RadioWorld, cluster

DEVICES = 4
KINDS = (Kind.PLAIN, Kind.LOCAL, Kind.PLACED)
"""The kinds of events of applications: all but reports."""


class ModeSuite(MechanismSuite):
    """An event of each kind goes to clients nearby, to the broker, or both ways, and is told once.

    Capabilities: events of kinds that the mode `drops` go nowhere.
    """

    family: ClassVar[Family] = MODE
    defaults: ClassVar[Mapping[str, Any]] = {"drops": frozenset()}

    def devices(self, seed: int = 1, direct: str = "broadcast") -> RadioWorld:
        """Devices close together, all of them in this mode."""
        begin = {"mode": (self.name, self.parameters), "direct": (direct, {})}
        return RadioWorld(cluster(DEVICES), begin, self.brought, seed)

    def test_everybody_is_told_once(self) -> None:
        """Events of every kind arrive once, whichever ways they go."""

        def once(kind: Kind, publisher: int, seed: int) -> None:
            world = self.devices(seed)
            event = published(world, kind, publisher)
            world.run()
            others = [n for n in range(DEVICES) if n != publisher]
            expected = [] if kind in self.capability("drops") else others
            heard = world.heard(event)
            assert heard == expected, f"{kind.name} of {publisher}: heard by {heard}, expected {expected}"

        self.for_all(
            once, kind=st.sampled_from(KINDS), publisher=st.integers(0, DEVICES - 1), seed=st.integers(0, 99)
        )

    def test_events_go_the_ways_that_it_names(self) -> None:
        """Radios carry the kinds of `by_radio`, and the broker is told of those of `by_broker`."""
        for kind in KINDS:
            world, silent = self.devices(), self.devices()
            published(world, kind, 0)
            for each in (world, silent):
                each.run()
            by_radio = sum(world.frames()) > sum(silent.frames())
            by_broker = _events_up(world) > _events_up(silent)
            said = kind in self.kind.by_radio, kind in self.kind.by_broker
            assert (by_radio, by_broker) == said, (
                f"{kind.name} goes by radio: {by_radio}, by the broker: {by_broker}; expected {said}"
            )

    def test_it_can_be_exchanged(self) -> None:
        """Devices that go to another mode and come back hear each other as before."""
        for other in self.others:
            world = self.devices()
            for name in (other, self.name):
                for client in range(DEVICES):
                    record = world.change(client, "mode", name)
                    assert record.outcome == "done", f"to {name}: {record.outcome} {record.error}"
                world.run()
            for kind in set(KINDS) - set(self.capability("drops")):
                event = published(world, kind, 1)
                world.run()
                assert world.heard(event) == [0, 2, 3], f"{kind.name} after {other}: {world.heard(event)}"


def published(world: RadioWorld, kind: Kind, publisher: int) -> int:
    """Publish an event of a kind, at the place of its publisher if it has one; gives its number."""
    ways: dict[Kind, Callable[[], int]] = {
        Kind.PLAIN: lambda: world.publish(publisher),
        Kind.LOCAL: lambda: world.publish_local(publisher),
        Kind.PLACED: lambda: world.publish(publisher, cluster(DEVICES)[publisher]),
    }
    return ways[kind]()


def _events_up(world: RadioWorld) -> int:
    """Bytes of events that clients have sent to the broker."""
    return int(world.system.cellular.up[Traffic.EVENTS].sum())
