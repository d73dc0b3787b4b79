"""Which filter schemes an evaluation looks at, and what their parameters mean for its kernels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from pydantic import ValidationError

from bypass.errors import BypassError
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER, FILTER_PROXY
from bypass.mechanisms.filters.indexes.envelopes import SECONDS_AHEAD
from bypass.models.maps import AttractionPoint
from bypass.support.arrays import Bools, Floats, Ints
from bypass.support.validation import first_misfit

PARAMETERS: dict[str, str | None] = {
    "radial": None,
    "ste": "alpha",
    "grid": "grid",
    "egrid": "grid",
    "attract": "extension",
    "multi": "extension",
}
"""The parameter of each scheme that may follow its name, as in `grid:5`."""


class InvalidEvaluation(BypassError):
    """An evaluation that was asked for in a way that makes no sense."""


@dataclass(frozen=True)
class Scheme:
    """A filter scheme by name and, where it has one, the value of its parameter."""

    kind: str
    value: float | str | None

    @classmethod
    def parse(cls, text: str, registry: Registry) -> Scheme:
        """A scheme as users write it: `radial`, `ste:2`, `grid:5`. Raises InvalidEvaluation.

        Without a value the scheme's own default holds; values are checked as the scheme itself checks them.
        """
        kind, colon, written = text.strip().partition(":")
        if kind not in PARAMETERS and kind in registry.kinds(FILTER):
            raise InvalidEvaluation(
                f"scheme {text!r} has no kernels: expected one of {', '.join(PARAMETERS)}"
            )
        if kind not in PARAMETERS:
            raise InvalidEvaluation(f"scheme {text!r} is unknown: expected one of {', '.join(PARAMETERS)}")
        parameter = PARAMETERS[kind]
        if parameter is None:
            if colon:
                raise InvalidEvaluation(f"scheme {text!r}: expected {kind} alone, it has no parameter here")
            return cls(kind, None)
        declared = registry.find("broker", FILTER_PROXY, kind).parameters()[parameter]
        if not colon:
            return cls(kind, declared.default)
        try:
            value = declared.adapter.validate_strings(written)
        except ValidationError as error:
            reason = first_misfit(error, lambda _: ()).args[0]
            raise InvalidEvaluation(f"scheme {text!r}: {parameter} {reason}") from None
        return cls(kind, value)

    def __str__(self) -> str:
        if self.value is None or self.value == "none":
            return self.kind
        return f"{self.kind}:{self.value:g}" if isinstance(self.value, float) else f"{self.kind}:{self.value}"


def parse_schemes(texts: Iterable[str], registry: Registry | None = None) -> tuple[Scheme, ...]:
    """Schemes in the order in which they are asked for, of those that the registry has: without one, those
    built in.

    Raises InvalidEvaluation for none, or one twice.
    """
    registry = registry or Registry()
    schemes = tuple(Scheme.parse(text, registry) for text in texts)
    if not schemes:
        raise InvalidEvaluation("no scheme is asked for: expected at least one")
    names = [str(scheme) for scheme in schemes]
    for name in names:
        if names.count(name) > 1:
            raise InvalidEvaluation(f"scheme {name} is asked for twice: expected once")
    return schemes


@dataclass(frozen=True, eq=False)
class SchemeCatalogue:
    """The schemes sorted by what decides: envelopes, grids of channels, circles of channels.

    `order` are the places of the sorted schemes in the list as it was asked for.
    """

    ahead: Floats  # envelopes: seconds of way that they reach ahead, 0 for RADIAL
    grid: Ints  # grids: cells a side
    wide: Bools  # grids: whether clients listen to all cells that their area touches
    extension: Floats  # circles: metres by which they are enlarged when an event is looked up
    multi: Bools  # circles: whether RADIAL's rule holds outside of them
    order: Ints
    area: tuple[float, float, float, float]
    circle_x: Floats
    circle_y: Floats
    circle_r: Floats

    @classmethod
    def of(
        cls,
        schemes: tuple[Scheme, ...],
        radius: float,
        size: tuple[float, float],
        attractions: tuple[AttractionPoint, ...],
    ) -> SchemeCatalogue:
        """For subscriptions of one `radius` (m) in a world of `size` (m) with these attraction points."""
        numbered = list(enumerate(schemes))
        envelopes = [(i, s) for i, s in numbered if s.kind in ("radial", "ste")]
        grids = [(i, s) for i, s in numbered if s.kind in ("grid", "egrid")]
        circles = [(i, s) for i, s in numbered if s.kind in ("attract", "multi")]
        return cls(
            ahead=np.array([SECONDS_AHEAD * float(s.value or 0.0) for _, s in envelopes], np.float64),
            grid=np.array([s.value for _, s in grids], np.int64),
            wide=np.array([s.kind == "egrid" for _, s in grids], np.bool_),
            extension=np.array([_metres(s.value, radius) for _, s in circles], np.float64),
            multi=np.array([s.kind == "multi" for _, s in circles], np.bool_),
            order=np.array([i for i, _ in (*envelopes, *grids, *circles)], np.int64),
            area=(0.0, 0.0, *size),
            circle_x=np.array([p.x for p in attractions], np.float64),
            circle_y=np.array([p.y for p in attractions], np.float64),
            circle_r=np.array([p.radius for p in attractions], np.float64),
        )

    def wide_grids(self) -> SchemeCatalogue:
        """Only the grids in which clients listen to all cells that their area touches."""
        return replace(
            self,
            ahead=self.ahead[:0],
            grid=self.grid[self.wide],
            wide=self.wide[self.wide],
            extension=self.extension[:0],
            multi=self.multi[:0],
            order=np.arange(np.count_nonzero(self.wide)),
        )


def _metres(extension: float | str | None, radius: float) -> float:
    """Every subscription has the same radius here, so the largest and the average one are that."""
    if extension in (None, "none"):
        return 0.0
    return radius if isinstance(extension, str) else float(extension)
