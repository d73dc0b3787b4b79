"""Datagrams of a group: only members are heard, and each datagram once."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.live.adhoc.datagrams import (
    BOUND_S,
    FURTHEST_US,
    MOST_BYTES,
    MOST_CONTENT,
    MOST_SENDERS,
    WINDOW,
    DatagramGroup,
    InvalidGroupKey,
    Refusal,
)

KEY = bytes(range(32))


def pair() -> tuple[DatagramGroup, DatagramGroup]:
    return DatagramGroup(KEY, 1), DatagramGroup(KEY, 2)


@given(st.binary(max_size=MOST_CONTENT))
def test_members_hear_each_other_once(content: bytes) -> None:
    here, there = pair()
    data = here.seal(content)
    assert len(data) <= MOST_BYTES
    assert there.open(data) == (1, content)
    assert there.open(data) is Refusal.REPEATED
    assert there.open(here.seal(content)) == (1, content)


def test_the_longest_content_fills_a_datagram() -> None:
    here, there = pair()
    data = here.seal(bytes(MOST_CONTENT))
    assert len(data) == MOST_BYTES
    assert there.open(data) == (1, bytes(MOST_CONTENT))
    assert there.open(data + b"\0") is Refusal.OVERSIZED


@given(st.binary(min_size=1, max_size=40), st.data())
def test_whatever_is_changed_is_noticed(content: bytes, data: st.DataObject) -> None:
    here, there = pair()
    sealed = here.seal(content)
    at = data.draw(st.integers(0, len(sealed) - 1))
    bit = data.draw(st.integers(0, 7))
    changed = bytearray(sealed)
    changed[at] ^= 1 << bit
    assert there.open(bytes(changed)) is (Refusal.VERSION if at == 0 else Refusal.UNAUTHENTIC)
    assert there.open(sealed) == (1, content)  # and the right one is still taken


@given(st.binary(max_size=40), st.integers(1, 70))
def test_what_is_cut_off_is_noticed(content: bytes, missing: int) -> None:
    here, there = pair()
    sealed = here.seal(content)
    shorter = there.open(sealed[:-missing])
    assert shorter is (Refusal.TRUNCATED if missing > len(content) else Refusal.UNAUTHENTIC)


@given(st.binary(max_size=MOST_BYTES))
def test_noise_is_refused(noise: bytes) -> None:
    assert isinstance(DatagramGroup(KEY, 1).open(noise), Refusal)


def test_other_groups_are_not_heard() -> None:
    assert DatagramGroup(KEY, 2).open(DatagramGroup(KEY[::-1], 1).seal(b"hello")) is Refusal.UNAUTHENTIC


def test_who_is_not_a_member_cannot_make_a_sender_unheard() -> None:
    here, there = pair()
    foreign = bytearray(here.seal(b"one"))
    foreign[5:13] = b"\xff" * 8  # the highest counter of all
    assert there.open(bytes(foreign)) is Refusal.UNAUTHENTIC
    assert there.open(here.seal(b"two")) == (1, b"two")


def test_own_datagrams_are_known() -> None:
    here, _ = pair()
    assert here.open(here.seal(b"echo")) is Refusal.OWN


@pytest.mark.parametrize("length", [0, 15, 65])
def test_keys_of_other_lengths_are_refused(length: int) -> None:
    with pytest.raises(InvalidGroupKey, match=f"group key of {length} bytes: expected 16 to 64"):
        DatagramGroup(bytes(length), 1)


# -- repetitions ------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3 * WINDOW), min_size=1, max_size=60))
def test_each_counter_is_taken_once_and_in_any_order_within_the_window(order: list[int]) -> None:
    """Against a memory of everything."""
    here, there = pair()
    sealed = [here.seal(bytes([n])) for n in range(3 * WINDOW + 1)]
    heard: set[int] = set()
    for n in order:
        is_new = n not in heard and (not heard or n > max(heard) - WINDOW)
        assert there.open(sealed[n]) == ((1, bytes([n])) if is_new else Refusal.REPEATED)
        if is_new:
            heard.add(n)


def test_senders_are_apart() -> None:
    first, second, third = (DatagramGroup(KEY, number) for number in (1, 2, 3))
    ours = [first.seal(b"a"), first.seal(b"b")]
    for _ in range(200):
        assert third.open(second.seal(b"")) == (2, b"")
    assert third.open(ours[1]) == (1, b"b")
    assert third.open(ours[0]) == (1, b"a")
    assert third.open(ours[0]) is Refusal.REPEATED


def test_who_starts_anew_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    there = DatagramGroup(KEY, 2)
    before = DatagramGroup(KEY, 1)
    for _ in range(1000):
        assert there.open(before.seal(b"")) == (1, b"")
    now += 1_000_000_000
    assert there.open(DatagramGroup(KEY, 1).seal(b"again")) == (1, b"again")


def test_who_sets_its_clock_back_is_heard_when_it_has_been_put_right(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    there = DatagramGroup(KEY, 2)
    assert there.open(DatagramGroup(KEY, 1).seal(b"")) == (1, b"")
    now -= 60_000_000_000
    assert there.open(DatagramGroup(KEY, 1).seal(b"")) is Refusal.REPEATED
    now += 61_000_000_000
    assert there.open(DatagramGroup(KEY, 1).seal(b"")) == (1, b"")


def test_senders_that_are_remembered_are_limited() -> None:
    """Who has not been heard for longest is forgotten first; then it can be repeated, as is documented."""
    there = DatagramGroup(KEY, 0)
    first, second = DatagramGroup(KEY, 1), DatagramGroup(KEY, 2)
    of_first, of_second = first.seal(b"1"), second.seal(b"2")
    assert there.open(of_first) == (1, b"1")
    assert there.open(of_second) == (2, b"2")
    assert there.open(first.seal(b"")) == (1, b"")  # the second is the oldest now
    for number in range(3, MOST_SENDERS + 2):
        assert there.open(DatagramGroup(KEY, number).seal(b"")) == (number, b"")
    assert there.open(of_first) is Refusal.REPEATED
    assert there.open(of_second) == (2, b"2")


def test_a_number_belongs_to_the_address_that_it_is_heard_from() -> None:
    now = 0.0
    here, impostor, there = DatagramGroup(KEY, 1), DatagramGroup(KEY, 1), DatagramGroup(KEY, 2, lambda: now)
    assert there.open(here.seal(b"a"), (0, 7)) == (1, b"a")
    assert there.open(impostor.seal(b"b"), (0, 8)) is Refusal.IMPOSTOR
    assert there.open(here.seal(b"c"), (1, 9)) == (1, b"c")  # in another network it has another address
    assert there.open(here.seal(b"d"), (0, 7)) == (1, b"d")
    now += BOUND_S
    moved = here.seal(b"e")
    assert there.open(moved, (0, 8)) == (1, b"e")
    assert there.open(here.seal(b"f"), (0, 7)) is Refusal.IMPOSTOR


def test_nobody_can_push_the_counter_of_another_to_its_end() -> None:
    here, forger, there = DatagramGroup(KEY, 1), DatagramGroup(KEY, 1), DatagramGroup(KEY, 2)
    assert there.open(here.seal(b"a")) == (1, b"a")
    forger._counter += 2 * FURTHEST_US
    assert there.open(forger.seal(b"b")) is Refusal.LEAP
    assert there.open(here.seal(b"c")) == (1, b"c")
