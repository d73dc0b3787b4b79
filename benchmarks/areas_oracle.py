"""PostGIS as the oracle of places in areas: a private cluster on a socket in a temporary folder."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from ingest_postgres import program

from bypass import Area
from bypass.mechanisms.filters.indexes.areas.grid import AreaGrid

NEAR = 0.01
"""Metres from a border within which others may differ."""

TABLES = """
CREATE EXTENSION IF NOT EXISTS postgis;
DROP TABLE IF EXISTS areas; DROP TABLE IF EXISTS places;
CREATE TABLE areas (id int, shape geometry);
CREATE TABLE places (id int, x double precision, y double precision);
"""
INSIDE = """
SELECT p.id, a.id FROM places p JOIN areas a ON ST_Intersects(a.shape, ST_MakePoint(p.x, p.y))
"""
AT_BORDER = f"""
SELECT p.id, a.id FROM places p JOIN areas a ON a.shape && ST_Expand(ST_MakePoint(p.x, p.y), {NEAR})
WHERE ST_DWithin(ST_Boundary(a.shape), ST_MakePoint(p.x, p.y), {NEAR})
"""
Pairs = set[tuple[int, int]]


class PostGis:
    """A database of its own, asked by its command."""

    def __init__(self, folder: Path) -> None:
        self._command = [
            str(program("psql")),
            "-h",
            str(folder),
            "-U",
            "bench",
            "-d",
            "postgres",
            "-XqAt",
            "-F",
            " ",
        ]

    def run(self, sql: str, rows: str | None = None) -> str:
        """Give the rows of a statement; `rows` are copied by it."""
        done = subprocess.run(
            [*self._command, "-v", "ON_ERROR_STOP=1", "-c", sql],
            input=rows, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"psql: {done.stderr.strip()}")
        return done.stdout

    def pairs(self, sql: str) -> Pairs:
        """Pairs of numbers that a query gives."""
        return {(int(first), int(second)) for first, second in map(str.split, self.run(sql).splitlines())}

    def differences(self, areas: Sequence[Area], places: int) -> tuple[int, int, int]:
        """How often it says another thing of a place in an area than we do: beyond a centimetre of the
        border, and nearer; and how many pairs there are. Half of the places are at borders."""
        grid = AreaGrid()
        numbers = grid.hold(areas).tolist()
        x, y = _places(areas, places)
        self.run(TABLES)
        shapes = dict(zip(numbers, areas, strict=True))
        self.run(
            "COPY areas FROM STDIN", "".join(f"{k}\t{a.geometry().wkb_hex}\n" for k, a in shapes.items())
        )
        self.run(
            "COPY places FROM STDIN",
            "".join(
                f"{i}\t{a!r}\t{b!r}\n" for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True))
            ),
        )
        self.run("CREATE INDEX ON areas USING gist (shape); ANALYZE areas; ANALYZE places")
        theirs, near = self.pairs(INSIDE), self.pairs(AT_BORDER)
        offsets, found = grid.at_many(x, y)
        own = set(zip(np.repeat(np.arange(len(x)), np.diff(offsets)).tolist(), found.tolist(), strict=True))
        differ = own ^ theirs
        return len(differ - near), len(differ & near), len(own)


def differences(each: dict[str, Sequence[Area]], places: int) -> list[dict[str, Any]]:
    """Compare for every set of areas; nothing if PostGIS is not installed."""
    if program("initdb") is None or not _has_extension():
        print("postgresql with postgis is not installed: left out")
        return []
    results = []
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder, "cluster")) as database:
        for name, areas in each.items():
            if areas:
                beyond, near, pairs = database.differences(areas, places)
                results.append(
                    {"areas": name, "count": len(areas), "inside": pairs, "differences": beyond, "near": near}
                )
    return results


def _places(areas: Sequence[Area], places: int) -> tuple[Any, Any]:
    """Places around the areas, half of them within some centimetres of a corner."""
    random = np.random.default_rng(5)
    bounds = np.array([area.bounds for area in areas])
    low, high = bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)
    anywhere = random.uniform(low, high, (places // 2, 2))
    corners = np.concatenate(
        [
            np.array(area.geometry().exterior.coords)
            for area in areas[:2000]
            if area.geometry().geom_type == "Polygon"
        ]
    )
    at_corners = corners[random.integers(0, len(corners), places - places // 2)]
    x, y = np.concatenate([anywhere, at_corners + random.normal(0, 0.05, at_corners.shape)]).T.copy()
    return x, y


def _has_extension() -> bool:
    return any(Path("/usr/share/postgresql").glob("*/extension/postgis.control"))


@contextmanager
def cluster(folder: Path) -> Iterator[PostGis]:
    """A database on a socket in its own folder, which ends with the block."""
    folder.mkdir()
    user: dict[str, Any] = {}
    if os.geteuid() == 0:  # it refuses to run as root
        other = pwd.getpwnam("nobody")
        folder.parent.chmod(0o755)
        os.chown(folder, other.pw_uid, other.pw_gid)
        user = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
    data = folder / "data"
    subprocess.run(
        [str(program("initdb")), "-D", str(data), "-U", "bench", "-A", "trust", "--locale=C", "-E", "UTF8"],
        check=True, stdout=subprocess.DEVNULL, cwd=folder, **user,
    )  # fmt: skip
    command = [str(program("postgres")), "-D", str(data), "-c", f"unix_socket_directories={folder}"]
    command += ["-c", "listen_addresses=", "-c", "fsync=off"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **user)
    try:
        database = PostGis(folder)
        end = time.monotonic() + 60
        while not (folder / ".s.PGSQL.5432").exists():
            if time.monotonic() > end or server.poll() is not None:
                raise RuntimeError(
                    f"postgres does not start:\n{(folder / 'log').read_text(encoding='utf-8')}"
                )
            time.sleep(0.1)
        yield database
    finally:
        server.terminate()
        server.wait(60)
