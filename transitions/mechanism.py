"""The base of every exchangeable part, and the part that does nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from bypass.transitions.state.schema import Parameter, State, schema_of

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def plan_name(class_name: str) -> str:
    """The name of a class in kebab-case, which plans call it by."""
    return _WORD_START.sub("-", class_name).lower()


class Mechanism:
    """An exchangeable part. Subclasses declare what they need as annotated fields:

        p: Annotated[float, MechanismState("p"), Field(ge=0, le=1)] = 0.4
        table: Annotated[Table, TransferState()]
        cache: Annotated[dict[str, int], TransferState(optional=True)]

    Parameters are validated by pydantic. Required state has no value until the engine transfers it, so
    it may be used from `start` on. If a class defines `set_<name>(value)` for a parameter or state, the
    engine calls that instead of setting the field; afterwards the field must be readable.
    """

    name: ClassVar[str] = "mechanism"
    """The name that plans call the class by: its own in kebab-case, unless the class says otherwise."""

    host: Any
    """The lease of the environment for this instance; None if it leases nothing."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = plan_name(cls.__name__)

    def __init__(self, host: Any = None, **values: Any) -> None:
        """Raises InvalidParameter for unknown names, values that are not allowed and missing parameters."""
        self.host = host
        schema_of(type(self)).fill(self, values)

    @classmethod
    def check_state(cls, state: Mapping[str, Any]) -> None:
        """Raise an error if instances could not work with state that is about to be handed over, by name.

        Asked before anything is changed, and in dry runs; allows all, by default.
        """

    def start(self) -> None:
        """Take up work. Must be local and return at once; it must not communicate."""

    def stop(self) -> None:
        """Give up work. Another mechanism is active already."""

    def settings(self) -> dict[str, Any]:
        """The current value of each parameter, by name."""
        return {p.name: getattr(self, p.field) for p in self.parameters().values()}

    @classmethod
    def parameters(cls) -> Mapping[str, Parameter]:
        """The parameters that a plan may set, by name."""
        return schema_of(cls).parameters

    @classmethod
    def states(cls) -> Mapping[str, State]:
        """The transferable state, by name."""
        return schema_of(cls).states


class Nothing(Mechanism):
    """The mechanism that does nothing: a shut-down part. Stands for any source in custom transitions.

    It keeps the state of its predecessor in trust for its successor.
    """

    name = "nothing"

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._trust: list[tuple[State, Any]] = []


def assign(mechanism: Mechanism, item: Parameter | State, value: Any) -> None:
    """Give `mechanism` a new value for one of its fields, through `set_<name>` if it wants to react."""
    setter = getattr(mechanism, f"set_{item.name}", None)
    if setter is not None:
        setter(value)
    else:
        setattr(mechanism, item.field, value)
