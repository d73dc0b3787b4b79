"""Operations on objects: numbered, tried again when no answer comes, and given up after a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bypass.core.object_times import FOREVER as FOREVER
from bypass.errors import QuotaExceeded
from bypass.ports.host import Host, Timer
from bypass.protocol.storage import OperationStatus

MOST_PENDING = 10_000
"""Operations of one client that have not ended: its application is refused more."""

LONGEST_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class OperationResult:
    """The end of an operation. `detail` says more if it failed; `data` are an object's bytes."""

    op: int
    status: OperationStatus
    detail: str = ""
    data: bytes | None = None

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return self.status == OperationStatus.OK


Try: TypeAlias = Callable[[int], None]
Ended: TypeAlias = Callable[[OperationResult], None]


class _Pending:
    """An operation that has not ended."""

    __slots__ = (
        "attempt", "begun_s", "ended", "first_wait", "known", "left", "retries", "timer", "tries", "wait",
    )  # fmt: skip

    def __init__(self, attempt: Try, ended: Ended, retries: int, wait: float, begun_s: float) -> None:
        self.attempt = attempt
        self.begun_s = begun_s
        self.ended = ended
        self.retries = self.left = retries
        self.first_wait = self.wait = wait
        self.tries = 0
        self.timer: Timer | None = None
        self.known = False  # its number, to who has begun it

    def begin_anew(self) -> None:
        """Count no attempt so far."""
        self.left, self.wait, self.tries = self.retries, self.first_wait, 0


class Operations:
    """The operations of one client that have not ended. Numbers go on after `begun` earlier ones.

    An operation is attempted at once, and again whenever `timeout_s` have passed without an answer, at most
    `retries` times; it then ends with TIMEOUT. One that never ends so is then tried after twice the time,
    again and again, up to LONGEST_WAIT_S. What has ended is forgotten: a late answer is ignored.
    """

    def __init__(self, host: Host, timeout_s: float, retries: int, begun: int = 0) -> None:
        self.begun = begun
        self.late = 0  # answers to what had ended
        self.retried = 0
        self._host = host
        self._timeout_s = timeout_s
        self._retries = retries
        self._pending: dict[int, _Pending] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def begin(self, attempt: Try, ended: Ended, *, extra_s: float = 0.0, retries: int | None = None) -> int:
        """Begin an operation and give its number; `attempt` is called with it, `ended` once and later.

        `extra_s` is added to the time for each attempt. Raises QuotaExceeded.
        """
        if len(self._pending) >= MOST_PENDING:
            raise QuotaExceeded(
                f"{len(self._pending)} operations are pending: expected at most {MOST_PENDING}"
            )
        self.begun += 1
        op = self._host.id << 32 | self.begun
        left = self._retries if retries is None else retries
        pending = self._pending[op] = _Pending(
            attempt, ended, left, self._timeout_s + extra_s, self._host.now()
        )
        self._try(op, pending)
        pending.known = True
        return op

    def done(self, op: int, status: OperationStatus, detail: str = "", data: bytes | None = None) -> None:
        """End an operation; one that has ended, or was never begun, is not."""
        pending = self._pending.pop(op, None)
        if pending is None:
            self.late += 1
            return
        if pending.timer is not None:
            pending.timer.cancel()
        result = OperationResult(op, status, detail, data)
        if pending.known:
            pending.ended(result)
        else:  # who has begun it is told later, not while it still waits for the number
            self._host.after(0.0, pending.ended, result)

    def try_again(self) -> None:
        """Attempt all that is pending at once, because what they went to is another one now: none of the
        attempts before counts."""
        for op, pending in list(self._pending.items()):
            if self._pending.get(op) is pending:
                pending.begin_anew()
                self._try(op, pending)

    def drop(self) -> None:
        """Forget all without telling anybody: the client is gone."""
        for pending in self._pending.values():
            if pending.timer is not None:
                pending.timer.cancel()
        self._pending.clear()

    def _try(self, op: int, pending: _Pending) -> None:
        if pending.timer is not None:
            pending.timer.cancel()
        pending.tries += 1
        pending.timer = self._host.after(pending.wait, self._expired, op, pending)
        pending.attempt(op)

    def _expired(self, op: int, pending: _Pending) -> None:
        if self._pending.get(op) is not pending:
            return
        if pending.left == 0:
            taken = f"no answer in {self._host.now() - pending.begun_s:.3g} s: expected one"
            self.done(op, OperationStatus.TIMEOUT, f"operation {op}: {taken}")
            return
        if pending.left == FOREVER:
            if pending.tries > self._retries:
                pending.wait = min(2.0 * pending.wait, max(LONGEST_WAIT_S, pending.wait))
        else:
            pending.left -= 1
        self.retried += 1
        self._try(op, pending)
