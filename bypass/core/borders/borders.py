"""Border events at a broker: from the places of its clients, or from their reports, to those who watch them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bypass.core.borders.announcer import Announcer
from bypass.core.borders.fences import Fences
from bypass.core.borders.report import BorderReport
from bypass.core.borders.watched_client import Computes, KeptWatch, WatchedClient
from bypass.errors import InvalidWatch
from bypass.places.borders import BorderEvent, PathPoint, Why
from bypass.protocol.borders import BorderTask, BorderWatch, WatchedAreas
from bypass.protocol.messages import Message, Publish

if TYPE_CHECKING:
    from bypass.places.areas import Area
    from bypass.ports.host import Host

MOST_GATHERED = 16_384
"""Fixes that are looked at together, at most."""

STILL_S = 10.0
"""A client that has said nothing for so long after something was due stands where it was last."""

LOOKED_S = 1.0
"""How often clients that stand are looked for, at most."""

MOST_STATES = 1_000_000
"""Clients in areas, of all watches of one watcher together."""


class Permissions(Protocol):
    """Knows who may watch whom, and what clients are called."""

    def name(self, client: int) -> str:
        """Give the name of a client; empty if it is gone for good."""

    def may_watch(self, watcher: int, client: int) -> bool:
        """Whether a client has allowed another one to follow it."""

    def may_watch_all(self, watcher: int) -> bool:
        """Whether a client is an operator's."""

    def can_compute(self, client: int) -> bool:
        """Whether a client's version knows border tasks."""


