"""Kernels are cached where they can be, and compiled all the same where they cannot."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MODULE = """
from bypass.support.kernel import kernel

@kernel
def one(x):
    return x + 1

@kernel
def two(x):
    return one(x) + 1
"""
USE = "import module; print(module.two(1), sum(getattr(module.two.stats, 'cache_hits').values()))"


NO_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"


def use(folder: Path, before: str = "", **environ: str) -> tuple[str, str]:
    """Run a process that can cache neither beside sources nor at home, and does something `before`; gives its
    output and its warnings."""
    if not (folder / "module.py").exists():  # another time of change would be another version
        (folder / "module.py").write_text(MODULE)
    (folder / "__pycache__").touch()  # a file in the way: not even root can write into it
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    done = subprocess.run(
        [sys.executable, "-c", before + USE],
        cwd=folder,
        env={**kept, "HOME": "/dev/null", **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


def private(folder: Path) -> bool:
    status = folder.lstat()
    return stat.S_IMODE(status.st_mode) == 0o700 and status.st_uid == os.geteuid()


def test_without_a_home_kernels_are_cached_in_a_private_folder(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    assert use(tmp_path, TMPDIR=str(temporary)) == ("3 0", "")
    (folder,) = temporary.iterdir()
    assert private(folder)
    assert list(folder.rglob("*.nbi"))
    assert use(tmp_path, TMPDIR=str(temporary)) == ("3 1", "")


def test_a_folder_that_a_service_is_given_comes_first(tmp_path: Path) -> None:
    for name in ("given", "tmp"):
        (tmp_path / name).mkdir()
    assert use(tmp_path, CACHE_DIRECTORY=f"{tmp_path}/given", TMPDIR=f"{tmp_path}/tmp") == ("3 0", "")
    assert private(tmp_path / "given" / "bypass-kernels")
    assert not list((tmp_path / "tmp").iterdir())


def test_a_folder_that_others_could_write_to_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "tmp" / f"bypass-kernels-{os.geteuid()}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    printed, warned = use(tmp_path, TMPDIR=str(folder.parent))
    assert printed == "3 0"
    assert warned.count("no folder to cache compiled kernels in") == 1
    assert not list(folder.iterdir())


def test_where_nothing_can_be_written_to_each_process_compiles_anew(tmp_path: Path) -> None:
    """There is no folder for temporary files either."""
    printed, warned = use(tmp_path, NO_FILES)
    assert printed == "3 0"
    assert warned.count("no folder to cache compiled kernels in") == 1


def test_a_kernel_that_borrows_its_arrays_makes_none(tmp_path: Path) -> None:
    module = """
import numpy as np
from bypass.support.kernel import borrowing_kernel, kernel

@kernel
def lends(x):
    return np.zeros(3)[0] + x[0]

@borrowing_kernel
def borrows(x):
    return np.zeros(3)[0] + x[0]
"""
    (tmp_path / "module.py").write_text(module)
    for name, known in (("lends", True), ("borrows", False)):
        use = f"import module, numpy; print(module.{name}(numpy.ones(3)))"
        done = subprocess.run([sys.executable, "-c", use], cwd=tmp_path, capture_output=True, text=True)
        assert (done.stdout == "1.0\n") is known
        assert ("No implementation of function" in done.stderr) is not known


def test_what_was_compiled_for_a_class_that_is_gone_is_compiled_anew(tmp_path: Path) -> None:
    module = """
from typing import NamedTuple
from bypass.support.kernel import kernel

class {name}(NamedTuple):
    x: int

@kernel
def one(pair):
    return pair.x + 1
"""
    for name in ("Before", "After"):
        (tmp_path / "module.py").write_text(module.format(name=name))
        use = f"import module; print(module.one(module.{name}(1)))"
        done = subprocess.run(
            [sys.executable, "-c", use], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout == "2\n"
