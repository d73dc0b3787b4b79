"""People all over a region: inside and outside of attraction points, near the borders of cells and beyond."""

from __future__ import annotations

from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.areas import Area
from bypass.testing.rules import RULES, Point
from bypass.testing.worlds.assertions import assert_told_rightly
from bypass.testing.worlds.world import SmallWorld

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


ZONES: dict[str, tuple[Area, ...]] = {
    "ann": (
        Area.polygon(
            [(600, 560), (640, 600), (600, 640), (560, 600)], [[(600, 590), (610, 600), (600, 610)]]
        ),
        Area.corridor([(340.0, 280.0), (430.0, 280.0), (430.0, 340.0)], 30.0),
    ),
    "fay": (Area.sector((250.0, 300.0), 90.0, 90.0, 60.0),),
}
"""Areas that some of the crowd want besides."""


def gather(world: SmallWorld) -> None:
    """Have the crowd come, and somebody besides who only publishes."""
    for name, (place, radii) in CROWD.items():
        world.enter(name, place, *radii)
    for name, areas in ZONES.items():
        world.subscribe_areas(name, AreaOfInterest(areas))
    for named in world.region.places[:1]:
        world.subscribe_areas("gus", AreaOfInterest((Area.of_place(named.name),)))
    world.enter("publisher", (310.0, 310.0))
    world.settle()


def assert_events_arrive(world: SmallWorld) -> None:
    """Plain, placed and local events of several people reach exactly whom the schemes in use select."""
    events = [world.publish(name) for name in ("publisher", "bob")]
    events += [world.publish("publisher", place) for place in SPOTS]
    events += [world.publish_local(name) for name in ("publisher", "ann", "cid", "fay")]
    world.settle()
    assert_told_rightly(world, events)
    if all(
        world.selected(event) == world.possible(event) for event in events
    ):  # the rules leave nothing open
        assert len({tuple(world.heard(event)) for event in events}) > len(SPOTS) / 2
