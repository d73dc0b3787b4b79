"""Refusals: a client that waits for an answer is told why a publication or a subscription was not taken."""

from __future__ import annotations

from bypass.errors import BypassError
from bypass.live.broker.delivery.deliveries import Deliveries
from bypass.live.broker.sessions.sessions import Session
from bypass.protocol.session import RETRY, Refused

COUNT = (1 << 32) - 1
"""The bits of a publication's id that number a client's publications; those above are the client's number."""


class NotTaken(BypassError):
    """A publication or a subscription is refused."""


def refuse(
    deliveries: Deliveries,
    session: Session,
    reason: str,
    number: int | None,
    handle: int | None,
    retry: float = 0.0,
) -> None:
    """Tell a client why a publication, or a subscription, was not taken, and after how many seconds it may be
    asked for again (0: never); nothing happens if it is neither, or if nobody is there to hear it."""
    if session.route is None or (number is None and handle is None):
        return
    if number is not None and number >> 32 == session.number and number & COUNT > session.published:
        session.refuse(number & COUNT)
    later = retry if RETRY in session.capabilities else 0.0
    deliveries.to_route(session.route, Refused(reason, id=number, handle=handle, retry=later))
