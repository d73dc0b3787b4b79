"""Several mechanisms side by side, each serving some members: the place of partial transitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from functools import partial
from typing import Any, Protocol, cast

from bypass.transitions.engine.attempt import Attempt
from bypass.transitions.engine.draft import Draft, ServingMechanism, draft_build, draft_self, valid_values
from bypass.transitions.engine.roster import Members, Roster
from bypass.transitions.engine.slot import Running, Slot
from bypass.transitions.mechanism import Mechanism
from bypass.transitions.plan import Action


class Divisible(Protocol):
    """A mechanism that can be in a group: it serves members, besides its work.

    What belongs to single members travels through `admit`; transferable state is for what all share.
    """

    def members(self) -> Collection[Hashable]:
        """Give the members that it serves; best as a set, dict or view, which need not be copied."""

    def admit(self, members: Collection[Hashable] | None, source: Mechanism | None) -> None:
        """Take `members` over from `source`, or all of them if None. Must not change `source`.

        If it raises, the engine calls `release` with the same members, or discards this mechanism.
        """

    def release(self, members: Collection[Hashable]) -> None:
        """Forget `members`; those that are not there are ignored."""


class Group:
    """The running mechanisms of a group, as callers hold them. Each member is served by exactly one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.active: tuple[Mechanism, ...] = ()
        """All that run, the default first; replaced as a whole at each switch."""

    @property
    def default(self) -> Mechanism:
        """The mechanism that serves everybody who has not been moved elsewhere."""
        return self.active[0]

    def get(self, name: str) -> Mechanism | None:
        """The running mechanism called `name`, if it runs."""
        return next((mechanism for mechanism in self.active if mechanism.name == name), None)


class GroupSlot(Slot):
    """One or more mechanisms run here, at most one of each class."""

    def __init__(self, name: str, lease: Callable[[str], Any] | None) -> None:
        super().__init__(name, lease)
        self.group = Group(name)

    def check_fits(self, mechanism: type[Mechanism]) -> None:
        for name in ("members", "admit", "release"):
            if not callable(getattr(mechanism, name, None)):
                raise TypeError(f"{mechanism.__name__} cannot be in group {self.name!r}: it lacks {name!r}")

    def is_in_call(self) -> bool:
        return False

    def enter(self, running: tuple[Running, ...]) -> None:
        self.running = running
        self.group.active = tuple(r.mechanism for r in running)

    def seats(self) -> tuple[ServingMechanism, ...]:
        return tuple(
            ServingMechanism(seat.kind, seat.offers, Roster(_divisible(r).members()))
            for seat, r in zip(super().seats(), self.running, strict=True)
        )

    def draft(self, action: Action, seats: tuple[ServingMechanism, ...], attempt: Attempt) -> Draft:
        if action.to is None:
            return Draft(seats, changes=draft_self(action, seats, attempt))
        target = self.resolve(action.to)
        others = [seat for seat in seats if seat.kind is not target]
        here = next((seat for seat in seats if seat.kind is target), None)
        if action.members is None:
            moves = {seat.kind: frozenset(seat.members) for seat in others}
        else:
            served = {seat.kind: frozenset(m for m in action.members if m in seat.members) for seat in others}
            moves = {kind: members for kind, members in served.items() if members}
        if here is not None and not moves:
            return Draft(seats, changes=draft_self(action, (here,), attempt))
        return self._draft_moves(action, seats, target, here, moves, attempt)

    def _draft_moves(
        self,
        action: Action,
        seats: tuple[ServingMechanism, ...],
        target: type[Mechanism],
        here: ServingMechanism | None,
        moves: dict[type[Mechanism], Members],
        attempt: Attempt,
    ) -> Draft:
        """`target` takes over what `moves` says; it is built if it is not `here`."""
        record = attempt.record
        record.kind = "total" if action.members is None else "partial"
        record.source = ",".join(kind.name for kind in moves)
        record.target = target.name
        record.members = sum(map(len, moves.values()))
        if not moves:
            record.outcome = "skipped"
            record.error = "none of the members is served here"
            return Draft(seats)
        origin = next(seat for seat in seats if seat.kind in moves)
        joined = frozenset().union(*moves.values())
        if here is not None:
            record.set = valid_values(target, action, "set", attempt)
            record.skipped = tuple(name for name in action.set if name not in record.set)
            after = _after(
                action, seats, ServingMechanism(target, here.offers, here.members.plus(joined)), moves
            )
            return Draft(
                after, changes={target: record.set} if record.set else {}, target=target, moves=moves
            )
        settings = draft_build(target, origin, action, self.transitions, attempt)
        after = _after(
            action, seats, ServingMechanism(target, tuple(target.states().values()), Roster(joined)), moves
        )
        if any(seat.kind is origin.kind for seat in after):
            record.dropped = ()  # the origin goes on and keeps what the target does not take
        return Draft(after, target, settings, origin.kind, target=target, moves=moves)

    def perform(self, draft: Draft, attempt: Attempt) -> None:
        if draft.changes:
            self.change(draft.changes, attempt)
        if draft.target is None:
            return
        before = {type(r.mechanism): r for r in self.running}
        new = None
        if draft.build is not None and draft.origin is not None:
            new = self.build(draft.build, draft.settings, attempt)
            self.transfer(before[draft.origin].mechanism, new.mechanism, attempt)
            self.start(new, attempt)
        target = new or before[draft.target]
        sources = [(before[kind], members) for kind, members in draft.moves.items()]
        everybody = attempt.record.kind == "total"
        with attempt.phase("admit"):
            for source, members in sources:
                if new is None:
                    attempt.on_failure(partial(_divisible(target).release, members))
                _divisible(target).admit(None if everybody else members, source.mechanism)
        running = {**before, draft.target: target}
        self.switch((target,) if everybody else tuple(running.values()), new, attempt)
        attempt.commit()
        if not everybody:
            for source, members in sources:
                with attempt.aftermath("release"):
                    _divisible(source).release(members)
        self.enter(tuple(running[seat.kind] for seat in draft.after))
        for source, _ in sources:
            if source not in self.running:
                with attempt.aftermath("stop"):
                    source.stop()


def _after(
    action: Action,
    seats: tuple[ServingMechanism, ...],
    target: ServingMechanism,
    moves: dict[type[Mechanism], Members],
) -> tuple[ServingMechanism, ...]:
    """Give the mechanisms left after members have moved: only the default may stay without any."""
    if action.members is None:
        return (target,)
    left = []
    for seat in seats:
        members = seat.members.minus(moves.get(seat.kind, frozenset()))
        if seat.kind is target.kind:
            left.append(target)
        elif members or seat.kind not in moves or seat is seats[0]:
            left.append(ServingMechanism(seat.kind, seat.offers, members))
    return tuple(left) if target in left else (*left, target)


def _divisible(running: Running) -> Divisible:
    return cast("Divisible", running.mechanism)
