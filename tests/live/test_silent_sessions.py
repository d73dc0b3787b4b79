"""Sessions whose connection was lost without a word pass nothing on, and take no place that others need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.service import Service
from bypass.live.keys import create_broker_keys, create_client_keys, load_client_keys
from bypass.protocol.messages import ContextUpdate, Notify, Subscribe
from bypass.protocol.session import Ack, Hello, Ping, Refused
from bypass.transitions import Action, Plan
from tests.live.brokers import ANYTHING, Peer, config, in_loop, peers, running, until

Make = Callable[..., Peer]


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def silent(service: Service, times: int, *awake: Peer) -> None:
    """Wait until so many clients were given up, while some say that they are there."""

    def given_up() -> bool:
        for peer in awake:
            peer.send(Ping())
        return bool(in_loop(service, lambda: service.server.counters["silent"]) == times)

    until(given_up)


@pytest.mark.parametrize("durable", [True, False])
def test_a_silent_client_is_no_gateway(tmp_path: Path, make: Make, durable: bool) -> None:
    """Two devices nearby: whichever is the gateway passes events on to the other. One that is silent would
    keep them."""
    with running(config(tmp_path, heartbeat=0.3)) as service:
        plan = Plan(plan="relay", actions=(Action(proxy="gateway-selection", to="dkc-leach"),))
        in_loop(service, lambda: service.server.broker.execute(plan))
        asleep, awake, publisher = (make(endpoint(service), name, durable=durable) for name in "sap")
        for address, peer in enumerate((asleep, awake), 7):
            peer.send(Subscribe(1, ANYTHING, 100, ContextUpdate((10.0, 10.0)), address=address))
            assert 1 in peer.get(Ack).handles
        publisher.publish()
        told = [len([m for m in peer.settle() if isinstance(m, Notify)]) for peer in (asleep, awake)]
        assert sum(told) == 1  # the other has it from the gateway
        silent(service, 1, awake, publisher)
        numbers = [publisher.publish() for _ in range(4)]
        assert [m.publication.id for m in awake.settle() if isinstance(m, Notify)] == numbers


@pytest.mark.parametrize("limits", [{"sessions_per_key": 2}, {"clients": 2}])
def test_silent_sessions_leave_their_place_to_others(
    tmp_path: Path, make: Make, limits: dict[str, int]
) -> None:
    """Not those that are connected or durable, of which something is kept."""
    with running(guarded(tmp_path, heartbeat=0.3, limits=limits)) as service:
        alice = load_client_keys(tmp_path / "alice.key")
        kept = make(endpoint(service), "kept", keys=alice)
        make(endpoint(service), "silent", keys=alice, durable=False)
        silent(service, 1, kept)
        new = make(endpoint(service), "new", keys=alice, durable=False)
        more = make(endpoint(service), None, keys=alice)
        more.send(Hello("more", 1, durable=False))
        assert "2 sessions: expected no more" in more.get(Refused).reason
        silent(service, 2, new)
        more = make(endpoint(service), None, keys=alice)
        more.send(Hello("more", 1, durable=False))
        assert "2 sessions: expected no more" in more.get(Refused).reason


def test_silent_sessions_leave_what_their_key_may_subscribe(tmp_path: Path, make: Make) -> None:
    with running(guarded(tmp_path, heartbeat=0.3, limits={"filters_per_key": 2})) as service:
        alice = load_client_keys(tmp_path / "alice.key")
        new = make(endpoint(service), "new", keys=alice)
        quiet = make(endpoint(service), "silent", keys=alice, durable=False)
        for handle in (1, 2):
            quiet.subscribe(handle)
        new.send(Subscribe(1, ANYTHING, 100, ContextUpdate((10.0, 10.0))))
        assert "filters" in new.get(Refused).reason
        silent(service, 1, new)
        for handle in (1, 2):
            new.subscribe(handle)
        new.send(Subscribe(3, ANYTHING, 100, ContextUpdate((10.0, 10.0))))
        assert "filters" in new.get(Refused).reason


def guarded(folder: Path, **changes: Any) -> BrokerConfig:
    """A broker that admits alice."""
    create_broker_keys(folder)
    create_client_keys(folder, "alice")
    listen = ("tcp://127.0.0.1:*",)
    keys = {"keys": folder / "broker.key", "clients": folder / "clients"}
    return config(folder, open=False, listen=listen, **keys, **changes)
