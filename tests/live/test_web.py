"""What the HTTP server gives out, whom it turns away, and how it ends."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bypass.live.broker.operations import web as module
from bypass.live.broker.operations.metrics import exposition
from bypass.live.broker.operations.web import CONNECTIONS, VIEWERS, Web, WebFailed
from tests.live.snapshots import Town, quiet, transition

PATIENCE = 20.0  # s that anything may take on a busy machine

Snapshot = dict[str, Any]


class Source:
    """Where the server finds the newest snapshot."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self.snapshot = quiet() if snapshot is None else snapshot

    def __call__(self) -> Snapshot:
        return self.snapshot


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def web(source: Source) -> Iterator[Web]:
    web = Web("127.0.0.1:0", source, dashboard=True)
    web.start()
    yield web
    web.close()


def get(web: Web, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of an answer."""
    connection = http.client.HTTPConnection(web.address, timeout=PATIENCE)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def connect(web: Web, request: bytes = b"") -> socket.socket:
    host, _, port = web.address.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.sendall(request)
    return connection


EVENTS = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Viewer:
    """An event stream, read as it comes."""

    def __init__(self, web: Web) -> None:
        self.socket = connect(web, EVENTS)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.status = int(self.lines.readline().split()[1])
        while self.lines.readline().strip():
            pass

    def event(self) -> tuple[str, Any]:
        """The next event: its name and data. Raises EOFError at the end of the stream."""
        name = "message"
        for line in self.lines:
            field, _, value = line.rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                return name, json.loads(value)
        raise EOFError

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


@contextmanager
def viewer(web: Web) -> Iterator[Viewer]:
    made = Viewer(web)
    try:
        yield made
    finally:
        made.close()


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < deadline, "it has not come about"
        pause.wait(0.01)


# -- metrics ------------------------------------------------------------------------------------------------


def read(snapshot: Snapshot) -> dict[str, Any]:
    """Family -> type and samples (by name and labels), as Prometheus' own parser reads them."""
    return {
        family.name: (
            family.type,
            {f"{s.name}{sorted(s.labels.items()) or ''}": s.value for s in family.samples},
        )
        for family in text_string_to_metric_families(exposition(snapshot).decode())
    }


def test_every_metric_is_named_explained_and_typed() -> None:
    text = exposition(Town(60).second()).decode()
    families = list(text_string_to_metric_families(text))
    assert families
    for family in families:
        assert family.name.startswith("bypass_")
        assert family.documentation.endswith(".")
        assert family.type in ("counter", "gauge")
        assert family.samples
    assert len({family.name for family in families}) == len(families) == text.count("# TYPE ")


def test_counters_are_counters_and_what_goes_down_is_a_gauge() -> None:
    counters = {"publications": 7, "waiting": 3, "missed": 2, "bytes_in": 900, "neighbours_lost": 4}
    families = read(quiet(counters=counters))
    assert families["bypass_publications"] == ("counter", {"bypass_publications_total": 7})
    assert families["bypass_deliveries_missed"] == ("counter", {"bypass_deliveries_missed_total": 2})
    assert families["bypass_received_bytes"] == ("counter", {"bypass_received_bytes_total": 900})
    assert families["bypass_neighbours_lost"] == ("counter", {"bypass_neighbours_lost_total": 4})
    assert families["bypass_deliveries_waiting"] == ("gauge", {"bypass_deliveries_waiting": 3})


def test_schemes_of_one_name_are_counted_together() -> None:
    schemes = [
        {"name": "grid", "set": {"grid": 5}, "clients": 3},
        {"name": "grid", "set": {"grid": 9}, "clients": 4},
        {"name": 'a"b\nc\\', "set": {}, "clients": 1},
    ]
    _, samples = read(quiet(schemes=schemes))["bypass_scheme_clients"]
    assert samples == {
        "bypass_scheme_clients[('scheme', 'grid')]": 7,
        "bypass_scheme_clients[('scheme', 'a\"b\\nc\\\\')]": 1,
    }


def test_store_in_base_units() -> None:
    store = {"path": "x", "bytes": 4096, "commits": 12, "commit_ms": 4.5, "failing": "disk full"}
    families = read(quiet(store=store))
    assert families["bypass_store_commit_seconds"][1] == {"bypass_store_commit_seconds": 0.0045}
    assert families["bypass_store_commits"] == ("counter", {"bypass_store_commits_total": 12})
    assert families["bypass_store_failing"][1] == {"bypass_store_failing": 1}
    assert read(quiet())["bypass_store_failing"][1] == {"bypass_store_failing": 0}


def test_the_newest_transition_is_told() -> None:
    newest = transition(
        2, 50.0, done=90, failed=4, pending=6, isolated=["a", "b"], took_ms=None, acknowledged=None
    )
    families = read(quiet(transitions=[newest, transition(1, 40.0)]))
    assert families["bypass_last_transition_clients"][1] == {
        "bypass_last_transition_clients[('outcome', 'done')]": 90,
        "bypass_last_transition_clients[('outcome', 'failed')]": 4,
        "bypass_last_transition_clients[('outcome', 'obsolete')]": 0,
        "bypass_last_transition_clients[('outcome', 'pending')]": 6,
    }
    assert families["bypass_last_transition_isolated"][1] == {"bypass_last_transition_isolated": 2}
    assert families["bypass_last_transition_time_seconds"][1] == {"bypass_last_transition_time_seconds": 50}
    assert "bypass_last_transition_seconds" not in families
    ended = read(quiet(transitions=[transition(1, 40.0)]))
    assert ended["bypass_last_transition_seconds"][1] == {"bypass_last_transition_seconds": 0.0842}
    assert ended["bypass_last_transition_acknowledged_ratio"][1] == {
        "bypass_last_transition_acknowledged_ratio": 1.0
    }
    assert not any(name.startswith("bypass_last_") for name in read(quiet()))


def test_what_counts_from_the_start_is_not_said_to_be_of_the_last_minute() -> None:
    assert "minute" not in exposition(Town(2).second()).decode()


def test_no_name_of_a_client_becomes_a_label() -> None:
    snapshot = Town(60).second()
    text = exposition(snapshot).decode()
    assert not any(name in text for _, name, *_ in snapshot["positions"])


# -- answers ------------------------------------------------------------------------------------------------


def test_metrics_over_http_are_of_the_newest_snapshot(web: Web, source: Source) -> None:
    source.snapshot = quiet(source.snapshot["at"] + 1, subscriptions=31)
    eventually(lambda: "bypass_subscriptions 31.0\n" in get(web, "/metrics")[2])
    status, headers, _ = get(web, "/metrics")
    assert status == 200
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_a_broker_is_well_until_its_store_fails(web: Web, source: Source) -> None:
    assert get(web, "/healthz")[::2] == (200, "ok\n")
    store = quiet()["store"] | {"failing": "no space left on device"}
    source.snapshot = quiet(source.snapshot["at"] + 1, store=store)
    eventually(lambda: get(web, "/healthz")[0] == 503)
    assert get(web, "/healthz")[2] == "store bypass.db: no space left on device\n"


def test_a_broker_whose_loop_is_stuck_is_not_well(
    web: Web, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SILENCE", 0.5)
    eventually(lambda: get(web, "/healthz")[0] == 503)
    assert get(web, "/healthz")[2].startswith("the broker's loop has been silent for ")
    source.snapshot = quiet(source.snapshot["at"] + 1)
    eventually(lambda: get(web, "/healthz")[0] == 200)


def test_the_page_and_all_that_it_needs_come_from_here(web: Web) -> None:
    status, headers, page = get(web, "/")
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "//" not in page.replace("<!doctype html>", "")  # no address of anywhere else
    for path, kind in (
        ("/main.js", "text/javascript"),
        ("/dashboard.css", "text/css"),
        ("/icon.svg", "image/"),
    ):
        status, headers, _ = get(web, path)
        assert status == 200
        assert headers["Content-Type"].startswith(kind)


@pytest.mark.parametrize("path", ["/", "/main.js", "/metrics", "/healthz", "/nothing"])
def test_every_answer_has_the_headers_that_keep_others_out(web: Web, path: str) -> None:
    _, headers, _ = get(web, path)
    policy = dict(part.strip().partition(" ")[::2] for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Server"] == "bypass"  # and no versions
    assert "Access-Control-Allow-Origin" not in headers


def test_without_dashboard_there_is_no_page_and_no_stream(source: Source) -> None:
    web = Web("127.0.0.1:0", source, dashboard=False)
    web.start()
    try:
        assert [get(web, path)[0] for path in ("/", "/events", "/main.js")] == [404, 404, 404]
        assert [get(web, path)[0] for path in ("/metrics", "/healthz")] == [200, 200]
    finally:
        web.close()


@pytest.mark.parametrize("path", ["/page", "/../web.py", "/index.html/..", "/%2e%2e/web.py", "/*"])
def test_nothing_else_is_served(web: Web, path: str) -> None:
    assert get(web, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "GOT"])
def test_only_get(web: Web, method: str) -> None:
    status, headers, _ = get(web, "/metrics", method)
    assert status == 405
    assert headers["Allow"] == "GET"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:7780", "127.1.2.3", "[::1]:80", "[::1]", "localhost:"]
)
def test_who_names_this_machine_is_served(web: Web, host: str) -> None:
    assert get(web, "/metrics", Host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:7780",
        "localhost.evil.example",
        "192.0.2.1",
        "[2001:db8::1]",
        "",
        "a b",
        "[::1",
    ],
)
def test_a_name_that_was_pointed_at_this_machine_is_not_served(web: Web, host: str) -> None:
    for path in ("/", "/events", "/metrics"):
        assert get(web, path, Host=host)[0] == 421


