"""What processes that may be killed have noted, put together: who knows what, and who should have what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

BROKER = "broker"

Key = tuple[str, int]
"""An event: who published it, and which one of that client's it is."""


class Notes:
    """Reads a journal as it grows, whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def new(self) -> Iterator[list[str]]:
        with self._path.open("rb") as file:
            file.seek(self._at)
            *lines, rest = file.read().split(b"\n")
            self._at = file.tell() - len(rest)
        return (line.decode().split() for line in lines)


@dataclass
class Received:
    """What is known of one subscriber."""

    subscribed: float | None = None  # when its first subscription was safe
    lives: dict[int, dict[Key, float]] = field(default_factory=dict)  # what each got, in its order, and when
    got: set[Key] = field(default_factory=set)
    awaited: set[Key] = field(default_factory=set)  # safe, and not there yet
    twice: int = 0  # events that came again in the same life
    again: int = 0  # events that came in another life, too
    kept: int = 0  # subscriptions that nobody claimed in the present life
    ready: int = 0  # the latest life that has subscribed


class Ledger:
    """All journals together: what is safe, who got it, and what should not have happened.

    `roles` are those of the clients, by name, whose journals are in a folder.
    """

    def __init__(self, roles: dict[str, str], folder: Path) -> None:
        self.violations: list[str] = []
        self.sent: dict[Key, float] = {}
        self.safe: set[Key] = set()
        self.safe_at = 0.0  # when the latest event was sent that is
        self.refused: dict[Key, str] = {}
        self.subscribers = {name: Received() for name, role in roles.items() if role == "subscriber"}
        self.states: dict[str, tuple[int, int]] = {}  # epoch and flag, by client
        self.connected: dict[str, int] = {}  # the latest life that was
        self.numbers: dict[str, int] = {}
        self.missed = 0
        self._notes = {name: Notes(folder / f"{name}.journal") for name in roles}

    def read(self) -> None:
        """Take note of all that was written since. Subscribers come first, so that what they got of an
        event that is not known to be safe yet is known when it is."""
        for name in self._notes:
            for word, *rest in self._notes[name].new():
                getattr(self, f"_{word}")(name, *rest)

    def missing(self) -> dict[str, set[Key]]:
        """Safe events by subscribers that have not got them."""
        self.read()
        return {name: set(each.awaited) for name, each in self.subscribers.items() if each.awaited}

    # -- lines --------------------------------------------------------------------------------------------

    def _connected(self, name: str, life: str, number: str, missed: str, at: str) -> None:
        self.connected[name] = int(life)
        self.missed += int(missed)
        if self.numbers.setdefault(name, int(number)) != int(number):
            self.violations.append(f"{name} was client {self.numbers[name]} and is client {number} now")
        self.states.pop(name, None)

    def _sent(self, name: str, number: str, at: str) -> None:
        self.sent[name, int(number)] = float(at)

    def _safe(self, name: str, number: str, at: str) -> None:
        key = (name, int(number))
        self.safe.add(key)
        self.safe_at = max(self.safe_at, self.sent[key])
        for each in self.subscribers.values():
            if each.subscribed is not None and each.subscribed < self.sent[key] and key not in each.got:
                each.awaited.add(key)

    def _refused(self, name: str, number: str, *reason: str) -> None:
        self.refused[name, int(number)] = " ".join(reason[:-1])

    def _state(self, name: str, epoch: str, flag: str, at: str) -> None:
        self.states[name] = (int(epoch), int(flag))

    def _subscribed(self, name: str, life: str, handle: str, kept: str, at: str) -> None:
        each = self.subscribers[name]
        each.ready, each.kept = int(life), int(kept)
        if each.subscribed is None:
            each.subscribed = float(at)
            for key in self.safe:
                if self.sent[key] > each.subscribed and key not in each.got:
                    each.awaited.add(key)
        if int(kept):
            self.violations.append(f"{name} has {kept} subscriptions that it did not make in life {life}")

    def _got(self, name: str, life: str, who: str, number: str, at: str) -> None:
        each, key = self.subscribers[name], (who, int(number))
        got = each.lives.setdefault(int(life), {})
        if key in got:
            each.twice += 1
            self.violations.append(f"{name} got {who}'s {number} twice in life {life}")
        elif key in each.got:
            each.again += 1
        got[key] = float(at)
        each.got.add(key)
        each.awaited.discard(key)

    # -- at the end ---------------------------------------------------------------------------------------

    def check_lives(self, kills: list[tuple[float, str]]) -> None:
        """What a subscriber gets again in a later life is what it got last, unless a broker was killed too.

        A broker that is killed does not know of all acknowledgements any more.
        """
        broker_killed = [at for at, name in kills if name == BROKER]
        for name, each in self.subscribers.items():
            for life, got in each.lives.items():
                later = {
                    key: at
                    for next_life, others in each.lives.items()
                    if next_life > life
                    for key, at in others.items()
                    if key in got
                }
                if not later:
                    continue
                first = min(got[key] for key in later)
                if any(first <= at <= max(later.values()) for at in broker_killed):
                    continue
                if set(list(got)[-len(later) :]) != later.keys():
                    self.violations.append(
                        f"{name} got {len(later)} events of life {life} again that were not its last ones"
                    )
