"""Scenarios with a store in short: their figures, their checks, and what a switch of the design shows."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from bypass.models.storage.operations import OperationKind
from bypass.scenarios.experiments.checks import judge
from bypass.scenarios.experiments.files import InvalidScenario
from bypass.scenarios.experiments.variants import changed, validated, variants
from bypass.scenarios.figures.storage_switches import (
    SWITCH_S,
    Told,
    store_phases,
    store_stages,
    store_switches,
)
from bypass.scenarios.figures.usage import ClientExecution
from bypass.scenarios.runs.loader import load
from bypass.scenarios.runs.preparation import prepared
from bypass.transitions import Record

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {
    "clients": 16,
    "world.width": 160,
    "world.height": 80,
    "mobility.width": 160,
    "mobility.height": 80,
}
IN_CELLS = {"begin.2.set.area": [0, 0, 160, 80]}


def figures(name: str, run: str = "", **changes: Any) -> dict[str, Any]:
    """The `extra` of a short form of a scenario, or of one of its runs."""
    scenario = load(name, duration=72, clients=16)
    data = variants(scenario)[run] if run else scenario
    small = load_with(data.model_dump(mode="json"), SMALL | changes)
    extra: dict[str, Any] = prepared(small, 1).run().summary()["extra"]
    return extra


def load_with(data: dict[str, Any], changes: dict[str, Any]) -> Any:
    return validated("short", changed("short", data, changes))


@pytest.mark.parametrize(
    ("name", "run", "changes"),
    [
        ("thyme-static", "cells-16", IN_CELLS),
        ("thyme-static", "ours-16", IN_CELLS),
        ("thyme-static", "local-16", {}),
        ("thyme-static", "server-16", {}),
        ("thyme-crashes", "cells-many", IN_CELLS | {"churn.after": 20, "churn.before": 30}),
        ("thyme-churn", "local-40", {"churn.on": 12, "churn.off": 6}),
        ("thyme-mobile", "cells-10", IN_CELLS | {"mobility.pause": 12}),
    ],
)
def test_a_short_form_has_the_figures_of_a_store(name: str, run: str, changes: dict[str, Any]) -> None:
    extra = figures(name, run, **changes)
    assert extra["objects"] > 0
    assert 0 < extra["acknowledged"] <= extra["objects"]
    assert extra["doubled"] == 0
    assert extra["success"]["insert"] > 0.9
    assert list(extra["design"]) == [run.split("-")[0].replace("ours", "cells")]
    assert extra["traffic"]["cellular_up"] == extra["traffic"]["cellular_down"] == 0
    assert extra["store_traffic"]["phy_bytes"] > 0


def test_all_follow_a_plan_from_design_to_design_without_a_broker() -> None:
    area: dict[str, Any] = {"timeline.0.plan.actions.0.set.area": [0, 0, 160, 80]}
    extra = figures("storage-transitions", **area)
    assert [switch["clients"] for switch in extra["store_switches"]] == [16, 16, 16]
    assert all(switch["bytes"] > 0 and switch["seconds"] < 5 for switch in extra["store_switches"])
    assert set(extra["store_phases"]) == {"local", "cells", "server", "local-again"}
    assert set(extra["design"]) == {"local", "cells", "server"}
    assert extra["doubled"] == 0
    assert extra["traffic"]["cellular_down"] == 0


@pytest.mark.parametrize(
    "name",
    ["thyme-static", "thyme-crashes", "thyme-churn", "thyme-mobile", "storage-transitions", "thyme-planner"],
)
def test_every_check_can_fail(name: str) -> None:
    """No figure fits all checks: one that is far too low or far too high differs for each of them."""
    for check in load(name).checks:
        alone = check.model_copy(update={"minus": None, "over": None})
        verdicts = {judge([alone], partial(_always, value))[0].verdict for value in (-1e9, 1e9)}
        assert "differs" in verdicts, check.name


def test_a_stage_says_when_all_have_settled_on_a_design() -> None:
    def switch(at: float, client: int, target: str) -> ClientExecution:
        record = Record(
            "1", "plan", "rule", "", f"client-{client}", at, "storage", target=target, outcome="done"
        )
        return ClientExecution(record, 0.0, 0.0)

    moves = [switch(at, client, "local") for at, client in ((3.0, 0), (4.0, 1))]
    moves += [switch(50.0, 0, "cells"), switch(50.5, 1, "cells"), switch(80.0, 1, "local")]
    first, second, third = store_stages([10.0, 40.0, 90.0], 100.0, moves)
    assert (first.settled_s, first.switches) == (0, 0)
    assert first.designs == {"local": 1, "cells": 0, "server": 0}
    assert (second.settled_s, second.switches) == (40, 1.5)
    assert second.designs == {"local": 0.5, "cells": 0.5, "server": 0}
    assert (third.at_s, third.settled_s, third.designs) == (90, 0, second.designs)


def test_stages_of_a_workload_follow_each_other() -> None:
    settings = load("thyme-planner").objects
    assert settings is not None
    assert settings.stage_starts == [60, 300, 540]
    drawn = settings.schedule(16, 1)
    assert (np.diff(drawn.at_us) >= 0).all()
    shares = []
    for begin in (0, 240, 480):
        own = (drawn.at_us >= begin * 1e6) & (drawn.at_us < (begin + 240) * 1e6)
        inserted = own & (drawn.kind == OperationKind.INSERT)
        shares.append(
            inserted.sum() / (inserted.sum() + (own & (drawn.kind == OperationKind.SUBSCRIBE)).sum())
        )
        assert (drawn.posts.at_us[drawn.subject[inserted]] == drawn.at_us[inserted]).all()
        assert (drawn.posts.author[drawn.subject[inserted]] == drawn.node[inserted]).all()
    assert shares[0] < 0.1
    assert shares[1] > 0.9
    assert shares[2] < 0.1
    stretched = settings.stretched(0.1)
    assert [stage["posts"]["duration"] for stage in stretched["stages"]] == [24, 24]


def test_rules_are_for_who_applies_them() -> None:
    with pytest.raises(InvalidScenario, match="has the rule 'enter' on 'location': expected one on store"):
        load("thyme-planner", changes={"rules": {"use": "borders"}})
    with pytest.raises(InvalidScenario, match="on 'store': expected one on location, density, workload"):
        load("adhoc", changes={"rules": {"use": "storage-mix"}})


def _always(value: float, _: str) -> float:
    return value


def told(*moments: tuple[float, float | None]) -> list[Told]:
    return list(moments)


def test_a_switch_is_compared_with_the_worse_one_of_its_phases() -> None:
    pairs = told((5.0, 0.1), (6.0, 0.1), (50.0, None), (51.0, 3.0), (50.0 + SWITCH_S, 0.1))
    phases = store_phases([("one", 0.0), ("two", 50.0)], pairs)
    assert [(phase.name, phase.owed, phase.recall) for phase in phases] == [("one", 2, 1.0), ("two", 1, 1.0)]
    (switch,) = store_switches(phases, pairs, np.arange(100), ())
    assert (switch.owed, switch.recall, switch.recall_margin, switch.longest_s) == (2, 0.5, -0.5, 3.0)
    assert switch.bytes == sum(range(50, 80))
    assert switch.bytes_before == sum(range(20, 50))
    assert math.isnan(switch.seconds)


def test_the_server_is_a_client_in_the_middle_that_stays() -> None:
    scenario = variants(load("thyme-mobile"))["server-10"]
    experiment = prepared(scenario, 1)
    assert experiment._middle == prepared(scenario, 1)._middle  # type: ignore[attr-defined]
    number = experiment._middle  # type: ignore[attr-defined]
    places = [experiment._trace.position(number, at) for at in (0.0, 300.0, 720.0)]
    assert places[0] == places[1] == places[2]
    assert math.dist(places[0], (200.0, 100.0)) < 80
