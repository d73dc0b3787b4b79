"""Values of application types on the wire."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bypass.errors import AttributeConflict, InvalidAttribute
from bypass.events.attributes import Attribute, register_type
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription
from bypass.events.operators import OPERATORS
from bypass.protocol.messages import Publish, Subscribe
from bypass.protocol.wire import MalformedMessage, decode, encode, register_value_type


@dataclass(frozen=True)
class Colour:
    red: int
    green: int
    blue: int


class Shade(Colour):
    """Travels as the colour that it is."""


@dataclass(frozen=True)
class Homebody:
    """Of a registered type, but with no way to travel."""


def to_bytes(colour: Colour) -> bytes:
    return bytes((colour.red, colour.green, colour.blue))


def from_bytes(data: bytes) -> Colour:
    red, green, blue = data
    return Colour(red, green, blue)


COLOUR = register_value_type(Colour, "wire-test-colour", to_bytes, from_bytes)
HOMEBODY = register_type("wire-test-homebody", Homebody)
OPERATORS.register(COLOUR, "=", Colour.__eq__)
OPERATORS.register(COLOUR, "one-of", lambda candidate, values: candidate in values)
OPERATORS.register(HOMEBODY, "=", Homebody.__eq__)

RED = Colour(255, 0, 0)
BLUE = Colour(0, 0, 255)
PAINT = Attribute("paint", COLOUR)


def test_application_values_travel_in_events() -> None:
    message = Publish(1, Event(paint=RED, level=3))
    assert decode(encode(message)) == message


def test_application_values_travel_in_filters() -> None:
    message = Subscribe(
        1, Subscription([Filter(PAINT, RED, "="), Filter(PAINT, frozenset([RED, BLUE]), "one-of")])
    )
    assert decode(encode(message)) == message


def test_derived_classes_travel_as_the_registered_one() -> None:
    decoded = decode(encode(Publish(1, Event(paint=Shade(1, 2, 3)))))
    assert decoded == Publish(1, Event(paint=Colour(1, 2, 3)))


def test_registering_again_changes_nothing() -> None:
    assert register_value_type(Colour, "wire-test-colour", to_bytes, from_bytes) == COLOUR


def test_a_tag_has_one_meaning() -> None:
    with pytest.raises(
        AttributeConflict, match=r"^value type 'wire-test-colour' of Colour: registered with other"
    ):
        register_value_type(Colour, "wire-test-colour", to_bytes, lambda data: RED)
    with pytest.raises(AttributeConflict, match="'wire-test-colour'"):
        register_value_type(Homebody, "wire-test-colour", lambda value: b"", lambda data: Homebody())
    with pytest.raises(InvalidAttribute, match="'integer'"):
        register_value_type(int, "integer", lambda value: b"", lambda data: 0)
    message = Publish(1, Event(paint=BLUE, level=3))
    assert decode(encode(message)) == message


def test_what_an_application_raises_is_a_malformed_message() -> None:
    data = encode(Publish(1, Event(paint=RED)))
    with pytest.raises(MalformedMessage, match=r"wire-test-colour b'.*' cannot be decoded: ValueError"):
        decode(data.replace(b"\x12\x03\xff\x00\x00", b"\x12\x01\xff\x10\x00"))
    with pytest.raises(MalformedMessage, match="wire-test-colour cannot be encoded: ValueError"):
        encode(Publish(1, Event(paint=Colour(256, 0, 0))))
    with pytest.raises(
        MalformedMessage, match=r"^publish message: value type 'wire-test-colouR': expected a reg"
    ):
        decode(data.replace(b"wire-test-colour", b"wire-test-colouR"))


def test_sets_in_sets_do_not_travel() -> None:
    wanted = Filter(PAINT, frozenset([frozenset([RED])]), "one-of")
    with pytest.raises(
        MalformedMessage, match=r"^Subscribe: attribute 'paint' .*: set in a set: expected other"
    ):
        encode(Subscribe(1, Subscription([wanted])))


def test_a_type_that_cannot_travel_is_named() -> None:
    with pytest.raises(
        MalformedMessage, match=r"^Publish: attribute 'home' Homebody\(\): value of class Homebody: expected"
    ):
        encode(Publish(1, Event(home=Homebody())))
    with pytest.raises(
        MalformedMessage, match=r"^Subscribe: attribute type 'wire-test-homebody': expected one of"
    ):
        encode(Subscribe(1, Subscription([Filter(Attribute("home", HOMEBODY), Homebody(), "=")])))
