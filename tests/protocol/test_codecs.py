"""Value types belong to a system: two in one process may call different things by the same name."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pytest

from bypass.errors import InvalidEvent, UnknownOperator
from bypass.events import Event, Filter, attr
from bypass.events.attributes import Attribute, AttributeType
from bypass.events.filters import Subscription
from bypass.mechanisms import Registry
from bypass.ports.subscriptions import SubHandle
from bypass.protocol.messages import Frame, Notify, Publish, Subscribe
from bypass.protocol.session import Kept
from bypass.protocol.wire import Codec, MalformedMessage, ValueTypes, decode, encode
from tests.conftest import World


class Colour(NamedTuple):
    red: int

    def to_bytes(self) -> bytes:
        return bytes((self.red,))


class Shade(NamedTuple):
    grey: int

    def to_bytes(self) -> bytes:
        return b"shade" + bytes((self.grey,))


def colours() -> tuple[Codec, AttributeType]:
    values = ValueTypes()
    kind = values.register(Colour, "paint", Colour.to_bytes, lambda data: Colour(data[0]))
    values.operators.register(kind, "darker", lambda candidate, wanted: candidate.red < wanted.red)
    return Codec(values), kind


def shades() -> tuple[Codec, AttributeType]:
    values = ValueTypes()
    kind = values.register(Shade, "paint", Shade.to_bytes, lambda data: Shade(data[-1]))
    values.operators.register(kind, "darker", lambda candidate, wanted: candidate.grey > wanted.grey)
    return Codec(values), kind


SYSTEMS = [(*colours(), Colour(3), Colour(9)), (*shades(), Shade(9), Shade(3))]


@pytest.mark.parametrize(("codec", "kind", "value", "lighter"), SYSTEMS)
def test_a_codec_carries_the_values_of_its_own_system(
    codec: Codec, kind: AttributeType, value: tuple[int], lighter: tuple[int]
) -> None:
    event = Event.of_types(codec.values.attributes, [("paint", value), ("paint", lighter), ("n", 1)], b"x")
    wanted = Filter(Attribute("paint", kind), lighter, "darker", codec.values.operators)
    subscription = Subscription([wanted]) | (attr("n") == 1)
    publication, subscribe = Publish(1, event), Subscribe(1, subscription)
    for message in (
        publication, subscribe, Notify(publication, (1,)), Frame(0, publications=(publication,)),
        Kept((subscribe,)),
    ):  # fmt: skip
        data = codec.encode(message)
        assert codec.decode(data) == message
        with pytest.raises(MalformedMessage, match=r"paint|expected one of integer, float"):
            decode(data)
        with pytest.raises(MalformedMessage, match="expected one of integer, float"):
            encode(message)
    with pytest.raises(InvalidEvent, match=f"of class {type(value).__name__}: expected one of integer"):
        Event(paint=value)
    with pytest.raises(UnknownOperator, match="operator 'darker' of type paint: expected one of no operator"):
        Filter(Attribute("paint", kind), lighter, "darker")


def test_systems_in_one_process_have_values_of_their_own() -> None:
    for codec, kind, value, lighter in SYSTEMS:
        world = World([(10.0, 10.0), (20.0, 20.0)], registry=Registry(codec=codec))
        heard: list[Event] = []
        wanted = Filter(Attribute("paint", kind), lighter, "darker", codec.values.operators)
        world.clients[1].subscribe(wanted, partial(_hear, heard))
        world.run()
        for each in (value, lighter):
            world.clients[0].publish(Event.of_types(codec.values.attributes, {"paint": each}))
        world.run()
        assert [event["paint"] for event in heard] == [value]


def _hear(heard: list[Event], event: Event, _: SubHandle) -> None:
    heard.append(event)
