"""The part of a client that watches borders: those of areas that it goes through itself, or others do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bypass.core.borders.border_events import border_event
from bypass.core.borders.client.arguments import WatchAreas, areas_of, names_of
from bypass.core.borders.client.own_fixes import Found, OwnFixes
from bypass.errors import (
    InvalidCallback,
    InvalidInterval,
    InvalidLocation,
    InvalidWatch,
    UnknownHandle,
    shown,
)
from bypass.events.attributes import STRING, Attribute
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription
from bypass.places.borders import BorderEvent, BorderOptions, Everybody
from bypass.places.geo import Projection
from bypass.places.sensor import LocationRequest
from bypass.ports.host import Host
from bypass.ports.subscriptions import Callback, SubHandle, Subscriptions
from bypass.protocol.borders import BorderTask, BorderWatch
from bypass.protocol.messages import Kind, Publish
from bypass.support.callbacks import is_plain_function

if TYPE_CHECKING:
    from bypass.core.borders.client.reporter import BorderReporter
    from bypass.core.client_network import ClientNetwork
    from bypass.mechanisms.filters import FilterClient

log = logging.getLogger(__name__)

BorderCallback = Callable[[BorderEvent], None]


@dataclass(eq=False, slots=True)
class WatchHandle:
    """The handle that `watch` returns. `handle` is that of the subscription of a watch of others, None for a
    watch of oneself. `on_expired` is called when the time of a watch of oneself is over."""

    terms: BorderWatch
    callback: BorderCallback
    handle: SubHandle | None = None
    number: int = 0
    on_expired: Callable[[], object] | None = None


@dataclass(slots=True)
class _OwnWatches:
    """The watches of oneself, by number."""

    fixes: OwnFixes
    handles: dict[int, WatchHandle] = field(default_factory=dict)
    last: int = 0


class BorderWatching:
    """Watches borders, and finds passages for others if a broker asks for that."""

    host: Host
    filter: FilterClient
    network: ClientNetwork
    subscriptions: Subscriptions
    published: int
    _projection: Projection | None
    _own: _OwnWatches | None = None
    _reporter: BorderReporter | None = None
    reports_unsent: int = 0
    """Reports for a broker that is told nothing at the moment."""

    def watch(
        self,
        areas: WatchAreas,
        callback: BorderCallback,
        *,
        on: Iterable[str] = ("enter", "exit"),
        dwell: float | None = None,
        debounce: float = 0.0,
        margin: float = 0.0,
        initial: bool = False,
        interval: float = 5.0,
        whom: Iterable[str] | Everybody | None = None,
        expires: float | None = None,
    ) -> WatchHandle:
        """Be told when this client, or others, pass the border of an area; `callback(border_event)` is
        called.

        `areas` is an area, "place:NAME" for a place of the broker's region, "places" for all of them, or a
        list of these, or areas by name. Those without a name are called "1", "2" and so on. `whom` are the
        names of other clients, which have to allow it, EVERYBODY for an operator; None: oneself, for which no
        broker is needed unless places are named. The other options are those of `BorderOptions`. The watch
        ends in `expires` seconds: the client leaves what it is in.

        Raises InvalidWatch, InvalidArea, InvalidCallback, InvalidInterval for another `expires`, and
        InvalidLocation for a watch of oneself where the client's place will never be known.
        """
        terms = self.watch_terms(
            areas, on=on, dwell=dwell, debounce=debounce, margin=margin, initial=initial, interval=interval,
            whom=whom, expires=expires,
        )  # fmt: skip
        return self.watch_with(terms, callback)

    def watch_terms(self, areas: WatchAreas, *, whom: Any, expires: Any, **options: Any) -> BorderWatch:
        """The arguments of `watch`, as a broker is told. Raises as `watch` does."""
        if expires is not None and not (isinstance(expires, int | float) and 0 < expires < 1e9):
            raise InvalidInterval(f"expires {shown(expires)}: expected seconds, more than 0")
        named, every_place = areas_of(areas, self._projection)
        until = None if expires is None else self.host.now() + expires
        return BorderWatch(BorderOptions(**options), named, every_place, names_of(whom), until)

    def watch_with(self, terms: BorderWatch, callback: BorderCallback) -> WatchHandle:
        """Watch on these terms. Raises InvalidCallback and InvalidLocation."""
        if not is_plain_function(callback):
            raise InvalidCallback(
                f"callback {shown(callback)}: expected a plain function: iterate in order to await"
            )
        watch = WatchHandle(terms, callback)
        if is_own(terms):
            if not self.host.location.available():
                raise InvalidLocation("nobody says where this client is: expected a client with a location")
            self._watch_self(watch)
        else:
            watch.handle = self.watch_others(terms, partial(_hand_over, callback))
        return watch

    def watch_others(self, terms: BorderWatch, callback: Callback) -> SubHandle:
        """Have a broker watch on these terms; it tells by events, which carry border events."""
        wanted = wanted_kinds(terms)
        registered = self.subscriptions.add(wanted, callback, None, LocationRequest(), watch=terms)
        self.filter.subscribe(registered)
        return registered.handle

    def change_watch(self, watch: WatchHandle, areas: WatchAreas) -> None:
        """Watch other areas, without a gap: areas of the same name have another shape. Raises InvalidWatch,
        InvalidArea, and UnknownHandle for a watch that is over."""
        terms = self.changed_terms(watch, areas)
        if watch.handle is None:
            own = self._own_watch(watch)
            own.fixes.put(watch.number, terms.options, dict(terms.areas))
        else:
            registered = self.subscriptions.of(watch.handle)
            self.subscriptions.put(replace(registered, watch=terms))
            self.filter.subscribe(replace(registered, watch=terms))
        watch.terms = terms

    def changed_terms(self, watch: WatchHandle, areas: WatchAreas) -> BorderWatch:
        """The terms of a watch in other areas. Raises InvalidWatch and InvalidArea."""
        named, every_place = areas_of(areas, self._projection)
        terms = replace(watch.terms, areas=named, every_place=every_place)
        if is_own(terms) != is_own(watch.terms):
            raise InvalidWatch("places of the region: expected them in none or in all areas of a watch")
        return terms

    def unwatch(self, watch: WatchHandle) -> None:
        """End a watch: nothing more is told. Raises UnknownHandle for one that is over."""
        if watch.handle is not None:
            self.subscriptions.remove(watch.handle)
            self.filter.unsubscribe(watch.handle.id)
        else:
            own = self._own_watch(watch)
            del own.handles[watch.number]
            own.fixes.drop(watch.number)

    # -- oneself ------------------------------------------------------------------------------------------

    def _watch_self(self, watch: WatchHandle) -> None:
        own = self._own
        if own is None:
            own = self._own = _OwnWatches(OwnFixes(self.host, self._found))
        own.last += 1
        watch.number = own.last
        own.handles[watch.number] = watch
        terms = watch.terms
        own.fixes.put(watch.number, terms.options, dict(terms.areas))
        if terms.until is not None:
            self.host.after(max(0.0, terms.until - self.host.now()), self._expire, watch)

    def _own_watch(self, watch: WatchHandle) -> _OwnWatches:
        own = self._own
        if own is None or watch.number not in own.handles:
            raise UnknownHandle("this watch is over: expected one that is not")
        return own

    def _expire(self, watch: WatchHandle) -> None:
        own = self._own
        if own is not None and watch.number in own.handles:
            own.fixes.drop(watch.number, "expired")
            own.handles.pop(watch.number, None)
            if watch.on_expired is not None:
                watch.on_expired()

    def _found(self, found: Found) -> None:
        own = self._own
        for number, event in found:
            watch = None if own is None else own.handles.get(number)
            if watch is not None:
                try:
                    watch.callback(event)
                except Exception:
                    log.exception("callback of a watch failed; the border event counts as told")

    # -- for others ---------------------------------------------------------------------------------------

    def border_task(self, task: BorderTask) -> None:
        """Do what a broker asks of a watched client."""
        if self._reporter is None:
            from bypass.core.borders.client.reporter import BorderReporter

            self._reporter = BorderReporter(self.host, self._report, self._locate)
        self._reporter.task(task)

    def _report(self, event: Event) -> None:
        if self.network.silent:
            self.reports_unsent += 1
            return
        self.published += 1
        number = self.host.id << 32 | self.published
        at = round(self.host.now() * 1e6)
        self.network.send(Publish(number, event, Kind.BORDER, at, client=self.host.id))

    def _locate(self, interval: float | None) -> None:
        self.subscriptions.watched = interval
        self.filter.watch()

    def adopt_watches(self, before: BorderWatching) -> None:
        """Go on with the watches of oneself of a client whose place this one takes."""
        self.reports_unsent = before.reports_unsent
        if before._own is not None:
            known = before._own
            fixes = known.fixes.moved_to(self.host, self._found)
            self._own = _OwnWatches(fixes, known.handles, known.last)

    def close_borders(self) -> None:
        """The client ends: it listens to no sensor for borders any more."""
        if self._own is not None:
            self._own.fixes.close()
        if self._reporter is not None:
            self._reporter.close()


def wanted_kinds(terms: BorderWatch) -> Subscription:
    """The subscription that a watch of others is."""
    return Subscription.of(Filter(Attribute("border", STRING), terms.options.on, "in"))


def is_own(terms: BorderWatch) -> bool:
    """Whether a watch takes no broker: it is one of oneself, in areas that need not be looked up."""
    return terms.whom == () and not terms.names_places


def _hand_over(callback: BorderCallback, event: Event, _: SubHandle) -> None:
    callback(border_event(event))
