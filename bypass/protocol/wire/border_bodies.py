"""Watches and border tasks on the wire; as in `bodies`."""

from __future__ import annotations

import json
from math import isnan
from typing import Any

from bypass.errors import shown
from bypass.places.borders import BorderOptions, PathPoint
from bypass.places.borders.tracker import AreaState
from bypass.protocol.borders import BorderTask, BorderWatch, WatchedAreas
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.area_fields import read_area, write_area
from bypass.protocol.wire.fields import finite
from bypass.protocol.wire.values import ValueTypes


def write_watch(body: pb.Watch, watch: BorderWatch) -> None:
    """Fill a body. Raises InvalidArea for areas in degrees."""
    _write_options(body, watch.options)
    for name, area in watch.areas:
        fence = body.fences.add(name=name)
        write_area(fence.area, area)
    body.every_place = watch.every_place
    if watch.whom is None:
        body.everybody = True
    else:
        body.whom.extend(watch.whom)
    if watch.until is not None:
        body.until = watch.until


def read_watch(body: pb.Watch) -> BorderWatch:
    """The watch of a body. Raises InvalidWatch, InvalidArea and ValueError."""
    return BorderWatch(
        _read_options(body),
        tuple((fence.name, read_area(fence.area)) for fence in body.fences),
        body.every_place,
        None if body.everybody else tuple(body.whom),
        finite("until", (body.until,), 1)[0] if body.HasField("until") else None,
    )


def _write_options(body: pb.Watch, options: BorderOptions) -> None:
    body.on.extend(sorted(options.on))
    if options.dwell is not None:
        body.dwell = options.dwell
    body.debounce, body.margin = options.debounce, options.margin
    body.initial, body.interval = options.initial, options.interval


def _read_options(body: pb.Watch) -> BorderOptions:
    return BorderOptions(
        frozenset(body.on),
        body.dwell if body.HasField("dwell") else None,
        body.debounce,
        body.margin,
        body.initial,
        body.interval,
    )


def write_border_task(body: pb.BorderTask, message: BorderTask, _: ValueTypes) -> None:
    body.turn, body.computes, body.interval = message.turn, message.computes, message.interval
    for watch in message.watches:
        watched = body.watches.add(number=watch.number)
        _write_options(watched.terms, watch.options)
        for name, area in watch.areas:
            fence = watched.terms.fences.add(name=name)
            write_area(fence.area, area)
        if watch.states is not None:
            watched.states = json.dumps(watch.states, separators=(",", ":"), allow_nan=False).encode()
    if message.start is not None:
        body.start.extend(message.start[:3] if isnan(message.start.z) else message.start)
    body.SetInParent()


def read_border_task(body: pb.BorderTask, _: ValueTypes) -> BorderTask:
    start = None
    if body.start:
        if len(body.start) not in (3, 4):
            raise ValueError(f"start of {len(body.start)} numbers: expected 3 or 4")
        start = PathPoint(*finite("start", body.start, len(body.start)))
    interval = finite("interval", (body.interval,), 1)[0]
    return BorderTask(body.turn, body.computes, interval, tuple(map(_read_watched, body.watches)), start)


def _read_watched(body: pb.WatchedAreas) -> WatchedAreas:
    fences = tuple((fence.name, read_area(fence.area)) for fence in body.terms.fences)
    return WatchedAreas(
        body.number,
        _read_options(body.terms),
        fences,
        _read_states(body.states) if body.HasField("states") else None,
    )


def _read_states(data: bytes) -> Any:
    states = json.loads(data)
    if not isinstance(states, dict):
        raise ValueError(f"states {shown(states)}: expected names and states")
    for state in states.values():
        AreaState.load(state)
    return states
