"""Rules: what to observe, when to act, and with which plan, as data that can be read and checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel, ValidationError, model_validator

from bypass.transitions.errors import InvalidPlan
from bypass.transitions.plan import Name, Plan
from bypass.transitions.rules.conditions import Condition, InvalidRule, told
from bypass.transitions.validation import Problem, first_problem, problems_of
from bypass.transitions.yaml_text import dump_yaml, load_yaml

Facts = Mapping[str, Any]

DECISION = "decision"
NEXT_DECISION = "next_decision"

_GAP = re.compile(r"\{([^\W\d_]\w*)\}")


class RuleLike(Protocol):
    """A rule as the engine asks it. Derive from it to write one in Python; most has a default."""

    @property
    def rule(self) -> str:
        """Its name."""

    @property
    def on(self) -> str:
        """The topic whose observations it looks at."""

    @property
    def cooldown(self) -> float:
        """Seconds during which it does not fire again for the same subject."""
        return 0.0

    @property
    def about(self) -> str | None:
        """The fact that says what `remember` is remembered about."""
        return None

    @property
    def remember(self) -> Mapping[str, JsonValue]:
        """Facts that later observations see if they are about the same; texts may have gaps."""
        return {}

    @property
    def names(self) -> Collection[str]:
        """The facts that it uses. One that uses `next_decision` takes this number when it fires."""
        return ()

    def fires(self, facts: Facts) -> bool: ...

    def why(self, facts: Facts) -> str:  # noqa: ARG002 - for those who can say more
        """Say why it fires, for people."""
        return self.rule

    def plan(self, facts: Facts) -> Plan | None:
        """Give the plan to execute, or None if there is nothing to do."""


def gaps(data: JsonValue) -> Iterator[str]:
    """The names of the facts that `data` asks for, in order."""
    if isinstance(data, str):
        yield from _GAP.findall(data)
    elif isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            yield from gaps(part)


def fill(data: JsonValue, facts: Facts) -> Any:
    """`data` with facts in its gaps; a text that is one gap becomes the fact itself, whatever its type.

    Raises InvalidRule if a fact is missing.
    """
    if isinstance(data, dict):
        return {key: fill(value, facts) for key, value in data.items()}
    if isinstance(data, list):
        return [fill(value, facts) for value in data]
    if not isinstance(data, str):
        return data
    try:
        whole = _GAP.fullmatch(data)
        return facts[whole[1]] if whole else _GAP.sub(lambda gap: told(facts[gap[1]]), data)
    except KeyError as error:
        raise InvalidRule(f"{data!r} cannot be filled: there is no fact {error.args[0]!r}") from None


class PlanTemplate(RootModel[dict[str, JsonValue]]):
    """A plan as data, with gaps in any of its texts; `scope: "{area}"` gives a number if the fact is one."""

    model_config = ConfigDict(frozen=True)

    def check(self) -> None:
        """Raises InvalidPlan if this is no plan, whatever the facts are; its name may be missing."""
        try:
            Plan.model_validate({"plan": "template", **self.root})
        except ValidationError as error:
            problems = problems_of(error)
            waiting = [problem.path for problem in problems if _waits(problem)]
            for problem in problems:
                place = problem.path  # what has a gap within is not complete either
                if not any(place == gap[: len(place)] for gap in waiting):
                    raise InvalidPlan(problem.describe("plan")) from None

    def fill(self, facts: Facts, **missing: str) -> Plan | None:
        """The plan for these facts; `missing` are values of keys that the template does not have.

        An action for members that are none is left out; None if there is no other: there is nothing to do.
        Raises InvalidRule if a fact is missing, InvalidPlan if one does not fit.
        """
        data = {**missing, **fill(self.root, facts)}
        actions = data.get("actions")
        if isinstance(actions, list | tuple):
            data["actions"] = [action for action in actions if not _is_for_nobody(action)]
            if actions and not data["actions"]:
                return None
        return Plan.from_data(data)


def _is_for_nobody(action: Any) -> bool:
    members = action.get("members") if isinstance(action, dict) else None
    return isinstance(members, list | tuple | set | frozenset) and not members


def _waits(problem: Problem) -> bool:
    """Say whether it is a gap that pydantic complains about, in a place where something can be."""
    given = problem.value
    return isinstance(given, str) and bool(_GAP.search(given)) and problem.kind != "extra_forbidden"


class Rule(BaseModel):
    """A rule as data. Texts of its plan and of what it remembers may have gaps, `{name}`, for facts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: Name
    on: Name
    when: str | None = None
    cooldown: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    about: Name | None = None
    remember: dict[str, JsonValue] = {}
    template: Annotated[PlanTemplate | None, Field(alias="plan")] = None

    @model_validator(mode="before")
    @classmethod
    def _read_on(cls, data: Any) -> Any:
        """YAML takes `on` for true, also where it is a key."""
        if not isinstance(data, dict) or True not in data:
            return data
        return {"on" if key is True else key: value for key, value in data.items()}

    def model_post_init(self, _context: object) -> None:
        """Raises InvalidRule if the condition or the plan is none."""
        try:
            if self.condition is not None and NEXT_DECISION in self.condition.names:
                raise InvalidRule(
                    f"condition {self.when!r}: {NEXT_DECISION} is for plans, ask for {DECISION}"
                )
            if self.template is not None:
                self.template.check()
        except (InvalidRule, InvalidPlan) as error:
            raise InvalidRule(f"rule {self.rule!r}: {error}") from None

    @cached_property
    def condition(self) -> Condition | None:
        return None if self.when is None else Condition.parse(self.when)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The facts that condition, memory and plan ask for, in order."""
        asked = self.condition.names if self.condition is not None else ()
        template = self.template.root if self.template is not None else {}
        return tuple(dict.fromkeys((*asked, *gaps(self.remember), *gaps(template))))

    def fires(self, facts: Facts) -> bool:
        """Raises InvalidRule if the condition cannot be evaluated."""
        condition = self.condition
        return condition is None or condition.holds(facts)

    def why(self, facts: Facts) -> str:
        return "always" if self.condition is None else self.condition.explain(facts)

    def plan(self, facts: Facts) -> Plan | None:
        """The plan names the rule and its reason unless it has its own; None if there is nothing to do.

        Raises InvalidRule, InvalidPlan.
        """
        if self.template is None:
            return None
        return self.template.fill(facts, plan=self.rule, why=self.why(facts), who=f"rule {self.rule}")


class RuleBook(BaseModel):
    """Rules, the parameters that all conditions and plans may use, and what is remembered at first.

    A fact of an observation takes precedence over a parameter of the same name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    parameters: dict[str, JsonValue] = {}
    initial: dict[str, JsonValue] = {}
    rules: tuple[Rule, ...]

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Raises InvalidRule."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InvalidRule(first_problem(error).describe("rule book")) from None

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """Raises InvalidRule."""
        return cls.from_data(load_yaml("rule book", text, InvalidRule))

    def to_yaml(self) -> str:
        return dump_yaml(self.model_dump(mode="json", by_alias=True, exclude_defaults=True))

    def with_parameters(self, values: Mapping[str, JsonValue]) -> Self:
        """The same rules with other values. Raises InvalidRule if there is no such parameter."""
        for name in values:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise InvalidRule(f"rule book has no parameter {name!r}; it has: {known}")
        return self.model_copy(update={"parameters": {**self.parameters, **values}})
