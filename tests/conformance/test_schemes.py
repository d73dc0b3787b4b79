"""Built-in filter schemes do what each of them promises in particular, in the simulator and live."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bypass.testing.worlds.people import assert_events_arrive, gather
from bypass.testing.worlds.world import SmallWorld

Make = Callable[..., SmallWorld]


@pytest.mark.parametrize("radii", [(250,), (250, 400), (400, 250), (250, 400, 100)])
def test_a_larger_area_takes_nothing_from_a_smaller_one(make_world: Make, radii: tuple[int, ...]) -> None:
    """Its client stays in its cell, and the largest area within the cells that the client listens to."""
    world = make_world("egrid", grid=5)
    mine = world.enter("walker", (274.0, 710.0), *radii)
    world.enter("publisher", (274.0, 300.0))
    world.settle()
    world.move("walker", (274.0, 620.0))
    world.settle()
    event = world.publish("publisher", (274.0, 390.0))  # 230 m away
    world.settle()
    concerned = [own for own, radius in zip(mine, radii, strict=True) if radius >= 230]
    assert world.heard(event) == sorted(("walker", own) for own in concerned)


@pytest.mark.parametrize(("scheme", "values"), [("grid", {"grid": 8}), ("egrid", {"grid": 3})])
def test_a_scheme_begins_with_its_parameters(make_world: Make, scheme: str, values: dict[str, int]) -> None:
    world = make_world(scheme, **values)
    gather(world)
    assert world.serving()["ann"].settings["grid"] == values["grid"]
    assert_events_arrive(world)


def test_envelopes_reach_ahead_of_who_walks(make_world: Make) -> None:
    world = make_world("ste")
    (mine,) = world.enter("walker", (100.0, 500.0), 20)
    world.enter("publisher", (0.0, 0.0))

    def heard() -> list[bool]:
        """Of events ahead, behind, at the side, and ahead but very far away."""
        world.settle()
        x, y = world.whereabouts("walker")
        offsets = [(60.0, 0.0), (-60.0, 0.0), (0.0, 60.0), (20_000.0, 0.0)]
        events = [world.publish("publisher", (x + dx, y + dy)) for dx, dy in offsets]
        world.settle()
        return [world.heard(event) == [("walker", mine)] for event in events]

    assert heard() == [False] * 4
    world.move("walker", (100.0, 500.0), (6.0, 0.0))
    assert heard() == [True, False, False, False]
    assert world.execute(alpha=0.0).outcome == "done"
    assert heard() == [False] * 4
    assert world.execute("radial").outcome == "done"
    assert heard() == [False] * 4
