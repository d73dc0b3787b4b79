"""The downloads of a cell are reported once each, whoever dies and whatever the edge does not confirm."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.protocol.edge import item_key
from tests.area_world import PERIOD_S, AreaWorld

STEPS = ("fetch", "fetch", "fetch", "die", "hear", "deaf", "confirm", "ignore", "wait")
steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 6)), min_size=1, max_size=20)


@settings(max_examples=25)
@given(steps=steps, seed=st.integers(0, 1000))
def test_no_download_is_lost_or_counted_twice(steps: list[tuple[str, int]], seed: int) -> None:
    """Client 0 has the objects and lives; the last but one that dies leaves another one of the cell."""
    world = AreaWorld([0] * 7, 1, seed=seed)
    world.run(3 * PERIOD_S)
    told = world.query(0, "a")
    for name in "xyz":
        world.insert(0, name, "a", active=False)
    world.run(3.0)
    others = world.query(1, "a")
    world.run(2.0)
    assert len(others.metadata) == len(told.metadata) == 3
    counted: Counter[str] = Counter()
    for what, node in steps:
        if what == "fetch" and node in world.alive():
            metadata = others.metadata[len(counted) % 3 if node < 4 else 0]
            if metadata.key not in world.access(node).store:
                ended = world.retrieve(node, metadata)
                world.run(2.5)
                counted[metadata.key.name] += bool(ended and ended[0].ok)
        elif what == "die" and len(world.alive()) > 2:
            world.die(node)
        elif what in ("confirm", "ignore"):
            world.edge().confirms = what == "confirm"
        elif what in ("hear", "deaf"):
            world.edge().silent = what == "deaf"
        world.run(PERIOD_S if what == "wait" else 0.7)
    world.run(5 * PERIOD_S)
    world.edge().confirms, world.edge().silent = True, False
    world.run(3 * PERIOD_S)
    popularity = world.edge().area.popularity
    found = {each.key.name: popularity.downloads(item_key(each)) for each in others.metadata}
    assert found == {name: counted[name] for name in "xyz"}
