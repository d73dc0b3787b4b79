"""The section `infrastructure` of a scenario: what it means, and what is refused, with key and value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bypass.models.storage.latency import LatencyRatios
from bypass.scenarios import InvalidScenario, load
from bypass.scenarios.experiments.infrastructure import EdgeSwitch, InfrastructureSettings
from bypass.scenarios.experiments.inputs import experiment_text
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.runs.preparation import prepared

TEXT = """
about: Two edges, one of which fails.
clients: 20
duration: 720
world: {width: 400, height: 100}
mobility: {model: visitors, width: 400, height: 100}
begin:
  - {proxy: transport, to: wifi}
  - {proxy: mode, to: ad-hoc}
objects: {storage: cells, workload: {model: university}}
infrastructure:
  places: [[100, 50], [300, 50]]
  backhaul: {delay: 0.01, cuts: [{at: 100, until: 200, between: [0, 1]}]}
  outages:
    - {at: 300, until: 400, edges: [1]}
    - {at: 350, edges: [1], part: access-point}
    - {at: 500, until: 510}
  worlds: [gallery, board]
  edge: {ranking: everything, batches: 6}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "edges.yaml").write_text(TEXT)
    return tmp_path / "edges.yaml"


def infrastructure(path: Path, **more: Any) -> InfrastructureSettings:
    found = load(path, **more).infrastructure
    assert found is not None
    return found


def test_what_is_not_given_has_a_default(path: Path) -> None:
    found = infrastructure(path)
    assert [*found.places] == [(100, 50), (300, 50)]
    assert [found.beacon, found.hello] == [1, 20]
    assert [found.backhaul.delay, found.backhaul.rate, found.backhaul.loss] == [0.01, 1e9, 0]
    assert (found.edge.ranking, found.edge.batches, found.edge.cells) == ("everything", 6, 9)
    assert [found.world_of(client) for client in range(3)] == ["gallery", "board", "gallery"]
    plain = InfrastructureSettings.model_validate({"places": [[0, 0]]})
    assert plain.worlds == ("",)
    assert plain.switches() == []


def test_failures_are_in_the_order_of_time(path: Path) -> None:
    assert infrastructure(path).switches() == [
        EdgeSwitch(300, 1, "process", False),
        EdgeSwitch(350, 1, "access-point", False),
        EdgeSwitch(400, 1, "process", True),
        EdgeSwitch(500, 0, "process", False),
        EdgeSwitch(500, 1, "process", False),
        EdgeSwitch(510, 0, "process", True),
        EdgeSwitch(510, 1, "process", True),
    ]


def test_another_duration_stretches_failures(path: Path) -> None:
    found = infrastructure(path, duration=72)
    assert [(each.at, each.until) for each in found.outages] == [(30, 40), (35, None), (50, 51)]
    assert [(each.at, each.until) for each in found.backhaul.cuts] == [(10, 20)]
    assert found.backhaul.delay == 0.01


def test_another_duration_stretches_failures_of_runs(path: Path) -> None:
    runs = """
runs:
  other:
    infrastructure.outages: [{at: "90", until: 100}]
    infrastructure.backhaul.cuts: [{at: 9, between: [1, 0]}]
  same: {clients: 3}
"""
    path.write_text(TEXT + runs)
    short = variants(load(path, duration=72))
    other, same = short["other"].infrastructure, short["same"].infrastructure
    assert other is not None
    assert same is not None
    assert [(each.at, each.until) for each in other.outages] == [(9, 10)]
    assert [(each.at, each.until) for each in other.backhaul.cuts] == [(0.9, None)]
    assert [each.at for each in same.outages] == [30, 35, 50]
    path.write_text(TEXT + "runs: {other: {infrastructure.outages: 3}}\n")
    with pytest.raises(
        InvalidScenario, match=r"run other: infrastructure\.outages is 3: expected a valid tuple"
    ):
        load(path, duration=72)


def test_what_is_written_out_gives_the_same(path: Path) -> None:
    again = path.with_name("again.yaml")
    again.write_text(experiment_text(load(path)))
    assert infrastructure(again) == infrastructure(path)


def test_runs_may_have_another_infrastructure(path: Path) -> None:
    runs = "runs: {none: {infrastructure: null}, all: {infrastructure.outages: [{at: 9}]}}\n"
    path.write_text(TEXT + runs)
    assert set(load(path).runs) == {"none", "all"}


