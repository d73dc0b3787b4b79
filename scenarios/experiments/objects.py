"""The objects that clients of an experiment store and ask for, instead of events that they publish."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from bypass.core.client import Client
from bypass.core.objects.survey import ANSWER_S
from bypass.mechanisms import Registry
from bypass.models.storage import DEVICES
from bypass.models.storage.costs import Design
from bypass.models.storage.layout import NodeLayout
from bypass.models.storage.operations import OperationModel, StorageOperations
from bypass.models.storage.planner import PlannerSettings
from bypass.models.storage.posts import PostModel, read_posts
from bypass.models.storage.store_adaptation import LATE_S, StoreAdaptation
from bypass.scenarios.experiments.models import Storing
from bypass.support.units import MICROSECONDS
from bypass.support.validation import Misfit
from bypass.transitions import Action, Plan, RuleBook, TransitionError


class PlannerModel(BaseModel):
    """A planner of the store's design at the node in the middle, if there are rules: it asks all nodes once
    in `window_s` seconds, looks at `windows` windows together, and is as cautious as `margin`, `patience`,
    `hold`, `horizon` and `least` say; see PlannerSettings.

    It compares `designs`, in cells with this `side` (None: as routing lays them out) and with radios that
    reach `reach_m` metres.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    window_s: float = Field(default=30.0, gt=ANSWER_S + LATE_S)
    windows: int = Field(default=2, ge=1, le=100)
    margin: float = Field(default=0.1, ge=0, lt=1)
    patience: int = Field(default=2, ge=1)
    hold: int = Field(default=3, ge=0)
    horizon: float = Field(default=20.0, gt=0)
    least: int = Field(default=20, ge=0)
    designs: tuple[Design, ...] = Field(default=tuple(Design), min_length=1)
    side: float | None = Field(default=None, gt=0)
    reach_m: float = Field(default=113.0, gt=0)

    def adaptation(self, client: Client, book: RuleBook, width: float, height: float) -> StoreAdaptation:
        """Have a node of a world of this size adapt the store. Raises InvalidRule."""
        layout = NodeLayout.over((0.0, 0.0, width, height), self.reach_m, self.side)
        settings = PlannerSettings(
            self.margin, self.patience, self.hold, self.horizon, self.least, self.designs
        )
        return StoreAdaptation(client, book, layout, settings, window_s=self.window_s, windows=self.windows)


