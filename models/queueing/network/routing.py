"""Rates at each broker and link of a network, and the response along each route."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from bypass.models.queueing.centre import Centre
from bypass.models.queueing.network.network import BrokerNetwork, Peer
from bypass.models.queueing.path import Breakdown, break_down, check_stable

NetworkPlace = tuple[str, ...]
"""A broker, or the two that a link leads from and to."""


@dataclass(frozen=True, slots=True)
class Route:
    """How events come from a publisher to a subscriber: by which brokers, how many (1/s), and how long."""

    publisher: str
    subscriber: str
    brokers: tuple[str, ...]
    rate: float
    breakdown: Breakdown


def routes(network: BrokerNetwork) -> tuple[Route, ...]:
    """The way of every publisher's events to every subscriber that wants some of them, and its response.

    Raises `Unstable`, which names the centre with the highest load in the network.
    """
    rates = _rates(network)
    found: list[tuple[str, str, tuple[str, ...], float]] = []
    for name, publisher in network.publishers.items():
        paths = network.paths(publisher.broker)
        for other, subscriber in network.subscribers.items():
            rate = sum(rate for topic, rate in publisher.topics.items() if topic in subscriber.topics)
            if rate > 0:
                found.append((name, other, paths[subscriber.broker], rate))
    centres = [_centres(network, rates, *each) for each in found]
    check_stable([centre for each in centres for centre in each])
    return tuple(Route(*each, break_down(own)) for each, own in zip(found, centres, strict=True))


def _rates(network: BrokerNetwork) -> Mapping[NetworkPlace, float]:
    """The rate of all events (1/s) at each broker, and over each link in each direction."""
    rates: defaultdict[NetworkPlace, float] = defaultdict(float)
    for publisher in network.publishers.values():
        paths = network.paths(publisher.broker)
        for topic, rate in publisher.topics.items():
            passed: set[NetworkPlace] = {(publisher.broker,)}
            for subscriber in network.subscribers.values():
                if topic in subscriber.topics:
                    path = paths[subscriber.broker]
                    passed.update((broker,) for broker in path)
                    passed.update(pairwise(path))
            for place in passed:
                rates[place] += rate
    return rates


def _centres(
    network: BrokerNetwork,
    rates: Mapping[NetworkPlace, float],
    publisher: str,
    subscriber: str,
    brokers: tuple[str, ...],
    rate: float,
) -> list[Centre]:
    source, sink = network.publishers[publisher], network.subscribers[subscriber]
    links = {ends: link.service for link in network.links for ends in (link.between, link.between[::-1])}
    wanted = sum(
        each
        for other in network.publishers.values()
        for topic, each in other.topics.items()
        if topic in sink.topics
    )

    def centre(name: str, service: float | None, arriving: float, peer: Peer | None = None) -> Centre:
        periods = (inf, 0.0) if peer is None else (peer.on, peer.off)
        own = network.service if service is None else service
        return Centre(name, rate, own, *periods, other=max(arriving - rate, 0.0))

    centres = [centre(publisher, source.service, sum(source.topics.values()), source)]
    for before, broker in zip((None, *brokers), brokers, strict=False):
        if before is not None and (service := links[before, broker]) is not None:
            centres.append(centre(f"{before} to {broker}", service, rates[before, broker]))
        centres.append(centre(broker, network.brokers[broker].service, rates[broker,]))
    centres.append(centre(f"{brokers[-1]} to {subscriber}", sink.sending, wanted, sink))
    centres.append(centre(subscriber, sink.service, wanted))
    return centres
