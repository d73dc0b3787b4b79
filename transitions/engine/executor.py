"""Plans are executed here: in order, once, one at a time, and never under the feet of a caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol

from bypass.transitions.engine.attempt import Attempt
from bypass.transitions.engine.draft import Draft, ServingMechanism
from bypass.transitions.engine.record import Record
from bypass.transitions.engine.slot import Slot
from bypass.transitions.errors import (
    InvalidPlan,
    NestedTransition,
    ReentrantTransition,
    TransitionFailed,
    UnknownProxy,
    short,
)
from bypass.transitions.listeners import Listeners
from bypass.transitions.plan import Action, Plan
from bypass.transitions.recent import Recent

Act = Callable[[Action, Attempt], None]
Ended = tuple[Record, TransitionFailed | None]

KEPT_RECORDS = 10_000


class TransitionListener(Protocol):
    """Is told about transitions. It must not request any, and what it raises is only logged."""

    def transition_finished(self, record: Record) -> None:
        """It was done, failed or was skipped."""


class Executor:
    """Executes plans on `slots`, which the engine fills."""

    def __init__(
        self,
        host: str,
        slots: Mapping[str, Slot],
        clock: Callable[[], float],
        defer: Callable[[Callable[[], None]], object] | None,
    ) -> None:
        self.records: list[Record] = []
        self.listeners: Listeners[TransitionListener] = Listeners()
        self._host = host
        self._slots = slots
        self._clock = clock
        self._defer = defer
        self._executed: Recent[str, None] = Recent()
        self._numbered = 0
        self._busy = False

    def slot(self, name: str) -> Slot:
        """Raises UnknownProxy."""
        try:
            return self._slots[name]
        except KeyError:
            known = ", ".join(self._slots) or "none"
            raise UnknownProxy(f"there is no proxy {name!r}; there are: {known}") from None

    def submit(self, plan: Plan, act: Act | None = None) -> list[Ended]:
        """Execute the plan now, or later if a call is under way, or not at all if it was executed before.

        `act` does one action; without it, what the action says is done. Raises NestedTransition and
        ReentrantTransition, and then nothing was done.
        """
        if not plan.id:
            self._numbered += 1
            plan = plan.model_copy(update={"id": f"{self._host or 'local'}-{self._numbered}"})
        if plan.id in self._executed:
            return self._unattempted(plan, "repeated")
        slots = [self._slots[action.proxy] for action in plan.actions if action.proxy in self._slots]
        if self._defer is None or self._busy or not any(slot.is_in_call() for slot in slots):
            return self._run(plan, slots, act or self.act)
        self._executed[plan.id] = None

        def later() -> None:
            self._run(plan, slots, act or self.act)

        self._defer(later)
        return self._unattempted(plan, "deferred")

    def foresee(self, plan: Plan) -> list[Record]:
        """The records of a dry run: each action meets what the ones before it would have left."""
        if plan.id in self._executed:
            return [record for record, _ in self._unattempted(plan, "repeated")]
        foreseen: dict[str, tuple[ServingMechanism, ...]] = {}

        def act(action: Action, attempt: Attempt) -> None:
            slot, draft = self._draft(action, attempt, foreseen)
            foreseen[slot.name] = draft.after

        return [record for record, _ in self._attempts(plan, act)]

    def act(self, action: Action, attempt: Attempt) -> None:
        """Do what the action says. Raises TransitionFailed."""
        slot, draft = self._draft(action, attempt, {})
        record = attempt.record
        if record.outcome != "skipped":
            slot.perform(draft, attempt)
            record.outcome = "done"

    def alter(self, fn: Callable[[Any], None], action: Action, attempt: Attempt) -> None:
        """Instead of what the action says, let `fn` change what is active."""
        slot = self.slot(action.proxy)
        record = attempt.record
        record.kind = "self"
        record.source = record.target = ",".join(running.mechanism.name for running in slot.running)
        slot.alter(fn, attempt)
        record.outcome = "done"

    def refuse_disturbance(self, slots: Iterable[Slot]) -> None:
        """Raises NestedTransition inside a transition, ReentrantTransition inside a call through a proxy."""
        if self._busy:
            raise NestedTransition(f"a transition on host {self._host!r} has not ended yet")
        for slot in slots:
            if slot.is_in_call():
                raise ReentrantTransition(f"a call through proxy {slot.name!r} is under way")

    def _run(self, plan: Plan, slots: list[Slot], act: Act) -> list[Ended]:
        self.refuse_disturbance(slots)
        self._executed[plan.id] = None
        self._busy = True
        ended = []
        try:
            for record, failure in self._attempts(plan, act):
                self._finish(record)
                ended.append((record, failure))
        finally:
            self._busy = False
        return ended

    def _attempts(self, plan: Plan, act: Act) -> Iterator[Ended]:
        failed = False
        for index, action in enumerate(plan.actions):
            record = self._record(plan, index)
            attempt = Attempt(record, self._clock)
            failure = None
            if failed and plan.on_error == "abort":
                record.outcome, record.error = "skipped", "an earlier action of the plan failed"
            else:
                try:
                    act(action, attempt)
                except TransitionFailed as error:
                    attempt.roll_back(error)
                    failure, failed = error, True
            yield record, failure

    def _draft(
        self, action: Action, attempt: Attempt, foreseen: Mapping[str, tuple[ServingMechanism, ...]]
    ) -> tuple[Slot, Draft]:
        try:
            slot = self.slot(action.proxy)
            if action.area is not None:
                raise InvalidPlan(
                    f"area {short(action.area)}: expected members: who is there is not known here"
                )
            seats = foreseen[slot.name] if slot.name in foreseen else slot.seats()
            return slot, slot.draft(action, seats, attempt)
        except TransitionFailed:
            raise
        except Exception as error:
            raise attempt.failure("check", error) from error

    def _finish(self, record: Record) -> None:
        self.records.append(record)
        del self.records[:-KEPT_RECORDS]
        self.listeners.tell(lambda listener: listener.transition_finished(record))

    def _unattempted(self, plan: Plan, outcome: Literal["repeated", "deferred"]) -> list[Ended]:
        records = [self._record(plan, index) for index in range(len(plan.actions))]
        for record in records:
            record.outcome = outcome
        return [(record, None) for record in records]

    def _record(self, plan: Plan, index: int) -> Record:
        action = plan.actions[index]
        return Record(
            id=f"{plan.id}/{index}",
            plan=plan.plan,
            who=plan.who,
            why=plan.why,
            host=self._host,
            at=self._clock(),
            proxy=action.proxy,
            target=action.to or "",
        )
