"""Each wrong cache, partition and insertion is caught by its suite, and by the test that is there for it."""

from __future__ import annotations

from typing import Any

import pytest

from bypass.mechanisms.caches.base import CacheMechanism
from bypass.mechanisms.caches.partition import CachePartition
from bypass.mechanisms.storage.infra.edge.policies.insertion import InsertionMechanism
from bypass.testing import CacheSuite, InsertionSuite, PartitionSuite
from tests.testing.catching import failures
from tests.testing.wrong_caches import (
    BeginsAnew,
    DecidesFirst,
    Dice,
    EvictsSilently,
    FirstServed,
    Ignorant,
    KeepsOut,
    NeverInserts,
    OldTags,
    RoundsUp,
)


@pytest.mark.parametrize(
    ("mechanism", "capabilities", "test", "problem"),
    [
        (
            EvictsSilently,
            {},
            "test_it_has_what_was_put_and_neither_removed_nor_evicted",
            "no listener was told",
        ),
        (OldTags, {}, "test_it_has_what_was_put_and_neither_removed_nor_evicted", "tags"),
        (BeginsAnew, {}, "test_it_can_be_exchanged", ""),
        (Dice, {}, "test_the_same_calls_give_the_same_content", ""),  # which hypothesis may call flaky
        (KeepsOut, {}, "test_a_new_entry_is_there", "is not there"),
        (KeepsOut, {"refuses": True}, "test_a_new_entry_is_there", "is not there"),
        (
            Ignorant,
            {"resists_scans": True},
            "test_a_scan_does_not_evict_entries_that_are_used_often",
            "0 of 50 entries",
        ),
    ],
)
def test_a_wrong_cache_is_caught(
    mechanism: type[CacheMechanism], capabilities: dict[str, Any], test: str, problem: str
) -> None:
    suite = type("Wrong", (CacheSuite,), {"mechanism": mechanism, "capabilities": capabilities})
    assert problem in failures(suite, test)[test]


@pytest.mark.parametrize(
    ("mechanism", "capabilities", "test", "problem"),
    [
        (RoundsUp, {}, "test_sizes_fit_and_all_of_the_capacity_is_used", "expected at most 20"),
        (FirstServed, {}, "test_the_order_of_parts_does_not_matter", "in another order"),
        (FirstServed, {"least": 4}, "test_each_part_keeps_its_least", "have less than 4"),
    ],
)
def test_a_wrong_partition_is_caught(
    mechanism: type[CachePartition], capabilities: dict[str, Any], test: str, problem: str
) -> None:
    suite = type("Wrong", (PartitionSuite,), {"mechanism": mechanism, "capabilities": capabilities})
    assert problem in failures(suite, test)[test]


@pytest.mark.parametrize(
    ("mechanism", "test", "problem"),
    [
        (
            DecidesFirst,
            "test_batches_are_in_order_and_the_last_one_is_in_time",
            "expected the last one until",
        ),
        (NeverInserts, "test_batches_are_in_order_and_the_last_one_is_in_time", "no batch"),
    ],
)
def test_a_wrong_insertion_is_caught(mechanism: type[InsertionMechanism], test: str, problem: str) -> None:
    suite = type("Wrong", (InsertionSuite,), {"mechanism": mechanism})
    assert problem in failures(suite, test)[test]
