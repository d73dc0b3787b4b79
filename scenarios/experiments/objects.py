"""The objects that clients of an experiment store and ask for, instead of events that they publish."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from bypass.mechanisms import Registry
from bypass.models.storage.posts import Posts
from bypass.support.validation import Misfit
from bypass.transitions import Action, Plan, TransitionError


class ObjectSettings(BaseModel):
    """A store among clients: `storage` is the design to begin with, `set` are its parameters.

    Clients are up from the beginning, so that routing finds ways, and begin to store at random moments from
    `start` on, for `joins` seconds; then they do what the `posts` say. Whoever is told of an object of
    somebody else fetches it with probability `retrieve`. Operations wait `timeout` seconds and are tried
    again `retries` times. Pages of the past have `page` objects, and all of them are asked for.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    storage: str = "cells"
    set: dict[str, JsonValue] = {}
    start: float = Field(default=30.0, ge=0)
    joins: float = Field(default=30.0, ge=0)
    posts: Posts = Posts()
    retrieve: float = Field(default=0.1, ge=0, le=1)
    timeout: float = Field(default=2.0, gt=0)
    retries: int = Field(default=3, ge=0, le=100)
    page: int = Field(default=20, ge=1, le=64)

    @property
    def first(self) -> Action:
        """The action by which a client begins to store."""
        return Action(proxy="storage", to=self.storage, set=dict(self.set))

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
        end = self.operations_from + self.posts.duration
        if end > duration:
            raise Misfit(
                ("posts", "duration"),
                f"is {self.posts.duration}: expected an end before {duration} s, not at {end}",
            )
