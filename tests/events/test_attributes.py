from enum import Enum, IntEnum
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np
import pytest

from bypass.errors import AttributeConflict, InvalidAttribute, UnknownType
from bypass.events.attributes import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    SET,
    STRING,
    Attribute,
    AttributeType,
    plain,
    register_type,
    type_of,
)


class Level(IntEnum):
    HIGH = 3


class Kind(str, Enum):  # noqa: UP042 - whose str() is not its value, unlike that of StrEnum
    MONSTER = "monster"


class Colour:
    pass


class Red(Colour):
    pass


class Shape:
    pass


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("value", "expected", "kind"),
    [
        (3, 3, INTEGER),
        (2.5, 2.5, FLOAT),
        ("x", "x", STRING),
        (True, True, BOOLEAN),
        (np.bool_(False), False, BOOLEAN),
        (Level.HIGH, 3, INTEGER),
        (Kind.MONSTER, "monster", STRING),
        (np.int64(7), 7, INTEGER),
        (np.float32(0.5), 0.5, FLOAT),
        (Fraction(1, 4), 0.25, FLOAT),
        (np.str_("n"), "n", STRING),
        ({1, "a"}, frozenset({1, "a"}), SET),
        (frozenset({Level.HIGH}), frozenset({3}), SET),
        (set(), frozenset(), SET),
    ],
)
def test_values_become_plain_values_of_their_type(value: Any, expected: Any, kind: AttributeType) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is kind.python
    assert type_of(value) == kind


@pytest.mark.parametrize("value", [None, b"x", [1], 1j, {True}, {frozenset({1})}, Shape()])
def test_values_of_no_type_are_refused(value: Any) -> None:
    with pytest.raises(UnknownType, match="expected"):
        plain(value)
    with pytest.raises(UnknownType, match="expected"):
        type_of(value)


def test_the_refusal_names_value_class_and_types() -> None:
    with pytest.raises(
        UnknownType,
        match="value None of class NoneType: expected one of integer, float, string, boolean, set",
    ):
        type_of(None)


def test_a_registered_class_and_those_below_it_are_values() -> None:
    colour = register_type("colour", Colour)
    assert register_type("colour", Colour) == colour
    value = Red()
    assert plain(value) is value
    assert type_of(value) == colour == type_of(Colour())


@pytest.mark.parametrize("python", [bool, int, Level, Kind, frozenset, object, Number])
def test_a_class_that_overlaps_a_built_in_type_cannot_be_registered(python: type) -> None:
    with pytest.raises(InvalidAttribute, match="overlaps a built-in type"):
        register_type("other", python)


def test_an_unhashable_class_cannot_be_registered() -> None:
    with pytest.raises(InvalidAttribute, match="Unhashable is unhashable"):
        register_type("other", Unhashable)


@pytest.mark.parametrize(("name", "python"), [("colour", Shape), ("tint", Colour), ("integer", Shape)])
def test_a_type_name_and_a_class_belong_to_one_type(name: str, python: type) -> None:
    register_type("colour", Colour)
    with pytest.raises(AttributeConflict, match="registered already"):
        register_type(name, python)
    with pytest.raises(UnknownType):
        type_of(Shape())


@pytest.mark.parametrize("name", ["", "n" * 256, 5, None])
def test_attribute_names_are_short_strings(name: Any) -> None:
    with pytest.raises(InvalidAttribute, match="expected a string of 1 to 255 characters"):
        Attribute(name, INTEGER)


def test_numbers_of_both_kinds_are_candidates_for_either() -> None:
    assert set(INTEGER.candidates) == set(FLOAT.candidates) == {int, float}
    assert STRING.candidates == (str,)
