"""One run of a sweep, and the file that keeps its outcome."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import traceback
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bypass.errors import BypassError
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.report.result import Result
from bypass.scenarios.runs.preparation import prepared
from bypass.support.durable_files import replace_file

LONGEST_NAME = 120


class SweepFailed(BypassError):
    """The results of a sweep cannot be kept where they should be."""


@dataclass(frozen=True)
class Trial:
    """An experiment (a scenario without `runs`, as plain data) with a seed, and how the sweep came to it:
    `variant` is the run of the scenario, `point` the keys of the grid with their values there. `origin` is
    what decides about its figures besides, where the key has to cover that: code, and contents of inputs."""

    variant: str
    point: dict[str, Any]
    seed: int
    experiment: dict[str, Any]
    origin: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """A file name to read, and a hash of everything that decides what a run gives."""
        labels = (self.variant, *(f"{key}={value}" for key, value in self.point.items()), f"seed={self.seed}")
        name = re.sub(r"[^\w.=-]+", "_", "-".join(labels), flags=re.ASCII)[:LONGEST_NAME]
        text = self.identity + (json.dumps(self.origin, sort_keys=True) if self.origin else "")
        return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @staticmethod
    def identify(variant: str, point: dict[str, Any], seed: int, experiment: dict[str, Any]) -> str:
        """The same text for the same run, whatever code runs it."""
        return json.dumps([variant, point, seed, experiment], sort_keys=True, default=str)

    @property
    def identity(self) -> str:
        return self.identify(self.variant, self.point, self.seed, self.experiment)

    def outcome(self, folder: Path) -> dict[str, Any] | None:
        """The contents of the trial's file in `folder`; None if there is none, or none of ours."""
        try:
            data = json.loads((folder / f"{self.key}.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return data if isinstance(data, dict) and data.get("key") == self.key else None

    def succeeded(self, folder: Path, summary: dict[str, Any]) -> None:
        """Keep the figures. Raises SweepFailed."""
        self._keep(folder, {"outcome": "done", "error": None, "summary": summary})

    def failed(self, folder: Path, error: BaseException) -> None:
        """Keep what went wrong. Raises SweepFailed."""
        said = {
            "type": type(error).__name__,
            "message": str(error),
            "traceback": "".join(traceback.format_exception(error)),
        }
        self._keep(folder, {"outcome": "failed", "error": said, "summary": None})

    def forget(self, folder: Path) -> None:
        """Remove the outcome, and the remains of a process that was killed while writing it."""
        (folder / f"{self.key}.json").unlink(missing_ok=True)
        for draft in folder.glob(f".{self.key}.*"):
            draft.unlink(missing_ok=True)

    def _keep(self, folder: Path, outcome: dict[str, Any]) -> None:
        about = {"key": self.key, "variant": self.variant, "grid": self.point, "seed": self.seed}
        made_of = {"experiment": self.experiment, "origin": self.origin}
        text = json.dumps(about | outcome | made_of, indent=1, default=str)
        try:
            replace_file(folder / f"{self.key}.json", text + "\n", synced=False)
        except OSError as error:
            raise SweepFailed(f"{folder} on {socket.gethostname()}: {error.strerror}") from None


def carry_out(piece: tuple[Trial, str]) -> str:
    """Run a trial and keep its outcome in a folder, whatever it is; gives the trial's key.

    Raises SweepFailed if the folder cannot be written to, before anything runs if it is not there at all.
    """
    trial, folder = piece[0], Path(piece[1])
    if not folder.is_dir():
        raise SweepFailed(
            f"{folder} is not there on {socket.gethostname()}: expected a folder that all workers share"
        )
    try:
        experiment = Scenario.model_validate(trial.experiment)
        run = prepared(experiment, trial.seed).run()
        summary = Result(experiment, {trial.variant: run}).summary()
    except Exception as error:
        trial.failed(folder, error)
    else:
        trial.succeeded(folder, summary)
    return trial.key
