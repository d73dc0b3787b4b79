"""Replays: the history of a small world, written as a scenario that `bypass run` repeats."""

from __future__ import annotations

import os
from inspect import getsourcefile
from pathlib import Path
from typing import Any

from bypass.errors import BypassError
from bypass.support.extensions import absolute
from bypass.testing.worlds.simulated import FIXES, SETTLED_S, SimulatedWorld
from bypass.testing.worlds.world import SmallWorld
from bypass.transitions.yaml_text import dump_yaml


class NotReplayable(BypassError):
    """A history in which something happened that a scenario cannot repeat."""


def write_replay(world: SmallWorld, path: Path, about: str) -> Path:
    """Write all that was done in a world to a file; gives its absolute path.

    Attributes of events are left out, so everybody wants everything near enough. Raises NotReplayable, and
    writes nothing, if a broker was restarted or somebody has subscribed areas.
    """
    scenario = scenario_of(world, about)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_yaml(scenario), encoding="utf-8")
    return path.resolve()


def scenario_of(world: SmallWorld, about: str) -> dict[str, Any]:
    """Put all that was done in a world as the keys of a scenario. Raises NotReplayable."""
    restarts = [step["at"] for step in world.recording if step["do"] == "restart"]
    if restarts:
        raise NotReplayable(
            f"broker restarted at {restarts[0]:g} s: expected none: the simulator's has no store"
        )
    if any(step["do"].endswith("-areas") for step in world.recording):
        raise NotReplayable("subscription with areas: expected none: scripts have radii alone")
    x0, y0, x1, y1 = world.region.area
    places = [
        {"name": place.name, "x": place.x - x0, "y": place.y - y0, "radius": place.radius, "weight": 1.0}
        for place in world.region.places
    ]
    steps = [_moved(step, x0, y0) for step in world.recording]
    return {
        "about": about,
        "mechanisms": [file_reference(each) for each in world.mechanisms],
        "seed": world.seed if isinstance(world, SimulatedWorld) else 1,
        "clients": max(len(world.people), 1),
        "duration": world.moment() + SETTLED_S,
        "world": {"width": x1 - x0, "height": y1 - y0},
        "location": {"interval": FIXES.interval},
        "filter": {"scheme": world.scheme, **world.values},
        "script": {"places": places, "steps": steps},
    }


def _moved(step: dict[str, Any], x0: float, y0: float) -> dict[str, Any]:
    """A step in a world whose corner is (0, 0), without keys that say nothing."""
    said = {key: value for key, value in step.items() if value is not None}
    if "place" in said:
        said["place"] = [said["place"][0] - x0, said["place"][1] - y0]
    return said


def file_reference(mechanism: str | type) -> str:
    """Refer to a mechanism such that it is found from anywhere."""
    if isinstance(mechanism, str):
        return absolute(mechanism, Path.cwd())
    return f"{os.path.abspath(getsourcefile(mechanism) or '')}:{mechanism.__qualname__}"
