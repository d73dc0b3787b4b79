"""Errors of transitions, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bypass.root_error import BypassError

if TYPE_CHECKING:
    from bypass.transitions.engine.record import Record


class TransitionError(BypassError):
    """Base of every error of this package."""


class TransitionFailed(TransitionError):
    """A transition was given up; what was active before it is still active and unchanged.

    `phase` is where it failed, `mechanism` the name of the mechanism that was to take over, `cause` the
    exception that stopped it, `record` what has been written down about the attempt.
    """

    def __init__(self, phase: str, mechanism: str, cause: Exception, record: Record) -> None:
        self.phase = phase
        self.mechanism = mechanism
        self.cause = cause
        self.record = record
        super().__init__(
            f"proxy {record.proxy!r}: {mechanism!r} failed in phase {phase!r}: {describe(cause)}"
        )


class ProxyExists(TransitionError):
    """A proxy or group of this name was created before."""


class UnknownProxy(TransitionError):
    """No proxy or group has this name, or it has another API."""


class UnknownMechanism(TransitionError):
    """The proxy has no mechanism of this name."""


class InvalidParameter(TransitionError):
    """A parameter does not exist, is missing, or its value is not allowed."""


class MissingState(TransitionError):
    """A mechanism requires state that nobody offers."""


class InvalidPlan(TransitionError):
    """Something was read that is not a plan."""


class InvalidOutcome(TransitionError):
    """Something was read that is not the outcome of a plan."""


class ReentrantTransition(TransitionError):
    """A transition was requested from inside a call through the proxy it is about."""


class NestedTransition(TransitionError):
    """A transition was requested by a part of a transition that has not ended yet."""


class NetworkDuringTransition(TransitionError):
    """A mechanism tried to communicate before it was switched to. Raised by the environment's leases."""


class MechanismStopped(TransitionError):
    """A mechanism tried to communicate after it was stopped. Raised by the environment's leases."""


def describe(error: BaseException) -> str:
    """Kind and text of `error` in one line; the text alone if it is one of ours, which says enough."""
    text = " ".join(str(error).split())
    if isinstance(error, TransitionError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def short(value: object, limit: int = 80) -> str:
    """`repr(value)` in one line of at most `limit` characters, for messages."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
