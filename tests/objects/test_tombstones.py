"""Tombstones are found by the key that they name, whatever has displaced others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bypass.objects.metadata import ObjectKey, Tombstone
from bypass.objects.tombstones import MOST_OWNERS, MOST_PER_OWNER, Tombstones

NAMES = ("a", "b", "c")


def marks(owners: range) -> st.SearchStrategy[Tombstone]:
    keys = st.builds(ObjectKey, st.sampled_from(owners), st.sampled_from(NAMES))
    return st.builds(Tombstone, keys, st.binary(min_size=1, max_size=1))


@given(st.lists(marks(range(3)), max_size=40), st.sampled_from((0, MOST_PER_OWNER - 2)))
def test_those_of_a_key_are_those_that_name_it(added: list[Tombstone], before: int) -> None:
    """Also of an owner that has as many as there can be."""
    known = Tombstones()
    for each in added[: len(added) // 2]:
        known.add(each)
    for n in range(before):
        known.add(Tombstone(ObjectKey(0, str(n)), b"x"))
    for each in added:
        known.add(each)
    for key in {each.key for each in added}:
        named = [each for each in known if each.key == key]
        assert known.of(key) == named
        assert known.names(key) == bool(named)


def test_an_owner_that_goes_takes_all_of_its_tombstones_along() -> None:
    known = Tombstones()
    first = [Tombstone(ObjectKey(0, name), b"x") for name in NAMES]
    for each in first:
        known.add(each)
    for owner in range(1, MOST_OWNERS + 1):
        known.add(Tombstone(ObjectKey(owner, "a"), b"x"))
    assert not any(known.names(each.key) or known.of(each.key) for each in first)
    assert len(known) == MOST_OWNERS
