"""The choice of the experiment that carries a scenario out."""

from __future__ import annotations

from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.runs.aided import AidedExperiment
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.scripted import ScriptedExperiment
from bypass.scenarios.runs.stored import StorageExperiment


def prepared(scenario: Scenario, seed: int) -> Experiment:
    """Set up a scenario without `runs`: by its script, with objects, aided by edges or not, or by its
    models."""
    if scenario.script is not None:
        return ScriptedExperiment(scenario, scenario.script, seed)
    if scenario.objects is None:
        return Experiment(scenario, seed)
    if scenario.infrastructure is None:
        return StorageExperiment(scenario, scenario.objects, seed)
    return AidedExperiment(scenario, scenario.objects, scenario.infrastructure, seed)
