"""The rule by which broker and clients decide whether an event satisfies a subscription."""

from __future__ import annotations

from bypass.events.event import Event
from bypass.events.filters import AnyOf, Subscription
from bypass.events.operators import ABSENT


def matches(event: Event, subscription: Subscription) -> bool:
    """Whether every filter's attribute is in the event, and every value that it has there passes the filter;
    and of alternatives one matches, and what is negated does not.

    Several filters on one attribute thus make a range, and a name that occurs repeatedly in the event has
    to pass with all its values.
    """
    first = event._first
    for name, classes, test, wanted in subscription.checks:
        value = first.get(name, ABSENT)
        # A bool is an int to Python, and not to us.
        if (
            not isinstance(value, classes)
            or not test(value, wanted)
            or (value.__class__ is bool and bool not in classes)
        ):
            return False
    for repeated, value in event._repeated:
        for name, classes, test, wanted in subscription.checks:
            if name == repeated and not (
                isinstance(value, classes)
                and test(value, wanted)
                and (value.__class__ is not bool or bool in classes)
            ):
                return False
    for each in subscription.compounds:
        if isinstance(each, AnyOf):
            if not any(matches(event, alternative) for alternative in each.alternatives):
                return False
        elif matches(event, each.of):
            return False
    return True
