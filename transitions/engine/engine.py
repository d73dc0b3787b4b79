"""The engine of one host: it owns the mechanisms and exchanges them while callers go on calling."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar

from bypass.transitions.catalogue import Catalogue, check_names, check_plan
from bypass.transitions.engine.attempt import Attempt
from bypass.transitions.engine.executor import Act, Executor, TransitionListener
from bypass.transitions.engine.group import Group, GroupSlot
from bypass.transitions.engine.proxy_slot import ProxySlot
from bypass.transitions.engine.record import Record
from bypass.transitions.engine.slot import Slot
from bypass.transitions.errors import ProxyExists, TransitionFailed, UnknownProxy
from bypass.transitions.mechanism import Mechanism, Nothing
from bypass.transitions.plan import Action, Plan
from bypass.transitions.state.schema import schema_of
from bypass.transitions.state.transition import AtomicTransition

P = TypeVar("P")
Kinds = Iterable[type[Mechanism]]
Values = Mapping[str, Any]


class Engine:
    """Makes proxies, and executes plans on what is behind them. An engine belongs to one thread.

    `lease` makes the world for a new mechanism of the proxy that it is called with. `defer` runs a function
    later, when no call is under way; without it, a transition of a proxy from inside a call through that
    proxy is refused.
    """

    def __init__(
        self,
        host: str = "",
        *,
        lease: Callable[[str], Any] | None = None,
        clock: Callable[[], float] = time.time,
        defer: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        self.host = host
        self._lease = lease
        self._clock = clock
        self._slots: dict[str, Slot] = {}
        self.executor = Executor(host, self._slots, clock, defer)

    @property
    def records(self) -> list[Record]:
        """Give the latest 10 000 records: of actions that were done, failed or were skipped."""
        return self.executor.records

    def create_proxy(
        self,
        name: str,
        api: type[P],
        default: type[Mechanism],
        *,
        mechanisms: Kinds = (),
        set: Mapping[str, Any] = {},  # noqa: A002 - plans call it so
        state: Mapping[str, Any] = {},
    ) -> P:
        """A proxy that forwards the methods of `api` to `default`, or to what transitions put in its place.

        `state` gives `default` its transferable state by name. Plans may name `default`, all `mechanisms`
        and "nothing". Raises ProxyExists, TypeError if a mechanism lacks a method of `api`, and
        TransitionFailed if `default` cannot be started.
        """
        slot = ProxySlot(name, api, self._lease)
        self._install(slot, default, mechanisms, set, state)
        proxy: P = slot.proxy
        return proxy

    def create_group(
        self,
        name: str,
        default: type[Mechanism],
        *,
        mechanisms: Kinds = (),
        set: Mapping[str, Any] = {},  # noqa: A002
        state: Mapping[str, Any] = {},
    ) -> Group:
        """A group that `default` serves alone, until partial transitions move members to others.

        All mechanisms must be `Divisible`. Raises like `create_proxy`.
        """
        slot = GroupSlot(name, self._lease)
        self._install(slot, default, mechanisms, set, state)
        return slot.group

    def get_proxy(self, name: str, api: type[P]) -> P:
        """The proxy that was created as `name`. Raises UnknownProxy, also if it has another API."""
        slot = self.executor.slot(name)
        if not isinstance(slot, ProxySlot) or api not in type(slot.proxy).__mro__:
            has = slot.api.__name__ if isinstance(slot, ProxySlot) else "a group"
            raise UnknownProxy(f"{name!r} is {has}, not {api.__name__}")
        proxy: P = slot.proxy
        return proxy

    def drop_proxy(self, name: str) -> None:
        """Stop what is active; from then on calls through the proxy do nothing, and a group is empty.

        Raises UnknownProxy, ReentrantTransition, and what the mechanism raises when it is stopped.
        """
        slot = self.executor.slot(name)
        self.executor.refuse_disturbance([slot])
        del self._slots[name]
        with ExitStack() as stops:
            for running in slot.running:
                stops.callback(running.stop)
            slot.enter(())

    def active(self, name: str) -> Mechanism:
        """The mechanism that serves now; in a group, the default. Raises UnknownProxy."""
        return self.executor.slot(name).running[0].mechanism

    def catalogue(self) -> Catalogue:
        """Give the mechanisms that plans for this engine may name."""
        return {name: dict(slot.mechanisms) for name, slot in self._slots.items()}

    def knows(self, proxy: str, mechanism: str) -> bool:
        """Say whether plans may name a mechanism for a proxy."""
        return proxy in self._slots and mechanism in self._slots[proxy].mechanisms

    def register(self, proxy: str, mechanism: type[Mechanism]) -> None:
        """Let plans name a mechanism. Raises UnknownProxy, and TypeError if it does not fit there."""
        self.executor.slot(proxy).register(mechanism)

    def set_defaults(self, proxy: str, values: Values, *, of: str | None = None) -> None:
        """Set parameter values for mechanisms built from now on, unless a plan says otherwise.

        Each mechanism takes those that it has; with `of`, the mechanism of that name alone, as far as values
        for all do not say otherwise. Raises UnknownProxy and InvalidParameter.
        """
        slot = self.executor.slot(proxy)
        for kind in slot.mechanisms.values():
            if of in (None, kind.name):
                for name in kind.parameters().keys() & values.keys():
                    schema_of(kind).valid(name, values[name])
        (slot.defaults if of is None else slot.defaults_of.setdefault(of, {})).update(values)

    def register_transition(self, proxy: str, transition: AtomicTransition[Any, Any]) -> None:
        """Use `transition` for its pair of types. Raises UnknownProxy."""
        self.executor.slot(proxy).transitions.append(transition)

    def add_listener(self, listener: TransitionListener) -> None:
        self.executor.listeners.add(listener)

    def check(self, plan: Plan) -> None:
        """Raises UnknownProxy, UnknownMechanism or InvalidParameter if the plan names what is not here."""
        check_plan(plan, self.catalogue())

    def execute(self, plan: Plan) -> list[Record]:
        """Do all actions in order; one record each. A plan whose id was executed already is not done again.

        A failed action is told by its record. Raises ReentrantTransition and NestedTransition, and then
        nothing was done.
        """
        return [record for record, _ in self.executor.submit(plan)]

    def transition(
        self,
        proxy: str,
        to: type[Mechanism] | str,
        *,
        set: Mapping[str, Any] = {},  # noqa: A002
        why: str = "",
        who: str = "",
    ) -> Record:
        """Exchange what is active; a class that plans cannot name yet can be named from then on.

        Raises TransitionFailed; like `check` if there is no such thing; like `execute`.
        """
        slot = self.executor.slot(proxy)
        if isinstance(to, type):
            if to is not Nothing:
                slot.register(to)
            to = to.name
        return self._do(Action.model_construct(proxy=proxy, to=to, set=dict(set)), why, who)

    def set(self, proxy: str, *, why: str = "", **values: Any) -> Record:
        """Change parameters of what is active, all or none. Raises like `transition`."""
        return self._do(Action.model_construct(proxy=proxy, set=values), why)

    def alter(self, proxy: str, fn: Callable[[Any], None]) -> Record:
        """Let `fn` change what is active; if it raises, parameters are restored. Raises like `transition`."""
        return self._do(Action.model_construct(proxy=proxy), act=partial(self.executor.alter, fn))

    def _install(
        self, slot: Slot, default: type[Mechanism], mechanisms: Kinds, settings: Values, state: Values
    ) -> None:
        if slot.name in self._slots:
            raise ProxyExists(f"there is a proxy {slot.name!r} already")
        for kind in (default, *mechanisms):
            if kind is not Nothing:
                slot.register(kind)
        first = slot.resolve(default.name)
        record = Record("", "", "", "", self.host, self._clock(), slot.name, target=first.name)
        attempt = Attempt(record, self._clock)
        try:
            slot.install(first, settings, state, attempt)
        except TransitionFailed as failure:
            attempt.roll_back(failure)
            raise
        self._slots[slot.name] = slot

    def _do(self, action: Action, why: str = "", who: str = "", act: Act | None = None) -> Record:
        """One action that the program itself asks for: mistakes and failures are raised."""
        plan = Plan.model_construct(plan=f"transition of {action.proxy}", why=why, who=who, actions=(action,))
        check_names(plan, self.catalogue())
        ((record, failure),) = self.executor.submit(plan, act)
        if failure is not None:
            raise failure
        return record