def test_the_system_has_the_edges_behind_its_clients(path: Path) -> None:
    system = prepared(load(path, duration=72), 1).system
    assert system.edges.running == [20, 21]
    known = [[each.world for each in system.edges[edge].service.worlds()] for edge in system.edges]
    assert known == [["", "gallery", "board"]] * 2


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"objects": None}, r"infrastructure is given without objects: expected a store that it aids"),
        ({"infrastructure.places": []}, r"infrastructure\.places is \[\]: expected at least 1 item"),
        (
            {"infrastructure.places": [[1, -1], [2, 2]]},
            r"infrastructure\.places\.0\.1 is -1: expected greater",
        ),
        (
            {"infrastructure.places": [[100, 50], [401, 50]]},
            r"infrastructure\.places\.1 is \[401, 50\]: expected a place in 400 by 100 m",
        ),
        ({"infrastructure.edge.batches": 0}, r"infrastructure\.edge\.batches is 0: expected greater"),
        ({"infrastructure.fallback.probe": 0}, r"infrastructure\.fallback\.probe is 0: expected greater"),
        (
            {"infrastructure.beacon": 0},
            r"infrastructure\.beacon is 0: expected greater than or equal to 0\.01",
        ),
        ({"infrastructure.backhaul.loss": 1}, r"infrastructure\.backhaul\.loss is 1: expected less than 1"),
        (
            {"infrastructure.backhaul.speed": 1},
            r"infrastructure\.backhaul\.speed is unknown: expected one of delay, rate, loss, cuts",
        ),
        (
            {"infrastructure.backhaul.cuts": [{"at": 1, "between": [0, 2]}]},
            r"infrastructure\.backhaul\.cuts\.0\.between\.1 is 2: expected the number of an edge, 0 to 1",
        ),
        (
            {"infrastructure.backhaul.cuts": [{"at": 1, "between": [1, 1]}]},
            r"infrastructure\.backhaul\.cuts\.0\.between is \[1, 1\]: expected two edges",
        ),
        (
            {"infrastructure.outages": [{"at": 9, "edges": [5]}]},
            r"infrastructure\.outages\.0\.edges\.0 is 5: expected the number of an edge, 0 to 1",
        ),
        (
            {"infrastructure.outages": [{"at": 9, "until": 9}]},
            r"infrastructure\.outages\.0\.until is 9: expected a time after at, 9 s",
        ),
        (
            {"infrastructure.outages": [{"at": 720}]},
            r"infrastructure\.outages\.0\.at is 720: expected a time before the end, 720 s",
        ),
        (
            {"infrastructure.outages": [{"at": 9}, {"at": 10, "edges": [1]}]},
            r"infrastructure\.outages\.1\.at is 10: expected a time at which edge 1 works, by the others",
        ),
        (
            {"infrastructure.outages": [{"at": 9, "part": "cable"}]},
            r"infrastructure\.outages\.0\.part is 'cable': expected 'process' or 'access-point'",
        ),
        (
            {"infrastructure.outages": [{"at": 9, "when": 1}]},
            r"infrastructure\.outages\.0\.when is unknown: expected one of at, until, edges, part",
        ),
        (
            {"infrastructure.worlds": ["a", "a"]},
            r"infrastructure\.worlds\.1 is 'a': expected each world once",
        ),
        (
            {"infrastructure.worlds": ["x" * 300]},
            r"infrastructure\.worlds\.0 is 'x+': namespace of 300 bytes",
        ),
        ({"infrastructure.edge": 3}, r"infrastructure\.edge is 3: expected a valid dictionary"),
        ({"infrastructure.energy.idle_w": -1}, r"infrastructure\.energy\.idle_w is -1: expected"),
        ({"infrastructure.latency.from_edge": 0}, r"infrastructure\.latency\.from_edge is 0: expected"),
        ({"infrastructure.nodes": 3}, r"infrastructure\.nodes is unknown: expected one of places, beacon"),
    ],
)
def test_what_does_not_fit_is_named(path: Path, changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidScenario, match=complaint):
        load(path, changes=changes)


intervals = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10) | st.none(), st.integers(0, 2)), max_size=6
)


@settings(derandomize=True, deadline=None)
@given(intervals)
def test_a_part_fails_only_while_it_works(drawn: list[tuple[int, int | None, int]]) -> None:
    """Accepted outages alternate at each edge; refused ones would not."""
    spans = [(edge, at, np.inf if length is None else at + length) for at, length, edge in drawn]
    apart = all(
        one != other or until < begin or end < at
        for i, (one, at, until) in enumerate(spans)
        for other, begin, end in spans[:i]
    )
    outages = [
        {"at": at, "until": None if until == np.inf else until, "edges": [edge]} for edge, at, until in spans
    ]
    data = {"places": [[0, 0]] * 3, "outages": outages}
    if not apart:
        with pytest.raises(ValidationError, match="expected a time at which edge"):
            InfrastructureSettings.model_validate(data)
        return
    works = [True] * 3
    for switch in InfrastructureSettings.model_validate(data).switches():
        assert works[switch.edge] is not switch.works
        works[switch.edge] = switch.works


def test_latencies_are_linear_in_hops() -> None:
    """A second hop adds 170 %, a download from an edge takes a third less."""
    ratios = LatencyRatios()
    assert [ratios.of_hops(hops) for hops in (1, 2, 3)] == [1, pytest.approx(2.7), pytest.approx(4.4)]
    assert ratios.from_edge == 0.67
