"""What each client of a live broker was told and may not have done: in memory, and in the store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from bypass.core.broker import Broker
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.operations.executions import OPEN, ClientVerdict, Execution, KeptExecution
from bypass.live.broker.operations.named_clients import BUCKETS
from bypass.live.broker.sessions.sessions import Sessions
from bypass.transitions import Plan

MOST_TOLD = 32
"""Shares of plans that are remembered of one client, each of which it may not have done."""

MOST_EXECUTIONS, MOST_BYTES = 100, 1 << 20
"""Of executions that have not ended, or that clients may have to be told again, the newest are stored."""

Share = tuple[int, str, int, int]
"""A share that a client may not have done: the plan's epoch, the share's id, the epoch under which the client
was told last, attempts that have failed."""

Entry = tuple[int, int, list[Share]]
"""The epoch of the latest plan that a client was told, 0 if it has to be told all that holds, in which of its
lives it was, and the shares that it may not have done."""

_BUCKET = TypeAdapter(dict[int, Entry])


@dataclass(slots=True, eq=False)
class Told:
    """A client's share of a plan.

    `epoch` is that of the latest message with it, 0 if it took several, `waiting` are the names under which
    it was told then and is not answered yet, `names` others each of which was all of it.
    """

    execution: Execution
    plan: Plan
    epoch: int
    waiting: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    attempts: int = 0
    verdict: ClientVerdict = "pending"
    reason: str = ""

    def __post_init__(self) -> None:
        self.execution.counts[self.verdict] += 1

    def wait(self, plans: Collection[Plan]) -> None:
        """It was told again, by these plans, which all have to be answered."""
        if len(self.waiting) == 1:
            self.names |= self.waiting
        self.waiting = frozenset(plan.id for plan in plans)
        self.epoch = next(iter(plans)).epoch if len(plans) == 1 else 0
        self.judge("pending")

    def judge(self, verdict: ClientVerdict) -> None:
        """Something is known of what became of it."""
        self.execution.counts[self.verdict] -= 1
        self.execution.counts[verdict] += 1
        self.verdict = verdict


class ToldClients:
    """What clients were told and may not have done, in its order.

    The store has it a little later than the clients: who was told more than the store knows is told all that
    holds after a restart.
    """

    def __init__(self, stored: Mapping[str, str]) -> None:
        self.executions: dict[int, Execution] = {}  # those that are stored until they have ended, by epoch
        self.given_up: set[int] = set()
        """Clients that have failed something for good, and were not told all that holds since."""
        self._of: dict[int, list[Told]] = {}
        self._buckets = [_BUCKET.validate_json(stored.get(f"told/{n}", "{}")) for n in range(BUCKETS)]
        self._kept = [*KeptExecution.from_json(stored.get("executions", "[]"))]
        self._changed: list[set[int]] = [set() for _ in range(BUCKETS)]
        self._stored: set[int] = set()

    def restore(self, broker: Broker, sessions: Sessions, first: int) -> None:
        """Go on where the broker before this one ended, when nobody is connected.

        `first` is where the log goes on.
        """
        self.executions = {kept.plan.epoch: Execution.of(kept, first) for kept in self._kept}
        for bucket in self._buckets:
            for client, (epoch, life, entries) in bucket.items():
                if client not in sessions.by_number:
                    self.changed(client)
                    continue
                known = [entry for entry in entries if self._knows(*entry[:2])]
                for of, share, last, attempts in known:
                    execution = self.executions[of]
                    told = Told(execution, execution.shares[share], last, attempts=attempts, verdict="away")
                    self._of.setdefault(client, []).append(told)
                # It may have been told more than that since; and a process that was started again has done
                # nothing, whatever epoch it says.
                latest = max(1, *(held.epoch for held in broker.rollout.standing.of(client).values()))
                if len(known) == len(entries) and epoch >= latest and life == sessions.by_number[client].life:
                    broker.rollout.told[client] = epoch

    def _knows(self, epoch: int, share: str) -> bool:
        return epoch in self.executions and share in self.executions[epoch].shares

    def of(self, client: int) -> list[Told]:
        """What a client was told and may not have done."""
        return self._of.get(client, [])

    def add(self, client: int, told: Told) -> None:
        """A client is told something."""
        self._of.setdefault(client, []).append(told)
        self.changed(client)

    def judge(self, client: int, told: Told, verdict: ClientVerdict) -> None:
        """Something is known of what became of what a client was told."""
        told.judge(verdict)
        if verdict not in OPEN:
            every = self._of[client]
            every.remove(told)
            if not every:
                del self._of[client]
        self.changed(client)

    def changed(self, client: int) -> None:
        """What the store has of a client is to be written anew."""
        self._changed[client % BUCKETS].add(client)

    # -- the store ----------------------------------------------------------------------------------------

    def note(
        self, turn: Turn, told: Mapping[int, int], sessions: Sessions, part: int = 0, parts: int = 1
    ) -> None:
        """Have a turn store what the store does not know yet, of one part of the clients."""
        changed = [n for n in range(part, BUCKETS, parts) if self._changed[n]]
        if changed:
            self._note_executions(turn)
        for n in changed:
            clients, self._changed[n] = self._changed[n], set()
            bucket = self._buckets[n]
            for client in clients:
                session = sessions.by_number.get(client)
                bucket.pop(client, None)
                if session is None:
                    self._forget(client)
                elif session.durable:
                    bucket[client] = self._entry(client, told.get(client, 0), session.life)
            turn.setting(f"told/{n}", _BUCKET.dump_json(bucket).decode())

    def lost(self) -> None:
        """A batch was not stored: all that it may have had is noted again."""
        for bucket, changed in zip(self._buckets, self._changed, strict=True):
            changed.update(bucket)
        for client in self._of:
            self.changed(client)

    def _entry(self, client: int, epoch: int, life: int) -> Entry:
        every = self.of(client)
        known = [told for told in every if told.execution.plan.epoch in self._stored]
        shares = [(t.execution.plan.epoch, t.plan.id, t.epoch, t.attempts) for t in known]
        certain = len(known) == len(every) and client not in self.given_up
        return epoch if certain else 0, life, shares

    def _forget(self, client: int) -> None:
        self.given_up.discard(client)
        for left in self._of.pop(client, []):
            left.judge("failed")

    def _note_executions(self, turn: Turn) -> None:
        used = {told.execution.plan.epoch for every in self._of.values() for told in every}
        self.executions = {n: e for n, e in self.executions.items() if not e.concluded or n in used}
        texts: dict[int, str] = {}
        for number, text in self._newest():
            if sum(map(len, texts.values())) + len(text) > MOST_BYTES:
                break
            texts[number] = text
        self._stored = {*texts}
        turn.setting("executions", f"[{','.join(reversed(texts.values()))}]")

    def _newest(self) -> Iterator[tuple[int, str]]:
        for number in sorted(self.executions, reverse=True)[:MOST_EXECUTIONS]:
            yield number, self.executions[number].keep().model_dump_json(exclude_defaults=True)
