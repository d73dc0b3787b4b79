"""Areas of applications as blocks of shapes, and what moves them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable

import numpy as np

from bypass.mechanisms.filters.indexes.areas.pools import release_block, size_for, take_block
from bypass.mechanisms.filters.indexes.areas.shapes import (
    ALL,
    BOX,
    CORRIDOR,
    DISC,
    HEAD,
    KIND,
    MOVING,
    NARROW,
    POLYGONS,
    SECTOR,
    SIZE,
    WIDE,
    X0,
    X1,
    Y0,
    Y1,
)
from bypass.places import Area
from bypass.places.areas.corridors import CorridorShape
from bypass.places.areas.polygons import PolygonShape, ring_bounds
from bypass.places.areas.sectors import SectorShape
from bypass.places.areas.shapes import DiscShape, unit
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel

ANCHOR = HEAD + 1
REACH = HEAD + 5
MOVING_SIZE = size_for(REACH + 1)
GENEROUS = 1e-9
"""The share of its reach by which the bounds of what moves are too wide: a turn is rounded."""


def blocks_of(areas: Iterable[Area]) -> tuple[Floats, Ints]:
    """The numbers of the blocks of areas in metres, one block after the other, and where each begins; one
    more offset says where the last one ends."""
    numbers = array("d")
    offsets = array("q", [0])
    for area in areas:
        low, high = area.altitude or (-math.inf, math.inf)
        numbers.extend((low, high, *area.bounds))
        _describe(area.shape, numbers)
        offsets.append(len(numbers))
    return np.frombuffer(numbers, np.float64), np.frombuffer(offsets, np.int64)


def _describe(shape: object, numbers: array[float]) -> None:
    """Append the kind of a shape, a gap for the size of its block, and what the kind needs."""
    if isinstance(shape, PolygonShape):
        numbers.extend((POLYGONS, 0, len(shape.parts)))
        for part in shape.parts:
            numbers.extend((*ring_bounds(part[0]), len(part)))
            for ring in part:
                numbers.append(len(ring) // 2)
                numbers.extend(ring)
    elif isinstance(shape, DiscShape):
        numbers.extend((DISC, 0, shape.x, shape.y, shape.radius))
    elif isinstance(shape, SectorShape):
        opening = ALL if shape.opening == 360.0 else NARROW if shape.opening <= 180.0 else WIDE
        numbers.extend((SECTOR, 0, shape.x, shape.y, shape.radius, opening, *_sides(shape)))
    elif isinstance(shape, CorridorShape):
        half = shape.width / 2
        numbers.extend((CORRIDOR, 0, len(shape.line) // 2, half, half * half))
        numbers.extend(shape.line)
    else:
        numbers.extend((BOX, 0))


def _sides(shape: SectorShape) -> tuple[float, float, float, float]:
    """The directions of a sector's two sides, as the sector itself computes them."""
    half = shape.opening / 2
    return *unit((shape.bearing - half) % 360.0), *unit((shape.bearing + half) % 360.0)


@kernel
def store(blocks: Floats, offsets: Ints, numbers: Ints, pool: Floats, free: Ints, starts: Ints) -> Floats:
    """Copy blocks into the pool, the i-th for shape `numbers[i]`; gives the pool, which may have grown."""
    for i in range(len(numbers)):
        length = offsets[i + 1] - offsets[i]
        size = size_for(length)
        pool, start = take_block(pool, free, size)
        pool[start : start + length] = blocks[offsets[i] : offsets[i + 1]]
        pool[start + SIZE] = size
        starts[numbers[i]] = start
    return pool


@kernel
def store_moving(number: int, shape: int, reach: float, pool: Floats, free: Ints, starts: Ints) -> Floats:
    """Make a block of what moves, which is nowhere yet, for another shape; gives the pool, which may have
    grown."""
    pool, start = take_block(pool, free, MOVING_SIZE)
    other = starts[shape]
    pool[start : start + KIND] = pool[other : other + KIND]
    pool[start + KIND], pool[start + SIZE] = MOVING, MOVING_SIZE
    pool[start + HEAD], pool[start + REACH] = other, reach
    starts[number] = start
    return pool


@kernel
def anchor(pool: Floats, start: int, x: float, y: float, sine: float, cosine: float) -> None:
    """Put what moves at a place, with a heading."""
    pool[start + ANCHOR], pool[start + ANCHOR + 1] = x, y
    pool[start + ANCHOR + 2], pool[start + ANCHOR + 3] = sine, cosine
    reach = pool[start + REACH] + GENEROUS * (pool[start + REACH] + abs(x) + abs(y))
    pool[start + X0], pool[start + Y0] = x - reach, y - reach
    pool[start + X1], pool[start + Y1] = x + reach, y + reach


@kernel
def forget(numbers: Ints, pool: Floats, free: Ints, starts: Ints) -> None:
    """Give the blocks of shapes back."""
    for number in numbers:
        start = starts[number]
        release_block(pool, free, start, int(pool[start + SIZE]))
        starts[number] = -1
