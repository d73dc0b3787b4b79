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
    before and those of now select, at least, and whom one of them may, at most; nobody twice."""
    after = world.serving()
    for event in events:
        heard = world.heard(event)
        old, new = set(world.selected(event, before)), set(world.selected(event, after))
        most = {*world.possible(event, before), *world.possible(event, after)}
        assert len(heard) == len(set(heard)), told(world, event, "twice")
        assert old & new <= set(heard), told(world, event, "not to all whom it concerns")
        assert set(heard) <= most, told(world, event, "to some whom it does not concern")


def assert_told_rightly(world: SmallWorld, events: list[int]) -> None:
    """Of what was published while everything stood still: it has reached whom it concerns, nobody twice, and
    nobody of whom the rules say that it must not."""
    assert_nothing_lost(world, events, world.serving())


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


def told(world: SmallWorld, event: int, how: str) -> str:
    """Describes what went wrong with an event: where it was, who heard it and whom it concerned."""
    publisher, _, at = world.published[event]
    places = {name: person.place for name, person in world.people.items()}
    return (
        f"event {event} of {publisher} at {at} was told {how}: heard by {world.heard(event)}, expected"
        f" {world.selected(event)}, at most {world.possible(event)}; people are at {places}"
    )
