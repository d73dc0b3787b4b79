"""Maps from OpenStreetMap, made of extracts that are written here.

One thousandth of a degree of latitude is 111.195 m; of longitude, at 60° north, about half of it.
"""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import osmium
import pytest
import shapely

from bypass.models.maps import AttractionPoint, InvalidMap, StreetMap
from bypass.models.maps.osm.reader import DEFAULT_RADIUS, OsmMap, read_osm
from bypass.models.maps.osm.tags import attraction, walkable
from bypass.models.maps.polygons import shape_of
from bypass.places.geo import GeoLocation

LAT, LON = 60.0, 10.0
STEP = 111.1949  # m of a thousandth of a degree of latitude

Tags = dict[str, str]


class Draft:
    """An extract in the making. Places are (x, y), in thousandths of a degree from (LON, LAT)."""

    def __init__(self, bounds: tuple[float, float, float, float] | None = None) -> None:
        self._lines: list[str] = []
        self._ids: dict[tuple[float, float], int] = {}
        self._ways: list[str] = []
        self._relations: list[str] = []
        if bounds:
            low_x, low_y, high_x, high_y = bounds
            self._lines.append(
                f'<bounds minlon="{LON + low_x / 1000}" minlat="{LAT + low_y / 1000}"'
                f' maxlon="{LON + high_x / 1000}" maxlat="{LAT + high_y / 1000}"/>'
            )

    def node(self, x: float, y: float, **tags: str) -> int:
        if (x, y) not in self._ids:
            number = self._ids[x, y] = len(self._ids) + 1
            place = f'lat="{LAT + y / 1000:.7f}" lon="{LON + x / 1000:.7f}"'
            self._lines.append(f'<node id="{number}" version="1" {place}>{_tags(tags)}</node>')
        return self._ids[x, y]

    def way(self, *places: tuple[float, float] | int, **tags: str) -> int:
        """A way through places; a number names a node that need not be there."""
        numbers = [place if isinstance(place, int) else self.node(*place) for place in places]
        nodes = "".join(f'<nd ref="{number}"/>' for number in numbers)
        self._ways.append(f'<way id="{len(self._ways) + 1}" version="1">{nodes}{_tags(tags)}</way>')
        return len(self._ways)

    def relation(self, members: Sequence[tuple[int, str]], **tags: str) -> None:
        ways = "".join(f'<member type="way" ref="{way}" role="{role}"/>' for way, role in members)
        number = len(self._relations) + 1
        self._relations.append(
            f'<relation id="{number}" version="1">{ways}{_tags({"type": "multipolygon"} | tags)}</relation>'
        )

    def text(self) -> str:
        lines = [*self._lines, *self._ways, *self._relations]
        return '<?xml version="1.0"?>\n<osm version="0.6">\n' + "\n".join(lines) + "\n</osm>\n"

    def read(self, folder: Path, bbox: tuple[float, float, float, float] | None = None) -> OsmMap:
        path = folder / "town.osm"
        path.write_text(self.text())
        if bbox is None:
            return read_osm(path)
        low_x, low_y, high_x, high_y = (share / 1000 for share in bbox)
        return read_osm(path, bbox=(LON + low_x, LAT + low_y, LON + high_x, LAT + high_y))


def _tags(tags: Tags) -> str:
    return "".join(f'<tag k="{key}" v="{value}"/>' for key, value in tags.items())


def places(street_map: StreetMap) -> set[tuple[float, float]]:
    """Nodes in thousandths of a degree, as drafts have them."""
    assert street_map.projection is not None
    lat, lon = street_map.projection.to_geo_arrays(*street_map.nodes.T)
    return {
        (round(1000 * (b - LON), 3) + 0.0, round(1000 * (a - LAT), 3) + 0.0)
        for a, b in zip(lat, lon, strict=True)
    }


def square(x: float, y: float, side: float = 1.0) -> list[tuple[float, float]]:
    return [(x, y), (x + side, y), (x + side, y + side), (x, y + side), (x, y)]


# -- streets --------------------------------------------------------------------------------------------


