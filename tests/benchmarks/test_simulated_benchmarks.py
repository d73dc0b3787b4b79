from pathlib import Path

import pytest

from tests.benchmarks.runs import SIMULATOR, runs_and_writes_json

pytestmark = pytest.mark.bench


@pytest.mark.parametrize("name", SIMULATOR)
def test_it_runs_and_writes_json(name: str, tmp_path: Path) -> None:
    runs_and_writes_json(name, tmp_path)
