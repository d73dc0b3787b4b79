"""The script of an experiment: what each client does and when, instead of models that decide about it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bypass.core.areas.arguments import LARGEST_RADIUS
from bypass.mechanisms import Registry
from bypass.models.maps import AttractionPoint
from bypass.models.waypoints import Track, Waypoints
from bypass.places.geo import Projection
from bypass.scenarios.experiments.plans import check_areas, check_members, check_plan
from bypass.support.validation import Misfit
from bypass.transitions import Plan

NEEDED: dict[str, tuple[str, ...]] = {
    "move": ("client", "place"),
    "subscribe": ("client", "subscription"),
    "unsubscribe": ("client", "subscription"),
    "publish": ("client",),
    "leave": ("client",),
    "return": ("client",),
    "kill": ("client",),
    "plan": ("plan",),
}
ALLOWED: dict[str, tuple[str, ...]] = {"subscribe": ("radius",), "publish": ("place", "local")}
"""The keys that a step must have, and those that it may have besides, by what it does."""


class ScriptStep(BaseModel):
    """Something that a client does at a time (s), or a plan that the broker executes then.

    `subscription` is a number by which later steps name it. An event is published at a `place`, where its
    publisher is if it is `local`, or without a place.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    at: float = Field(ge=0)
    do: Literal["move", "subscribe", "unsubscribe", "publish", "leave", "return", "kill", "plan"]
    client: int = Field(default=0, ge=0)
    place: tuple[float, float] | None = None
    local: bool = False
    subscription: int = 0
    radius: Annotated[int, Field(ge=1, le=LARGEST_RADIUS)] | None = None
    plan: Plan | None = None

    @model_validator(mode="after")
    def _has_its_keys(self) -> Self:
        given = {name for name, value in self if value != type(self).model_fields[name].default}
        needed, allowed = NEEDED[self.do], ALLOWED.get(self.do, ())
        for name in needed:
            if name not in self.model_fields_set:
                raise Misfit((name,), f"is missing: {self.do!r} needs it")
        for name in sorted(given - {"at", "do", *needed, *allowed}):
            expected = ", ".join((*needed, *allowed))
            raise Misfit((name,), f"is of no use to {self.do!r}: expected {expected} alone")
        if self.local and self.place is not None:
            raise Misfit(("local",), "is true beside a place: expected one of them")
        return self


class Script(BaseModel):
    """Steps in the order of time, and the places that the broker knows as attraction points.

    Clients stand where they were last moved to, from the beginning at the first place that they are moved
    to. They have subscribed nothing before a step says so.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    places: tuple[AttractionPoint, ...] = ()
    steps: tuple[ScriptStep, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        """Clients can do only what they can do then."""
        away: set[int] = set()
        subscribed: dict[int, int] = {}
        latest = 0.0
        for i, step in enumerate(self.steps):
            here = ("steps", i)
            if step.at < latest:
                raise Misfit((*here, "at"), f"is {step.at}: expected ascending times, from {latest} on")
            latest = step.at
            if step.do not in ("move", "plan") and (step.client in away) != (step.do == "return"):
                now, wanted = ("away", "there") if step.client in away else ("there", "away")
                raise Misfit(
                    (*here, "do"), f"is {step.do!r} of client {step.client}, who is {now}: expected {wanted}"
                )
            if step.do == "subscribe":
                if step.subscription in subscribed:
                    raise Misfit((*here, "subscription"), f"is {step.subscription}: expected a new one")
                subscribed[step.subscription] = step.client
            elif step.do == "unsubscribe" and subscribed.pop(step.subscription, None) != step.client:
                raise Misfit(
                    (*here, "subscription"),
                    f"is {step.subscription}: expected one that client {step.client} has",
                )
            elif step.do in ("leave", "kill"):
                away.add(step.client)
                if step.do == "kill":
                    subscribed = {own: client for own, client in subscribed.items() if client != step.client}
            elif step.do == "return":
                away.remove(step.client)
        return self

    def check(self, clients: int, duration: float, registry: Registry, projection: Projection | None) -> None:
        """Raise Misfit unless steps are about clients that there are, in time, and plans can be executed.
        Areas in degrees take a `projection`."""
        places = [point.place() for point in self.places]
        for i, step in enumerate(self.steps):
            if step.at >= duration:
                raise Misfit(("steps", i, "at"), f"is {step.at}: expected less than {duration} s, the end")
            if step.client >= clients:
                raise Misfit(
                    ("steps", i, "client"), f"is {step.client}: expected clients from 0 to {clients - 1}"
                )
            if step.plan is not None:
                check_plan(("steps", i, "plan"), step.plan, registry)
                check_members(("steps", i, "plan"), step.plan, clients)
                check_areas(("steps", i, "plan"), step.plan, places, projection)

    def movement(self, clients: int, duration: float) -> Waypoints:
        """Where clients are: they stand, and are elsewhere from one moment to the next."""
        return Waypoints.of_tracks(self._track(client, duration) for client in range(clients))

    def _track(self, client: int, duration: float) -> Track:
        own = [step for step in self.steps if step.do == "move" and step.client == client]
        moves = [(step.at, step.place) for step in own if step.place is not None] or [(0.0, (0.0, 0.0))]
        (_, place), *others = moves
        track = [(0.0, *place)]
        for at, there in others:
            track += [(at, *place), (at, *there)]
            place = there
        t, x, y = np.array([*track, (duration, *place)], np.float64).T
        return t.copy(), x.copy(), y.copy()
