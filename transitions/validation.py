"""Turns complaints of pydantic into parts that error messages are made of."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from bypass.transitions.errors import TransitionError, short

M = TypeVar("M", bound=BaseModel)

KeyPath = tuple[int | str, ...]


class Problem(NamedTuple):
    """One complaint: where the value stands, pydantic's name for the kind, the value, and what is wrong.

    `raised` is the error of a validator of ours that made the complaint, if one did.
    """

    path: KeyPath
    kind: str
    value: Any
    message: str
    raised: object

    @property
    def key(self) -> str:
        """The path as one writes it; empty for the whole."""
        return ".".join(map(str, self.path))

    def describe(self, what: str) -> str:
        """The complaint about a part of `what`, in one line."""
        if self.kind == "json_invalid":
            return f"{what} is not JSON: {self.raised}"
        key = self.key or what
        if self.kind == "missing":
            return f"{what}: {key} is missing"
        return f"{what}: {key} is {short(self.value)}: {self.message}"


def problems_of(error: ValidationError) -> list[Problem]:
    """All complaints of an error, in pydantic's order."""
    return [
        Problem(
            each["loc"],
            each["type"],
            each["input"],
            each["msg"].removeprefix("Value error, "),
            each.get("ctx", {}).get("error"),
        )
        for each in error.errors(include_url=False)
    ]


def first_problem(error: ValidationError) -> Problem:
    """The first complaint of an error."""
    return problems_of(error)[0]


def parse_json(kind: type[M], what: str, text: str | bytes, error: type[TransitionError]) -> M:
    """`text` as a `kind`. Raises `error` in one line if it is not one."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as problem:
        raise error(first_problem(problem).describe(what)) from None
