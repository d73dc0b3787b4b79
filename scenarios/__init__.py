"""Experiments as files: load them, run them in the simulator, compare figures, write reports."""

from typing import TYPE_CHECKING

from bypass.scenarios.experiments.files import builtin_names
from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.scenarios.report.result import Result
    from bypass.scenarios.runs.loader import InvalidScenario, load
    from bypass.scenarios.runs.runner import run
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "InvalidScenario": "bypass.scenarios.runs.loader",
            "Result": "bypass.scenarios.report.result",
            "load": "bypass.scenarios.runs.loader",
            "run": "bypass.scenarios.runs.runner",
        },
    )

__all__ = ["InvalidScenario", "Result", "builtin_names", "load", "run"]
