"""The rankings and provisionings of edges pass their suites, which catch each wrong one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from bypass.mechanisms import Registry
from bypass.mechanisms.families import PROVISIONING, RANKING
from bypass.mechanisms.storage.infra.edge.policies.overflow import Overflow
from bypass.mechanisms.storage.infra.edge.policies.peer_provisioning import ByNeeds, ProvisioningMechanism
from bypass.mechanisms.storage.infra.edge.policies.ranking import Everything, Popular, RankingMechanism
from bypass.ports.caches import KnownItems, PeerRequest
from bypass.protocol.edge import Item, ItemKey
from bypass.testing import ProvisioningSuite, RankingSuite
from tests.testing.catching import failures


@pytest.mark.parametrize("name", Registry().kinds(RANKING))
def test_a_ranking_that_is_built_in_passes(name: str) -> None:
    members = {"mechanism": name, "capabilities": {"bounded": name != "everything"}}
    assert failures(type("Builtin", (RankingSuite,), members)) == {}


@pytest.mark.parametrize("name", Registry().kinds(PROVISIONING))
def test_a_provisioning_that_is_built_in_passes(name: str) -> None:
    assert failures(type("Builtin", (ProvisioningSuite,), {"mechanism": name})) == {}


class Boundless(Everything):
    """Says that it is bounded, and is not."""


class Remembers(Popular):
    """Chooses what it once knew."""

    def __init__(self, *args: object, **values: object) -> None:
        super().__init__(*args, **values)
        self.seen: dict[ItemKey, None] = {}

    def choose(self, known: KnownItems, cycle: int, active_window: int, limit: int) -> list[ItemKey]:
        self.seen |= dict.fromkeys(key for key, _ in known)
        return [*self.seen][:limit]


class Declines(RankingMechanism):
    """Never chooses anything."""

    def choose(self, known: KnownItems, cycle: int, active_window: int, limit: int) -> list[ItemKey]:
        return []


@pytest.mark.parametrize(
    ("mechanism", "test", "problem"),
    [
        (Boundless, "test_chosen_items_are_known_and_within_the_limit", "are not active"),
        (Remembers, "test_items_that_are_forgotten_are_not_chosen", "expected it to be forgotten"),
        (Declines, "test_an_item_alone_is_chosen", ""),
    ],
)
def test_a_wrong_ranking_is_caught(mechanism: type[RankingMechanism], test: str, problem: str) -> None:
    suite = type("Wrong", (RankingSuite,), {"mechanism": mechanism})
    assert problem in failures(suite, test)[test]


class Generous(ByNeeds):
    """Sends all that there is."""

    def choose(self, request: PeerRequest) -> Sequence[Item]:
        return request.popular()


class Stingy(ProvisioningMechanism):
    """Sends nothing."""

    def choose(self, request: PeerRequest) -> Sequence[Item]:
        return []


class Resurrects(Overflow):
    """Sends what was deleted while it waited."""

    def discard(self, is_meant: Callable[[Item], bool]) -> None:
        pass


class Forgetful(Overflow):
    """Does not know who was given items before it was there."""

    def start(self) -> None:
        super().start()
        self.holders.clear()


@pytest.mark.parametrize(
    ("mechanism", "test", "problem"),
    [
        (Generous, "test_chosen_items_are_there_and_fit", "at most"),
        (
            Stingy,
            "test_subscriptions_are_served_where_nothing_else_asks_for_room",
            "expected all of the room",
        ),
        (Resurrects, "test_chosen_items_are_there_and_fit", "expected items that are here"),
        (Forgetful, "test_it_can_be_exchanged", "holders {}"),
    ],
)
def test_a_wrong_provisioning_is_caught(
    mechanism: type[ProvisioningMechanism], test: str, problem: str
) -> None:
    suite = type("Wrong", (ProvisioningSuite,), {"mechanism": mechanism})
    assert problem in failures(suite, test)[test]
