"""A publication that a broker fails to process is refused: its publisher is never told that it was taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from bypass import Event
from bypass.errors import InvalidEvent
from bypass.live.broker.service import Service
from bypass.mechanisms.filters import FilterScheme, Radial
from bypass.protocol.messages import Kind, Notify, Publish
from bypass.protocol.session import Ack, Refused
from bypass.protocol.wire import encode, pack
from bypass.support.arrays import Ints
from tests.live.brokers import Peer, config, in_loop, peers, running

Make = Callable[..., Peer]
GOOD, WRONG, FOREIGN = (10.0, 10.0), (20.0, 10.0), (30.0, 10.0)
"""Places of events: a scheme can stand the first; for the others it raises an error, not ours and ours."""


class Fragile(FilterScheme):
    """RADIAL, which cannot stand events at two places."""

    class Client(Radial.Client):
        pass

    class Broker(Radial.Broker):
        def match(self, publication: Publish) -> Ints:
            if publication.location == WRONG:
                raise ZeroDivisionError("an error that nobody has foreseen")
            if publication.location == FOREIGN:
                raise InvalidEvent("an event at a place that it cannot stand")
            return super().match(publication)


class Failing(NamedTuple):
    service: Service
    publisher: Peer
    subscriber: Peer

    def send(self, *places: tuple[float, float], count: int | None = None) -> list[int]:
        """Publish at these places in one packet, all under one number if `count` gives it."""
        first = self.publisher.published + 1
        counts = [first + i for i in range(len(places))] if count is None else [count] * len(places)
        self.publisher.published = max(*counts, self.publisher.published)
        numbers = [self.publisher.number << 32 | each for each in counts]
        messages = [
            Publish(
                number, Event(kind="x"), Kind.PLACED, 0, at, client=self.publisher.number, scheme=self.flag
            )
            for number, at in zip(numbers, places, strict=True)
        ]
        self.publisher.socket.send(pack([encode(message) for message in messages]))
        return numbers

    @property
    def flag(self) -> int:
        return self.publisher.scheme

    def answers(self) -> tuple[list[int], list[int | None]]:
        """The numbers of events that were acknowledged since, and of those that were refused."""
        said = self.publisher.settle()
        taken = [number for each in said if isinstance(each, Ack) for number in each.ids]
        return taken, [each.id for each in said if isinstance(each, Refused)]

    def heard(self) -> list[int]:
        return [each.publication.id for each in self.subscriber.settle() if isinstance(each, Notify)]


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[Failing]:
    settings = config(tmp_path, mechanisms=(f"{__name__}:Fragile",), scheme="fragile")
    with running(settings) as service, peers() as make:
        subscriber, publisher = (make(service.server.endpoints[0], name) for name in "sp")
        subscriber.subscribe()
        yield Failing(service, publisher, subscriber)


@pytest.mark.parametrize("place", [WRONG, FOREIGN])
def test_it_is_refused_and_others_are_served(failing: Failing, place: tuple[float, float]) -> None:
    first, wrong, last = failing.send(GOOD, place, GOOD)
    assert failing.answers() == ([first, last], [wrong])
    assert failing.heard() == [first, last]


@pytest.mark.parametrize("place", [WRONG, FOREIGN])
def test_it_is_not_acknowledged_when_it_comes_again(failing: Failing, place: tuple[float, float]) -> None:
    """Neither later nor in the same packet: nobody has it."""
    (wrong,) = failing.send(place)
    assert failing.answers() == ([], [wrong])
    failing.send(place, count=wrong & 0xFFFFFFFF)
    assert failing.answers() == ([], [wrong])
    (twice, _) = failing.send(place, place, count=failing.publisher.published + 1)
    taken, refused = failing.answers()
    assert taken == []
    assert {*refused} == {twice}
    failing.send(GOOD, count=wrong & 0xFFFFFFFF)
    assert failing.answers() == ([wrong], [])
    assert failing.heard() == [wrong]


@pytest.mark.parametrize("place", [WRONG, FOREIGN])
def test_a_welcome_does_not_say_that_it_was_taken(failing: Failing, place: tuple[float, float]) -> None:
    (first,) = failing.send(GOOD)
    failing.send(place)
    failing.answers()
    endpoint = failing.service.server.endpoints[0]
    with peers() as make:
        assert make(endpoint, "p").welcome.published == first & 0xFFFFFFFF
    assert in_loop(failing.service, lambda: failing.service.server.counters["publications"]) == 2