class Borders:
    """All watches of one broker.

    `has_fixes` says whether the filter scheme that serves a client reports its places; `send` reaches one client,
    `announcer` tells watchers. `changed` are the clients whose states a store does not know yet. `undelivered`
    counts, by reason, border events that were found and that no watcher was told.
    """

    def __init__(
        self,
        host: Host,
        permissions: Permissions,
        places: Callable[[], Mapping[str, Area]],
        has_fixes: Callable[[int], bool],
        clients: Callable[[], Iterable[int]],
        send: Callable[[int, Message], None],
        announcer: Announcer,
    ) -> None:
        self.changed: set[int] = set()
        self.undelivered: Counter[str] = Counter()
        self.announcer = announcer
        self._host = host
        self._permissions = permissions
        self._places = places
        self._has_fixes = has_fixes
        self._clients = clients
        self._send = send
        self._watches: dict[tuple[int, int], KeptWatch] = {}
        self._by_number: dict[int, KeptWatch] = {}
        self._watched: dict[int, WatchedClient] = {}
        self._fences = Fences()
        self._fixes: dict[int, PathPoint] = {}
        self._flushing = False
        self._timed = inf
        self._numbers = 0
        self._turn = 0

    # -- watchers -----------------------------------------------------------------------------------------

    def check(self, watcher: int, terms: BorderWatch) -> None:
        """Raises InvalidWatch for a watch that is not possible here: of everybody by a client that is no
        operator's, or in a place that there is not."""
        if terms.whom is None and not self._permissions.may_watch_all(watcher):
            raise InvalidWatch("a watch of everybody: expected a key with the right 'admin'")
        self._resolved(terms)

    def watch(self, watcher: int, handle: int, terms: BorderWatch) -> None:
        """A subscription is a watch, or has other areas now. Raises as `check` does."""
        self.flush()
        self.check(watcher, terms)
        areas = self._resolved(terms)
        kept = self._watches.get((watcher, handle))
        if kept is None:
            self._numbers += 1
            kept = KeptWatch(self._numbers, watcher, handle, terms, areas)
            self._watches[watcher, handle] = self._by_number[kept.number] = kept
            self._fences.put(kept)
            self._look_again(self._clients())
            for client in [each for each in self._watched.values() if kept in each.watches]:
                self._begin(client, kept)
        elif terms != kept.terms or areas != kept.areas:
            before, kept.terms, kept.areas = kept.areas, terms, areas
            self._fences.put(kept)
            for client in [each for each in self._watched.values() if kept in each.watches]:
                self._reshape(client, kept, before)
        if terms.until is not None:
            self._host.after(max(0.0, terms.until - self._host.now()), self._expire, kept)

    def unwatch(self, watcher: int, handle: int) -> bool:
        """A subscription is over: its watcher is told nothing more. Gives whether it was a watch."""
        kept = self._watches.get((watcher, handle))
        if kept is None:
            return False
        self.flush()
        self._drop(kept)
        return True

    def handles(self, watcher: int) -> list[int]:
        """The handles of a client's watches."""
        return [handle for each, handle in self._watches if each == watcher]

    def places_changed(self) -> None:
        """Named places have come, gone, or changed their shape."""
        for kept in [*self._watches.values()]:
            if kept.terms.every_place or any(area.place for _, area in kept.terms.areas):
                self.flush()
                before, kept.areas = kept.areas, self._resolved(kept.terms, lenient=True)
                self._fences.put(kept)
                for client in [each for each in self._watched.values() if kept in each.watches]:
                    self._reshape(client, kept, before)

    # -- watched clients ----------------------------------------------------------------------------------

    def located(self, client: int, x: float, y: float, at: float | None = None, z: float | None = None) -> None:
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
        if not self._fixes:
            return
        fixes, self._fixes = self._fixes, {}
        ways: list[tuple[WatchedClient, PathPoint, PathPoint]] = []
        for number, end in fixes.items():
            client = self._watched[number]
            start, client.last = client.last, end
            if start is None:
                for kept in client.watches:
                    self._begin(client, kept)
            else:
                ways.append((client, start, end))
        if not ways:
            return
        corners = np.array([(start[0], start[1], end[0], end[1]) for _, start, end in ways])
        fences, pairs = self._fences.passed(corners)
        touched: dict[int, dict[KeptWatch, dict[str, Area]]] = {}
        for i, row in pairs.tolist():
            fence = fences[row]
            if fence.watch in ways[i][0].watches:
                touched.setdefault(i, {}).setdefault(fence.watch, {})[fence.key] = fence.area
        for i, (client, _, end) in enumerate(ways):
            if client.due <= end[2]:
                touched.setdefault(i, {})
        for i in sorted(touched):
            self._go(*ways[i], touched[i])

    def reported(self, publication: Publish) -> None:
        """A client reports what it has found. Raises InvalidEvent for what is no report."""
        report = BorderReport.of_event(publication.event)
        client = self._watched.get(publication.client)
        if client is None or client.computes is Computes.BROKER or report.turn > client.turn:
            self._count("unwatched", len(report.events))
            return
        self.changed.add(client.number)
        for number, event in report.events:
            kept = self._by_number.get(number)
            if kept is None or kept not in client.watches:
                self._count("withdrawn")
            elif event.area not in kept.areas:
                self._count("removed")
            else:
                event = replace(event, client=client.number, name=client.name)
                self._tell(kept, (event,))
        if (report.turn, report.number) < client.reported:
            return  # it was refused when it came first, and later ones were not
        client.reported = (report.turn, report.number)
        for number, states in report.states.items():
            kept = self._by_number.get(number)
            if kept is not None and kept in client.watches:
                own = {key: state for key, state in states.items() if key in kept.areas}
                kept.tracker(client.number, client.name).load(own)
                client.begun.add(number)
        client.last, client.heard = report.last or client.last, self._host.now()
        if report.is_final and report.turn == client.turn:
            client.computes = Computes.BROKER
            client.note_due()
            self._wake_up(client)

    def left(self, number: int, why: Why = "left") -> None:
        """A client has left for good: it is in no area any more, and watches nobody."""
        self.flush()
        for kept in [each for each in self._watches.values() if each.watcher == number]:
            self._drop(kept)
        client = self._watched.pop(number, None)
        if client is not None:
            for kept in client.watches:
                self._end(client, kept, why)
            self.changed.add(number)

    def returned(self, number: int) -> None:
        """A client has a connection again, or for the first time: it may not know what it is to do."""
        client = self._watched.get(number)
        if client is None:
            if self._watches:
                self._look_again((number,))
        elif client.turn:
            self._assign(client)

    def allowed(self, number: int) -> None:
        """Others may watch a client that could not, or the other way round."""
        self.flush()
        client = self._watched.get(number)
        if client is not None:
            for kept in client.watches:
                if not self._concerns(kept, number):
                    self._end(client, kept, "forbidden")
        self._look_again((number,))

    def schemes_changed(self) -> None:
        """Clients may be served by other filter schemes now: others may have to find what they pass."""
        if self._watched:
            self.flush()
            for client in self._watched.values():
                self._hand_over(client)

    # -- stores -------------------------------------------------------------------------------------------

    def dump(self, number: int) -> dict[str, Any] | None:
        """What is to be stored of a watched client; None: nothing any more."""
        client = self._watched.get(number)
        return None if client is None else client.dump()

    def restore(
        self, dumped: Mapping[int, Mapping[str, Any]], places: Mapping[int, tuple[float, float, float]]
    ) -> None:
        """Go on as a broker before this one, after its watches are known again. `places` are x, y and the time of
        clients that are known; others that were in an area have left."""
        self._look_again(places)
        for number, each in dumped.items():
            client = self._watched.get(number) or WatchedClient(number, self._permissions.name(number))
            client.watches = client.watches or tuple(
                kept for kept in self._watches.values() if kept.name in each["states"]
            )
            client.load(each)
            if number not in self._watched:
                self._watched[number] = client
                self.left(number)
        for number, (x, y, at) in places.items():
            found = self._watched.get(number)
            if found is not None and (found.last is None or at > found.heard):
                later = at if found.last is None else found.last.at + at - found.heard
                found.last, found.heard = PathPoint(x, y, later), at
        for client in self._watched.values():
            client.begun.update(each.number for each in client.watches if client.computes is Computes.BROKER)
            self._wake_up(client)

    # -- internals ----------------------------------------------------------------------------------------

    def _resolved(self, terms: BorderWatch, lenient: bool = False) -> dict[str, Area]:
        """The areas of a watch, by name. Raises InvalidWatch for a place that there is not, unless `lenient`."""
        places = self._places() if terms.every_place or any(area.place for _, area in terms.areas) else {}
        areas = dict(places) if terms.every_place else {}
        for key, area in terms.areas:
            if not area.place:
                areas[key] = area
            elif area.place in places:
                areas[key] = places[area.place]
            elif not lenient:
                raise InvalidWatch(f"place {area.place!r}: expected one of the region's")
        return areas

    def _concerns(self, kept: KeptWatch, client: int) -> bool:
        """Whether a watch is about a client, and the client's wish."""
        if kept.terms.whom is None:
            return kept.watcher != client
        if not kept.terms.whom:
            return kept.watcher == client
        name = self._permissions.name(client)
        named = name in kept.terms.whom or name.partition("/")[0] in kept.terms.whom
        return named and self._permissions.may_watch(kept.watcher, client)

    def _look_again(self, clients: Iterable[int]) -> None:
        """Find out which watches are about clients, of which there may be more or fewer than before."""
        for number in clients:
            watches = tuple(kept for kept in self._watches.values() if self._concerns(kept, number))
            client = self._watched.get(number)
            if client is None:
                if not watches:
                    continue
                client = self._watched[number] = WatchedClient(number, self._permissions.name(number))
                client.watches = watches
                self._hand_over(client, new=True)
                continue
            new = [kept for kept in watches if kept not in client.watches]
            if watches == client.watches:
                continue
            client.watches = watches
            for kept in new:
                self._begin(client, kept)
            self._assign_anew(client)

    def _hand_over(self, client: WatchedClient, new: bool = False) -> None:
        """Have those find the passages of a client who can."""
        fixes = self._has_fixes(client.number)
        if fixes and client.computes is Computes.CLIENT:
            client.computes = Computes.RETURNING
        elif not fixes and client.computes is not Computes.CLIENT:
            if not self._permissions.can_compute(client.number):
                self._count("unsupported")
                return
            client.computes = Computes.CLIENT
        elif not new:
            return
        self._assign_anew(client)

    def _assign_anew(self, client: WatchedClient) -> None:
        # Later than what any broker before this one has said, which may have forgotten the client meanwhile.
        self._turn = client.turn = max(self._turn + 1, round(self._host.now() * 1e3))
        self.changed.add(client.number)
        self._assign(client)
        if not client.watches:
            del self._watched[client.number]

    def _assign(self, client: WatchedClient) -> None:
        """Tell a client what it is to do."""
        if not self._permissions.can_compute(client.number):
            return
        computes = client.computes is Computes.CLIENT
        watches: list[WatchedAreas] = []
        for kept in client.watches if client.computes is not Computes.BROKER else ():
            tracker = kept.trackers.get(client.number)
            states = None
            if kept.number in client.begun:
                states = {} if tracker is None else tracker.dump()
            watches.append(WatchedAreas(kept.number, kept.terms.options, tuple(kept.areas.items()), states))
        interval = min((kept.terms.options.interval for kept in client.watches), default=0.0)
        task = BorderTask(client.turn, computes, interval, tuple(watches), client.last)
        self._send(client.number, task)

    def _begin(self, client: WatchedClient, kept: KeptWatch) -> None:
        """A watch begins to be about a client whose place may be known."""
        if client.last is None or client.computes is not Computes.BROKER:
            return
        client.begun.add(kept.number)
        x, y = client.last.x, client.last.y
        areas = [(fence.key, fence.area) for fence in self._fences.around(x, y) if fence.watch is kept]
        if areas and self._has_room(kept):
            events = kept.tracker(client.number, client.name).begin(areas, client.last)
            self._found(client, kept, events)

    def _go(
        self,
        client: WatchedClient,
        start: PathPoint,
        end: PathPoint,
        touched: dict[KeptWatch, dict[str, Area]],
    ) -> None:
        number = client.number
        if client.due <= end.at:
            for kept in client.watches:
                tracker = kept.trackers.get(number)
                if tracker is not None and tracker.due <= end.at:
                    own = touched.setdefault(kept, {})
                    own.update((key, kept.areas[key]) for key in tracker.open)
        for kept, areas in touched.items():
            if number in kept.trackers or self._has_room(kept):
                tracker = kept.tracker(number, client.name)
                self._found(client, kept, tracker.go(areas.items(), start, end))

    def _reshape(self, client: WatchedClient, kept: KeptWatch, before: Mapping[str, Area]) -> None:
        """A watch has other areas. A client that finds its passages itself is told; what is gone, ends here."""
        tracker = kept.tracker(client.number, client.name)
        if client.computes is Computes.BROKER:
            self._found(client, kept, tracker.change(before, kept.areas, client.last))
            return
        rest = {key: before[key] for key in before.keys() & kept.areas.keys()}
        self._found(client, kept, tracker.change(before, rest, client.last))
        self._assign_anew(client)

    def _end(self, client: WatchedClient, kept: KeptWatch, why: Why) -> None:
        """A watch is not about a client any more."""
        tracker = kept.trackers.pop(client.number, None)
        if tracker is not None:
            self._tell(kept, tracker.end(client.last, why))
            self.changed.add(client.number)
            client.note_due()

    def _expire(self, kept: KeptWatch) -> None:
        until = kept.terms.until
        if self._by_number.get(kept.number) is not kept or until is None or until > self._host.now():
            return  # it is over, or lasts longer than it did
        self.flush()
        for client in [each for each in self._watched.values() if kept in each.watches]:
            self._end(client, kept, "expired")
        self._drop(kept)

    def _drop(self, kept: KeptWatch) -> None:
        del self._watches[kept.watcher, kept.handle], self._by_number[kept.number]
        self._fences.drop(kept)
        self._look_again([each.number for each in self._watched.values() if kept in each.watches])

    def _found(self, client: WatchedClient, kept: KeptWatch, events: Sequence[BorderEvent]) -> None:
        self.changed.add(client.number)
        client.note_due()
        self._wake_up(client)
        self._tell(kept, events)

    def _tell(self, kept: KeptWatch, events: Iterable[BorderEvent]) -> None:
        for event in events:
            self.announcer.announce(kept.watcher, kept.handle, event)

    def _has_room(self, kept: KeptWatch) -> bool:
        """Whether a watch may have a state of one more client."""
        if len(kept.trackers) < MOST_STATES:
            return True
        self._count("too_many")
        return False

    def _count(self, why: str, events: int = 1) -> None:
        self.undelivered[why] += events

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
