"""Experiments as files: load them, run them in the simulator, compare figures, write reports."""

from typing import TYPE_CHECKING

from bypass.lazy import lazy_names
from bypass.scenarios.files import builtin_names

if TYPE_CHECKING:
    from bypass.scenarios.loader import InvalidScenario, load
    from bypass.scenarios.result import Result
    from bypass.scenarios.runner import run
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "InvalidScenario": "bypass.scenarios.loader",
            "Result": "bypass.scenarios.result",
            "load": "bypass.scenarios.loader",
            "run": "bypass.scenarios.runner",
        },
    )

__all__ = ["InvalidScenario", "Result", "builtin_names", "load", "run"]
