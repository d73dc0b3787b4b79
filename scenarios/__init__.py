"""Experiments as files: load them, run them in the simulator, compare figures, write reports."""

from typing import TYPE_CHECKING

from bypass.scenarios.experiments.files import builtin_names
from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.scenarios.evaluation import evaluate
    from bypass.scenarios.evaluation.schemes import InvalidEvaluation
    from bypass.scenarios.report.result import Result
    from bypass.scenarios.runs.experiment import ExperimentFailed
    from bypass.scenarios.runs.loader import InvalidScenario, load
    from bypass.scenarios.runs.runner import run
    from bypass.scenarios.runs.sweep import InvalidSweep, sweep
    from bypass.scenarios.runs.trial import SweepFailed
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "ExperimentFailed": "bypass.scenarios.runs.experiment",
            "InvalidEvaluation": "bypass.scenarios.evaluation.schemes",
            "InvalidScenario": "bypass.scenarios.runs.loader",
            "InvalidSweep": "bypass.scenarios.runs.sweep",
            "Result": "bypass.scenarios.report.result",
            "SweepFailed": "bypass.scenarios.runs.trial",
            "evaluate": "bypass.scenarios.evaluation",
            "load": "bypass.scenarios.runs.loader",
            "run": "bypass.scenarios.runs.runner",
            "sweep": "bypass.scenarios.runs.sweep",
        },
    )

__all__ = [
    "ExperimentFailed",
    "InvalidEvaluation",
    "InvalidScenario",
    "InvalidSweep",
    "Result",
    "SweepFailed",
    "builtin_names",
    "evaluate",
    "load",
    "run",
    "sweep",
]
