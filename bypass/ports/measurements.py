"""Measurements of devices, and what pre-computation sees of the pipeline that it runs in."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

ValueType = Literal["Long", "Double", "String", "Bytes"]

LAST_TIME = 253_402_300_799_999
"""The last millisecond of the year 9999: no table can hold later times."""


class Measurement(NamedTuple):
    """A value with its time in milliseconds since the epoch; `value` is what `type` says: int, float, str or
    bytes."""

    time: int
    metric: str
    type: ValueType
    value: int | float | str | bytes
    uom: str | None


class MessageOrigin(NamedTuple):
    """Where measurements come from: the device's region, tenant and id, and the message that had them, by
    the time of its receipt (ms) and its place in a log."""

    region: str
    tenant: str
    device: str
    received: int
    log: str
    sequence: int


class PipelineHost(Protocol):
    """The world of a mechanism in the pipeline. Time passes from batch to batch, and a batch that is
    repeated has the time that it had."""

    def now(self) -> int:
        """The time of the batch (ms)."""

    def keep(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        """Hand on measurements of one message: they go into the table."""

    def hold(self, origin: MessageOrigin) -> None:
        """Say that a message is held back as a whole: `settle` is called for it later, once."""

    def settle(self, origin: MessageOrigin, kept: bool) -> None:
        """Say what became of a message that was held back: something of it was kept, or nothing."""
