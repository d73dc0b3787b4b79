"""Publications that wait for the broker, and places for them."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from bypass.events.event import Event
from bypass.live.client.errors import NotConnected, OutboxFull, PublicationRefused
from bypass.live.client.session.outbox import MOST_UNACKNOWLEDGED, Outbox
from bypass.protocol.messages import Publish
from tests.live.scripted import on_loop, turns


def publication(number: int) -> Publish:
    return Publish(number, Event(n=number))


@on_loop
async def test_places_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    outbox = Outbox()
    for number in range(MOST_UNACKNOWLEDGED):
        outbox.take_place()
        outbox.add(publication(number))
    with pytest.raises(OutboxFull, match="10000 events are not acknowledged yet"):
        outbox.take_place()
    order: list[str] = []

    async def wait(name: str) -> None:
        await outbox.wait_for_place()
        order.append(name)

    waiting = [asyncio.ensure_future(wait(name)) for name in "abc"]
    await turns()
    assert order == []
    waiting[1].cancel()
    outbox.acknowledged(5)
    outbox.acknowledged(5)  # said twice, it is one place all the same
    await turns()
    assert order == ["a"]
    outbox.acknowledged(6)
    await turns()
    assert order == ["a", "c"]
    with pytest.raises(OutboxFull):
        outbox.take_place()
    outbox.acknowledged(7)
    outbox.take_place()


@on_loop
async def test_a_place_that_was_given_to_somebody_who_left_is_not_lost() -> None:
    outbox = Outbox()
    for number in range(MOST_UNACKNOWLEDGED):
        outbox.take_place()
        outbox.add(publication(number))
    first = asyncio.ensure_future(outbox.wait_for_place())
    second = asyncio.ensure_future(outbox.wait_for_place())
    await turns()
    outbox.acknowledged(0)
    first.cancel()  # in the same moment
    await asyncio.wait_for(second, 10)
    with pytest.raises(asyncio.CancelledError):
        await first


@on_loop
async def test_answers_reach_those_who_wait_for_them() -> None:
    outbox = Outbox()
    answers = [outbox.add(publication(number)) for number in (1, 2, 3, 4)]
    outbox.known_up_to(2)
    assert [await answer for answer in answers[:2]] == [1, 2]
    outbox.refused(3, "too large")
    with pytest.raises(PublicationRefused, match="event 3: too large"):
        await answers[2]
    assert [each.id for each in outbox] == [4]
    numbers = itertools.count(100)
    outbox.renumber(lambda: next(numbers))
    assert [each.id for each in outbox] == [100]
    outbox.acknowledged(4)
    assert not answers[3].done()
    outbox.acknowledged(100)
    assert await answers[3] == 100
    outbox.take_place()
    last = outbox.add(publication(5))
    outbox.fail(NotConnected("closed"))
    with pytest.raises(NotConnected, match="closed"):
        await last
    assert len(outbox) == 0
