"""Plans for other hosts, and the outcomes that these answer with; how bytes travel is not known here."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

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

H = TypeVar("H", bound=Hashable)


class Summary(BaseModel):
    """The end of one action."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    outcome: TransitionResult
    error: str = ""


class Outcome(BaseModel):
    """The end of a plan, named by its id, on one host. It is `ok` if no action failed.

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

    @classmethod
    def refused(cls, plan: Plan, host: str, error: Exception) -> Self:
        """The outcome of a plan of which nothing was done because of an error."""
        told = describe(error)[:MAX_ERROR]
        records = tuple(
            Summary(id=f"{plan.id}/{index}", outcome="failed", error=told)
            for index in range(len(plan.actions))
        )
        return cls(plan=plan.id, host=host, ok=False, records=records)

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


@dataclass(frozen=True, slots=True)
class Distribution(Generic[H]):
    """A plan that is numbered, and the hosts that it is for, each once; `send` sends it to them."""

    plan: Plan
    hosts: tuple[H, ...]
    _send: Callable[[H], None]

    def send(self) -> dict[H, str]:
        """Send the plan to each host; give what went wrong, for those that it could not be sent to."""
        errors = {}
        for host in self.hosts:
            try:
                self._send(host)
            except Exception as error:
                errors[host] = describe(error)[:MAX_ERROR]
        return errors


class Coordinator:
    """The part of a host that numbers and sends plans for others, or executes those that it is sent.

    `epoch` is the number of the latest plan. Who restarts must restore it: hosts ignore a plan that is older
    than one which they have executed for the same proxy. `send(host, epoch, data)` sends a plan.
    """

    def __init__(self, engine: Engine, *, send: Callable[[Hashable, int, bytes], None] | None = None) -> None:
        self.epoch = 0
        self._engine = engine
        self._send = send
        self._answers: Recent[str, Outcome] = Recent()
        self._latest: dict[str, int] = {}  # the epoch of the newest plan that was executed, by proxy

    def distribution(self, plan: Plan, hosts: Iterable[H]) -> Distribution[H]:
        """Number a plan for these hosts, unless it is numbered; nothing is sent yet.

        Raises TransitionError if this coordinator cannot send, InvalidPlan if the plan is too large.
        """
        send = self._send
        if send is None:
            raise TransitionError(f"plan {plan.plan!r} cannot be distributed: this coordinator only executes")
        epoch = plan.epoch or self.epoch + 1
        plan = plan.model_copy(
            update={"epoch": epoch, "id": plan.id or f"{self._engine.host or 'local'}@{epoch}"}
        )
        data = plan.to_bytes()
        self.epoch = max(self.epoch, epoch)
        return Distribution(plan, tuple(dict.fromkeys(hosts)), lambda host: send(host, epoch, data))

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
