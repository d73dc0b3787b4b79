"""The planner finds the cheapest design, says what it saves, and does not flap."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.storage.costs import (
    Demand,
    Design,
    Extent,
    UpkeepPeriods,
    cost,
    local_beats_server,
    upkeep,
)
from bypass.models.storage.layout import NodeLayout
from bypass.models.storage.meter import StorageMeter
from bypass.models.storage.planner import PlannerSettings, StoragePlanner
from bypass.protocol.storage import NodeCounts

repeatable = settings(derandomize=True, deadline=None, max_examples=30)
counts = st.builds(
    NodeCounts,
    inserts=st.integers(0, 300),
    retrieves=st.integers(0, 300),
    subscriptions=st.integers(0, 300),
    notifications=st.integers(0, 300),
    deletes=st.integers(0, 50),
    withdrawals=st.integers(0, 50),
)
designs = st.sampled_from(Design)
NEVER = UpkeepPeriods(math.inf, math.inf, math.inf, math.inf)
FIELD = (0.0, 0.0, 400.0, 200.0)


class Watched:
    """A planner, and what the nodes of a store have done so far."""

    def __init__(self, design: Design = Design.CELLS, nodes: int = 100, **caution: object) -> None:
        meter = StorageMeter(design, NodeLayout.over(FIELD, side=40.0))
        self.planner = StoragePlanner(meter, PlannerSettings(**({"periods": NEVER} | caution)))  # type: ignore[arg-type]
        self.done = [NodeCounts() for _ in range(nodes)]
        meter.close_window(dict(enumerate(self.done)))

    def passes(self, *seen: NodeCounts) -> list[Design]:
        """Let windows pass; each proposal is followed. The designs that were proposed."""
        proposed: list[Design] = []
        for each in seen:
            first = self.done[0]
            for name in COUNTED:
                setattr(first, name, getattr(first, name) + getattr(each, name))
            found = self.planner.window_ended(dict(enumerate(self.done)))
            if found is not None:
                assert found.saving > self.planner.settings.margin
                assert found.cheapest is not found.present
                proposed.append(found.cheapest)
                self.planner.switched(found.cheapest)
        return proposed


COUNTED = ("inserts", "tags", "retrieves", "subscriptions", "keys", "notifications", "deletes", "withdrawals")


def of(**done: int) -> NodeCounts:
    """A window's counts, of objects with one tag and queries with one conjunction."""
    return NodeCounts(**{"tags": done.get("inserts", 0), "keys": done.get("subscriptions", 0)} | done)


@repeatable
@given(counts, st.integers(4, 60), designs)
def test_the_cheapest_design_is_that_of_the_formulas(window: NodeCounts, nodes: int, design: Design) -> None:
    made = Watched(design, nodes)
    window.tags, window.keys = window.inserts, window.subscriptions
    made.planner.meter.close_window(dict(enumerate([window, *made.done[1:]])))
    demand = Demand(
        window.inserts, window.retrieves, window.subscriptions, window.notifications, window.deletes,
        window.withdrawals,
    )  # fmt: skip
    assessment = made.planner.assess()
    expected = {
        each: cost(each, demand, made.planner.meter.extent(each), confirmed=True).transmissions()
        for each in Design
    }
    least = min(expected.values())
    assert assessment.transmissions == pytest.approx(expected)
    assert expected[assessment.cheapest] == pytest.approx(least)
    now = expected[design]
    assert assessment.saving == pytest.approx((now - least) / now if now else 0)


@repeatable
@given(counts, designs, st.integers(2, 30))
def test_a_steady_workload_is_switched_once_at_most(window: NodeCounts, design: Design, number: int) -> None:
    made = Watched(design, patience=2)
    window.tags, window.keys = window.inserts, window.subscriptions
    assert len(made.passes(*[window] * number)) <= 1


@repeatable
@given(st.lists(counts, min_size=1, max_size=40), designs, st.integers(1, 4), st.integers(0, 5))
def test_switches_are_rare(seen: list[NodeCounts], design: Design, patience: int, hold: int) -> None:
    made = Watched(design, patience=patience, hold=hold)
    switched = [number for number, each in enumerate(seen) if made.passes(each)]
    assert all(later - earlier > max(hold, patience - 1) for earlier, later in pairwise(switched))


@repeatable
@given(
    st.lists(st.floats(-0.05, 0.05), min_size=10, max_size=40),
    designs.filter(lambda each: each is not Design.CELLS),
)
def test_around_a_break_even_nothing_happens(noise: list[float], design: Design) -> None:
    """Transmissions of `local` and `server` differ by less than the margin: whichever there is stays."""
    made = Watched(design, designs=(Design.LOCAL, Design.SERVER))
    server = made.planner.meter.extent(Design.SERVER)
    ratio = 100 / (2 * server.hops) - 1
    seen = [of(inserts=round(200 * ratio * (1 + each)), subscriptions=200) for each in noise]
    assert made.passes(*seen) == []


def test_the_break_even_of_the_plain_formula() -> None:
    extent = Extent.plain(100)
    demand = Demand(inserts=local_beats_server(100), subscriptions=1)
    assert cost(Design.LOCAL, demand, extent).transmissions() == pytest.approx(
        cost(Design.SERVER, demand, extent).transmissions()
    )


