"""A town of square blocks with six places worth a visit."""

from __future__ import annotations

import math

import numpy as np

from bypass.models.maps.street_map import AttractionPoint, InvalidMap, StreetMap

# Name, radius (m), weight. The places are the second to seventh Halton points in bases 2 and 3: scattered
# evenly and, unlike places picked by hand, neither near nor far from the borders of any channel grid on the
# whole. (The first one lies on the middle line.)
_ATTRACTIONS = (
    ("market", 90.0, 5.0),
    ("park", 120.0, 4.0),
    ("station", 60.0, 3.0),
    ("university", 75.0, 2.5),
    ("museum", 40.0, 1.5),
    ("playground", 25.0, 1.0),
)


def _halton(index: int, base: int) -> float:
    """The digits of `index` in `base`, mirrored behind the point."""
    share, digit = 0.0, 1.0
    while index:
        digit /= base
        index, remainder = divmod(index, base)
        share += digit * remainder
    return share


def street_grid(width: float = 1300.0, height: float = 1300.0, block: float = 80.0) -> StreetMap:
    """Streets along both axes, about `block` metres apart, borders included. Raises InvalidMap."""
    for what, size in (("width", width), ("height", height), ("block", block)):
        if not (math.isfinite(size) and size > 0):
            raise InvalidMap(f"street grid: {what} is {size}: expected a finite length above 0")
    columns, rows = max(1, round(width / block)), max(1, round(height / block))
    x, y = np.meshgrid(np.linspace(0, width, columns + 1), np.linspace(0, height, rows + 1))
    number = np.arange(x.size).reshape(x.shape)
    along_x = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    along_y = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    return StreetMap(
        name="street-grid",
        width=width,
        height=height,
        nodes=np.column_stack([x.ravel(), y.ravel()]),
        edges=np.concatenate([along_x, along_y]),
        attractions=tuple(
            AttractionPoint(
                name=name, x=width * _halton(i, 2), y=height * _halton(i, 3), radius=radius, weight=weight
            )
            for i, (name, radius, weight) in enumerate(_ATTRACTIONS, start=2)
        ),
    )
