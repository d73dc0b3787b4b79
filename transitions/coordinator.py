"""Plans for other hosts, and what becomes of them there; how bytes travel is not known here."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Self

from pydantic import BaseModel, ConfigDict

from bypass.transitions.engine.attempt import Attempt
from bypass.transitions.engine.engine import Engine
from bypass.transitions.engine.record import Record, TransitionResult
from bypass.transitions.errors import InvalidOutcome, TransitionError, describe
from bypass.transitions.plan import Action, Plan, check_size, encode_json
from bypass.transitions.recent import Recent
from bypass.transitions.validation import parse_json

MAX_BYTES = 256 * 1024
MAX_ERROR = 200
"""Characters of an error's text that travel: enough to see what is wrong, and never too large in sum."""


class Summary(BaseModel):
    """How one action ended."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    outcome: TransitionResult
    error: str = ""


class Outcome(BaseModel):
    """How a plan, named by its id, ended on one host. It is `ok` if no action failed.

    It is `obsolete` if nothing of it was done because all of it had been overtaken.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    plan: str
    host: str
    ok: bool
    records: tuple[Summary, ...] = ()

    @classmethod
    def of(cls, plan: str, host: str, records: Iterable[Record]) -> Self:
        """The outcome that `records` tell."""
        summaries = tuple(Summary(id=r.id, outcome=r.outcome, error=r.error[:MAX_ERROR]) for r in records)
        return cls(plan=plan, host=host, ok=all(s.outcome != "failed" for s in summaries), records=summaries)

    @property
    def obsolete(self) -> bool:
        return bool(self.records) and all(summary.outcome == "obsolete" for summary in self.records)

    def for_strangers_to_obsolete(self) -> Self:
        """The same for a host that does not know the word: what is obsolete was skipped."""
        records = tuple(
            summary.model_copy(update={"outcome": "skipped"}) if summary.outcome == "obsolete" else summary
            for summary in self.records
        )
        return self.model_copy(update={"records": records})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Raises InvalidOutcome."""
        check_size("outcome", data, MAX_BYTES, InvalidOutcome)
        return parse_json(cls, "outcome", data, InvalidOutcome)

    def to_bytes(self) -> bytes:
        return encode_json("outcome", self.model_dump(mode="json", exclude_defaults=True), InvalidOutcome)


@dataclass(slots=True)
class Distribution:
    """A plan on its way: hosts that have not answered, and what the others answered."""

    plan: Plan
    pending: set[Hashable]
    done: dict[Hashable, Outcome] = field(default_factory=dict)
    failed: dict[Hashable, Outcome] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether everybody has answered."""
        return not self.pending


class Coordinator:
    """The part of a host that sends plans to others, or executes those that it is sent.

    `epoch` is the number of the latest plan. Who restarts must restore it: hosts ignore a plan that is older
    than one which they have executed for the same proxy. `strays` counts outcomes that nobody waits for.
    """

    def __init__(self, engine: Engine, *, send: Callable[[Hashable, bytes], None] | None = None) -> None:
        self.epoch = 0
        self.strays = 0
        self._engine = engine
        self._send = send
        self._open: Recent[str, Distribution] = Recent()
        self._answers: Recent[str, Outcome] = Recent()
        self._latest: dict[str, int] = {}  # the epoch of the newest plan that was executed, by proxy

    def distribute(self, plan: Plan, hosts: Iterable[Hashable]) -> Distribution:
        """Number the plan, unless it is numbered, and send it to each host.

        A host that the plan cannot be sent to counts as failed.
        Raises TransitionError if this coordinator cannot send, InvalidPlan if the plan is too large.
        """
        if self._send is None:
            raise TransitionError(f"plan {plan.plan!r} cannot be distributed: this coordinator only executes")
        epoch = plan.epoch or self.epoch + 1
        plan = plan.model_copy(
            update={"epoch": epoch, "id": plan.id or f"{self._engine.host or 'local'}@{epoch}"}
        )
        data = plan.to_bytes()
        self.epoch = max(self.epoch, epoch)
        targets = list(dict.fromkeys(hosts))
        distribution = Distribution(plan, set(targets))
        self._open[plan.id] = distribution
        for host in targets:
            try:
                self._send(host, data)
            except Exception as error:
                if host not in distribution.pending:
                    continue  # the answer was quicker than the error
                lost = Summary(id=plan.id, outcome="failed", error=describe(error)[:MAX_ERROR])
                self._settle(
                    distribution, host, Outcome(plan=plan.id, host=str(host), ok=False, records=(lost,))
                )
        if not targets:
            self._open.pop(plan.id, None)
        return distribution

    def carry_out(self, plan: Plan, admits: Callable[[Plan, Action], bool] | None = None) -> Outcome:
        """Execute a plan of another host; returns the outcome to send back.

        Actions are obsolete, and not done, if a newer plan was executed for their proxy, or if `admits` says
        no. A plan that comes again gets the same answer again. Raises like `Engine.execute`.
        """
        answer = self._answers.get(plan.id)
        if answer is None:
            # Asked before anything is done: the actions of one plan do not overtake each other.
            overtaken = {
                action.proxy for action in plan.actions if 0 < plan.epoch < self._latest.get(action.proxy, 0)
            }

            def act(action: Action, attempt: Attempt) -> None:
                if action.proxy in overtaken or (admits is not None and not admits(plan, action)):
                    attempt.record.outcome = "obsolete"
                    attempt.record.error = f"something newer than plan {plan.id!r} was done"
                else:
                    self._engine.executor.act(action, attempt)

            records = [record for record, _ in self._engine.executor.submit(plan, act)]
            answer = Outcome.of(plan.id, self._engine.host, records)
            for record in records:
                if record.outcome in ("done", "deferred") or (record.outcome == "skipped" and answer.ok):
                    self._latest[record.proxy] = max(plan.epoch, self._latest.get(record.proxy, 0))
            if plan.id:
                self._answers[plan.id] = answer
        return answer

    def receive_outcome(self, host: Hashable, data: bytes) -> None:
        """Note what `host` answered; what nobody waits for is counted. Raises InvalidOutcome."""
        outcome = Outcome.from_bytes(data)
        distribution = self._open.get(outcome.plan)
        if distribution is None or host not in distribution.pending:
            self.strays += 1
        else:
            self._settle(distribution, host, outcome)

    def forget(self, host: Hashable) -> None:
        """A host has left: nobody waits for its answers any more, which count as failures."""
        for distribution in list(self._open.values()):
            if host in distribution.pending:
                lost = Summary(id=distribution.plan.id, outcome="failed", error="the host has left")
                self._settle(
                    distribution,
                    host,
                    Outcome(plan=distribution.plan.id, host=str(host), ok=False, records=(lost,)),
                )

    def _settle(self, distribution: Distribution, host: Hashable, outcome: Outcome) -> None:
        distribution.pending.discard(host)
        (distribution.done if outcome.ok else distribution.failed)[host] = outcome
        if distribution.finished:
            self._open.pop(distribution.plan.id, None)
