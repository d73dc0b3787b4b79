"""Configuration: what is not said has defaults, what is wrong is named in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.config_file import load_config
from bypass.live.config_files import InvalidConfig
from bypass.places.areas import Area
from bypass.places.region import Place, Region


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "broker.yaml"


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    config = load_config(None, {"PATH": "/bin", "BYPASS_BROKERS": "1"})
    assert config == BrokerConfig()
    assert config.listen == ("tcp://127.0.0.1:7700",)
    assert (config.keys, config.clients, config.store) == (
        Path("keys/broker.key"),
        Path("keys/clients"),
        Path("bypass.db"),
    )
    assert not config.open
    assert config.sync == "full"
    assert config.region.region() == Region((0.0, 0.0, 1000.0, 1000.0))
    assert (config.scheme, config.set, config.grace) == ("radial", {}, 1.5)
    assert (config.rules, config.mechanisms, config.heartbeat) == (None, (), 5.0)
    assert config.limits.model_dump() == {
        "message_bytes": 131072,
        "packet_bytes": 262144,
        "client_rate": 500,
        "client_byte_rate": 4194304,
        "clients": 20000,
        "sessions_per_key": 200,
        "stored_bytes_per_key": 268435456,
        "filters_per_key": 10000,
        "subscription_bytes_per_key": 8388608,
        "subscriptions_per_client": 100,
        "filters_per_subscription": 64,
        "subscription_bytes": 16384,
        "session_bytes": 262144,
        "pending_events": 10000,
        "pending_age": 86400.0,
        "session_age": 604800.0,
        "unclaimed_age": 3600.0,
    }
    assert (config.http, config.dashboard, config.web_address) == (None, False, None)
    assert (config.log.level, config.log.format) == ("info", "text")


def test_a_file_says_it_all(file: Path) -> None:
    file.write_text(
        """
