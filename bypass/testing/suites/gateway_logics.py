"""The suite for gateway logics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.mechanisms.families import GATEWAY_LOGIC, Family
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.radio import RadioWorld, cluster

PROXY = "gateway-logic"


class GatewayLogicSuite(MechanismSuite):
    """Those whom a gateway serves hear each event that the broker has sent to it, once."""

    family: ClassVar[Family] = GATEWAY_LOGIC

    def served(self, clients: int, seed: int = 1) -> RadioWorld:
        """Clients close together, of whom the broker makes some gateways."""
        begin: dict[str, tuple[str, Mapping[str, Any]]] = {
            "mode": ("gateway", {}),
            "gateway": ("unicast", {}),  # others hear what was not for them
            PROXY: (self.name, self.parameters),
        }
        world = RadioWorld(cluster(clients), begin, self.brought, seed)
        world.plan("gateway-selection", "dkc-leach")
        return world

    def test_everybody_hears_once(self) -> None:
        def hears(clients: int, publishers: list[int], seed: int) -> None:
            world = self.served(clients, seed)
            for publisher in publishers:
                _assert_heard(world, publisher % clients)

        self.for_all(
            hears,
            clients=st.integers(2, 7),
            publishers=st.lists(st.integers(0, 6), min_size=1, max_size=3),
            seed=st.integers(0, 99),
        )

    def test_who_leaves_is_not_needed(self) -> None:
        world = self.served(6)
        for leaver in (1, 4, 2):
            world.leave(leaver)
            world.run()
            _assert_heard(world, 0)

    def test_it_can_be_exchanged(self) -> None:
        """Gateways go to another logic and back, and everybody hears as before."""
        for other in self.others:
            world = self.served(5)
            for name in (other, self.name):
                for client in range(5):
                    record = world.change(client, PROXY, name)
                    assert record.outcome == "done", f"to {name}: {record.outcome} {record.error}"
                _assert_heard(world, 0)


def _assert_heard(world: RadioWorld, publisher: int) -> None:
    event = world.publish(publisher)
    world.run()
    expected = [n for n in range(len(world.system.clients)) if n != publisher and n not in world.gone]
    heard = world.heard(event)
    assert heard == expected, f"event of {publisher}: heard by {heard}, expected {expected}"
