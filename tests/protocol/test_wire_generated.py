"""The generated code in the tree is what the schema says, and the installed protobuf takes it quietly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from grpc_tools import protoc

import bypass.protocol.wire

SCHEMA = Path(bypass.protocol.wire.__file__).with_name("bypass.proto")
ROOT = SCHEMA.parents[3]


def test_generated_code_is_current(tmp_path: Path) -> None:
    arguments = [f"-I{ROOT}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", str(SCHEMA)]
    assert protoc.main(["protoc", *arguments]) == 0
    for name in ("bypass_pb2.py", "bypass_pb2.pyi"):
        generated = tmp_path / "bypass" / "protocol" / "wire" / name
        assert SCHEMA.with_name(name).read_text() == generated.read_text(), f"{name}: run protoc again"


@pytest.mark.parametrize("heavy", ["numba", "numpy", "scipy", "pyarrow", "matplotlib", "pydantic"])
def test_importing_is_light(heavy: str, imported: set[str]) -> None:
    assert "bypass.protocol.wire.codec" in imported
    assert heavy not in imported


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules that `import bypass.protocol.wire` loads, in an interpreter where a warning is an error."""
    script = "import sys, bypass.protocol.wire; print(*sys.modules)"
    command = [sys.executable, "-W", "error", "-c", script]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
