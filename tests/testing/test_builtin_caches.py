"""The built-in caches, partitions and insertions pass the suites that others' are tested with."""

from __future__ import annotations

from typing import Any

import pytest

from bypass.mechanisms import Registry
from bypass.mechanisms.families import CACHE, INSERTION, PARTITION
from bypass.testing import CacheSuite, InsertionSuite, PartitionSuite
from tests.testing.catching import failures

CACHES: dict[str, dict[str, Any]] = {
    "w-tiny-lfu": {"seeded": True, "resists_scans": True},
    "lru": {},
    "lfu": {"resists_scans": True},
    "fifo": {},
    "s3-fifo": {"resists_scans": True},
    "random-2-lru": {"seeded": True},
    "edge-buffer": {"resists_scans": True, "refuses": True},
}
PARTITIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "amc": ({"limit": 2}, {}),
    "bounded-amc": ({"limit": 2, "least": 4}, {"least": 4}),
    "flat": ({}, {}),
}


@pytest.mark.parametrize("name", Registry().kinds(CACHE))
def test_a_cache_that_is_built_in_passes(name: str) -> None:
    members = {"mechanism": name, "capabilities": CACHES[name], "examples": 10}
    assert failures(type("Builtin", (CacheSuite,), members)) == {}


@pytest.mark.parametrize("name", Registry().kinds(PARTITION))
def test_a_partition_that_is_built_in_passes(name: str) -> None:
    parameters, capabilities = PARTITIONS[name]
    members = {"mechanism": name, "parameters": parameters, "capabilities": capabilities}
    assert failures(type("Builtin", (PartitionSuite,), members)) == {}


@pytest.mark.parametrize("name", Registry().kinds(INSERTION))
def test_an_insertion_that_is_built_in_passes(name: str) -> None:
    assert failures(type("Builtin", (InsertionSuite,), {"mechanism": name})) == {}
