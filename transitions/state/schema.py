"""The declarations of a mechanism class: its parameters and transferable state, read once per class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType, NoneType
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

import pydantic_core
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from bypass.transitions.errors import InvalidParameter, describe, short
from bypass.transitions.state.annotations import compatible, empty_value
from bypass.transitions.state.marks import MechanismState, TransferState
from bypass.transitions.state.values import handed_over, is_container
from bypass.transitions.validation import first_problem

MISSING: Any = pydantic_core.PydanticUndefined

_RESERVED = frozenset({"name", "host", "start", "stop", "settings", "parameters", "states", "self"})


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A parameter as plans see it. `default` is `MISSING` if a value must be given."""

    name: str
    field: str
    annotation: Any
    adapter: TypeAdapter[Any]
    default: Any


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Transferable state as mechanisms see it. `named`: the name was chosen, it is not just the field's."""

    name: str
    field: str
    annotation: Any
    named: bool
    optional: bool


class Schema:
    """Parameters and state of one mechanism class.

    Raises TypeError if the declarations cannot be read or contradict each other.
    """

    def __init__(self, owner: type) -> None:
        self._owner = owner
        self._defaults: list[tuple[str, Callable[[], Any]]] = []
        parameters: dict[str, Parameter] = {}
        states: dict[str, State] = {}
        for field, info, mark in _marked_fields(owner):
            name = mark.name or field
            if field in _RESERVED or name in _RESERVED or name in parameters or name in states:
                raise TypeError(f"{owner.__name__}.{field}: the name {name!r} is taken")
            if isinstance(mark, MechanismState):
                parameters[name] = self._parameter(name, field, info)
            else:
                states[name] = self._state(name, field, info, mark)
        self.parameters: Mapping[str, Parameter] = MappingProxyType(parameters)
        self.states: Mapping[str, State] = MappingProxyType(states)
        self._required = tuple(p.name for p in parameters.values() if p.default is MISSING)

    def fill(self, instance: object, values: Mapping[str, Any]) -> None:
        """Set each field of a new instance to its value, or to its default if it has one.

        Raises InvalidParameter for a name that is not declared, a value that is not allowed and a
        parameter that has neither value nor default.
        """
        for field, make in self._defaults:
            setattr(instance, field, make())
        for name, value in values.items():
            if name in self.states:
                setattr(instance, self.states[name].field, value)
            else:
                setattr(instance, self.parameter(name, value).field, self.valid(name, value))
        for name in self._required:
            if name not in values:
                raise InvalidParameter(f"parameter {name!r} of {self._label} is missing and has no default")

    def parameter(self, name: str, value: Any) -> Parameter:
        """The parameter called `name`, which is to get `value`. Raises InvalidParameter if there is none."""
        try:
            return self.parameters[name]
        except KeyError:
            known = ", ".join(self.parameters) or "none"
            raise InvalidParameter(
                f"{self._label} has no parameter {name!r} (to be set to {short(value)}); it has: {known}"
            ) from None

    def valid(self, name: str, value: Any) -> Any:
        """`value` in the parameter's type. Raises InvalidParameter if it is not allowed."""
        try:
            return self.parameter(name, value).adapter.validate_python(value)
        except ValidationError as error:
            expected = first_problem(error).message
            raise InvalidParameter(
                f"parameter {name!r} of {self._label} cannot be {short(value)}: {expected}"
            ) from None

    @property
    def _label(self) -> str:
        return repr(getattr(self._owner, "name", self._owner.__name__))

    def _parameter(self, name: str, field: str, info: FieldInfo) -> Parameter:
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(_without_marks(info))
            default = _default(info)
            if default is not MISSING:
                default = adapter.validate_python(default)
        except (PydanticUserError, ValidationError) as error:
            raise TypeError(f"parameter {self._owner.__name__}.{field}: {describe(error)}") from error
        if default is not MISSING:
            self._remember(field, default, info)
        return Parameter(name, field, info.annotation, adapter, default)

    def _state(self, name: str, field: str, info: FieldInfo, mark: TransferState) -> State:
        default = _default(info)
        where = f"state {self._owner.__name__}.{field}"
        if not mark.optional and default is not MISSING:
            raise TypeError(f"{where} has a default and must be marked TransferState(optional=True)")
        if mark.optional and default is not MISSING:
            self._remember(field, default, info)
        elif mark.optional:
            make = empty_value(info.annotation)
            if make() is None and not compatible(NoneType, info.annotation):
                raise TypeError(f"{where} is optional and must have a default")
            self._defaults.append((field, make))
        return State(name, field, info.annotation, mark.name is not None, mark.optional)

    def _remember(self, field: str, default: Any, info: FieldInfo) -> None:
        if info.default_factory is not None:
            self._defaults.append((field, cast("Callable[[], Any]", info.default_factory)))
        elif is_container(default):
            self._defaults.append((field, partial(handed_over, default)))
        else:
            self._defaults.append((field, lambda: default))


_schemas: dict[type, Schema] = {}


def schema_of(owner: type) -> Schema:
    """The schema of a mechanism class, read when first asked for: annotations may name later classes."""
    schema = _schemas.get(owner)
    if schema is None:
        schema = _schemas[owner] = Schema(owner)
    return schema


def _marked_fields(owner: type) -> list[tuple[str, FieldInfo, TransferState | MechanismState]]:
    try:
        hints = get_type_hints(owner, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"annotations of {owner.__name__}: {error}; mechanisms need their types at run time"
        ) from None
    fields = []
    for field, hint in hints.items():
        marks = [m for m in _metadata(hint) if isinstance(m, TransferState | MechanismState)]
        if len(marks) > 1:
            raise TypeError(f"{owner.__name__}.{field} is marked {len(marks)} times, once is allowed")
        if marks:
            if hasattr(owner, field):
                info = FieldInfo.from_annotated_attribute(hint, getattr(owner, field))
            else:
                info = FieldInfo.from_annotation(hint)
            fields.append((field, info, marks[0]))
    return fields


def _metadata(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _default(info: FieldInfo) -> Any:
    return info.get_default(call_default_factory=True, validated_data={})


def _without_marks(info: FieldInfo) -> Any:
    constraints = [m for m in info.metadata if not isinstance(m, TransferState | MechanismState)]
    return Annotated[info.annotation, *constraints] if constraints else info.annotation
