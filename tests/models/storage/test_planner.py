"""The planner finds the cheapest design, says what it saves, and does not flap."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.storage.costs import Demand, Design, Extent, costs, local_beats_server
from bypass.models.storage.meter import StorageMeter, WindowCounts
from bypass.models.storage.planner import PlannerSettings, StoragePlanner

repeatable = settings(derandomize=True, deadline=None, max_examples=200)
counts = st.builds(
    WindowCounts,
    inserts=st.integers(0, 300),
    retrieves=st.integers(0, 300),
    subscriptions=st.integers(0, 300),
    notifications=st.integers(0, 300),
    deletes=st.integers(0, 50),
    withdrawals=st.integers(0, 50),
)
designs = st.sampled_from(Design)


def planner(
    design: Design = Design.CELLS, nodes: float = 100, population: float = 2, **caution: object
) -> StoragePlanner:
    meter = StorageMeter(design)
    meter.nodes, meter.population = nodes, population
    return StoragePlanner(meter, PlannerSettings(**caution))  # type: ignore[arg-type]


def windows(made: StoragePlanner, *seen: WindowCounts) -> list[Design]:
    """Let windows pass; each proposal is followed. The designs that were proposed."""
    proposed: list[Design] = []
    for each in seen:
        made.meter.now = each
        found = made.window_ended()
        if found is not None:
            proposed.append(found.cheapest)
            made.switched(found.cheapest)
    return proposed


def copy(window: WindowCounts) -> WindowCounts:
    return WindowCounts(
        window.inserts, window.retrieves, window.subscriptions, window.notifications, window.deletes,
        window.withdrawals, window.inserts, window.subscriptions,
    )  # fmt: skip


@repeatable
@given(counts, st.floats(4, 500), st.floats(1, 8), designs)
def test_the_cheapest_design_is_that_of_the_formulas(
    window: WindowCounts, nodes: float, population: float, design: Design
) -> None:
    made = planner(design, nodes, population)
    windows(made, copy(window))
    demand = Demand(
        window.inserts, window.retrieves, window.subscriptions, window.notifications, window.deletes,
        window.withdrawals,
    )  # fmt: skip
    expected = costs(demand, Extent.plain(nodes, population))
    assessment = made.assess()
    least = min(each.transmissions() for each in expected.values())
    assert expected[assessment.cheapest].transmissions() == pytest.approx(least)
    assert assessment.saving >= 0
    now = expected[design].transmissions()
    assert assessment.saving == pytest.approx((now - least) / now if now else 0)


@repeatable
@given(counts, designs, st.integers(2, 30))
def test_a_steady_workload_is_switched_once_at_most(
    window: WindowCounts, design: Design, number: int
) -> None:
    made = planner(design, patience=2)
    proposed = windows(made, *[copy(window) for _ in range(number)])
    assert len(proposed) <= 1
    assessment = made.assess()
    if window.operations * 3 >= 20 and number >= 2:
        assert assessment.saving <= 0.1


@repeatable
@given(st.lists(counts, min_size=1, max_size=40), designs, st.integers(1, 4), st.integers(0, 5))
def test_switches_are_rare_and_pay(
    seen: list[WindowCounts], design: Design, patience: int, hold: int
) -> None:
    made = planner(design, patience=patience, hold=hold)
    switched: list[int] = []
    for number, each in enumerate(seen):
        made.meter.now = copy(each)
        found = made.window_ended()
        if found is not None:
            assert found.saving > 0.1
            assert found.cheapest is not found.present
            switched.append(number)
            made.switched(found.cheapest)
    assert all(later - earlier > max(hold, patience - 1) for earlier, later in pairwise(switched))


@repeatable
@given(
    st.lists(st.floats(-0.05, 0.05), min_size=10, max_size=40),
    designs.filter(lambda each: each is not Design.CELLS),
)
def test_around_a_break_even_nothing_happens(noise: list[float], design: Design) -> None:
    """Transmissions of `local` and `server` differ by less than the margin: whichever there is stays."""
    nodes, subscriptions = 100, 200
    ratio = local_beats_server(nodes)
    seen = [
        WindowCounts(inserts=round(subscriptions * ratio * (1 + each)), subscriptions=subscriptions)
        for each in noise
    ]
    made = planner(design, nodes, designs=(Design.LOCAL, Design.SERVER))
    assert windows(made, *map(copy, seen)) == []


def test_many_insertions_call_for_local_and_many_subscriptions_for_others() -> None:
    inserting = WindowCounts(inserts=500, subscriptions=5)
    asking = WindowCounts(inserts=5, subscriptions=500)
    made = planner(Design.SERVER, 196)
    assert windows(made, *[copy(inserting) for _ in range(9)], *[copy(asking) for _ in range(9)]) == [
        Design.LOCAL,
        Design.CELLS,
    ]


def test_measured_ways_replace_roots() -> None:
    meter = StorageMeter(Design.CELLS)
    meter.nodes, meter.population, meter.neighbours = 98, 2, 11
    for hops in (2, 4):
        meter.travelled(hops)
    meter.inserted(tags=3)
    meter.subscribed(keys=2)
    meter.close_window()
    extent = meter.extent()
    assert extent.cell_hops == pytest.approx(3)
    assert extent.neighbours == 11
    assert extent.hops == pytest.approx(3 / 7 * 98**0.5)  # in the proportion in which the others are shorter
    assert (meter.demand().tags, meter.demand().keys) == (3, 2)
    meter.switched(Design.LOCAL)
    assert meter.extent().hops == pytest.approx(98**0.5)


def test_windows_slide() -> None:
    meter = StorageMeter(Design.LOCAL, windows=2)
    assert meter.demand() == Demand()
    for inserts in (10, 20, 30):
        meter.now = WindowCounts(inserts=inserts, tags=inserts)
        meter.close_window()
    assert (meter.windows, meter.operations, meter.demand().inserts) == (2, 50, 25)
    with pytest.raises(ValueError, match=r"^0 windows: expected 1 to 1000$"):
        StorageMeter(Design.LOCAL, 0)


def test_a_switch_has_to_earn_its_price() -> None:
    asking = WindowCounts(inserts=5, subscriptions=100)
    cheap, dear = planner(Design.LOCAL), planner(Design.LOCAL)
    dear.meter.objects = 10**6
    seen = [copy(asking) for _ in range(4)]
    assert windows(cheap, *map(copy, seen)) == [Design.CELLS]
    assert windows(dear, *map(copy, seen)) == []
    assert dear.assess().saving > 0.5


def test_few_operations_say_nothing_and_designs_can_be_left_out() -> None:
    assert windows(planner(Design.LOCAL), *[WindowCounts(subscriptions=1, keys=1) for _ in range(9)]) == []
    asking = [copy(WindowCounts(subscriptions=100)) for _ in range(4)]
    assert windows(planner(Design.LOCAL, designs=(Design.LOCAL, Design.SERVER)), *asking) == [Design.SERVER]


def test_overheads_count() -> None:
    made = planner(Design.CELLS, overheads={Design.LOCAL: 1e6, Design.SERVER: 1e6})
    assert windows(made, *[WindowCounts(inserts=100, tags=100) for _ in range(5)]) == []


def test_an_assessment_is_one_line() -> None:
    made = planner(Design.SERVER, 100)
    windows(made, WindowCounts(inserts=100, tags=100))
    assert str(made.assess()) == (
        "local saves 100% of server; transmissions in a window: server 2000, local 0, cells 1614"
    )
    made.switched(Design.LOCAL)
    assert str(made.assess()).startswith("local is cheapest; transmissions in a window: ")


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^margin 1, patience 2, hold 3, horizon 20.0: expected a share below 1"
    ):
        PlannerSettings(margin=1)
