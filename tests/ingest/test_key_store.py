"""The key store: keys are its owner's alone, change without a gap, and are never shown."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.security.private_file import InvalidKeyFile

SECRET = b"a very secret key, of 32 bytes.."


def test_keys_are_stored_rotated_retired_and_removed(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    store.add("pump", {"mac": SECRET})
    assert [dict(each) for each in store.find("pump")] == [{"mac": SECRET}]
    for number in range(3):
        store.rotate("pump", {"mac": bytes([number]) * 32})
    assert [each["mac"] for each in store.find("pump")] == [b"\x02" * 32, b"\x01" * 32]
    store.retire("pump")
    assert [each["mac"] for each in KeyStore(tmp_path / "keys").find("pump")] == [b"\x02" * 32]
    made = store.generate("valve", {"encryption": 32, "mac": 64})
    assert [len(key) for key in made.values()] == [32, 64]
    assert store.names() == ["pump", "valve"]
    store.remove("pump")
    assert store.names() == ["valve"]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "keys").iterdir()} == {0o600}


def test_keys_are_not_shown(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    store.add("pump", {"mac": SECRET})
    assert repr(store.find("pump")) == "(KeySet(mac),)"
    (tmp_path / "keys" / "pump.json").write_text(f'[{{"mac": "{base64.b64encode(SECRET).decode()}" ]')
    with pytest.raises(InvalidKeyFile) as caught:
        store.find("pump")
    assert "expected JSON, with keys in Base64" in str(caught.value)
    assert base64.b64encode(SECRET).decode()[:8] not in str(caught.value)
    assert caught.value.__cause__ is None


def test_files_that_others_may_read_are_refused(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    store.add("pump", {"mac": SECRET})
    (tmp_path / "keys" / "pump.json").chmod(0o640)
    with pytest.raises(InvalidKeyFile, match=r"pump.json: mode 0640: .* owner's alone: chmod 600"):
        store.find("pump")
    (tmp_path / "keys").chmod(0o750)
    with pytest.raises(InvalidKeyFile, match=r"keys: mode 0750: .* owner's alone: chmod 700"):
        KeyStore(tmp_path / "keys")


@pytest.mark.parametrize("name", ["", "../pump", ".hidden", "a/b", "x" * 129, "a\n"])
def test_names_that_are_no_names_are_refused(tmp_path: Path, name: str) -> None:
    store = KeyStore(tmp_path / "keys")
    for call in (store.find, store.remove):
        with pytest.raises(InvalidKeyFile, match="expected 1 to 128 letters"):
            call(name)


def test_what_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    store.add("pump", {"mac": SECRET})
    with pytest.raises(InvalidKeyFile, match="exists: expected a new name"):
        store.add("pump", {"mac": bytes(32)})
    with pytest.raises(InvalidKeyFile, match="keys for encryption: expected keys for mac"):
        store.rotate("pump", {"encryption": bytes(32)})
    with pytest.raises(InvalidKeyFile, match="No such file"):
        store.rotate("valve", {"mac": SECRET})
    with pytest.raises(InvalidKeyFile, match="No such file"):
        store.remove("valve")
    assert [each["mac"] for each in store.find("pump")] == [SECRET]


def test_keys_of_former_versions_are_found_until_they_are_forgotten(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    store.add("pump", {"mac": SECRET})
    store.add("valve", {"mac": SECRET})
    store.rotate("pump", {"mac": bytes(32)})
    store.retire("pump")
    store.remove("valve")
    store.add("valve", {"mac": b"v" * 32})
    assert store.version == 6

    def found(name: str, version: int) -> list[bytes] | None:
        try:
            return [each["mac"] for each in KeyStore(tmp_path / "keys", version).find(name)]
        except InvalidKeyFile:
            return None

    pump = [None, [SECRET], [SECRET], [bytes(32), SECRET], [bytes(32)], [bytes(32)], [bytes(32)]]
    valve = [None, None, [SECRET], [SECRET], [SECRET], None, [b"v" * 32]]
    assert [found("pump", version) for version in range(7)] == pump
    assert [found("valve", version) for version in range(7)] == valve
    for before in range(1, 7):
        store.forget(before)
        assert [found("pump", version) for version in range(before, 7)] == pump[before:]
        assert [found("valve", version) for version in range(before, 7)] == valve[before:]
    files = [path.read_bytes() for path in (tmp_path / "keys").iterdir()]
    assert not any(base64.b64encode(SECRET) in content for content in files)
    store.remove("pump")
    store.forget(store.version)
    assert (store.names(), (tmp_path / "keys" / "pump.json").exists()) == (["valve"], False)


def test_a_change_that_was_broken_off_is_of_no_version(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    store.add("pump", {"mac": SECRET})
    version = tmp_path / "keys" / "version"
    store.retire("pump")
    version.write_text("1")  # the process was killed before it wrote this
    store.rotate("pump", {"mac": bytes(32)})
    assert [each["mac"] for each in KeyStore(tmp_path / "keys", 1).find("pump")] == [SECRET]
    assert [each["mac"] for each in KeyStore(tmp_path / "keys", 2).find("pump")] == [bytes(32), SECRET]


def test_a_key_set_that_cannot_be_read_keeps_no_other_from_being_forgotten(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys")
    for name in ("a", "b"):
        store.add(name, {"key": b"1" * 16})
    store.rotate("b", {"key": b"2" * 16})
    store.retire("b")
    (tmp_path / "keys" / "a.json").chmod(0o644)
    (tmp_path / "keys" / ".b.json.99").write_text("left by a process that was killed")
    store.forget(store.version)
    assert (tmp_path / "keys" / "b.json").read_text().count("since") == 1
    assert not list((tmp_path / "keys").glob(".*"))
