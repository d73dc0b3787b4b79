"""Attributes: names with a type. Values of an attribute are plain Python values.

Built in are integer, float, string, boolean and set, and places and areas in metres. An application may
register further types, each with its own Python class, and supplies their operators
(`bypass.events.operators`). They belong to one system, or, by `register_type`, to all that are not given
others.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from bypass.errors import AttributeConflict, InvalidAttribute, UnknownType, shown
from bypass.places.areas import Area
from bypass.places.geo import PlanarLocation

MAX_NAME = 255


@dataclass(frozen=True, slots=True)
class AttributeType:
    """A type of attribute values: its name, and the Python class of the values."""

    name: str
    python: type

    @property
    def candidates(self) -> tuple[type, ...]:
        """Classes of the event values that a filter of this type looks at.

        Numbers of both kinds can be compared, so a filter on either looks at both. True and False are no
        numbers: only a type that names `bool` looks at them.
        """
        if self.python is int:
            return (int, float)
        if self.python is float:
            return (float, int)
        if self.python is object:
            return (object, bool)
        return (self.python,)


INTEGER = AttributeType("integer", int)
FLOAT = AttributeType("float", float)
STRING = AttributeType("string", str)
BOOLEAN = AttributeType("boolean", bool)
SET = AttributeType("set", frozenset)
PLACE = AttributeType("place", PlanarLocation)
AREA = AttributeType("area", Area)
ANYTHING = AttributeType("any", object)
"""Of no value in particular: what is asked is whether there is one."""

BUILT_IN_TYPES = (INTEGER, FLOAT, STRING, BOOLEAN, SET, PLACE, AREA)


class AttributeTypes:
    """The attribute types of one system: those built in, and those that an application registers.

    Values of exactly the classes in `exact` are attribute values as they stand.
    """

    def __init__(self) -> None:
        self.exact: set[type] = {int, float, str, bool, PlanarLocation, Area}
        self._types: dict[type, AttributeType] = {kind.python: kind for kind in BUILT_IN_TYPES}

    def register(self, name: str, python: type) -> AttributeType:
        """Make instances of `python`, and of classes below it, values of a new attribute type.

        Instances must be hashable and must not change. Registering the same pair again changes nothing.
        Raises InvalidAttribute for a class that is unhashable or a kind of a built-in type, and
        AttributeConflict if the name or the class already belongs to another type.
        """
        kind = AttributeType(name, python)
        builtin = (int, float, str, set, frozenset)
        if any(issubclass(python, own) or issubclass(own, python) for own in builtin):
            raise InvalidAttribute(f"attribute type {name!r}: {python.__name__} overlaps a built-in type")
        if python.__hash__ is None:
            raise InvalidAttribute(
                f"attribute type {name!r}: {python.__name__} is unhashable, expected hashable"
            )
        for known in self._types.values():
            if known != kind and (known.name == name or known.python is python):
                raise AttributeConflict(
                    f"attribute type {name!r} of {python.__name__}: "
                    f"{known.name!r} of {known.python.__name__} is registered already"
                )
        if python not in self._types:
            self._types[python] = kind
            self.exact.add(python)
        return kind

    def plain(self, value: Any) -> Any:
        """Give `value` as events hold it: an exact int, float, str or bool, a frozenset of the first three,
        a place or area, or of a registered class.

        Enumeration members and NumPy scalars become the number, string or truth value that they are; sets
        are frozen. Raises UnknownType for anything else.
        """
        cls = type(value)
        if cls in self.exact:
            return value
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real):
            return float(value)
        if isinstance(value, str):
            return str.__str__(value)  # str() of an enumeration member would be its name
        if isinstance(value, (set, frozenset)):
            return frozenset(self._element(element) for element in value)
        if cls.__module__ == "numpy" and cls.__name__ in ("bool", "bool_"):  # no kind of bool, nor imported
            return bool(value)
        if any(base in self._types for base in cls.__mro__):
            return value
        names = ", ".join(kind.name for kind in self._types.values())
        raise UnknownType(f"value {shown(value)} of class {cls.__name__}: expected one of {names}")

    def _element(self, value: Any) -> int | float | str:
        element = self.plain(value)
        if not isinstance(element, (int, float, str)) or isinstance(element, bool):
            raise UnknownType(f"set element {shown(value)}: expected an integer, float or string")
        return element

    def type_of(self, value: Any) -> AttributeType:
        """The attribute type that `value` is of; the closest one for instances of derived classes.

        Raises UnknownType.
        """
        return next(self._types[base] for base in type(self.plain(value)).__mro__ if base in self._types)


TYPES = AttributeTypes()
"""The types of systems that are not given others."""

register_type = TYPES.register
plain = TYPES.plain
type_of = TYPES.type_of


@dataclass(frozen=True, slots=True)
class Attribute:
    """A name and the type of its values. Raises InvalidAttribute for an empty or overlong name."""

    name: str
    type: AttributeType

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= MAX_NAME:
            raise InvalidAttribute(
                f"attribute name {shown(self.name)}: expected a string of 1 to {MAX_NAME} characters"
            )
