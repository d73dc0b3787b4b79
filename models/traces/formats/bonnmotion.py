"""BonnMotion's files: NAME.movements, maybe packed, with a line for each node, and NAME.params beside it.

A line has the node's waypoints, `t x y t x y ...`; who waits has the same x and y twice. The other file has
`key=value` lines, of which x and y (m) and duration (s) matter to us. Numbers are written with six decimals.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bypass.models.traces.errors import InvalidTrace
from bypass.models.traces.formats.text import (
    Size,
    first_line,
    number,
    numbered_lines,
    refuse,
    together,
    written,
)
from bypass.models.waypoints import Track, Waypoints
from bypass.support.durable_files import replacing

SUFFIXES = (".movements", ".movements.gz")


def read(path: Path) -> Waypoints:
    """The movement of all nodes; each stays at its last waypoint. Raises InvalidTrace."""
    duration = _params(path).get("duration")
    tracks = list(_tracks(path))
    if not tracks:
        raise InvalidTrace(f"{path}: found no node: expected a line for each")
    return together(tracks, duration)


def world(path: Path) -> Size | None:
    """Width and height (m) that NAME.params states, if it does. Raises InvalidTrace."""
    params = _params(path)
    return (params["x"], params["y"]) if {"x", "y"} <= params.keys() else None


def write(waypoints: Waypoints, path: Path, *, size: Size, model: str, seed: int) -> None:
    """Write NAME.movements, packed if `path` ends in .gz, and NAME.params."""
    with replacing(path) as unfinished:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(unfinished, "wt", encoding="utf-8") as file:
            for client in range(len(waypoints)):
                own = slice(*waypoints.offsets[client : client + 2])
                columns = written(waypoints.t[own]), written(waypoints.x[own]), written(waypoints.y[own])
                file.write(" ".join(map(" ".join, zip(*columns, strict=True))) + "\n")
    params = {
        "model": model,
        "ignore": 0.0,
        "randomSeed": seed,
        "x": size[0],
        "y": size[1],
        "duration": waypoints.duration,
        "nn": len(waypoints),
        "circular": "false",
    }
    with replacing(params_file(path)) as unfinished:
        unfinished.write_text("".join(f"{key}={value}\n" for key, value in params.items()), encoding="utf-8")


def _tracks(path: Path) -> Iterator[Track]:
    if first_line(path) == "#3D":
        refuse(path, 1, "#3D", "movement in a plane")
    for line, text in numbered_lines(path):
        words = text.split()
        if len(words) % 3:
            refuse(path, line, f"{len(words)} numbers", "three for each waypoint, t x y")
        try:
            numbers = np.array(words, dtype=np.float64)
        except ValueError:
            numbers = np.array([number(path, line, word, "t x y for each waypoint") for word in words])
        t, x, y = numbers.reshape(-1, 3).T
        if (wrong := np.flatnonzero(~np.isfinite(numbers))).size:
            refuse(path, line, words[wrong[0]], "a number")
        if (back := np.flatnonzero(np.diff(t) < 0)).size:
            refuse(path, line, f"time {t[back[0] + 1]} after {t[back[0]]}", "times in order")
        yield t, x, y


def params_file(path: Path) -> Path:
    """The file that belongs to NAME.movements."""
    name = path.name.removesuffix(".gz").removesuffix(".movements")
    return path.with_name(f"{name}.params")


def _params(path: Path) -> dict[str, float]:
    """The values of NAME.params that matter to us; empty if there is no such file."""
    beside = params_file(path)
    found: dict[str, float] = {}
    if beside.is_file():
        for line, text in numbered_lines(beside):
            key, _, value = text.partition("=")
            if key in ("x", "y", "duration"):
                found[key] = number(beside, line, value, key)
    return found
