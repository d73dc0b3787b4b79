"""A record of all transitions of an experiment, with the place of the host."""

from __future__ import annotations

from collections.abc import Callable

from bypass.scenarios.figures.usage import ClientExecution
from bypass.transitions import Record


class TransitionWatch:
    """Collects the records of one host's transitions, each with the place (m) where it is then."""

    def __init__(self, executions: list[ClientExecution], place: Callable[[], tuple[float, float]]) -> None:
        self._executions = executions
        self._place = place

    def transition_finished(self, record: Record) -> None:
        """Note a transition."""
        self._executions.append(ClientExecution(record, *self._place()))
