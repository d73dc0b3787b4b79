"""A client's own subscriptions: the handles that its application holds, and what is behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bypass.errors import UnknownHandle
from bypass.events.event import Event
from bypass.events.filters import Subscription
from bypass.places.sensor import LocationRequest


@dataclass(frozen=True, slots=True)
class SubHandle:
    """The handle that `subscribe` returns. It stays valid, and equal, whichever mechanisms are exchanged."""

    id: int
    subscription: Subscription
    radius: int | None


Callback = Callable[[Event, SubHandle], None]


@dataclass(frozen=True, slots=True)
class Registered:
    """A handle with what the application gave for it. `request` is None for a subscription without place.

    `exact`: events that are not within the radius when they arrive are not handed over.
    """

    handle: SubHandle
    callback: Callback
    request: LocationRequest | None
    exact: bool = False


class Subscriptions:
    """All of a client's subscriptions by the number of their handle."""

    def __init__(self) -> None:
        self._registered: dict[int, Registered] = {}
        self.get: Callable[[int], Registered | None] = self._registered.get
        """The subscription behind the handle with this number, if there is one; called at every delivery."""
        self.kept: dict[int, SubHandle] = {}
        """Handles of an earlier life of the client, which nobody has claimed yet."""
        self._intervals: Counter[float] = Counter()  # at which the place is wanted, and by how many
        self.beyond = 0  # events that came for an exact subscription and were not within its radius
        self.elsewhere = 0  # events that came for who is in an area where the client was not
        self.expired = 0  # events that came when their lifetime had passed
        self.last_number = 0  # new handles get higher ones
        self.on_change: Callable[[], None] = _nothing
        """Called whenever something is subscribed or withdrawn."""

    def add(
        self,
        subscription: Subscription,
        callback: Callback,
        radius: int | None,
        request: LocationRequest,
        exact: bool = False,
    ) -> Registered:
        """Register a subscription under a new handle, or under the number of a kept one that is equal."""
        equal = [k.id for k in self.kept.values() if k.subscription == subscription and k.radius == radius]
        if equal:
            number = self.kept.pop(equal[0]).id
        else:
            self.last_number += 1
            number = self.last_number
        handle = SubHandle(number, subscription, radius)
        registered = Registered(handle, callback, None if radius is None else request, exact)
        self._registered[handle.id] = registered
        if registered.request is not None:
            self._intervals[registered.request.interval] += 1
        self.on_change()
        return registered

    def keep(self, handle: SubHandle) -> None:
        """Keep a handle of an earlier process: the next equal subscription takes over its number."""
        self.kept[handle.id] = handle
        self.last_number = max(self.last_number, handle.id)

    def remove(self, handle: SubHandle) -> None:
        """Forget a handle. Raises `UnknownHandle` if it is not, or no longer, subscribed."""
        registered = self._registered.get(handle.id)
        if registered is None or registered.handle is not handle:
            raise UnknownHandle(f"handle {handle.id} ({handle.subscription}) is not subscribed here")
        del self._registered[handle.id]
        if registered.request is not None:
            interval = registered.request.interval
            self._intervals[interval] -= 1
            if not self._intervals[interval]:
                del self._intervals[interval]
        self.on_change()

    def __iter__(self) -> Iterator[Registered]:
        return iter(self._registered.values())

    def __len__(self) -> int:
        return len(self._registered)

    def interval(self) -> float | None:
        """The shortest interval at which some subscription wants the place known; None if none does."""
        return min(self._intervals, default=None)

    def largest_radius(self) -> int:
        """The largest radius of all; 0 if none has one."""
        return max((r.handle.radius for r in self if r.handle.radius is not None), default=0)


def _nothing() -> None:
    """Do nothing: the default where nobody listens to changes."""
