"""The values that parameters of mechanisms begin with: those of their classes, or those of a file."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pydantic import JsonValue, ValidationError

from bypass.mechanisms import Registry
from bypass.mechanisms.registry import SIDES, MechanismDefaults
from bypass.support.validation import Misfit, first_misfit
from bypass.transitions import Parameter, UnknownMechanism
from bypass.transitions.state.schema import MISSING


def mechanism_defaults(registry: Registry) -> dict[str, dict[str, dict[str, JsonValue]]]:
    """Every value that a parameter begins with, by proxy, mechanism and name, as data for a file.

    A parameter whose parts at client and broker begin with different values is left out, and so is one that
    has none.
    """
    found: dict[str, dict[str, dict[str, JsonValue]]] = {}
    for proxy, mechanisms in _declared(registry).items():
        for mechanism, parameters in mechanisms.items():
            own = registry.defaults.get(proxy, {}).get(mechanism, {})
            for name, declared in parameters.items():
                values = [
                    own.get(name, each.adapter.dump_python(each.default, mode="json"))
                    for each in declared
                    if name in own or each.default is not MISSING
                ]
                if values and all(value == values[0] for value in values):
                    found.setdefault(proxy, {}).setdefault(mechanism, {})[name] = values[0]
    return found


def check_defaults(defaults: MechanismDefaults, registry: Registry) -> None:
    """Raise Misfit unless there are such proxies, mechanisms and parameters, with values that they allow."""
    for proxy, mechanisms in defaults.items():
        for side in SIDES:
            if proxy in registry.catalogue(side):
                for mechanism in mechanisms:  # an installed package may offer it
                    with suppress(UnknownMechanism):
                        registry.find(side, proxy, mechanism)
    known = _declared(registry)
    for proxy, mechanisms in defaults.items():
        _expect(proxy, known, (proxy,))
        for mechanism, values in mechanisms.items():
            _expect(mechanism, known[proxy], (proxy, mechanism))
            for name, value in values.items():
                _expect(name, known[proxy][mechanism], (proxy, mechanism, name))
                for parameter in known[proxy][mechanism][name]:
                    try:
                        parameter.adapter.validate_python(value)
                    except ValidationError as error:
                        reason = first_misfit(error, lambda _: ()).args[0]
                        raise Misfit((proxy, mechanism, name), reason) from None


def _declared(registry: Registry) -> dict[str, dict[str, dict[str, list[Parameter]]]]:
    """Every parameter by proxy, mechanism and name, as the parts that have it declare it."""
    found: dict[str, dict[str, dict[str, list[Parameter]]]] = {}
    for side in SIDES:
        for proxy, mechanisms in registry.catalogue(side).items():
            for mechanism, part in mechanisms.items():
                own = found.setdefault(proxy, {}).setdefault(mechanism, {})
                for name, parameter in part.parameters().items():
                    own.setdefault(name, []).append(parameter)
    return found


def _expect(name: str, known: dict[str, Any], path: tuple[str, ...]) -> None:
    if name not in known:
        raise Misfit(path, f"is unknown: expected one of {', '.join(sorted(known)) or 'none'}")
