"""Access to an MQTT broker: TLS, a password and the version of the protocol, from the command line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bypass.ingest.categories import Node
from bypass.ingest.connectors.connector import InvalidConnector
from bypass.ingest.connectors.filters import ApplicationFilters
from bypass.ingest.connectors.membership import Membership
from bypass.ingest.connectors.mqtt import MqttConnector
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.leases import FileLeases
from bypass.ingest.service.status import read_status
from bypass.testing.worlds.broker import PATIENCE, until
from tests.command import COMMAND, refused
from tests.ingest.certificates import certificate
from tests.ingest.mosquitto import Publisher, mosquitto, needs_mosquitto

PASSWORD = "correct-horse"
HASH = shutil.which("mosquitto_passwd")


@pytest.fixture
def password(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.touch(0o600)
    path.write_text(PASSWORD + "\n")
    return path


@pytest.mark.slow
@needs_mosquitto
@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_a_broker_is_reached_with_tls_and_a_password(tmp_path: Path, password: Path, version: str) -> None:
    assert HASH is not None, "mosquitto_passwd is not installed"
    broker = tmp_path / "broker"
    broker.mkdir()
    users = broker / "users"
    subprocess.run([HASH, "-b", "-c", users, "me", PASSWORD], check=True)
    cert, key = certificate(broker)
    more = f"password_file {users}\ncertfile {cert}\nkeyfile {key}\nallow_anonymous false\n"
    with mosquitto(broker, more) as running, (tmp_path / "service.log").open("wb") as output:
        command: list[str | Path] = [*COMMAND, "ingest", "start", "--folder", tmp_path / "f", "--no-stream"]
        command += ["--mqtt", running.address, "--mqtt-version", version, "--mqtt-ca", cert]
        command += ["--mqtt-user", "me", "--mqtt-password", password]
        service = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        publisher = Publisher(running, "app", credentials=("me", PASSWORD), authority=cert)

        def arrives() -> bool:
            publisher.send("device", b"message")
            return read_status(IngestFolder(tmp_path / "f")).received > 0

        try:
            until(arrives)
        finally:
            publisher.close()
            service.terminate()
            service.wait(PATIENCE)
    assert PASSWORD not in (tmp_path / "service.log").read_text()


def test_a_password_is_not_sent_to_another_machine_without_tls(
    tmp_path: Path, password: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ("ingest", "start", "--folder", tmp_path / "f", "--mqtt", "192.0.2.1:1883")
    both = ("--mqtt-user", "me", "--mqtt-password", password)
    told = refused(capsys, *start, *both)[1]
    assert told.startswith("mqtt: address 192.0.2.1:1883: is another machine, which would be sent a password")
    members = Membership(FileLeases(tmp_path / "db"), ApplicationFilters("App"), Node("one", "host"))
    with pytest.raises(InvalidConnector, match="is another machine"):
        MqttConnector("192.0.2.1:1883", members, credentials=("me", PASSWORD))
    MqttConnector("192.0.2.1:1883", members, credentials=("me", PASSWORD), insecure=True)
    MqttConnector("192.0.2.1:1883", members, credentials=("me", PASSWORD), authority="system")
    MqttConnector("127.0.0.1:1883", members, credentials=("me", PASSWORD))
    MqttConnector("192.0.2.1:1883", members)


def test_options_for_a_broker_are_checked_before_anything_starts(
    tmp_path: Path, password: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ("ingest", "start", "--folder", tmp_path / "f")
    mqtt = (*start, "--mqtt", "127.0.0.1:1883")
    for command, message in (
        ((*start, "--mqtt-user", "me"), "--mqtt-user without --mqtt: expected the broker"),
        ((*mqtt, "--mqtt-user", "me"), "--mqtt-user and --mqtt-password: expected both"),
        ((*mqtt, "--mqtt-ca", tmp_path / "none"), "is not there: expected certificates in PEM"),
        ((*mqtt, "--mqtt-version", "4"), "'4' is not one of '3.1.1', '5'"),
        (
            (*mqtt, "--mqtt-user", "me", "--mqtt-password", tmp_path / "none"),
            "none: No such file or directory: expected a file with a secret",
        ),
    ):
        assert message in refused(capsys, *command)[1]
    password.chmod(0o644)
    told = refused(capsys, *mqtt, "--mqtt-user", "me", "--mqtt-password", password)[1]
    assert "expected one that is its owner's alone: chmod 600" in told
    assert not (tmp_path / "f").exists()
