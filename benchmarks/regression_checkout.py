"""Commits of this project side by side: each is checked out on its own and runs nothing but its own code."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROBE = Path(__file__).with_name("regression_probe.py")


class TaskFailed(Exception):
    """A process of a checkout has not ended well. The text is the last line that it wrote to stderr."""


class Checkout:
    """The files of one commit, what it was asked for by, and a folder for the kernels it compiles."""

    def __init__(self, name: str, commit: str, root: Path, kernels: Path) -> None:
        self.name, self.commit, self.root = name, commit, root
        # Before site-packages, where .pth files and editable installs lead to other sources.
        path = os.pathsep.join((str(root), str(root / "benchmarks")))
        self._environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(kernels)}

    async def run(self, task: str, *arguments: str, cwd: Path) -> str:
        """Do a task of `regression_probe.py` in a new process, in folder `cwd`, and give what it prints.

        The process is ended if who waits for it is. Raises TaskFailed, also if code of another tree ran.
        """
        cwd.mkdir(parents=True, exist_ok=True)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(PROBE), str(self.root), task, *arguments),
            cwd=cwd,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            printed, said = await process.communicate()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
        if process.returncode:
            lines = said.decode().split("\n")
            raise TaskFailed(next(filter(None, reversed(lines)), f"ended with {process.returncode}"))
        return printed.decode()


def commit_of(repository: Path, revision: str) -> str:
    """The commit that a revision names. Raises ValueError if it names none."""
    try:
        return git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except subprocess.CalledProcessError:
        raise ValueError(f"{revision!r} is no commit of {repository}: expected a git revision") from None


def snapshot(repository: Path) -> str:
    """A commit of the files as they are now, new ones included, ignored ones not; HEAD if nothing changed.

    It is on no branch. The index stays as it is.
    """
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        git(repository, "read-tree", "HEAD", **index)
        git(repository, "add", "--all", **index)
        tree = git(repository, "write-tree", **index)
    if tree == git(repository, "rev-parse", "HEAD^{tree}"):
        return git(repository, "rev-parse", "HEAD")
    by = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost")
    return git(repository, *by, "commit-tree", tree, "-p", "HEAD", "-m", "Files as they are")


@contextmanager
def checked_out(repository: Path, name: str, commit: str) -> Iterator[Checkout]:
    """Check a commit out into a temporary worktree, which is removed afterwards, also after Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="bypass-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve() / "checkout"
        try:
            git(repository, "worktree", "add", "--quiet", "--detach", str(root), commit)
            yield Checkout(name, commit, root, Path(folder, "kernels"))
        finally:
            if root.exists():  # git removes what it has not finished
                git(repository, "worktree", "remove", "--force", str(root))


def git(repository: Path, *arguments: str, **environ: str) -> str:
    """Run git and return its output. Raises CalledProcessError; git itself says why, unless it is told to be
    quiet."""
    command = ["git", "-C", str(repository), *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | environ)
    return done.stdout.strip()
