"""The promise of a filter scheme, and worlds in which it is tried."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from bypass.mechanisms.families import FILTER, Family
from bypass.places.geo import within
from bypass.places.region import Region
from bypass.testing.rules import RULES, LocatedSubscriber, Point, SchemeRule, near
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.live import LiveWorld
from bypass.testing.worlds.simulated import MOST_PEOPLE, SimulatedWorld
from bypass.testing.worlds.world import REGION, SmallWorld


class SchemeSuite(MechanismSuite):
    """A suite for a filter scheme, with worlds in which it is used.

    By default a scheme promises that everybody within the radius is told. Capabilities: others may be told in
    vain up to `beyond` metres farther away, and nobody if the scheme is `exact`; one that is not `live` is
    tested in virtual time alone. A scheme that promises something else defines `rule`.
    """

    family: ClassVar[Family] = FILTER
    defaults: ClassVar[Mapping[str, Any]] = {"exact": False, "beyond": math.inf, "live": True}
    region: ClassVar[Region] = REGION

    def rule(self, who: LocatedSubscriber, at: Point) -> bool | None:
        """Whether an event at a place must be told to somebody, must not be, or may be (None)."""
        if near(who, at):
            return True
        beyond = 0.0 if self.capability("exact") else self.capability("beyond")
        return None if within(*at, *who.place, who.radius + beyond) else False

    @property
    def rules(self) -> dict[str, SchemeRule]:
        """The rules of this scheme and of all that are built in."""
        return {**RULES, self.name: self.rule}

    def simulated(self, scheme: str = "", seed: int = 1, most: int = MOST_PEOPLE) -> SimulatedWorld:
        """A world in virtual time, for so many people at most; served by this scheme, if none is named."""
        return SimulatedWorld(
            scheme or self.name,
            self.parameters,
            mechanisms=self.brought,
            region=self.region,
            rules=self.rules,
            seed=seed,
            most=most,
        )

    def live(self, folder: Path, scheme: str = "") -> LiveWorld:
        """A world of sockets, with a store in a folder; served by this scheme, if none is named."""
        return LiveWorld(
            scheme or self.name,
            self.parameters,
            folder,
            mechanisms=self.brought,
            region=self.region,
            rules=self.rules,
        )

    def in_worlds(self, holds: Callable[[SmallWorld], None], scheme: str = "") -> None:
        """Try something in each world: simulated, and live if the scheme is to be."""
        holds(self.simulated(scheme))
        if self.capability("live"):
            with tempfile.TemporaryDirectory() as folder, closing(self.live(Path(folder), scheme)) as world:
                holds(world)
