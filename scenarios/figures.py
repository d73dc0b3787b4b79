"""Figures beyond the phases: what happened around transitions, near attraction points, to single clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bypass.region import Place
from bypass.scenarios.measures import Column, Columns, between, precision, recall

Floats = NDArray[np.float64]

RING_M = 125.0  # "just outside" an attraction point: as far as an area of interest reaches


def around_transition(events: Columns, traffic: Mapping[str, Column], at_s: float) -> dict[str, float]:
    """Recall of what was published within 100 ms of a transition, how long nothing arrived (20 ms bins), and
    bytes of context in the second after it, also relative to the median second from 10 s after it on."""
    moment = recall(between(events, at_s - 0.1, at_s + 0.1))
    before, after = _outage(events, at_s)
    figures = {"recall_at_switch": _mean(moment), "outage_before_ms": before, "outage_after_ms": after}
    second = int(at_s)
    for way in ("up", "down"):
        column = traffic[f"context_{way}"]
        burst = float(column[second : second + 1].sum())
        later = column[second + 10 : second + 130]
        usual = float(np.median(later)) if len(later) else 0.0
        figures[f"context_{way}_bytes"] = burst
        figures[f"context_{way}_burst"] = burst / max(usual, 1.0)
    return figures


def _outage(events: Columns, at_s: float, width_s: float = 0.02, low: float = 0.2) -> tuple[float, float]:
    """Milliseconds before and after a transition whose publications (almost) nobody got, in one stretch."""
    lengths = []
    for direction in (-1, 1):
        steps = 0
        while steps < 100:
            edges = sorted(at_s + direction * width_s * k for k in (steps, steps + 1))
            found = recall(between(events, *edges))
            known = found[~np.isnan(found)]
            if len(known) and known.mean() >= low:
                break
            steps += 1
        lengths.append(1000.0 * width_s * steps if steps < 100 else 0.0)
    return lengths[0], lengths[1]


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
            "recall": _mean(recall(events)[chosen]),
            "precision": _mean(precision(events)[chosen]),
        }
        for zone, chosen in zones.items()
    }


def distance_to_border(x: Column, y: Column, places: Iterable[Place]) -> Floats:
    """How far each point is from the nearest attraction point's border; negative inside."""
    distances = [np.hypot(x - place.x, y - place.y) - place.radius for place in places]
    return np.min(distances, axis=0) if distances else np.full(len(x), np.inf)


def share_near_border(x: Floats, y: Floats, places: Iterable[Place], within_m: float) -> float:
    """Share of the points that lie at most so far from some attraction point's border."""
    distances = [np.abs(np.hypot(x - place.x, y - place.y) - place.radius) for place in places]
    if not distances or not len(x):
        return float("nan")
    return float(np.mean(np.min(distances, axis=0) <= within_m))


def skewness(values: Column) -> float:
    """Third standardised moment: 0 for a symmetric distribution, positive with a long tail to the right."""
    spread = values.std()
    return float(np.mean(((values - values.mean()) / spread) ** 3)) if spread > 0 else 0.0


def share_imperfect(events: Columns) -> float:
    """Share of the events with subscribers that did not reach all of them."""
    shares = recall(events)
    known = shares[~np.isnan(shares)]
    return float(np.mean(known < 1.0)) if len(known) else float("nan")


def _mean(values: Any) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
