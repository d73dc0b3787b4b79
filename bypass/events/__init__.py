"""Events, their attributes, and the filters that subscribers choose them by."""

from bypass.events.attributes import BOOLEAN, FLOAT, INTEGER, SET, STRING, AttributeType, register_type
from bypass.events.event import Event, Publisher
from bypass.events.filters import Filter, Subscription, attr
from bypass.events.matching import matches
from bypass.events.operators import OPERATORS

__all__ = [
    "BOOLEAN",
    "FLOAT",
    "INTEGER",
    "OPERATORS",
    "SET",
    "STRING",
    "AttributeType",
    "Event",
    "Filter",
    "Publisher",
    "Subscription",
    "attr",
    "matches",
    "register_type",
]
