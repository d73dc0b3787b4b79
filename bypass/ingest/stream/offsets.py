"""Offsets: how far the logs are read, and everything else that decides what a batch gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bypass.ingest.log.message_log import Position


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The end of a batch, which is where the next one starts.

    `step` counts offsets and names what the stream remembers at this point. `logs` has a position for each
    log that may have more. `registry`, `plans` and `keys` are versions, `clock` is the time of the batch
    (ms), `tasks` how many tasks it has: a batch that is repeated uses the same ones.
    """

    step: int = 0
    logs: dict[str, Position] = field(default_factory=dict)
    registry: int = 0
    plans: int = 0
    clock: int = 0
    tasks: int = 1
    keys: int = 0

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StreamOffset:
        """The offset that `to_json` has written."""
        logs = {name: tuple(position) for name, position in data["logs"].items()}
        names = ("registry", "plans", "clock", "tasks", "keys")
        return cls(data["step"], logs, **{name: data[name] for name in names})

    def to_json(self) -> dict[str, Any]:
        """The offset as Spark keeps it."""
        return {
            "step": self.step,
            "logs": {name: list(position) for name, position in sorted(self.logs.items())},
            "registry": self.registry,
            "plans": self.plans,
            "clock": self.clock,
            "tasks": self.tasks,
            "keys": self.keys,
        }
