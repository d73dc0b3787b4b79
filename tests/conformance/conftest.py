"""Every test here runs in both worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from bypass.testing.worlds.live import LiveWorld
from bypass.testing.worlds.simulated import SimulatedWorld
from bypass.testing.worlds.world import SmallWorld


@pytest.fixture(params=["simulated", "live"])
def make_world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., SmallWorld]]:
    """Makes the world, with a scheme and its parameters."""
    with ExitStack() as stack:

        def make(scheme: str = "radial", **values: Any) -> SmallWorld:
            world: SmallWorld = (
                SimulatedWorld(scheme, values)
                if request.param == "simulated"
                else LiveWorld(scheme, values, tmp_path)
            )
            return stack.enter_context(closing(world))

        yield make
