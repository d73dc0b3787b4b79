"""A cached kernel is used as long as none of its sources has changed, and only if it can be read."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

pytestmark = pytest.mark.slow

CONSTANTS = "STEP = 1\n"
INNER = """
from bypass.support.kernel import kernel
from constants import STEP

@kernel
def inner(x):
    return x + STEP
"""
OUTER = """
from bypass.support.kernel import kernel
from inner import inner

@kernel
def outer(x):
    return 10 * inner(x)
"""
USE = "from outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"

# Has compiled something, which takes a second, and forks: each child has imported nothing of a test's yet.
FORKING = """
import json, os, sys, traceback
import numba
import bypass.support.kernel

numba.njit(lambda x: x + 1)(1)
for line in sys.stdin:
    folder, program, printed = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        with open(printed, "w") as output, open(printed + ".err", "w") as errors:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            try:
                exec(program, {})
                code = 0
            except BaseException:
                traceback.print_exc()
                code = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module", autouse=True)
def forking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The process that `use` has its processes from."""
    command = [sys.executable, "-B", "-c", FORKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        Forking.process, Forking.printed = process, tmp_path_factory.mktemp("printed") / "output"
        yield


class Forking:
    process: subprocess.Popen[str]
    printed: Path


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three modules, the kernels of which are cached."""
    made = tmp_path_factory.mktemp("compiled")
    for name, text in (("constants", CONSTANTS), ("inner", INNER), ("outer", OUTER)):
        (made / f"{name}.py").write_text(text)
    assert use(made) == "20 0"
    return made


@pytest.fixture
def folder(compiled: Path, tmp_path: Path) -> Path:
    """A copy of them, of the same age."""
    return Path(shutil.copytree(compiled, tmp_path / "modules"))


def use(folder: Path, program: str = USE) -> str:
    """Run a process that calls `outer`; gives its result and how often it was in the cache."""
    asked, ended = Forking.process.stdin, Forking.process.stdout
    assert asked is not None
    assert ended is not None
    print(json.dumps([str(folder), program, str(Forking.printed)]), file=asked, flush=True)
    assert ended.readline() == "0\n", Forking.printed.with_suffix(".err").read_text()
    return Forking.printed.read_text().strip()


def cached(folder: Path, pattern: str) -> list[Path]:
    found = sorted((folder / "__pycache__").glob(pattern))
    assert found
    return found


def test_what_was_compiled_is_used(folder: Path) -> None:
    assert use(folder) == "20 1"


@pytest.mark.parametrize(
    ("name", "text"),
    [("constants", "STEP = 2\n"), ("inner", INNER.replace("x + STEP", "2 + x * STEP"))],
)
def test_a_kernel_is_compiled_again_if_what_it_is_made_from_changes(
    folder: Path, name: str, text: str
) -> None:
    (folder / f"{name}.py").write_text(text)
    assert use(folder) == "30 0"
    assert use(folder) == "30 1"


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_files_that_are_cut_off_are_made_again(folder: Path, kind: str) -> None:
    for path in cached(folder, kind):
        path.write_bytes(path.read_bytes()[:-20])
    assert use(folder) == "20 0"
    assert use(folder) == "20 1"


def test_an_index_that_names_a_module_that_is_gone_is_made_again(folder: Path) -> None:
    gone = b"cbypass.gone\nThing\n."  # what pickle writes for a class, by hand: the class is not there
    for path in cached(folder, "*.nbi"):
        path.write_bytes(pickle.dumps(numba.__version__) + gone)
    assert use(folder) == "20 0"
    assert use(folder) == "20 1"


def test_data_that_an_interrupted_process_left_under_an_old_name_are_not_used(folder: Path) -> None:
    old = {path: path.read_bytes() for path in cached(folder, "*.nbc")}
    (folder / "inner.py").write_text(INNER.replace("x + STEP", "2 + x * STEP"))
    assert use(folder) == "30 0"
    for path, content in old.items():
        path.write_bytes(content)
    assert use(folder) == "30 0"


def test_a_folder_that_can_no_longer_be_written_to_does_no_harm(folder: Path) -> None:
    broken = "import outer, shutil; shutil.rmtree('__pycache__'); open('__pycache__', 'w').close(); " + USE
    assert use(folder, broken) == "20 0"


def test_what_was_compiled_while_sources_changed_is_not_kept(folder: Path) -> None:
    shutil.rmtree(folder / "__pycache__")
    changed = INNER.replace("x + STEP", "2 + x * STEP")
    (folder / "first.py").write_text(OUTER.replace("from inner import inner", "inner = abs"))
    edited = f"import first; open('inner.py', 'w').write({changed!r}); " + USE
    assert use(folder, edited) == "30 0"
    (folder / "inner.py").write_text(INNER)
    assert use(folder) == "20 0"
