"""Kernels that walk the streets of a map: they choose goals and routes, and write waypoints.

A client's draws are numbered in the order in which it makes them, so they are the same whoever else walks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bypass.models.maps.polygons import Triangles
from bypass.models.maps.street_map import TIE, Streets
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, normal_pair, uniform_pair
from bypass.support.kernel import kernel
from bypass.support.search import count_up_to


class Places(NamedTuple):
    """Places (m) and the ends of the streets they are on, the nearer end first.

    Both ends are the same node for a place beside the streets: it is reached from there.
    """

    x: Floats
    y: Floats
    near: Ints
    far: Ints


class Walkers(NamedTuple):
    """Clients between two trips: their numbers, since when (s) and where they are, their next draws."""

    number: Ints
    now: Floats
    at: Places
    draw: Ints


class Pace(NamedTuple):
    """Bounds of speeds (m/s) and pauses (s)."""

    slowest: float
    fastest: float
    shortest: float
    longest: float


@kernel
def on_streets(
    seed: np.uint64, clients: Ints, draws: Ints, nodes: Floats, edges: Ints, shares: Floats
) -> Places:
    """A place on the streets for each client, every metre equally likely. Takes one draw."""
    x, y = np.empty(len(clients)), np.empty(len(clients))
    near, far = np.empty(len(clients), np.int64), np.empty(len(clients), np.int64)
    for i in range(len(clients)):
        u, share = uniform_pair(seed, Purpose.MOBILITY, clients[i], draws[i])
        edge = count_up_to(shares, u)
        a, b = edges[edge, 0], edges[edge, 1]
        x[i] = nodes[a, 0] + share * (nodes[b, 0] - nodes[a, 0])
        y[i] = nodes[a, 1] + share * (nodes[b, 1] - nodes[a, 1])
        near[i], far[i] = (a, b) if share < 0.5 else (b, a)
    return Places(x, y, near, far)


@kernel
def around(
    seed: np.uint64,
    clients: Ints,
    draws: Ints,
    centres: Floats,
    shares: Floats,
    triangles: Triangles,
    width: float,
    height: float,
) -> Floats:
    """A place (x, y) in the world for each client, around one of the centres. Takes two draws.

    `centres` has a row (x, y, standard deviation) for each centre; `shares` are the running sums of visits.
    Where a centre has triangles, every place in them is equally likely.
    """
    places = np.empty((len(clients), 2))
    for i in range(len(clients)):
        u, part = uniform_pair(seed, Purpose.MOBILITY, clients[i], draws[i])
        chosen = count_up_to(shares, u)
        first, last = triangles.first[chosen], triangles.first[chosen + 1]
        if first < last:
            corners = triangles.corners[first + count_up_to(triangles.shares[first:last], part)]
            v, w = uniform_pair(seed, Purpose.MOBILITY, clients[i], draws[i] + 1)
            to_side = math.sqrt(v)  # from the first corner: there is more room near the opposite side
            a, b, c = 1.0 - to_side, to_side * (1.0 - w), to_side * w
            places[i, 0] = a * corners[0] + b * corners[2] + c * corners[4]
            places[i, 1] = a * corners[1] + b * corners[3] + c * corners[5]
            continue
        dx, dy = normal_pair(seed, Purpose.MOBILITY, clients[i], draws[i] + 1)
        centre = centres[chosen]
        places[i, 0] = min(max(centre[0] + centre[2] * dx, 0.0), width)
        places[i, 1] = min(max(centre[1] + centre[2] * dy, 0.0), height)
    return places


@kernel
def _leads_on(left: Floats, here: int, there: int, length: float) -> bool:
    """Whether a street is part of a shortest way; `left` is how far it is from each node to the goal."""
    return bool(left[there] < left[here] and left[there] + length < left[here] + TIE)


@kernel
def route(
    seed: np.uint64, client: int, draw: int, streets: Streets, left: Floats, start: int, path: Ints
) -> tuple[int, int]:
    """Write the nodes of a shortest way to where nothing is `left`; gives their count and the next draw.

    Where several streets lead on equally well, a draw chooses, so equal routes share the traffic.
    """
    here, count = start, 1
    path[0] = start
    while left[here] > 0.0:
        first, last = streets.starts[here], streets.starts[here + 1]
        ways = 0
        for k in range(first, last):
            if _leads_on(left, here, streets.ends[k], streets.lengths[k]):
                path[count] = streets.ends[k]
                ways += 1
        if ways > 1:
            u, _ = uniform_pair(seed, Purpose.MOBILITY, client, draw)
            draw += 1
            others = int(u * ways)
            for k in range(first, last):
                if _leads_on(left, here, streets.ends[k], streets.lengths[k]):
                    path[count] = streets.ends[k]
                    others -= 1
                    if others < 0:
                        break
        here = path[count]
        count += 1
    return count, draw


@kernel
def _to_node(streets: Streets, x: float, y: float, node: int) -> float:
    return math.hypot(streets.nodes[node, 0] - x, streets.nodes[node, 1] - y)


@kernel
def _ends(
    streets: Streets, rows: Floats, to_near: int, to_far: int, at: Places, i: int, goals: Places, k: int
) -> tuple[int, int]:
    """The node where the shortest way from a place to a goal begins, and the row of distances to its end."""
    least, start, row = math.inf, at.near[i], to_near
    for first in (at.near[i], at.far[i]):
        before = _to_node(streets, at.x[i], at.y[i], first)
        over_near = before + rows[to_near, first] + _to_node(streets, goals.x[k], goals.y[k], goals.near[k])
        if over_near < least:
            least, start, row = over_near, first, to_near
        over_far = before + rows[to_far, first] + _to_node(streets, goals.x[k], goals.y[k], goals.far[k])
        if over_far < least:
            least, start, row = over_far, first, to_far
    return start, row


@kernel
def _on_the_way(here: float, there: float, share: float) -> float:
    # Rounding must not carry anybody beyond the place that lies ahead.
    return min(max(here + share * (there - here), min(here, there)), max(here, there))


@kernel
def walk(
    seed: np.uint64,
    walkers: Walkers,
    goers: Ints,
    goals: Places,
    rows: Floats,
    to_near: Ints,
    to_far: Ints,
    streets: Streets,
    pace: Pace,
    end: float,
) -> tuple[Floats, Ints]:
    """Let the walkers `goers` go to their goals and pause there; changes `walkers`.

    `goals` belong to `goers`. Rows `to_near[k]` and `to_far[k]` of `rows` have the distances to the ends of
    the street where the k-th goal is. Gives waypoints, a row each of t, x, y, one goer after the other, and
    how many each has. Of the movement only what lies between times 0 and `end` is written, with waypoints at
    exactly these times.
    """
    track, used = np.empty((3, 16 * len(goers))), 0
    counts = np.zeros(len(goers), np.int64)
    path = np.empty(len(streets.nodes), np.int64)
    for k in range(len(goers)):
        i = goers[k]
        draw = walkers.draw[i]
        u, v = uniform_pair(seed, Purpose.MOBILITY, walkers.number[i], draw)
        speed = pace.slowest + u * (pace.fastest - pace.slowest)
        pause = pace.shortest + v * (pace.longest - pace.shortest)
        draw += 1

        near, far = goals.near[k], goals.far[k]
        a, b = walkers.at.near[i], walkers.at.far[i]
        length = 0
        if a == b or near == far or not ((a == near and b == far) or (a == far and b == near)):
            start, row = _ends(streets, rows, to_near[k], to_far[k], walkers.at, i, goals, k)
            length, draw = route(seed, walkers.number[i], draw, streets, rows[row], start, path)
        if used + 2 * length + 6 > track.shape[1]:
            larger = np.empty((3, 2 * (track.shape[1] + length) + 6))
            larger[:, :used] = track[:, :used]
            track = larger

        before = used
        now, x, y = walkers.now[i], walkers.at.x[i], walkers.at.y[i]
        for leg in range(length + 2):
            if leg < length:
                to_x, to_y = streets.nodes[path[leg], 0], streets.nodes[path[leg], 1]
            else:
                to_x, to_y = goals.x[k], goals.y[k]
            then = now + (math.hypot(to_x - x, to_y - y) / speed if leg <= length else pause)
            if now <= 0.0 < then:
                share = -now / (then - now)
                track[0, used] = 0.0
                track[1, used], track[2, used] = _on_the_way(x, to_x, share), _on_the_way(y, to_y, share)
                used += 1
            if then >= end:
                share = (end - now) / (then - now)
                track[0, used] = end
                track[1, used], track[2, used] = _on_the_way(x, to_x, share), _on_the_way(y, to_y, share)
                used += 1
                now = then
                break
            if then > max(now, 0.0):
                track[0, used], track[1, used], track[2, used] = then, to_x, to_y
                used += 1
            now, x, y = then, to_x, to_y
        walkers.now[i], walkers.draw[i] = now, draw
        walkers.at.x[i], walkers.at.y[i] = goals.x[k], goals.y[k]
        walkers.at.near[i], walkers.at.far[i] = near, far
        counts[k] = used - before
    return track[:, :used].copy(), counts


@kernel
def append(track: Floats, free: Ints, goers: Ints, part: Floats, counts: Ints) -> None:
    """Copy what `walk` gave to the places in `track` that are free next for each walker; changes `free`."""
    position = 0
    for k in range(len(goers)):
        at = free[goers[k]]
        track[:, at : at + counts[k]] = part[:, position : position + counts[k]]
        free[goers[k]] += counts[k]
        position += counts[k]
