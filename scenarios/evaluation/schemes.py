"""The filter schemes of an evaluation, parsed as users write them, and the properties they declare."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from bypass.errors import BypassError
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER, FILTER_PROXY
from bypass.mechanisms.filters import FilterBroker, FilterScheme
from bypass.mechanisms.filters.kernels.judge import Kernels, SchemeSetting
from bypass.support.validation import first_misfit
from bypass.transitions import Parameter, UnknownMechanism
from bypass.transitions.state.schema import MISSING


class InvalidEvaluation(BypassError):
    """The arguments of an evaluation make no sense."""


@dataclass(frozen=True)
class Scheme:
    """A filter scheme with the number by which messages name it and the value of its parameter, if it has
    one.

    That is the first parameter that the broker's part has besides those that all schemes have.
    """

    scheme: type[FilterScheme]
    flag: int
    value: Any

    @classmethod
    def parse(cls, text: str, registry: Registry) -> Scheme:
        """A scheme as users write it: `radial`, `ste:2`, `grid:5`. Raises InvalidEvaluation.

        Without a value the scheme's own default holds; values are checked as the scheme itself checks them.
        """
        kind, colon, written = text.strip().partition(":")
        known = registry.kinds(FILTER)
        try:
            registry.find("broker", FILTER_PROXY, kind)
        except UnknownMechanism:
            raise InvalidEvaluation(
                f"scheme {text!r} is unknown: expected one of {', '.join(known)}"
            ) from None
        scheme, flag = known[kind], registry.flags.of(kind)
        parameter = _parameter(scheme)
        if parameter is None:
            if colon:
                raise InvalidEvaluation(f"scheme {text!r}: expected {kind} alone, it has no parameter here")
            return cls(scheme, flag, None)
        if not colon and parameter.default is MISSING:
            raise InvalidEvaluation(f"scheme {text!r}: {parameter.name} is missing: expected {kind}:VALUE")
        if not colon:
            return cls(scheme, flag, parameter.default)
        try:
            return cls(scheme, flag, parameter.adapter.validate_strings(written))
        except ValidationError as error:
            reason = first_misfit(error, lambda _: ()).args[0]
            raise InvalidEvaluation(f"scheme {text!r}: {parameter.name} {reason}") from None

    @property
    def kind(self) -> str:
        """The scheme's name, without its parameter."""
        return self.scheme.name

    def __str__(self) -> str:
        if self.value is None or self.value == "none":
            return self.kind
        return f"{self.kind}:{self.value:g}" if isinstance(self.value, float) else f"{self.kind}:{self.value}"

    @property
    def setting(self) -> SchemeSetting:
        """The scheme as its kernels want to know it."""
        parameter = _parameter(self.scheme)
        return SchemeSetting(self.scheme, {} if parameter is None else {parameter.name: self.value})

    @property
    def memory(self) -> float | None:
        """The number of seconds before the last fixes that still matter, as the scheme declares it; None for
        all."""
        return cast("float | None", vars(self.scheme).get("memory"))

    @property
    def is_carried(self) -> bool:
        """Whether its kernels have to be told at the begin of a stretch what is older than last fixes."""
        return self.memory is None and self.kernels is not None

    @property
    def kernels(self) -> Kernels | None:
        """The kernels that the scheme itself names, if it names any. Raises InvalidEvaluation."""
        named = vars(self.scheme).get("kernels")
        if not isinstance(named, str):
            return cast("Kernels | None", named)
        module, _, name = named.partition(":")
        try:
            return cast("Kernels", getattr(importlib.import_module(module), name))
        except (ImportError, AttributeError, ValueError) as error:
            raise InvalidEvaluation(
                f"scheme {self.kind}: kernels {named!r}: expected module:Class, an import path ({error})"
            ) from None


def _parameter(scheme: type[FilterScheme]) -> Parameter | None:
    """The parameter whose value may follow a scheme's name."""
    shared = FilterBroker.parameters()
    return next((each for name, each in scheme.Broker.parameters().items() if name not in shared), None)


def parse_schemes(texts: Iterable[str], registry: Registry | None = None) -> tuple[Scheme, ...]:
    """Find the schemes that are asked for, in their order, among what the registry has or is installed.

    Without a registry it is a new one. Raises InvalidEvaluation for none, or one twice.
    """
    registry = registry or Registry()
    schemes = tuple(Scheme.parse(text, registry) for text in texts)
    if not schemes:
        raise InvalidEvaluation("no scheme is asked for: expected at least one")
    names = [str(scheme) for scheme in schemes]
    for name in names:
        if names.count(name) > 1:
            raise InvalidEvaluation(f"scheme {name} is asked for twice: expected once")
    return schemes
