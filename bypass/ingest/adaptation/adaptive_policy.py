"""The adaptive policy as data: for how long measurements have to stay in which budget, and the ladder of
policies from keeping everything to keeping little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from bypass.errors import BypassError
from bypass.ingest.devices.policy import MECHANISMS
from bypass.ingest.quantities import parse_bytes, parse_seconds
from bypass.ingest.sizing.loss import LossTolerance
from bypass.ingest.stream.progress import KEPT_S
from bypass.support.validation import Misfit, first_misfit
from bypass.transitions import Action, Plan, RuleBook
from bypass.transitions.validation import KeyPath
from bypass.transitions.yaml_text import dump_yaml, load_yaml

WHO = "adaptive policy"
"""The plans of the ladder are signed with it."""

LOAD = "load"
FACTS = frozenset(
    {"rung", "rate", "load", "window_max", "window_back", "window_min", "short_for", "ample_for"}
)
"""The facts that rules have about the topic `load`.

`rung` counts from 0. In the latest sample `rate` messages a second came, and `load` bytes a second were
written: measurements would stay for `window_max` seconds, and for `window_back` on the rung before.
`window_min` is the time that is asked for. So many samples in a row, all on this rung, were too short
(`short_for`), or long enough for the rung before (`ample_for`).
"""


def _quantity(parse: Callable[[str], float]) -> Callable[[Any], Any]:
    """Have texts read by a function; numbers stay."""
    return lambda value: parse(value) if isinstance(value, str) else value


class InvalidAdaptivePolicy(BypassError):
    """An adaptive policy that cannot be used. The message names key, value and expectation."""


class Rung(BaseModel):
    """A rung of the ladder: actions that bring the pipeline to it from any other one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=100)]
    actions: Annotated[tuple[Action, ...], Field(min_length=1, max_length=16)]


def _rung(name: str, policy: str, rows: str, **values: int) -> Rung:
    exchange = Action(proxy="precompute", to=policy, set={**values})
    return Rung(name=name, actions=(exchange, Action(proxy="row-model", to=rows)))


LADDER = (
    _rung("keep", "keep-everything", "standard"),
    _rung("batch", "batch", "batched"),
    _rung("thin", "every-nth", "batched", n=2),
    _rung("thinner", "every-nth", "batched", n=10),
)


class AdaptivePolicy(BaseModel):
    """Measurements have to stay for `window` seconds in `budget` bytes; no more than the part `loss` of them
    may be lost, with the probability `confidence`.

    The load is sampled every `sample` seconds. After `samples` samples in a row in which they would not stay
    that long, the next rung of the `ladder` is gone to. The one before is gone back to after as many in which
    they would stay there for longer than that by the part `hysteresis`. All of them, and one more, have to be
    among the batches that are kept.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    budget: Annotated[int, BeforeValidator(_quantity(parse_bytes)), Field(ge=1, lt=1 << 62)]
    window: Annotated[float, BeforeValidator(_quantity(parse_seconds)), Field(gt=0, le=1e10)]
    loss: Annotated[float, Field(gt=0, le=1)] = 0.05
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.99
    sample: Annotated[float, BeforeValidator(_quantity(parse_seconds)), Field(ge=1, le=86_400)] = 60.0
    samples: Annotated[int, Field(ge=1, le=100)] = 2
    hysteresis: Annotated[float, Field(ge=0, le=10)] = 0.25
    ladder: Annotated[tuple[Rung, ...], Field(min_length=2, max_length=16)] = LADDER

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.sample * (self.samples + 1) > KEPT_S:
            fits = f"expected {KEPT_S // (self.samples + 1)} at most, with {self.samples} samples"
            raise Misfit(("sample",), f"is {self.sample:g} s: {fits}")
        names = [rung.name for rung in self.ladder]
        if len({*names}) < len(names):
            raise Misfit(("ladder",), f"has {names}: expected names that differ")
        for number, rung in enumerate(self.ladder):
            try:
                MECHANISMS.check(self.plan(number), ["pipeline"])
            except BypassError as error:
                raise Misfit(("ladder", rung.name), str(error)) from None
        return self

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """Raises InvalidAdaptivePolicy."""
        data: Any = load_yaml("adaptive policy", text, InvalidAdaptivePolicy)
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InvalidAdaptivePolicy(f"adaptive policy: {first_misfit(error, _keys)}") from None

    def to_yaml(self) -> str:
        """The policy as a file has it."""
        return dump_yaml(self.model_dump(mode="json", exclude_defaults=True))

    @property
    def tolerance(self) -> LossTolerance:
        """The loss that is tolerated."""
        return LossTolerance(self.loss, self.confidence)

    def plan(self, rung: int, why: str = "") -> Plan:
        """The plan that brings the pipeline to a rung."""
        return Plan(plan=self.ladder[rung].name, who=WHO, why=why, actions=self.ladder[rung].actions)

    def rules(self) -> RuleBook:
        """The ladder as rules about the topic `load`."""
        up = [(rung, rung + 1, "short_for") for rung in range(len(self.ladder) - 1)]
        down = [(rung, rung - 1, "ample_for") for rung in range(1, len(self.ladder))]
        rules = [
            {
                "rule": f"{self.ladder[rung].name} to {self.ladder[to].name}",
                "on": LOAD,
                "when": f"rung == {rung} and {fact} >= {self.samples}",
                "plan": self.plan(to, _WHY).model_dump(mode="json", exclude_defaults=True),
            }
            for rung, to, fact in (*up, *down)
        ]
        return RuleBook.from_data({"rules": rules})


_WHY = "{rate} messages/s, {load} bytes/s: {window_max} s, one rung back {window_back} s, of {window_min} s"


def _keys(path: KeyPath) -> list[str]:
    return list((Rung if path[:1] == ("ladder",) else AdaptivePolicy).model_fields)
