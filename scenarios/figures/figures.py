"""Figures beyond the phases: what happened around transitions, near attraction points, early and late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bypass.places.region import Place
from bypass.scenarios.figures.borders import beyond_border
from bypass.scenarios.figures.measures import Columns, EventColumn, between, mean, precision, recall
from bypass.scenarios.figures.outages import dip, outage
from bypass.scenarios.figures.usage import ClientExecution, Course, JoinOrLeave
from bypass.support.arrays import Floats

RING_M = 125.0  # "just outside" an attraction point: as far as an area of interest reaches
CELL_M = 100.0  # of the grid in which density and recall are compared
ENOUGH = 20  # events in a cell for the means over them to say something


def around_transition(events: Columns, traffic: Mapping[str, EventColumn], at_s: float) -> dict[str, float]:
    """Recall of what was published within 100 ms of a transition, how long almost nothing arrived and what
    was missing, and bytes of context in the second after it, also relative to the median second from 10 s
    after it on."""
    moment = recall(between(events, at_s - 0.1, at_s + 0.1))
    found = outage(events, at_s)
    figures = {
        "recall_at_switch": mean(moment),
        "recall_dip_s": dip(events, at_s, found) if found else float("nan"),
        "outage_before_ms": found.before_ms if found else float("nan"),
        "outage_after_ms": found.after_ms if found else float("nan"),
    }
    second = int(at_s)
    for way in ("up", "down"):
        column = traffic[f"context_{way}"]
        burst = float(column[second : second + 1].sum())
        later = column[second + 10 : second + 130]
        usual = float(np.median(later)) if len(later) else 0.0
        figures[f"context_{way}_bytes"] = burst
        figures[f"context_{way}_burst"] = burst / max(usual, 1.0)
    return figures


def by_place(events: Columns, places: Iterable[Place]) -> dict[str, dict[str, float]]:
    """Mean recall and precision of events inside attraction points, in a ring around them, and far away."""
    distance = distance_to_border(events["x"], events["y"], places)
    zones = {
        "inside": distance <= 0,
        "ring": (distance > 0) & (distance <= RING_M),
        "far": distance > RING_M,
    }
    return {
        zone: {
            "events": int(chosen.sum()),
            "recall": mean(recall(events)[chosen]),
            "precision": mean(precision(events)[chosen]),
            "delay_ms": mean(events["delay_us"][chosen]) / 1000.0,
            "delay_there_ms": mean(events["delay_close_us"][chosen]) / 1000.0,
        }
        for zone, chosen in zones.items()
    }


def by_time(events: Columns, duration: float) -> dict[str, dict[str, float]]:
    """Means over what was published in the first and in the last fifth of a run."""
    stretches = {"first": (0.0, duration / 5.0), "last": (duration * 0.8, duration)}
    figures = {}
    for name, stretch in stretches.items():
        own = between(events, *stretch)
        figures[name] = {
            "recall": mean(recall(own)),
            "precision": mean(precision(own)),
            "delay_ms": mean(own["delay_us"]) / 1000.0,
        }
    return figures


def by_centre(events: Columns, width: float, height: float) -> dict[str, float]:
    """Mean recall of events in the central quarter of the world, and around it."""
    off = np.maximum(np.abs(events["x"] / width - 0.5), np.abs(events["y"] / height - 0.5))
    shares = recall(events)
    return {"centre": mean(shares[off <= 0.25]), "border": mean(shares[off > 0.25])}


def recall_by_density(events: Columns) -> float:
    """Rank correlation, over cells of 100 m, of the mean number of subscribers with the mean recall."""
    shares = recall(events)
    known = ~np.isnan(shares)
    column, row = (np.floor(events[axis][known] / CELL_M).astype(np.int64) for axis in "xy")
    _, cell = np.unique(np.stack((column, row)), axis=1, return_inverse=True)
    counts = np.bincount(cell)
    enough = counts >= ENOUGH
    subscribers, recalls = (
        (np.bincount(cell, values[known], len(counts)) / np.maximum(counts, 1))[enough]
        for values in (events["subscribers"], shares)
    )
    return correlation(_ranks(subscribers), _ranks(recalls))


def correlation(a: Floats, b: Floats) -> float:
    """Pearson's; NaN where one does not vary or there are fewer than 3 values."""
    if len(a) < 3 or not (np.ptp(a) > 0 and np.ptp(b) > 0):
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def _ranks(values: Floats) -> Floats:
    """The rank of each value; equal ones share the mean of theirs."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last: Floats = np.cumsum(counts).astype(np.float64)
    ranks: Floats = (last - (counts - 1) / 2.0)[group]
    return ranks


def distance_to_border(x: EventColumn, y: EventColumn, places: Iterable[Place]) -> Floats:
    """How far each point is from the nearest attraction point's border; negative inside."""
    distances = [beyond_border(place, x, y) for place in places]
    return np.min(distances, axis=0) if distances else np.full(len(x), np.inf)


