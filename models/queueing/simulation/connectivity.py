"""Records of connectivity: when a device was connected, seen every so often, on one journey or several.

A file is CSV with the header `time,state` or `time,state,journey`, and one sample a line: times in seconds or
all in ISO 8601 (UTC if they do not say), states `ON` and `OFF` or `1` and `0`. Times of a journey ascend. A
journey ends where the name in its column changes or, without that column, before a gap between samples.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from bypass.errors import BypassError, shown
from bypass.models.queueing.simulation.periods import Periods
from bypass.support.arrays import Bools, Floats

GAP = 5.0
"""Samples that are more than so many usual steps apart are of different journeys."""

_STATES = {"ON": True, "1": True, "OFF": False, "0": False}
_HEADERS = (["time", "state"], ["time", "state", "journey"])


class InvalidConnectivity(BypassError):
    """A file that is no record of connectivity, or a record that shows too little."""


class Means(NamedTuple):
    """Mean lengths of ON and OFF periods (s)."""

    on: float
    off: float


@dataclass(frozen=True, eq=False)
class Journey:
    """Samples: times (s) that ascend strictly, and whether it was ON then. Raises InvalidConnectivity."""

    times: Floats
    states: Bools

    def __post_init__(self) -> None:
        if self.times.ndim != 1 or self.times.shape != self.states.shape or not len(self.times):
            raise InvalidConnectivity(
                f"times and states have shapes {self.times.shape} and {self.states.shape}:"
                " expected as many of each, at least one"
            )
        if not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise InvalidConnectivity(f"times {shown(self.times)}: expected finite ones that ascend")


class Connectivity:
    """Journeys of one kind, on one path, say. Each sample's state holds until the next sample, and that of a
    journey's last one for no time."""

    def __init__(self, journeys: Iterable[Journey]) -> None:
        self.journeys = tuple(journeys)
        if not any(len(journey.times) > 1 for journey in self.journeys):
            raise InvalidConnectivity(
                f"{len(self.journeys)} journeys: expected one with at least two samples"
            )
        self._steps = np.concatenate([np.diff(journey.times) for journey in self.journeys])
        self._states = np.concatenate([journey.states[:-1] for journey in self.journeys])
        self._changes = np.concatenate([np.diff(journey.states) for journey in self.journeys])

    @property
    def duration(self) -> float:
        """How long all journeys take (s)."""
        return float(self._steps.sum())

    def means(self) -> Means:
        """Mean periods as they were seen: the time that was ON, divided by how often it ended; OFF likewise.

        Of periods that a journey cuts off, the time counts that was seen, and the number if the end was seen:
        right for exponential periods, as what is left of one is like a whole one. What happens between two
        samples is missed, which makes the means longer: `underlying` allows for it. Raises
        InvalidConnectivity if ON or OFF was never seen to end.
        """
        (time_on, _, ends_on), (time_off, _, ends_off) = self._seen()
        return Means(time_on / ends_on, time_off / ends_off)

    def underlying(self) -> Means:
        """Mean periods that are exponential and were only looked at now and then, at equal steps.

        With p the share of steps from ON that lead to OFF, q that from OFF to ON, h the median step and
        s = -ln(1 - p - q) / h, ON periods end with the rate s p / (p + q) and OFF periods with s q / (p + q):
        the most likely values. Raises InvalidConnectivity as `means` does, and if p + q is 1 or more, as it
        may be if steps are too long to show periods.
        """
        (_, steps_on, ends_on), (_, steps_off, ends_off) = self._seen()
        p, q = ends_on / steps_on, ends_off / steps_off
        if p + q >= 1:
            raise InvalidConnectivity(
                f"states change after {p:.3g} of ON and {q:.3g} of OFF samples: expected less than 1 together"
            )
        rate = -math.log1p(-p - q) / float(np.median(self._steps))
        return Means((p + q) / (rate * p), (p + q) / (rate * q))

    def periods(self) -> Periods:
        """All journeys one right after the other. Raises InvalidConnectivity if it was never ON."""
        ends = np.cumsum(self._steps)
        begins = ends - self._steps
        steps = np.diff(np.concatenate(([False], self._states, [False])).astype(np.int8))
        first, last = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
        if not len(first):
            raise InvalidConnectivity(f"{self.duration} s without ON: expected some")
        return Periods(begins[first], ends[last] - begins[first], float(ends[-1]))

    def _seen(self) -> list[tuple[float, int, int]]:
        """Of ON and OFF: time, number of steps, and how often it ended."""
        seen = []
        for name, state in (("ON", self._states), ("OFF", ~self._states)):
            ended = int(np.count_nonzero(self._changes & state))
            if not ended:
                raise InvalidConnectivity(f"{name} never ends in {self.duration} s: expected it to")
            seen.append((float(self._steps[state].sum()), int(np.count_nonzero(state)), ended))
        return seen


