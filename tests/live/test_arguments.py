"""What `connect` is given and cannot be right is refused at once, by name, before anything is opened."""

from __future__ import annotations

import math
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bypass
from bypass import errors, live
from bypass.live.addresses import can_listen, can_reach
from bypass.live.client.blocking import connect_blocking
from bypass.live.client.connection import connect
from bypass.protocol.session import Hello
from bypass.protocol.wire import MalformedMessage, decode, encode
from tests.live.brokers import config, running
from tests.live.scripted import make_keys

KEY = bytes(32)
NEARBY = ("127.0.3.1/8",)
GOOD: dict[str, Any] = {"endpoint": "tcp://127.0.0.1:7700", "open": True, "name": "me"}

NO_NUMBERS: list[Any] = [-1, -0.001, math.nan, "5", None, True, b"5", [5], 5j, Decimal(5), 10**400]

BAD: dict[str, list[Any]] = {
    "endpoint": [
        None, 5, b"tcp://127.0.0.1:7700", [], "", "elsewhere", "127.0.0.1:7700", "//127.0.0.1:7700",
        "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://:7700", "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:65536", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:-1", "tcp://127.0.0.1:*",
        "tcp://*:7700", "tcp://127.0.0.1:http", "tcp://127.0.0.1:77 00", "tcp://127.0.0.1:7700\n",
        "tcp://127.0.0.1:٧٧", "tcp://a b:7700", "tcp://::1:7700", "tcp://[::1:7700", "tcp://[::1]",
        "tcp://[zz]:7700", "tcp://a:1/x", "tcp://a:1:2", "tcp://a;b:1", "tcp://user@a:1", "TCP://a:1",
        " tcp://a:1", "tcp://a\0:1", f"tcp://{'a' * 254}:1", "http://127.0.0.1:7700", "udp://127.0.0.1:1",
        "inproc://x", "ipc://", f"ipc://{'x' * 108}", "ipc:///tmp/\0", "ipc:///tmp/\ud800",
    ],
    "name": [None, 5, b"me", ["me"], "", "a" * 201, "a" * 10_000, "a\nb", "a\0", "\ud800", "\x7f"],
    "open": [None, 0, 1, "yes", "", []],
    "durable": [None, 0, 1, "yes", "no", "", [], np.True_],
    "patience": NO_NUMBERS,
    "interval": [*NO_NUMBERS, 0, 0.0009, math.inf],
    "kept": [None, "x", "", "Keep", b"keep", True, ["keep"]],
    "neighbours": [5, "192.168.1.5/24", KEY, (KEY, NEARBY), [], bypass.Neighbours],
    "location": [5, "here", (1.0, 2.0), [(1.0, 2.0)]],
    "mechanisms": [5, None, "module:Class", b"x".hex()],
}  # fmt: skip

RAISED = {
    "endpoint": live.InvalidEndpoint,
    "interval": errors.InvalidInterval,
    "location": errors.InvalidLocation,
}


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "bypass connection"}


@pytest.mark.parametrize("how", [bypass.connect, bypass.connect_blocking])
@pytest.mark.parametrize(("argument", "value"), [(a, value) for a, values in BAD.items() for value in values])
def test_what_cannot_be_right_is_refused_at_once(how: Any, argument: str, value: Any) -> None:
    before = threads()
    given = {**GOOD, argument: value}
    endpoint = given.pop("endpoint")
    with pytest.raises(RAISED.get(argument, live.InvalidArgument), match=rf"^{argument} ") as caught:
        how(endpoint, **given)
    message = str(caught.value)
    assert isinstance(caught.value, bypass.BypassError)
    assert ": expected " in message
    assert len(message.splitlines()) == 1
    assert len(message) < 250
    assert threads() == before


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("endpoint", each) for each in (
            "tcp://127.0.0.1:7700", "tcp://localhost:1", "tcp://broker.example:65535", "tcp://my_host:1",
            "tcp://[::1]:7700", "tcp://[fe80::1%eth0]:7700", "ipc:///tmp/a b", "ipc://relative", "ipc://@abstract",
            f"ipc://{'x' * 107}", f"tcp://{'a' * 253}:1",
        )),
        *(("name", each) for each in ("m", "a" * 200, "Jörg", "a/b", "日本", "with a space")),
        *(("durable", each) for each in (True, False)),
        *(("patience", each) for each in (0, 0.5, 10, 3600.0, math.inf, Fraction(1, 2), np.float64(2.0))),
        *(("interval", each) for each in (0.001, 1, 86_400.0, Fraction(1, 2), np.float64(2.0))),
        *(("kept", each) for each in ("keep", "drop")),
        *(("neighbours", each) for each in (None, bypass.Neighbours(KEY, NEARBY))),
        *(("location", each) for each in (None, lambda: (1.0, 2.0))),
    ],
)  # fmt: skip
def test_what_can_be_right_is_taken(argument: str, value: Any) -> None:
    given = {**GOOD, argument: value}
    assert isinstance(connect(given.pop("endpoint"), **given), bypass.Connection)


