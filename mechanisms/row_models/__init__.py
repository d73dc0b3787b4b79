"""Row models: how the measurements of a batch are written into rows of the table."""

from __future__ import annotations

from abc import ABC, abstractmethod

from bypass.transitions import Mechanism


class RowModel(Mechanism, ABC):
    """Says how rows are written. Rows that were written otherwise stay as they are, and readers know both."""

    @abstractmethod
    def is_batched(self) -> bool:
        """Whether measurements of one device, metric and minute share a row."""


class Standard(RowModel):
    """One row for each measurement."""

    def is_batched(self) -> bool:
        return False


class Batched(RowModel):
    """One row for the measurements of a device, metric and minute that come together."""

    def is_batched(self) -> bool:
        return True
