"""What each client of a live broker was told, and may not have done: in memory, and in the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from bypass.live.broker.batch import Batch
from bypass.live.broker.executions import OPEN, Execution, KeptExecution, Verdict
from bypass.live.broker.sessions import Sessions
from bypass.transitions import Plan

MOST_TOLD = 32
"""Shares of plans that are remembered of one client, from the first on that it may not have done."""

BUCKETS = 256
"""Clients are stored in so many rows: to write one takes little time, and so does reading all."""

MOST_EXECUTIONS, MOST_BYTES = 100, 1 << 20
"""Of executions that have not ended, or that clients may have to be told again, the newest are stored."""

Share = tuple[int, str, int, int, Verdict]
"""A share that a client was told: the plan's epoch, the share's id, the epoch under which the client was told
last, attempts that have failed, what is known of it."""

Entry = tuple[int, list[Share]]
"""The epoch of the latest plan that a client was told, and all since the first that it may not have done."""

_BUCKET = TypeAdapter(dict[int, Entry])


@dataclass(slots=True, eq=False)
class Told:
    """A client's share of a plan. `begin` are the client's mechanisms, by proxy, before it.

    `epoch` is that of the latest message with it, `waiting` are the names under which it was told then and is
    not answered yet, `names` all others that it was told under.
    """

    execution: Execution
    plan: Plan
    epoch: int
    begin: Mapping[str, str] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    attempts: int = 0
    verdict: Verdict = "pending"
    reason: str = ""

    def __post_init__(self) -> None:
        if self.verdict in OPEN:  # else it was counted before a restart
            self.execution.counts[self.verdict] += 1

    def judge(self, verdict: Verdict) -> None:
        """Something is known of what became of it."""
        self.execution.counts[self.verdict] -= 1
        self.execution.counts[verdict] += 1
        self.verdict = verdict


class ToldClients:
    """What clients were told, from the first share on that a client may not have done, in its order.

    The store has it a little later than the clients: who was told more than the store knows is told all that
    holds after a restart.
    """

    def __init__(self, stored: Mapping[str, str]) -> None:
        self.executions: dict[int, Execution] = {}  # those that are stored until they have ended, by epoch
        self._of: dict[int, list[Told]] = {}
        self._buckets = [_BUCKET.validate_json(stored.get(f"told/{n}", "{}")) for n in range(BUCKETS)]
        self._kept = [*KeptExecution.from_json(stored.get("executions", "[]"))]
        self._changed: list[set[int]] = [set() for _ in range(BUCKETS)]
        self._stored: set[int] = set()

    def restore(self, told: dict[int, int], sessions: Sessions, first: int) -> None:
        """Go on where the broker before this one ended, when nobody is connected; `told` gets epochs.

        `first` is where the log goes on.
        """
        self.executions = {kept.plan.epoch: Execution.of(kept, first) for kept in self._kept}
        for bucket in self._buckets:
            for client, (epoch, entries) in bucket.items():
                if client not in sessions.by_number:
                    self.changed(client)
                    continue
                told[client] = epoch
                for of, share, last, attempts, verdict in entries:
                    execution = self.executions.get(of)
                    if execution is None or share not in execution.shares:
                        told[client] = 0  # it has to be told all that holds
                        self._forget(client)
                        break
                    plan = execution.shares[share]
                    # Whatever mechanism had these parameters, one that it was switched to later has not.
                    begin = {action.proxy: "" for action in plan.actions if action.to is None}
                    verdict = "away" if verdict in OPEN else verdict
                    left = Told(execution, plan, last, begin, attempts=attempts, verdict=verdict)
                    self._of.setdefault(client, []).append(left)

    def of(self, client: int) -> list[Told]:
        """What a client was told, from the first share on that it may not have done."""
        return self._of.get(client, [])

    def add(self, client: int, told: Told) -> None:
        """A client is told something."""
        self._of.setdefault(client, []).append(told)
        self.changed(client)

    def judge(self, client: int, told: Told, verdict: Verdict) -> None:
        """Something is known of what became of what a client was told."""
        told.judge(verdict)
        every = self._of.get(client, [])
        while every and every[0].verdict not in OPEN:
            del every[0]
        if not every:
            self._of.pop(client, None)
        self.changed(client)

    def changed(self, client: int) -> None:
        """What the store has of a client is to be written anew."""
        self._changed[client % BUCKETS].add(client)

    # -- the store ----------------------------------------------------------------------------------------

    def note(
        self, batch: Batch, told: Mapping[int, int], sessions: Sessions, part: int = 0, parts: int = 1
    ) -> None:
        """Have a batch store what the store does not know yet, of one part of the clients."""
        changed = [n for n in range(part, BUCKETS, parts) if self._changed[n]]
        if changed:
            self._note_executions(batch)
        for n in changed:
            clients, self._changed[n] = self._changed[n], set()
            bucket = self._buckets[n]
            for client in clients:
                session = sessions.by_number.get(client)
                bucket.pop(client, None)
                if session is None:
                    self._forget(client)
                elif session.durable and client in told:
                    bucket[client] = self._entry(client, told[client])
            batch.setting(f"told/{n}", _BUCKET.dump_json(bucket).decode())

    def lost(self) -> None:
        """A batch was not stored: all that it may have had is noted again."""
        for bucket, changed in zip(self._buckets, self._changed, strict=True):
            changed.update(bucket)
        for client in self._of:
            self.changed(client)

    def _entry(self, client: int, epoch: int) -> Entry:
        every = self.of(client)
        if any(each.execution.plan.epoch not in self._stored for each in every):
            return 0, []  # after a restart it has to be told all that holds
        return epoch, [(t.execution.plan.epoch, t.plan.id, t.epoch, t.attempts, t.verdict) for t in every]

    def _forget(self, client: int) -> None:
        for left in self._of.pop(client, []):
            if left.verdict in OPEN:
                left.judge("failed")

    def _note_executions(self, batch: Batch) -> None:
        used = {told.execution.plan.epoch for every in self._of.values() for told in every}
        self.executions = {n: e for n, e in self.executions.items() if not e.concluded or n in used}
        texts: dict[int, str] = {}
        for number, text in self._newest():
            if sum(map(len, texts.values())) + len(text) > MOST_BYTES:
                break
            texts[number] = text
        self._stored = {*texts}
        batch.setting("executions", f"[{','.join(reversed(texts.values()))}]")

    def _newest(self) -> Iterator[tuple[int, str]]:
        for number in sorted(self.executions, reverse=True)[:MOST_EXECUTIONS]:
            yield number, self.executions[number].keep().model_dump_json(exclude_defaults=True)
