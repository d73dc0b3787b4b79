"""A client's own subscriptions: the handles that its application holds, and what is behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bypass.errors import UnknownHandle
from bypass.events.event import Event
from bypass.events.filters import Subscription
from bypass.places.area_of_interest import AreaOfInterest, as_seen_from, heading_of, in_any
from bypass.places.sensor import Fix, LocationRequest
from bypass.protocol.messages import ContextMessage, Publish, Subscribe

if TYPE_CHECKING:
    from bypass.protocol.borders import BorderWatch


@dataclass(frozen=True, slots=True)
class SubHandle:
    """The handle that `subscribe` returns. It stays valid, and equal, whichever mechanisms are exchanged, and
    whatever becomes of its areas: `interest` are those that it began with."""

    id: int
    subscription: Subscription
    radius: int | None
    interest: AreaOfInterest | None = None
    watch: BorderWatch | None = None


Callback = Callable[[Event, SubHandle], None]


@dataclass(frozen=True, slots=True)
class Registered:
    """A handle with what the application gave for it. `request` is None for a subscription to which the
    client's place makes no difference.

    `exact`: events that are not within the radius, or the areas, when they arrive are not handed over.
    `interest` are its areas as they are now, and it ends at the time `until`, if there is one.
    """

    handle: SubHandle
    callback: Callback
    request: LocationRequest | None
    exact: bool = False
    interest: AreaOfInterest | None = None
    until: float | None = None
    watch: BorderWatch | None = None

    def message(self, now: float, piggyback: ContextMessage | None = None) -> Subscribe:
        """Give what a broker is told of it."""
        handle = self.handle
        until = self.until if self.watch is None else self.watch.until
        expires = None if until is None else max(until - now, 0.0)
        return Subscribe(
            handle.id, handle.subscription, handle.radius, piggyback, self.interest, expires, watch=self.watch
        )


class Subscriptions:
    """All of a client's subscriptions by the number of their handle."""

    def __init__(self) -> None:
        self._registered: dict[int, Registered] = {}
        self.get: Callable[[int], Registered | None] = self._registered.get
        """The subscription behind the handle with this number, if there is one; called at every delivery."""
        self.kept: dict[int, SubHandle] = {}
        """Handles of an earlier life of the client, which nobody has claimed yet."""
        self._intervals: Counter[float] = Counter()  # at which the place is wanted, and by how many
        self.elsewhere = 0  # events that came for who is in an area where the client was not
        self.expired = 0  # events that came when their lifetime had passed
        self.watched: float | None = None
        """The interval at which a broker wants the place for those who watch the client; None: it does
        not."""
        self.beyond = 0  # events that came for an exact subscription and were not within its radius or areas
        self.last_number = 0  # new handles get higher ones
        self.on_change: Callable[[], None] = _nothing
        """Called whenever something is subscribed, changed or withdrawn."""
        self.on_expired: Callable[[SubHandle], object] = _nothing
        """Called with a handle whose time is over."""
        self._heading = 0.0  # of the client when it moved last

    def add(
        self,
        subscription: Subscription,
        callback: Callback,
        radius: int | None,
        request: LocationRequest,
        exact: bool = False,
        interest: AreaOfInterest | None = None,
        until: float | None = None,
        watch: BorderWatch | None = None,
    ) -> Registered:
        """Register a subscription under a new handle, or under the number of a kept one that is equal."""
        wanted = (subscription, radius, interest, watch)
        equal = [
            k.id for k in self.kept.values() if (k.subscription, k.radius, k.interest, k.watch) == wanted
        ]
        if equal:
            number = self.kept.pop(equal[0]).id
        else:
            self.last_number += 1
            number = self.last_number
        handle = SubHandle(number, subscription, radius, interest, watch)
        placeless = radius is None and (interest is None or not interest.is_own)
        registered = Registered(
            handle, callback, None if placeless else request, exact, interest, until, watch
        )
        self._registered[handle.id] = registered
        if registered.request is not None:
            self._intervals[registered.request.interval] += 1
        self.on_change()
        return registered

    def put(self, changed: Registered) -> None:
        """Have a subscription go on like this, under its handle. Raises `UnknownHandle`."""
        self.of(changed.handle)
        self._registered[changed.handle.id] = changed
        self.on_change()

    def expire(self, number: int, until: float) -> None:
        """The time of a subscription is over, unless it was given another end meanwhile."""
        registered = self._registered.get(number)
        if registered is not None and registered.until == until:
            self.on_expired(registered.handle)

    def of(self, handle: SubHandle) -> Registered:
        """The subscription behind a handle. Raises `UnknownHandle` if there is none, or no longer."""
        registered = self._registered.get(handle.id)
        if registered is None or registered.handle is not handle:
            raise UnknownHandle(f"handle {handle.id} ({handle.subscription}) is not subscribed here")
        return registered

    def turned(self, fix: Fix) -> None:
        """Note where the client goes: it looks there while it stands."""
        self._heading = heading_of(fix.vx, fix.vy, self._heading)

    def inside(self, interest: AreaOfInterest, publication: Publish, fix: Fix | None) -> bool:
        """Whether an event lies in areas, as far as that is known: where the client is, its `fix` says;
        places and other clients a broker knows alone."""
        if publication.location is None or interest.around or interest.places:
            return True
        x, y = publication.location
        if interest.relative:
            if fix is None:
                return True
            self.turned(fix)
            x, y = as_seen_from(x - fix.x, y - fix.y, self._heading)
        return in_any(interest.areas, x, y, publication.z)

    def keep(self, handle: SubHandle) -> None:
        """Keep a handle of an earlier process: the next equal subscription takes over its number."""
        self.kept[handle.id] = handle
        self.last_number = max(self.last_number, handle.id)

    def remove(self, handle: SubHandle) -> None:
        """Forget a handle. Raises `UnknownHandle` if it is not, or no longer, subscribed."""
        registered = self.of(handle)
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
        """The shortest interval at which some subscription, or whoever watches the client, wants the place
        known; None if none does."""
        wanted = (*self._intervals, *(() if self.watched is None else (self.watched,)))
        return min(wanted, default=None)

    def largest_radius(self) -> int:
        """The largest radius of all; 0 if none has one."""
        return max((r.handle.radius for r in self if r.handle.radius is not None), default=0)


def _nothing(*_: object) -> None:
    """Do nothing: the default where nobody listens to changes."""