def write_connectivity(connectivity: Connectivity, path: Path) -> None:
    """Write a record that reads back as it is: times in seconds, journeys numbered from 1 on."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADERS[1])
        for number, journey in enumerate(connectivity.journeys, start=1):
            for at, on in zip(journey.times.tolist(), journey.states.tolist(), strict=True):
                writer.writerow((at, "ON" if on else "OFF", number))


def read_connectivity(path: Path, gap: float | None = None) -> Connectivity:
    """Read a record. Raises InvalidConnectivity, also if there is no such file.

    Without a column that names journeys, a new one begins after more than `gap` seconds without a sample, by
    default five times the median step.
    """
    try:
        samples = list(_samples(path))
    except OSError as error:
        raise InvalidConnectivity(f"{path}: {error.strerror}: expected a record of connectivity") from error
    if len(samples) < 2:
        raise InvalidConnectivity(f"{path}: {len(samples)} samples: expected at least two")
    times = np.array([sample.time for sample in samples])
    names = np.array([sample.journey for sample in samples])
    steps = np.diff(times)
    if (wrong := (steps <= 0) & (names[1:] == names[:-1])).any():
        back = int(np.argmax(wrong)) + 1
        _refuse(path, samples[back].line, samples[back].text, f"a time after {samples[back - 1].text}")
    borders = names[1:] != names[:-1]
    if not samples[0].journey:
        borders = steps > (GAP * float(np.median(steps)) if gap is None else gap)
    cuts = np.flatnonzero(borders) + 1
    states = np.array([sample.on for sample in samples], np.bool_)
    try:
        return Connectivity(map(Journey, np.split(times, cuts), np.split(states, cuts)))
    except InvalidConnectivity as error:
        raise InvalidConnectivity(f"{path}: {error}") from None


class _Sample(NamedTuple):
    line: int
    text: str
    """The time as it stands there."""
    time: float
    on: bool
    journey: str


def _samples(path: Path) -> Iterator[_Sample]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        try:
            header = [name.strip().lower() for name in next(rows, [])]
            if header not in _HEADERS:
                _refuse(path, 1, ",".join(header), "time,state or time,state,journey")
            stamps = None
            for row in rows:
                cells = [cell.strip() for cell in row]
                if not any(cells):
                    continue
                line = rows.line_num
                if len(cells) != len(header):
                    _refuse(path, line, ",".join(row), f"{len(header)} values, {','.join(header)}")
                if stamps is None:
                    stamps = _number(cells[0]) is None
                time = _stamp(cells[0]) if stamps else _number(cells[0])
                if time is None:
                    _refuse(path, line, cells[0], "an ISO 8601 time" if stamps else "a time in seconds")
                if (state := _STATES.get(cells[1].upper())) is None:
                    _refuse(path, line, cells[1], "a state, ON, OFF, 1 or 0")
                if len(cells) == 3 and not cells[2]:
                    _refuse(path, line, cells[2], "a journey's name")
                yield _Sample(line, cells[0], time, state, *cells[2:] or [""])
        except (UnicodeDecodeError, csv.Error) as error:
            raise InvalidConnectivity(f"{path}: {error}: expected CSV in UTF-8") from None


def _number(text: str) -> float | None:
    """Seconds, if the text is a finite number of them."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _stamp(text: str) -> float | None:
    """Seconds since 1970, if the text is a time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _refuse(path: Path, line: int, found: str, expected: str) -> NoReturn:
    raise InvalidConnectivity(f"{path}, line {line}: found {shown(found)}: expected {expected}")
