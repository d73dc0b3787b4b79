"""Which worker of pytest-xdist has which tests."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

GROUP = re.compile(r'xdist_group\("(\w+)"\)')


class ByFile(LoadScopeScheduling):  # type: ignore[misc] # has no types
    """The tests of a file share a worker, and so do all files that are marked with the same `xdist_group`.

    The mark is read in the file: workers tell names of tests alone, and xdist 3.8 cannot add the group to a
    name of pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return group(self.config.rootpath / file) or file


@cache
def group(file: Path) -> str | None:
    """The group that a file is marked with; None if it has none."""
    found = GROUP.search(file.read_text())
    return found and found[1]
