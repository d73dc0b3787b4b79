"""The objects that clients of an experiment store and ask for, instead of events that they publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from bypass.mechanisms import Registry
from bypass.models.storage.operations import OperationModel, StorageOperations
from bypass.models.storage.posts import PostModel, read_posts
from bypass.support.validation import Misfit
from bypass.transitions import Action, Plan, TransitionError


class ObjectSettings(BaseModel):
    """A store among clients: `storage` is the design to begin with, `set` are its parameters.

    Clients are up from the beginning, so that routing finds ways, and begin to store at random moments from
    `start` on, for `joins` seconds; then they publish `posts`, or those of a CSV `file`, and do what
    `operations` say besides. If `publishers` is above 0, clients below that share of all publish alone, and
    the others subscribe alone. Whoever is told of an object of somebody else fetches it with probability
    `retrieve`. Pages of the past have `page` objects, and all of them are asked for.

    The node of a `server` whose number is not set, here or in a plan, is the client nearest to the middle of
    the world out of those that are always there and stand still.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    storage: str = "cells"
    set: dict[str, JsonValue] = {}
    start: float = Field(default=30.0, ge=0)
    joins: float = Field(default=30.0, ge=0)
    posts: PostModel = PostModel()
    file: Path | None = None
    operations: OperationModel = OperationModel()
    publishers: float = Field(default=0.0, ge=0, lt=1)
    retrieve: float = Field(default=0.1, ge=0, le=1)
    page: int = Field(default=20, ge=1, le=64)

    @property
    def first(self) -> Action:
        """The action by which a client begins to store."""
        return Action(proxy="storage", to=self.storage, set=dict(self.set))

    def stretched(self, factor: float) -> dict[str, Any]:
        """The settings, as a file has them, with all times so many times as long."""
        data = self.model_dump(mode="json", exclude_unset=True)
        data |= {"start": self.start * factor, "joins": self.joins * factor}
        data["posts"] = data.get("posts", {}) | {"duration": self.posts.duration * factor}
        return data

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
        length = self.posts.duration / self.operations.compression
        end = self.operations_from + length
        if end > duration:
            raise Misfit(
                ("posts", "duration"),
                f"takes {length:g} s from {self.operations_from:g} s on: expected an end by {duration:g} s",
            )

    def schedule(self, clients: int, seed: int) -> StorageOperations:
        """The operations of so many clients. Raises InvalidPosts for a file that cannot be used."""
        posts = self.posts.draw(clients, seed) if self.file is None else read_posts(self.file)
        return self.operations.draw(posts, clients, self.posts.duration, seed)
