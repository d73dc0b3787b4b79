"""Checks of the plans in an experiment file."""

from __future__ import annotations

from collections.abc import Sequence

from bypass.core.plans.plan_areas import area_of
from bypass.errors import InvalidArea, shown
from bypass.mechanisms import Registry
from bypass.places.geo import Projection
from bypass.places.region import Place
from bypass.support.validation import Misfit
from bypass.transitions import Plan, TransitionError
from bypass.transitions.validation import KeyPath


def check_plan(path: KeyPath, plan: Plan, registry: Registry) -> None:
    """Raise Misfit unless a plan can be executed with the mechanisms that there are."""
    try:
        registry.check(plan)
    except TransitionError as error:
        raise Misfit(path, f"{plan.plan!r} cannot be executed: {error}") from None


def check_members(path: KeyPath, plan: Plan, clients: int) -> None:
    """Raise Misfit unless a plan is about clients of the experiment."""
    for action in plan.actions:
        for member in action.members or ():
            if member not in range(clients):
                raise Misfit(path, f"moves member {member!r}: expected clients from 0 to {clients - 1}")


def check_areas(path: KeyPath, plan: Plan, places: Sequence[Place], projection: Projection | None) -> None:
    """Raise Misfit unless a plan is about areas that there are, in a region with these places."""
    for i, action in enumerate(plan.actions):
        if action.area is not None:
            try:
                area_of(action.area, places, projection)
            except InvalidArea as error:
                raise Misfit(
                    (*path, "actions", i, "area"), f"is no area: {shown(action.area)}: {error}"
                ) from None
