"""`bypass objects` without a broker: commands that are nodes for a while, and one that serves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bypass import Action, Neighbours, Plan, connect_blocking
from bypass.live.keys import create_group_key, load_group_key
from tests.command import COMMAND, bypass, refusal, refused

pytestmark = pytest.mark.slow

LIMIT = 60.0
QUICK = ("side=100", "beacon_s=0.2", "listen_s=0.4", "settle_s=0.3", "join_delay_s=0.1")


def options(address: str, port: int, storage: str = "cells") -> list[str]:
    values = [each for value in QUICK for each in ("--set", value)]
    return [
        "--neighbours",
        f"{address}/8",
        "--port",
        str(port),
        "--storage",
        storage,
        "--at",
        "50",
        "50",
        *values,
    ]


@contextmanager
def serving(address: str, port: int, *more: str) -> Iterator[subprocess.Popen[str]]:
    command = (*COMMAND, "objects", "serve", *options(address, port), "--node", f"node at {address}", *more)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert "serves" in process.stderr.readline()
            yield process
        finally:
            process.kill()


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(tmp_path)
    create_group_key("keys")
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_objects_stay_when_the_command_has_ended(
    tmp_path: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> str:
        capsys.readouterr()
        assert bypass("objects", *arguments) == 0
        out, error = capsys.readouterr()
        assert error == ""
        return out.strip()

    (tmp_path / "note").write_text("hello")
    with serving("127.0.5.1", port, "--store", "served.db") as served:
        me = [*options("127.0.5.2", port), "--node", "me", "--store", "me.db"]
        other = [*options("127.0.5.3", port), "--node", "other"]
        key = said("insert", "note", "--tag", "a", *me)
        assert key.endswith("/note")
        assert said("query", "a", *other).split()[2:5] == [key, "5", "bytes"]
        said("retrieve", key, "--query", "a", "--out", "copy", *other)
        assert (tmp_path / "copy").read_text() == "hello"
        line = refusal(capsys, "objects", "delete", key, *other, "--store", "other.db")
        assert "expected one of client" in line
        apart = ("--namespace", "apart")
        hidden = said("insert", "note", "--tag", "a", "--name", "hidden", *apart, *me)
        assert hidden not in said("query", "a", *other)
        said("retrieve", hidden, "--query", "a", *apart, "--out", "copy of hidden", *other)
        assert (tmp_path / "copy of hidden").read_text() == "hello"
        said("delete", key, *me)
        assert said("query", "a", *other) == ""
        line = refusal(capsys, "objects", "retrieve", key, "--query", "a", *other)
        assert line == f"object {key}: expected one that 'a' finds"
        served.send_signal(signal.SIGTERM)
        assert served.wait(LIMIT) == 0


def test_a_node_that_serves_by_the_design_of_one_server_is_it(
    tmp_path: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "note").write_text("hello")
    with serving("127.0.5.21", port, "--storage", "server"):
        nearby = Neighbours(load_group_key("keys/group.key"), ("127.0.5.22/8",), port)
        server = nearby.number_of("node at 127.0.5.21")
        me = [*options("127.0.5.22", port, "server"), "--node", "me", "--store", "me.db"]
        assert "expected set={'server': NUMBER}" in refusal(capsys, "objects", "query", "a", *me)
        me += ["--set", f"server={server}"]
        assert bypass("objects", "insert", "note", "--tag", "a", *me) == 0
        assert bypass("objects", "query", "a", *me) == 0
        assert capsys.readouterr().out.count("/note") == 2


def test_who_follows_a_group_with_another_design_is_told_where_its_object_is(
    tmp_path: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command asks for `cells`; the group has decided otherwise."""
    (tmp_path / "note").write_text("hello")
    nearby = Neighbours(load_group_key("keys/group.key"), ("127.0.5.4/8",), port)
    quick = {"join_coin": 1.0, "settle_s": 0.2}
    with connect_blocking(None, neighbours=nearby, name="one", storage="local", set=quick) as one:
        one.decide(Plan(plan="go on", actions=(Action(proxy="storage", set={"join_delay_s": 0.0}),)))
        with one.query("a") as found:
            me = [*options("127.0.5.5", port), "--node", "me", "--store", "me.db"]
            out, line = refused(capsys, "objects", "insert", "note", "--tag", "a", *me)
            assert str(found.get(LIMIT).key) == out.strip()
        why = "no other node has it: it is found while one with --store me.db runs"
        assert line == f"object {out.strip()}: {why}"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            ("insert", "-", "--tag", "a", "--storage", "local"),
            "--storage local: objects stay with this command",
        ),
        (("insert", "-", "--tag", "a"), "--neighbours without --store"),
        (("delete", "1/x"), "--neighbours without --store"),
        (("retrieve", "1/x"), "--neighbours without --query"),
        (("query", "a"), "--storage cells without --at"),
        (("query", "a", "--at", "1", "1", "--set", "sides=5"), "set 'sides': expected one of "),
        (
            ("query", "a", "--at", "1", "1", "--routing", "dsdv"),
            "routing 'dsdv': expected one that offers cell",
        ),
        (("query", "a", "--storage", "broker"), "storage 'broker': expected one that needs no broker"),
        (("query", "a", "--at", "1", "1", "--group", "none.key"), "none.key: "),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    port: int, arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = arguments
    way = ("--neighbours", "127.0.5.6/8", "--port", port)
    assert why in refusal(capsys, "objects", command, *rest, *way)


def test_nobody_in_reach_is_said(
    port: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bypass.cli.object_way.MEETING_S", 0.3)
    said = refusal(capsys, "objects", "query", "a", *options("127.0.5.7", port))
    assert "no other node in reach for 0.3 s" in said


def test_serving_needs_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    assert "without --neighbours" in refusal(capsys, "objects", "serve")


def test_the_key_of_a_group_is_made_once_and_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert bypass("keygen", "--group") == 0
    assert capsys.readouterr().out == "the group's key, for every member: keys/group.key\n"
    assert len(load_group_key("keys/group.key")) == 32
    assert "exists" in refusal(capsys, "keygen", "--group")
    assert "expected it alone" in refusal(capsys, "keygen", "--group", "alice")
    os.chmod("keys/group.key", 0o644)
    way = ("--neighbours", "127.0.5.8/8", "--at", "1", "1")
    assert "chmod 600" in refusal(capsys, "objects", "query", "a", *way)
