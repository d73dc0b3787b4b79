"""One mechanism behind a typed proxy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bypass.transitions.engine.attempt import Attempt
from bypass.transitions.engine.draft import Draft, ServingMechanism, draft_build, draft_self
from bypass.transitions.engine.proxy import is_in_call, make_proxy, make_stub, public_members
from bypass.transitions.engine.slot import Running, Slot
from bypass.transitions.errors import InvalidPlan
from bypass.transitions.mechanism import Mechanism, Nothing
from bypass.transitions.plan import Action
from bypass.transitions.state.transfer import offered_state


class ProxySlot(Slot):
    """Exactly one mechanism runs here, and callers reach it through `proxy`."""

    def __init__(self, name: str, api: type, lease: Callable[[str], Any] | None) -> None:
        super().__init__(name, lease)
        self.api = api
        self.stub = make_stub(api)
        self.mechanisms[self.stub.name] = self.stub
        self.proxy = make_proxy(api, self.stub())

    def check_fits(self, mechanism: type[Mechanism]) -> None:
        for name, _, is_property in public_members(self.api):
            if not is_property and not hasattr(mechanism, name):  # a field may stand for a property
                raise TypeError(f"{mechanism.__name__} cannot be behind {self.name!r}: it lacks {name!r}")

    def is_in_call(self) -> bool:
        return is_in_call(self.proxy)

    def enter(self, running: tuple[Running, ...]) -> None:
        self.running = running
        self.proxy._active = running[0].mechanism if running else self.stub()

    def draft(self, action: Action, seats: tuple[ServingMechanism, ...], attempt: Attempt) -> Draft:
        (seat,) = seats
        record = attempt.record
        record.source = record.target = seat.kind.name
        if action.members is not None:
            raise attempt.failure("check", InvalidPlan(f"{self.name!r} is not a group and has no members"))
        target = self.resolve(action.to) if action.to is not None else seat.kind
        if target is seat.kind:
            return Draft(seats, changes=draft_self(action, seats, attempt))
        record.target = target.name
        settings = draft_build(target, seat, action, self.transitions, attempt)
        state = offered_state(self.running[0].mechanism)
        target.check_state({each.name: value for each, value in state})
        if not issubclass(target, Nothing):
            offers = tuple(target.states().values())
        else:
            offers = () if record.custom else seat.offers
        return Draft((ServingMechanism(target, offers),), build=target, settings=settings)

    def perform(self, draft: Draft, attempt: Attempt) -> None:
        if draft.changes:
            self.change(draft.changes, attempt)
        if draft.build is not None:
            (old,) = self.running
            new = self.build(draft.build, draft.settings, attempt)
            self.transfer(old.mechanism, new.mechanism, attempt)
            self.start(new, attempt)
            self.switch((new,), new, attempt)
            attempt.commit()
            with attempt.aftermath("stop"):
                old.stop()
