"""Does an event satisfy a subscription? The one answer that broker and clients share."""

from __future__ import annotations

from bypass.events import Event
from bypass.filters import Subscription

_ABSENT = object()


def matches(event: Event, subscription: Subscription) -> bool:
    """Whether every filter's attribute is in the event, and every value that it has there passes the filter.

    Several filters on one attribute thus make a range, and a name that occurs repeatedly in the event has
    to pass with all its values.
    """
    first = event._first
    for name, classes, test, wanted in subscription.checks:
        value = first.get(name, _ABSENT)
        if not isinstance(value, classes) or not test(value, wanted):
            return False
    for repeated, value in event._repeated:
        for name, classes, test, wanted in subscription.checks:
            if name == repeated and not (isinstance(value, classes) and test(value, wanted)):
                return False
    return True
