"""The result of an evaluation, as its summary file has it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation: a summary for each event source, by its name, and the reports of
    pieces."""

    summaries: dict[str, dict[str, Any]]
    pieces: tuple[dict[str, Any], ...]
    out: Path

    def summary(self) -> dict[str, Any]:
        """The file's contents: the first source at the top, all of them under `workloads`."""
        first = next(iter(self.summaries.values()))
        return {**first, "workloads": self.summaries}
