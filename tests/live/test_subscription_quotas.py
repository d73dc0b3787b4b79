"""The filters of a key are bounded, in however many sessions it subscribes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass import Subscription, attr
from bypass.live.broker.config import Limits
from bypass.live.broker.service import Service
from bypass.live.broker.sessions.quotas import Quotas
from bypass.live.broker.sessions.sessions import Sessions
from bypass.live.keys import create_broker_keys, create_client_keys, load_client_keys
from bypass.protocol.messages import ContextUpdate, Subscribe
from bypass.protocol.session import Ack, Bye, Refused
from tests.live.brokers import Peer, config, in_loop, peers, running

Make = Callable[..., Peer]


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


def endpoint(service: Service) -> str:
    return service.server.endpoints[0]


def guarded(folder: Path, limits: dict[str, int]) -> Any:
    """A broker that admits whose keys are in the folder."""
    return config(
        folder,
        open=False,
        keys=folder / "broker.key",
        clients=folder / "clients",
        listen=("tcp://127.0.0.1:*",),
        limits=limits,
    )


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"filters_per_key": 9}, "12 filters of alice: expected at most 9 of one key (filters_per_key)"),
        (
            {"subscription_bytes_per_key": 330},
            "of alice: expected at most 330 of one key (subscription",
        ),
    ],
)
def test_subscriptions_of_a_key_are_bounded_over_all_its_sessions(
    tmp_path: Path, make: Make, caplog: pytest.LogCaptureFixture, limit: dict[str, int], reason: str
) -> None:
    """Also over those that are away, after a new start, and not where another key has them."""

    def three(number: int) -> Subscription:
        return Subscription(attr("kind") == f"{number}{each}" for each in range(3))

    create_broker_keys(tmp_path)
    for name in ("alice", "bob"):
        create_client_keys(tmp_path, name)
    settings = guarded(tmp_path, limit)
    alice, bob = (load_client_keys(tmp_path / f"{name}.key") for name in ("alice", "bob"))
    with running(settings) as service:
        for number in range(3):
            peer = make(endpoint(service), f"{number}", keys=alice)
            peer.send(Subscribe(1, three(number), 100, ContextUpdate((1.0, 1.0))))
            assert peer.get(Ack).handles == (1,)
    with running(settings) as service:
        more = make(endpoint(service), "more", keys=alice)
        more.send(Subscribe(1, three(3), 100, ContextUpdate((1.0, 1.0))))
        assert reason in more.get(Refused).reason
        other = make(endpoint(service), "", keys=bob)
        other.send(Subscribe(1, three(3), 100, ContextUpdate((1.0, 1.0))))
        assert other.get(Ack).handles == (1,)
        gone = make(endpoint(service), "0", keys=alice, life=2)
        gone.send(Bye(forget=True))
        gone.get(Bye)
        more.send(Subscribe(2, three(3), 100, ContextUpdate((1.0, 1.0))))
        assert more.get(Ack).handles == (2,)
    less = {name: most // 2 for name, most in limit.items()}
    with (
        caplog.at_level(logging.WARNING),
        running(guarded(tmp_path, less)) as service,
    ):
        assert caplog.text.count("kept subscriptions go on: ") == 1
        assert in_loop(service, lambda: service.server.counters["subscriptions_over_limit"]) == 1


@given(st.data())
def test_an_account_is_charged_for_what_its_sessions_have(draw: st.DataObject) -> None:
    sessions = Sessions(Quotas(Limits(), False, lambda: 0.0))
    for step in range(draw.draw(st.integers(1, 30))):
        present = list(sessions)
        act = draw.draw(st.sampled_from(["create", "subscribe", "unsubscribe", "assign", "forget"]))
        owner = sessions.quotas.owner(draw.draw(st.sampled_from("ab")))
        if act == "create" or not present:
            sessions.create(f"{step}", 1, True, owner)
            continue
        session, handle = draw.draw(st.sampled_from(present)), draw.draw(st.integers(1, 3))
        if act == "subscribe":
            wanted = Subscription(attr("x") == each for each in range(draw.draw(st.integers(1, 5))))
            session.subscribe(handle, Subscribe(handle, wanted, 100), draw.draw(st.integers(1, 99)))
        elif act == "unsubscribe":
            session.unsubscribe(handle)
        elif act == "assign":
            sessions.assign(session, owner)
        else:
            sessions.forget(session)
        for account in (sessions.quotas.owner(name) for name in "ab"):
            own = [each for each in sessions if each.account is account]
            held = [message.subscription for each in own for message in each.handles.values()]
            assert account.sessions == len(own)
            assert account.filters == sum(each.size for each in held)
            assert account.subscription_bytes == sum(sum(each.sizes.values()) for each in own)
            most = account.filters
            assert account.excess(Limits(filters_per_key=max(most, 1))) == ""
            assert bool(account.excess(Limits(filters_per_key=max(most, 1)), 1)) == bool(most)
