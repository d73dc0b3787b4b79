"""What an operator does on the command line to a running broker."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bypass.live.broker.service import Service
from bypass.live.keys import create_broker_keys, create_client_keys
from bypass.protocol.messages import PlanMessage
from tests.command import bypass
from tests.live.brokers import Peer, config, killed, peers, running, until

Make = Callable[..., Peer]


@pytest.fixture
def make() -> Iterator[Make]:
    with peers() as make:
        yield make


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(config(tmp_path)) as service:
        yield service


Said = tuple[int, str, str]
Operate = Callable[..., Said]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Runs a command; gives the exit code and what was printed."""

    def run(*args: object) -> Said:
        capsys.readouterr()
        return (bypass(*args), *capsys.readouterr())

    return run


@pytest.fixture
def operate(service: Service, command: Callable[..., Said]) -> Operate:
    return lambda *args: command(*args, "--broker", service.server.endpoints[0], "--open")


def test_a_transition_and_what_is_said_about_it(service: Service, operate: Operate, make: Make) -> None:
    peer = make(service.server.endpoints[0], "alice")
    peer.subscribe()
    code, out, _ = operate("transition", "filter", "ste", "--set", "alpha=1.5", "--dry-run")
    assert (code, out) == (0, "would be done: filter radial -> ste alpha = 1.5\n")
    assert service.server.broker.rollout.epoch == 0
    code, out, _ = operate("transition", "filter", "ste", "--set", "alpha=1.5", "--why", "a test")
    assert (code, out) == (0, "done: filter radial -> ste alpha = 1.5\nepoch 1, 1 clients concerned\n")
    assert json.loads(peer.get(PlanMessage).plan)["actions"] == [
        {"proxy": "filter", "to": "ste"}  # alpha is the broker's affair
    ]
    code, out, _ = operate("status")
    assert code == 0
    assert re.search(r"^clients +2 connected", out, re.MULTILINE)
    assert re.search(r"^scheme +ste +1 clients .*alpha=1.5$", out, re.MULTILINE)
    code, out, _ = operate("transitions", "log")
    assert code == 0
    assert "filter radial -> ste alpha = 1.5 (a test)" in out
    code, out, _ = operate("transitions", "log", "--json", "--limit", "1")
    record = json.loads(out)
    assert (record["type"], record["outcome"], record["who"][:9]) == ("transition", "done", "operator-")


def test_some_clients_by_name_or_place(service: Service, operate: Operate, make: Make) -> None:
    near, far = make(service.server.endpoints[0], "near"), make(service.server.endpoints[0], "far")
    near.subscribe(at=(10.0, 10.0))
    far.subscribe(at=(900.0, 900.0))
    assert operate("transition", "filter", "ste", "--area", "0,0,100,100")[0] == 0
    assert operate("transition", "filter", "grid", "--clients", "far")[0] == 0
    broker = service.server.broker
    assert broker.scheme_of(near.number).name == "ste"
    assert broker.scheme_of(far.number).name == "grid"


PARK = [[5.0, 5.0], [105.0, 5.0], [5.0, 105.0], [5.0, 5.0]]


def test_clients_in_an_area_of_any_kind(
    service: Service, operate: Operate, make: Make, tmp_path: Path
) -> None:
    near, far = make(service.server.endpoints[0], "near"), make(service.server.endpoints[0], "far")
    near.subscribe(at=(10.0, 10.0))
    far.subscribe(at=(100.0, 100.0))
    broker = service.server.broker
    park = tmp_path / "park.geojson"
    park.write_text(json.dumps({"type": "Polygon", "coordinates": [PARK]}))
    (tmp_path / "park.wkt").write_text("POLYGON ((5 5, 105 5, 5 105, 5 5))")
    assert operate("places", "add", park, "--metres", "--name", "park")[:2] == (
        0,
        "1 added or changed, 1 places\n",
    )
    for scheme, area in (
        ("ste", "park"),
        ("grid", "POLYGON ((5 5, 105 5, 5 105, 5 5))"),
        ("egrid", str(tmp_path / "park.wkt")),
    ):
        assert operate("transition", "filter", scheme, "--area", area)[0] == 0
        assert broker.scheme_of(near.number).name == scheme
        assert broker.scheme_of(far.number).name == "radial"
    code, _, complaint = operate("transition", "filter", "ste", "--area", park)
    assert code == 2
    assert "wrong order" in complaint or "origin" in complaint
    plan = tmp_path / "plan.yaml"
    plan.write_text("plan: p\nactions:\n  - {proxy: filter, to: multi, area: park}\n")
    assert operate("plan", "apply", plan)[0] == 0
    assert broker.scheme_of(near.number).name == "multi"
    assert broker.scheme_of(far.number).name == "radial"


