"""Movement files of the ONE simulator: positions of all nodes at a fixed step.

The first line is `minT maxT minX maxX minY maxY`, maybe with two numbers more for a third axis; the others
are `t id x y`, sorted by t. Times and places count from the least. Numbers are written with six decimals.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bypass.models.traces.errors import InvalidTrace
from bypass.models.traces.formats.text import Size, number, numbered_lines, refuse, together, written
from bypass.models.traces.manifest import count_samples
from bypass.models.waypoints import Waypoints
from bypass.support.durable_files import replacing

SUFFIXES = (".one",)

_BOUNDS = "minT maxT minX maxX minY maxY"


def read(path: Path) -> Waypoints:
    """The movement of all nodes, in the order of their ids, by number if all are numbers.

    Raises InvalidTrace.
    """
    lines = numbered_lines(path)
    min_t, _, min_x, _, min_y, _ = _header(path, lines)
    columns: dict[str, tuple[array[float], array[float], array[float]]] = defaultdict(
        lambda: (array("d"), array("d"), array("d"))
    )
    latest = min_t
    for line, text in lines:
        words = text.split()
        if len(words) != 4:
            refuse(path, line, text, "t id x y")
        t, x, y = (number(path, line, words[i], name) for i, name in ((0, "t"), (2, "x"), (3, "y")))
        if t < latest:
            refuse(path, line, f"time {t}", f"at least {latest}, the time before")
        latest = t
        for column, value in zip(columns[words[1]], (t - min_t, x - min_x, y - min_y), strict=True):
            column.append(value)
    if not columns:
        raise InvalidTrace(f"{path}: found no position: expected lines t id x y after the first one")
    ids = sorted(columns, key=int) if all(map(str.isdecimal, columns)) else sorted(columns)
    return together((np.array(t), np.array(x), np.array(y)) for t, x, y in map(columns.__getitem__, ids))


def world(path: Path) -> Size:
    """Width and height (m) that the first line states. Raises InvalidTrace."""
    _, _, min_x, max_x, min_y, max_y = _header(path, numbered_lines(path))
    return max_x - min_x, max_y - min_y


def write(waypoints: Waypoints, path: Path, *, size: Size, step: float) -> None:
    """Write where all clients are at times 0, step, 2 · step, ... (s)."""
    times = np.arange(count_samples(waypoints.duration, step)).astype(np.float64) * step
    cursor = waypoints.cursor()
    clients = list(map(str, range(len(waypoints))))
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        file.write(" ".join(written(np.array([0.0, times[-1], 0.0, size[0], 0.0, size[1]]))) + "\n")
        for at, text in zip(times.tolist(), written(times), strict=True):
            x, y = map(written, cursor.positions(at))
            file.writelines(f"{text} {i} {px} {py}\n" for i, px, py in zip(clients, x, y, strict=True))


def _header(path: Path, lines: Iterator[tuple[int, str]]) -> list[float]:
    line, text = next(lines, (1, ""))
    words = text.split()
    if len(words) not in (6, 8):
        refuse(path, line, text, _BOUNDS)
    return [number(path, line, word, _BOUNDS) for word in words[:6]]
