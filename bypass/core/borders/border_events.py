"""Border events as events, which travel to their watchers."""

from __future__ import annotations

from bypass.events.event import Event
from bypass.places.borders import BorderEvent

ATTRIBUTES = ("border", "area", "x", "y", "at", "since", "why", "client", "name")
"""The attributes of the event that carries a border event, in the order of its fields."""


def carried(event: BorderEvent) -> Event:
    """The event that carries a border event."""
    values = (
        event.kind, event.area, event.x, event.y, event.at, event.since, event.why, event.client, event.name,
    )  # fmt: skip
    return Event(zip(ATTRIBUTES, values, strict=True))


def border_event(event: Event) -> BorderEvent:
    """The border event that an event carries. Raises KeyError for one that carries none."""
    return BorderEvent(*(event[name] for name in ATTRIBUTES))
