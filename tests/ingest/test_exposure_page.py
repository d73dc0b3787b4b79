"""The page of an installation, in a real browser, and who may see it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.exposure.dashboard import Dashboard
from bypass.ingest.exposure.observer import IngestObserver
from bypass.ingest.exposure.tenant_limits import ServingLimits, TenantLimits
from bypass.ingest.exposure.tokens import InvalidToken, OperationNotAllowed, issue_token
from bypass.ingest.stream.plans import submit_plan
from bypass.transitions import Plan
from tests.ingest.pipeline import Pipeline, message
from tests.ingest.serving import serving
from tests.live.chromium import CHROMIUM, Browser, chromium

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("the page is tested in Chromium: not installed")
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False), (1920, False)])
def test_the_page_shows_an_installation(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    pipeline = Pipeline(tmp_path / "fleet", Device(id="a", policy="dead-band"), Device(id="b"))
    plan = Plan.from_yaml(
        "actions: [{proxy: precompute, to: every-nth, set: {n: 10}, members: [b]}]\nplan: thin out"
    )
    submit_plan(pipeline.folder.plans, Plan(plan=HOSTILE, actions=plan.actions))
    pipeline.append(*(("a", message("a", 1_763_459_000_000 + n, v=n)) for n in range(7)), ("a", b"?"))
    pipeline.run()
    (pipeline.folder.logs / "test" / "refused.json").write_text('{"device rate": 41}')
    browser.complaints.clear()
    with serving(pipeline.folder) as served:
        browser.screen(width, 900, dark=dark)
        browser.open(f"http://127.0.0.1:{served.port}/")
        browser.until("document.body.dataset.state === 'live'")
        browser.shows("#totals", "Received", "49", "Dead letters", "Refused", "41")
        browser.shows("#refused", "device rate", "41")
        browser.shows("#writers", "test", "8")
        browser.shows("#policies", "dead-band", "keep-everything")
        browser.shows("#plans", HOSTILE, "precompute → every-nth (n 10), 1 devices")
        browser.shows("#facts", "fleet")
        assert browser.evaluate("document.title") == "bypass ingestion"
        assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        pipeline.append(("a", b"?"), ("c", b"?"))
        pipeline.run()
        browser.shows("#letters", "unknown device")
        browser.shows("#batch-rows", "2 dead letters")
        assert browser.complaints == []
    browser.until("['gone', 'closed'].includes(document.body.dataset.state)")


def test_a_page_subscribes(browser: Browser, tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="a"))
    pipeline.append(("a", message("a", 1_763_459_000_000, v=17)))
    pipeline.run()
    with serving(pipeline.folder) as served:
        browser.open(f"http://127.0.0.1:{served.port}/healthz")
        browser.evaluate(
            f"""window.told = []; window.socket = new WebSocket(
                'ws://127.0.0.1:{served.port}/subscribe', ['bypass', 'bearer.{served.token()}']);
            socket.onmessage = (message) => told.push(...JSON.parse(message.data).rows)"""
        )
        assert browser.until("told.length && told[0].value") == 17
        browser.evaluate("socket.close()")


def test_elsewhere_operators_need_a_token(tmp_path: Path) -> None:
    from starlette.requests import Request

    pipeline = Pipeline(tmp_path, Device(id="a"))
    keys = KeyStore(pipeline.folder.keys)

    def request(**headers: str) -> Request:
        pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        return Request({"type": "http", "method": "GET", "path": "/", "headers": pairs, "query_string": b""})

    limits = TenantLimits(ServingLimits())
    here = Dashboard(IngestObserver(pipeline.folder), keys, limits, loopback=True)
    assert here.admit(request(host="127.0.0.1:7793")) is None
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        refused = here.admit(request(host=host))
        assert refused is not None
        assert refused.status_code == 421
    elsewhere = Dashboard(IngestObserver(pipeline.folder), keys, limits, loopback=False)
    with pytest.raises(InvalidToken):
        elsewhere.admit(request(host="127.0.0.1"))
    with pytest.raises(OperationNotAllowed):
        elsewhere.admit(request(authorization=f"Bearer {issue_token(keys, 'a', ['query'], 60)}"))
    assert elsewhere.admit(request(authorization=f"Bearer {issue_token(keys, 'a', ['operate'], 60)}")) is None
