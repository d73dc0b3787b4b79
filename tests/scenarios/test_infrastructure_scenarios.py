"""Scenarios with infrastructure are read, and their checks look for figures that there will be."""

from __future__ import annotations

from functools import partial

import pytest

from bypass.scenarios import load
from bypass.scenarios.experiments.checks import judge
from bypass.scenarios.experiments.files import builtin_names
from bypass.scenarios.experiments.variants import variants
from bypass.scenarios.runs.paths import check_paths

NAMES = [name for name in builtin_names() if name.startswith("infra-")]


def test_all_of_them_are_there() -> None:
    kinds = "university mats ranking worlds consumption batches hotcell failover stable-node unpublish paths"
    assert sorted(f"infra-{kind}" for kind in (*kinds.split(), "against-cells")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_its_checks_look_for_figures_that_there_are(name: str) -> None:
    scenario = load(name)
    assert scenario.checks
    check_paths(scenario)
    for check in scenario.checks:
        alone = check.model_copy(update={"minus": None, "over": None})
        verdicts = {judge([alone], partial(_always, value))[0].verdict for value in (-1e9, 1e9)}
        assert "differs" in verdicts, check.name
        assert scenario.main in scenario.runs or not scenario.runs


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_made_shorter(name: str) -> None:
    whole, short = load(name), load(name, duration=72, clients=12)
    for run, each in variants(short).items():
        assert each.objects is not None
        assert each.objects.workload is not None
        assert each.objects.operations_from + each.objects.workload.build().length <= 72
        assert len(each.objects.schedule(12, 1)) > 0
        before = variants(whole)[run].infrastructure
        assert (each.infrastructure is None) is (before is None)


def _always(value: float, _: str) -> float:
    return value
