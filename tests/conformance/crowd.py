"""People all over a region: inside and outside of attraction points, near the borders of cells and beyond."""

from __future__ import annotations

from collections.abc import Mapping

from bypass.testing.rules import RULES, Point
from bypass.testing.world import Serving, SmallWorld

SCHEMES = tuple(RULES)
CROWD: dict[str, tuple[Point, tuple[int | None, ...]]] = {
    "ann": ((250.0, 300.0), (50,)),
    "bob": ((300.0, 320.0), (100, None)),
    "cid": ((350.0, 300.0), (100,)),
    "dan": ((415.0, 300.0), (150, 20)),
    "eve": ((150.0, 300.0), (60,)),
    "fay": ((600.0, 600.0), (100,)),
    "gus": ((810.0, 790.0), (100,)),
    "hal": ((5.0, 995.0), (400,)),
}
SPOTS: list[Point] = [
    (260.0, 310.0),
    (355.0, 290.0),
    (420.0, 330.0),
    (610.0, 590.0),
    (790.0, 830.0),
    (199.0, 300.0),
]


def gather(world: SmallWorld) -> None:
    """Have the crowd come, and somebody besides who only publishes."""
    for name, (place, radii) in CROWD.items():
        world.enter(name, place, *radii)
    world.enter("publisher", (310.0, 310.0))
    world.settle()


def assert_nothing_lost(world: SmallWorld, events: list[int], before: Mapping[str, Serving]) -> None:
    """Of what was published while schemes were exchanged and people stood: it has reached whom the schemes
    before and those of now select, at least, and whom one of them does, at most; nobody twice."""
    after = world.serving()
    for event in events:
        heard = world.heard(event)
        old, new = set(world.selected(event, before)), set(world.selected(event, after))
        assert len(heard) == len(set(heard))
        assert old & new <= set(heard) <= old | new


def assert_events_arrive(world: SmallWorld) -> None:
    """Plain, placed and local events of several people reach exactly whom the schemes in use select."""
    events = [world.publish(name) for name in ("publisher", "bob")]
    events += [world.publish("publisher", place) for place in SPOTS]
    events += [world.publish_local(name) for name in ("publisher", "ann", "cid", "fay")]
    world.settle()
    heard = {event: world.heard(event) for event in events}
    assert heard == {event: world.selected(event) for event in events}
    assert len({tuple(each) for each in heard.values()}) > len(SPOTS) / 2
