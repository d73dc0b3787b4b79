"""The rankings of an edge: which items each chooses, and what moves when they are exchanged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.edge.policies.decayed import Decayed
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.ports.caches import RECENT_CYCLES, Ranking
from bypass.protocol.edge import ItemKey
from bypass.transitions import Engine
from tests.mechanisms.storage.infra.edge_world import EdgeWorld, counted, item


def ranking(name: str, **values: Any) -> tuple[Engine, Ranking]:
    world = EdgeWorld()
    engine = world.engine()
    made: Ranking = world.workshop.registry.create(engine, "edge", "ranking", name, set=values)
    return engine, made


def chosen(table: PopularityTable, name: str, cycle: int, limit: int, **values: Any) -> list[str]:
    """The names of what a ranking chooses, with an active window of 3."""
    return names(ranking(name, **values)[1].choose(table, cycle, 3, limit))


def names(keys: Any) -> list[str]:
    return [key.object.name for key in keys]


def table(*downloads: tuple[str, str, int, int]) -> PopularityTable:
    """Items by world, name, downloads, and the cycle in which they were reported."""
    found = PopularityTable()
    for world, name, count, cycle in downloads:
        found.add(world, counted(item(name, world=world), count), cycle)
    return found


# ---- popular, everything


def test_the_worlds_share_the_limit_by_their_downloads() -> None:
    """60 and 30 of 90 downloads, 6 items: 4 and 2, each world's most popular."""
    known = table(
        *[("w", f"w{number}", 15 - 5 * (number % 2), 7) for number in range(4)],
        ("w", "w4", 6, 7),
        ("w", "w5", 4, 7),
        *[("v", f"v{number}", 10 + number, 7) for number in range(-1, 2)],
    )
    assert chosen(known, "popular", 7, 6) == ["v1", "v0", "w0", "w2", "w1", "w3"]
    assert len(chosen(known, "everything", 7, 6)) == 9


def test_only_active_items_are_ranked() -> None:
    known = table(("w", "old", 100, 3), ("w", "edge", 5, 4), ("w", "new", 1, 7))
    assert chosen(known, "popular", 7, 100) == ["edge", "new"]
    assert chosen(known, "popular", 11, 100) == []


reported = st.lists(
    st.tuples(st.sampled_from("wvu"), st.sampled_from("abcdefgh"), st.integers(1, 20), st.integers(0, 9)),
    max_size=30,
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(reported, st.integers(0, 10), st.integers(0, 4), st.integers(1, 12))
def test_whatever_is_left_out_is_not_more_popular_than_another_one_of_its_world(
    drawn: list[tuple[str, str, int, int]], cycle: int, window: int, limit: int
) -> None:
    known = table(*drawn)
    found = ranking("popular")[1].choose(known, cycle, window, limit)
    for key, each in known:
        if 0 <= cycle - each.cycle <= window and key not in found:
            assert all(
                known.downloads(other) >= each.downloads for other in found if other.world == key.world
            )


# ---- the downloads of single cycles


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=15))
def test_downloads_are_known_by_the_cycles_in_which_they_were_reported(
    reports: list[tuple[int, int]],
) -> None:
    known, cycle, by_cycle = PopularityTable(), 0, [0] * 100
    for later, count in reports:
        cycle += later
        by_cycle[cycle] += count
        known.add("w", counted(item("x"), count), cycle)
    found = known.get(item("x").key)
    assert found is not None
    assert (found.downloads, found.cycle) == (sum(by_cycle), cycle)
    assert len(found.recent) <= RECENT_CYCLES
    expected = [by_cycle[cycle - age] if cycle >= age else 0 for age in range(RECENT_CYCLES)]
    assert [*found.recent, *[0] * RECENT_CYCLES][:RECENT_CYCLES] == expected


# ---- decayed


def test_an_item_that_was_wanted_long_ago_makes_room() -> None:
    """100 downloads 12 cycles ago weigh 1.6 at a half-life of two cycles, 20 new ones 20."""
    known = table(("w", "old", 100, 2), ("w", "old", 1, 14), ("w", "new", 20, 14))
    assert chosen(known, "popular", 14, 1) == ["old"]
    assert chosen(known, "decayed", 14, 1, half_life=2.0) == ["new"]
    assert chosen(known, "decayed", 14, 1, half_life=1000.0) == ["old"]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 30)), max_size=3), max_size=14),
    st.floats(0.5, 50.0),
)
def test_each_download_weighs_by_its_age(cycles: list[list[tuple[str, int]]], half_life: float) -> None:
    """Exactly, whatever its cycle, if it is asked each cycle; weights are never negative."""
    engine, made = ranking("decayed", half_life=half_life)
    known, reports = PopularityTable(), []
    for cycle, downloads in enumerate(cycles):
        for name, count in downloads:
            known.add("w", counted(item(name), count), cycle)
            reports.append((name, cycle, count))
        made.choose(known, cycle, 3, 10)
    last = len(cycles) - 1
    running = engine.active("ranking")
    assert isinstance(running, Decayed)
    for key, weight in running.weights.items():
        exact = sum(
            count * 0.5 ** ((last - at) / half_life) for name, at, count in reports if name == key.object.name
        )
        found = weight.weight * 0.5 ** ((last - weight.cycle) / half_life)
        assert weight.weight > 0
        assert found == pytest.approx(exact)


