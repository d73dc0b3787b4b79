"""The suite of caches: promises that each eviction mechanism keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.mechanisms.caches.lru import Lru
from bypass.mechanisms.families import CACHE, Family
from bypass.ports.caches import CacheKey
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.caches import CacheWorld
from bypass.transitions import TransitionFailed

CAPACITY = 5
MOST_BYTES = 20

KEYS: list[CacheKey] = [*range(6), "", "a", "b", b"a", (1, "a"), (("x",), 2)]
TAGS: list[CacheKey] = ["beach", "sunset", ("world", "beach")]

Call = tuple[Any, ...]


class FailsToStart(Lru):
    """Fails after it has taken over everything."""

    def start(self) -> None:
        super().start()
        raise RuntimeError("does not start")


class CacheSuite(MechanismSuite):
    """A cache has what was put into it, until it is removed or listeners are told of its eviction; it keeps
    its bounds, and loses nothing when mechanisms are exchanged.

    One that is `seeded` may decide by random numbers of its host, others are the same whatever these are. One
    that `resists_scans` keeps entries that are used often while many others are used once. One that `refuses`
    may keep a new entry out while it is full, until that was put often enough.
    """

    family: ClassVar[Family] = CACHE
    defaults: ClassVar[Mapping[str, Any]] = {"seeded": False, "resists_scans": False, "refuses": False}

    def cache(self, seed: int = 1, **values: Any) -> CacheWorld:
        """A cache of a few entries that runs this mechanism."""
        return CacheWorld(
            self.name,
            {**self.parameters, "capacity": CAPACITY, **values},
            (*self.brought, FailsToStart),
            seed,
        )

    # -- content ------------------------------------------------------------------------------------------

    def test_it_has_what_was_put_and_neither_removed_nor_evicted(self) -> None:
        """With the index of tags, after each call; values and sizes are those of the last insertion."""

        def has(calls: list[Call]) -> None:
            world = self.cache()
            for call in calls:
                _do(world, [call])
                world.check()

        self.for_all(has, calls=_calls())

    def test_it_keeps_its_bounds_in_bytes(self) -> None:
        """An entry larger than the whole cache is refused, and the older one of its key is gone."""

        def keeps(calls: list[Call]) -> None:
            world = self.cache(most_bytes=MOST_BYTES)
            for call in calls:
                _do(world, [call])
                world.check()

        self.for_all(keeps, calls=_calls())

    def test_nothing_is_evicted_while_there_is_room(self) -> None:
        def stays(calls: list[Call]) -> None:
            world = self.cache(capacity=len(KEYS))
            _do(world, calls)
            world.check()
            assert not world.evicted, f"{world.evicted} were evicted though there was room"

        self.for_all(stays, calls=_calls())

    def test_a_new_entry_is_there(self) -> None:
        """The entry that was put last is there, and no more than needed went for it. One that is refused
        leaves everything as it was."""

        def there(calls: list[Call], key: CacheKey) -> None:
            world = self.cache()
            _do(world, calls)
            world.remove(key)
            before, told = len(world.known), len(world.evicted)
            world.put(key)
            for _ in range(len(calls) if self.capability("refuses") else 0):
                if world.cache.find(key) is not None:
                    break
                assert before == CAPACITY, f"{key!r} was refused though there was room"
                assert world.evicted[told:] == [], (
                    f"{world.evicted[told:]} went for {key!r}, which is refused"
                )
                world.put(key)
            assert world.cache.find(key) is not None, f"{key!r} was put, and is not there"
            gone = len(world.evicted) - told
            assert gone == (before == CAPACITY), f"{gone} entries of {before} were evicted for one"

        self.for_all(there, calls=_calls(), key=st.sampled_from(KEYS))

    # -- other bounds -------------------------------------------------------------------------------------

    def test_it_can_be_resized(self) -> None:
        """A smaller bound evicts as many as it must, a larger one nothing."""

        def resized(calls: list[Call], capacity: int, most_bytes: int | None) -> None:
            world = self.cache()
            _do(world, calls)
            before = len(world.known)
            world.change(self.name, capacity=capacity)
            world.check()
            left = min(before, capacity)
            assert len(world.known) == left, (
                f"{len(world.known)} of {before} entries are left: expected {left}"
            )
            world.change(self.name, most_bytes=most_bytes)
            world.check()
            _do(world, calls)
            world.check()

        self.for_all(
            resized,
            calls=_calls(),
            capacity=st.integers(1, 2 * CAPACITY),
            most_bytes=st.none() | st.integers(1, MOST_BYTES),
        )

    # -- the same again -----------------------------------------------------------------------------------

    def test_the_same_calls_give_the_same_content(self) -> None:
        def same(calls: list[Call], seed: int) -> None:
            one, another = self.cache(seed), self.cache(seed)
            for world in (one, another):
                _do(world, calls)
            assert one.evicted == another.evicted, f"evicted {one.evicted}, then {another.evicted}"
            if not self.capability("seeded"):
                other = self.cache(seed + 1)
                _do(other, calls)
                assert one.evicted == other.evicted, f"another seed evicts {other.evicted}, not {one.evicted}"

        self.for_all(same, calls=_calls(), seed=st.integers(0, 99))

    # -- transitions --------------------------------------------------------------------------------------

    def test_it_can_be_exchanged(self) -> None:
        """Each mechanism takes over from this one, and hands over to it, with the bounds: nothing is lost,
        and listeners are told as before."""

        def exchanged(calls: list[Call], other: str, most_bytes: int | None) -> None:
            world = self.cache(most_bytes=most_bytes)
            _do(world, calls)
            for name in (other, self.name):
                before, told = {*world.known}, len(world.evicted)
                world.change(name)
                assert world.evicted[told:] == [], f"to {name}: {world.evicted[told:]} were evicted"
                assert {*world.cache.keys()} == before, f"to {name}: not all is there"
                bounds = world.settings_now()
                assert bounds["capacity"] == CAPACITY, f"to {name}: capacity {bounds['capacity']}"
                assert bounds["most_bytes"] == most_bytes, f"to {name}: {bounds['most_bytes']} bytes"
                for call in calls:
                    _do(world, [call])
                    world.check()

        self.for_all(
            exchanged,
            calls=_calls(),
            other=st.sampled_from(self.others),
            most_bytes=st.none() | st.just(MOST_BYTES),
        )

    def test_a_smaller_one_can_take_over(self) -> None:
        """Bounds that a plan sets with the exchange hold right after it."""

        def smaller(calls: list[Call], other: str, capacity: int) -> None:
            for first, second in ((self.name, other), (other, self.name)):
                world = self.cache()
                if first != self.name:
                    world.change(first)
                _do(world, calls)
                before = len(world.known)
                world.change(second, capacity=capacity)
                world.check()
                left = min(before, capacity)
                assert len(world.known) == left, (
                    f"to {second}: {len(world.known)} of {before} entries are left"
                )
                _do(world, calls)
                world.check()

        self.for_all(
            smaller,
            calls=_calls(),
            other=st.sampled_from(self.others),
            capacity=st.integers(1, 2 * CAPACITY),
        )

    def test_a_transition_that_fails_changes_nothing(self) -> None:
        def goes_on(calls: list[Call], capacity: int) -> None:
            world, twin = self.cache(), self.cache()
            for each in (world, twin):
                _do(each, calls)
            try:
                world.change(FailsToStart.name, capacity=capacity)
            except TransitionFailed:
                pass
            else:
                raise AssertionError("the transition did not fail")
            for each in (world, twin):
                each.clock.run_until(each.clock.now_us + 1_000_000)
                each.check()
                _do(each, calls)
                each.check()
            assert world.evicted == twin.evicted, (
                f"evicted {world.evicted}, without the attempt {twin.evicted}"
            )

        self.for_all(goes_on, calls=_calls(), capacity=st.integers(1, CAPACITY))

    # -- what is promised of its choice -------------------------------------------------------------------

    def test_a_scan_does_not_evict_entries_that_are_used_often(self) -> None:
        """Of 50 entries that were used ten times, nine tenths stay in a cache of 100 through 1,000 others."""
        if not self.capability("resists_scans"):
            return
        world = self.cache(capacity=100)
        often = [f"often {number}" for number in range(50)]
        for key in often:
            world.put(key)
        for _ in range(9):
            for key in often:
                world.get(key)
        for number in range(1000):
            world.put(number)
        left = sum(world.cache.find(key) is not None for key in often)
        assert left >= 45, f"{left} of 50 entries that are used often are left"


def _calls() -> st.SearchStrategy[list[Call]]:
    """Calls of a cache, about a dozen keys."""
    key = st.sampled_from(KEYS)
    tags = st.lists(st.sampled_from(TAGS), max_size=2)
    put = st.tuples(st.just("put"), key, st.integers(0, MOST_BYTES + 3), tags)
    get, remove = (st.tuples(st.just(name), key) for name in ("get", "remove"))
    return st.lists(put | put | put | put | get | get | remove, min_size=10, max_size=40)


def _do(world: CacheWorld, calls: Iterable[Call]) -> None:
    for name, *arguments in calls:
        getattr(world, name)(*arguments)
