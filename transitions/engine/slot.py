"""The place behind a proxy or a group: which mechanisms may run there, and the steps to change what runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from bypass.transitions.engine.attempt import Attempt
from bypass.transitions.engine.draft import Draft, ServingMechanism
from bypass.transitions.errors import InvalidParameter, UnknownMechanism
from bypass.transitions.mechanism import Mechanism, Nothing, assign
from bypass.transitions.plan import Action
from bypass.transitions.state.schema import State
from bypass.transitions.state.transfer import auto_transfer, entrust, offered_state, require_state
from bypass.transitions.state.transition import AtomicTransition, select


class MechanismEnvironment(Protocol):
    """The world as one mechanism sees it; the environment makes a new one for each mechanism."""

    def open(self) -> None:
        """The mechanism has been switched to: from now on it may communicate."""

    def close(self) -> None:
        """The mechanism has been stopped, or was never switched to: its timers die."""


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """A mechanism together with what was leased to it."""

    mechanism: Mechanism
    lease: MechanismEnvironment | None

    def open(self) -> None:
        if self.lease is not None:
            self.lease.open()

    def stop(self) -> None:
        """Stop the mechanism; even if that fails, its lease ends."""
        try:
            self.mechanism.stop()
        finally:
            if self.lease is not None:
                self.lease.close()


class Slot(ABC):
    """The engine's part of one proxy or group. `running` is all that runs there, the default first."""

    def __init__(self, name: str, lease: Callable[[str], Any] | None) -> None:
        self.name = name
        self.mechanisms: dict[str, type[Mechanism]] = {}
        self.defaults: dict[str, Any] = {}
        self.defaults_of: dict[str, dict[str, Any]] = {}  # by mechanism; those of all come before them
        self.transitions: list[AtomicTransition[Any, Any]] = []
        self.running: tuple[Running, ...] = ()
        self._lease = lease

    @abstractmethod
    def draft(self, action: Action, seats: tuple[ServingMechanism, ...], attempt: Attempt) -> Draft:
        """Decide what `action` does if `seats` are taken, and write it into the record; changes nothing else.

        Raises TransitionFailed if it is clear that the action must fail, UnknownMechanism if there is no
        such target.
        """

    @abstractmethod
    def perform(self, draft: Draft, attempt: Attempt) -> None:
        """Do what was drafted. Raises TransitionFailed; the attempt has to be rolled back then."""

    @abstractmethod
    def check_fits(self, mechanism: type[Mechanism]) -> None:
        """Raises TypeError if instances of `mechanism` cannot serve here."""

    @abstractmethod
    def enter(self, running: tuple[Running, ...]) -> None:
        """Make `running` what callers see."""

    @abstractmethod
    def is_in_call(self) -> bool:
        """Say whether a call is under way through the proxy or group that the engine handed out."""

    def register(self, mechanism: type[Mechanism]) -> None:
        """Let plans name `mechanism`. Raises TypeError if it does not fit or its name is taken."""
        self.check_fits(mechanism)
        known = self.mechanisms.setdefault(mechanism.name, mechanism)
        if known is not mechanism:
            raise TypeError(
                f"{self.name!r}: {known.__name__} and {mechanism.__name__} are both named {mechanism.name!r}"
            )

    def resolve(self, name: str) -> type[Mechanism]:
        """The mechanism class called `name`. Raises UnknownMechanism."""
        try:
            return self.mechanisms[name]
        except KeyError:
            known = ", ".join(self.mechanisms)
            raise UnknownMechanism(f"{self.name!r} has no mechanism {name!r}; it has: {known}") from None

    def seats(self) -> tuple[ServingMechanism, ...]:
        """Give the mechanisms that serve now, with the state that they offer."""
        return tuple(
            ServingMechanism(type(r.mechanism), tuple(state for state, _ in offered_state(r.mechanism)))
            for r in self.running
        )

    def install(
        self, first: type[Mechanism], settings: Mapping[str, Any], state: Mapping[str, Any], attempt: Attempt
    ) -> None:
        """Start the first mechanism here, with `state` by name. Raises TransitionFailed."""
        giver = Nothing()
        entrust(giver, [(State(name, name, Any, True, False), value) for name, value in state.items()])
        new = self.build(first, settings, attempt)
        unknown = [] if isinstance(new.mechanism, Nothing) else [n for n in state if n not in first.states()]
        if unknown:
            known = ", ".join(first.states()) or "none"
            cause = InvalidParameter(f"{first.name!r} has no state {unknown[0]!r}; it has: {known}")
            raise attempt.failure("transfer", cause)
        self.transfer(giver, new.mechanism, attempt)
        self.start(new, attempt)
        self.switch((new,), new, attempt)
        attempt.commit()

    def build(self, target: type[Mechanism], settings: Mapping[str, Any], attempt: Attempt) -> Running:
        """Phase "build": a new mechanism, with a lease that is not open yet."""
        with attempt.phase("build"):
            lease = None
            if self._lease is not None and not issubclass(target, Nothing):
                lease = self._lease(self.name)
                attempt.on_failure(lease.close)
            known = {**self.defaults_of.get(target.name, {}), **self.defaults}
            defaults = {name: value for name, value in known.items() if name in target.parameters()}
            return Running(target(lease, **{**defaults, **settings}), lease)

    def transfer(self, source: Mechanism, target: Mechanism, attempt: Attempt) -> None:
        """Phase "transfer": state goes from `source` to `target`."""
        with attempt.phase("transfer"):
            custom = select(self.transitions, type(source), type(target))
            if custom is not None:
                custom.transfer_state(source, target)
            else:
                auto_transfer(source, target)
            require_state(target, [state for state, _ in offered_state(source)])

    def start(self, new: Running, attempt: Attempt) -> None:
        """Phase "start"."""
        with attempt.phase("start"):
            new.mechanism.start()
        attempt.on_failure(new.mechanism.stop)

    def switch(self, running: tuple[Running, ...], new: Running | None, attempt: Attempt) -> None:
        """Phase "switch": callers see `running`, of which `new` may communicate from now on."""
        attempt.on_failure(partial(self.enter, self.running))
        with attempt.phase("switch"):
            self.enter(running)
            if new is not None:
                new.open()

    def change(self, changes: Mapping[type[Mechanism], Mapping[str, Any]], attempt: Attempt) -> None:
        """Phase "set": running mechanisms get new parameter values, all or none."""
        with attempt.phase("set"):
            for mechanism in (r.mechanism for r in self.running):
                for name, value in changes.get(type(mechanism), {}).items():
                    attempt.on_failure(_restore(mechanism, name))
                    assign(mechanism, mechanism.parameters()[name], value)

    def alter(self, change: Callable[[Any], None], attempt: Attempt) -> None:
        """Phase "set": `change` works on each running mechanism; if it fails, parameters are restored."""
        record = attempt.record
        with attempt.phase("set"):
            for mechanism in (r.mechanism for r in self.running):
                before = mechanism.settings()
                for name in before:
                    attempt.on_failure(_restore(mechanism, name))
                change(mechanism)
                after = mechanism.settings()
                record.set.update({name: after[name] for name in after if after[name] is not before[name]})


def _restore(mechanism: Mechanism, name: str) -> Callable[[], None]:
    """Give a function that sets a parameter back to its present value, if it is another one by then."""
    parameter = mechanism.parameters()[name]
    value = getattr(mechanism, parameter.field)

    def restore() -> None:
        if getattr(mechanism, parameter.field) is not value:
            assign(mechanism, parameter, value)

    return restore
