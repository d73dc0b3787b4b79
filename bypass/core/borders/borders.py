"""Border events at a broker: from the places of its clients, or from their reports, to those who watch
them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from bypass.core.borders.announcer import Announcer
from bypass.core.borders.assignments import Assignments
from bypass.core.borders.kept_watches import KeptWatches
from bypass.core.borders.report import BorderReport
from bypass.core.borders.restoring import restore_clients, restore_place
from bypass.core.borders.taking_reports import announce_report, follow_report
from bypass.core.borders.watch_scope import WatchScope
from bypass.core.borders.watched_client import Computes, KeptWatch, WatchedClient
from bypass.places.borders import BorderEvent, PathPoint, Why
from bypass.protocol.borders import BorderWatch
from bypass.protocol.messages import Publish

if TYPE_CHECKING:
    from bypass.places.areas import Area
    from bypass.ports.host import Host

MOST_GATHERED = 16_384
"""Fixes that are looked at together, at most."""

STILL_S = 10.0
"""A client that has said nothing for so long after something was due stands where it was last."""

LOOKED_S = 1.0
"""How often clients that stand are looked for, at most."""


class Borders:
    """All watches of one broker.

    `scope` knows whom they are about, `assignments` who finds out what; `clients` gives those that schemes
    serve, `announcer` tells watchers. `changed` are the clients whose states a store does not know yet.
    `undelivered` counts, by reason, border events that were found and that no watcher was told.
    """

    def __init__(
        self,
        host: Host,
        scope: WatchScope,
        assignments: Assignments,
        clients: Callable[[], Iterable[int]],
        announcer: Announcer,
    ) -> None:
        self.changed: set[int] = set()
        self.undelivered: Counter[str] = Counter()
        self.announcer = announcer
        self._host = host
        self.scope = scope
        self._assignments = assignments
        self._clients = clients
        self._watches = KeptWatches()
        self._watched: dict[int, WatchedClient] = {}
        self._fixes: dict[int, PathPoint] = {}
        self._flushing = False
        self._timed = inf
        self._met: set[int] = set()  # clients that may not be served by any scheme yet

    # -- watchers -----------------------------------------------------------------------------------------

    def check(self, watcher: int, handle: int, terms: BorderWatch) -> None:
        """Raises as `WatchScope.check` does, unless there is this very watch already."""
        known = self._watches.get(watcher, handle)
        if known is None or known.terms != terms:
            self.scope.check(watcher, terms)

    def watch(self, watcher: int, handle: int, terms: BorderWatch) -> None:
        """A subscription is a watch, or has other areas now; places that there are not are left out of it."""
        self.flush()
        areas, known = self.scope.areas(terms), self._watches.get(watcher, handle)
        if known is None:
            known = self._watches.add(watcher, handle, terms, areas)
            self._look_again({*self._clients(), *self._met})
            for client in self._watched_by(known):
                self._begin(client, known)
        elif terms != known.terms or areas != known.areas:
            self._change(known, terms, areas)
        else:
            return
        if terms.until is not None:
            self._host.after(max(0.0, terms.until - self._host.now()), self._expire, known)

    def _change(self, kept: KeptWatch, terms: BorderWatch, areas: dict[str, Area]) -> None:
        before = kept.areas
        self._watches.reshape(kept, terms, areas)
        for client in self._watched_by(kept):
            self._reshape(client, kept, before)

    def _watched_by(self, kept: KeptWatch) -> list[WatchedClient]:
        return [client for client in self._watched.values() if kept in client.watches]

    def unwatch(self, watcher: int, handle: int) -> bool:
        """A subscription is over: its watcher is told nothing more. Gives whether it was a watch."""
        kept = self._watches.get(watcher, handle)
        if kept is None:
            return False
        self.flush()
        self._drop(kept)
        return True

    def handles(self, watcher: int) -> list[int]:
        """The handles of a client's watches."""
        return [kept.handle for kept in self._watches.of(watcher)]

    def places_changed(self) -> None:
        """Named places have come, gone, or changed their shape."""
        self.flush()
        for kept in self._watches:
            if kept.terms.names_places:
                self._change(kept, kept.terms, self.scope.areas(kept.terms))

    # -- watched clients ----------------------------------------------------------------------------------

    def located(
        self, client: int, x: float, y: float, at: float | None = None, z: float | None = None
    ) -> None:
        """A client was at a place, at a time by its own clock if it has said when."""
        watched = self._watched.get(client)
        if watched is None:
            if not self._watches:
                return
            self._look_again((client,))
            if (watched := self._watched.get(client)) is None:
                return
        if watched.computes is not Computes.BROKER:
            return
        if client in self._fixes or len(self._fixes) >= MOST_GATHERED:
            self.flush()
        now = self._host.now()
        if at is None:
            at = now
        last = watched.last
        if last is not None and at < last[2]:
            at = last[2]
        watched.heard = now
        self._fixes[client] = PathPoint(x, y, at) if z is None else PathPoint(x, y, at, z)
        if not self._flushing:
            self._flushing = True
            self._host.after(0.0, self.flush)

    def flush(self) -> None:
        """Look at the fixes that were gathered."""
        self._flushing = False
        fixes, self._fixes = self._fixes, {}
        ways: list[tuple[WatchedClient, PathPoint, PathPoint]] = []
        for number, end in fixes.items():
            client = self._watched.get(number)
            if client is None:
                continue
            start, client.last = client.last, end
            if start is None:
                for kept in client.watches:
                    self._begin(client, kept)
            else:
                ways.append((client, start, end))
        if not ways:
            return
        corners = np.array([(start[0], start[1], end[0], end[1]) for _, start, end in ways])
        touched: dict[int, dict[KeptWatch, dict[str, list[float] | None]]] = {}
        for i, fence, shares in self._watches.fences.passed(corners):
            if fence.watch in ways[i][0].watches:
                touched.setdefault(i, {}).setdefault(fence.watch, {})[fence.key] = shares
        for i, (client, _, end) in enumerate(ways):
            if client.due <= end[2]:
                touched.setdefault(i, {})
        for i in sorted(touched):
            self._go(*ways[i], touched[i])

    def reported(self, publication: Publish) -> None:
        """A client reports what it has found. Raises InvalidEvent for what is no report."""
        report = BorderReport.of_event(publication.event)
        client = self._watched.get(publication.client)
        if client is None or report.turn > client.turn:
            self.undelivered["unwatched"] += len(report.events)
            return
        self.changed.add(client.number)
        announce_report(report, client, self._watches, self.announcer, self.undelivered)
        follow_report(report, client, self._watches, self._host.now())
        if report.is_final and report.turn == client.turn:
            client.computes = Computes.BROKER
            client.note_due()
            self._wake_up(client)

    def left(self, number: int, why: Why = "left") -> None:
        """A client has left for good: it is in no area any more, and watches nobody."""
        self.flush()
        self._met.discard(number)
        for kept in self._watches.of(number):
            self._drop(kept)
        client = self._watched.pop(number, None)
        if client is not None:
            for kept in client.watches:
                self._end(client, kept, why)
            self.changed.add(number)

    def returned(self, number: int) -> None:
        """A client has a connection again, or for the first time: it may not know what it is to do."""
        self._met.add(number)
        client = self._watched.get(number)
        if client is None:
            if self._watches:
                self._look_again((number,))
        elif client.turn:
            self._assignments.tell(client)

    def allowed(self, number: int) -> None:
        """Others may watch a client that could not, or the other way round."""
        self.flush()
        self._met.add(number)
        self.scope.renewed(number)
        client = self._watched.get(number)
        if client is not None:
            for kept in client.watches:
                if not self.scope.concerns(kept, number):
                    self._end(client, kept, "forbidden")
        self._look_again((number,))

    def schemes_changed(self) -> None:
        """Clients may be served by other filter schemes now: others may have to find what they pass."""
        if self._watched:
            self.flush()
            for client in [*self._watched.values()]:
                self._hand_over(client)

    def figures(self) -> dict[str, Any]:
        """Give the numbers of watches and of watched clients, and of border events that no watcher was
        told."""
        numbers = {"watches": len(self._watches), "watched": len(self._watched)}
        return {**numbers, "undelivered": dict(self.undelivered)}

    # -- stores -------------------------------------------------------------------------------------------

    def dump(self, number: int) -> dict[str, Any] | None:
        """The state of a watched client for a store; None: there is none any more."""
        client = self._watched.get(number)
        return None if client is None else client.dump()

    def restore(
        self, dumped: Mapping[int, Mapping[str, Any]], places: Mapping[int, tuple[float, float, float]]
    ) -> None:
        """Go on as a broker before this one, after its watches are known again. `places` are x, y and the
        time of clients that are known; others that were in an area have left."""
        restore_clients(self._watched, dumped, self._watches, self.scope)
        self._look_again(places)
        for client in [*self._watched.values()]:
            if client.number in places:
                restore_place(client, *places[client.number])
            self._hand_over(client)
            self._wake_up(client)
            if not client.name:
                self.left(client.number)

    # -- internals ----------------------------------------------------------------------------------------

    def _look_again(self, clients: Iterable[int]) -> None:
        """Find out which watches are about clients, of which there may be more or fewer than before."""
        for number in clients:
            watches = tuple(kept for kept in self._watches if self.scope.concerns(kept, number))
            client = self._watched.get(number)
            if client is None:
                if not watches:
                    continue
                client = self._watched[number] = WatchedClient(number, self.scope.name(number))
                client.watches = watches
                self._assignments.fits(client)
                self._renew(client)
                continue
            new = [kept for kept in watches if kept not in client.watches]
            if watches == client.watches:
                continue
            client.watches = watches
            for kept in new:
                self._begin(client, kept)
            self._renew(client)

    def _hand_over(self, client: WatchedClient) -> None:
        """Have those find the passages of a client who can."""
        if not self._assignments.fits(client):
            self._renew(client)
        elif not self._assignments.can(client):
            self.undelivered["unsupported"] += 1

    def _renew(self, client: WatchedClient) -> None:
        """Tell a client what it is to do now; one that nobody watches is forgotten."""
        self._assignments.renew(client)
        self.changed.add(client.number)
        if not client.watches:
            del self._watched[client.number]

    def _begin(self, client: WatchedClient, kept: KeptWatch) -> None:
        """A watch begins to be about a client whose place may be known."""
        if client.last is None or client.computes is not Computes.BROKER:
            return
        client.begun.add(kept.number)
        x, y = client.last.x, client.last.y
        areas = [
            (fence.key, fence.area) for fence in self._watches.fences.around(x, y) if fence.watch is kept
        ]
        if areas:
            events = kept.tracker(client.number, client.name).begin(areas, client.last)
            self._found(client, kept, events)

    def _go(
        self,
        client: WatchedClient,
        start: PathPoint,
        end: PathPoint,
        touched: dict[KeptWatch, dict[str, list[float] | None]],
    ) -> None:
        """A client has passed borders, or something is due to it; it has passed no others."""
        number = client.number
        if client.due <= end.at:
            for kept in client.watches:
                tracker = kept.trackers.get(number)
                if tracker is not None and tracker.due <= end.at:
                    own = touched.setdefault(kept, {})
                    own.update((key, []) for key in tracker.open if key not in own)
        for kept, shares in touched.items():
            areas = [(key, kept.areas[key]) for key in shares]
            events = kept.tracker(number, client.name).go(areas, start, end, shares)
            self._found(client, kept, events)

    def _reshape(self, client: WatchedClient, kept: KeptWatch, before: Mapping[str, Area]) -> None:
        """A watch has other areas. A client that finds its passages itself is told; what is gone, ends
        here."""
        tracker = kept.tracker(client.number, client.name)
        if client.computes is Computes.BROKER:
            self._found(client, kept, tracker.change(before, kept.areas, client.last))
            return
        rest = {key: before[key] for key in before.keys() & kept.areas.keys()}
        self._found(client, kept, tracker.change(before, rest, client.last))
        self._renew(client)

    def _end(self, client: WatchedClient, kept: KeptWatch, why: Why) -> None:
        """A watch is not about a client any more."""
        tracker = kept.trackers.pop(client.number, None)
        if tracker is not None:
            self._tell(kept, tracker.end(client.last, why))
            self.changed.add(client.number)
            client.note_due()

    def _expire(self, kept: KeptWatch) -> None:
        until = kept.terms.until
        if self._watches.numbered(kept.number) is not kept or until is None or until > self._host.now():
            return  # it is over, or lasts longer than it did
        self.flush()
        for client in self._watched_by(kept):
            self._end(client, kept, "expired")
        self._drop(kept)

    def _drop(self, kept: KeptWatch) -> None:
        self._watches.drop(kept)
        self._look_again([client.number for client in self._watched_by(kept)])

    def _found(self, client: WatchedClient, kept: KeptWatch, events: Sequence[BorderEvent]) -> None:
        self.changed.add(client.number)
        client.note_due()
        self._wake_up(client)
        self._tell(kept, events)

    def _tell(self, kept: KeptWatch, events: Iterable[BorderEvent]) -> None:
        for event in events:
            self.announcer.announce(kept.watcher, kept.handle, event)

    # -- time ---------------------------------------------------------------------------------------------

    def _wake_up(self, client: WatchedClient) -> None:
        """Look again when something is due to a client, in case that it does not move."""
        if client.due < inf and client.last is not None:
            due = client.due - client.last.at + client.heard
            if due < self._timed:
                self._timed = due
                delay = max(due + STILL_S - self._host.now(), LOOKED_S)
                self._host.after(delay, self._wake)

    def _wake(self) -> None:
        self._timed = inf
        self.flush()
        now = self._host.now()
        for client in [*self._watched.values()]:
            last = client.last
            if last is None or client.computes is not Computes.BROKER or now - client.heard < STILL_S:
                continue
            standing = last._replace(at=last.at + now - client.heard)
            if client.due <= standing.at:
                client.last, client.heard = standing, now
                self._go(client, last, standing, {})
        for client in self._watched.values():
            self._wake_up(client)
