"""The path of events from a publisher to a subscriber: centres one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

from bypass.models.queueing.centre import Centre, InvalidCentre, Unreachable, Unstable

MeanPeriods = tuple[float, float]
"""Mean ON and OFF periods (s)."""

ALWAYS: MeanPeriods = (inf, 0.0)


@dataclass(frozen=True, slots=True)
class CentreShare:
    """The part of one centre in a path: its mean response (s), and its share of the total."""

    centre: Centre
    response: float
    share: float


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The mean time of events from the first centre to the end of the last one (s), and where it goes.

    `effective` is the same with other traffic as longer services (`Centre.effective_response`).
    """

    parts: tuple[CentreShare, ...]
    total: float
    effective: float

    @property
    def slowest(self) -> CentreShare:
        """Where events spend most of their time."""
        return max(self.parts, key=lambda part: part.response)

    @property
    def busiest(self) -> CentreShare:
        """The centre that is the first to be overloaded as rates grow."""
        return max(self.parts, key=lambda part: part.centre.load)


def compose(
    rate: float,
    service: float,
    *,
    publisher: MeanPeriods = ALWAYS,
    subscriber: MeanPeriods = ALWAYS,
    brokers: int = 0,
    publisher_other: float = 0.0,
    broker_other: float = 0.0,
    subscriber_other: float = 0.0,
) -> tuple[Centre, ...]:
    """The centres between a publisher and a subscriber, who are ON and OFF by their `MeanPeriods`.

    Events wait at the publisher until it is ON, pass `brokers` intermediate brokers and the subscriber's home
    broker, wait there until the subscriber is ON, and are processed by it. All services take `service` (s)
    on average. `publisher_other`, `broker_other` and `subscriber_other` are rates (1/s) of other events: of
    this publisher, at each broker, for this subscriber. Raises `InvalidCentre`.
    """
    if brokers < 0:
        raise InvalidCentre(f"brokers {brokers}: expected at least 0")
    passed = [f"broker {number}" for number in range(1, brokers + 1)]
    return (
        Centre("publisher", rate, service, *publisher, publisher_other),
        *(Centre(name, rate, service, other=broker_other) for name in (*passed, "home broker")),
        Centre("home broker to subscriber", rate, service, *subscriber, subscriber_other),
        Centre("subscriber", rate, service, other=subscriber_other),
    )


def break_down(centres: Sequence[Centre]) -> Breakdown:
    """The response along the centres: the sum of theirs, as if Poisson arrivals came to each.

    Raises `Unstable`, which names the centre with the highest load.
    """
    check_stable(centres)
    responses = [centre.response() for centre in centres]
    total = sum(responses)
    parts = tuple(
        CentreShare(centre, response, response / total)
        for centre, response in zip(centres, responses, strict=True)
    )
    return Breakdown(parts, total, sum(centre.effective_response() for centre in centres))


def check_stable(centres: Sequence[Centre]) -> None:
    """Raise `Unstable` for the centre with the highest load if that is too much for it."""
    busiest = max(centres, key=lambda centre: centre.load)
    if busiest.load >= 1.0:
        raise Unstable(
            f"{busiest.name}: load {busiest.load:.6g}: expected below 1, what arrives cannot be served"
        )


def largest_rate(centres: Sequence[Centre], target: float) -> float:
    """The largest rate (1/s) of events along the centres with a mean response of at most `target` (s).

    Rates of other events stay. Raises `Unreachable` and `Unstable`.
    """

    def total(rate: float) -> float:
        changed = [replace(centre, rate=rate) for centre in centres]
        return inf if any(each.load >= 1.0 for each in changed) else sum(each.response() for each in changed)

    least = break_down([replace(centre, rate=0.0) for centre in centres]).total
    if not (target >= least and isfinite(target)):
        raise Unreachable(f"target {target:g} s: expected at least {least:.6g} s, which rare events take")
    low, high = 0.0, min(1.0 / (centre.service * centre.stretch) for centre in centres)
    while low < (middle := (low + high) / 2.0) < high:  # until they are neighbours among floats
        low, high = (middle, high) if total(middle) <= target else (low, middle)
    return low


def longest_off(centres: Sequence[Centre], which: int, target: float) -> float:
    """The longest mean OFF period (s) of one centre with a mean response of at most `target` (s) of them all.

    Raises `Unreachable` and `Unstable`.
    """
    others = [centre for number, centre in enumerate(centres) if number != which]
    rest = break_down(others).total if others else 0.0
    try:
        return centres[which].longest_off(target - rest)
    except Unreachable as error:
        raise Unreachable(f"{error}; of {target:g} s, the other centres take {rest:.6g} s") from None
