"""A plan exchanges each choice of an edge while it works, and the edge goes on as before."""

from __future__ import annotations

import pytest

from bypass.mechanisms import Registry
from bypass.mechanisms.families import (
    CACHE,
    CAPACITIES,
    CELL_MAP,
    INSERTION,
    PARTITION,
    PROVISIONING,
    RANKING,
    SLOTS,
)
from bypass.transitions import Plan
from tests.mechanisms.storage.infra.service_world import ServiceWorld
from tests.mechanisms.storage.infra.test_infra_service import FAST, make_popular, of

CHOICES = [
    (family.proxies[0].name, kind)
    for family in (CACHE, CAPACITIES, CELL_MAP, INSERTION, PARTITION, PROVISIONING, RANKING, SLOTS)
    for kind in Registry().kinds(family)
]


@pytest.mark.parametrize(("proxy", "kind"), CHOICES)
def test_a_choice_is_exchanged_while_the_edge_keeps_and_fetches_items(proxy: str, kind: str) -> None:
    world = ServiceWorld(2, FAST)
    edge, service = world.edges[100], world.edges[100].service
    client = edge.add_client(1)
    early, late = [of(edge, number) for number in range(5)], of(edge, "late")
    make_popular(edge, client, *early)
    records = service.execute(Plan.from_data({"plan": "p", "actions": [{"proxy": proxy, "to": kind}]}))
    assert records
    assert {(each.proxy, each.target) for each in records} == {(proxy, kind)}
    assert {each.outcome for each in records} <= {"done", "skipped"}  # what it runs already
    assert {each.key for each in service.caches.local} == {each.key for each in early}
    make_popular(edge, client, late)
    assert {each.key for each in service.caches.local} == {each.key for each in (*early, late)}
