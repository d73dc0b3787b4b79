"""Names that become parts of paths: of key sets, data regions and writers of the log."""

from __future__ import annotations

import re

from bypass.errors import shown
from bypass.support.validation import Misfit

REPLAYS = "replay"
"""The writer of messages that an operator sends through once more: no connectors have this name."""

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


def check_name(name: str) -> str:
    """Give a name back that may be part of a path. Raises Misfit if it is none."""
    if not _NAME.fullmatch(name):
        raise Misfit((), f"is {shown(name)}: expected 1 to 128 letters, digits, dots, _ and -, no dot first")
    return name
