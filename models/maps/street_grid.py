"""A town of square blocks with six places worth a visit."""

from __future__ import annotations

import math

import numpy as np

from bypass.models.maps.street_map import AttractionPoint, InvalidMap, StreetMap

# Name, place as shares of width and height, radius (m), weight. Chosen for what they are, a large park,
# a small playground, and off the regular lines of streets and channel grids.
_ATTRACTIONS = (
    ("market", 0.46, 0.55, 90.0, 5.0),
    ("park", 0.72, 0.79, 120.0, 4.0),
    ("station", 0.14, 0.37, 60.0, 3.0),
    ("university", 0.58, 0.21, 75.0, 2.5),
    ("museum", 0.29, 0.84, 40.0, 1.5),
    ("playground", 0.88, 0.42, 25.0, 1.0),
)


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
            AttractionPoint(name=name, x=width * fx, y=height * fy, radius=radius, weight=weight)
            for name, fx, fy, radius, weight in _ATTRACTIONS
        ),
    )
