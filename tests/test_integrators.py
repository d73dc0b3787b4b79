"""The commands and files of docs/integrators.md work."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "integrators.md").read_text()
EXAMPLES = ROOT / "examples"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
ROTATION, BACKUP, RESTORE = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def sh(commands: str, folder: Path) -> str:
    """Run commands and return their output. Raises AssertionError if one fails."""
    environment = {**os.environ, "PATH": PATH}
    done = subprocess.run(
        ["bash", "-e"], input=commands, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def broker(folder: Path) -> Iterator[None]:
    command = [sys.executable, "-c", "from bypass.cli import main; main()", "broker"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        assert any("listens on" in line for line in process.stdout)
        yield
    finally:
        process.terminate()
        process.communicate()


def test_a_backup_of_a_running_broker_is_restored_and_keys_are_rotated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("sqlite3") is None:
        pytest.skip("needs the program sqlite3")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{probe.getsockname()[1]}"  # others may use the one of the example
    monkeypatch.setenv("BYPASS_BROKER_LISTEN", f"tcp://{endpoint}")
    program = (EXAMPLES / "live_client.py").read_text().replace("127.0.0.1:7700", endpoint)
    (tmp_path / "live_client.py").write_text(program)
    client = f"{sys.executable} live_client.py"
    sh("bypass keygen; for name in alice bob; do bypass keygen $name; done", tmp_path)
    with broker(tmp_path):
        sh(f"{client} bob subscribe; {client} alice say before", tmp_path)
        sh(BACKUP, tmp_path)
        sh(f"{client} alice say after", tmp_path)
    sh(RESTORE, tmp_path)
    with broker(tmp_path):
        sh(ROTATION, tmp_path)
        sh(f"{client} alice say again", tmp_path)
        assert sh(f"{client} bob hear 2", tmp_path).splitlines() == ["bob hears: before", "bob hears: again"]


def test_the_key_of_the_broker_is_rotated_and_sessions_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page says: keys for everybody in a second folder, made by the commands that it names."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{probe.getsockname()[1]}"
    monkeypatch.setenv("BYPASS_BROKER_LISTEN", f"tcp://{endpoint}")
    text = " ".join(PAGE.split())
    (told,) = re.findall(r"To rotate it, .*? Sessions stay", text)
    *made, keys, clients = re.findall(r"`(.*?)`", told)
    assert [keys, clients] == ["keys: keys-2/broker.key", "clients: keys-2/clients"]
    program = (EXAMPLES / "live_client.py").read_text().replace("127.0.0.1:7700", endpoint)
    (tmp_path / "old.py").write_text(program)
    (tmp_path / "new.py").write_text(program.replace("keys/{name}", "keys-2/{name}"))
    sh("bypass keygen; for name in alice bob; do bypass keygen $name; done", tmp_path)
    old, new = (f"{sys.executable} {name}.py" for name in ("old", "new"))
    with broker(tmp_path):
        sh(f"{old} bob subscribe; {old} alice say before", tmp_path)
        sh("; ".join((*made, made[-1].replace("alice", "bob"))), tmp_path)  # while it runs
    for setting in (keys, clients):
        name, _, value = setting.partition(": ")
        monkeypatch.setenv(f"BYPASS_BROKER_{name.upper()}", value)
    with broker(tmp_path):
        sh(f"{new} alice say again", tmp_path)
        assert sh(f"{new} bob hear 2", tmp_path).splitlines() == ["bob hears: before", "bob hears: again"]
        with pytest.raises(AssertionError, match="expected"):
            sh(f"{old} alice say nothing", tmp_path)


def test_an_image_has_what_is_installed_and_no_secrets() -> None:
    ignored = (ROOT / ".containerignore").read_text().split("\n")
    assert {"keys", "**/*.key", "**/*.db", ".git", ".venv"} <= {*ignored}
    needed = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "bypass", "mechanisms", "models")
    for name in (*needed, "scenarios", "transitions"):
        assert (ROOT / name).exists()
        assert not any(fnmatch(name, pattern) for pattern in ignored)


def test_the_unit_is_one(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs the program systemd-analyze")
    unit = (EXAMPLES / "bypass-broker.service").read_text().replace("/opt/bypass/bin/bypass", sys.executable)
    (tmp_path / "bypass-broker.service").write_text(unit)
    verified = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "bypass-broker.service")], capture_output=True, text=True
    )
    assert (verified.returncode, verified.stderr) == (0, "")


def test_the_containerfile_has_instructions_alone() -> None:
    text = re.sub(r"\\\n", "", (EXAMPLES / "Containerfile").read_text())
    found = [line.split()[0] for line in text.splitlines() if line and not line.startswith("#")]
    assert found == ["FROM", "COPY", "RUN", "USER", "WORKDIR", "ENV", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"]


def test_the_program_of_the_page_can_be_compiled() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    compile(program, "integrators.md", "exec")
