"""The durability of a log, exchanged while messages are appended."""

from __future__ import annotations

from concurrent.futures import Future

from bypass.ingest.connectors.intake import LogIntake
from bypass.ingest.log.segment_log import SegmentFile, SegmentLog
from bypass.mechanisms.durability import Durability
from bypass.mechanisms.registry import Registry
from bypass.transitions import Engine, Plan, Record


class _Host:
    """The world of a durability."""

    def __init__(self, log: SegmentLog) -> None:
        self._log = log

    def open(self) -> None:
        """A durability was switched to."""

    def close(self) -> None:
        """A durability was stopped."""

    @property
    def segment(self) -> SegmentFile:
        return self._log.segment


class LogDurability:
    """Settles the blocks of a log by the mechanism that runs behind its proxy."""

    def __init__(self, log: SegmentLog, registry: Registry | None = None, first: str = "log-only") -> None:
        """Begin with a durability by its name, before the log has an intake. Raises UnknownMechanism."""
        self._registry = registry or Registry()
        self._engine = Engine("connector", lease=lambda _: _Host(log))
        durability: Durability = self._registry.create(self._engine, "connector", "durability", first)
        log.settle = durability.settle

    @property
    def name(self) -> str:
        """The mechanism that runs now."""
        return self._engine.active("durability").name

    def execute(self, intake: LogIntake, plan: Plan) -> Future[list[Record]]:
        """Exchange the durability between two appends of the log's intake. One that syncs has all synced that
        was acknowledged before. Raises MessageRefused if the intake is closed."""
        return intake.run(lambda: self._execute(plan))

    def _execute(self, plan: Plan) -> list[Record]:
        self._registry.prepare(self._engine, "connector", plan.actions)
        return self._engine.execute(plan)
