"""The part of a client by which an application subscribes, and lets others follow."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from bypass.core.areas.arguments import (
    GivenAreas,
    SubscriptionScope,
    changed,
    check_callback,
    check_request,
    scope_of,
)
from bypass.core.areas.followed import Followed
from bypass.errors import UnknownHandle, shown
from bypass.events.filters import Filter, Subscription
from bypass.mechanisms.filters import FilterClient
from bypass.places.geo import Projection
from bypass.places.sensor import LocationRequest
from bypass.ports.host import Host
from bypass.ports.subscriptions import Callback, Registered, SubHandle, Subscriptions


class SubscribingClient:
    """The part of a client that subscribes, and that others may follow."""

    host: Host
    filter: FilterClient
    subscriptions: Subscriptions
    followed: Followed
    _projection: Projection | None

    def subscribe(
        self,
        subscription: Subscription | Filter,
        callback: Callback,
        *,
        radius: int | None = None,
        exact: bool = False,
        location_request: LocationRequest | None = None,
        area: GivenAreas | None = None,
        relative: bool = False,
        around: str | None = None,
        expires: float | None = None,
    ) -> SubHandle:
        """Ask for events by their attributes and, with a `radius` in metres, near the client as it moves, or
        with an `area`, or several, in one of them.

        `callback(event, handle)` is called for each. What is near, the broker decides by what its filter
        scheme knows: an `exact` subscription is not told of events that are further away than the radius from
        where the client is when they arrive. Areas are always exact. `relative` ones are drawn around (0, 0)
        with north up, and move and turn with the client. A radius or area `around` a client of that name,
        who allows it, moves with that one. `location_request` says how often the place is to be known. The
        subscription ends in `expires` seconds.

        Raises `EmptySubscription`, `InvalidRadius` for a radius that is not a positive whole number,
        `InvalidArea` for areas that do not fit, `InvalidLocation` where it takes the client's place, which
        will never be known, `InvalidInterval` for another `location_request` and `expires`, and
        `InvalidCallback` for a callback that cannot be called, is asynchronous or a generator.
        """
        scope = self.scope(
            radius=radius, exact=exact, area=area, relative=relative, around=around, expires=expires
        )
        return self.subscribe_within(scope, Subscription.of(subscription), callback, location_request)

    def scope(self, **given: Any) -> SubscriptionScope:
        """The places of a subscription, out of what `subscribe` is given. Raises as it does."""
        return scope_of(self.host.location, self._projection, **given)

    def subscribe_within(
        self,
        scope: SubscriptionScope,
        subscription: Subscription,
        callback: Callback,
        location_request: LocationRequest | None = None,
    ) -> SubHandle:
        """Subscribe, to what is in these places. Raises InvalidInterval and InvalidCallback."""
        check_request(location_request)
        check_callback(callback)
        registered = self.subscriptions.add(
            subscription,
            callback,
            scope.radius,
            location_request or LocationRequest(),
            scope.exact,
            scope.interest,
            None if scope.expires is None else self.host.now() + scope.expires,
        )
        self._end_in_time(registered)
        self.filter.subscribe(registered)
        return registered.handle

    def change(
        self,
        handle: SubHandle,
        *,
        radius: int | None = None,
        area: GivenAreas | None = None,
        expires: float | None = None,
    ) -> None:
        """Give a subscription other areas, or a circle of another radius, which move as those before do; and
        another end, if `expires` says so. What lies in both is not missed meanwhile.

        Raises `UnknownHandle`, and `InvalidArea`, `InvalidRadius` and `InvalidInterval` as `subscribe` does;
        then nothing is changed.
        """
        self.put(self.changed(handle, radius=radius, area=area, expires=expires))

    def changed(
        self, handle: SubHandle, *, radius: Any = None, area: Any = None, expires: Any = None
    ) -> Registered:
        """A subscription as `change` would have it, which changes nothing. Raises as that does."""
        before = self.registered(handle)
        interest, until = changed(before, self._projection, self.host.now(), radius, area, expires)
        return replace(before, interest=interest, until=until)

    def registered(self, handle: SubHandle) -> Registered:
        """The subscription behind a handle. Raises `UnknownHandle` if it is not, or no longer, subscribed."""
        if not isinstance(handle, SubHandle):
            raise UnknownHandle(
                f"subscription {shown(handle)}: expected one that is subscribed, or its handle"
            )
        return self.subscriptions.of(handle)

    def put(self, changed: Registered) -> None:
        """Have a subscription go on like this, and tell the broker. Raises `UnknownHandle`."""
        self.subscriptions.put(changed)
        self._end_in_time(changed)
        self.filter.subscribe(changed)

    def put_back(self, before: Registered) -> None:
        """Have a subscription as it was: what was changed has been refused. Nobody is told."""
        if self.subscriptions.get(before.handle.id) is not None:
            self.subscriptions.put(before)
            self._end_in_time(before)

    def _end_in_time(self, registered: Registered) -> None:
        if registered.until is not None:
            delay = max(registered.until - self.host.now(), 0.0)
            self.host.after(delay, self.subscriptions.expire, registered.handle.id, registered.until)

    def allow_following(
        self,
        names: Collection[str] = (),
        *,
        everybody: bool = False,
        location_request: LocationRequest | None = None,
    ) -> None:
        """Let clients of these names, or `everybody`, have subscriptions around this one, instead of those
        whom it allowed that before. The broker is told where it is meanwhile, as often as `location_request`
        says. Raises `InvalidArea` for what are no names, and `InvalidLocation` where nobody says where the
        client is."""
        check_request(location_request)
        self.followed.allow(names, everybody, location_request)

    def unsubscribe(self, handle: SubHandle) -> None:
        """Withdraw a subscription. Raises `UnknownHandle` if it is not, or no longer, subscribed."""
        self.registered(handle)
        self.subscriptions.remove(handle)
        self.filter.unsubscribe(handle.id)
