"""A client whom others may follow: it says whom it allows that, and where it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from bypass.core.areas.arguments import LONGEST_NAME
from bypass.errors import InvalidArea, InvalidLocation, shown
from bypass.places.sensor import Fix, LocationRequest, LocationSensor
from bypass.protocol.messages import AllowFollowing, FollowedPlace, Message

MOST_NAMES = 1000  # as messages carry
"""Clients that one client names."""


class Followed:
    """Reports a client's place to the broker while it allows others to follow it, under any filter scheme.

    `send` sends to the broker.
    """

    def __init__(
        self, location: LocationSensor, send: Callable[[Message], None], before: Followed | None
    ) -> None:
        self.names: frozenset[str] = frozenset() if before is None else before.names
        self.everybody: bool = False if before is None else before.everybody
        self._request: LocationRequest = LocationRequest() if before is None else before._request
        self._location = location
        self._send = send
        self._watches = False
        self._vector: tuple[float, float] = (
            (0.0, 0.0) if before is None else before._vector
        )  # when the client moved last
        if self._allows:
            self._watch()

    @property
    def _allows(self) -> bool:
        return self.everybody or bool(self.names)

    def allow(self, names: Any, everybody: Any, location_request: LocationRequest | None) -> None:
        """Let these clients follow this one, instead of those before. Raises InvalidArea for what is no list
        of names, and InvalidLocation where the client's place will never be known."""
        chosen = checked_names(names)
        if not isinstance(everybody, bool):
            raise InvalidArea(f"everybody {shown(everybody)}: expected True or False")
        if (chosen or everybody) and not self._location.available():
            raise InvalidLocation("nobody says where this client is: expected a client with a location")
        self.stop()
        self.names, self.everybody = chosen, everybody
        self._request = location_request or self._request
        if self._allows:
            self._watch()
        self.tell(always=True)

    def tell(self, always: bool = False) -> None:
        """Tell a broker, which may not know, whom this client allows what, and where it is; nothing if it
        allows nobody anything, unless `always`."""
        if not (self._allows or always):
            return
        self._send(AllowFollowing(tuple(sorted(self.names)), self.everybody))
        fix = self._location.current()
        if self._allows and fix is not None:
            self._report(fix)

    def stop(self) -> None:
        """Report no more."""
        if self._watches:
            self._watches = False
            self._location.release(self._report)

    def _watch(self) -> None:
        self._watches = True
        self._location.request(self._request, self._report)

    def _report(self, fix: Fix) -> None:
        if fix.vx or fix.vy:
            self._vector = (fix.vx, fix.vy)
        self._send(FollowedPlace((fix.x, fix.y), self._vector))


def checked_names(names: Any) -> frozenset[str]:
    """Names of clients. Raises InvalidArea."""
    if isinstance(names, str) or not isinstance(names, Collection):
        raise InvalidArea(f"names {shown(names)}: expected a list of names of clients")
    chosen: Iterable[Any] = names
    for name in chosen:
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            raise InvalidArea(f"name {shown(name)}: expected 1 to {LONGEST_NAME} characters")
    if len(names) > MOST_NAMES:
        raise InvalidArea(f"{len(names)} names: expected at most {MOST_NAMES}")
    return frozenset(names)
