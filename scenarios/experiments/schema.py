"""The schema of an experiment file. Everything in it is checked before anything runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from bypass.core.adaptation import TOPICS
from bypass.errors import UnusableMechanism, shown
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER, FILTER_PROXY, PORT_OF, TRANSPORT
from bypass.mechanisms.registry import SIDES
from bypass.models.radio.radio import BluetoothModel, RadioModel
from bypass.models.radio.walls import NO_WALLS, Walls
from bypass.models.storage.store_adaptation import STORE_TOPICS
from bypass.models.workloads import LBS
from bypass.places.geo import Projection
from bypass.scenarios.experiments.checks import Check
from bypass.scenarios.experiments.files import InvalidScenario
from bypass.scenarios.experiments.infrastructure import InfrastructureSettings
from bypass.scenarios.experiments.mechanism_defaults import check_defaults
from bypass.scenarios.experiments.models import Churn, Mobility, Publishing, WorldSize, in_metres, plane_of
from bypass.scenarios.experiments.objects import ObjectSettings
from bypass.scenarios.experiments.plans import check_areas, check_members, check_plan
from bypass.scenarios.experiments.rulebooks import load_rules
from bypass.scenarios.experiments.script import Script
from bypass.sim.cellular import CellularModel
from bypass.sim.radio_kinds import RADIOS, radio_models
from bypass.support.extensions import absolute
from bypass.support.validation import Misfit, first_misfit
from bypass.transitions import Action, Parameter, Plan, TransitionError

M = TypeVar("M", bound=BaseModel)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class LocationSettings(Strict):
    """How often (s) clients want to know where they are."""

    interval: float = Field(default=5.0, ge=0.001)


class RuleSettings(Strict):
    """The rules that the broker adapts by or, with `objects`, the node in the middle; of one source or of
    several, and other values of their parameters; none if `use` is empty."""

    use: str | tuple[str, ...] = ""
    parameters: dict[str, JsonValue] = {}

    @field_validator("use")
    @classmethod
    def _from_here(cls, use: str | tuple[str, ...]) -> str | tuple[str, ...]:
        here = Path.cwd()
        return absolute(use, here) if isinstance(use, str) else tuple(absolute(each, here) for each in use)

    @property
    def sources(self) -> tuple[str, ...]:
        """The names or paths of the rules."""
        if isinstance(self.use, tuple):
            return self.use
        return (self.use,) if self.use else ()

    @model_validator(mode="after")
    def _loadable(self) -> Self:
        if self.use:
            try:
                load_rules(self.sources, self.parameters)
            except InvalidScenario as error:
                raise Misfit(("use",), f"is {self.use!r}: {error}") from None
        elif self.parameters:
            raise Misfit(("parameters",), "has values: expected none without rules to use")
        return self


class FilterSettings(BaseModel):
    """The scheme to begin with. Any parameter of any scheme may stand beside it: it is the default of all
    schemes that have it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    scheme: str = "radial"

    def check(self, registry: Registry) -> None:
        """Raise Misfit unless the schemes that there are know scheme and parameters."""
        try:
            registry.find("broker", FILTER_PROXY, self.scheme)
        except TransitionError:
            known = ", ".join(registry.kinds(FILTER))
            raise Misfit(("scheme",), f"is {shown(self.scheme)}: expected one of {known}") from None
        declared = scheme_parameters(registry)
        for name, value in self.parameters.items():
            if name not in declared:
                raise Misfit((name,), f"is unknown: expected scheme or one of {', '.join(sorted(declared))}")
            for parameter in declared[name]:
                try:
                    parameter.adapter.validate_python(value)
                except ValidationError as error:
                    reason = first_misfit(error, lambda _: ()).args[0]
                    raise Misfit((name,), reason) from None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of schemes that are set here."""
        return dict(self.model_extra or {})


def scheme_parameters(registry: Registry) -> dict[str, list[Parameter]]:
    """Every parameter of a filter scheme, by name, as the parts that have it declare it."""
    found: dict[str, list[Parameter]] = {}
    for side in SIDES:
        for part in registry.catalogue(side)[FILTER_PROXY].values():
            for name, parameter in part.parameters().items():
                found.setdefault(name, []).append(parameter)
    return found


class Step(Strict):
    """A plan and when (s) it is executed. `phase` names the stretch that begins there.

    The broker tells all clients. With `spread: healing` it tells only so many (`initiators`), whom chance
    picks; the others follow what they hear.
    """

    at: float = Field(ge=0)
    phase: str = ""
    plan: Plan
    spread: Literal["central", "healing"] = "central"
    initiators: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _heals(self) -> Self:
        if self.spread == "healing":
            for action in self.plan.actions:
                if action.proxy not in PORT_OF or action.to is None or action.is_partial:
                    raise Misfit(
                        ("plan",),
                        f"spreads by healing: expected transitions of {' and '.join(PORT_OF)} alone",
                    )
        return self


class Scenario(Strict):
    """One experiment: who moves how, who publishes what over which network, and what changes meanwhile.

    With `runs` it is several experiments: each entry changes some keys (`workload.model: lbs`) under a name;
    `main` is the one whose figures stand at the top of the summary. `seed` holds unless another is asked for.
    Beside `baseline`, one of them, figures of the others say what they save and lose. `mechanisms` are
    references to mechanisms of one's own, `module:Class` or `file.py:Class`; `begin` is what all clients and
    the broker begin with besides a filter scheme; `defaults` are values that parameters begin with unless
    something else sets them, by proxy, mechanism and name. With a `script` clients do what it says, and
    models of mobility, workloads and churn are not asked. With `objects` clients store objects and ask for
    them, and publish no events; `infrastructure` are edges that aid such a store.
    """

    name: str
    about: str
    mechanisms: tuple[str, ...] = ()
    seed: int = Field(default=1, ge=0, lt=2**64)
    clients: int = Field(default=297, ge=1, le=100_000)
    duration: float = Field(default=1500.0, gt=0)
    world: WorldSize = WorldSize()
    mobility: Mobility = Field(default_factory=Mobility)  # made when needed: it draws up a map
    workload: Publishing = Publishing()
    churn: Churn = Churn()
    network: CellularModel = CellularModel()
    wifi: RadioModel = RadioModel()
    bluetooth: BluetoothModel = BluetoothModel()
    radios: dict[str, RadioModel] = {}
    location: LocationSettings = LocationSettings()
    filter: FilterSettings = FilterSettings()
    grace: float = Field(default=1.5, ge=0)
    state_transfer: bool = True
    begin: tuple[Action, ...] = ()
    defaults: dict[str, dict[str, dict[str, JsonValue]]] = {}
    rules: RuleSettings = RuleSettings()
    phase: str = ""
    timeline: tuple[Step, ...] = ()
    script: Script | None = None
    objects: ObjectSettings | None = None
    infrastructure: InfrastructureSettings | None = None
    runs: dict[str, dict[str, Any]] = {}
    main: str = ""
    baseline: str = ""
    checks: tuple[Check, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _in_metres(cls, given: Any) -> Any:
        return in_metres(given) if isinstance(given, dict) else given

    @property
    def all_radios(self) -> dict[str, RadioModel]:
        """The radios that devices have, by name, beside those that transports have models of."""
        return {"wifi": self.wifi, "bluetooth": self.bluetooth, **self.radios}

    @field_validator("mechanisms")
    @classmethod
    def _usable(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        references = tuple(absolute(path, Path.cwd()) for path in paths)
        for i in range(len(references)):
            try:
                Registry(references[: i + 1])
            except UnusableMechanism as error:
                raise Misfit((i,), f"is {error}") from None
        return references

    @field_validator("begin")
    @classmethod
    def _for_all(cls, actions: tuple[Action, ...]) -> tuple[Action, ...]:
        for i, action in enumerate(actions):
            if action.to is None or action.is_partial or action.proxy == FILTER_PROXY:
                raise Misfit((i,), "is no beginning: expected a proxy other than filter, with `to`, for all")
        return actions

    @field_validator("radios")
    @classmethod
    def _further(cls, radios: dict[str, RadioModel]) -> dict[str, RadioModel]:
        for name in radios:
            if not name or name in RADIOS:
                raise Misfit((name,), f"is no further radio: expected a name other than {', '.join(RADIOS)}")
        return radios

    @property
    def durable(self) -> bool:
        """Whether sessions outlast a broken connection."""
        return self.churn.durable or self.script is not None

    def registry(self) -> Registry:
        """A new registry with the mechanisms that the scenario may use, and what they begin with."""
        if self.infrastructure is None:
            return Registry(self.mechanisms, self.defaults)
        defaults: dict[str, dict[str, Any]] = {name: {**own} for name, own in self.defaults.items()}
        for proxy, mechanisms in self.infrastructure.defaults().items():
            for name, values in mechanisms.items():
                known = defaults.setdefault(proxy, {})
                known[name] = {**values, **known.get(name, {})}
        return Registry(self.mechanisms, defaults)

    @property
    def projection(self) -> Projection | None:
        """The plane of the world, if it is somewhere on earth."""
        return plane_of(self.world, self.mobility)

    def walls(self, registry: Registry) -> Walls:
        """The walls where clients move; none with a script, or if no radio loses power by walls."""
        radios = radio_models(self.all_radios, registry.kinds(TRANSPORT).values())
        if self.script is not None or not any(radio.wall_db for radio in radios.values()):
            return NO_WALLS
        return Walls.around(ring for polygon in self.mobility.build().buildings for ring in polygon)

    @field_validator("network")
    @classmethod
    def _finite(cls, network: CellularModel) -> CellularModel:
        for name, value in network:
            if not math.isfinite(value):
                raise Misfit((name,), f"is {value}: expected a finite number")
        return network

    @field_validator("runs")
    @classmethod
    def _name_directories(cls, runs: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for name in runs:
            if not name or name.startswith(".") or any(c in "/\\" or c.isspace() for c in name):
                raise Misfit((), f"has {name!r}: expected names without spaces, slashes and leading dots")
        return runs

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._check_mechanisms()
        self._check_timeline()
        if self.script is None:
            self._check_world()
        else:
            try:
                self.script.check(self.clients, self.duration, self.registry(), self.projection)
            except Misfit as misfit:
                raise Misfit(("script", *misfit.path), misfit.args[0]) from None
        if self.objects is not None:
            try:
                self.objects.check(self.duration, self.registry())
            except Misfit as misfit:
                raise Misfit(("objects", *misfit.path), misfit.args[0]) from None
            if self.script is not None:
                raise Misfit(("objects",), "is given beside a script: expected one of them")
        if self.infrastructure is not None:
            if self.objects is None:
                raise Misfit(("infrastructure",), "is given without objects: expected a store that it aids")
            try:
                self.infrastructure.check(self.duration, self.world.width, self.world.height)
            except Misfit as misfit:
                raise Misfit(("infrastructure", *misfit.path), misfit.args[0]) from None
        if self.rules.sources:
            self._check_topics()
        for key, name in (("main", self.main), ("baseline", self.baseline)):
            if name and name not in self.runs:
                known = ", ".join(self.runs) or "none"
                raise Misfit((key,), f"is {name!r}: expected one of the runs, {known}")
        return self

    def _check_mechanisms(self) -> None:
        registry = self.registry()
        try:
            self.filter.check(registry)
        except Misfit as misfit:
            raise Misfit(("filter", *misfit.path), misfit.args[0]) from None
        for i, action in enumerate(self.begin):
            try:
                registry.check(Plan(plan="begin", actions=(action,)))
            except TransitionError as error:
                raise Misfit(("begin", i), f"is not possible: {error}") from None
        for i, step in enumerate(self.timeline):
            check_plan(("timeline", i, "plan"), step.plan, registry)
        try:
            check_defaults(self.defaults, registry)
        except Misfit as misfit:
            raise Misfit(("defaults", *misfit.path), misfit.args[0]) from None
        try:
            radio_models(self.all_radios, registry.kinds(TRANSPORT).values())
        except UnusableMechanism as error:
            raise Misfit(("radios",), f"has {list(self.radios)}: {error}") from None

    def _check_topics(self) -> None:
        book, more = load_rules(self.rules.sources, self.rules.parameters)
        topics = TOPICS if self.objects is None else STORE_TOPICS
        for rule in (*book.rules, *more):
            if rule.on not in topics:
                known = ", ".join(topics)
                raise Misfit(
                    ("rules", "use"), f"has the rule {rule.rule!r} on {rule.on!r}: expected one on {known}"
                )

    def _check_timeline(self) -> None:
        earliest = 0.0
        for i, step in enumerate(self.timeline):
            if not earliest <= step.at < self.duration:
                raise Misfit(
                    ("timeline", i, "at"),
                    f"is {step.at}: expected ascending times before the end, {self.duration} s",
                )
            earliest = step.at
            check_members(("timeline", i, "plan"), step.plan, self.clients)
            if any(action.area is not None for action in step.plan.actions):
                points = self.script.places if self.script else self.mobility.build().attractions
                places = [point.place() for point in points]
                check_areas(("timeline", i, "plan"), step.plan, places, self.projection)

    def _check_world(self) -> None:
        mobility = self.mobility.build()
        if isinstance(self.workload.build(), LBS) and not mobility.attractions:
            raise Misfit(
                ("workload", "model"),
                f"is {self.workload.model!r}: expected mobility on a map with attraction points",
            )
        width, height = mobility.size
        if width > self.world.width or height > self.world.height:
            raise Misfit(
                ("world",),
                f"is {self.world.width} by {self.world.height} m: expected at least {width} by {height} m,"
                " where clients move",
            )
        if self.workload.start >= self.duration:
            raise Misfit(
                ("workload", "start"),
                f"is {self.workload.start}: expected less than the duration, {self.duration} s",
            )
