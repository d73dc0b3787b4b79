"""Values of a class of your own in events and filters, in one system and no other."""

from typing import NamedTuple

from bypass import Event, Filter, matches
from bypass.events.attributes import Attribute
from bypass.events.filters import Subscription
from bypass.protocol import Publish
from bypass.protocol.wire import Codec, ValueTypes


class Colour(NamedTuple):
    red: int
    green: int
    blue: int


def read(data: bytes) -> Colour:
    return Colour(*data)


values = ValueTypes()
COLOUR = values.register(Colour, "colour", bytes, read)
values.operators.register(COLOUR, "darker than", lambda colour, other: sum(colour) < sum(other))

codec = Codec(values)  # for Registry(codec=codec), connect(codec=codec)
event = Event.of_types(values.attributes, {"paint": Colour(80, 0, 0)})
arrived = codec.decode(codec.encode(Publish(1, event)))
assert isinstance(arrived, Publish)
wanted = Filter(Attribute("paint", COLOUR), Colour(90, 90, 90), "darker than", values.operators)
print(
    arrived.event,
    "concerns" if matches(arrived.event, Subscription([wanted])) else "does not concern",
    wanted,
)