@pytest.mark.parametrize("hosts", [b"", b"Host: localhost\r\nHost: evil.example\r\n"])
def test_no_host_or_two_are_not_served(web: Web, hosts: bytes) -> None:
    with connect(web, b"GET /metrics HTTP/1.1\r\n" + hosts + b"\r\n") as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 421 ")


def test_where_everybody_may_come_any_name_will_do(source: Source, caplog: pytest.LogCaptureFixture) -> None:
    web = Web("0.0.0.0:0", source, dashboard=True)
    with caplog.at_level(logging.WARNING):
        web.start()
    try:
        assert f"dashboard at {web.address}: everybody who reaches it" in caplog.text
        assert get(web, "/metrics", Host="broker.example")[0] == 200
    finally:
        web.close()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\n" + b"".join(b"h%d: x\r\n" % i for i in range(200)) + b"\r\n", b"431"),
    ],
)
def test_what_cannot_be_read_is_answered_in_plain_text(web: Web, request_: bytes, status: bytes) -> None:
    with connect(web, request_) as connection:
        answer = connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"Content-Security-Policy: " in answer
    assert b"<" not in answer


def test_a_snapshot_that_is_none_ends_the_request_alone(
    web: Web, source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    source.snapshot = {"at": source.snapshot["at"] + 1, "positions": {1, 2}}
    eventually(lambda: get_fails(web))
    assert "request of 127.0.0.1" in caplog.text
    source.snapshot = quiet(source.snapshot["at"] + 1)
    eventually(lambda: not get_fails(web))


def get_fails(web: Web) -> bool:
    try:
        return get(web, "/metrics")[0] != 200
    except http.client.HTTPException:
        return True


# -- streams ------------------------------------------------------------------------------------------------


def test_viewers_get_the_newest_snapshot_and_then_each_new_one(web: Web, source: Source) -> None:
    with viewer(web) as one:
        assert one.event() == ("message", source.snapshot)
        for second in (1, 2, 3):
            source.snapshot = quiet(source.snapshot["at"] + 1, subscriptions=second)
            assert one.event() == ("message", source.snapshot)
        with viewer(web) as other:
            assert other.event() == ("message", source.snapshot)


def test_names_cannot_break_out_of_an_event(web: Web, source: Source) -> None:
    name = "a\n\nevent: bye\ndata: {}\r\n\r\n\u2028</script>"
    source.snapshot = quiet(source.snapshot["at"] + 1, positions=[[1, name, 0.0, 0.0, "radial", True]])
    with viewer(web) as one:
        while not (event := one.event())[1]["positions"]:
            pass
        assert event == ("message", source.snapshot)


def test_a_stream_without_news_says_that_it_is_alive(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENCE", 0.1)
    with viewer(web) as one:
        one.event()
        assert [one.lines.readline() for _ in range(4)] == ["\n", ":\n", "\n", ":\n"]


def test_so_many_viewers_and_no_more(web: Web, source: Source) -> None:
    with ExitStack() as stack:
        viewers = [stack.enter_context(viewer(web)) for _ in range(VIEWERS)]
        for one in viewers:
            one.event()
        assert get(web, "/events")[::2] == (503, "50 viewers already\n")
        assert get(web, "/metrics")[0] == 200  # there is still room for these
        viewers[0].close()
        eventually(lambda: has_room(web, source))


def has_room(web: Web, source: Source) -> bool:
    source.snapshot = quiet(source.snapshot["at"] + 1)  # sending it shows who has gone
    with viewer(web) as one:
        return one.status == 200


def test_so_many_connections_and_no_more(web: Web) -> None:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            stack.enter_context(connect(web))
        eventually(lambda: refused_at_once(web))
    eventually(lambda: not get_fails(web))


def refused_at_once(web: Web) -> bool:
    with connect(web) as connection:
        connection.settimeout(0.5)
        try:
            return connection.recv(100).startswith(b"HTTP/1.1 503 ")
        except TimeoutError:
            return False


def test_who_takes_too_long_to_ask_is_cut_off(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.5)
    with connect(web, b"GET / HTTP/1.1\r\n") as connection:
        connection.settimeout(0.05)
        began = time.monotonic()
        while True:  # a byte now and then does not help
            try:
                if not connection.recv(1):
                    break
            except TimeoutError:
                connection.send(b"x")
            except ConnectionError:
                break
            assert time.monotonic() - began < PATIENCE


def test_who_does_not_read_is_cut_off_and_holds_up_nobody(
    web: Web, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module._Handler, "timeout", 0.5)
    before = set(threading.enumerate())
    with connect(web, EVENTS) as sleeper, viewer(web) as reader:
        eventually(lambda: len(set(threading.enumerate()) - before) == 2)
        servants = set(threading.enumerate()) - before
        large = ["x" * 1000] * 4000  # more than the buffers between the two hold
        while all(thread.is_alive() for thread in servants):
            source.snapshot = quiet(source.snapshot["at"] + 1, listen=large)
            while reader.event()[1]["at"] != source.snapshot["at"]:
                pass
        with suppress(ConnectionError):
            while sleeper.recv(1 << 20):  # comes to an end
                pass


# -- beginning and end --------------------------------------------------------------------------------------


def test_closing_tells_the_viewers_and_takes_less_than_a_second(source: Source) -> None:
    before = set(threading.enumerate())
    web = Web("127.0.0.1:0", source, dashboard=True)
    web.start()
    with ExitStack() as stack:
        viewers = [stack.enter_context(viewer(web)) for _ in range(5)]
        for one in viewers:
            one.event()
        silent = stack.enter_context(connect(web))
        began = time.monotonic()
        web.close()
        assert time.monotonic() - began < 1.0
        for one in viewers:
            assert one.event() == ("bye", {})
            with pytest.raises(EOFError):
                one.event()
        with suppress(ConnectionError):  # if it was still to be let in
            assert silent.recv(1) == b""
    eventually(lambda: set(threading.enumerate()) <= before)
    with pytest.raises(ConnectionRefusedError):
        connect(web)


def test_closing_twice_or_before_the_start_is_nothing(source: Source) -> None:
    web = Web("127.0.0.1:0", source, dashboard=True)
    web.close()
    web.start()
    web.close()
    web.close()


def test_a_port_that_is_taken_is_named(web: Web, source: Source) -> None:
    other = Web(web.address, source, dashboard=False)
    with pytest.raises(WebFailed, match=f"^http address {web.address}: Address already in use$"):
        other.start()
    other.close()


def test_a_host_that_is_not_here_is_named(source: Source) -> None:
    with pytest.raises(WebFailed, match=r"^http address 192\.0\.2\.1:7780: Cannot assign requested address$"):
        Web("192.0.2.1:7780", source, dashboard=False).start()


@pytest.mark.parametrize(
    "address", ["", "7780", ":7780", "localhost", "localhost:http", "::1:80", "h:65536", "a b:1"]
)
def test_what_is_no_address_is_refused(source: Source, address: str) -> None:
    with pytest.raises(WebFailed, match="expected HOST:PORT"):
        Web(address, source, dashboard=False)


def test_version_six(source: Source) -> None:
    web = Web("[::1]:0", source, dashboard=False)
    try:
        web.start()
    except WebFailed as failed:
        pytest.skip(f"no IPv6 here: {failed}")
    try:
        assert get(web, "/healthz", Host="[::1]")[0] == 200
        assert get(web, "/healthz", Host="evil.example")[0] == 421
    finally:
        web.close()