listen: [tcp://*:7700, "tcp://[::1]:7701", ipc:///run/bypass.sock]
keys: secret/broker.key
clients: /etc/bypass/clients
open: true
store: data/bypass.db
sync: normal
region:
  area: [-100, -100, 900, 900]
  origin: [49.87, 8.65]
  places: [{name: park, x: 1, y: 2, radius: 30}]
scheme: grid
set: {grid: 10}
grace: 0
rules: rules.yaml
mechanisms: [tests.test_own_mechanism:TwoHops]
heartbeat: 2
limits: {client_rate: 0, clients: 5}
http: 127.0.0.1:7780
dashboard: true
log: {level: debug, format: json}
"""
    )
    config = load_config(file, {})
    folder = file.parent
    assert config.listen == ("tcp://*:7700", "tcp://[::1]:7701", "ipc:///run/bypass.sock")
    assert (config.keys, config.clients) == (folder / "secret/broker.key", Path("/etc/bypass/clients"))
    assert (config.store, config.rules) == (folder / "data/bypass.db", folder / "rules.yaml")
    assert (config.open, config.sync, config.scheme, config.set) == (True, "normal", "grid", {"grid": 10})
    assert config.region.region() == Region((-100.0, -100.0, 900.0, 900.0), (Place("park", 1.0, 2.0, 30.0),))
    assert config.region.origin == (49.87, 8.65)
    assert config.mechanisms == ("tests.test_own_mechanism:TwoHops",)
    assert (config.limits.client_rate, config.limits.clients, config.limits.pending_events) == (0, 5, 10000)
    assert (config.http, config.dashboard, config.heartbeat) == ("127.0.0.1:7780", True, 2.0)
    assert config.web_address == config.http
    assert (config.log.level, config.log.format) == ("debug", "json")


def test_defaults_are_beside_the_file_too(file: Path) -> None:
    file.write_text("")
    config = load_config(file, {})
    assert config.keys == file.parent / "keys/broker.key"
    assert config.clients == file.parent / "keys/clients"
    assert config.store == file.parent / "bypass.db"
    assert config.rules is None


def test_the_environment_counts_for_more_than_the_file(file: Path) -> None:
    file.write_text("listen: tcp://127.0.0.1:1\nlimits: {client_rate: 1, clients: 7}\nhttp: localhost:80")
    config = load_config(
        str(file),
        {
            "BYPASS_BROKER_LISTEN": "tcp://127.0.0.1:2",
            "BYPASS_BROKER_LIMITS__CLIENT_RATE": "200",
            "BYPASS_BROKER_STORE": "here.db",
            "BYPASS_BROKER_OPEN": "true",
            "BYPASS_BROKER_HTTP": "",
            "BYPASS_BROKER_SCHEME": "ste",
            "BYPASS_BROKER_SET__ALPHA": "2.5",
            "BYPASS_BROKER_REGION__AREA": "[0, 0, 5, 5]",
        },
    )
    assert config.listen == ("tcp://127.0.0.1:2",)
    assert (config.limits.client_rate, config.limits.clients) == (200.0, 7)
    assert config.store == Path("here.db")
    assert config.open
    assert config.http is None
    assert (config.scheme, config.set) == ("ste", {"alpha": 2.5})
    assert config.region.area == (0.0, 0.0, 5.0, 5.0)


def test_a_variable_may_hold_a_list_or_a_group() -> None:
    config = load_config(
        None,
        {
            "BYPASS_BROKER_LISTEN": "[tcp://0.0.0.0:7700, ipc://x]",
            "BYPASS_BROKER_LIMITS__CLIENTS": "5",
            "BYPASS_BROKER_LIMITS": "{client_rate: 1}",
        },
    )
    assert config.listen == ("tcp://0.0.0.0:7700", "ipc://x")
    assert (config.limits.clients, config.limits.client_rate) == (5, 1.0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("listens: 1", "listens is unknown: expected one of listen, keys, clients, open, store, sync, reg"),
        ("limits: {rate: 2}", "limits.rate is unknown: expected one of message_bytes, packet_bytes, client"),
        ("region: {places: [{nme: a}]}", "region.places.0.name is missing"),
        ("log: {colour: 1}", "log.colour is unknown: expected one of level, format"),
        ("listen: []", "listen is []: expected at least 1 item after validation, not 0"),
        ("listen: 5", "listen is 5: expected a valid tuple"),
        ("listen: [udp://x:1]", "listen.0 is 'udp://x:1': expected tcp://HOST:PORT or ipc://PATH"),
        ("listen: tcp://x", "listen.0 is 'tcp://x': expected tcp://HOST:PORT or ipc://PATH"),
        ("listen: tcp://x:65536", "listen.0 is 'tcp://x:65536': expected tcp://HOST:PORT or ipc://PATH"),
        ("listen: 'ipc://'", "listen.0 is 'ipc://': expected tcp://HOST:PORT or ipc://PATH"),
        (f"listen: ipc://{'x' * 108}", "expected tcp://HOST:PORT or ipc://PATH"),
        ("codec: 'os:sep'", "codec is 'os:sep': expected a Codec, not '/'"),
        ("codec: nowhere:codec", "codec is 'nowhere:codec': expected module:Class, an import path"),
        ("keys: 5", "keys is 5: expected a valid path"),
        ("open: maybe", "open is 'maybe': expected a valid boolean"),
        ("sync: off", "sync is False: expected 'full' or 'normal'"),
        (
            "region: {area: [0, 0, 0, 5]}",
            "region.area is [0, 0, 0, 5]: expected [x0, y0, x1, y1] with x0 < x1",
        ),
        ("region: {area: [0, 0, .nan, 5]}", "region.area.2 is nan: expected a finite number"),
        ("region: {area: [0, 0, 5]}", "region.area.3 is missing"),
        ("region: {origin: [91, 0]}", "region.origin.0 is 91: expected less than or equal to 90"),
        (
            "region: {places: [{name: a, x: 1, y: 1, radius: 0}]}",
            "region.places.0.radius is 0: expected greater than 0",
        ),
        ("scheme: round", "scheme is 'round': expected one of radial, "),
        ("set: {alhpa: 2}", "set.alhpa is unknown: expected one of alpha, "),
        ("set: {alpha: much}", "set.alpha is 'much': expected a valid number"),
        ("grace: -1", "grace is -1: expected greater than or equal to 0"),
        ("heartbeat: 0", "heartbeat is 0: expected greater than 0"),
        ("limits: {clients: many}", "limits.clients is 'many': expected a valid integer"),
        (
            "limits: {message_bytes: 2000000}",
            "limits.message_bytes is 2000000: expected less than or equal to 1",
        ),
        (
            "limits: {packet_bytes: 5}",
            "limits.message_bytes is 131072: expected at most packet_bytes, which is 5",
        ),
        ("limits: 5", "limits is 5: expected a valid dictionary"),
        ("http: '7780'", "http is '7780': expected HOST:PORT, as in 127.0.0.1:7780"),
        ("http: x:99999", "http is 'x:99999': expected HOST:PORT"),
        ("log: {level: loud}", "log.level is 'loud': expected 'debug', 'info', 'warning' or 'error'"),
        ("5", "5: expected keys and values"),
        ("1: 2", "1 is 1: expected strings"),
        ("listen: [", "expected YAML"),
        ("limits: {}\n\nlimits: {}", "line 3: key 'limits' is in line 1 already"),
        ("listen: !!int ''", "expected YAML"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_in_one_line(file: Path, text: str, complaint: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidConfig) as caught:
        load_config(file, {})
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert complaint in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        (
            "LIMITS__CLIENT_RATE",
            "fast",
            "BYPASS_BROKER_LIMITS__CLIENT_RATE is 'fast': expected a valid number",
        ),
        ("LISTENS", "x", "BYPASS_BROKER_LISTENS is unknown: expected one of listen, keys"),
        ("LIMITS__RATE", "1", "BYPASS_BROKER_LIMITS__RATE is unknown: expected one of message_bytes"),
        ("LISTEN", "[ipc://x, y]", "BYPASS_BROKER_LISTEN: 1 is 'y': expected tcp://HOST:PORT or ipc://PATH"),
        ("LISTEN", "[", "BYPASS_BROKER_LISTEN: while parsing"),
        ("HTTP__PORT", "1", "BYPASS_BROKER_HTTP__PORT: http: 'x:1': expected a group of keys"),
        ("DASHBOARD", "x", "BYPASS_BROKER_DASHBOARD is 'x': expected a valid boolean"),
        (
            "LIMITS__PACKET_BYTES",
            "5",
            "broker.yaml: limits.message_bytes is 131072: expected at most packet_by",
        ),
    ],
)
def test_what_is_wrong_in_the_environment_is_named_by_its_variable(
    file: Path, variable: str, value: str, complaint: str
) -> None:
    file.write_text("http: x:1")
    with pytest.raises(InvalidConfig) as caught:
        load_config(file, {f"BYPASS_BROKER_{variable}": value})
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(file: Path) -> None:
    with pytest.raises(InvalidConfig, match=r"broker\.yaml: No such file or directory: expected a YAML file"):
        load_config(file, {})
    file.write_bytes(b"listen: \xff")
    with pytest.raises(InvalidConfig, match=r"broker\.yaml: byte 8: expected text in UTF-8"):
        load_config(file, {})


def test_a_dashboard_has_an_address_without_being_told() -> None:
    assert BrokerConfig(dashboard=True).web_address == "127.0.0.1:7780"


def test_places_may_be_areas(file: Path) -> None:
    file.write_text(
        "region: {origin: [49.87, 8.65], places: [{name: lawn, area: 'POLYGON ((0 0, 90 0, 0 90))'}, "
        "{name: park, area: {type: Polygon, coordinates: "
        "[[[8.65, 49.87], [8.66, 49.87], [8.66, 49.88], [8.65, 49.87]]]}}]}"
    )
    lawn, park = load_config(file, {}).region.region().places
    assert lawn == Place.of_area("lawn", Area.polygon([(0, 0), (90, 0), (0, 90)]))
    assert park.area is not None
    assert not park.area.degrees
    assert park.contains(500.0, 300.0)


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("{name: lawn, x: 1}", "'x': 1}: expected x, y and radius, or an area"),
        (
            "{name: lawn, area: 'POLYGON ((0 0, 1 1))', x: 1}",
            "'x': 1}: expected x, y and radius, or an area",
        ),
        ("{name: lawn, area: 'POLYGON ((0 0, 1 1))'}", "region.places.0 lawn: polygon of 2 vertices"),
    ],
)
def test_a_place_that_is_no_area_is_refused(file: Path, place: str, complaint: str) -> None:
    file.write_text(f"region: {{places: [{place}]}}")
    with pytest.raises(InvalidConfig) as refused:
        load_config(file, {})
    assert complaint in str(refused.value)
