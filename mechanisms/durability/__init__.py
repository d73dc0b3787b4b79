"""Durability: what has happened to a block of the log when its messages are acknowledged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from bypass.transitions import Mechanism

MOST_HELD = 1 << 20
"""Bytes that may be held in memory where nothing is promised."""


class Segment(Protocol):
    """The file that a log is written to. Both raise OSError."""

    held_bytes: int

    def flush(self) -> None:
        """Hand what is held to the operating system."""

    def sync(self) -> None:
        """Have the disk keep what was flushed."""


class LogHost(Protocol):
    """The world of a durability: the log as it is when the mechanism takes over."""

    @property
    def segment(self) -> Segment:
        """The file that is written to."""


class Durability(Mechanism, ABC):
    """Settles each block that was appended, before its messages are acknowledged."""

    host: LogHost

    @abstractmethod
    def settle(self, segment: Segment) -> None:
        """Make what the segment holds as durable as it has to be. Raises OSError."""


class NoDurability(Durability):
    """Promises nothing: blocks are held in memory until there are many, or nothing more comes."""

    name = "none"

    def settle(self, segment: Segment) -> None:
        if segment.held_bytes >= MOST_HELD:
            segment.flush()


class LogOnly(Durability):
    """Hands blocks to the operating system: they outlive the process, not the machine's power."""

    def start(self) -> None:
        self.host.segment.flush()

    def settle(self, segment: Segment) -> None:
        segment.flush()


class FullSync(Durability):
    """Has the disk keep each block, and all that came before it."""

    def start(self) -> None:
        self.settle(self.host.segment)

    def settle(self, segment: Segment) -> None:
        segment.flush()
        segment.sync()
