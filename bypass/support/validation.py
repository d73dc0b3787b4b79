"""Turns what pydantic complains about in a file into one line: key, value, expectation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pydantic import ValidationError

from bypass.errors import shown
from bypass.transitions.validation import KeyPath, first_problem

_EXPECTATION = re.compile(r"\w+ (?:should (?:be|have)|is not) (.*)", re.DOTALL)


class Misfit(ValueError):
    """A complaint about one key. Where pydantic calls a validator, `path` is what comes below the validated
    group of keys."""

    def __init__(self, path: KeyPath, complaint: str) -> None:
        super().__init__(complaint)
        self.path = path

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} {self.args[0]}"


def first_misfit(error: ValidationError, keys: Callable[[KeyPath], Iterable[str]]) -> Misfit:
    """The first thing that pydantic complains about. `keys(path)` are those that a group may have."""
    problem = first_problem(error)
    if isinstance(problem.raised, Misfit):
        return Misfit(problem.path + problem.raised.path, problem.raised.args[0])
    if problem.kind == "extra_forbidden":
        return Misfit(problem.path, f"is unknown: expected one of {', '.join(keys(problem.path[:-1]))}")
    if problem.kind == "missing":
        return Misfit(problem.path, "is missing")
    return Misfit(problem.path, f"is {shown(problem.value)}: {expectation(problem.message)}")


def expectation(message: str) -> str:
    """What pydantic says is wrong, as what was expected, if it says that."""
    return _EXPECTATION.sub(r"expected \1", message, count=1)
