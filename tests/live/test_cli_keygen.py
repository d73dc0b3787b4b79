from __future__ import annotations

import stat
from pathlib import Path

import pytest

from bypass.live.allow_list import Admitted, AllowList
from bypass.live.keys import load_broker_keys, load_client_keys
from tests.command import bypass, refusal


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_broker_and_its_clients_get_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("keygen") == 0
    assert capsys.readouterr().out == "the broker's keys: keys/broker.key\n"
    assert bypass("keygen", "alice") == 0
    assert capsys.readouterr().out.splitlines() == [
        "alice's keys, for its own machine: keys/alice.key",
        "admitted: keys/clients/alice.pub",
    ]
    assert bypass("keygen", "boss", "--admin") == 0
    assert capsys.readouterr().out.splitlines()[1] == "admitted as admin: keys/clients/boss.pub"
    alice, boss = load_client_keys("keys/alice.key"), load_client_keys("keys/boss.key")
    assert alice.broker == boss.broker == load_broker_keys("keys/broker.key").public
    listed = AllowList("keys/clients")
    assert listed.find(alice.public) == Admitted("alice", frozenset())
    assert listed.find(boss.public) == Admitted("boss", frozenset({"admin"}))
    for file in ("broker.key", "alice.key", "boss.key"):
        assert stat.S_IMODE(Path("keys", file).stat().st_mode) == 0o600


def test_keys_go_where_they_are_wanted() -> None:
    assert bypass("keygen", "--dir", "far/away") == 0
    assert bypass("keygen", "alice", "--dir", "far/away") == 0
    files = {str(path.relative_to("far/away")) for path in Path("far/away").rglob("*")}
    assert files == {"broker.key", "alice.key", "clients", "clients/alice.pub"}


def test_secrets_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    bypass("keygen")
    bypass("keygen", "alice")
    out, err = capsys.readouterr()
    for keys in (load_broker_keys("keys/broker.key"), load_client_keys("keys/alice.key")):
        assert keys.secret.decode() not in out + err


def test_what_cannot_be_made_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "keygen", "--admin") == "--admin without NAME: expected the name of a client"
    assert refusal(capsys, "keygen", "alice") == (
        "keys/broker.key: no such file: expected the broker's keys, which `bypass keygen` makes"
    )
    assert not Path("keys").exists()
    bypass("keygen")
    bypass("keygen", "alice")
    assert refusal(capsys, "keygen") == (
        "keys/broker.key: exists: expected a new file: keys are not overwritten"
    )
    assert refusal(capsys, "keygen", "alice") == (
        "keys/alice.key: exists: expected a new file: keys are not overwritten"
    )
    assert refusal(capsys, "keygen", "a/b") == (
        "client 'a/b': expected 1 to 64 letters, digits, dots, _ and -"
    )
    Path("file").touch()
    assert refusal(capsys, "keygen", "--dir", "file") == "file: is in the way: expected a directory"
    Path("keys/broker.key").chmod(0o644)
    assert refusal(capsys, "keygen", "bob").endswith("chmod 600 keys/broker.key")


def test_help_tells_which_file_goes_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert bypass("keygen", "--help") == 0
    out = capsys.readouterr().out
    for part in (
        "broker.key ",
        "alice.key ",
        "clients/alice.pub",
        "move it to the client's machine",
        "rm keys/",
    ):
        assert part in out
    assert bypass("--help") == 0
    assert "keygen" in capsys.readouterr().out
