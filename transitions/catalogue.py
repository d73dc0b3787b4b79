"""Checks the names in a plan before it is sent, without any of its hosts being there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bypass.transitions.errors import InvalidParameter, UnknownMechanism, UnknownProxy, short
from bypass.transitions.mechanism import Mechanism
from bypass.transitions.plan import Action, Plan
from bypass.transitions.state.schema import Schema, schema_of

Catalogue = Mapping[str, Mapping[str, type[Mechanism]]]
"""Proxy or group → name of a mechanism → its class."""


def check_plan(plan: Plan, *catalogues: Catalogue) -> None:
    """Refuse a plan that makes no sense for the hosts that the catalogues describe.

    Hosts of different roles may know different mechanisms by one name, so it is enough that somebody has a
    proxy, a mechanism, a parameter. But all who have the parameter must allow its value, unless the action
    does not say which mechanism it means: then one is enough.

    Raises UnknownProxy, UnknownMechanism or InvalidParameter.
    """
    check_names(plan, *catalogues)
    for action in plan.actions:
        for name, value in action.set.items():
            _check_value(action, name, value, catalogues)


def check_names(plan: Plan, *catalogues: Catalogue) -> None:
    """Like `check_plan`, but values are not looked at."""
    for action in plan.actions:
        kinds = _kinds(action, catalogues)
        known = {parameter for kind in kinds for parameter in kind.parameters()}
        for name, value in action.set.items():
            if name not in known:
                about = action.to or action.of or action.proxy
                raise InvalidParameter(
                    f"{about!r} has no parameter {name!r} (to be set to {short(value)});"
                    f" it has: {', '.join(sorted(known)) or 'none'}"
                )


def _kinds(action: Action, catalogues: tuple[Catalogue, ...]) -> list[type[Mechanism]]:
    """The classes that the action may be about."""
    places = [catalogue[action.proxy] for catalogue in catalogues if action.proxy in catalogue]
    if not places:
        known = ", ".join(sorted({proxy for catalogue in catalogues for proxy in catalogue})) or "none"
        raise UnknownProxy(f"there is no proxy {action.proxy!r}; there are: {known}")
    named = action.to or action.of
    if named is None:
        return [kind for place in places for kind in place.values()]
    kinds = [place[named] for place in places if named in place]
    if not kinds:
        known = ", ".join(sorted({name for place in places for name in place}))
        raise UnknownMechanism(f"{action.proxy!r} has no mechanism {named!r}; it has: {known}")
    return kinds


def _check_value(action: Action, name: str, value: Any, catalogues: tuple[Catalogue, ...]) -> None:
    schemas = [schema_of(kind) for kind in _kinds(action, catalogues) if name in kind.parameters()]
    errors = [error for schema in schemas if (error := _objection(schema, name, value))]
    if errors and (action.to or action.of or len(errors) == len(schemas)):
        raise errors[0]


def _objection(schema: Schema, name: str, value: Any) -> InvalidParameter | None:
    try:
        schema.valid(name, value)
    except InvalidParameter as error:
        return error
    return None
