"""Experiments with edges run: short forms of the scenarios, and what must hold in each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bypass.models.storage.over_used_cell import OverUsedCell
from bypass.scenarios import load
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.runs.aided import AidedExperiment
from bypass.scenarios.runs.preparation import prepared
from bypass.sim.route_news import NodeWays


def experiment(name: str, run: str = "", seed: int = 1, **more: Any) -> AidedExperiment:
    """One run of a built-in scenario, set up."""
    found = variants(load(name, **more))
    chosen: Scenario = found[run] if run else next(iter(found.values()))
    made = prepared(chosen, seed)
    assert isinstance(made, AidedExperiment)
    return made


def figures(name: str, run: str = "", seed: int = 1, **more: Any) -> dict[str, Any]:
    """The figures of one run of a built-in scenario."""
    extra: dict[str, Any] = experiment(name, run, seed, **more).run().summary()["extra"]
    return extra


def is_safe(extra: dict[str, Any]) -> bool:
    """Whether nothing was lost, told twice, or came back, and everybody was told everything."""
    counted = {name: extra[name] for name in ("lost", "doubled", "returned", "notified")}
    return counted == {"lost": 0, "doubled": 0, "returned": 0, "notified": 1.0}


def test_a_class_is_told_of_everything_and_the_edge_serves_some_of_it() -> None:
    extra = figures("infra-university", clients=12, duration=240)
    assert is_safe(extra)
    assert extra["success"]["insert"] == extra["success"]["subscribe"] == 1.0
    edges = extra["infrastructure"]
    assert edges["counts"]["served"] > 0
    assert edges["counts"]["lost_cycles"] == 0
    assert sum(edges["sources"].values()) == pytest.approx(1.0)
    assert edges["cached_end"]["local"] > 0
    assert edges["told_by_edge"] > 0
    assert extra["energy"]["mean_j"] > 0


@pytest.mark.parametrize("run", ["all-processes", "one-access-point"])
def test_clients_go_on_without_edges_and_come_back(run: str) -> None:
    extra = figures("infra-failover", run, clients=8, duration=240)
    assert is_safe(extra)
    failed, returned = extra["infrastructure"]["changes"]
    clients = 8 if run.startswith("all") else 4
    assert (failed["failed"], returned["returned"]) == ((2, 2) if clients == 8 else (1, 1))
    assert failed["clients"] == returned["clients"] == clients
    assert failed["owed"] > 0
    assert returned["owed"] > 0
    assert failed["recall"] == returned["recall"] == 1.0
    assert failed["last_s"] <= 5.0  # 3.5 beacons without one, and the patience
    assert failed["longest_s"] <= 12.0  # that, 4.5 s in which cells are joined, and 3 beacons
    assert 0 < extra["design"]["cells"] < extra["design"]["infra"]


def test_an_over_used_cell_returns_what_the_edge_does_not_have() -> None:
    aided = experiment("infra-hotcell", "aided")
    extra = aided.run().summary()["extra"]
    begins = 70.0
    curve = [told.by_cells for told in sorted(aided._edge_watch.told) if told.at >= begins]
    assert curve == OverUsedCell().returned(offloaded=5)
    assert extra["infrastructure"]["told_by_cells"] == 10_500
    assert is_safe(extra)


def test_clients_of_two_areas_keep_apart_and_edges_send_ahead_what_is_wanted_there() -> None:
    with_notices, without = (
        figures("infra-consumption", f"{run}-100", clients=8, duration=360) for run in ("with", "without")
    )
    assert is_safe(with_notices)
    assert is_safe(without)
    assert with_notices["infrastructure"]["counts"]["notices"] > 0
    assert without["infrastructure"]["counts"]["notices"] == 0
    later = [extra["infrastructure"]["provided_later"] for extra in (with_notices, without)]
    assert 0 < later[0] < later[1]
    apart = figures("infra-consumption", "with-0", clients=6, duration=240)
    assert apart["infrastructure"]["counts"]["provided"] == 0


def test_what_is_deleted_while_edges_are_apart_stays_deleted() -> None:
    for run in ("apart", "failing"):
        extra = figures("infra-unpublish", run, clients=8, duration=240)
        assert is_safe(extra)
        assert extra["success"]["delete"] == 1.0


def test_objects_stay_in_their_worlds() -> None:
    made = experiment("infra-worlds", "double", clients=9, duration=240)
    extra = made.run().summary()["extra"]
    assert is_safe(extra)
    shares = extra["infrastructure"]["worlds"]
    assert set(shares) == {"one", "two", "three"}
    assert sum(shares.values()) == pytest.approx(1.0)
    worlds = {post.key: post.world for post in made._watched.posts.values()}
    assert {made._watched.follows[number].world for number, _ in made._watched.told} == {
        "one",
        "two",
        "three",
    }
    assert all(made._watched.follows[number].world == worlds[key] for number, key in made._watched.told)


def test_what_the_link_keeps_from_nodes_of_other_cells_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = json.dumps(figures("infra-university", clients=10, duration=120))
    given: list[int | None] = []
    monkeypatch.setattr(NodeWays, "serve", lambda _, cell: given.append(cell))
    assert json.dumps(figures("infra-university", clients=10, duration=120)) == kept
    assert given


def test_a_cloud_is_slower_than_the_edge_in_proportion_to_the_size() -> None:
    times = {}
    for run in ("cloud-5k", "cloud-1m"):
        extra = figures("infra-paths", run, clients=4, duration=240)
        assert is_safe(extra)
        edges = extra["infrastructure"]
        assert edges["sources"]["server"] == 1.0
        times[run] = edges["source_ms"]["server"]["mean"]
    assert times["cloud-5k"] > 40.0  # there and back
    assert times["cloud-1m"] > 840.0  # a megabyte at 10 Mbit/s, besides
