"""The infrastructure of an experiment: edges at fixed places, what connects them, and when they fail."""

from __future__ import annotations

from math import dist
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from bypass.core.objects.fallback import FallbackSettings, cells_plan
from bypass.errors import InvalidObject
from bypass.mechanisms.registry import MechanismDefaults
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.models.storage.latency import LatencyRatios
from bypass.objects.metadata import check_namespace
from bypass.support.validation import Misfit
from bypass.transitions.validation import KeyPath

Metres = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class BackhaulCut(_Strict):
    """The connection of two edges is cut from `at` (s) until `until`, None: for good."""

    at: Seconds
    until: float | None = None
    between: tuple[int, int]

    @model_validator(mode="after")
    def _ends_later(self) -> Self:
        _check_end(self.at, self.until)
        if self.between[0] == self.between[1]:
            raise Misfit(("between",), f"is {list(self.between)}: expected two edges")
        return self


class BackhaulSettings(_Strict):
    """The wires between edges, one for each two of them: a message takes `delay` seconds and its bits at
    `rate` (bit/s) each, and is lost with probability `loss`. `cuts` are when one is cut."""

    delay: Seconds = 0.005
    rate: float = Field(default=1e9, gt=0)
    loss: float = Field(default=0.0, ge=0, lt=1)
    cuts: tuple[BackhaulCut, ...] = ()


class CloudSettings(_Strict):
    """A node beyond the edge, which is the server of a store: a message takes `delay` seconds to it and its
    bits at `rate` (bit/s) each, and is lost with probability `loss`."""

    delay: Seconds = 0.02
    rate: float = Field(default=10e6, gt=0)
    loss: float = Field(default=0.0, ge=0, lt=1)


class EdgeOutage(_Strict):
    """An outage of `edges`, all of them if there are none, from `at` (s) until `until`, None: for good. Their
    `process` fails, which forgets what is not on its disk, or their `access-point`, the radio alone."""

    at: Seconds
    until: float | None = None
    edges: tuple[int, ...] = ()
    part: Literal["process", "access-point"] = "process"

    @model_validator(mode="after")
    def _ends_later(self) -> Self:
        _check_end(self.at, self.until)
        return self


class FallbackModel(_Strict):
    """The way on without an edge: after `patience` seconds clients go over to cells with this `side` (m;
    None: as routing lays them out), and ask for edges every `probe` seconds."""

    patience: float = Field(default=1.0, ge=0, le=3600)
    probe: float = Field(default=5.0, ge=0.1, le=3600)
    side: float | None = Field(default=None, gt=0)

    def settings(self, width: float, height: float) -> FallbackSettings:
        """The fallback of clients in a world of this size (m)."""
        routing = {} if self.side is None else {"side": self.side}
        plan = cells_plan(area=[0.0, 0.0, width, height], **routing)
        return FallbackSettings(self.patience, self.probe, plan)


class EdgeEnergy(_Strict):
    """The energy that an edge spends: all the time (W), and on a byte that it sends (J). No source has
    measured one; 0 leaves it out."""

    idle_w: float = Field(default=0.0, ge=0)
    byte_j: float = Field(default=0.0, ge=0)


class EdgeSwitch(NamedTuple):
    """A moment (s) at which a part of an edge fails, or is there again."""

    at: float
    edge: int
    part: str
    works: bool


FAILURES = ("infrastructure.outages", "infrastructure.backhaul.cuts")
"""The keys of a scenario with times of failures."""


