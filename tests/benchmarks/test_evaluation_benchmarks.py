"""In this process: one Java serves all of them."""

from pathlib import Path

import pytest

from tests.benchmarks.runs import EVALUATION, check, run_here

pytestmark = pytest.mark.bench


@pytest.mark.parametrize("name", EVALUATION)
def test_it_runs_and_writes_json(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_here(name, [*EVALUATION[name], "--out", str(tmp_path)], monkeypatch)
    check(name, capsys.readouterr().out, tmp_path)