class WorkloadStage(BaseModel):
    """A stretch of a workload: clients publish `posts` and do what `operations` say besides."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    posts: PostModel = PostModel()
    operations: OperationModel = OperationModel()

    @property
    def length(self) -> float:
        """The seconds that it takes."""
        return self.posts.duration / self.operations.compression

    def stretched(self, factor: float) -> dict[str, Any]:
        """The stage, as a file has it, with a time so many times as long."""
        data: dict[str, Any] = self.model_dump(mode="json", exclude_unset=True)
        return data | {"posts": data.get("posts", {}) | {"duration": self.posts.duration * factor}}


class ObjectSettings(BaseModel):
    """A store among clients: `storage` is the design to begin with, `set` are its parameters.

    Clients are up from the beginning, so that routing finds ways, and begin to store at random moments from
    `start` on, for `joins` seconds; then they publish `posts`, or those of a CSV `file`, and do what
    `operations` say besides, or they do what a `workload` says instead of all these. If `publishers` is above
    0, clients below that share of all publish alone, and the others subscribe alone. Then come `stages`, one
    after the other. Queries end `lasting` seconds after they were asked, None: never. Whoever is told of an
    object of somebody else fetches it with probability `retrieve`, at a random moment of the next `within`
    seconds. Pages of the past have `page` objects, and all of them are asked for.

    All clients are a `device` whose energy is known. The node of a `server` whose number is not set, here or
    in a plan, is the client nearest to the middle of the world out of those that are always there and stand
    still.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    storage: str = "cells"
    set: dict[str, JsonValue] = {}
    start: float = Field(default=30.0, ge=0)
    joins: float = Field(default=30.0, ge=0)
    posts: PostModel = PostModel()
    file: Path | None = None
    operations: OperationModel = OperationModel()
    workload: Storing | None = None
    publishers: float = Field(default=0.0, ge=0, lt=1)
    retrieve: float = Field(default=0.1, ge=0, le=1)
    within: float = Field(default=0.0, ge=0)
    page: int = Field(default=20, ge=1, le=64)
    stages: tuple[WorkloadStage, ...] = ()
    lasting: float | None = Field(default=None, gt=0)
    planner: PlannerModel = PlannerModel()
    device: str = "tablet"

    @field_validator("device")
    @classmethod
    def _known(cls, device: str) -> str:
        if device not in DEVICES:
            raise Misfit((), f"is {device!r}: expected one of {', '.join(DEVICES)}")
        return device

    @property
    def first(self) -> Action:
        """The action by which a client begins to store."""
        return Action(proxy="storage", to=self.storage, set=dict(self.set))

    def stretched(self, factor: float) -> dict[str, Any]:
        """The settings, as a file has them, with all times so many times as long."""
        data = self.model_dump(mode="json", exclude_unset=True)
        data |= {"start": self.start * factor, "joins": self.joins * factor}
        data["posts"] = data.get("posts", {}) | {"duration": self.posts.duration * factor}
        data["stages"] = [stage.stretched(factor) for stage in self.stages]
        if self.workload is not None:
            del data["posts"], data["stages"]
            built = self.workload.build().stretched(factor)
            data["workload"] = {"model": self.workload.model, **built.model_dump(mode="json")}
        return data

    @model_validator(mode="after")
    def _one_workload(self) -> Self:
        for name in ("posts", "file", "operations", "stages") if self.workload is not None else ():
            if getattr(self, name) != type(self).model_fields[name].default:
                raise Misfit((name,), "is given beside a workload: expected one of them")
        return self

    @field_validator("file")
    @classmethod
    def _from_here(cls, file: Path | None) -> Path | None:
        return None if file is None else Path.cwd() / file

    @property
    def operations_from(self) -> float:
        """The time (s) of the first operation."""
        return self.start + self.joins

    def check(self, duration: float, registry: Registry) -> None:
        """Raise Misfit unless the design is known, and the operations end before the experiment does."""
        try:
            registry.check(Plan(plan="store", actions=(self.first,)), ("client",))
        except TransitionError as error:
            raise Misfit(("storage",), f"is {self.storage!r}: {error}") from None
        length = sum(self._lengths)
        for i, stage in enumerate(self.stages):
            if stage.posts.vocabulary != self.posts.vocabulary or self.file is not None:
                raise Misfit(
                    ("stages", i, "posts", "vocabulary"),
                    f"is {stage.posts.vocabulary}: expected that of the first posts, which are from no file",
                )
        end = self.operations_from + length
        if end > duration:
            raise Misfit(
                ("posts", "duration") if self.workload is None else ("workload",),
                f"takes {length:g} s from {self.operations_from:g} s on: expected an end by {duration:g} s",
            )

    def schedule(self, clients: int, seed: int) -> StorageOperations:
        """The operations of so many clients. Raises InvalidPosts for a file that cannot be used."""
        if self.workload is not None:
            return self.workload.build().draw(clients, seed)
        posts = self.posts.draw(clients, seed) if self.file is None else read_posts(self.file)
        drawn = self.operations.draw(posts, clients, self.posts.duration, seed)
        for number, stage in enumerate(self.stages, 1):
            own = seed + (number << 32)
            further = stage.operations.draw(
                stage.posts.draw(clients, own), clients, stage.posts.duration, own
            )
            drawn = drawn.followed_by(
                further, round((self.stage_starts[number] - self.operations_from) * MICROSECONDS)
            )
        return drawn

    @property
    def stage_starts(self) -> list[float]:
        """The times (s) at which stages begin."""
        return [*accumulate(self._lengths[:-1], initial=self.operations_from)]

    @property
    def _lengths(self) -> list[float]:
        """The seconds that each stage takes."""
        if self.workload is not None:
            return [self.workload.build().length]
        return [stage.length for stage in self._all_stages]

    @property
    def _all_stages(self) -> tuple[WorkloadStage, ...]:
        return (WorkloadStage(posts=self.posts, operations=self.operations), *self.stages)