def test_places_come_and_go_and_outlive_the_broker(tmp_path: Path, command: Callable[..., Said]) -> None:
    market = {"name": "market", "x": 50.0, "y": 60.0, "radius": 20.0}
    region = {"origin": (49.87, 8.65), "places": [market]}
    file = tmp_path / "places.geojson"
    ring = [[8.6501, 49.8701], [8.6531, 49.8701], [8.6501, 49.8721], [8.6501, 49.8701]]
    features = [
        {
            "type": "Feature",
            "properties": {"name": "lawn"},
            "geometry": {"type": "Polygon", "coordinates": [ring]},
        },
        {
            "type": "Feature",
            "properties": {"name": "pond", "radius": 30},
            "geometry": {"type": "Point", "coordinates": [8.6551, 49.8741]},
        },
    ]
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    with running(config(tmp_path, region=region, scheme="attract")) as service:
        at = ("--broker", service.server.endpoints[0], "--open")
        assert command("places", "add", file, *at)[:2] == (0, "2 added or changed, 3 places\n")
        assert command("places", "remove", "market", *at)[0] == 0
        before = service.server.broker.places.all
        _, out, _ = command("places", "list", *at)
        assert re.search(r"^lawn .*polygon$", out, re.MULTILINE)
        assert re.search(r"^pond .*circle$", out, re.MULTILINE)
        again = killed(service, tmp_path / "again", region=region, scheme="attract")
    with running(again) as service:
        places = service.server.broker.places.all
        assert [place.name for place in places] == ["lawn", "pond"]
        assert [(p.x, p.y, p.radius) for p in places] == [(p.x, p.y, p.radius) for p in before]
        lawn = places[0].area
        assert lawn is not None
        assert lawn.contains(20.0, 20.0)
        assert not lawn.contains(200.0, 150.0)


def test_a_plan_from_a_file(operate: Operate, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(
        "plan: look-ahead\nwhy: rain\nactions:\n  - {proxy: filter, to: ste, set: {alpha: 2.0}}\n"
    )
    code, out, _ = operate("plan", "apply", str(file))
    assert (code, out) == (0, "done: filter radial -> ste alpha = 2.0\nepoch 1, 0 clients concerned\n")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("transition", "filter", "nosuch"), "'filter' has no mechanism 'nosuch'"),
        (("transition", "nosuch", "ste"), "nosuch"),
        (("transition", "filter", "ste", "--set", "alpha=-1"), "alpha"),
        (("transition", "filter", "ste", "--clients", "nobody"), "client 'nobody': expected the name"),
        (("transition", "filter", "ste", "--area", "0,0,1,1"), "expected at least one client in it"),
        (
            ("transition", "filter", "ste", "--area", "here"),
            "area 'here': expected well-known text, or the name",
        ),
        (("transition", "filter", "ste", "--area", "0,0"), "area '0,0': expected"),
        (("places", "remove", "nowhere"), "place 'nowhere': expected the name of one: there are none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes_take_one_line_and_change_nothing(
    service: Service, operate: Operate, args: tuple[str, ...], complaint: str
) -> None:
    code, out, error = operate(*args)
    assert (code, out) == (2, "")
    assert complaint in error
    assert error.count("\n") == 1
    assert service.server.broker.rollout.epoch == 0


def test_only_who_has_the_right_may_ask(tmp_path: Path, command: Callable[..., Said]) -> None:
    create_broker_keys(tmp_path)
    create_client_keys(tmp_path, "alice")
    create_client_keys(tmp_path, "admin", ("admin",))
    settings = config(tmp_path, open=False, keys=tmp_path / "broker.key", clients=tmp_path / "clients")
    with running(settings) as service:
        where = ("--broker", service.server.endpoints[0])
        code, _, error = command("status", *where, "--keys", tmp_path / "alice.key")
        assert code == 2
        assert "expected a key with the right 'admin'" in error
        until(lambda: service.server.counters["unauthorised"] == 1)
        assert command("status", *where, "--keys", tmp_path / "admin.key")[0] == 0


def test_nobody_there(command: Callable[..., Said]) -> None:
    code, _, error = command("status", "--open", "--broker", "tcp://127.0.0.1:9")
    assert code == 2
    assert error.startswith("bypass: error: broker 'tcp://127.0.0.1:9': no answer in 5 s")


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:99999", "tcp://127.0.0.1", "127.0.0.1:7700", "elsewhere"]
)
def test_what_is_no_address_is_refused_at_once(address: str, command: Callable[..., Said]) -> None:
    code, _, error = command("status", "--open", "--broker", address)
    assert code == 2
    expected = f"endpoint '{address}': no address: expected tcp://host:port or ipc://path"
    assert error == f"bypass: error: {expected}\n"


def test_a_broker_process_from_start_to_end(tmp_path: Path) -> None:
    """It says where it listens, warns that it is open, and a signal ends it gracefully."""
    command = [sys.executable, "-c", "from bypass.cli import main; main()", "broker", "--open"]
    listen = f"ipc://{tmp_path}/broker.sock"
    process = subprocess.Popen(
        [*command, "--listen", listen, "--store", str(tmp_path / "store.db")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"bypass broker listens on {listen}\n"
    with peers() as make:
        peer = make(listen, "alice")
        peer.subscribe()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "WARNING: this broker is OPEN" in errors  # on a slow machine, what is compiled comes before


def test_a_second_broker_on_the_same_store_is_refused(
    service: Service, tmp_path: Path, command: Callable[..., Said]
) -> None:
    other = f"ipc://{tmp_path}/other.sock"
    code, _, error = command("broker", "--open", "--listen", other, "--store", service.server.config.store)
    assert code == 2
    assert "another" in error
    assert error.count("\n") == 1
