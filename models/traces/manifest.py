"""The manifest of a trace: what it is a trace of, and which file holds which positions."""

from __future__ import annotations

import json
import math
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bypass.errors import shown
from bypass.models.maps import AttractionPoint
from bypass.models.maps.georeference import Georeference
from bypass.models.request import InvalidRequest
from bypass.models.traces.errors import InvalidTrace
from bypass.support.arrays import Floats
from bypass.support.durable_files import replacing
from bypass.transitions.validation import first_problem

MANIFEST = "_trace.json"
ACCURACY = 0.01
"""How far off (m) a place may be because its coordinates are of single precision."""
FARTHEST = 131_072.0
"""From here on (m) numbers of single precision are farther apart than that."""
SHORTEST_STEP = 1e-6
_USUAL_SLAB = 20.0
_ROUNDING = 1e-9


class Manifest(BaseModel):
    """The clients' positions at times 0, step, 2 · step, ... up to the duration (s), in slabs and blocks.

    A slab is a stretch of time of `slab` seconds, `per_slab` samples; the very last sample belongs to the
    last slab, even if a new one would begin with it. A block is a range of clients; `blocks` are their first.
    Each slab has a file for each block. `offset` (s, m, m) has been taken off the times, x and y of a trace
    that was laid out, so that they begin at 0. `georeference` says where on earth it is, if known.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    format: Literal[1] = 1
    bypass: str
    model: str | None = None
    parameters: dict[str, Any] = {}
    seed: int | None = None
    clients: int = Field(ge=1, lt=2**31)
    duration: float = Field(ge=0)
    step: float = Field(gt=0)
    samples: int
    slab: float = Field(gt=0)
    size: tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]]
    attractions: tuple[AttractionPoint, ...] = ()
    georeference: Georeference | None = None
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    blocks: tuple[int, ...] = Field(min_length=1)
    rows: int

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.samples != (expected := count_samples(self.duration, self.step)):
            raise ValueError(f"samples is {self.samples}: expected {expected}")
        if self.rows != (expected := self.samples * self.clients):
            raise ValueError(f"rows is {self.rows}: expected {expected}")
        if self.blocks[0] != 0 or any(a >= b for a, b in pairwise((*self.blocks, self.clients))):
            raise ValueError(
                f"blocks are {shown(self.blocks)}: expected 0, ... below {self.clients}, ascending"
            )
        if (problem := sampling_problem(self.step, self.slab)) is not None:
            raise ValueError(problem)
        return self

    @cached_property
    def per_slab(self) -> int:
        """How many samples a slab has; the last one may have fewer, or one more."""
        return round(self.slab / self.step)

    @property
    def slabs(self) -> int:
        """How many slabs there are."""
        return max(1, math.ceil((self.samples - 1) / self.per_slab))

    def times(self, first: int, last: int) -> Floats:
        """The times (s) of samples `first` to `last` - 1."""
        return np.arange(first, last).astype(np.float64) * self.step

    def slab_of(self, sample: int) -> int:
        """The slab that a sample belongs to."""
        return min(sample // self.per_slab, self.slabs - 1)

    def slab_samples(self, slab: int) -> tuple[int, int]:
        """The first sample of a slab, and the first one after it."""
        first = slab * self.per_slab
        return first, self.samples if slab == self.slabs - 1 else first + self.per_slab

    @property
    def block_bounds(self) -> list[tuple[int, int]]:
        """The first client of each block, and the first one after it."""
        return list(pairwise((*self.blocks, self.clients)))

    def save(self, folder: Path) -> None:
        """Write the manifest, which tells that the trace is complete."""
        with replacing(folder / MANIFEST) as unfinished:
            unfinished.write_text(json.dumps(self.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8")


def load_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder. Raises InvalidTrace."""
    path = folder / MANIFEST
    if not folder.exists():
        raise InvalidTrace(f"{folder} does not exist: expected the folder of a trace")
    if not path.is_file():
        raise InvalidTrace(f"{folder} has no {MANIFEST}: expected a trace that was written to its end")
    try:
        return Manifest.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        problem = first_problem(error)
        found = f"{problem.key} is {shown(problem.value)}: " if problem.path else ""
        raise InvalidTrace(f"{path}: {found}{problem.message}") from error
    except ValueError as error:
        raise InvalidTrace(f"{path} is not JSON: {error}") from error


def block_file(folder: Path, slab: int, first: int) -> Path:
    """Where the positions are of the block that begins with client `first`, in one slab."""
    return folder / f"slab={slab:05d}" / f"clients={first:010d}.parquet"


def count_samples(duration: float, step: float) -> int:
    """How many times 0, step, 2 · step, ... there are up to the duration."""
    return math.floor(duration / step + _ROUNDING) + 1


def checked_slab(step: float, slab: float | None) -> float:
    """The slab (s), or without one the multiple of the step that is nearest to 20 s.

    Raises InvalidRequest unless it is a whole number of steps.
    """
    check_step(step)
    if slab is None:
        return step * max(1, round(_USUAL_SLAB / step))
    if (problem := sampling_problem(step, slab)) is not None:
        raise InvalidRequest(problem)
    return slab


def check_step(step: float) -> None:
    """Raise InvalidRequest if nothing can be sampled each `step` seconds."""
    if (problem := _step_problem(step)) is not None:
        raise InvalidRequest(problem)


def _step_problem(step: float) -> str | None:
    if math.isfinite(step) and step >= SHORTEST_STEP:
        return None
    return f"step is {step} s: expected a finite time of at least a microsecond, the unit of times of events"


def sampling_problem(step: float, slab: float) -> str | None:
    """The problem with slabs of `slab` seconds and a sample each `step` seconds, in words; None if there is
    none."""
    if (problem := _step_problem(step)) is not None:
        return problem
    if not (math.isfinite(slab) and slab > 0):
        return f"slab is {slab} s: expected a finite time above 0"
    steps = slab / step
    if round(steps) < 1 or abs(steps - round(steps)) > _ROUNDING * steps:
        return f"slab is {slab} s: expected a multiple of the step, {step} s"
    return None
