"""`bypass ingest letters`: dead letters by reason, device and time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bypass.ingest.devices.device import Device
from tests.command import bypass, refused
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pipeline = Pipeline(tmp_path / "f", Device(id="known"))
    for number in range(5):
        pipeline.append((f"stranger{number % 2}", message("x", T, a=number)), at=T + 1000 * number)
    pipeline.append(("known", b"{" + b"x" * 500), at=T + 9000)
    pipeline.append(("known", message("known", T, a=1)), at=T + 9000)
    pipeline.append(("bad\x1b[2Jname", b""), at=T - 1000)
    pipeline.run()
    return tmp_path / "f"


def listed(capsys: pytest.CaptureFixture[str], folder: Path, *options: object) -> dict[str, Any]:
    capsys.readouterr()
    assert bypass("ingest", "letters", "--folder", folder, "--json", *options) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_letters_are_found_by_reason_device_and_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = listed(capsys, folder)
    assert everything["letters"] == sum(everything["reasons"].values()) == len(everything["latest"]) == 7
    assert everything["reasons"]["unknown device"] == 6
    times = [row["received"] for row in everything["latest"]]
    assert times == sorted(times, reverse=True)
    (malformed,) = [row for row in everything["latest"] if row["device"] == "known"]
    assert (malformed["payload"], malformed["bytes"]) == ((b"{" + b"x" * 31).hex(), 501)
    only = listed(capsys, folder, "--reason", "unknown device", "--device", "stranger0")
    assert [row["received"] - T for row in only["latest"]] == [4000, 2000, 0]
    window = ("--since", "2025-11-18T09:43:21Z", "--until", "2025-11-18T09:43:23Z")
    assert [row["received"] - T for row in listed(capsys, folder, *window)["latest"]] == [2000, 1000]
    assert listed(capsys, folder, "--device", "nobody") == {"letters": 0, "reasons": {}, "latest": []}


def test_what_is_printed_has_a_bound_and_no_control_characters(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = listed(capsys, folder, "--most", 2)
    assert (few["letters"], len(few["latest"])) == (7, 2)
    assert bypass("ingest", "letters", "--folder", folder) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "7 of 7 dead letters"
    assert len(lines) == 9
    assert "\x1b" not in "".join(lines)
    assert f"{(b'{' + b'x' * 31).hex()}…" in lines[1]
    assert "--most" in refused(capsys, "ingest", "letters", "--folder", folder, "--most", 0)[1]


def test_there_may_be_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("ingest", "letters", "--folder", tmp_path / "none") == 0
    assert capsys.readouterr().out == "0 of 0 dead letters\n"