def test_ways_become_streets_between_consecutive_nodes(tmp_path: Path) -> None:
    draft = Draft()
    draft.way((0, 0), (1, 0), (2, 1), highway="residential", oneway="yes")
    draft.way((1, 0), (1, 2), highway="footway", name="Steg")
    draft.way((0, 2), (1, 2), building="yes")
    street_map, skipped = draft.read(tmp_path)
    assert street_map.name == "town"
    assert skipped == (0, 0, 0, 0)
    assert places(street_map) == {(0, 0), (1, 0), (2, 1), (1, 2)}
    east = STEP * np.cos(np.radians(LAT + 0.001))
    assert sorted(street_map.lengths) == pytest.approx([east, np.hypot(east, STEP), 2 * STEP], rel=1e-4)
    assert street_map.edges.shape == (3, 2)


def test_places_keep_their_distances_and_their_world_has_room_for_them(tmp_path: Path) -> None:
    draft = Draft()
    corners = [(0.0, 0.0), (90.0, 0.0), (90.0, 50.0), (0.0, 50.0), (0.0, 0.0)]  # about 5 km × 5.6 km
    draft.way(*corners, (90, 50), highway="residential")
    street_map, _ = draft.read(tmp_path)
    assert places(street_map) == set(corners)
    assert street_map.projection is not None
    lat, lon = street_map.projection.to_geo_arrays(*street_map.nodes.T)
    for (a, b), length in zip(street_map.edges, street_map.lengths, strict=True):
        on_earth = GeoLocation(lat[a], lon[a]).distance_to(GeoLocation(lat[b], lon[b]))
        assert length == pytest.approx(on_earth, rel=1e-6)
    assert street_map.width == pytest.approx(90 * STEP / 2, rel=0.01)
    assert street_map.height == pytest.approx(50 * STEP, rel=0.01)


def test_ways_are_cut_at_the_box(tmp_path: Path) -> None:
    draft = Draft()
    draft.way((-3, 1), (1, 1), (1, 5), highway="path")
    draft.way((1, 1), (9, 1), highway="path")
    draft.way((-3, 9), (9, 9), highway="path")
    street_map, skipped = draft.read(tmp_path, bbox=(0, 0, 4, 2))
    assert street_map.height == pytest.approx(2 * STEP, rel=1e-5)
    assert street_map.width == pytest.approx(4 * STEP * np.cos(np.radians(60.001)), rel=1e-5)
    middle = street_map.nodes[np.argmax(np.bincount(street_map.edges.ravel()))]
    assert middle == pytest.approx([street_map.width / 4, street_map.height / 2], abs=0.02)
    ends = {tuple(xy) for xy in street_map.nodes.tolist()} - {tuple(middle.tolist())}
    assert {x for x, _ in ends if not 0 < x < street_map.width} == {0, street_map.width}
    assert {y for _, y in ends if not 0 < y < street_map.height} == {street_map.height}
    assert len(ends) == 3
    assert skipped == (0, 0, 0, 0)


def test_without_a_box_the_bounds_of_the_extract_count(tmp_path: Path) -> None:
    draft = Draft(bounds=(0, 0, 4, 2))
    draft.way((-3, 1), (9, 1), highway="path")
    street_map, _ = draft.read(tmp_path)
    assert street_map.nodes[:, 0].tolist() == pytest.approx([0, street_map.width])
    assert street_map.height == pytest.approx(2 * STEP, rel=1e-5)


def test_nodes_that_are_missing_end_a_way_and_are_counted(tmp_path: Path) -> None:
    draft = Draft()
    draft.way((0, 0), (1, 0), 999, (1, 1), (2, 1), highway="residential")
    draft.way((1, 0), (1, 1), highway="residential")
    draft.way(998, 999, highway="residential")
    street_map, skipped = draft.read(tmp_path)
    assert len(street_map.edges) == 3
    assert skipped.ways == 2


def test_the_largest_part_is_kept_and_the_rest_counted(tmp_path: Path) -> None:
    draft = Draft()
    draft.way((0, 0), (1, 0), (2, 0), highway="residential")
    draft.way((0, 5), (1, 5), highway="residential")
    draft.way((7, 5), (7, 7), highway="residential", access="private")
    street_map, skipped = draft.read(tmp_path)
    assert places(street_map) == {(0, 0), (1, 0), (2, 0)}
    assert skipped.nodes == 2