class InfrastructureSettings(_Strict):
    """Edges at `places` (m). They send a beacon every `beacon` seconds, clients a hello every `hello`.

    `edge` has settings of all edges, `outages` say when they fail, and `fallback` how clients go on then;
    without it they wait. Clients are in `worlds` by turns, by their numbers; the one without a name is always
    there. `latency` is what is known of times of operations, to be set beside ours. With a `cloud` the edge,
    of which there is one, stores nothing: it passes on what clients of a `server` send.
    """

    places: tuple[tuple[Metres, Metres], ...] = Field(min_length=1, max_length=1000)
    beacon: float = Field(default=1.0, ge=0.01, le=3600)
    hello: float = Field(default=20.0, ge=0.1, le=3600)
    backhaul: BackhaulSettings = BackhaulSettings()
    cloud: CloudSettings | None = None
    outages: tuple[EdgeOutage, ...] = ()
    worlds: tuple[str, ...] = Field(default=("",), min_length=1, max_length=256)
    edge: EdgeSettings = EdgeSettings()
    fallback: FallbackModel | None = FallbackModel()
    energy: EdgeEnergy = EdgeEnergy()
    latency: LatencyRatios = LatencyRatios()

    @field_validator("worlds")
    @classmethod
    def _named(cls, worlds: tuple[str, ...]) -> tuple[str, ...]:
        for i, world in enumerate(worlds):
            if world in worlds[:i]:
                raise Misfit((i,), f"is {world!r}: expected each world once")
            try:
                check_namespace(world)
            except InvalidObject as error:
                raise Misfit((i,), f"is {world!r}: {error}") from None
        return worlds

    @model_validator(mode="after")
    def _of_edges_that_there_are(self) -> Self:
        named: list[tuple[KeyPath, int]] = [
            (("outages", i, "edges", k), edge)
            for i, outage in enumerate(self.outages)
            for k, edge in enumerate(outage.edges)
        ]
        named += [
            (("backhaul", "cuts", i, "between", k), edge)
            for i, cut in enumerate(self.backhaul.cuts)
            for k, edge in enumerate(cut.between)
        ]
        for path, edge in named:
            if not 0 <= edge < len(self.places):
                raise Misfit(path, f"is {edge}: expected the number of an edge, 0 to {len(self.places) - 1}")
        for edge in range(len(self.places)):
            self._check_turns(edge)
        if self.cloud is not None and (len(self.places) > 1 or self.worlds != ("",)):
            raise Misfit(("cloud",), "is given: expected one edge, and the world without a name alone, then")
        return self

    def check(self, duration: float, width: float, height: float) -> None:
        """Raise Misfit unless edges are in the world, and fail before the experiment ends."""
        for i, (x, y) in enumerate(self.places):
            if x > width or y > height:
                raise Misfit(
                    ("places", i), f"is [{x:g}, {y:g}]: expected a place in {width:g} by {height:g} m"
                )
        begins: list[tuple[KeyPath, float]] = [
            (("outages", i, "at"), outage.at) for i, outage in enumerate(self.outages)
        ]
        begins += [(("backhaul", "cuts", i, "at"), cut.at) for i, cut in enumerate(self.backhaul.cuts)]
        for path, at in begins:
            if at >= duration:
                raise Misfit(path, f"is {at:g}: expected a time before the end, {duration:g} s")

    def world_of(self, client: int) -> str:
        """The world of a client."""
        return self.worlds[client % len(self.worlds)]

    def area_of(self, x: float, y: float) -> int:
        """The area where a place (m) is: that of the nearest edge."""
        return min(range(len(self.places)), key=lambda edge: dist((x, y), self.places[edge]))

    def defaults(self) -> MechanismDefaults:
        """The values that clients' mechanisms begin with, as the edges have them."""
        return {
            "routing": {"access-point": {"beacon_s": self.beacon, "hello_s": self.hello}},
            "storage": {"infra": {"cell_data_s": self.edge.cell_data_period_s}},
        }

    def switches(self) -> list[EdgeSwitch]:
        """The moments at which parts of edges fail or return, in the order of time."""
        found = []
        for outage in self.outages:
            for edge in outage.edges or range(len(self.places)):
                found.append(EdgeSwitch(outage.at, edge, outage.part, works=False))
                if outage.until is not None:
                    found.append(EdgeSwitch(outage.until, edge, outage.part, works=True))
        return sorted(found)

    def stretched(self, factor: float) -> dict[str, Any]:
        """The settings, as a file has them, with failures so many times as late and as long."""
        data: dict[str, Any] = self.model_dump(mode="json", exclude_unset=True)
        for each in (*data.get("outages", ()), *data.get("backhaul", {}).get("cuts", ())):
            each["at"] *= factor
            if each.get("until") is not None:
                each["until"] *= factor
        return data

    def _check_turns(self, edge: int) -> None:
        """Raise Misfit if a part of an edge fails while it does not work."""
        until: dict[str, float] = {}
        of_edge = [
            (outage.at, i)
            for i, outage in enumerate(self.outages)
            if not outage.edges or edge in outage.edges
        ]
        for at, i in sorted(of_edge):
            outage = self.outages[i]
            if at <= until.get(outage.part, -1.0):
                raise Misfit(
                    ("outages", i, "at"),
                    f"is {at:g}: expected a time at which edge {edge} works, by the others",
                )
            until[outage.part] = float("inf") if outage.until is None else outage.until


def _check_end(at: float, until: float | None) -> None:
    if until is not None and until <= at:
        raise Misfit(("until",), f"is {until:g}: expected a time after at, {at:g} s")
