"""Variants of a mechanism: several of one kind run side by side, each with parameters of its own.

A group runs one mechanism of each class. A variant is a class of its own for the engine, with the name of its
kind and a number; plans and the registry name kinds, and the variant that they mean is found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from types import new_class
from typing import Any

from bypass.errors import shown
from bypass.mechanisms.precompute.base import Precompute
from bypass.mechanisms.registry import Registry
from bypass.root_error import BypassError
from bypass.transitions import Action, Mechanism
from bypass.transitions.errors import InvalidParameter, short
from bypass.transitions.state.schema import MISSING, schema_of

PRECOMPUTE = "precompute"

MOST = 256
"""How many variants of a kind one tenant, or all plans together, may have run at once: each is asked about
time in every batch."""


class TooManyVariants(BypassError):
    """So many variants of a mechanism run that there is no room for another one."""


def kind_name(name: str) -> str:
    """The name of a variant's kind, which plans use."""
    return name.partition("#")[0]


def variant(kind: type[Mechanism], name: str) -> type[Mechanism]:
    """Make the class of a variant."""
    made: type[Mechanism] = new_class(kind.__name__, (kind,), exec_body=lambda body: body.update(name=name))
    return made


def aimed(
    action: Action,
    running: Sequence[Precompute],
    registry: Registry,
    tenants: Mapping[str, str],
    tenant: str,
) -> Iterator[Action]:
    """The actions to do for one that names a kind: with the variants that it means, among those that run,
    the default first.

    An action for all devices changes the one that runs, if there is any. One for some devices means a
    variant that has just the parameters that it sets, and defaults for all others: one that runs so, one
    that serves no other devices, or a new one. A `tenant`, for which the registry speaks, shares none with
    others but the default, so that none uses up what others need; "" stands for plans. `tenants` has those
    of variants by name. Raises TooManyVariants.
    """
    name = action.to or action.of
    alike = [each for each in running if kind_name(each.name) == name]
    if action.proxy != PRECOMPUTE or name is None or not alike:
        yield action
    elif action.to is None:
        for each in alike:
            yield action.model_copy(update={"of": each.name})
    elif action.members is None and alike[0] is running[0]:
        yield action.model_copy(update={"to": alike[0].name})
    else:
        yield _chosen(action, alike, running, registry, tenants, tenant)


def _chosen(
    action: Action,
    alike: Sequence[Precompute],
    running: Sequence[Precompute],
    registry: Registry,
    tenants: Mapping[str, str],
    tenant: str,
) -> Action:
    kind = registry.find("pipeline", PRECOMPUTE, str(action.to))
    try:
        wanted = _settings(kind, action.set)
    except InvalidParameter:
        return action  # the engine says so
    own = {each.name for each in alike if tenants.get(each.name, "") == tenant} - {running[0].name}
    for each in alike:
        if each.settings() == wanted and (not tenant or each is running[0] or each.name in own):
            return action.model_copy(update={"to": each.name, "set": {}})
    for each in alike:
        alone = action.members is None or frozenset(action.members).issuperset(each.members())
        if alone and each is not running[0] and (each.name in own or len(own) < MOST):
            return action.model_copy(update={"to": each.name, "set": plain(wanted)})
    if len(own) >= MOST:
        whose = f" of tenant {shown(tenant)}" if tenant else ""
        raise TooManyVariants(
            f"{kind.name} {short(action.set)}: expected at most {MOST} with other parameters{whose}"
        )
    taken = {each.name for each in running}
    names = chain((kind.name,), (f"{kind.name}#{number}" for number in count(2)))
    return action.model_copy(update={"to": next(name for name in names if name not in taken)})


def _settings(kind: type[Mechanism], given: dict[str, Any]) -> dict[str, Any]:
    """All parameters of a kind: those that are given, and defaults. Raises InvalidParameter."""
    schema = schema_of(kind)
    defaults = {name: parameter.default for name, parameter in schema.parameters.items()}
    return defaults | {
        name: schema.valid(name, value) for name, value in given.items() if name in schema.parameters
    }


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Parameters as they can be in a plan."""
    return {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in settings.items()
        if value is not MISSING
    }
