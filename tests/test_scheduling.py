"""Files that are marked with the same group share a worker of xdist, as those that start Spark do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.product import ROOT

CONFTEST = """
from tests.scheduling import ByFile

def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)
"""

NOTING = """
import os
from pathlib import Path

import pytest

{mark}

@pytest.mark.parametrize("number", range(2))
def test_noting(number):
    with Path(__file__).with_suffix(".txt").open("a") as notes:
        print(os.environ["PYTEST_XDIST_WORKER"], file=notes)
"""


@pytest.mark.slow
def test_files_of_a_group_share_a_worker_and_others_do_not(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    marked = 'pytestmark = pytest.mark.xdist_group("same")'
    for name, mark in {"a": marked, "b": "", "c": marked, "d": marked}.items():
        (tmp_path / f"test_{name}.py").write_text(NOTING.format(mark=mark))
    run = [sys.executable, "-m", "pytest", "-n", "2", "--no-loadscope-reorder", "--rootdir", str(tmp_path)]
    path = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run([*run, "-p", "xdist", str(tmp_path)], env=ours | path, check=True, capture_output=True)
    a, b, c, d = (path.read_text().split() for path in sorted(tmp_path.glob("*.txt")))
    assert {*a, *c, *d} == {a[0]}
    assert {*b} == {b[0]}
    assert a[0] != b[0]
