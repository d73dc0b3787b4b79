"""The HTTP interface: calls, tokens, tenants, bounds and continuous queries, over real connections."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import jwt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bypass.ingest.connectors.connector import InvalidConnector
from bypass.ingest.connectors.web_server import TimedRequests
from bypass.ingest.devices.device import Device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.exposure.answers import ServerBusy
from bypass.ingest.exposure.query_turns import QueryTurns
from bypass.ingest.exposure.server import ExposureServer, InvalidServing
from bypass.ingest.exposure.tenant_limits import ServingLimits
from bypass.ingest.exposure.tokens import KEY_SET, InvalidToken, check_token, issue_token
from bypass.ingest.folder import IngestFolder
from bypass.testing.worlds.broker import until
from tests.ingest.pipeline import Pipeline, message
from tests.ingest.serving import Served, serving

pytestmark = pytest.mark.slow

T = 1_763_459_000_000
FAST = ServingLimits(calls_per_s=1e6, burst=10**6)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    pipeline = Pipeline(
        tmp_path_factory.mktemp("installation"),
        Device(id="truck", tenant="fleet", metadata={"kind": "truck", "wheels": "6"}),
        Device(id="car", tenant="fleet", metadata={"kind": "car"}),
        Device(id="spy", tenant="other", metadata={"kind": "truck"}),
    )
    for name in ("truck", "car", "spy"):
        pipeline.append(*((name, message(name, T + n, speed=n, state=f"s{n % 2}")) for n in range(10)))
    pipeline.run()
    return pipeline


@pytest.fixture(scope="module")
def served(pipeline: Pipeline) -> Iterator[Served]:
    with serving(pipeline.folder, FAST) as served:
        yield served


def test_calls_answer_for_the_tenant_of_the_token(served: Served) -> None:
    token = served.token("fleet")
    assert served.get("/devices", token).content == {"devices": ["car", "truck"], "cursor": None}
    assert served.get("/metadata", token, devices="wheels > 4").content["metadata"] == {
        "truck": {"kind": "truck", "wheels": "6"}
    }
    latest = served.get("/latest", token, devices="id = car").content["rows"]
    assert [(row["metric"], row["value"]) for row in latest] == [("speed", 9), ("state", "s1")]
    found = served.get("/range", token, where="metric = speed and value >= 8", since=T, until=T + 9).content
    assert found["rows"] == [
        {"device": name, "time": T + 8, "metric": "speed", "type": "Long", "uom": None, "value": 8}
        for name in ("car", "truck")
    ]
    assert not found["more"]


@pytest.mark.parametrize("path", ["/range", "/latest", "/devices", "/metadata"])
def test_answers_come_in_pages(served: Served, path: str) -> None:
    token = served.token("fleet")
    name = {"/devices": "devices", "/metadata": "metadata"}.get(path, "rows")
    whole = list(served.get(path, token).content[name])
    parts, parameters = [], {"limit": 1}
    for _ in range(100):
        content = served.get(path, token, **parameters).content
        assert len(content[name]) <= 1
        parts += list(content[name])
        if not content.get("more", content["cursor"]):
            break
        parameters["cursor"] = content["cursor"]
    assert parts == whole
    assert len(whole) == {"/range": 40, "/latest": 4}.get(path, 2)


def test_who_has_no_valid_token_gets_nothing(served: Served, tmp_path: Path) -> None:
    foreign = issue_token(KeyStore(tmp_path / "keys"), "fleet", ["query"], 60)
    secret = KeyStore(served.folder.keys).find(KEY_SET)[0]["secret"]
    claims = {"aud": "bypass-ingest", "exp": time.time() + 60, "tenant": "fleet", "allow": ["query"]}

    def without(name: str) -> str:
        return jwt.encode({k: v for k, v in claims.items() if k != name}, secret, algorithm="HS256")

    wrong = [
        None,
        "",
        "garbage",
        foreign,
        served.token("fleet")[:-2] + "xx",
        jwt.encode(claims, "", algorithm="none"),
        jwt.encode(claims, secret + secret, algorithm="HS512"),
        jwt.encode(claims | {"exp": time.time() - 1}, secret, algorithm="HS256"),
        jwt.encode(claims | {"tenant": 7}, secret, algorithm="HS256"),
        jwt.encode(claims | {"aud": "other"}, secret, algorithm="HS256"),
        *(without(name) for name in claims),
        "a" * 5000,
    ]
    for token in wrong:
        for path in ("/range", "/devices", "/metadata", "/latest"):
            reply = served.get(path, token)
            assert reply.status == 401, token
            assert reply.headers["www-authenticate"] == "Bearer"
            assert "expected" in reply.content["error"]
            assert not token or token not in reply.content["error"]
        assert served.request("/register", token, method="POST", body=b"{}").status == 401
        with pytest.raises(InvalidStatus, match="401"):
            served.subscribe(token or "-")
    assert served.get("/range", served.token("fleet", "register")).status == 403
    assert served.request("/register", served.token("fleet"), method="POST", body=b"{}").status == 403


def test_a_token_ends_with_its_key(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path / "keys")
    token = issue_token(keys, "fleet", ["query"], 60)
    keys.rotate(KEY_SET, {"secret": b"1" * 32})
    assert check_token(keys, token).tenant == "fleet"
    keys.retire(KEY_SET)
    with pytest.raises(InvalidToken, match="is not valid"):
        check_token(keys, token)
    for tenant, operations, seconds in (
        ("", ["query"], 1),
        ("a", ["all"], 1),
        ("a", [], 1),
        ("a", ["query"], 0),
    ):
        with pytest.raises(InvalidToken, match="expected"):
            issue_token(keys, tenant, operations, seconds)


PREDICATES = st.sampled_from(
    ["", "id = spy", "not id = spy", "kind = truck", "tenant = other", "not (kind = truck and kind = car)"]
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["fleet", "other", "nobody", "fleet'--", "%"]),
    st.sampled_from(["/devices", "/metadata", "/range", "/latest"]),
    PREDICATES,
    st.sampled_from(
        ["", "device = spy or device = truck", "not device = truck", "value >= 0 or not value >= 0"]
    ),
)
def test_no_tenant_sees_another(served: Served, tenant: str, path: str, devices: str, where: str) -> None:
    parameters = {"devices": devices} | ({"where": where} if path in ("/range", "/latest") else {})
    reply = served.get(path, served.token(tenant), **parameters)
    assert reply.status == 200
    own = {"fleet": {"truck", "car"}, "other": {"spy"}}.get(tenant, set())
    seen = reply.content.get("devices") or reply.content.get("metadata")
    if path in ("/range", "/latest"):
        seen = {row["device"] for row in reply.content["rows"]}
    assert set(seen or ()) <= own


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/range?limit=0", "parameter limit: is '0': expected 1 to 10000"),
        ("/range?limit=1e3", "expected 1 to 10000"),
        ("/range?since=yesterday", "time 'yesterday': expected -1h"),
        ("/range?since=-999999999999d", "expected milliseconds"),
        ("/range?where=value+%3E", "expected a value"),
        ("/range?where=speed+%3E+1", "attribute 'speed' of a measurement: expected one of"),
        ("/range?where=%00", "expected characters that can be printed"),
        ("/range?cursor=abc", "cursor 'abc': expected one that an answer had"),
        ("/latest?cursor=WyJhIl0", "expected one that an answer had"),
        ("/range?tenant=other", "parameter 'tenant': expected one of devices, where"),
        ("/range?limit=1&limit=2", "parameter limit: is there twice"),
        ("/devices?where=a", "parameter 'where'"),
    ],
)
def test_wrong_input_is_said_in_one_line(served: Served, path: str, line: str) -> None:
    reply = served.request(path, served.token("fleet"))
    assert (reply.status, list(reply.content)) == (400, ["error"])
    assert line in reply.content["error"]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["devices", "where", "since", "until", "limit", "cursor", "x"]),
    st.text(max_size=40) | st.binary(max_size=20).map(lambda data: data.decode("latin-1")),
)
def test_no_input_makes_the_server_fail(served: Served, name: str, value: str) -> None:
    reply = served.get("/range", served.token("fleet"), **{name: value.encode("utf-8", "replace")})
    assert reply.status in (200, 400)
    if reply.status == 400:
        assert "\n" not in reply.content["error"]
        assert "Traceback" not in reply.content["error"]


FIELDS = [
    "id",
    "metadata",
    "suite",
    "standard",
    "keys",
    "peer",
    "region",
    "policy",
    "parser",
    "parser_schema",
]
FIELDS += ["to", "set", "n", "names", "columns", "options", "x"]
NAMES = ["every-nth", "json", "csv", "os:system", "./x.py:X", "fleet", "{}", "{"]


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(NAMES),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner),
        max_leaves=8,
    ).map(lambda content: json.dumps(content).encode())
)
def test_no_body_makes_the_server_fail(served: Served, body: bytes) -> None:
    reply = served.request("/register", served.token("nobody", "register"), method="POST", body=body)
    assert reply.status in (200, 400)


def test_devices_are_registered_for_the_tenant_of_the_token(served: Served) -> None:
    token = served.token("third", "register", "query")

    def register(*devices: object) -> tuple[int, Any]:
        body = json.dumps(devices).encode()
        reply = served.request("/register", token, method="POST", body=body)
        return reply.status, reply.content.get("error", reply.content)

    assert register({"id": "new", "metadata": {"a": "b"}}) == (200, {"registered": 1, "changed": 0})
    assert register({"id": "new", "metadata": {"a": "c"}}) == (200, {"registered": 0, "changed": 1})
    assert served.get("/metadata", token).content["metadata"] == {"new": {"a": "c"}}
    for device, status, line in (
        ({"id": "truck"}, 409, "device 'truck': is taken"),
        ({"id": "mine", "tenant": "fleet"}, 400, "tenant 'fleet': expected that of the token"),
        ({"id": "mine", "parser": "os:system"}, 400, "parser 'os:system': expected one that is built in"),
        (
            {"id": "mine", "policy": {"to": "os:system"}},
            400,
            "policy 'os:system': expected one that is built",
        ),
        ({"id": "mine", "region": "default"}, 400, "region 'default': expected 'third', or one that another"),
        ({"id": "mine", "keys": KEY_SET}, 400, "expected a key set that another device"),
        ({"id": "mine", "metadata": {"a": "b" * 20_000}}, 400, "expected 16384 bytes at most"),
        ({"id": "mine", "colour": "red"}, 400, "colour"),
        ("mine", 400, "expected an object with an id"),
    ):
        found = register({"id": "first"}, device)
        assert found[0] == status
        assert line in found[1]
    assert register({"id": "x"}, {"id": "x"}) == (409, "device 'x': is there twice: expected it once")
    assert served.get("/devices", token).content["devices"] == ["new"]
    large = served.request("/register", token, method="POST", body=b"x" * (FAST.request_bytes + 1))
    assert large.status == 413
    assert served.request("/register", token, method="POST", body=b"[" * 100_000).status == 400
    with DeviceRegistry(served.folder.registry) as registry:
        assert registry.find("truck") is not None
        assert registry.find("truck").tenant == "fleet"  # type: ignore[union-attr]


def test_a_tenant_uses_its_own_regions_and_few_policies(tmp_path: Path) -> None:
    folder = IngestFolder(tmp_path)
    with DeviceRegistry(folder.registry) as registry:
        registry.register(Device(id="given", tenant="third", region="vehicles"))
    with serving(folder, ServingLimits(policies_per_tenant=3)) as served:

        def register(*devices: object) -> tuple[int, Any]:
            body = json.dumps(devices).encode()
            reply = served.request("/register", served.token("third", "register"), method="POST", body=body)
            return reply.status, reply.content.get("error", reply.content)

        def thinned(device: int, n: int) -> dict[str, Any]:
            return {"id": f"d{device}", "policy": {"to": "every-nth", "set": {"n": n}}}

        assert register({"id": "own"}, {"id": "car", "region": "vehicles"})[0] == 200
        assert register({"id": "spy", "region": "default"})[0] == 400
        assert register(*(thinned(n, n + 1) for n in range(3)))[0] == 200
        assert register(thinned(3, 3), thinned(4, 1), {"id": "d5", "policy": "every-nth"})[0] == 200
        status, line = register(thinned(6, 4))
        assert (status, "would have over 3 policies with different parameters" in line) == (409, True)
        assert register(thinned(1, 9))[0] == 200  # instead of another one
        listed = {"id": "d7", "policy": {"to": "by-metric", "set": {"metrics": ["location.x"]}}}
        assert "would have over 3" in register(listed)[1]
    with DeviceRegistry(folder.registry) as registry:
        assert {each.id: each.region for each in registry.devices()} == {
            "given": "vehicles", "car": "vehicles", "own": "third", **{f"d{n}": "third" for n in range(6)}
        }  # fmt: skip


def times(text: str | bytes) -> list[int]:
    return [row["time"] - T for row in json.loads(text)["rows"]]


def installation(path: Path, count: int = 3) -> Pipeline:
    pipeline = Pipeline(path, Device(id="a"), Device(id="b", tenant="other"))
    append(pipeline, *range(count))
    return pipeline


def append(pipeline: Pipeline, *numbers: int) -> None:
    for device in ("a", "b"):
        pipeline.append(*((device, message(device, T + n, v=n)) for n in numbers))
    pipeline.run()


def test_a_tenant_has_no_more_metadata_than_a_query_may_read(tmp_path: Path) -> None:
    with serving(IngestFolder(tmp_path), ServingLimits(metadata_per_tenant=1000)) as served:

        def register(*sizes: int) -> tuple[int, Any]:
            devices = [
                {"id": f"d{n}", "metadata": {"note": "é" * (size // 2)}} for n, size in enumerate(sizes)
            ]
            body = json.dumps(devices).encode()
            reply = served.request("/register", served.token("third", "register"), method="POST", body=body)
            return reply.status, reply.content.get("error", reply.content)

        assert register(400, 580)[0] == 200
        assert register(400, 586, 10) == (
            409,
            "tenant: would have over 1000 bytes of metadata: expected no more",
        )
        assert register(10, 800, 100)[0] == 200  # instead of what there was


def test_a_subscriber_gets_what_is_there_and_what_comes_and_goes_on_after_a_break(tmp_path: Path) -> None:
    pipeline = installation(tmp_path)
    with serving(pipeline.folder) as served:
        token = served.token()
        with served.subscribe(token, limit=2) as socket:
            first = json.loads(socket.recv(30))
            assert [row["time"] - T for row in first["rows"]] == [0, 1]
            assert {row["device"] for row in first["rows"]} == {"a"}
            append(pipeline, 3)
            assert [times(socket.recv(30)) for _ in range(2)] == [[2], [3]]
            socket.send("all that a subscriber sends is dropped")
            append(pipeline, 4)
            assert times(socket.recv(30)) == [4]
        with served.subscribe(token, cursor=first["cursor"], where="value != 3") as socket:
            assert [times(socket.recv(30)) for _ in range(2)] == [[2], [4]]
        with served.subscribe(token, history="no") as socket:
            append(pipeline, 5)
            assert times(socket.recv(30)) == [5]
        with pytest.raises(InvalidStatus, match="400"):
            served.subscribe(token, where="speed")
        page = served.get("/range", token).content
        append(pipeline, 6)
        with served.subscribe(token, cursor=page["cursor"]) as socket:  # a range goes on as a subscription
            assert times(socket.recv(30)) == [6]


def test_a_subscriber_that_cannot_set_headers_has_its_token_among_its_subprotocols(tmp_path: Path) -> None:
    with serving(installation(tmp_path).folder) as served:
        token = served.token(seconds=2)
        with served.subscribe(None, subprotocols=["bypass", f"bearer.{token}"]) as socket:
            assert socket.subprotocol == "bypass"  # the token does not come back
            assert times(socket.recv(30)) == [0, 1, 2]
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(30)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401
        for offered in (
            ["bypass"],
            ["bypass", "bearer."],
            ["bypass", "bearer.x"],
            ["bypass", f"bearer.{token}"],  # it has ended
            [f"bearer.{served.token()}"],  # a browser would fail: there is nothing to choose
            ["bypass", f"bearer.{served.token()}", "bearer.x"],
        ):
            with pytest.raises(InvalidStatus, match="401"):
                served.subscribe(None, subprotocols=offered)
        tenants = ",".join(["bypass", f"bearer.{served.token()}"])
        reply = served.request("/devices", headers={"Sec-WebSocket-Protocol": tenants})
        assert reply.status == 401  # calls have headers


def test_a_subscriber_is_cut_off_when_its_token_ends(tmp_path: Path) -> None:
    with serving(installation(tmp_path).folder) as served:
        with served.subscribe(served.token(seconds=2)) as socket:
            assert times(socket.recv(30)) == [0, 1, 2]
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(30)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (
            4401,
            "token: has expired: expected a new one",
        )
        with served.subscribe(served.token(seconds=600)) as socket:
            socket.recv(30)
            KeyStore(served.folder.keys).remove(KEY_SET)
            with pytest.raises(ConnectionClosed):
                socket.recv(30)


def test_a_slow_subscriber_is_told_and_goes_on(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="a"))
    pipeline.append(*(("a", message("a", T + n, v="x" * 20_000)) for n in range(900)))
    pipeline.run()
    with serving(pipeline.folder, ServingLimits(slow_s=0.3)) as served:
        token = served.token()
        seen: list[int] = []
        parameters: dict[str, Any] = {"limit": 100}
        with served.subscribe(token, slow=True, **parameters) as socket:
            first = json.loads(socket.recv(30))
            until(lambda: "subscribers 0.0" in served.request("/metrics").content)  # it was cut off
            page = first
            with suppress(ConnectionClosed):
                for _ in range(1000):
                    seen += [row["time"] - T for row in page["rows"]]
                    parameters["cursor"] = page["cursor"]
                    page = json.loads(socket.recv(30))
            assert socket.close_code == 4408
            assert "go on with the last cursor" in str(socket.close_reason)
        assert len(seen) < 900
        with served.subscribe(token, **parameters) as socket:
            while len(seen) < 900:
                seen += times(socket.recv(30))
        assert seen == list(range(900))


def test_calls_and_subscribers_of_a_tenant_are_bounded(tmp_path: Path) -> None:
    limits = ServingLimits(calls_per_s=0.001, burst=5, subscribers_per_tenant=1)
    with serving(installation(tmp_path).folder, limits) as served:
        token = served.token()
        with served.subscribe(token):
            with pytest.raises(InvalidStatus, match="429"):
                served.subscribe(token)
            with served.subscribe(served.token("other")):
                pass
        statuses = [served.get("/devices", token).status for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        reply = served.get("/devices", token)
        assert "expected 0.001 a second at most" in reply.content["error"]
        assert reply.headers["retry-after"] == "1"
        assert served.get("/devices", served.token("other")).status == 200


def test_a_subscriber_has_the_time_of_a_query_for_each_page(tmp_path: Path) -> None:
    with serving(installation(tmp_path).folder, ServingLimits(query_s=1e-6)) as served:
        assert served.get("/range", served.token()).status == 503
        with served.subscribe(served.token()) as socket, pytest.raises(ConnectionClosed) as closed:
            socket.recv(30)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4503
        assert "expected a narrower window" in closed.value.rcvd.reason


def test_queries_of_a_tenant_leave_room_for_others() -> None:
    async def run() -> None:
        turns = QueryTurns(ServingLimits(queries=3, queries_per_tenant=2, waiting_per_tenant=14))
        go, running = threading.Event(), threading.Semaphore(0)

        def wait() -> None:
            running.release()
            assert go.wait(30)

        greedy = [asyncio.ensure_future(turns.run("greedy", wait)) for _ in range(16)]
        for _ in range(2):
            assert await asyncio.to_thread(running.acquire, timeout=30)
        assert await asyncio.wait_for(turns.call("modest", lambda: "answer"), 30) == "answer"
        with pytest.raises(ServerBusy, match="14 calls of the tenant wait"):
            await turns.call("greedy", wait)
        greedy[15].cancel()
        go.set()
        done = await asyncio.gather(*greedy, return_exceptions=True)
        assert [type(each) for each in done] == [type(None)] * 15 + [asyncio.CancelledError]
        await turns.call("greedy", lambda: None)

    asyncio.run(run())


def test_idle_connections_do_not_keep_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TimedRequests, "request_s", 1.0)
    pipeline = installation(tmp_path)
    with serving(pipeline.folder, ServingLimits(subscribers=1)) as served, ExitStack() as idle:
        for _ in range(4):
            idle.enter_context(socket.create_connection(("127.0.0.1", served.port)))
        assert served.request("/healthz").status == 503
        until(lambda: served.request("/healthz").status == 200)
        with served.subscribe(served.token(), limit=1) as subscriber:  # those that subscribe may be silent
            assert times(subscriber.recv(30)) == [0]
            for _ in range(2):
                assert len(times(subscriber.recv(30))) == 1
            with pytest.raises(TimeoutError):
                subscriber.recv(1.5)
            append(pipeline, 3)
            assert times(subscriber.recv(30)) == [3]


def test_an_outage_of_the_log_leaves_the_server_and_the_latest_figures(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = installation(tmp_path).folder
    folder.log_name.write_text("damaged")
    with serving(folder) as served:
        assert served.request("/metrics").status == 503  # nothing was seen yet
        assert served.get("/devices", served.token()).content["devices"] == ["a"]
        folder.log_name.unlink()
        until(lambda: served.request("/metrics").status == 200)
        folder.log_name.write_text("damaged")
        until(lambda: caplog.text.count("figures are not up to date") == 2)
        assert "messages_received_total 6.0" in served.request("/metrics").content


def test_other_machines_are_served_with_tls_alone(tmp_path: Path) -> None:
    folder = IngestFolder(tmp_path)
    with pytest.raises(InvalidServing, match="expected --tls-cert and --tls-key, or --insecure"):
        ExposureServer(folder, "0.0.0.0:0")
    with pytest.raises(InvalidServing, match="is not there"):
        ExposureServer(folder, "0.0.0.0:0", tls=(tmp_path / "a", tmp_path / "b"))
    with pytest.raises(InvalidConnector, match="expected HOST:PORT"):
        ExposureServer(folder, "nowhere")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidConnector, match="expected a free one"):
            ExposureServer(folder, f"127.0.0.1:{taken.getsockname()[1]}")


def test_paths_and_methods_that_are_not_there_are_said_so(served: Served) -> None:
    assert served.request("/nothing").status == 404
    assert served.request("/range", served.token("fleet"), method="DELETE").status == 405
    assert served.request("/register", served.token("fleet")).status == 405
    assert served.request("/healthz").content == "ok\n"