def share_near_border(x: Floats, y: Floats, places: Iterable[Place], within_m: float) -> float:
    """Share of the points that lie at most so far from some attraction point's border."""
    distances = [np.abs(beyond_border(place, x, y)) for place in places]
    if not distances or not len(x):
        return float("nan")
    return float(np.mean(np.min(distances, axis=0) <= within_m))


def share_inside(x: Floats, y: Floats, places: Iterable[Place], margin_m: float) -> float:
    """Share of the points that lie in an attraction point, or at most so far from its border."""
    return float(np.mean(distance_to_border(x, y, places) <= margin_m)) if len(x) else float("nan")


def skewness(values: EventColumn) -> float:
    """Third standardised moment: 0 for a symmetric distribution, positive with a long tail to the right."""
    spread = values.std()
    return float(np.mean(((values - values.mean()) / spread) ** 3)) if spread > 0 else 0.0


def share_imperfect(events: Columns) -> float:
    """Share of the events with subscribers that did not reach all of them."""
    shares = recall(events)
    known = shares[~np.isnan(shares)]
    return float(np.mean(known < 1.0)) if len(known) else float("nan")


def present(attendance: Sequence[JoinOrLeave], clients: int, times: EventColumn) -> Floats:
    """How many clients take part at each time; all of them if nobody ever comes or goes."""
    if not attendance:
        return np.full(len(times), float(clients))
    moments = np.array([each.at for each in attendance])
    number = np.cumsum([1.0 if each.joins else -1.0 for each in attendance])
    return np.append(0.0, number)[np.searchsorted(moments, times, side="right")]


def most_crowded(attendance: Sequence[JoinOrLeave], clients: int, duration: float) -> tuple[float, float]:
    """From when to when (s) most clients take part."""
    edges = np.array([0.0, *(each.at for each in attendance), duration])
    number = present(attendance, clients, edges[:-1])
    most = np.flatnonzero((number == number.max()) & (np.diff(edges) > 0))
    return float(edges[most[0]]), float(edges[most[-1] + 1])


def mechanisms_between(found: Sequence[Course], start: float, end: float) -> dict[str, float]:
    """The share of all clients' time from `start` to `end` (s) for each mechanism that was ever used."""
    seconds = dict.fromkeys(sorted({mechanism for course in found for _, mechanism in course}), 0.0)
    for course in found:
        edges = [*(at for at, _ in course), end]
        for (at, mechanism), until in zip(course, edges[1:], strict=True):
            seconds[mechanism] += max(min(until, end) - max(at, start), 0.0)
    whole = (end - start) * len(found)
    return {mechanism: time / whole for mechanism, time in seconds.items()} if whole > 0 else {}


def slowest_plan(executions: Iterable[ClientExecution]) -> float:
    """Seconds from the first to the last client that executed one plan, the longest of all plans."""
    moments: dict[str, list[float]] = {}
    for each in executions:
        if each.client is not None and each.switched and each.record.id:
            moments.setdefault(each.record.id, []).append(each.record.at)
    return max((max(at) - min(at) for at in moments.values()), default=float("nan"))
