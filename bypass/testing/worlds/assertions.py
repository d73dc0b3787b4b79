"""Assertions on who was told of events in a small world."""

from __future__ import annotations

from collections.abc import Mapping

from bypass.testing.worlds.person import Serving
from bypass.testing.worlds.world import SmallWorld


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


def told(world: SmallWorld, event: int, how: str) -> str:
    """Describes what went wrong with an event: where it was, who heard it and whom it concerned."""
    publisher, _, at = world.published[event]
    places = {name: person.place for name, person in world.people.items()}
    return (
        f"event {event} of {publisher} at {at} was told {how}: heard by {world.heard(event)}, expected"
        f" {world.selected(event)}, at most {world.possible(event)}; people are at {places}"
    )
