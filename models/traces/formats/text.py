"""Helpers of the formats that keep a trace as text: lines, numbers, and errors that name the line."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NoReturn

import numpy as np

from bypass.errors import shown
from bypass.models.traces.errors import InvalidTrace
from bypass.models.waypoints import Track, Waypoints
from bypass.support.arrays import Floats

DECIMALS = 6
"""Digits after the point in what is written: microseconds, micrometres."""

Size = tuple[float, float]

NO_TEXT = UnicodeDecodeError, gzip.BadGzipFile, zlib.error, EOFError
"""Errors that reading a file of another kind raises."""

_GZIP = b"\x1f\x8b"


def is_packed(path: Path) -> bool:
    """Whether a file is packed by gzip, whatever its name says."""
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def open_text(path: Path) -> IO[str]:
    """Open a file to be read, unpacked if need be."""
    if is_packed(path):
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def first_line(path: Path) -> str:
    """The first line of a file, whatever it is. Raises InvalidTrace."""
    try:
        with open_text(path) as file:
            return file.readline().strip()
    except NO_TEXT as error:
        raise InvalidTrace(f"{path}, line 1: found no text: {error}: expected UTF-8, all of it") from error


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, without blank ones and comments. Raises InvalidTrace."""
    number = 0
    try:
        with open_text(path) as file:
            for number, line in enumerate(file, start=1):
                text = line.strip()
                if text and not text.startswith("#"):
                    yield number, text
    except NO_TEXT as error:
        raise InvalidTrace(
            f"{path}, after line {number}: found no text: {error}: expected UTF-8, all of it"
        ) from error


def refuse(path: Path, line: int, found: object, expected: str) -> NoReturn:
    """Raise InvalidTrace."""
    raise InvalidTrace(f"{path}, line {line}: found {shown(found)}: expected {expected}")


def number(path: Path, line: int, text: str, what: str) -> float:
    """The number that `text` is. Raises InvalidTrace unless it is a finite one."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        refuse(path, line, text, f"a number, {what}")
    return value


def together(tracks: Iterable[Track], duration: float | None = None) -> Waypoints:
    """The clients' tracks, all held until `duration`, or until the last time that any of them has."""
    parts = list(tracks)
    latest = max(float(t[-1]) for t, _, _ in parts)
    end = latest if duration is None else max(duration, latest)
    return Waypoints.of_tracks(_held(track, end) for track in parts)


def _held(track: Track, end: float) -> Track:
    t, x, y = track
    if t[-1] >= end:
        return track
    return np.append(t, end), np.append(x, x[-1]), np.append(y, y[-1])


def written(values: Floats, decimals: int = DECIMALS) -> list[str]:
    """Numbers as text."""
    return [f"{value:.{decimals}f}" for value in values.tolist()]


def bounding_size(path: Path, waypoints: Waypoints) -> Size:
    """The smallest world in whole metres, at least one each way, that all waypoints of a file lie in.

    Raises InvalidTrace if one has a negative coordinate.
    """
    for name, column in (("x", waypoints.x), ("y", waypoints.y)):
        if (lowest := float(column.min())) < 0:
            raise InvalidTrace(f"{path}: {name} is {lowest} m: expected at least 0")
    return whole_metres(waypoints.x.max()), whole_metres(waypoints.y.max())


def whole_metres(reach: float) -> float:
    """The least side (m) of a world that reaches so far."""
    return max(1.0, float(math.ceil(reach)))
