"""The dashboard as a person sees it, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bypass import Event, attr, connect_blocking
from bypass.live.broker.operations.web import Web
from bypass.transitions import Action, Plan
from tests.live.brokers import config, in_loop, running
from tests.live.chromium import CHROMIUM, Browser, chromium
from tests.live.snapshots import START, Town, quiet, transition

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="the dashboard is tested in Chromium: not installed")

LIVE = "document.body.dataset.state === 'live'"
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


class Broker:
    """A broker that says what the test puts into its mouth."""

    def __init__(self, snapshot: dict[str, Any]) -> None:
        self.snapshot = snapshot
        self.web = Web("127.0.0.1:0", lambda: self.snapshot, dashboard=True)
        self.web.start()
        self.url = f"http://{self.web.address}/"

    def say(self, **changes: Any) -> None:
        """A second later."""
        self.snapshot = self.snapshot | {"at": self.snapshot["at"] + 1} | changes

    def back(self) -> None:
        """Come back at the address that it had."""
        self.web = Web(self.web.address, lambda: self.snapshot, dashboard=True)
        self.web.start()


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(started: Browser) -> Browser:
    started.screen(1280, 800)
    started.complaints.clear()
    return started


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker(quiet())
    yield broker
    broker.web.close()


def test_a_real_broker_with_honest_clients_shows_no_trouble(browser: Browser, tmp_path: Path) -> None:
    with running(config(tmp_path, http="127.0.0.1:0", dashboard=True)) as service, ExitStack() as stack:
        assert service.web is not None
        browser.open(f"http://{service.web.address}/")
        browser.until(LIVE)
        endpoint = service.server.endpoints[0]
        hears, says = (
            stack.enter_context(
                connect_blocking(endpoint, open=True, name=name, location=lambda: (10.0, 10.0))
            )
            for name in ("hears", "says")
        )
        news = hears.subscribe(attr("kind") == "news", radius=100)
        says.publish_local(Event(kind="news"))
        assert next(iter(news))["kind"] == "news"
        plan = Plan(plan="faster", actions=(Action(proxy="filter", to="ste"),))
        in_loop(service, lambda: service.server.broker.execute(plan))
        browser.shows("#totals", "2", "of 2 sessions", "0.5 per session")
        browser.shows("#transition-rows", "faster", "radial → ste", "2 of 2 done", "–")
        browser.shows("#counters", "malformed 0")
        assert browser.evaluate("document.querySelectorAll('#counters .some').length") == 0
        assert browser.complaints == []


# -- figures ------------------------------------------------------------------------------------------------


def test_a_lively_broker_is_shown_without_complaints(browser: Browser, broker: Broker) -> None:
    town = Town()
    broker.snapshot = town.second()
    browser.open(broker.url)
    browser.until(LIVE)
    for _ in range(3):
        broker.snapshot = town.second()
        connected = broker.snapshot["clients"]["connected"]
        browser.shows("#totals", f"{connected}", "of 429 sessions", "1,277", "214", " ms", "48.3 MB")
        browser.shows("#charts", "Publications", f"{broker.snapshot['rates']['publications']:.0f} /s", "kB/s")
    browser.shows("#facts", "tcp://127.0.0.1:7700", "up 1 h 6 min", "epoch", "version 0.1.0")
    browser.shows("#counters", "missed 3", "malformed 0", "unauthorised 1")
    for scheme in broker.snapshot["schemes"]:
        browser.shows("#legend", scheme["name"], f"{scheme['clients']}")
    browser.shows("#legend", "grid 10", "not connected", "isolated")
    assert browser.text("#state") == "live"
    assert not browser.evaluate("document.querySelector('#facts').innerText.includes('open')")
    assert browser.complaints == []


def test_an_open_broker_says_so(browser: Browser, broker: Broker) -> None:
    broker.say(open=True)
    browser.open(broker.url)
    browser.shows("#facts", "open: no keys, no encryption")


def test_transitions_are_shown_as_they_happen(browser: Browser, broker: Broker) -> None:
    browser.open(broker.url)
    browser.shows("#no-transitions", "None yet.")
    begun = transition(7, START + 1, done=55, failed=0, pending=45, took_ms=None, acknowledged=None)
    broker.say(transitions=[begun])
    browser.shows(
        "#transition-rows tr.running", "filter radial → ste (alpha 2)", "55 of 100 done · 45 pending"
    )
    assert browser.text("#no-transitions") == ""
    names = ["ann", "bob", "cy", "dee", "eve"]
    ended = begun | {
        "done": 95,
        "failed": 3,
        "obsolete": 2,
        "pending": 0,
        "took_ms": 209.4,
        "acknowledged": 0.9931,
        "isolated": names,
    }
    broker.say(transitions=[ended])
    browser.shows(
        "#transition-rows tr.failed",
        "enter-attraction-point",
        "a client came within reach of Herrngarten · by rules",
        "95 of 100 done · 3 failed · 2 obsolete",
        "209 ms",
        "99.3 %",
        "ann, bob, cy and 2 more",
    )
    broker.say(transitions=[transition(8, START + 3), ended])
    browser.shows("#transition-rows tr.done", "100 of 100 done", "84 ms", "100.0 %", "none")
    states = "[...document.querySelectorAll('#transition-rows tr')].map((row) => row.className)"
    assert browser.evaluate(states) == ["done", "failed"]


def test_a_row_that_says_nothing_new_stays_the_same_element(browser: Browser, broker: Broker) -> None:
    broker.say(transitions=[transition(1, START)])
    browser.open(broker.url)
    browser.shows("#transition-rows", "1 s ago")
    browser.evaluate("document.querySelector('#transition-rows tr').dataset.mine = 'yes'")
    broker.say()
    browser.shows("#transition-rows tr[data-mine]", "2 s ago")


# -- map ----------------------------------------------------------------------------------------------------

CENTRE = """
(() => {  // where the pixels in the first scheme's colour are, as a share of the map's width; null if nowhere
  const canvas = document.querySelector('#canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let [sum, count] = [0, 0];
  for (let i = 0; i < data.length; i += 4)
    if (data[i] === 0x00 && data[i + 1] === 0x72 && data[i + 2] === 0xb2) {
      sum += (i / 4) % canvas.width;
      count += 1;
    }
  return count === 0 ? null : sum / count / canvas.width;
})()
"""
FRAMES = f"""
new Promise((resolve) => {{  // the centre in every frame until it is right of `end`
  const seen = [];
  const look = () => {{
    seen.push({CENTRE.strip()});
    if (seen.at(-1) > 0.7 || seen.length > 600) resolve(seen); else requestAnimationFrame(look);
  }};
  look();
}})
"""


def one_client(x: float, scheme: str = "radial", connected: bool = True) -> dict[str, Any]:
    return {"positions": [[1, "ann", x, 500.0, scheme, connected]]}


def test_clients_glide_from_snapshot_to_snapshot(browser: Browser, broker: Broker) -> None:
    broker.say(**one_client(200.0))
    browser.open(broker.url)
    browser.until(CENTRE, lambda centre: centre is not None)
    start = browser.evaluate(CENTRE)
    broker.say(**one_client(800.0))
    seen = browser.evaluate(FRAMES)
    assert start < 0.35
    assert seen == sorted(seen)
    between = {round(x, 3) for x in seen if start + 0.02 < x < 0.7}
    assert len(between) >= 5, between


def test_who_wants_things_to_stand_still_sees_them_jump(browser: Browser, broker: Broker) -> None:
    browser.screen(1280, 800, still=True)
    broker.say(**one_client(200.0))
    browser.open(broker.url)
    browser.until(CENTRE, lambda centre: centre is not None)
    start = browser.evaluate(CENTRE)
    broker.say(**one_client(800.0))
    assert all(x == start or x > 0.7 for x in browser.evaluate(FRAMES))


def test_schemes_differ_in_colour_and_the_absent_have_none(browser: Browser, broker: Broker) -> None:
    broker.say(**one_client(500.0))
    browser.open(broker.url)
    browser.until(CENTRE, lambda centre: centre is not None)
    broker.say(**one_client(500.0, "ste"))
    browser.until(CENTRE, lambda centre: centre is None)
    broker.say(**one_client(500.0))
    browser.until(CENTRE, lambda centre: centre is not None)
    broker.say(**one_client(500.0, connected=False))
    # The ring of its change is still there for a while.
    browser.until(CENTRE, lambda centre: centre is None)
    broker.say(positions=[])
    browser.until(
        "document.querySelector('#canvas').ariaLabel", lambda label: label.startswith("Map of 0 clients")
    )


@pytest.mark.parametrize(
    ("side", "text"),
    [(1000.0, "200 m"), (300.0, "50 m"), (12_000.0, "2 km"), (90_000.0, "20 km"), (3.0, "0.5 m")],
)
def test_the_scale_bar_is_as_long_as_it_says(
    browser: Browser, broker: Broker, side: float, text: str
) -> None:
    broker.say(region={"area": [-side, 0.0, 0.0, side], "places": [], "origin": None})
    browser.open(broker.url)
    browser.shows("#scale", text)
    metres = float(text.split()[0]) * (1000 if "km" in text else 1)
    bar, width, height = browser.evaluate(
        "[document.querySelector('#scale i').getBoundingClientRect().width, "
        "document.querySelector('#canvas').clientWidth, document.querySelector('#canvas').clientHeight]"
    )
    pixels = min(width, height) - 28  # the margins around the area
    assert bar == pytest.approx(pixels * metres / side, abs=0.1)


PIXELS = """
(() => {  // the colours of the map at some places (m) of a region of 1,000 m
  const canvas = document.querySelector('#canvas');
  const factor = (Math.min(canvas.clientWidth, canvas.clientHeight) - 28) / 1000;
  const [left, top] = [canvas.clientWidth, canvas.clientHeight].map((size) => (size - 1000 * factor) / 2);
  return PLACES.map(([x, y]) => [...canvas.getContext('2d').getImageData(
    Math.round(left + x * factor), Math.round(top + (1000 - y) * factor), 1, 1).data].join());
})()
"""


def test_places_and_areas_are_drawn_by_their_outlines(browser: Browser, broker: Broker) -> None:
    yard = [
        [[[110, 110], [490, 110], [490, 490], [110, 490]], [[230, 230], [370, 230], [370, 370], [230, 370]]]
    ]
    place = {"name": "yard", "x": 300, "y": 300, "radius": 280, "outline": yard}
    zone = {"kind": "subscription", "outline": [[[[610, 610], [890, 610], [890, 890]]]]}
    scope = {"kind": "plan", "outline": [[[[610, 110], [890, 110], [890, 390], [610, 390]]]]}
    region = {"area": [0.0, 0.0, 1000.0, 1000.0], "places": [place], "origin": None}
    broker.say(region=region, areas=[zone, scope])
    browser.open(broker.url)
    browser.until(LIVE)
    seen = [(150, 150), (850, 700), (750, 250), (300, 300), (300, 530), (650, 850), (50, 950)]
    colours = PIXELS.replace("PLACES", json.dumps(seen))
    browser.until(colours, lambda found: found[0] != found[-1])
    in_yard, in_zone, in_scope, in_hole, in_circle, beside, nowhere = browser.evaluate(colours)
    assert in_hole == in_circle == beside == nowhere
    assert len({in_yard, in_zone, in_scope, nowhere}) == 4
    assert browser.complaints == []


def test_pointing_at_a_client_names_it(browser: Browser, broker: Broker) -> None:
    broker.say(**one_client(500.0, "ste", connected=False))
    browser.open(broker.url)
    browser.until(LIVE)
    box = browser.evaluate("document.querySelector('#canvas').getBoundingClientRect().toJSON()")
    x, y = box["x"] + box["width"] / 2 + 5, box["y"] + box["height"] / 2
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    browser.shows("#tooltip", "ann", "no. 1 · ste · not connected", "x 500.0 m, y 500.0 m")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 100, y=y)
    browser.until("document.querySelector('#tooltip').hidden")


def test_who_does_not_see_the_map_gets_a_summary_and_a_table(browser: Browser, broker: Broker) -> None:
    broker.snapshot = Town().second()
    browser.open(broker.url)
    browser.until(LIVE)
    label = browser.evaluate("document.querySelector('#canvas').ariaLabel")
    assert label.startswith("Map of 420 clients in 1,400 m by 1,200 m; radial ")
    browser.evaluate("document.querySelector('#clients summary').click()")
    browser.shows("#found", "200 of 420 shown")
    number, name, x, y, scheme, connected = broker.snapshot["positions"][17]
    browser.evaluate(
        f"wanted.value = {json.dumps(name.upper())}; wanted.dispatchEvent(new Event('input'))",
    )
    browser.shows("#found", "1 of 1 shown")
    cells = "[...document.querySelectorAll('#client-rows td')].map((cell) => cell.innerText)"
    assert browser.evaluate(cells) == [
        str(number),
        name,
        scheme,
        f"{x:.1f}",
        f"{y:.1f}",
        "yes" if connected else "no",
    ]


# -- when something is wrong --------------------------------------------------------------------------------


def test_a_broker_that_shuts_down_is_gone_and_found_again(browser: Browser, broker: Broker) -> None:
    browser.open(broker.url)
    browser.until(LIVE)
    assert browser.text("#alert") == ""
    broker.web.close()
    browser.shows("#alert", "The broker was shut down.", "Last news at", "how things were then")
    assert browser.text("#state") == "shut down"
    assert browser.evaluate("document.title") == "shut down – bypass broker"
    assert float(browser.evaluate("getComputedStyle(document.querySelector('main')).opacity")) < 0.7
    broker.say(subscriptions=77)
    broker.back()
    browser.until(LIVE)
    browser.shows("#totals", "77")
    assert browser.text("#alert") == ""
    assert browser.evaluate("document.title") == "bypass broker"


def test_a_broker_that_vanishes_without_a_word_is_gone(
    browser: Browser, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.open(broker.url)
    browser.until(LIVE)
    monkeypatch.setattr("bypass.live.broker.operations.web._Handler._stream", lambda handler: None)
    server = broker.web._server
    assert server is not None
    with server._changed:
        for connection in server._deadlines:
            connection.shutdown(2)
    browser.shows("#alert", "The broker is gone.", "Last news at")


def test_a_broker_whose_loop_is_stuck_does_not_answer(browser: Browser, broker: Broker) -> None:
    browser.open(broker.url)
    browser.until(LIVE)
    browser.shows("#alert", "its loop is stuck", "Last news at")
    broker.say()
    browser.until(LIVE)


def test_a_viewer_too_many_is_told_so_and_let_in_later(
    browser: Browser, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr("bypass.live.broker.operations.web.VIEWERS", 0)
        browser.open(broker.url)
        browser.shows("#alert", "too many viewers")
    browser.until(LIVE)


def test_a_store_that_fails_is_told(browser: Browser, broker: Broker) -> None:
    store = broker.snapshot["store"] | {"failing": f"no space left {HOSTILE}"}
    broker.say(store=store)
    browser.open(broker.url)
    browser.shows("#alert", "The store cannot be written", "no space left <img")


def test_what_a_broker_says_is_never_markup(browser: Browser, broker: Broker) -> None:
    action = {"proxy": HOSTILE, "from": HOSTILE, "to": HOSTILE, "set": {HOSTILE: HOSTILE}, "outcome": HOSTILE}
    words = {"plan": HOSTILE, "why": HOSTILE, "who": HOSTILE, "actions": [action], "isolated": [HOSTILE]}
    broker.say(
        version=HOSTILE,
        listen=[HOSTILE],
        schemes=[{"name": HOSTILE, "set": {HOSTILE: HOSTILE}, "clients": 1}],
        region={
            "area": [0.0, 0.0, 1000.0, 1000.0],
            "places": [{"name": HOSTILE, "x": 500.0, "y": 500.0, "radius": 50.0}],
            "origin": None,
        },
        counters=broker.snapshot["counters"] | {HOSTILE: 1},
        transitions=[transition(1, START, **words)],
        positions=[[1, HOSTILE, 500.0, 500.0, HOSTILE, True]],
    )
    browser.open(broker.url)
    browser.until(LIVE)
    browser.evaluate("document.querySelector('#clients summary').click()")
    browser.shows("#client-rows", HOSTILE)
    browser.shows("#transition-rows", HOSTILE)
    browser.shows("#legend", HOSTILE)
    assert browser.evaluate("document.querySelectorAll('img, main script').length") == 0
    assert browser.evaluate("document.title") == "bypass broker"
    assert browser.complaints == []


def test_the_browser_keeps_out_what_is_not_ours(browser: Browser, broker: Broker) -> None:
    browser.open(broker.url)
    browser.until(LIVE)
    markup = "try { document.body.innerHTML = '<b>x</b>'; 'taken' } catch (error) { error.name }"
    assert browser.evaluate(markup) == "TypeError"
    browser.evaluate(
        "{ const made = document.createElement('style'); made.textContent = 'body { color: red }'; "
        "document.head.append(made) }"
    )
    assert browser.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"
    fetched = browser.evaluate("fetch('http://127.0.0.1:1/').then(() => 'sent', (error) => error.name)")
    assert fetched == "TypeError"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


# -- screens ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(390, 844), (820, 1180), (1280, 800), (1920, 1080)])
def test_every_screen_is_wide_enough(browser: Browser, broker: Broker, width: int, height: int) -> None:
    browser.screen(width, height)
    broker.snapshot = Town().second()
    browser.open(broker.url)
    browser.until(LIVE)
    assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    cut = """
    [...document.querySelectorAll('main *')].filter((part) => {
      const box = part.getBoundingClientRect();
      const outside = box.left < 0 || box.right > innerWidth;
      return outside && part.checkVisibility() && !part.closest('#transitions thead');
    }).map((part) => part.outerHTML.slice(0, 80))
    """
    assert browser.evaluate(cut) == []
    canvas = browser.evaluate("document.querySelector('#canvas').getBoundingClientRect().toJSON()")
    assert canvas["width"] > 0.35 * width
    assert canvas["height"] > 250


def test_a_wall_screen_shows_everything_without_scrolling(browser: Browser, broker: Broker) -> None:
    browser.screen(1920, 1080)
    broker.snapshot = Town().second()
    browser.open(broker.url)
    browser.until(LIVE)
    assert browser.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert browser.evaluate(
        "document.querySelector('#transition-rows').getBoundingClientRect().top < innerHeight - 200"
    )


def test_the_page_shrinks_again_when_its_window_does(browser: Browser, broker: Broker) -> None:
    browser.open(broker.url)
    browser.until(LIVE)
    height = "document.querySelector('#figures').getBoundingClientRect().height"
    before = browser.evaluate(height)
    browser.screen(1280, 1600)
    browser.until(height, lambda now: now > before)
    broker.say(subscriptions=77)
    browser.shows("#totals", "77")
    browser.screen(1280, 800)
    browser.until(height, lambda now: now == before)


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_ground(browser: Browser, broker: Broker, dark: bool) -> None:
    browser.screen(1280, 800, dark=dark)
    broker.snapshot = Town().second()
    browser.open(broker.url)
    browser.until(LIVE)
    colours = browser.evaluate(
        "Object.fromEntries(['text', 'muted', 'panel', 'page', 'ground', 'good', 'bad', 'place', 'chart', "
        "...Array.from({ length: 8 }, (_, slot) => `scheme-${slot}`)].map((name) => "
        "[name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()]))"
    )
    assert (luminance(colours["page"]) < 0.2) == dark
    for ground in ("panel", "page"):
        for name in ("text", "muted", "good", "bad"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for name in ("place", "chart", *(f"scheme-{slot}" for slot in range(8))):
        assert contrast(colours[name], colours["ground"]) >= 2.5, name


def luminance(colour: str) -> float:
    """Relative luminance of a colour "#rrggbb", as the web's accessibility guidelines define it."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