def test_streets_that_are_given_twice_or_lead_nowhere_are_tidied(tmp_path: Path) -> None:
    draft = Draft()
    draft.way((0, 0), (1, 0), (1, 0), (0, 0), (1, 0), (1, 1), highway="residential")
    draft.way((1, 1), (1, 0), highway="cycleway", foot="yes")
    text = draft.text().replace(
        "<way", '<node id="77" version="1" lat="60.0010000" lon="10.0010000"/><way', 1
    )
    path = tmp_path / "town.osm"
    # Another node at the place of (1, 1) joins two ways that have no node in common.
    path.write_text(
        text.replace(
            "</osm>",
            '<way id="9" version="1"><nd ref="77"/><nd ref="1"/><tag k="highway" v="path"/></way></osm>',
        )
    )
    street_map, skipped = read_osm(path)
    assert places(street_map) == {(0, 0), (1, 0), (1, 1)}
    assert len(street_map.edges) == 3
    assert skipped == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("tags", "may_walk"),
    [
        ({"highway": "residential"}, True),
        ({"highway": "residential", "access": "private"}, False),
        ({"highway": "service", "access": "private", "foot": "yes"}, True),
        ({"highway": "footway", "foot": "no"}, False),
        ({"highway": "primary"}, True),
        ({"highway": "motorway"}, False),
        ({"highway": "trunk"}, False),
        ({"highway": "trunk", "foot": "yes"}, True),
        ({"highway": "cycleway"}, False),
        ({"highway": "cycleway", "foot": "designated"}, True),
        ({"highway": "construction"}, False),
        ({"railway": "tram"}, False),
    ],
)
def test_people_walk_where_they_may(tags: Tags, may_walk: bool) -> None:
    assert walkable(tags) is may_walk


# -- attraction points ----------------------------------------------------------------------------------


def town() -> Draft:
    draft = Draft(bounds=(0, 0, 10, 10))
    draft.way((1, 1), (9, 1), (9, 9), (1, 9), highway="residential")
    return draft


def attractions(draft: Draft, folder: Path) -> dict[str, AttractionPoint]:
    return {point.name: point for point in draft.read(folder).street_map.attractions}


def middle_of(point: AttractionPoint) -> tuple[float, float]:
    """In thousandths of a degree, roughly."""
    return point.x / (STEP * np.cos(np.radians(60.005))), point.y / STEP


def test_areas_and_nodes_become_attraction_points(tmp_path: Path) -> None:
    draft = town()
    draft.way(*square(2, 2, 2), leisure="park", name="Großer Park")
    draft.way(*square(6, 6), highway="pedestrian", area="yes")
    draft.way(*square(8, 8), highway="pedestrian")  # a street around a block
    draft.way(*square(8, 2), leisure="garden", access="private")
    draft.way((5, 1), (5, 2), (5, 3), leisure="park")  # no area
    draft.node(3, 7, place="square", name="Eck")
    draft.node(50, 7, place="square", name="far away")
    points = attractions(draft, tmp_path)
    assert points.keys() == {"Großer Park", "pedestrian area", "Eck"}
    assert middle_of(points["Großer Park"]) == pytest.approx((3, 3), abs=0.01)
    area = (2 * STEP) ** 2 * np.cos(np.radians(60.003))
    assert points["Großer Park"].radius == pytest.approx(np.sqrt(area / np.pi), rel=1e-4)
    assert middle_of(points["Eck"]) == pytest.approx((3, 7), abs=0.01)
    assert points["Eck"].radius == DEFAULT_RADIUS == 25
    assert {point.weight for point in points.values()} == {1}


def test_relations_become_attraction_points_without_their_holes(tmp_path: Path) -> None:
    draft = town()
    west = draft.way((2, 2), (2, 4), (6, 4))
    east = draft.way((6, 4), (6, 2), (2, 2))
    hole = draft.way(*square(4.5, 2.5))
    draft.relation([(west, "outer"), (east, "outer"), (hole, "inner")], leisure="park", name="Ring")
    point = attractions(draft, tmp_path)["Ring"]
    assert middle_of(point) == pytest.approx(((8 * 4 - 5) / 7, 3), abs=0.01)
    area = 7 * STEP**2 * np.cos(np.radians(60.003))
    assert point.radius == pytest.approx(np.sqrt(area / np.pi), rel=1e-3)


