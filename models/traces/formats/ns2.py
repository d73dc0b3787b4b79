"""ns-2's movement files, which ns-3 reads too.

`$node_(0) set X_ 1.5` and the same with Y_ say where a node starts. `$ns_ at 2.0 "$node_(0) setdest 3 4 0.5"`
sends it straight to (3, 4) at 0.5 m/s, whether it has arrived where it was going or not; at speed 0 it stays
where it is. `$ns_ at 2.0 "$node_(0) set X_ 3.0"` makes it jump. Neither the duration nor the size of the
world has a statement: a comment at the top tells them. Numbers get six decimals, speeds nine.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from bypass.models.traces.errors import InvalidTrace
from bypass.models.traces.formats.text import (
    DECIMALS,
    Size,
    first_line,
    number,
    numbered_lines,
    refuse,
    together,
    written,
)
from bypass.models.waypoints import Track, Waypoints
from bypass.support.arrays import Floats
from bypass.support.durable_files import replacing

SUFFIXES = (".ns2", ".ns_movements", ".tcl")
SPEED_DECIMALS = 9

_NODE = r"\$node_\((\d+)\)"
_START = re.compile(rf"{_NODE}\s+set\s+([XYZ])_\s+(\S+)$")
_MOVE = re.compile(rf'\$ns_?\s+at\s+(\S+)\s+"{_NODE}\s+setdest\s+(\S+)\s+(\S+)\s+([^\s"]+)\s*"$')
_JUMP = re.compile(rf'\$ns_?\s+at\s+(\S+)\s+"{_NODE}\s+set\s+([XYZ])_\s+([^\s"]+)\s*"$')
# Who computes routes beforehand, and settings of the simulation: of no concern to movement.
_OTHER = re.compile(r'\$god_\s|\$ns_?\s+at\s+\S+\s+"\$god_\s|set\s')
_HEADER = re.compile(r"# nodes: \d+, duration: (\S+), max x: (\S+), max y: (\S+)$")


class _Order(NamedTuple):
    """An order to a node: go to (x, y) at `speed`, or jump there if it has no speed. NaN keeps a coordinate
    as it was."""

    at: float
    x: float
    y: float
    speed: float | None


def read(path: Path) -> Waypoints:
    """The movement of all nodes, in the order of their numbers; each stays at its last place.

    Raises InvalidTrace.
    """
    starts: dict[int, dict[str, float]] = defaultdict(dict)
    orders: dict[int, list[_Order]] = defaultdict(list)
    lines: dict[int, int] = {}
    for line, text in numbered_lines(path):
        node = _statement(path, line, text, starts, orders)
        if node is not None:
            lines.setdefault(node, line)
    if not lines:
        raise InvalidTrace(f"{path}: found no node: expected statements such as $node_(0) set X_ 1.0")
    for node, line in lines.items():
        if not {"X", "Y"} <= starts[node].keys():
            refuse(path, line, f"no X_ and Y_ of node {node}", "where it starts")
    header = _header(path)
    tracks = (_track(starts[node], orders[node]) for node in sorted(lines))
    return together(tracks, header[0] if header else None)


def world(path: Path) -> Size | None:
    """Width and height (m) that the first line states, if it does. Raises InvalidTrace."""
    header = _header(path)
    return header[1:] if header else None


def write(waypoints: Waypoints, path: Path, *, size: Size) -> None:
    """Write the movement of all clients, as nodes of their numbers."""
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        file.write(f"# nodes: {len(waypoints)}, duration: {waypoints.duration:.{DECIMALS}f}")
        file.write(f", max x: {size[0]:.{DECIMALS}f}, max y: {size[1]:.{DECIMALS}f}\n")
        for client in range(len(waypoints)):
            own = slice(*waypoints.offsets[client : client + 2])
            # As they will be read: speeds follow from the numbers in the file.
            rounded = (np.round(column[own], DECIMALS) for column in (waypoints.t, waypoints.x, waypoints.y))
            _write_node(file, f"$node_({client})", *rounded)


def _statement(
    path: Path,
    line: int,
    text: str,
    starts: dict[int, dict[str, float]],
    orders: dict[int, list[_Order]],
) -> int | None:
    """Note what a statement says and give the node it is about, if it is about one."""
    if found := _MOVE.match(text):
        at, node, *goal = found.groups()
        x, y, speed = (number(path, line, word, "x y speed") for word in goal)
        if speed < 0:
            refuse(path, line, goal[2], "a speed of at least 0")
        orders[int(node)].append(_Order(_time(path, line, at), x, y, speed))
    elif found := _START.match(text):
        node, axis, place = found.groups()
        starts[int(node)][axis] = number(path, line, place, f"{axis}_")
    elif found := _JUMP.match(text):
        at, node, axis, place = found.groups()
        value = number(path, line, place, f"{axis}_")
        x, y = (value if axis == each else math.nan for each in "XY")
        orders[int(node)].append(_Order(_time(path, line, at), x, y, None))
    elif _OTHER.match(text):
        return None
    else:
        refuse(path, line, text, '$node_(N) set X_ x or $ns_ at t "$node_(N) setdest x y speed"')
    return int(node)


def _time(path: Path, line: int, text: str) -> float:
    at = number(path, line, text, "the time")
    if at < 0:
        refuse(path, line, text, "a time of at least 0")
    return at


def _track(start: dict[str, float], orders: list[_Order]) -> Track:
    """Where a node is that starts there and does as it is told."""
    here = start["X"], start["Y"]
    goal, since, arrival = here, 0.0, 0.0
    points = [(0.0, *here)]
    for at, x, y, speed in sorted(orders, key=lambda order: order.at):
        if arrival <= at:
            points.append((arrival, *goal))
            here = goal
        else:
            share = (at - since) / (arrival - since)
            here = here[0] + share * (goal[0] - here[0]), here[1] + share * (goal[1] - here[1])
        points.append((at, *here))
        since = arrival = at
        if speed is None:
            goal = here = (here[0] if math.isnan(x) else x), (here[1] if math.isnan(y) else y)
            points.append((at, *here))
        elif speed == 0:
            goal = here
        else:
            goal = x, y
            arrival = at + math.dist(here, goal) / speed
    points.append((arrival, *goal))
    # A point that says what the one before it says is of no use.
    kept = [point for point, before in zip(points, [None, *points], strict=False) if point != before]
    t, x, y = np.array(kept).T
    return t, x, y


def _header(path: Path) -> tuple[float, float, float] | None:
    found = _HEADER.match(first_line(path))
    if found is None:
        return None
    duration, width, height = (number(path, 1, word, "duration, max x, max y") for word in found.groups())
    return duration, width, height


def _write_node(file: IO[str], node: str, t: Floats, x: Floats, y: Floats) -> None:
    places = list(zip(written(x), written(y), strict=True))
    file.write(
        f"{node} set X_ {places[0][0]}\n{node} set Y_ {places[0][1]}\n{node} set Z_ {0:.{DECIMALS}f}\n"
    )
    lengths, seconds = np.hypot(np.diff(x), np.diff(y)).tolist(), np.diff(t).tolist()
    for at, goal, length, took in zip(written(t), places[1:], lengths, seconds, strict=False):
        if length == 0:
            continue
        if took == 0:
            for axis, place in zip("XY", goal, strict=True):
                file.write(f'$ns_ at {at} "{node} set {axis}_ {place}"\n')
        else:
            speed = f"{length / took:.{SPEED_DECIMALS}f}"
            file.write(f'$ns_ at {at} "{node} setdest {goal[0]} {goal[1]} {speed}"\n')