def test_many_insertions_call_for_local_and_many_subscriptions_for_others() -> None:
    made = Watched(Design.SERVER, 196)
    asking, inserting = of(inserts=5, subscriptions=500), of(inserts=500, subscriptions=5)
    assert made.passes(*[inserting] * 9, *[asking] * 9) == [Design.LOCAL, Design.SERVER]
    without = Watched(Design.LOCAL, 196, designs=(Design.LOCAL, Design.CELLS))
    assert without.passes(*[asking] * 9) == [Design.CELLS]


def test_measured_ways_replace_those_of_geometry() -> None:
    made = Watched(Design.CELLS, 98)
    meter = made.planner.meter
    geometry = meter.layout.extent(Design.LOCAL, 98)
    for counted in made.done:
        counted.ways, counted.hops, counted.cell_ways, counted.cell_hops = 2, 6, 2, 8
        counted.neighbours, counted.mates = 11, 1
    meter.close_window(dict(enumerate(made.done)))
    extent = meter.extent(Design.CELLS)
    assert (extent.return_hops, extent.cell_hops, extent.population, extent.company) == (3, 4, 2, 1)
    assert extent.neighbours == 11
    assert meter.extent(Design.LOCAL) == geometry
    meter.switched(Design.LOCAL)
    assert meter.extent(Design.LOCAL).hops == geometry.hops


def test_windows_slide_and_averages_are_those_of_a_window() -> None:
    meter = StorageMeter(Design.LOCAL, NodeLayout.over(FIELD), windows=2)
    assert meter.demand() == Demand()
    for inserts in (0, 10, 30, 60):
        meter.close_window({7: NodeCounts(inserts=inserts, tags=3 * inserts, objects=inserts)})
    assert (meter.windows, meter.operations, meter.demand().inserts, meter.demand().tags) == (2, 50, 25, 3)
    assert (meter.nodes, meter.objects) == (1, 60)
    with pytest.raises(ValueError, match=r"^0 windows of 30 s: expected 1 to 1000, longer than 0 s$"):
        StorageMeter(Design.LOCAL, NodeLayout.over(FIELD), windows=0)


def test_a_node_that_begins_anew_counts_from_nothing_and_one_that_is_silent_is_gone() -> None:
    meter = StorageMeter(Design.LOCAL, NodeLayout.over(FIELD), window_s=30, windows=3)
    old = NodeCounts(inserts=50)
    meter.close_window({1: old, 2: old})
    meter.close_window({1: old, 2: NodeCounts(inserts=4)})
    assert (meter.operations, meter.nodes, meter.churn) == (4, 2, 1 / 2 / 1 * 2)
    meter.close_window({1: old, 3: old})  # the newcomer's past is not of this window
    assert (meter.operations, meter.nodes) == (4, 3)
    for _ in range(2):
        meter.close_window({1: old, 3: old})
    assert meter.nodes == 2


def test_a_switch_has_to_earn_its_price() -> None:
    asking = of(inserts=5, subscriptions=100)
    cheap, dear = Watched(Design.LOCAL), Watched(Design.LOCAL)
    dear.done[1].objects = 10**6
    assert cheap.passes(*[asking] * 4) == [Design.SERVER]
    assert dear.passes(*[asking] * 4) == []
    assert dear.planner.assess().saving > 0.5


def test_few_operations_say_nothing() -> None:
    assert Watched(Design.LOCAL).passes(*[of(subscriptions=1)] * 9) == []


def test_upkeep_counts() -> None:
    inserting = [of(inserts=100)] * 5
    assert Watched(Design.CELLS, periods=NEVER).passes(*inserting) == [Design.LOCAL]
    assert Watched(Design.CELLS, periods=UpkeepPeriods()).passes(*inserting) == []
    assert upkeep(Design.CELLS, 30) == 30 + 30 / 5
    assert upkeep(Design.LOCAL, 30) == 30 * 30 / 15 + 30 / 10
    assert upkeep(Design.SERVER, 30) == upkeep(Design.LOCAL, 30)
    assert upkeep(Design.SERVER, 30, deletes=2) == upkeep(Design.LOCAL, 30) + 60
    assert upkeep(Design.LOCAL, 30, NEVER, deletes=2) == 0


def test_an_assessment_is_one_line() -> None:
    made = Watched(Design.SERVER, designs=(Design.LOCAL,))
    made.passes(of(inserts=100))
    hops = made.planner.meter.layout.extent(Design.SERVER, 100).hops
    assert str(made.planner.assess()) == (
        f"local saves 100% of server; transmissions in a window: server {200 * hops:.0f}, local 0"
    )
    made.planner.switched(Design.LOCAL)
    assert str(made.planner.assess()) == "local is cheapest; transmissions in a window: local 0"


def test_the_ways_of_a_layout() -> None:
    """All nodes of nine cells are in reach of each other."""
    layout = NodeLayout.over((0, 0, 120, 120), reach_m=121, side=40)
    assert (layout.grid.columns, layout.grid.rows) == (3, 3)
    extent = layout.extent(Design.LOCAL, 18)
    steps = [
        max(abs(a - b), abs(c - d)) for a in range(3) for b in range(3) for c in range(3) for d in range(3)
    ]
    assert extent.cell_hops == pytest.approx(sum(steps) / 81)
    assert (extent.hops, extent.return_hops) == pytest.approx((1, 1))
    assert extent.neighbours == pytest.approx(17)
    assert 2 < extent.population < 2.4
    assert NodeLayout.over((0, 0, 30, 30)).extent(Design.CELLS, 5).company == 1


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^margin 1, patience 2, hold 3, horizon 20.0: expected a share below 1"
    ):
        PlannerSettings(margin=1)
