"""Figures of edges, of samples that are written down here."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from bypass.scenarios.experiments.infrastructure import InfrastructureSettings
from bypass.scenarios.figures.infrastructure import (
    CACHES,
    COUNTS,
    SOURCES,
    DataArrival,
    EdgeSample,
    InfrastructureFigures,
    InfrastructureWatch,
    ItemsTold,
    edge_changes,
    no_infrastructure_figures,
)
from bypass.scenarios.figures.usage import ClientExecution
from bypass.transitions import Record


def settings(**more: Any) -> InfrastructureSettings:
    return InfrastructureSettings.model_validate({"places": [[0, 0], [9, 0]], "worlds": ["", "b"], **more})


def figures(watch: InfrastructureWatch, **more: Any) -> InfrastructureFigures:
    return InfrastructureFigures(settings(**more), watch, (), retrieval_s=10.0, slots_s=20.0, duration=60.0)


def sample(at: float, edge: int, local: dict[str, int], **counts: int) -> EdgeSample:
    return EdgeSample(at, edge, {"local": local, "global-data": {"b": 1}}, counts)


def test_what_edges_counted_is_added_up_though_one_begins_anew() -> None:
    watch = InfrastructureWatch(
        [
            sample(5, 0, {}, requested=4, served=1, downloads=2),
            sample(5, 1, {}, requested=1),
            sample(15, 0, {}, requested=10, served=3, downloads=6),
            EdgeSample(15, 1),  # it does not work
            sample(25, 0, {}, requested=11, served=3, downloads=6),
            sample(25, 1, {}, requested=1, served=2, downloads=4),
            sample(35, 1, {}, requested=0, served=1, downloads=1),  # started again
        ]
    )
    found = figures(watch)
    assert found.counts() == dict.fromkeys(COUNTS, 0) | {"requested": 12, "served": 6, "downloads": 11}
    summary = found.summary()
    assert summary["hit_ratio"] == 6 / 11
    assert found.by_cycle("requested", 10).tolist() == [2.5, 3, 0.5, 0, 0, 0]
    assert summary["most_requested"] == 3


def test_items_for_other_edges_are_those_of_the_first_cycle_and_of_later_ones() -> None:
    watch = InfrastructureWatch(
        [sample(at, 0, {}, provided=n) for at, n in ((19, 0), (30, 8), (50, 10), (60, 12))]
    )
    summary = figures(watch).summary()
    assert (summary["provided_first"], summary["provided_later"]) == (4, 2)
    assert figures(watch).by_cycle("provided", 20).tolist() == [4, 2]


def test_worlds_share_the_local_caches_at_the_end() -> None:
    watch = InfrastructureWatch(
        [sample(10, 0, {"": 1}), sample(10, 1, {}), sample(20, 0, {"": 3, "b": 2}), sample(20, 1, {"b": 3})]
    )
    found = figures(watch)
    summary = found.summary()
    assert summary["worlds"] == {"unnamed": 3 / 8, "b": 5 / 8}
    assert summary["cached"]["local"] == 4.5
    assert summary["cached_end"] == dict.fromkeys(CACHES, 0) | {"local": 8, "global-data": 2}
    times, by_world = found.course("local")
    assert times.tolist() == [10, 20]
    assert {world: entries.tolist() for world, entries in by_world.items()} == {"": [1, 3], "b": [0, 5]}


def test_data_come_from_somewhere() -> None:
    watch = InfrastructureWatch(
        arrivals=[DataArrival("edge", 0.2), DataArrival("edge", 0.4), DataArrival("replicas", 0.5)],
        told=[ItemsTold(1.0, 100, 0), ItemsTold(2.0, 95, 5)],
    )
    summary = figures(watch).summary()
    assert summary["sources"] == {"edge": 2 / 3, "replicas": 1 / 3, "forced": 0, "server": 0}
    assert summary["source_ms"]["edge"]["mean"] == pytest.approx(300)
    assert summary["from_edge"] == pytest.approx(0.6)
    assert summary["from_edge_stated"] == 0.67
    assert (summary["told_by_cells"], summary["told_by_edge"]) == (195, 5)


def test_an_edge_spends_what_is_said_that_it_does() -> None:
    watch = InfrastructureWatch([sample(60, 0, {}, sent_bytes=3000), sample(60, 1, {}, sent_bytes=1000)])
    assert figures(watch).summary()["edge_j"] == 0
    energy = {"idle_w": 5, "byte_j": 0.001}
    assert figures(watch, energy=energy).summary()["edge_j"] == pytest.approx(5 * 60 + 2)


def switched(at: float, client: int, proxy: str = "storage") -> ClientExecution:
    record = Record(
        "1",
        "plan",
        "rule",
        "infra",
        f"client-{client}",
        at,
        proxy,
        source="infra",
        target="cells",
        outcome="done",
    )
    return ClientExecution(record, 0.0, 0.0)


def test_an_outage_says_when_clients_went_on_by_themselves() -> None:
    outages = [{"at": 100, "until": 200, "edges": [0]}, {"at": 100}]
    moves = [switched(103, 1), switched(104, 2), switched(103, 1, "routing"), switched(210, 2)]
    told = [
        (1, 99.0, 2.0),
        (1, 101.0, 4.0),
        (3, 104.0, 0.5),
        (2, 150.0, 0.5),
        (1, 160.0, None),
        (2, 205.0, 10.0),
    ]
    with pytest.raises(ValueError, match="expected a time at which edge 0 works"):
        settings(outages=outages)
    changes = edge_changes(settings(outages=[outages[0]]), told, moves, 300.0)
    first, second = changes
    assert (first.at_s, first.failed, first.returned, first.clients) == (100, 1, 0, 2)
    assert (first.first_s, first.last_s, first.notified_s) == (3, 4, 1)
    assert (first.owed, first.recall, first.longest_s) == (4, 3 / 4, 4)
    assert (second.at_s, second.failed, second.returned, second.clients) == (200, 0, 1, 1)
    assert (second.first_s, second.last_s, second.notified_s) == (10, 10, 5)
    assert (second.owed, second.recall, second.longest_s) == (1, 1, 10)


def test_a_run_in_which_nothing_happened_has_the_same_figures() -> None:
    outages = [{"at": 1, "until": 2}]
    blank = no_infrastructure_figures(settings(outages=outages), 60.0).summary()
    watch = InfrastructureWatch([sample(20, 0, {"b": 1}, provided=1)], [DataArrival("edge", 1)])
    assert blank.keys() == figures(watch).summary().keys()
    assert set(blank["sources"]) == set(SOURCES)
    assert set(blank["worlds"]) == {"unnamed", "b"}
    assert len(blank["changes"]) == 2
    assert all(math.isnan(share) for share in blank["worlds"].values())


def test_every_figure_is_documented() -> None:
    def names(place: Any) -> set[str]:
        if isinstance(place, list):
            return {name for each in place for name in names(each)}
        if isinstance(place, dict):
            return {*place, *(name for each in place.values() for name in names(each))}
        return set()

    blank = no_infrastructure_figures(settings(outages=[{"at": 1}], worlds=[""]), 60.0)
    page = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")
    assert names(blank.summary()) <= {*re.findall(r"`([\w-]+)`", page)}
