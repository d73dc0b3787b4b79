"""What an experiment file says. Everything in it is checked before anything runs."""

from __future__ import annotations

import math
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bypass.mechanisms.filters import BROKER_PARTS, CLIENT_PARTS
from bypass.models.mobility import MOBILITY, TripModel
from bypass.models.workloads import WORKLOADS, Workload
from bypass.sim.cellular import CellularModel
from bypass.transitions import Parameter, Plan

M = TypeVar("M", bound=BaseModel)

SCHEMES = {part.name: part for part in BROKER_PARTS}


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class WorldSize(Strict):
    """Metres."""

    width: float = Field(default=1300.0, gt=0)
    height: float = Field(default=1300.0, gt=0)


class LocationSettings(Strict):
    """How often (s) clients want to know where they are."""

    interval: float = Field(default=5.0, gt=0)


class _Choice(BaseModel, Generic[M]):
    """The name of a model, with the model's own parameters beside it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    model: str

    @classmethod
    def models(cls) -> dict[str, type[M]]:
        raise AssertionError("a choice says what there is to choose")

    @model_validator(mode="after")
    def _valid(self) -> Self:
        self.build()
        return self

    def build(self) -> M:
        """The chosen model. Raises ValueError."""
        models = self.models()
        if self.model not in models:
            raise ValueError(f"model {self.model!r} is unknown: expected one of {', '.join(models)}")
        try:
            return models[self.model].model_validate(self.model_extra)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            key = ".".join(map(str, problem["loc"]))
            raise ValueError(f"{key} is {problem['input']!r}: {problem['msg']}") from None


class Mobility(_Choice[TripModel]):
    """How clients move."""

    model: str = "map"

    @classmethod
    def models(cls) -> dict[str, type[TripModel]]:
        return MOBILITY


class Publishing(_Choice[Workload]):
    """What clients publish; `start` (s) leaves the first subscriptions time to arrive."""

    model: str = "ar"
    start: float = Field(default=2.0, ge=0)

    @classmethod
    def models(cls) -> dict[str, type[Workload]]:
        return WORKLOADS


class FilterSettings(BaseModel):
    """The scheme to begin with. Any parameter of any scheme may stand beside it: it is the default of all
    schemes that have it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    scheme: str = "radial"

    @field_validator("scheme")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in SCHEMES:
            raise ValueError(f"expected one of {', '.join(SCHEMES)}")
        return value

    @model_validator(mode="after")
    def _valid_parameters(self) -> Self:
        known = scheme_parameters()
        for name, value in self.parameters.items():
            if name not in known:
                raise ValueError(
                    f"no scheme has a parameter {name!r}: expected one of {', '.join(sorted(known))}"
                )
            for parameter in known[name]:
                try:
                    parameter.adapter.validate_python(value)
                except ValidationError as error:
                    raise ValueError(f"{name} is {value!r}: {error.errors()[0]['msg']}") from None
        return self

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of schemes that are set here."""
        return dict(self.model_extra or {})


def scheme_parameters() -> dict[str, list[Parameter]]:
    """Every parameter of a filter scheme, by name, as the parts that have it declare it."""
    found: dict[str, list[Parameter]] = {}
    for part in (*BROKER_PARTS, *CLIENT_PARTS):
        for name, parameter in part.parameters().items():
            found.setdefault(name, []).append(parameter)
    return found


class Step(Strict):
    """A plan and when (s) it is executed. `phase` names the stretch that begins there."""

    at: float = Field(ge=0)
    phase: str = ""
    plan: Plan


class Check(Strict):
    """A figure of the thesis and the range that ours must lie in.

    `value`, and what is subtracted (`minus`) or divided by (`over`), are paths into the summary, such as
    `phases.grid.recall` or `runs.lbs.phases.0.traffic.context_up`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: str
    stated: str
    value: str
    minus: str | None = None
    over: str | None = None
    low: float = -math.inf
    high: float = math.inf
    note: str = ""


class Scenario(Strict):
    """One experiment: who moves how, who publishes what over which network, and what changes meanwhile.

    With `runs` it is several experiments: each entry changes some keys (`workload.model: lbs`) under a name;
    `main` is the one whose figures stand at the top of the summary.
    `border_transitions` has the broker switch each client between RADIAL and ATTRACT as it crosses the
    borders of attraction points.
    """

    name: str
    about: str
    clients: int = Field(default=297, ge=1, le=100_000)
    duration: float = Field(default=1500.0, gt=0)
    world: WorldSize = WorldSize()
    mobility: Mobility = Mobility()
    workload: Publishing = Publishing()
    network: CellularModel = CellularModel()
    location: LocationSettings = LocationSettings()
    filter: FilterSettings = FilterSettings()
    grace: float = Field(default=1.0, ge=0)
    state_transfer: bool = True
    border_transitions: bool = False
    phase: str = ""
    timeline: tuple[Step, ...] = ()
    runs: dict[str, dict[str, Any]] = {}
    main: str = ""
    checks: tuple[Check, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        times = [step.at for step in self.timeline]
        if times != sorted(times):
            raise ValueError(f"timeline is at {times}: expected times in ascending order")
        if times and times[-1] >= self.duration:
            raise ValueError(
                f"timeline has a step at {times[-1]} s: expected before the end, {self.duration} s"
            )
        if self.main and self.main not in self.runs:
            raise ValueError(
                f"main is {self.main!r}: expected one of the runs, {', '.join(self.runs) or 'none'}"
            )
        return self
