"""MULTI: ATTRACT inside the circles and RADIAL outside, in one mechanism that adapts by itself."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bypass.mechanisms.filters.attract import AttractClient, CircleBroker
from bypass.mechanisms.filters.base.updates import Strategy, due
from bypass.mechanisms.filters.indexes.circles import CircleIndex
from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex
from bypass.mechanisms.filters.indexes.index import Index
from bypass.places.sensor import Fix
from bypass.protocol.messages import Publish
from bypass.support.arrays import Ints
from bypass.transitions import MechanismState


class MultiClient(AttractClient):
    """Reports places while outside the circles, by RADIAL's rules."""

    name: ClassVar[str] = "multi"
    flag: ClassVar[int] = 6

    updates: Annotated[Strategy, MechanismState("updates")] = "frequency"
    period: Annotated[float, MechanismState("period"), Field(ge=0)] = 0.0
    threshold: Annotated[float, MechanismState("threshold"), Field(ge=0)] = 10.0

    def update_due(self, fix: Fix, inside: bool) -> bool:
        if inside:
            return self.enable_updates
        return due(self.updates, self.period, self.threshold, self.reported, fix)


class MultiIndex(Index):
    """Rows by circle if their owner is in one, by place otherwise; an event meets both kinds."""

    def __init__(self, circles: CircleIndex, elsewhere: EnvelopeIndex) -> None:
        super().__init__(circles.table, circles.resolver)
        self.circles = circles
        self.elsewhere = elsewhere

    def insert(self, rows: Ints) -> None:
        inside = self.circles.hold(rows)
        self.elsewhere.removed(rows[inside])
        self.circles.insert(rows[inside])
        self.circles.removed(rows[~inside])
        self.elsewhere.insert(rows[~inside])

    def removed(self, rows: Ints) -> None:
        self.circles.removed(rows)
        self.elsewhere.removed(rows)

    def moved(self, rows: Ints) -> None:
        self.elsewhere.moved(rows)

    def members(self) -> Ints:
        return np.union1d(self.circles.members(), self.elsewhere.members())

    def match(self, publication: Publish) -> Ints | None:
        inside = self.circles.match(publication)
        outside = self.elsewhere.match(publication)
        found = [rows for rows in (inside, outside) if rows is not None]
        if not found:
            return None
        rows = np.concatenate(found)
        rows.sort()
        return rows


class Multi(CircleBroker):
    """An event concerns the members of the attraction points it lies in and, by RADIAL's rule, everybody
    who is in none."""

    name: ClassVar[str] = "multi"
    flag: ClassVar[int] = 6

    index: MultiIndex

    def make_index(self) -> MultiIndex:
        return MultiIndex(self.make_circles(), EnvelopeIndex(self.table, self.resolver))

    @property
    def circles(self) -> CircleIndex:
        return self.index.circles
