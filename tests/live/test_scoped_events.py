"""Events for who is in an area, and events with a lifetime, at a real broker with sessions that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bypass import Area, Event, PlanarLocation, attr, connect
from bypass.live.broker.delivery.missed import EXPIRED, NOT_READ
from bypass.live.broker.service import Service
from bypass.live.client.errors import PublicationRefused, Unsupported
from bypass.protocol.messages import Notify, Publish, Subscribe
from bypass.protocol.session import AREAS, MISSED, Ack, Missed, Ping, Refused
from tests.live.brokers import ANYTHING, Peer, config, in_loop, killed, peers, running, until
from tests.live.scripted import Script, connected, leave, on_loop
from tests.live.scripted import until as eventually

Make = Callable[..., Peer]
HERE, THERE = Area.circle((10, 10), 5), Area.circle((500, 500), 5)
KNOWS = {"capabilities": (MISSED, AREAS)}


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as made:
        yield made


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def publish(
    peer: Peer, area: Area | None = None, lifetime: int | None = None, *, refused: bool = False
) -> int:
    peer.published += 1
    number = peer.number << 32 | peer.published
    peer.send(Publish(number, Event(kind="x"), area=area, lifetime=lifetime))
    if refused:
        assert peer.get(Refused).id == number
    else:
        assert number in peer.get(Ack).ids
    return number


def subscribe(peer: Peer) -> None:
    """Without a place: the broker does not know where it is."""
    peer.send(Subscribe(1, ANYTHING))
    assert 1 in peer.get(Ack).handles


def received(peer: Peer) -> list[int]:
    return [each.publication.id for each in peer.settle() if isinstance(each, Notify)]


def expired(service: Service) -> int:
    return int(in_loop(service, lambda: service.server.deliveries.kept.missing.by_reason[EXPIRED]))


def left_behind(service: Service, name: str) -> int:
    """The events that wait for a session."""

    def waiting() -> int:
        server = service.server
        return server.sessions.awaited.count(server.sessions.by_name[name].slot)

    return int(in_loop(service, waiting))


def test_what_waits_expires_and_is_counted(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        away, publisher = make(endpoint(service), "a", **KNOWS), make(endpoint(service), "p")
        subscribe(away)
        away.close()
        until(lambda: in_loop(service, lambda: service.server.sessions.by_name["a"].route is None))
        stays = publish(publisher)
        for _ in range(3):
            publish(publisher, lifetime=1)
        until(lambda: expired(service) == 3)
        assert left_behind(service, "a") == 1
        back = make(endpoint(service), "a", **KNOWS)
        assert {each.reason: each.count for each in back.welcome.missed_by} == {EXPIRED: 3}
        assert back.event() == stays
        deliveries = service.server.deliveries
        assert deliveries.kept.missing.total == 3


def test_what_has_expired_is_not_sent_after_a_kill(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        away, publisher = make(endpoint(service), "a", **KNOWS), make(endpoint(service), "p")
        subscribe(away)
        away.close()
        until(lambda: in_loop(service, lambda: service.server.sessions.by_name["a"].route is None))
        publish(publisher, lifetime=3_600_000_000)
        publish(publisher, lifetime=1)
        stays = publish(publisher)
        again = killed(service, tmp_path / "again")
    with running(again) as service:
        back = make(endpoint(service), "a", **KNOWS)
        events = [back.event(), back.event()]
        assert events[1] == stays
        back.send(Ping(asks=True))
        assert not received(back)
        until(lambda: left_behind(service, "a") == 0)
        told = [each for each in back.welcome.missed_by if each.reason == EXPIRED]
        told += [each for each in back.inbox if isinstance(each, Missed)]
        assert expired(service) == 1 or told


def test_versions_that_cannot_test_an_area_are_told_of_none(tmp_path: Path, make: Make) -> None:
    with running(config(tmp_path)) as service:
        old, new = make(endpoint(service), "o", capabilities=(MISSED,)), make(endpoint(service), "n", **KNOWS)
        located = make(endpoint(service), "l")
        publisher = make(endpoint(service), "p")
        subscribe(old)
        subscribe(new)
        located.subscribe(at=(10.0, 10.0))
        here, there = publish(publisher, HERE), publish(publisher, THERE)
        assert received(old) == []
        assert received(located) == [here]  # the broker knows where that one is
        assert received(new) == [here, there]  # it tests them itself
        old.close()
        until(lambda: in_loop(service, lambda: service.server.sessions.by_name["o"].route is None))
        publish(publisher, HERE)
        back = make(endpoint(service), "o", capabilities=(MISSED,))
        missing = service.server.deliveries.kept.missing
        until(lambda: in_loop(service, lambda: missing.by_reason[NOT_READ]) == 1)
        assert received(back) == []


def test_a_named_place_travels_with_its_shape(tmp_path: Path, make: Make) -> None:
    park = {"name": "park", "x": 100.0, "y": 100.0, "radius": 50.0}
    with running(config(tmp_path, region={"area": (0, 0, 1000, 1000), "places": [park]})) as service:
        subscriber, publisher = make(endpoint(service), "s", **KNOWS), make(endpoint(service), "p")
        subscribe(subscriber)
        publish(publisher, Area.of_place("park"))
        assert subscriber.get(Notify).publication.area == Area.circle((100, 100), 50)
        publish(publisher, Area.of_place("pond"), refused=True)


def test_a_connection_hands_over_what_is_for_where_it_is(tmp_path: Path) -> None:
    @on_loop
    async def dialogue() -> None:
        async with (
            connect(at, open=True, name="me", location=lambda: PlanarLocation(10, 10, altitude=20)) as me,
            connect(at, open=True, name="other") as other,
        ):
            heard: list[int] = []
            await me.subscribe(attr("kind") == "x", callback=lambda event, _: heard.append(event["n"]))
            high = Area.circle((10, 10), 5, altitude=(50, 100))
            for n, area in enumerate((high, HERE)):
                await other.publish(Event(kind="x", n=n), area=area, expires=60)
            await eventually(lambda: heard == [1])
            assert (me.elsewhere, me.expired) == (1, 0)
            with pytest.raises(PublicationRefused, match="area of place 'pond'"):
                await other.publish(Event(kind="x"), area=Area.of_place("pond"))

    with running(config(tmp_path)) as service:
        at = endpoint(service)
        dialogue()


@on_loop
async def test_an_earlier_broker_is_asked_for_nothing_that_it_does_not_know() -> None:
    script = Script()
    me = await connected(script)
    for scope in ({"area": HERE}, {"expires": 5}):
        with pytest.raises(Unsupported, match="the broker's version does not know areas"):
            await me.publish(Event(kind="x"), **scope)
    await leave(me, script)
