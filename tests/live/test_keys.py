"""Key files: nobody else reads them, and nobody gets in whom a right file does not admit."""

from __future__ import annotations

import os
import resource
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
import zmq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zmq.utils import z85

from bypass.live import allow_list as module
from bypass.live.allow_list import Admitted, AllowList
from bypass.live.broker.loop.descriptors import reserved
from bypass.live.keys import (
    BrokerKeys,
    InvalidKeys,
    create_broker_keys,
    create_client_keys,
    load_broker_keys,
    load_client_keys,
)

PATIENCE = 20.0  # s, before a test gives up on what should happen


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create_broker_keys(tmp_path / "keys")
    return tmp_path / "keys"


def public(folder: Path, name: str) -> bytes:
    return load_client_keys(folder / f"{name}.key").public


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "did not happen"


# -- files ------------------------------------------------------------------------------------------------


def test_keys_are_loaded_as_they_were_made(folder: Path) -> None:
    own, listed = create_client_keys(folder, "alice", ["admin"])
    broker, alice = load_broker_keys(folder / "broker.key"), load_client_keys(own)
    assert alice.name == "alice"
    assert alice.broker == broker.public
    assert zmq.curve_public(alice.secret) == alice.public
    assert zmq.curve_public(broker.secret) == broker.public
    assert alice.public != broker.public
    assert yaml.safe_load(listed.read_text()) == {
        "name": "alice",
        "public": alice.public.decode(),
        "rights": ["admin"],
    }


def test_secrets_are_their_owners_alone_from_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = {}
    sync = os.fsync

    def noting(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        modes[path.name] = stat.S_IMODE(os.fstat(descriptor).st_mode)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    monkeypatch.setattr(os, "chmod", lambda *_: pytest.fail("too late"))
    before = os.umask(0)
    try:
        create_broker_keys(tmp_path / "keys")
        create_client_keys(tmp_path / "keys", "alice")
    finally:
        os.umask(before)
    assert modes == {"broker.key": 0o600, "alice.key": 0o600, "alice.pub": 0o644}
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_nothing_is_overwritten(folder: Path) -> None:
    create_client_keys(folder, "alice")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(InvalidKeys, match=r"broker\.key: exists: expected a new file"):
        create_broker_keys(folder)
    with pytest.raises(InvalidKeys, match=r"alice\.key: exists: expected a new file"):
        create_client_keys(folder, "alice")
    (folder / "alice.key").rename(folder / "moved")
    with pytest.raises(InvalidKeys, match=r"alice\.pub: exists: expected a new file"):
        create_client_keys(folder, "alice")
    assert not (folder / "alice.key").exists()
    (folder / "moved").rename(folder / "alice.key")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_half_a_file_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        create_broker_keys(tmp_path / "keys")
    assert not (tmp_path / "keys" / "broker.key").exists()


@pytest.mark.parametrize("name", ["", "a" * 65, "a/b", "..\n", "ä", "a b", "alice\n"])
def test_names_that_are_none_are_refused(folder: Path, name: str) -> None:
    with pytest.raises(InvalidKeys, match=r"^client '.*': expected 1 to 64 letters, digits, dots, _ and -$"):
        create_client_keys(folder, name)
    assert {path.name for path in folder.rglob("*")} == {"broker.key", "clients"}


@pytest.mark.parametrize("name", ["a", "a" * 64, "A.b_c-9", "..", "007", "null", "yes"])
def test_names_may_look_like_anything_to_yaml(folder: Path, name: str) -> None:
    own, _ = create_client_keys(folder, name)
    alice = load_client_keys(own)
    assert alice.name == name
    assert AllowList(folder / "clients").find(alice.public) == Admitted(name, frozenset())


def test_a_client_cannot_have_the_brokers_name_or_unknown_rights(folder: Path) -> None:
    with pytest.raises(InvalidKeys, match="client 'broker': expected another name"):
        create_client_keys(folder, "broker")
    with pytest.raises(InvalidKeys, match=r"rights: \['root'\]: expected \[admin\] or \[\]"):
        create_client_keys(folder, "alice", ["root"])


def test_a_client_needs_a_broker(tmp_path: Path) -> None:
    with pytest.raises(InvalidKeys, match=r"broker\.key: no such file: expected the broker's keys"):
        create_client_keys(tmp_path / "keys", "alice")
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666])
def test_a_secret_that_others_can_read_is_not_used(folder: Path, mode: int) -> None:
    own, _ = create_client_keys(folder, "alice")
    for path, load in ((folder / "broker.key", load_broker_keys), (own, load_client_keys)):
        path.chmod(mode)
        with pytest.raises(InvalidKeys) as caught:
            load(path)
        assert str(caught.value) == (
            f"{path}: mode {mode:04o}: expected a file that is its owner's alone: chmod 600 {path}"
        )
        path.chmod(0o400)
        load(path)


