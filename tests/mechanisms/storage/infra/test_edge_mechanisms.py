"""The mechanisms of an edge by name, also those of one's own."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import pytest

from bypass.mechanisms import Registry
from bypass.mechanisms.families import CACHE, INSERTION, PARTITION, PROVISIONING, RANKING
from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.mechanisms import EdgeMechanisms, create_proxies
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.transitions import Action, Plan, TransitionFailed, UnknownMechanism
from tests.mechanisms.storage.infra.edge_world import EdgeWorld, counted, item

FAMILIES = {
    "eviction": CACHE,
    "partition": PARTITION,
    "insertion": INSERTION,
    "ranking": RANKING,
    "provisioning": PROVISIONING,
}

OWN = """
from bypass.mechanisms.storage.infra.edge.policies.peer_provisioning import ProvisioningMechanism
from bypass.mechanisms.storage.infra.edge.policies.ranking import RankingMechanism


class Latest(RankingMechanism):
    def choose(self, known, cycle, active_window, limit):
        return [key for key, _ in known][-limit:]


class Silent(ProvisioningMechanism):
    def choose(self, request):
        return []
"""

COMBINATIONS = list(zip_longest(*(Registry().kinds(family) for family in FAMILIES.values())))
"""So many that each mechanism is in one of them; None: the first one."""


@pytest.mark.parametrize("names", COMBINATIONS)
def test_each_mechanism_can_be_named(names: tuple[str | None, ...]) -> None:
    chosen = EdgeMechanisms(
        **{  # type: ignore[arg-type]
            field: name for field, name in zip(FAMILIES, names, strict=True) if name is not None
        }
    )
    world = EdgeWorld()
    proxies = create_proxies(world.workshop, chosen)
    for proxy in ("insertion", "ranking", "provisioning"):
        assert proxies.engine.active(proxy).name == getattr(chosen, proxy)
    caches = EdgeCaches(world.workshop, lambda _: False, eviction=chosen.eviction, partition=chosen.partition)
    for _ in range(3):
        caches.insert_local([item(number) for number in range(150)])
    assert len(caches.local) == 100
    assert len(caches.local.tagged("w", "a")) == 100


def test_parameters_and_what_is_not_there() -> None:
    workshop = EdgeWorld().workshop
    made = create_proxies(workshop, EdgeMechanisms(ranking="decayed"), {"ranking": {"half_life": 2.0}})
    assert made.engine.active("ranking").settings() == {"half_life": 2.0}
    with pytest.raises(
        UnknownMechanism, match="'ranking' has no mechanism 'best'; it has: popular, everything"
    ):
        create_proxies(workshop, EdgeMechanisms(ranking="best"))
    with pytest.raises(TransitionFailed, match="half_life"):
        create_proxies(workshop, EdgeMechanisms(ranking="decayed"), {"ranking": {"half_life": 0.0}})


def test_mechanisms_of_ones_own_are_brought_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    registry = Registry([f"{tmp_path}/own.py:Latest", f"{tmp_path}/own.py:Silent"])
    workshop = EdgeWorld().workshop._replace(registry=registry)
    proxies = create_proxies(workshop, EdgeMechanisms(ranking="latest"))
    plan = Plan(plan="p", actions=(Action(proxy="provisioning", to="silent"),))
    assert [record.outcome for record in proxies.engine.execute(plan)] == ["done"]
    known = PopularityTable()
    for name in "ab":
        known.add("w", counted(item(name)), 2)
    assert [key.object.name for key in proxies.ranking.choose(known, 2, 3, 1)] == ["b"]
