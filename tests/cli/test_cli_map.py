from __future__ import annotations

from pathlib import Path

import pytest

from bypass.models.maps import load_map, read_map
from tests.command import bypass

OSM = """<?xml version="1.0"?>
<osm version="0.6">
 <node id="1" version="1" lat="60.001" lon="10.001"/>
 <node id="2" version="1" lat="60.001" lon="10.005"/>
 <node id="3" version="1" lat="60.003" lon="10.005"><tag k="place" v="square"/><tag k="name" v="Eck"/></node>
 <node id="4" version="1" lat="60.009" lon="10.009"/>
 <node id="5" version="1" lat="60.009" lon="10.008"/>
 <way id="1" version="1"><nd ref="1"/><nd ref="2"/><nd ref="3"/><nd ref="9"/><tag k="highway" v="path"/></way>
 <way id="2" version="1"><nd ref="4"/><nd ref="5"/><tag k="highway" v="path"/></way>
</osm>
"""


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An extract in the current directory, which is empty otherwise."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "town.osm"
    path.write_text(OSM)
    return path


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_an_extract_becomes_a_map_and_a_picture(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("map", town, "--out", "maps/own.json") == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "town: 447 × 892 m, nodes: 3, streets: 2 (0.4 km), attraction points: 1",
        "left out: ways where they lack nodes (1), areas that are not whole (0),"
        " nodes that cannot be reached from most others (2), attraction points that are nowhere (0)",
        "map: maps/own.json, picture: maps/own.png",
    ]
    assert err == ""
    assert files(town.parent) == {"town.osm", "maps", "maps/own.json", "maps/own.png"}
    assert [point.name for point in read_map("maps/own.json").attractions] == ["Eck"]
    assert Path("maps/own.png").read_bytes().startswith(b"\x89PNG")


def test_a_box_cuts_the_map(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("map", town, "--bbox", "10.003,60,10.006,60.002") == 0
    assert capsys.readouterr().out.startswith(
        "town: 167 × 222 m, nodes: 3, streets: 2 (0.2 km), attraction points: 0"
    )
    assert files(town.parent) == {"town.osm", "map.json", "map.png"}


def test_maps_that_are_there_are_drawn(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("map", "mannheim", "--out", "ma.json") == 0
    assert bypass("map", "ma.json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[2]
    assert lines[0].startswith("mannheim: 1300 × 1300 m, ")
    assert lines[0].endswith(" attraction points: 8")
    assert lines[3] == "map: map.json, picture: map.png"
    assert read_map("map.json").nodes.tobytes() == load_map("mannheim").nodes.tobytes()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["atlantis"],
            "atlantis: no such file: expected an OpenStreetMap extract, a map file or one of street-",
        ),
        (["gone.json"], "map gone.json: No such file or directory: expected a map file"),
        (["cut.osm"], "cut.osm: XML parsing error"),
        (["town.osm", "--bbox", "1,2,3"], "--bbox 1,2,3: expected four numbers, as in 8.64,"),
        (["town.osm", "--bbox", "a,b,c,d"], "--bbox a,b,c,d: expected four numbers"),
        (["town.osm", "--bbox", "-1,2,3,1"], "bbox is (-1.0, 2.0, 3.0, 1.0): expected min_lon < max_lon"),
        (["town.osm", "--bbox", "1,2,3,4"], "town.osm: no streets to walk on in this box"),
        (["mannheim", "--bbox", "1,2,3,4"], "--bbox with mannheim: expected an OpenStreetMap extract"),
        (["town.osm", "--out", "map.png"], "--out map.png: expected a name that ends in .json"),
        (["town.osm", "--out", "town.osm/map.json"], "is in the way: expected a directory"),
        ([], "Missing argument 'FILE'"),
    ],
)
def test_errors_take_one_line_and_write_nothing(
    town: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (town.parent / "cut.osm").write_text(OSM[:-40])
    assert bypass("map", *args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("bypass: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert files(town.parent) == {"town.osm", "cut.osm"}


@pytest.mark.parametrize("taken", ["q.json", "q.png"])
def test_a_folder_in_the_way_of_a_file_is_found_first(
    town: Path, taken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(taken).mkdir()
    assert bypass("map", "mannheim", "--out", "q.json") == 2
    assert capsys.readouterr().err == f"bypass: error: {taken}: is in the way: expected a file\n"
    assert files(town.parent) == {"town.osm", taken}


def test_the_help_shows_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("map", "--help") == 0
    out = capsys.readouterr().out
    assert "bypass map town.osm --out town.json" in out
    assert "MINLON,MINLAT,MAXLON,MAXLAT" in out
