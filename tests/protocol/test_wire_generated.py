"""The generated code in the tree is what the schema says, and the installed protobuf takes it quietly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from grpc_tools import protoc

import bypass

ROOT = Path(bypass.__file__).parents[1]


@pytest.mark.parametrize(
    "schema", ["bypass/protocol/wire/bypass.proto", "bypass/ingest/parsers/telemetry.proto"]
)
def test_generated_code_is_current(schema: str, tmp_path: Path) -> None:
    arguments = [f"-I{ROOT}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", str(ROOT / schema)]
    assert protoc.main(["protoc", *arguments]) == 0
    for ending in ("_pb2.py", "_pb2.pyi"):
        name = schema.removesuffix(".proto") + ending
        assert (ROOT / name).read_text() == (tmp_path / name).read_text(), f"{name}: run protoc again"


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
