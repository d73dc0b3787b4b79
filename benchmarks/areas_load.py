"""A million fences as subscriptions: how long they take to load, their memory, and the time of a match."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bypass import Area, Event, attr
from bypass.events.filters import Subscription
from bypass.mechanisms.filters.indexes.areas.index import AreaIndex
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.protocol.messages import Kind, Publish

HITS = 12
REACH = 100.0
FULL = 0.54  # the part of its circle that a fence covers, on average


@dataclass(frozen=True, slots=True)
class Fence:
    """The areas of a subscription, and whether they move with its client."""

    areas: tuple[Area, ...]
    relative: bool = False
    reach: float = 0.0


class Load(NamedTuple):
    """Seconds and microseconds of processor time, and what the process has in memory besides its modules."""

    made_s: float
    loaded_s: float
    mib: float
    match_us: float
    together_us: float
    hits: float


def load_many(fences: int, events: int) -> Load:
    """Make fences, subscribe a client to each, index them, and match events."""
    random = np.random.default_rng(3)
    side = math.sqrt(fences * math.pi * REACH**2 * FULL / HITS)
    _fill(random, 10, side)[0].grid.at_many(np.zeros(2), np.zeros(2))  # compiles
    before = _resident()
    index, made, loaded = _fill(random, fences, side)
    mib = (_resident() - before) / 2**20
    x, y = random.uniform(0, side, (2, events))
    concerned = [
        Publish(i, Event(kind="event"), Kind.PLACED, 0, place)
        for i, place in enumerate(zip(x.tolist(), y.tolist(), strict=True))
    ]
    began = time.process_time()
    singles = [index.match(event) for event in concerned]
    match_s = time.process_time() - began
    index.match_places(x[:2], y[:2])
    began = time.process_time()
    _, rows = index.match_places(x, y)
    together_s = time.process_time() - began
    assert sum(len(found) for found in singles if found is not None) == len(rows)
    return Load(made, loaded, mib, match_s / events * 1e6, together_s / events * 1e6, len(rows) / events)


def _fill(random: np.random.Generator, fences: int, side: float) -> tuple[AreaIndex, float, float]:
    wanted = Subscription.of(attr("kind") == "event")
    table = SubscriptionTable()
    interests: dict[int, Fence] = {}
    made = loaded = 0.0
    for client in range(fences):
        count = int(random.integers(4, 17))
        x, y = random.uniform(0, side, 2).tolist()
        radii = (REACH * random.uniform(0.5, 1, count)).tolist()
        step = 2 * math.pi / count
        ring = [(x + r * math.cos(k * step), y + r * math.sin(k * step)) for k, r in enumerate(radii)]
        began = time.process_time()
        area = Area.polygon(ring)
        between = time.process_time()
        interests[table.add(client, 1, wanted, None)] = Fence((area,))
        made += between - began
        loaded += time.process_time() - between
    index = AreaIndex(table, False, interests)
    began = time.process_time()
    index.insert(table.rows())
    index.match(Publish(1, Event(kind="event"), Kind.PLACED, 0, (0.0, 0.0)))
    return index, made, loaded + time.process_time() - began


def _resident() -> int:
    """Bytes that this process has in memory."""
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * 4096
