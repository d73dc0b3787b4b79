"""What does not fit in a file, by the key it stands under."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pydantic import ValidationError

from bypass.errors import shown

Path = tuple[int | str, ...]


class Misfit(ValueError):
    """A complaint about one key. Where pydantic calls a validator, `path` is what comes below the validated
    group of keys."""

    def __init__(self, path: Path, complaint: str) -> None:
        super().__init__(complaint)
        self.path = path

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} {self.args[0]}"


def first_misfit(error: ValidationError, keys: Callable[[Path], Iterable[str]]) -> Misfit:
    """The first thing that pydantic complains about. `keys(path)` are those that a group may have."""
    problem = error.errors(include_url=False)[0]
    path, kind, value = problem["loc"], problem["type"], problem["input"]
    raised = problem.get("ctx", {}).get("error")
    if isinstance(raised, Misfit):
        return Misfit(path + raised.path, raised.args[0])
    if kind == "extra_forbidden":
        return Misfit(path, f"is unknown: expected one of {', '.join(keys(path[:-1]))}")
    if kind == "missing":
        return Misfit(path, "is missing")
    expected = problem["msg"].removeprefix("Value error, ").replace("Input should be", "expected", 1)
    return Misfit(path, f"is {shown(value)}: {expected}")
