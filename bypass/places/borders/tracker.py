"""The tracker: from the fixes of one watched client to border events of the areas of one watch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isfinite, isnan
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from bypass.places.borders.border_event import BorderEvent, Why
from bypass.places.borders.options import BorderOptions
from bypass.places.borders.passages import NOWHERE, PathPoint, contains, passages, reaches

if TYPE_CHECKING:
    from bypass.places.areas import Area

    Told = list[tuple[float, BorderEvent]]  # with the time at which each is known


class AreaState:
    """One client and one area. `inside` is what was told last, `since` when that stay began.

    `crossed` is the latest passage if it does not count yet, and `far` when the client was first far enough
    from there (infinity: not yet). `seen`: a fix was inside during this stay. `dwelt`: that was told.
    """

    __slots__ = ("crossed", "dwelt", "far", "inside", "seen", "since")

    def __init__(self) -> None:
        self.inside = False
        self.since = NOWHERE
        self.dwelt = False
        self.seen = False
        self.crossed: PathPoint | None = None
        self.far = inf

    @property
    def is_there(self) -> bool:
        """Whether the client is inside, whatever was told."""
        return self.inside != (self.crossed is not None)

    def dump(self) -> list[Any]:
        """The state as plain values; not a number becomes None."""
        crossed = None if self.crossed is None else [_known(each) for each in self.crossed]
        far = None if self.far == inf else self.far
        return [self.inside, _known(self.since), self.dwelt, self.seen, crossed, far]

    @classmethod
    def load(cls, dumped: Sequence[Any]) -> AreaState:
        """The reverse of `dump`. Raises ValueError or TypeError for anything else, OverflowError for numbers
        that no float has."""
        state = cls()
        inside, since, dwelt, seen, crossed, far = dumped
        state.inside, state.dwelt, state.seen = bool(inside), bool(dwelt), bool(seen)
        state.since = _read(since)
        if crossed is not None:
            state.crossed = PathPoint(*map(_read, crossed))
        state.far = inf if far is None else _read(far)
        return state


class BorderTracker:
    """The states of one client in the areas of a watch. It has no clock: times are those of fixes.

    A client goes straight, at an even speed, from fix to fix, and stands where it was last until an area
    changes. `states` are by area; the client is outside those without one.
    """

    def __init__(self, options: BorderOptions, client: int = 0, name: str = "") -> None:
        self.states: dict[str, AreaState] = {}
        self._options = options
        self._client = client
        self._name = name

    # -- what happens -------------------------------------------------------------------------------------

    def begin(self, areas: Iterable[tuple[str, Area]], point: PathPoint) -> list[BorderEvent]:
        """Begin to watch the client in these areas, none of which it was watched in: where it is now."""
        return _in_order(told for key, area in areas for told in self._begin(key, area, point))

    def go(
        self,
        areas: Iterable[tuple[str, Area]],
        start: PathPoint,
        end: PathPoint,
        known: Mapping[str, Sequence[float] | None] | None = None,
    ) -> list[BorderEvent]:
        """The client has gone from its latest point to another one. Areas that the way does not touch, and in
        which it has no state, may be left out. `known` are the shares of the way at which it passes the
        border of an area, where somebody has found them already."""
        return _in_order(
            told
            for key, area in areas
            for told in self._go(key, area, start, end, None if known is None else known.get(key))
        )

    def change(
        self,
        before: Mapping[str, Area],
        after: Mapping[str, Area],
        point: PathPoint | None,
        why: Why = "removed",
    ) -> list[BorderEvent]:
        """Watch other areas. Those that have gone are left, for a reason; those that are new begin; one that
        has another shape is entered or left if its border has passed the client at its latest point."""
        told: Told = []
        for key in before.keys() - after.keys():
            told += self._remove(key, point, why)
        if point is not None:
            for key, area in after.items():
                if key not in before:
                    told += self._begin(key, area, point)
                elif area != before[key]:
                    told += self._reshape(key, area, point)
        return _in_order(told)

    def end(self, point: PathPoint | None, why: Why) -> list[BorderEvent]:
        """The client is not watched any more: it leaves all areas that it is in."""
        return _in_order(told for key in list(self.states) for told in self._remove(key, point, why))

    @property
    def due(self) -> float:
        """When something happens even if the client stays where it is; infinity: nothing does."""
        return min(map(self._next, self.states.values()), default=inf)

    @property
    def open(self) -> Iterable[str]:
        """The areas in which something may happen without a passage: a dwelling, or a passage that counts."""
        return [key for key, state in self.states.items() if state.crossed or self._dwells_at(state) < inf]

    # -- state that moves ---------------------------------------------------------------------------------

    def dump(self) -> dict[str, list[Any]]:
        """The states as plain values, by area."""
        return {key: state.dump() for key, state in self.states.items()}

    def load(self, dumped: Mapping[str, Sequence[Any]]) -> None:
        """Go on with these states, instead of those there are."""
        self.states = {key: AreaState.load(each) for key, each in dumped.items()}

    # -- one area -----------------------------------------------------------------------------------------

    def _begin(self, key: str, area: Area, point: PathPoint) -> Iterator[tuple[float, BorderEvent]]:
        if not contains(area, point):
            return
        state = self.states[key] = AreaState()
        state.inside = state.seen = True
        state.since = point.at
        if self._options.initial:
            yield from self._tell(point.at, "enter", key, point, state, "initial")

    def _go(
        self, key: str, area: Area, start: PathPoint, end: PathPoint, known: Sequence[float] | None
    ) -> Iterator[tuple[float, BorderEvent]]:
        state = self.states.get(key)
        shares = passages(area, start, end) if known is None else known
        if state is None:
            if not shares:
                return
            state = self.states[key] = AreaState()
        here = start
        for share in shares:
            point = start.towards(end, share)
            yield from self._pass_time(key, state, here, point)
            yield from self._pass_border(key, state, point)
            here = point
        yield from self._pass_time(key, state, here, end)
        if known is None and state.is_there != contains(area, end):  # what rounding has hidden
            yield from self._pass_border(key, state, end)
        state.seen = state.seen or state.is_there
        self._tidy(key, state)

    def _reshape(self, key: str, area: Area, point: PathPoint) -> Iterator[tuple[float, BorderEvent]]:
        state = self.states.get(key) or AreaState()
        there = contains(area, point)
        if there == state.is_there:
            return
        if state.crossed is not None:  # the border has come back over the client: nothing has happened
            state.crossed = None
        else:
            yield from self._count(key, state, point, point.at, "changed")
            state.seen = state.seen or there
        self.states[key] = state
        self._tidy(key, state)

    def _remove(self, key: str, point: PathPoint | None, why: Why) -> Iterator[tuple[float, BorderEvent]]:
        state = self.states.pop(key, None)
        if state is not None and state.inside:
            point = point or PathPoint(NOWHERE, NOWHERE, state.since)
            crossed = state.crossed  # it had left before, which did not count yet
            told = (crossed, "moved") if crossed is not None else (point, why)
            yield from self._count(key, state, told[0], point.at, told[1])  # type: ignore[arg-type]

    def _pass_border(
        self, key: str, state: AreaState, point: PathPoint
    ) -> Iterator[tuple[float, BorderEvent]]:
        if state.crossed is not None:
            state.crossed = None  # it is back
            return
        if not state.inside:
            state.seen = False
        state.crossed = point
        state.far = inf if self._options.margin else point.at
        yield from self._pass_time(key, state, point, point)

    def _pass_time(
        self, key: str, state: AreaState, start: PathPoint, end: PathPoint
    ) -> Iterator[tuple[float, BorderEvent]]:
        """The client goes straight on, and passes no border."""
        crossed, since = state.crossed, start.at
        if crossed is not None:
            if state.far == inf:
                share = reaches(start, end, crossed.x, crossed.y, self._options.margin)
                if share is not None:
                    state.far = start.towards(end, share).at
            counts = max(crossed.at + self._options.debounce, state.far)
            if counts <= end.at:
                since = max(since, counts)
                yield from self._count(key, state, crossed, since, "moved")
        dwells = max(self._dwells_at(state), since)
        if dwells <= end.at:
            state.dwelt = True
            span = end.at - start.at
            point = start.towards(end, (dwells - start.at) / span if span > 0 else 1.0)
            yield from self._tell(dwells, "dwell", key, point._replace(at=dwells), state, "moved")

    def _count(
        self, key: str, state: AreaState, point: PathPoint, at: float, why: Why
    ) -> Iterator[tuple[float, BorderEvent]]:
        """A passage counts, from `at` on: it is told."""
        state.inside, state.crossed = not state.inside, None
        if state.inside:
            state.since, state.dwelt = point.at, False
            yield from self._tell(at, "enter", key, point, state, why)
            return
        yield from self._tell(at, "exit", key, point, state, why)
        if not state.seen:
            yield from self._tell(at, "cross", key, point, state, why)

    def _tell(
        self, known: float, kind: Any, key: str, point: PathPoint, state: AreaState, why: Why
    ) -> Iterator[tuple[float, BorderEvent]]:
        if kind in self._options.on:
            since = point.at if isnan(state.since) else state.since
            yield (
                known,
                BorderEvent(kind, key, point.x, point.y, point.at, since, why, self._client, self._name),
            )

    def _dwells_at(self, state: AreaState) -> float:
        """When the client has been inside for long enough; infinity: it was told, or there is nothing to
        tell.

        While it may have left, that has to wait.
        """
        dwell = self._options.dwell
        if dwell is None or state.dwelt or not state.inside or state.crossed is not None:
            return inf
        return state.since + dwell

    def _next(self, state: AreaState) -> float:
        if state.crossed is None:
            return self._dwells_at(state)
        return max(state.crossed.at + self._options.debounce, state.far)

    def _tidy(self, key: str, state: AreaState) -> None:
        if not state.inside and state.crossed is None:
            self.states.pop(key, None)


def _in_order(told: Iterable[tuple[float, BorderEvent]]) -> list[BorderEvent]:
    """The events in the order in which they are known, those of one moment in the order of areas."""
    return [event for _, event in sorted(told, key=itemgetter(0))]


def _known(number: float) -> float | None:
    return None if isnan(number) else number


def _read(number: Any) -> float:
    value = NOWHERE if number is None else float(number)
    if number is not None and not isfinite(value):
        raise ValueError(f"{number}: expected a finite number, or none")
    return value
