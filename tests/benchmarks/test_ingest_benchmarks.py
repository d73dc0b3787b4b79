from pathlib import Path

import pytest

from tests.benchmarks.runs import INGEST, runs_and_writes_json

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", INGEST)
def test_it_runs_and_writes_json(name: str, tmp_path: Path) -> None:
    runs_and_writes_json(name, tmp_path)
