"""A client without an edge goes on with its peers, and comes back."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core.objects.fallback import FallbackSettings, Preference, cells_plan
from bypass.mechanisms.storage.cells.mechanism import Cells
from bypass.protocol.storage import OperationStatus
from tests.area_world import AreaWorld

PLAN = cells_plan(area=[0.0, 0.0, 40.0, 40.0], side=40.0)
WITHOUT = FallbackSettings(plan=PLAN)
BEACON_S = 1.0


def active(world: AreaWorld, proxy: str = "storage") -> list[str]:
    return [world.nodes[number].engine.active(proxy).name for number in range(world.clients)]


def test_clients_go_on_without_an_edge_and_come_back() -> None:
    world = AreaWorld([0] * 6, fallback=WITHOUT)
    world.run(10.0)
    told = world.query(0, "a")
    first = world.insert(1, "before", "a")
    gone = world.insert(4, "gone", "a")
    world.run(3.0)
    assert first == gone == [OperationStatus.OK]
    world.stop()
    world.run(10.0)
    assert active(world) == ["cells"] * 6, "also those that had nothing to say notice it"
    during = world.insert(2, "during", "a")
    deleted = world.delete(4, "gone")
    world.run(10.0)
    assert during == deleted == [OperationStatus.OK]
    assert sorted(told.names) == ["before", "during", "gone"]
    assert world.found_by(5, "a") == ["before", "during"]
    world.resume()
    world.run(20.0)
    assert active(world) == ["infra"] * 6
    assert active(world, "routing") == ["access-point"] * 6
    world.insert(3, "after", "a")
    world.run(5.0)
    assert sorted(told.names) == ["after", "before", "during", "gone"]
    assert world.found_by(4, "a") == ["after", "before", "during"]
    sources = {each.key.name: each.source for each in told.metadata}
    edge = world.edge().number
    assert sources == {"before": edge, "gone": edge, "during": None, "after": edge}


@pytest.mark.parametrize("later_s", [0.0, 2.0])
def test_the_first_delivery_without_an_edge_comes_soon(later_s: float) -> None:
    """Within 3 beacon periods after the loss was noticed, and the time that joining a cell takes: listening,
    and collecting the state of a cell that nobody has."""
    times = []
    for seed in range(8):
        world = AreaWorld([0] * 6, fallback=WITHOUT, seed=seed)
        world.run(10.0)
        told = world.query(0, "a")
        world.run(3.0)
        world.stop()
        while not world.unbound():
            world.run(0.05)
        noticed = world.clock.now()
        world.run(later_s)
        world.insert(2, "during", "a")
        while not told.names and world.clock.now() < noticed + 60.0:
            world.run(0.05)
        times.append(world.clock.now() - noticed)
    assert max(times) <= 3.0 * BEACON_S + Cells.listen_s + Cells.settle_s, times


def test_a_client_that_finds_no_edge_at_first_begins_with_its_peers() -> None:
    world = AreaWorld([None] * 4, fallback=WITHOUT)
    world.run(10.0)
    told = world.query(0, "a")
    inserted = world.insert(1, "x", "a")
    world.run(10.0)
    assert (inserted, told.names) == ([OperationStatus.OK], ["x"])
    assert active(world) == ["cells"] * 4


def test_the_application_may_prefer_peers_or_edges() -> None:
    world = AreaWorld([0] * 4, fallback=WITHOUT)
    world.run(10.0)
    fallback = world.storages[0].fallback
    assert fallback is not None
    fallback.prefer(Preference.PEERS)
    world.run(5.0)
    assert active(world) == ["cells", "infra", "infra", "infra"]
    probes = world.sent["EdgeProbe"]
    world.run(30.0)
    assert world.sent["EdgeProbe"] == probes, "it goes on looking for an edge that it does not want"
    fallback.prefer(Preference.AUTO)
    world.run(10.0)
    assert active(world) == ["infra"] * 4
    fallback.prefer(Preference.EDGES)
    world.stop()
    world.run(30.0)
    assert active(world) == ["infra", "cells", "cells", "cells"]


def test_a_plan_that_cannot_be_carried_out_changes_nothing_and_is_tried_again() -> None:
    """Cells cannot keep a query with negations alone, which the former storage can."""
    world = AreaWorld([0] * 3, fallback=WITHOUT, storage="local")
    world.run(5.0)
    told = world.query(0, "~b")
    world.run(3.0)
    world.stop()
    world.run(20.0)
    assert active(world) == ["local", "cells", "cells"]
    assert active(world, "routing") == ["access-point", "cells", "cells"]
    fallback = world.storages[0].fallback
    assert fallback is not None
    assert (fallback.failed > 1, fallback.fallen) == (True, 0)
    assert told.own is not None
    world.access(0).withdraw(told.own)
    world.run(10.0)
    assert active(world) == ["cells"] * 3


steps = st.lists(
    st.tuples(
        st.sampled_from(["insert", "insert", "query", "delete", "stop", "resume", "wait"]),
        st.integers(0, 4),
        st.floats(0.1, 12.0),
    ),
    min_size=3,
    max_size=14,
)


@settings(max_examples=20)
@given(steps=steps, seed=st.integers(0, 1000))
def test_nothing_is_lost_or_told_twice_whenever_the_edge_comes_and_goes(
    steps: list[tuple[str, int, float]], seed: int
) -> None:
    world = AreaWorld([0] * 5, fallback=WITHOUT, seed=seed)
    world.run(6.0)
    inserted: dict[str, int] = {}
    deleted: set[str] = set()
    asked = [world.query(4, "a")]
    for what, node, seconds in steps:
        if what == "insert":
            name = f"x{len(inserted)}"
            inserted[name] = node
            world.insert(node, name, "a")
        elif what == "query":
            asked.append(world.query(node, "a", limit=64))
        elif what == "delete" and (
            mine := [n for n, by in inserted.items() if by == node and n not in deleted]
        ):
            deleted.add(mine[0])
            world.delete(node, mine[0])
        elif what == "stop":
            world.stop()
        elif what == "resume":
            world.resume()
        world.run(seconds)
    world.run(100.0)
    left = sorted(inserted.keys() - deleted)
    assert len(set(active(world))) == 1
    for told in asked:
        assert max(Counter(told.names).values(), default=0) <= 1, "somebody was told twice"
        assert set(left) <= set(told.names)
    assert world.found_by(3, "a", 20.0) == left