def test_the_command_that_helps_can_be_pasted(tmp_path: Path) -> None:
    folder = tmp_path / "my keys"
    create_broker_keys(folder).chmod(0o644)
    with pytest.raises(InvalidKeys, match=rf"chmod 600 '{folder}/broker.key'$"):
        load_broker_keys(folder / "broker.key")


SECRET = z85.encode(bytes(range(1, 33))).decode()
PUBLIC = zmq.curve_public(SECRET.encode()).decode()
OTHER = zmq.curve_public(z85.encode(bytes(range(2, 34)))).decode()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "no keys and values: expected a key file"),
        ("- 1", "no keys and values: expected a key file"),
        (f"secret: {SECRET!r}\npublic: [", "not YAML at line 3: expected a key file, with keys in quotes"),
        (f"secret: '{SECRET}", "not YAML at line 1: expected"),
        (f"secret: {{{SECRET}", "not YAML at line 1: expected"),
        ("\0", "not YAML: expected"),
        (f"secret: {SECRET!r}\nsecret: {SECRET!r}", "not YAML at line 2: expected"),
        ("\udcff", "not YAML: expected"),
        (f"public: {PUBLIC!r}", "secret: missing: expected public, secret"),
        (f"public: {PUBLIC!r}\nsecret: {SECRET!r}\nx: 1", "'x': unknown: expected public, secret"),
        (
            f"public: {PUBLIC!r}\nsecret: {SECRET[:39]!r}",
            "secret: no key: expected a key, 40 characters of Z85",
        ),
        (f"public: {PUBLIC!r}\nsecret: [{SECRET!r}]", "secret: no key: expected a key"),
        (f"public: 'abc'\nsecret: {SECRET!r}", "public: 'abc': expected a key, 40 characters of Z85"),
        (
            f"public: '{'~' * 40}'\nsecret: {SECRET!r}",
            "public: '~~~~~~~~~~~~...~~~~~~~~~~~~~': expected a key",
        ),
        (
            f"public: '{'#' * 40}'\nsecret: {SECRET!r}",
            "public: '############...#############': expected a key",
        ),
        (
            f"public: '{'ä' * 40}'\nsecret: {SECRET!r}",
            "public: 'ääääääääääää...äääääääääääää': expected a key",
        ),
        (f"public: {OTHER!r}\nsecret: {SECRET!r}", ": expected the secret's own"),
        (f"# {'x' * 5000}", "more than 4096 bytes: expected a key file"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line_without_the_secret(
    tmp_path: Path, content: str, complaint: str
) -> None:
    path = tmp_path / "broker.key"
    path.touch(0o600)
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(InvalidKeys) as caught:
        load_broker_keys(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert complaint in message
    assert "\n" not in message
    assert SECRET[:8] not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidKeys, match=r"gone\.key: No such file or directory: expected a key file"):
        load_client_keys(tmp_path / "gone.key")
    with pytest.raises(InvalidKeys, match="not a regular file: expected a key file"):
        load_client_keys(tmp_path)


def test_keys_do_not_show_their_secret(folder: Path) -> None:
    own, _ = create_client_keys(folder, "alice")
    for keys in (load_broker_keys(folder / "broker.key"), load_client_keys(own)):
        assert keys.secret.decode() not in repr(keys)
    assert isinstance(load_broker_keys(folder / "broker.key"), BrokerKeys)


# -- the list ---------------------------------------------------------------------------------------------


def test_who_is_listed_is_found_by_either_form_of_the_key(folder: Path) -> None:
    create_client_keys(folder, "alice", ["admin"])
    create_client_keys(folder, "bob")
    listed = AllowList(folder / "clients")
    alice, bob = public(folder, "alice"), public(folder, "bob")
    assert len(listed) == 2
    assert listed.find(alice) == listed.find(alice.decode()) == Admitted("alice", frozenset({"admin"}))
    assert listed.find(z85.decode(bob)) == Admitted("bob", frozenset())
    for key in (OTHER, b"", b"x" * 31, b"x" * 32, b"~" * 40, b"#" * 40, b"\xff" * 40, "ä" * 20):
        assert listed.find(key) is None
    assert listed.problems == {}


def test_clients_come_and_go_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat

    def coarse(path: str | Path) -> SimpleNamespace:
        """As on file systems whose clock ticks every 10 ms."""
        found = real(path)
        changed = found.st_ctime_ns - found.st_ctime_ns % 10_000_000
        return SimpleNamespace(
            st_dev=found.st_dev, st_ino=found.st_ino, st_ctime_ns=changed, st_size=found.st_size
        )

    entry = folder / "clients" / "alice.pub"
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", coarse)
        listed = AllowList(folder / "clients")
        for round_ in range(200):  # many changes in the same tick
            entry.write_text(yaml.safe_dump({"name": "alice", "public": PUBLIC}))
            assert listed.find(PUBLIC) == ("alice", frozenset()), round_
            entry.unlink()
            assert listed.find(PUBLIC) is None, round_


def test_a_client_that_moves_in_with_an_old_file_is_found(folder: Path, tmp_path: Path) -> None:
    _, entry = create_client_keys(folder, "alice")
    os.utime(entry, (0, 0))
    away = entry.rename(tmp_path / "alice.pub")
    listed = AllowList(folder / "clients")
    assert listed.find(public(folder, "alice")) is None
    away.rename(entry)
    assert listed.find(public(folder, "alice")) is not None


def test_a_file_that_is_changed_counts_soon(folder: Path) -> None:
    _, entry = create_client_keys(folder, "alice", ["admin"])
    listed = AllowList(folder / "clients")
    key = public(folder, "alice")
    until(lambda: module._status(folder / "clients") is not None)
    assert listed.find(key) == Admitted("alice", frozenset({"admin"}))
    began = time.monotonic()
    with entry.open("r+") as file:  # the folder does not change
        content = file.read().replace("rights:\n- admin", "rights: []     ")
        file.seek(0)
        file.write(content)
    until(lambda: listed.find(key) == ("alice", frozenset()))
    assert time.monotonic() - began < 2 * module.CHECK_INTERVAL + 1.0


def test_a_list_that_has_not_changed_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_client_keys(folder, "alice")
    create_client_keys(folder, "bob")
    key = public(folder, "alice")
    until(lambda: module._status(folder / "clients" / "bob.pub") is not None)
    monkeypatch.setattr(module, "CHECK_INTERVAL", 0.0)
    monkeypatch.setattr(module, "LONGEST_CHECK_INTERVAL", 0.0)
    listed = AllowList(folder / "clients")
    read: list[Path] = []
    monkeypatch.setattr(module, "read_key_file", lambda path, private: read.append(path))
    assert listed.find(key) == ("alice", frozenset())
    assert read == []


def broken(folder: Path) -> dict[str, str]:
    """Files that admit nobody, and what is said of them."""
    (folder / "cut.pub").write_text("name: cut\npublic: 'abc")
    (folder / "empty.pub").touch()
    (folder / "short.pub").write_text("{name: short, public: abc}")
    (folder / "other.pub").write_text(yaml.safe_dump({"name": "else", "public": OTHER}))
    (folder / "root.pub").write_text(yaml.safe_dump({"name": "root", "public": OTHER, "rights": ["root"]}))
    (folder / "text.pub").write_text(yaml.safe_dump({"name": "text", "public": OTHER, "rights": "admin"}))
    (folder / "nest.pub").write_text(yaml.safe_dump({"name": "nest", "public": OTHER, "rights": [["admin"]]}))
    (folder / "both.pub").write_text(yaml.safe_dump({"name": "both", "public": OTHER, "secret": SECRET}))
    (folder / "a b.pub").write_text(yaml.safe_dump({"name": "a b", "public": OTHER}))
    (folder / "deep.pub").write_text("[" * 4000)
    (folder / "tag.pub").write_text("!!int ''")
    (folder / "folder.pub").mkdir()
    os.mkfifo(folder / "pipe.pub")
    (folder / "gone.pub").symlink_to("nowhere")
    return {
        "cut.pub": "not YAML at line",
        "empty.pub": "no keys and values",
        "short.pub": "public: 'abc': expected a key",
        "other.pub": "name: 'else': expected that of the file, 'other'",
        "root.pub": "rights: ['root']: expected [admin] or []",
        "text.pub": "rights: 'admin': expected [admin] or []",
        "nest.pub": "rights: [['admin']]: expected",
        "both.pub": "'secret': unknown: expected name, public, rights",
        "a b.pub": "'a b': expected 1 to 64 letters",
        "deep.pub": "not YAML",
        "tag.pub": "no keys and values",
        "folder.pub": "not a regular file",
        "pipe.pub": "not a regular file",
        "gone.pub": "No such file or directory",
    }


def test_broken_files_admit_nobody_and_harm_nobody(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    create_client_keys(folder, "alice")
    expected = broken(folder / "clients")
    (folder / "clients" / "README").write_text("not looked at")
    listed = AllowList(folder / "clients")
    assert listed.find(public(folder, "alice")) == ("alice", frozenset())
    assert listed.find(OTHER) is None
    assert len(listed) == 1
    assert listed.problems.keys() == expected.keys()
    for name, complaint in expected.items():
        assert complaint in listed.problems[name]
        assert "\n" not in listed.problems[name]
    assert SECRET not in caplog.text
    assert sorted(caplog.messages) == sorted(f"not admitted: {each}" for each in listed.problems.values())


def test_a_problem_is_logged_once_and_forgotten_when_it_is_solved(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, entry = create_client_keys(folder, "alice")
    right = entry.read_text()
    entry.write_text("name: alice")
    listed = AllowList(folder / "clients")
    key = public(folder, "alice")
    for name in ("bob", "carol"):
        create_client_keys(folder, name)
        assert listed.find(key) is None
    assert caplog.messages == [f"not admitted: {entry}: public: missing: expected name, public, rights"]
    entry.unlink()
    entry.write_text(right)
    assert listed.find(key) == ("alice", frozenset())
    assert listed.problems == {}


def test_of_two_files_with_one_key_the_first_counts(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    _, entry = create_client_keys(folder, "alice")
    key = public(folder, "alice")
    clients = folder / "clients"
    again = {"name": "bob", "public": key.decode(), "rights": ["admin"]}
    (clients / "bob.pub").write_text(yaml.safe_dump(again))
    listed = AllowList(clients)
    assert listed.find(key) == ("alice", frozenset())
    assert listed.problems == {"bob.pub": f"{clients}/bob.pub: public: that of alice.pub: expected another"}
    assert caplog.messages == [
        f"not admitted: {clients}/bob.pub: public: that of alice.pub: expected another"
    ]
    entry.unlink()
    assert listed.find(key) == Admitted("bob", frozenset({"admin"}))
    assert listed.problems == {}


def test_who_was_admitted_stays_so_while_the_list_cannot_be_read(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    create_client_keys(folder, "alice")
    clients, away = folder / "clients", folder / "away"
    key = public(folder, "alice")
    listed = AllowList(clients)
    clients.rename(away)
    problem = (
        f"{clients}: No such file or directory: expected a folder of .pub files: "
        "who was admitted before stays so, nobody else is"
    )
    for _ in range(3):
        assert listed.find(key) == ("alice", frozenset())
    assert listed.problems == {str(clients): problem}
    clients.write_text("a file")
    assert listed.find(key) == ("alice", frozenset())
    assert "Not a directory" in listed.problems[str(clients)]
    assert len(caplog.messages) == 2
    assert listed.not_read >= 4
    assert listed.changes == 1  # as at the start
    (away / "alice.pub").unlink()
    clients.unlink()
    away.rename(clients)
    assert listed.find(key) is None
    assert listed.problems == {}


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_without_a_descriptor_who_is_listed_stays_so_and_who_is_deleted_does_not(folder: Path) -> None:
    entries = {name: create_client_keys(folder, name)[1] for name in ("alice", "bob")}
    keys = {name: public(folder, name) for name in entries}
    listed = AllowList(folder / "clients")
    with no_descriptor_left():
        assert listed.find(keys["alice"]) == ("alice", frozenset())
        assert listed.find(keys["bob"]) == ("bob", frozenset())
        assert "Too many open files" in listed.problems[str(folder / "clients")]
        entries["bob"].unlink()
        assert listed.find(keys["bob"]) is None
        assert listed.find(keys["alice"]) == ("alice", frozenset())
    assert listed.not_read > 0
    create_client_keys(folder, "carol")
    assert listed.find(public(folder, "carol")) == ("carol", frozenset())
    assert listed.problems == {}


def test_a_file_that_cannot_be_read_now_counts_as_it_was(folder: Path) -> None:
    _, entry = create_client_keys(folder, "alice")
    key, content = public(folder, "alice"), entry.read_bytes()
    listed = AllowList(folder / "clients")
    entry.unlink()
    entry.symlink_to(entry)  # whoever follows it gets an error that says nothing about the file
    assert listed.find(key) == ("alice", frozenset())
    assert "Too many levels of symbolic links" in listed.problems["alice.pub"]
    assert listed.not_read > 0
    entry.unlink()
    entry.write_bytes(content.replace(b"alice", b"bob"))
    assert listed.find(key) is None


def test_a_file_that_is_being_written_counts_as_it_was(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, entry = create_client_keys(folder, "alice", rights=("admin",))
    key, content = public(folder, "alice"), entry.read_bytes()
    listed = AllowList(folder / "clients")
    was = listed.find(key)
    assert was == ("alice", frozenset({"admin"}))
    unfinished = [content[:length] for length in range(content.index(key) + len(key))]
    for half in (*unfinished, b"\xff\0garbage", b"[" * 4000, b"x" * 5000, content + b"more: 1\n"):
        entry.unlink()
        entry.write_bytes(half)
        assert listed.find(key) == was
        assert listed.problems.keys() == {"alice.pub"}
    assert listed.not_read >= len(unfinished)
    assert all(each.startswith("not read: ") for each in caplog.messages)
    assert listed.changes == 1
    entry.unlink()
    assert listed.find(key) is None


def test_descriptors_that_are_kept_back_read_the_list(folder: Path) -> None:
    create_client_keys(folder, "alice")
    listed = AllowList(folder / "clients", reserved)
    create_client_keys(folder, "bob")
    key = public(folder, "bob")
    with no_descriptor_left():
        assert listed.find(key) == ("bob", frozenset())
    assert listed.not_read == 0


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode(errors="replace")))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_in_a_file_the_list_goes_on(folder: Path, content: bytes) -> None:
    if not (folder / "alice.key").exists():
        create_client_keys(folder, "alice")
    (folder / "clients" / "bad.pub").write_bytes(content)
    listed = AllowList(folder / "clients")
    assert len(listed) == 1
    assert set(listed.problems) == {"bad.pub"}
    assert "\n" not in listed.problems["bad.pub"]
    assert listed.find(public(folder, "alice")) == ("alice", frozenset())
