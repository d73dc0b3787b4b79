"""The suite for local transports."""

from __future__ import annotations

from contextlib import closing
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.mechanisms import Registry
from bypass.mechanisms.families import TRANSPORT, Family
from bypass.mechanisms.transports import Wifi
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.datagrams import DatagramWorld
from bypass.testing.worlds.radio import RadioWorld

DEVICES = 4
PLACES = [(500.0 + 3.0 * n, 500.0) for n in range(DEVICES)]
"""Near enough for every radio."""


class TransportSuite(MechanismSuite):
    """Devices with the same transport hear each other, and its radio is on only while it is used."""

    family: ClassVar[Family] = TRANSPORT

    def devices(self, seed: int = 1) -> RadioWorld:
        """Devices close together that have this transport."""
        begin = {
            "transport": (self.name, self.parameters),
            "mode": ("ad-hoc", {}),
            "direct": ("broadcast", {}),
        }
        return RadioWorld(PLACES, begin, self.brought, seed)

    def test_devices_nearby_hear_each_other(self) -> None:
        def hear(publisher: int, seed: int) -> None:
            world = self.devices(seed)
            event = world.publish(publisher)
            world.run()
            expected = [n for n in range(DEVICES) if n != publisher]
            assert world.heard(event) == expected, f"heard by {world.heard(event)}, expected {expected}"

        self.for_all(hear, publisher=st.integers(0, DEVICES - 1), seed=st.integers(0, 99))

    def test_devices_nearby_hear_each_other_live_as_well(self) -> None:
        """Over UDP, if it is by `wifi`: a local network has no other radio."""
        if self.kind.radio != Wifi.radio:
            return
        begin: dict[str, tuple[str, dict[str, Any]]] = {
            "transport": (self.name, self.parameters),
            "mode": ("ad-hoc", {}),
            "direct": ("broadcast", {}),
        }
        with closing(DatagramWorld(DEVICES, begin, self.brought)) as world:
            for publisher in range(DEVICES):
                world.until_heard(world.publish(publisher), [n for n in range(DEVICES) if n != publisher])

    def test_who_has_another_one_hears_nothing(self) -> None:
        """Nor is its own radio on any more."""
        for other in self.others:
            if Registry().kinds(TRANSPORT)[other].radio != self.kind.radio:
                world = self.devices()
                world.change(0, "transport", other)
                world.run()
                event = world.publish(1)
                world.run()
                assert world.heard(event) == [2, 3], f"heard by {world.heard(event)}, 0 has {other}"

    def test_it_can_be_exchanged(self) -> None:
        """All go to another transport and back, and hear each other there and here."""
        for other in self.others:
            world = self.devices()
            for name in (other, self.name):
                for client in range(DEVICES):
                    record = world.change(client, "transport", name)
                    assert record.outcome == "done", f"to {name}: {record.outcome} {record.error}"
                world.run()
                event = world.publish(1)
                world.run()
                assert world.heard(event) == [0, 2, 3], f"after a transition to {name}: {world.heard(event)}"
