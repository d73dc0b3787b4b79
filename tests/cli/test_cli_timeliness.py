from __future__ import annotations

import json
from math import inf
from pathlib import Path

import pytest

from bypass.models.queueing import Centre, simulate
from tests.command import bypass, refusal

pytestmark = pytest.mark.slow

METRO = [
    *("--publisher-on", 292.1, "--publisher-off", 78.7, "--subscriber-on", 155.8, "--subscriber-off", 72.1),
    *("--brokers", 2, "--rate", 1, "--service", 0.0625),
]
NETWORK = Path(__file__).parents[2] / "examples" / "metro.yaml"


def test_a_path_is_broken_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("timeliness", *METRO) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "centre                      load  response s  share %",
        "publisher                  0.079      18.229     41.7  █████████████████",
        "broker 1                   0.062       0.067      0.2",
        "broker 2                   0.062       0.067      0.2",
        "home broker                0.062       0.067      0.2",
        "home broker to subscriber  0.091      25.206     57.7  ███████████████████████",
        "subscriber                 0.062       0.067      0.2",
        "total                                 43.702",
        "slowest: home broker to subscriber, 57.7 % of the response; always ON it would take 0.067 s",
        "busiest: home broker to subscriber, load 0.091; it can take up to 10.94 events/s",
        "21.2 % of events come to publisher while OFF",
        "31.6 % of events come to home broker to subscriber while OFF",
    ]
    assert err == ""


def test_other_traffic_targets_and_lifetimes_have_lines_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bypass("timeliness", *METRO, "--publisher-other", 2, "--target", 45, "--lifetime", 60) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[12:] == [
        "with other traffic as longer services only: 43.941 s",
        "for a response of 45 s, one of",
        "  at most 0.4561 events/s",
        "  publisher OFF for at most 73.74 s",
        "  home broker to subscriber OFF for at most 67.84 s",
        "events that live for 60 s:",
        "  27.0 % expire, the others take 9.234 s, if whoever gets one late throws it away",
        "  28.7 % expire, the others take 10.158 s, if lifetimes are exponential and queues drop events",
    ]


def test_what_is_simulated_stands_beside_the_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulated = ("--simulate", 50_000, "--seed", 3)
    assert bypass("timeliness", "--subscriber-on", 0.5, "--subscriber-off", 0.5, *simulated) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith("simulated, 50,000 events: ")
    assert bypass("timeliness", NETWORK, *simulated, "--out", tmp_path) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("simulated from")]
    routes = json.loads((tmp_path / "summary.json").read_text())["routes"]
    assert len(lines) == len(routes) == 4
    for line, route in zip(lines, routes, strict=True):
        mean = route["simulated"]["mean_s"]
        centres = [
            Centre(
                each["name"],
                route["rate"],
                each["service_s"],
                inf if each["on_s"] is None else each["on_s"],
                each["off_s"],
                each["other"],
            )
            for each in route["centres"]
        ]
        assert mean == simulate(centres, 50_000, 3).mean
        assert f"{mean:.3f} ±" in line


def test_a_target_that_no_rate_meets_may_be_met_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("timeliness", *METRO, "--target", 20) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3].startswith("  no rate: target 20 s: expected at least 39.9")
    assert lines[-2].startswith("  no OFF period: publisher: target -5.4")
    assert lines[-1].startswith("  home broker to subscriber OFF for at most ")


def test_files_hold_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "metro"
    assert bypass("timeliness", *METRO, "--lifetime", 60, "--out", out) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"summary: {out / 'summary.json'}, picture: {out / 'timeliness.png'}"
    assert {path.name for path in out.iterdir()} == {"summary.json", "timeliness.png"}
    assert (out / "timeliness.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((out / "summary.json").read_text())
    assert summary["lifetime_s"] == 60
    [route] = summary["routes"]
    assert (route["publisher"], route["subscriber"], route["rate"]) == ("publisher", "subscriber", 1)
    assert route["brokers"] == ["broker 1", "broker 2", "home broker"]
    assert route["response_s"] == pytest.approx(43.7018, abs=1e-4)
    assert sum(centre["response_s"] for centre in route["centres"]) == pytest.approx(route["response_s"])
    assert [centre["on_s"] for centre in route["centres"]] == [292.1, None, None, None, 155.8, None]
    assert 0 < route["discarded_late"]["expired"] < route["dropped_waiting"]["expired"] < 1


def test_a_network_has_a_line_for_each_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("timeliness", NETWORK, "--lifetime", 60, "--out", tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["anna", "ben"],
        ["anna", "carla"],
        ["operator", "ben"],
        ["operator", "carla"],
    ]
    assert lines[5] == "busiest: east to carla, load 0.159"
    assert lines[6] == "events from anna to ben that live for 60 s:"
    routes = json.loads((tmp_path / "summary.json").read_text())["routes"]
    assert [f"{route['response_s']:.3f}" for route in routes] == [line.split()[-1] for line in lines[1:5]]
    assert (tmp_path / "timeliness.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--rate", 20], "publisher: load 1.25: expected below 1, what arrives cannot be served"),
        (["--rate", -1], "publisher: rate -1.0: expected a finite number, at least 0"),
        (["--service", 0], "publisher: service 0.0: expected a finite number above 0"),
        (["--brokers", -1], "brokers -1: expected at least 0"),
        (["--lifetime", 0], "lifetime 0.0 s: expected a finite number above 0"),
        (["--publisher-off", 5], "--publisher-off 5: expected --publisher-on with it"),
        ([NETWORK, "--rate", 2], "--rate with NETWORK: expected nothing, the file says it"),
        (["gone.yaml"], "gone.yaml: No such file or directory"),
    ],
)
def test_errors_take_one_line_and_write_nothing(
    tmp_path: Path, args: list[object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refusal(capsys, "timeliness", *args, "--out", tmp_path / "out") == message
    assert not (tmp_path / "out").exists()


def test_the_help_shows_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("timeliness", "--help") == 0
    out = capsys.readouterr().out
    assert "bypass timeliness --publisher-on 292.1 --publisher-off 78.7" in out
    assert "bypass timeliness examples/metro.yaml --out out/metro" in out
