"""Self-healing: a host that missed a plan follows what it hears of others, without messages of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from bypass.transitions.engine.engine import Engine
from bypass.transitions.engine.record import Record
from bypass.transitions.errors import TransitionError, TransitionFailed
from bypass.transitions.mechanism import Mechanism
from bypass.transitions.recent import Recent

MOST_AHEAD = 256
"""How far a decision that is heard may be ahead of what a plan has said, or of the first that was heard."""

_HALF = 2**31
_MASK = 2**32 - 1


class Stamp(NamedTuple):
    """The mark of every message: the sender's mechanism, the decision that it follows, and its scope."""

    flag: int
    counter: int
    scope: int


def newer(a: int, b: int) -> bool:
    """Say whether decision `a` comes after `b`: 32-bit numbers start anew at their end.

    Of two different numbers exactly one is newer.
    """
    ahead = (a - b) & _MASK
    return 0 < ahead < _HALF or (ahead == _HALF and a > b)


def supersedes(a: int, b: int) -> bool:
    """Say whether decision `a` replaces `b`, where 0 is none: a host without any follows what it hears."""
    return a != 0 and (b == 0 or newer(a, b))


def successor(decision: int) -> int:
    """The number after `decision`; 0 stands for none and is never given."""
    return decision % _MASK + 1


class Healing:
    """Keeps what is behind one proxy in step with what its host hears.

    Whoever hears of a newer decision of its own scope follows it. Of equal decisions with different
    mechanisms, which two initiators can make, the larger flag is followed, so that all agree in the end.
    While `Nothing` is active, or what has no flag, the host listens to nobody: it is started again by a plan,
    never by others.

    `flags` says which mechanism a flag stands for; plans may name these from then on. `on_change` is told
    each new stamp. Counted are decisions that were followed (`healed`), transitions for it that were refused
    or given up (`failed`), and messages: with the mechanism of an older decision (`obsolete`), with another
    mechanism for the same decision (`conflicts`), with a flag that nobody knows (`unknown`), with a decision
    so far ahead (`MOST_AHEAD`) that it is taken for nobody's (`leaps`): who makes one up cannot push numbers
    to their end, where no plan would be newer.
    """

    def __init__(
        self,
        engine: Engine,
        proxy: str,
        flags: Mapping[int, type[Mechanism]],
        on_change: Callable[[Stamp], object] | None = None,
    ) -> None:
        """Raises UnknownProxy, ValueError for flag 0, and TypeError if a mechanism does not fit."""
        self.healed = 0
        self.obsolete = 0
        self.conflicts = 0
        self.unknown = 0
        self.leaps = 0
        self.failed = 0
        self._engine = engine
        self._proxy = proxy
        self._names: dict[int, str] = {}
        self._flags: dict[type[Mechanism], int] = {}
        self.learn(flags)
        self._on_change = on_change
        self._following: Stamp | None = None
        self._base = 0  # the latest decision of a plan in this scope, or the first that was heard
        self._was_told = False  # it is a plan's
        self._deferred: Recent[str, Stamp] = Recent()
        self.stamp = Stamp(self._active_flag(), 0, 0)
        """Give the mark for messages of this host now; its flag is 0 while nobody is listened to."""
        engine.add_listener(self)

    def learn(self, flags: Mapping[int, type[Mechanism]]) -> None:
        """These flags stand for these mechanisms as well. Raises as the constructor does."""
        if 0 in flags:
            raise ValueError(f"flag 0 is {flags[0].__name__}: it stands for no mechanism")
        for flag, mechanism in flags.items():
            self._engine.register(self._proxy, mechanism)
            self._names[flag] = mechanism.name
            self._flags[mechanism] = flag

    def adopt(self, scope: int, counter: int) -> None:
        """A plan that was executed here said so; one without a decision leaves the number as it is."""
        if counter or scope != self.stamp.scope:
            self._base, self._was_told = counter, counter != 0
            self._become(scope, counter)

    def admits(self, scope: int, counter: int) -> bool:
        """Say whether a plan should be executed: unless it is of this scope and older than what is known.

        What was only heard, and is so far ahead that it would not have been followed later, does not count.
        """
        known = self.stamp.counter
        if scope != self.stamp.scope or not counter or not supersedes(known, counter):
            return True
        return not self._was_told and newer(known, counter + MOST_AHEAD & _MASK)

    def meet(self, theirs: Stamp, sender: str = "") -> bool:
        """A message with this stamp was heard: follow it if it is newer.

        Gives whether the message may be handed to what is active now. Raises nothing: what cannot be done
        now is tried again when the decision is heard again.
        """
        mine = self.stamp
        if not mine.flag:
            return False
        if theirs == mine:
            return True
        if theirs.flag not in self._names:
            self.unknown += 1
            return False
        if theirs.scope == mine.scope:
            if self._base and newer(theirs.counter, self._base + MOST_AHEAD & _MASK):
                self.leaps += 1
                return False
            self._compare(mine, theirs, sender)
            self._base = self._base or self.stamp.counter
        return theirs.flag == self.stamp.flag

    def transition_finished(self, record: Record) -> None:
        """The stamp follows whatever was done behind the proxy, by whomever."""
        if record.proxy != self._proxy:
            return
        followed = self._deferred.pop(record.id, self._following)
        if followed is None or followed.scope != self.stamp.scope:  # the host may have moved on meanwhile
            self._become(self.stamp.scope, self.stamp.counter)
        elif record.outcome == "failed":
            self.failed += 1
        elif followed != self.stamp:
            self.healed += 1
            self._become(followed.scope, followed.counter)

    def _compare(self, mine: Stamp, theirs: Stamp, sender: str) -> None:
        if theirs.flag == mine.flag:
            if supersedes(theirs.counter, mine.counter):
                self.healed += 1
                self._become(theirs.scope, theirs.counter)
            return
        if theirs.counter == mine.counter:
            self.conflicts += 1
            if theirs.flag > mine.flag:
                self._follow(theirs, sender)
        elif supersedes(theirs.counter, mine.counter):
            self._follow(theirs, sender)
        else:
            self.obsolete += 1

    def _follow(self, theirs: Stamp, sender: str) -> None:
        why = f"heard decision {theirs.counter} of scope {theirs.scope}" + (
            f" from {sender}" if sender else ""
        )
        self._following = theirs
        try:
            record = self._engine.transition(
                self._proxy, self._names[theirs.flag], why=why, who="self-healing"
            )
        except TransitionFailed:
            return  # counted when it ended
        except TransitionError:
            self.failed += 1
            return
        finally:
            self._following = None
        if record.outcome == "deferred":
            self._deferred[record.id] = theirs

    def _active_flag(self) -> int:
        return self._flags.get(type(self._engine.active(self._proxy)), 0)

    def _become(self, scope: int, counter: int) -> None:
        stamp = Stamp(self._active_flag(), counter, scope)
        if stamp != self.stamp:
            self.stamp = stamp
            if self._on_change is not None:
                self._on_change(stamp)
