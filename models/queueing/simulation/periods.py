"""ON periods that were recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bypass.errors import BypassError
from bypass.support.arrays import Floats


class InvalidPeriods(BypassError):
    """Numbers that are no periods of connectivity."""


@dataclass(frozen=True, eq=False)
class Periods:
    """When ON periods begin and how long they are (s), in a record of `span` seconds; else it is OFF.

    There is at least one; they ascend and do not overlap. Who plays the record for longer begins again at its
    begin. Raises `InvalidPeriods`.
    """

    begins: Floats
    lengths: Floats
    span: float

    def __post_init__(self) -> None:
        if self.begins.ndim != 1 or self.begins.shape != self.lengths.shape or not len(self.begins):
            raise InvalidPeriods(
                f"begins and lengths have shapes {self.begins.shape} and {self.lengths.shape}:"
                " expected as many of each, at least one"
            )
        limits = np.append(self.begins[1:], self.span)
        fits = (self.begins >= 0) & (self.lengths > 0) & (self.begins + self.lengths <= limits)
        if not (fits.all() and np.isfinite(self.span)):
            wrong = int(np.argmin(fits))
            raise InvalidPeriods(
                f"period {wrong} from {self.begins[wrong]} s on, {self.lengths[wrong]} s long:"
                f" expected it to end by {limits[wrong]} s, and all after one another from 0 s on"
            )

    @property
    def on(self) -> float:
        """Mean length of an ON period (s)."""
        return float(self.lengths.mean())

    @property
    def off(self) -> float:
        """Mean time that it is OFF between two ON periods (s)."""
        return (self.span - float(self.lengths.sum())) / len(self.lengths)
