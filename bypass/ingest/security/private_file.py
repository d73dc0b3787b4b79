"""Files with secrets: they are their owner's alone, and no error has a word of what is in them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from bypass.root_error import BypassError

_LARGEST = 64 << 10


class InvalidKeyFile(BypassError):
    """A key set or another secret is not there, cannot be read, or others may read it. No secret is part of
    the message."""


def check_private(path: Path, mode: int) -> None:
    """Refuse a file or folder that others than its owner may use. Raises InvalidKeyFile."""
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        expected = "700" if stat.S_ISDIR(mode) else "600"
        raise InvalidKeyFile(
            f"{path}: mode {stat.S_IMODE(mode):04o}: expected one that is its owner's alone: chmod {expected}"
        )


def read_secret(path: Path) -> str:
    """Read the text of a file that is its owner's alone, without white space around it. Raises
    InvalidKeyFile, also for one without text."""
    try:
        # Without O_NONBLOCK a pipe that has the name of a file would stop this process.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_LARGEST + 1) if stat.S_ISREG(mode) else b""
    except OSError as error:
        raise InvalidKeyFile(f"{path}: {error.strerror}: expected a file with a secret") from None
    check_private(path, mode)
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:  # the error quotes the content
        text = ""
    if not text or len(content) > _LARGEST:
        raise InvalidKeyFile(f"{path}: expected a secret as text, {_LARGEST} bytes at most")
    return text