def test_areas_keep_their_outlines_and_holes(tmp_path: Path) -> None:
    draft = town()
    west = draft.way((2, 2), (2, 4), (6, 4))
    east = draft.way((6, 4), (6, 2), (2, 2))
    hole = draft.way(*square(4.5, 2.5))
    draft.relation([(west, "outer"), (east, "outer"), (hole, "inner")], leisure="park", name="Ring")
    draft.way(*square(8, 5, 3), place="square", name="at the border")  # x from 8 to 11, the world ends at 10
    draft.node(3, 7, place="square", name="Eck")
    street_map = draft.read(tmp_path).street_map
    points = {point.name: point for point in street_map.attractions}
    [ring] = points["Ring"].polygons
    assert [len(each) for each in ring] == [5, 5]
    shape = shape_of(points["Ring"])
    assert shape.area == pytest.approx(np.pi * points["Ring"].radius ** 2, rel=1e-5)
    assert shape.centroid.coords[0] == pytest.approx((points["Ring"].x, points["Ring"].y), abs=0.01)
    assert points["Eck"].polygons == ()
    border = shape_of(points["at the border"]).bounds
    assert street_map.width - 0.001 <= border[2] <= street_map.width


def test_buildings_are_known_unless_they_have_no_walls(tmp_path: Path) -> None:
    draft = town()
    draft.way(*square(2, 2), building="yes")
    draft.way(*square(4, 2), building="roof")
    draft.way(*square(6, 2), building="garage", location="underground")
    draft.way(*square(20, 2), building="yes")
    draft.way(*square(9.5, 2), building="house")
    street_map = draft.read(tmp_path).street_map
    assert street_map.attractions == ()
    assert [len(polygon) for polygon in street_map.buildings] == [1, 1]
    sizes = sorted(shapely.Polygon(*polygon).area for polygon in street_map.buildings)
    assert sizes[1] == pytest.approx(STEP**2 * np.cos(np.radians(60.0025)), rel=1e-3)
    assert sizes[0] == pytest.approx(sizes[1] / 2, rel=0.01)  # what of it is in the world


def test_areas_that_are_not_whole_are_counted(tmp_path: Path) -> None:
    draft = town()
    half = draft.way((2, 2), (2, 4), (6, 4))
    draft.relation([(half, "outer"), (999, "outer")], leisure="park")  # a member is missing
    draft.relation([(half, "outer")], place="square")  # open
    draft.relation([(999, "outer")], landuse="forest")  # of no interest
    corner = draft.node(7, 7)
    draft.way(corner, (8, 7), 999, corner, leisure="playground")  # a node is missing
    street_map, skipped = draft.read(tmp_path)
    assert street_map.attractions == ()
    assert skipped == (0, 3, 0, 0)


def test_points_that_are_nowhere_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "town.osm"
    path.write_text(
        town().text().replace("<way", '<node id="99" version="1"><tag k="place" v="square"/></node><way', 1)
    )
    street_map, skipped = read_osm(path)
    assert street_map.attractions == ()
    assert skipped == (0, 0, 0, 1)


def test_every_attraction_point_has_a_name_of_its_own(tmp_path: Path) -> None:
    draft = town()
    for x in (1, 3, 5):
        draft.way(*square(x, 1), leisure="playground")
    draft.node(2, 8, leisure="playground", name="playground 2")
    draft.node(4, 8, tourism="attraction", name="Turm")
    draft.node(6, 8, amenity="marketplace", name="Turm")
    names = sorted(attractions(draft, tmp_path))
    assert names == ["Turm", "Turm 2", "playground", "playground 2", "playground 3", "playground 4"]


@pytest.mark.parametrize(
    ("tags", "is_area", "kind"),
    [
        ({"leisure": "park"}, True, "park"),
        ({"leisure": "pitch"}, True, None),
        ({"place": "square"}, False, "square"),
        ({"place": "suburb"}, False, None),
        ({"amenity": "marketplace"}, True, "marketplace"),
        ({"tourism": "attraction"}, False, "attraction"),
        ({"highway": "pedestrian"}, True, "pedestrian area"),
        ({"highway": "pedestrian"}, False, None),
        ({"leisure": "park", "access": "private"}, True, None),
    ],
)
def test_places_that_attract_people(tags: Tags, is_area: bool, kind: str | None) -> None:
    assert attraction(tags, is_area=is_area) == kind


# -- files ----------------------------------------------------------------------------------------------


def test_all_kinds_of_files_give_the_same_map(tmp_path: Path) -> None:
    draft = town()
    draft.way(*square(2, 2, 2), leisure="park")
    plain = draft.read(tmp_path).street_map
    (tmp_path / "town.osm.gz").write_bytes(gzip.compress(draft.text().encode()))
    (tmp_path / "town.osm.bz2").write_bytes(bz2.compress(draft.text().encode()))
    header = osmium.FileProcessor(tmp_path / "town.osm").header
    with osmium.SimpleWriter(tmp_path / "town.osm.pbf", header=header) as writer:
        for thing in osmium.FileProcessor(tmp_path / "town.osm"):
            writer.add(thing)
    for ending in (".gz", ".bz2", ".pbf"):
        other = read_osm(tmp_path / f"town.osm{ending}").street_map
        assert other.name == "town"
        assert other.nodes.tobytes() == plain.nodes.tobytes()
        assert other.edges.tobytes() == plain.edges.tobytes()
        assert other.attractions == plain.attractions