def test_decayed_downloads_move_to_another_mechanism_that_has_them() -> None:
    class Doubled(Decayed):
        """Another one with the same state."""

    known = table(("w", "a", 8, 2))
    engine, made = ranking("decayed", half_life=1.0)
    made.choose(known, 2, 3, 5)
    engine.register("ranking", Doubled)
    record = engine.transition("ranking", "doubled", set={"half_life": 1.0})
    assert record.moved == ("decayed downloads",)
    known.add("w", counted(item("a"), 1), 5)
    made.choose(known, 5, 3, 5)
    running = engine.active("ranking")
    assert isinstance(running, Decayed)
    assert [each.weight for each in running.weights.values()] == [2.0]  # 8 / 2 ** 3 + 1
    assert engine.transition("ranking", "popular").dropped == ("decayed downloads",)
    engine.transition("ranking", "decayed", set={"half_life": 1.0})
    made.choose(known, 5, 3, 5)
    running = engine.active("ranking")
    assert isinstance(running, Decayed)
    assert [each.weight for each in running.weights.values()] == [2.0]  # by the cycles that the edge knows


def test_items_that_the_edge_forgets_are_not_kept() -> None:
    known = table(("w", "a", 8, 2), ("w", "b", 8, 2))
    engine, made = ranking("decayed")
    made.choose(known, 2, 3, 5)
    known.forget(item("a").key)
    known.add("w", counted(item("c"), 1), 3)
    made.choose(known, 3, 3, 5)
    running = engine.active("ranking")
    assert isinstance(running, Decayed)
    assert names(running.weights) == ["b", "c"]
    known.forget(item("b").key)
    known.add("w", counted(item("b"), 1), 3)  # fewer downloads than before
    made.choose(known, 3, 3, 5)
    assert running.weights[item("b").key].weight == 1.0


# ---- clustered


def rising_and_falling(cycle: int) -> PopularityTable:
    """20 items whose downloads rise, and 20 whose downloads fall, of which the rising ones have more; the
    first four of those have the most."""
    known = PopularityTable()
    for number in range(20):
        rise, fall = (1, 2, 4, 8), (7, 3, 1, 1)
        for age in (3, 2, 1, 0):
            times = 10 if number < 4 else 1
            known.add("w", counted(item(f"rise {number:02}"), times * rise[3 - age]), cycle - age)
            known.add("w", counted(item(f"fall {number:02}"), 2 * fall[3 - age]), cycle - age)
    return known


def test_items_that_are_wanted_like_the_popular_ones_are_chosen() -> None:
    """By downloads alone, falling ones would be: each of them has 24, a rising one 15."""
    known = rising_and_falling(9)
    assert {name.split()[0] for name in chosen(known, "popular", 9, 24)[4:]} == {"fall"}
    found = chosen(known, "clustered", 9, 24, top=0.1, clusters=2)
    assert found == [f"rise {number:02}" for number in range(20)]
    assert len(chosen(known, "clustered", 9, 24, top=1.0)) == 24  # all are popular


@settings(derandomize=True, deadline=None, max_examples=60)
@given(reported, st.floats(0.05, 1.0), st.integers(2, 6), st.integers(1, 8), st.integers(1, 12))
def test_the_top_of_each_world_is_chosen_in_any_case(
    drawn: list[tuple[str, str, int, int]], top: float, pattern: int, clusters: int, limit: int
) -> None:
    known = table(*sorted(drawn, key=lambda each: each[3]))
    made = ranking("clustered", top=top, pattern=pattern, clusters=clusters)[1]
    found: list[ItemKey] = list(made.choose(known, 9, 9, limit))
    plain = list(ranking("popular")[1].choose(known, 9, 9, limit))
    worlds = {key.world for key in plain}
    for world in worlds:
        best = next(key for key in plain if key.world == world)
        assert next(key for key in found if key.world == world) == best
        assert sum(key.world == world for key in found) <= sum(key.world == world for key in plain)
    assert {*found} <= {key for key, _ in known}
    other = table(*sorted(drawn, key=lambda each: (each[3], each[1])))
    again = ranking("clustered", top=top, pattern=pattern, clusters=clusters)[1]
    assert list(again.choose(other, 9, 9, limit)) == found  # in whatever order items are known
