"""Peers of the index of areas: rtree with shapely, and the circles that Redis finds."""

from __future__ import annotations

import math
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import rtree
import shapely
from servers import Server, cores, redis

from bypass import Area, GeoLocation
from bypass.mechanisms.filters.indexes.areas.grid import AreaGrid
from bypass.places import Projection

CIRCLES, RADIUS, HITS = 10_000, 100.0, 12
CENTRE = GeoLocation(49.87, 8.65)
Degrees = tuple[float, float]  # longitude, latitude


class Rtree:
    """Bounds in a tree that was loaded in bulk, and shapely's exact test of one candidate after the other."""

    def __init__(self, shapes: Sequence[Any]) -> None:
        self.shapes = list(shapes)
        self.tree = rtree.index.Index((k, shape.bounds, None) for k, shape in enumerate(self.shapes))

    def at(self, x: float, y: float) -> list[int]:
        """The shapes that hold a place, in no order."""
        point, shapes = shapely.Point(x, y), self.shapes
        return [k for k in self.tree.intersection((x, y, x, y)) if shapes[k].intersects(point)]

    def change(self, k: int, shape: Any) -> None:
        """Let a shape take the place of another one."""
        self.tree.delete(k, self.shapes[k].bounds)
        self.shapes[k] = shape
        self.tree.insert(k, shape.bounds)


class Circles:
    """Circles of one radius around places in degrees, in Redis and, in metres, in a grid."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._socket = socket.create_connection(("127.0.0.1", server.port))
        self._answers: BufferedReader = self._socket.makefile("rb")
        random = np.random.default_rng(4)
        side = math.sqrt(CIRCLES * math.pi * RADIUS**2 / HITS)
        plane = Projection.around(CENTRE)
        x, y = random.uniform(-side / 2, side / 2, (2, CIRCLES))
        lat, lon = plane.to_geo_arrays(x, y)
        command: list[Any] = ["GEOADD", "fences"]
        for k in range(CIRCLES):
            command += [float(lon[k]), float(lat[k]), k]
        self._ask(command)
        self.grid = AreaGrid()
        self.grid.hold([Area.circle(centre, RADIUS) for centre in zip(x.tolist(), y.tolist(), strict=True)])
        px, py = random.uniform(-side / 2, side / 2, (2, 10_000))
        lat, lon = plane.to_geo_arrays(px, py)
        self.places: list[Degrees] = list(zip(lon.tolist(), lat.tolist(), strict=True))
        self._metres = dict(zip(self.places, zip(px.tolist(), py.tolist(), strict=True), strict=True))

    @classmethod
    @contextmanager
    def serve(cls, folder: Path) -> Iterator[Circles]:
        """A server of its own with the circles, until the block ends."""
        with redis(folder, cores().server) as server:
            yield cls(server)

    def metres(self, place: Degrees) -> tuple[float, float]:
        """The same place in the plane."""
        return self._metres[place]

    def search(self, place: Degrees) -> list[int]:
        """The numbers of the circles that hold a place, as Redis says, ascending."""
        asked = ["GEOSEARCH", "fences", "FROMLONLAT", *place, "BYRADIUS", RADIUS, "m"]
        return sorted(int(member) for member in self._ask(asked))

    def _ask(self, command: Sequence[Any]) -> list[bytes]:
        words = [word if isinstance(word, str) else repr(word) for word in command]
        parts = [f"*{len(words)}\r\n", *(f"${len(word)}\r\n{word}\r\n" for word in words)]
        self._socket.sendall("".join(parts).encode())
        head = self._answers.readline()
        if head[:1] == b"*":
            return [self._bulk() for _ in range(int(head[1:]))]
        if head[:1] == b"-":
            raise RuntimeError(f"redis: {head!r}")
        return []

    def _bulk(self) -> bytes:
        length = int(self._answers.readline()[1:])
        return self._answers.read(length + 2)[:-2]
