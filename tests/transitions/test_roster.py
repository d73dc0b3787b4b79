"""A roster behaves like the set it stands for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bypass.transitions.engine.roster import Roster

members = st.frozensets(st.integers(0, 8))


@given(st.lists(st.integers(0, 8)), st.lists(st.tuples(st.booleans(), members)))
def test_plus_and_minus(now: list[int], changes: list[tuple[bool, frozenset[int]]]) -> None:
    roster, expected = Roster(now), frozenset(now)
    for add, some in changes:
        roster = roster.plus(some) if add else roster.minus(some)
        expected = expected | some if add else expected - some
    assert set(roster) == expected
    assert len(list(roster)) == len(expected)
    assert bool(roster) == bool(expected)
    assert all((member in roster) == (member in expected) for member in range(9))


def test_the_members_are_not_copied() -> None:
    now = {1: "one"}
    roster = Roster(now).minus(frozenset({1}))
    now[2] = "two"
    assert list(roster) == [2]
