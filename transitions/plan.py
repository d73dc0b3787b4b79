"""Plans: which transitions to do, as data that travels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from bypass.transitions.errors import InvalidPlan, TransitionError, short
from bypass.transitions.validation import first_problem, parse_json
from bypass.transitions.yaml_text import dump_yaml, load_yaml

if TYPE_CHECKING:
    from bypass.transitions.engine.engine import Engine
    from bypass.transitions.engine.record import Record

MAX_BYTES = 64 * 1024
"""A plan on the wire is never larger: what reads plans from strangers must not be made to work for them."""

MAX_ACTIONS = 128
MOST_SHOWN = 4  # actions, where a plan is shown in one line

Name = Annotated[str, Field(min_length=1)]


class Action(BaseModel):
    """One transition: to another mechanism (`to`), of parameters only (`set`), or both.

    `of` restricts a change of parameters to that mechanism. `members` makes it a partial transition: only
    these members of a group move. `area` does so as well, with the members that are there when the plan is
    executed; who executes it has to know which that is, and what the data mean.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    proxy: Name
    to: Name | None = None
    set: dict[str, JsonValue] = {}
    of: Name | None = None
    members: Annotated[tuple[int | str, ...], Field(min_length=1)] | None = None
    area: str | list[float] | dict[str, JsonValue] | None = None

    @property
    def is_partial(self) -> bool:
        """Whether only some members move."""
        return self.members is not None or self.area is not None

    @field_validator("set", "area")
    @classmethod
    def _is_finite(cls, values: JsonValue) -> JsonValue:
        json.dumps(values, allow_nan=False)  # raises ValueError for what pydantic reads and JSON cannot say
        return values

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.to is None and not self.set:
            raise ValueError("an action needs `to`, a mechanism, or `set`, at least one parameter")
        if self.to is None and self.is_partial:
            raise ValueError("`members` and `area` need `to`, the mechanism that members move to")
        if self.members is not None and self.area is not None:
            raise ValueError("`area` says which members move and excludes `members`")
        if self.to is not None and self.of is not None:
            raise ValueError("`of` restricts a change of parameters and excludes `to`")
        return self


class Plan(BaseModel):
    """An ordered list of actions for one host or many. Each host does it once per `id`.

    `scope` is the area that the decision is about; 0: everywhere. `decision` numbers decisions within a
    scope: hosts that hear of a newer one follow by themselves; 0: none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    plan: Name
    why: str = ""
    who: str = ""
    id: Annotated[str, Field(max_length=128)] = ""
    epoch: Annotated[int, Field(ge=0)] = 0
    scope: Annotated[int, Field(ge=0, le=65_535)] = 0
    decision: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    on_error: Literal["abort", "continue"] = "abort"
    actions: Annotated[tuple[Action, ...], Field(min_length=1, max_length=MAX_ACTIONS)]

    def __repr__(self) -> str:
        told = [f"{action.proxy} -> {action.to or short(action.set)}" for action in self.actions[:MOST_SHOWN]]
        if len(self.actions) > MOST_SHOWN:
            told.append(f"and {len(self.actions) - MOST_SHOWN} more")
        return f"Plan({short(self.plan)}: {', '.join(told)})"

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The plan that `data` describes. Raises InvalidPlan."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InvalidPlan(first_problem(error).describe("plan")) from None

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """Raises InvalidPlan."""
        return cls.from_data(load_yaml("plan", text, InvalidPlan))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises InvalidPlan."""
        return parse_json(cls, "plan", text, InvalidPlan)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The plan that came over the wire. Raises InvalidPlan."""
        check_size("plan", data, MAX_BYTES, InvalidPlan)
        return parse_json(cls, "plan", data, InvalidPlan)

    def to_yaml(self) -> str:
        return dump_yaml(self._data())

    def to_json(self) -> str:
        return self.model_dump_json(exclude_defaults=True, indent=2)

    def to_bytes(self) -> bytes:
        """The wire form: equal plans give equal bytes. Raises InvalidPlan if it would be too large."""
        data = encode_json("plan", self._data(), InvalidPlan)
        check_size("plan", data, MAX_BYTES, InvalidPlan)
        return data

    def dry_run(self, engine: Engine) -> list[Record]:
        """Give the records that executing this plan would leave, as far as can be said without doing it."""
        return engine.executor.foresee(self)

    def _data(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)


def encode_json(what: str, data: dict[str, Any], error: type[TransitionError]) -> bytes:
    """`data` as canonical compact JSON. Raises `error` if it has text that is not Unicode."""
    try:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    except UnicodeEncodeError as problem:
        raise error(f"{what} has text that cannot be encoded: {problem}") from None


def check_size(what: str, data: bytes, limit: int, error: type[TransitionError]) -> None:
    """Raises `error` if there are more than `limit` bytes."""
    if len(data) > limit:
        raise error(f"{what} has {len(data)} bytes, at most {limit} are allowed")
