"""`bypass ingest register`: devices of a file, with code of one's own beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bypass.cli.group import commands
from bypass.ingest.devices.device import Device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.registry import DeviceRegistry
from tests.command import bypass, refused
from tests.ingest.pipeline import Pipeline, message

PARSER = """
from bypass.ingest.parsers.parser import Parsed, Parser

class Own(Parser):
    def parse(self, data, received):
        return Parsed(None, [])
"""


def register(folder: Path, devices: Path) -> Result:
    return CliRunner().invoke(commands, ["ingest", "register", "--folder", str(folder), str(devices)])


def test_files_of_code_are_found_from_the_folder_of_the_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "site" / "own.py").write_text(PARSER)
    (tmp_path / "site" / "devices.yaml").write_text("{id: pump, parser: own.py:Own}")
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = register(tmp_path / "ingest", Path("../site/devices.yaml"))
    assert done.exit_code == 0, done.output
    with DeviceRegistry(tmp_path / "ingest" / "registry.db") as registry:
        pump = registry.find("pump")
    assert pump is not None
    assert pump.parser == f"{tmp_path}/site/own.py:Own"


def test_a_key_set_that_is_not_there_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "devices.yaml").write_text(
        "[{id: a, suite: AES256-GCM, keys: there}, {id: b, suite: AES256-GCM, keys: gone},"
        " {id: c, peer: {kind: jwt, keys: issuer}}]"
    )
    KeyStore(tmp_path / "ingest" / "keys").generate("there", {"cipher": 32})
    done = register(tmp_path / "ingest", tmp_path / "devices.yaml")
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines() == [
        "warning: device b: key set gone: is not in the key store",
        "warning: device c: key set issuer: is not in the key store",
    ]


def test_a_file_without_devices_is_refused(tmp_path: Path) -> None:
    (tmp_path / "devices.yaml").write_text("[pump]")
    done = register(tmp_path / "ingest", tmp_path / "devices.yaml")
    assert "'pump': expected the keys of a device" in f"{done.exception}"


def test_devices_are_removed_all_or_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "ingest"
    _, error = refused(capsys, "ingest", "unregister", "a", "--folder", folder)
    assert (error, folder.exists()) == ("device 'a': is not registered", False)
    pipeline = Pipeline(folder, *(Device(id=name) for name in "abc"))
    _, error = refused(capsys, "ingest", "unregister", "a", "d", "--folder", folder)
    assert error == "device 'd': is not registered"
    assert bypass("ingest", "unregister", "a", "b", "--folder", folder) == 0
    assert capsys.readouterr().out == "2 removed; version 2\n"
    pipeline.append(*((name, message(name, 1_763_459_000_000, v=1)) for name in "abc"))
    progress = pipeline.run()
    assert (progress.stored, progress.dead_letters) == (1, {"unknown device": 2})


@pytest.mark.parametrize("command", ["status", "register", "unregister"])
def test_a_registry_that_cannot_be_opened_is_said_in_one_line(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Pipeline(tmp_path / "ingest").folder
    for path in folder.path.glob("registry.db*"):
        path.unlink()
    folder.registry.write_bytes(b"no database" * 100)
    (tmp_path / "devices.yaml").write_text("{id: pump}")
    more = {"status": (), "register": (tmp_path / "devices.yaml",), "unregister": ("pump",)}[command]
    _, error = refused(capsys, "ingest", command, "--folder", folder.path, *more)
    expected = f"{folder.registry}: file is not a database: expected a registry that can be opened"
    assert error == expected
