"""The command line as tests use it: in this process, or in one of its own that may be interrupted."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

from bypass.cli import main

# Whoever runs the tests in the background has them, and their children, ignore interruptions.
COMMAND = (
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from bypass.cli import main; main()",
)


def bypass(*args: object) -> int:
    """Run the command line in this process; gives the exit code."""
    with pytest.raises(SystemExit) as exit_:
        main([str(arg) for arg in args])
    code = exit_.value.code
    return code if isinstance(code, int) else 0


def refused(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[str, str]:
    """Run a command that must fail; gives its output, and its one line of error without the prefix."""
    capsys.readouterr()
    assert bypass(*args) == 2
    out, err = capsys.readouterr()
    assert err.startswith("bypass: error: ")
    assert err.count("\n") == 1
    return out, err.removeprefix("bypass: error: ").rstrip()


def refusal(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    """The one line of a command that says no, and nothing else."""
    out, line = refused(capsys, *args)
    assert out == ""
    return line


def on_a_terminal(
    *args: object, interrupt_at: str | None = None, before: Callable[[int], None] = lambda _process: None
) -> tuple[int, str]:
    """Run the command with a terminal for stderr; gives the exit code and what the terminal has seen.

    It is interrupted as soon as the terminal has seen the pattern `interrupt_at`, after `before` was called
    with its process id.
    """
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, *map(str, args)], stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        seen = ""
        with suppress(OSError):  # how a terminal ends on Linux
            while chunk := os.read(ours, 4096):
                seen += chunk.decode()
                if interrupt_at is not None and re.search(interrupt_at, seen):
                    before(process.pid)
                    process.send_signal(signal.SIGINT)
                    interrupt_at = None
        os.close(ours)
    return process.returncode, seen