@pytest.mark.parametrize(
    "keys",
    [5, b"alice.key", [], True, "", "missing.key", ".", "missing/alice.key", "a\0b", "\ud800", "broker.key"],
)
@pytest.mark.parametrize("how", [bypass.connect, bypass.connect_blocking])
def test_keys_that_are_none_are_refused_at_once(
    how: Any, keys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_keys(tmp_path, "alice"))
    with pytest.raises(live.InvalidKeys, match="expected") as caught:
        how("tcp://127.0.0.1:7700", keys=keys)
    assert len(str(caught.value).splitlines()) == 1
    good = connect("tcp://127.0.0.1:7700", keys="alice.key")  # which is a name, too
    assert isinstance(good, bypass.Connection)


@pytest.mark.parametrize(
    ("arguments", "raised"),
    [
        ((None, NEARBY), live.InvalidGroupKey),
        (("k" * 32, NEARBY), live.InvalidGroupKey),
        ((b"short", NEARBY), live.InvalidGroupKey),
        ((KEY, "127.0.3.1/8"), live.InvalidInterface),
        ((KEY, ()), live.InvalidInterface),
        ((KEY, None), live.InvalidInterface),
        ((KEY, (None,)), live.InvalidInterface),
        ((KEY, (5,)), live.InvalidInterface),
        ((KEY, ([],)), live.InvalidInterface),
        ((KEY, NEARBY, 0), live.InvalidInterface),
        ((KEY, NEARBY, 65_536), live.InvalidInterface),
        ((KEY, NEARBY, "7701"), live.InvalidInterface),
        ((KEY, NEARBY, None), live.InvalidInterface),
    ],
)
def test_neighbours_that_can_be_none_are_refused_at_once(arguments: Any, raised: type[Exception]) -> None:
    with pytest.raises(raised, match="expected"):
        bypass.Neighbours(*arguments)


@given(st.text() | st.text(min_size=195, max_size=205))
def test_a_client_refuses_the_names_that_a_broker_would(name: str) -> None:
    """And no others: what can be said can be read."""
    try:
        connect("tcp://127.0.0.1:7700", open=True, name=name)
    except live.InvalidArgument:
        if name:  # a session needs one, a greeting does not
            with pytest.raises(MalformedMessage, match="name"):
                encode(Hello(name, 1))
    else:
        assert decode(encode(Hello(name, 1))) == Hello(name, 1)


@given(st.from_regex(r"(tcp://[\[\]a-z0-9:.*%-]{0,12}:[0-9*]{0,6}|ipc://.{0,5}|.*)", fullmatch=True))
def test_where_clients_go_a_broker_can_listen(address: str) -> None:
    assert can_listen(address) or not can_reach(address) or "%" in address


def test_the_longest_name_is_taken_by_a_broker(tmp_path: Path) -> None:
    name = "a/" + "ü" * 198
    settings = config(tmp_path)
    with running(settings), connect_blocking(settings.listen[0], open=True, name=name) as me:
        assert me.connected
