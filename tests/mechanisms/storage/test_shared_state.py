"""The digest of what all nodes share says what a node knows now, whatever it knew before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.shared_state import BUCKETS, SharedState, WithdrawnQueries
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import ObjectKey, Tombstone
from bypass.objects.query import ObjectQuery
from bypass.objects.tombstones import Tombstones
from tests.object_strategies import SECRET, queries

LIMIT = 3

asked = st.tuples(st.just("add"), queries, st.integers(0, 3))
withdrawn = st.tuples(st.just("withdraw"), queries)
expired = st.tuples(st.just("expire"), st.integers(-3, 12))
deleted = st.tuples(st.just("delete"), st.builds(ObjectKey, st.integers(1, 2), st.sampled_from("xyz")))
steps = st.lists(asked | asked | withdrawn | expired | deleted, max_size=30)


@pytest.fixture(autouse=True, scope="module")
def few_withdrawals() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WithdrawnQueries, "LIMIT", LIMIT)
        yield


def summed(state: SharedState) -> tuple[int, ...]:
    """The digest of what a node tells when it tells everything."""
    sums = [0] * BUCKETS
    for part in state.parts():
        for number in SharedState.hashes(part):
            sums[number % BUCKETS] ^= number
    return tuple(sums)


@given(steps)
@settings(deadline=None)
def test_the_digest_is_of_all_that_is_known_now(taken: list[tuple[Any, ...]]) -> None:
    state = SharedState(ObjectCatalogue(), tombstones := Tombstones())
    for kind, what, *when in taken:
        match kind, what:
            case "add", ObjectQuery():
                state.add(what, *when)
            case "withdraw", ObjectQuery():
                state.withdraw(what.id)
            case "expire", int():
                state.expire(what)
            case _, ObjectKey():
                tombstones.add(Tombstone(what, SECRET))
        assert state.digest().entries == summed(state)