def test_a_map_can_have_another_name(tmp_path: Path) -> None:
    (tmp_path / "town.osm").write_text(town().text())
    assert read_osm(tmp_path / "town.osm", name="here").street_map.name == "here"


@pytest.mark.parametrize(
    "name",
    ["cut.osm", "text.osm", "empty.osm", "some.txt", "text.osm.pbf", "cut.osm.pbf", "folder.osm", "gone.osm"],
)
def test_files_that_are_no_extracts_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    text = town().text()
    (tmp_path / "good.osm").write_text(text)
    with osmium.SimpleWriter(tmp_path / "good.osm.pbf") as writer:
        for thing in osmium.FileProcessor(tmp_path / "good.osm"):
            writer.add(thing)
    packed = (tmp_path / "good.osm.pbf").read_bytes()
    contents = {
        "cut.osm": text[:-100].encode(),
        "text.osm": b"Dear all,\nthis is a letter.\n",
        "empty.osm": b"",
        "some.txt": text.encode(),
        "text.osm.pbf": b"Dear all,\nthis is a letter.\n",
        "cut.osm.pbf": packed[: len(packed) // 2],
    }
    if name in contents:
        (tmp_path / name).write_bytes(contents[name])
    (tmp_path / "folder.osm").mkdir()
    with pytest.raises(InvalidMap, match=f"{name}: .*: expected an OpenStreetMap extract") as refused:
        read_osm(tmp_path / name)
    assert "\n" not in str(refused.value)


def test_an_extract_without_streets_is_refused(tmp_path: Path) -> None:
    draft = Draft()
    draft.way(*square(0, 0), leisure="park")
    draft.way((0, 0), (1, 1), highway="motorway")
    with pytest.raises(InvalidMap, match=r"town\.osm: no streets to walk on: expected at least one"):
        draft.read(tmp_path)


def test_ways_that_lack_nodes_are_counted_if_there_is_no_street(tmp_path: Path) -> None:
    draft = Draft()
    draft.way(998, 999, highway="residential")
    draft.way((0, 0), 999, highway="residential")
    with pytest.raises(
        InvalidMap, match=r"no streets to walk on \(2 ways lack nodes\): expected at least one"
    ):
        draft.read(tmp_path)


def test_the_date_line_is_not_crossed(tmp_path: Path) -> None:
    draft = Draft()
    draft.way((169_999, 0), (-189_999, 0), highway="residential")
    with pytest.raises(
        InvalidMap, match=r"town\.osm: the box .* spans 359.998 degrees of longitude: expected at most 180"
    ):
        draft.read(tmp_path)


@pytest.mark.parametrize("bbox", [(20, 20, 30, 30), (2, 2, 8, 8)])
def test_a_box_without_streets_is_refused(tmp_path: Path, bbox: tuple[float, float, float, float]) -> None:
    with pytest.raises(InvalidMap, match=r"town\.osm: no streets to walk on in this box"):
        town().read(tmp_path, bbox)


@pytest.mark.parametrize(
    "bbox",
    [(1, 2, 1, 3), (3, 2, 1, 4), (1, 4, 2, 3), (-181, 0, 1, 1), (0, -91, 1, 1), (0, 0, 1, float("nan"))],
)
def test_boxes_without_sense_are_refused(tmp_path: Path, bbox: tuple[float, float, float, float]) -> None:
    (tmp_path / "town.osm").write_text(town().text())
    with pytest.raises(InvalidMap, match=r"^bbox is \(.*\): expected "):
        read_osm(tmp_path / "town.osm", bbox=bbox)


def test_a_world_that_nobody_walks_across_is_refused(tmp_path: Path) -> None:
    draft = Draft()
    draft.way((0, 0), (0, 2000), highway="residential")
    with pytest.raises(
        InvalidMap, match=r"town\.osm: the box .* is 0 × 222 km: expected at most 100 km, by a bbox"
    ) as refused:
        draft.read(tmp_path)
    assert "np." not in str(refused.value)
