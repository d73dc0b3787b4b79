"""Turns pydantic errors into one line that names the key, its value and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pydantic import ValidationError

from bypass.errors import shown
from bypass.transitions.validation import KeyPath, first_problem

_EXPECTATION = re.compile(r"\w+ (?:should (?:be|have)|is not) (.*)", re.DOTALL)


class Misfit(ValueError):
    """An error about one key. In one that a pydantic validator raises, `path` starts below the validated
    group."""

    def __init__(self, path: KeyPath, complaint: str) -> None:
        super().__init__(complaint)
        self.path = path

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} {self.args[0]}"


def first_misfit(error: ValidationError, keys: Callable[[KeyPath], Iterable[str]]) -> Misfit:
    """The first error that pydantic found. `keys(path)` gives the keys that a group may have."""
    problem = first_problem(error)
    if isinstance(problem.raised, Misfit):
        return Misfit(problem.path + problem.raised.path, problem.raised.args[0])
    if problem.kind == "extra_forbidden":
        return Misfit(problem.path, f"is unknown: expected one of {', '.join(keys(problem.path[:-1]))}")
    if problem.kind == "missing":
        return Misfit(problem.path, "is missing")
    return Misfit(problem.path, f"is {shown(problem.value)}: {expectation(problem.message)}")


def expectation(message: str) -> str:
    """Turn "X should be Y" or "X is not Y" of a pydantic message into "expected Y"; other messages stay as
    they are."""
    return _EXPECTATION.sub(r"expected \1", message, count=1)
