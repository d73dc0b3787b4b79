"""The sketch: what it counts, how it ages, and what is left of it in another size."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from bypass.mechanisms.caches.keys import encoded_key, key_digest
from bypass.mechanisms.caches.sketch import FrequencySketch
from bypass.ports.caches import CacheKey

DIGESTS: dict[CacheKey, int] = {
    0: 12901799172319015802,
    "": 16027976456189790694,
    "beach": 14861230858322031722,
    b"beach": 408097755374437840,
    ("beach", 7): 15121507636640179464,
}

keys = st.recursive(
    st.integers() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@given(one=keys, other=keys)
def test_different_keys_are_written_differently(one: CacheKey, other: CacheKey) -> None:
    assert (encoded_key(one) == encoded_key(other)) is (one == other)


def test_digests_are_these_for_ever() -> None:
    """A sketch that moves to another process is of use there."""
    assert {key: key_digest(key) for key in DIGESTS} == DIGESTS


@given(uses=st.lists(st.integers(0, 40), max_size=300), seed=st.integers(0, 2**64 - 1))
def test_a_count_is_never_too_low(uses: list[int], seed: int) -> None:
    sketch, exact = FrequencySketch(50, seed), Counter(uses)
    for key in uses:
        sketch.add(key_digest(key))
    for key, count in exact.items():
        assert sketch.count(key_digest(key)) >= min(count, 15)


def test_counts_are_exact_while_keys_are_few() -> None:
    sketch = FrequencySketch(100, seed=3)
    for key in range(100):
        sketch.add(key_digest(key), key % 8)
    assert [sketch.count(key_digest(key)) for key in range(100)] == [key % 8 for key in range(100)]
    assert [sketch.count(key_digest(f"never {n}")) for n in range(5)] == [0] * 5


def test_counts_are_halved_after_ten_uses_for_each_entry() -> None:
    sketch = FrequencySketch(10)
    for _ in range(12):
        sketch.add(key_digest("often"))
    for number in range(87):
        sketch.add(key_digest(number))
    assert sketch.count(key_digest("often")) == 12
    sketch.add(key_digest("one more"))
    assert sketch.count(key_digest("often")) == 6


@given(uses=st.lists(st.integers(0, 40), max_size=100), capacity=st.integers(1, 3000))
def test_another_size_forgets_nothing(uses: list[int], capacity: int) -> None:
    sketch = FrequencySketch(200, seed=5)
    for key in uses:
        sketch.add(key_digest(key))
    before = {key: sketch.count(key_digest(key)) for key in uses}
    other = deepcopy(sketch)
    other.resize(capacity)
    for key, count in before.items():
        assert other.count(key_digest(key)) >= count


def test_a_wider_sketch_gives_the_same_counts() -> None:
    sketch = FrequencySketch(100, seed=9)
    for key in range(300):
        sketch.add(key_digest(key), key % 4)
    wide = deepcopy(sketch)
    wide.resize(1600)
    assert [wide.count(key_digest(key)) for key in range(900)] == [
        sketch.count(key_digest(key)) for key in range(900)
    ]
