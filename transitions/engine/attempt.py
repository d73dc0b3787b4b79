"""One attempt to do a transition: its phases, what must be undone if it fails, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bypass.transitions.engine.record import Record
from bypass.transitions.errors import TransitionFailed, describe


class Attempt:
    """Keeps the record of a transition while it is done.

    Until `commit`, any failure is followed by `roll_back`. After it there is no way back: what fails then
    is written down and tolerated.
    """

    def __init__(self, record: Record, clock: Callable[[], float]) -> None:
        self.record = record
        self._clock = clock
        self._undo: list[Callable[[], None]] = []

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Raises TransitionFailed if the phase raises anything."""
        begin = self._clock()
        try:
            yield
        except Exception as cause:
            raise self.failure(name, cause) from cause
        finally:
            self.record.phases.append((name, self._clock() - begin))

    @contextmanager
    def aftermath(self, name: str) -> Iterator[None]:
        """A phase after the commitment: an exception in it is noted and goes no further."""
        begin = self._clock()
        try:
            yield
        except Exception as cause:
            self._note(name, cause)
        finally:
            self.record.phases.append((name, self._clock() - begin))

    def failure(self, phase: str, cause: Exception) -> TransitionFailed:
        """The error to raise if `cause` makes the transition impossible."""
        return TransitionFailed(phase, self.record.target, cause, self.record)

    def on_failure(self, undo: Callable[[], None]) -> None:
        """Call `undo` if the transition fails; the latest comes first."""
        self._undo.append(undo)

    def commit(self) -> None:
        """There is nothing to undo any more."""
        self._undo.clear()

    def roll_back(self, failure: TransitionFailed) -> None:
        """Undo everything and write the failure down."""
        self.record.outcome = "failed"
        self.record.failed_phase = failure.phase
        self.record.error = describe(failure.cause)
        while self._undo:
            undo = self._undo.pop()
            try:
                undo()
            except Exception as trouble:  # the remaining steps must be undone all the same
                self._note("undo", trouble)

    def _note(self, phase: str, error: Exception) -> None:
        self.record.failed_phase = self.record.failed_phase or phase
        text = f"{phase}: {describe(error)}"
        self.record.error = f"{self.record.error}; {text}" if self.record.error else text
