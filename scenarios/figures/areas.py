"""Use of mechanisms around each attraction point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bypass.places.region import Place
from bypass.scenarios.figures.borders import beyond_border
from bypass.scenarios.figures.usage import ClientExecution, JoinOrLeave


@dataclass(frozen=True, slots=True)
class Stay:
    """A client used a mechanism at an attraction point, from when to when (s)."""

    start: float
    end: float
    mechanism: str


def stays(
    proxy: str,
    executions: Iterable[ClientExecution],
    attendance: Iterable[JoinOrLeave],
    places: Sequence[Place],
    duration: float,
) -> list[list[Stay]]:
    """The stays at each place. A client begins one where it executes a transition of the proxy, at the place
    whose border is nearest, and ends it where it executes the next one, leaves, or uses nothing."""
    changes: dict[int, list[tuple[float, int, str]]] = {}
    for each in executions:
        if each.client is not None and each.record.proxy == proxy and each.record.outcome == "done":
            x, y = np.array([each.x]), np.array([each.y])
            distances = [float(beyond_border(place, x, y)[0]) for place in places]
            where = int(np.argmin(distances)) if distances else -1
            changes.setdefault(each.client, []).append((each.record.at, where, each.record.target))
    for one in attendance:
        changes.setdefault(one.client, []).append((one.at, -1, "nothing"))
    found: list[list[Stay]] = [[] for _ in places]
    for own in changes.values():
        own.sort(key=lambda change: change[0])
        ends = [*(at for at, _, _ in own[1:]), duration]
        for (at, where, mechanism), end in zip(own, ends, strict=True):
            if where >= 0 and mechanism != "nothing" and min(end, duration) > at:
                found[where].append(Stay(at, min(end, duration), mechanism))
    return found


def by_area(
    places: Sequence[Place], found: Sequence[Sequence[Stay]], mechanisms: Iterable[str]
) -> dict[str, Any]:
    """How many places were `visited`, at how many of them each mechanism was never used (`without`), and the
    share of clients' time there in which a client used what most others at its place did (`together`).

    `places` has for each of them the `seconds` of all clients there and the share of each mechanism.
    """
    kinds = [name for name in mechanisms if name != "nothing"]
    figures = {}
    for place, own in zip(places, found, strict=True):
        seconds = dict.fromkeys(kinds, 0.0)
        for stay in own:
            seconds[stay.mechanism] += stay.end - stay.start
        whole = sum(seconds.values())
        figures[place.name] = {"seconds": whole} | {
            kind: time / whole if whole else float("nan") for kind, time in seconds.items()
        }
    visited = [own for own in figures.values() if own["seconds"] > 0.0]
    whole = sum(own["seconds"] for own in visited)
    return {
        "visited": len(visited),
        "without": {kind: sum(own[kind] == 0.0 for own in visited) for kind in kinds},
        "together": sum(map(_with_most, found)) / whole if whole else float("nan"),
        "places": figures,
    }


def _with_most(own: Sequence[Stay]) -> float:
    """Seconds of clients that used what most clients at the place used then."""
    edges = sorted(
        [(stay.start, stay.mechanism, 1) for stay in own] + [(stay.end, stay.mechanism, -1) for stay in own]
    )
    counts = dict.fromkeys({stay.mechanism for stay in own}, 0)
    seconds, before = 0.0, 0.0
    for at, mechanism, change in edges:
        seconds += max(counts.values(), default=0) * (at - before)
        counts[mechanism] += change
        before = at
    return seconds
