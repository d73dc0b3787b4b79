"""Keeps what holds of all plans that the clients of a broker were told: for those who come later, and for
those who may have missed some of it."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from pydantic import JsonValue

from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER_PROXY, PORT_OF
from bypass.transitions import Action, Parameter, Plan


@dataclass(frozen=True, slots=True)
class Held:
    """All that holds about one proxy: its mechanism, and the parameters that were set since that began.

    `since` is the epoch of the plan that began it, `decided` that of the plan with the decision, each
    parameter has the epoch of its own plan, and `epoch` is that of the latest plan about the proxy. 0 is
    before any plan.
    """

    to: str
    since: int = 0
    epoch: int = 0
    scope: int = 0
    decision: int = 0
    decided: int = 0
    set: Mapping[str, tuple[JsonValue, int]] = field(default_factory=dict)

    def after(self, plan: Plan, action: Action, known: Container[str]) -> Held:
        """Give what holds once an action of a plan is done, too, by a mechanism with `known` parameters."""
        if action.to is None and action.of not in (None, self.to):
            return self
        to, epoch = action.to or self.to, plan.epoch
        values = {name: (value, epoch) for name, value in action.set.items() if name in known}
        if action.to is None:
            return replace(self, epoch=epoch, set={**self.set, **values}) if values else self
        since, values = (self.since, {**self.set, **values}) if to == self.to else (epoch, values)
        if plan.decision or plan.scope != self.scope:
            return Held(to, since, epoch, plan.scope, plan.decision, epoch, values)
        # Clients do the same: a plan without a decision leaves them with the number that they have.
        return Held(to, since, epoch, self.scope, self.decision, self.decided, values)


class StandingPlans:
    """Knows what holds for everybody, and what else for clients that plans have named.

    Whoever does what `plans` says has what those have who were told one thing after the other. Clients have
    the mechanisms in `registry`, begin with the filter scheme `scheme`, and do what `begin` says; every
    filter scheme begins with `settings`. `ever` are the parameters that were ever set, by proxy: who has
    missed something may have any value of these. `changed` are clients for which something else
    holds than before; whoever looks at them clears it.
    """

    def __init__(
        self, registry: Registry, scheme: str, settings: Mapping[str, Any], begin: Iterable[Action] = ()
    ) -> None:
        proxies = registry.proxies("client")
        self.all = {proxy.name: Held(proxy.first or scheme) for proxy in proxies.values()}
        self.own: dict[int, dict[str, Held]] = {}
        self.ever: dict[str, set[str]] = {proxy: set() for proxy in proxies}
        self.changed: set[int] = set()
        self._registry = registry
        self._settings = settings
        for action in begin:
            self.remember(Plan(plan="begin", actions=(action,)), (action,), ())
        self._first = dict(self.all)

    def remember(self, plan: Plan, actions: Iterable[Action], served: Sequence[AbstractSet[int]]) -> None:
        """Take note that clients are told these actions of a plan: those in `served` whom they concern."""
        for action in actions:
            proxy = action.proxy
            if proxy not in self.all:
                continue
            self.ever[proxy].update(action.set)
            known: dict[int, tuple[Held, Held]] = {}  # what held before, and after: many have the same
            if action.members is None:
                self.all[proxy] = self.after(self.all[proxy], plan, action)
                concerned: list[Any] = [client for client, own in self.own.items() if proxy in own]
            else:
                concerned = [member for member in action.members if any(member in each for each in served)]
            for client in concerned:
                before = self.own.get(client, self.all).get(proxy, self.all[proxy])
                if id(before) not in known:
                    known[id(before)] = before, self.after(before, plan, action)
                self.put(client, proxy, known[id(before)][1])

    def after(self, held: Held, plan: Plan, action: Action) -> Held:
        """Give what holds about an action's proxy once that is done, too."""
        return held.after(plan, action, self._parameters(action.proxy, action.to or held.to))

    def put(self, client: int, proxy: str, held: Held) -> None:
        """Have something hold for one client."""
        own = self.own.setdefault(client, {})
        own[proxy] = held
        if held == self.all[proxy]:
            del own[proxy]
        if not own:
            del self.own[client]
        self.changed.add(client)

    def forget(self, client: int) -> None:
        """Forget a client that is gone for good."""
        if self.own.pop(client, None) is not None:
            self.changed.add(client)

    def of(self, client: int) -> Mapping[str, Held]:
        """Give what holds for a client, by proxy."""
        own = self.own.get(client)
        return self.all if own is None else {**self.all, **own}

    # -- what to tell -------------------------------------------------------------------------------------

    def plans(self, client: int, *, new: bool, switch: bool) -> list[Plan]:
        """Give the plans by which a client gets all that holds for it, whatever it has done of that.

        A client that is `new` has done nothing. `switch`: it has another filter scheme than it should.
        """
        found = []
        for proxy, held in self.of(client).items():
            elsewhere = switch and proxy == FILTER_PROXY
            if not (elsewhere or held.epoch):
                continue
            action = self._whole(proxy, held, self._first[proxy].set if new else self.ever[proxy])
            # A client that is new begins with the scheme that serves it.
            has_it = new and proxy == FILTER_PROXY and not action.set
            if elsewhere or not has_it:
                found.append((held, action))
        return _by_decision(Plan(plan="join", actions=(found[0][1],)), found) if found else []

    def holds(self, client: int, share: Plan) -> bool:
        """Say whether a client lacks something that has done all but its share of a plan."""
        held = self.of(client)
        return any(self._holds(held[action.proxy], action, share.epoch) for action in share.actions)

    def left_of(self, client: int, shares: Sequence[Plan]) -> list[Plan]:
        """Give the plans by which a client gets what holds of these shares, whatever it has done of them.

        In all else they are like the last of the shares.
        """
        held = self.of(client)
        wanted: dict[str, set[str]] = {}  # parameters by proxy
        whole: set[str] = set()
        for share in shares:
            for action in share.actions:
                if self._holds(held[action.proxy], action, share.epoch):
                    wanted.setdefault(action.proxy, set()).update(action.set)
                    whole.update([action.proxy] if action.to is not None else [])
        found = []
        for proxy, names in wanted.items():
            now = held[proxy]
            if proxy in whole:
                found.append((now, self._whole(proxy, now, self.ever[proxy])))
            else:
                values = {name: value for name, (value, _) in now.set.items() if name in names}
                found.append((now, Action(proxy=proxy, set=values)))
        return _by_decision(shares[-1], found)

    def _holds(self, held: Held, action: Action, epoch: int) -> bool:
        if held.to not in self._registry.catalogue("client")[action.proxy]:
            return False  # a module that has it is not used any more
        if action.to is None:
            return any(name in held.set and held.set[name][1] <= epoch for name in action.set)
        if held.since <= epoch or (action.proxy in PORT_OF and 0 < held.decided <= epoch):
            return True
        # Who did not leave a mechanism has old parameters in it when all others have come back to it.
        return bool(self._begun(action.proxy, held, self.ever[action.proxy]))

    def _whole(self, proxy: str, held: Held, unsure: Iterable[str]) -> Action:
        """Give the action that leads to what is held, wherever a client is, if only `unsure` parameters can
        have other values than those that their mechanism begins with."""
        values = {name: value for name, (value, _) in held.set.items()}
        return Action(proxy=proxy, to=held.to, set=self._begun(proxy, held, unsure) | values)

    def _begun(self, proxy: str, held: Held, names: Iterable[str]) -> dict[str, JsonValue]:
        """Give the values that those of the parameters begin with which were not set since."""
        known = self._parameters(proxy, held.to)
        own = self._registry.defaults.get(proxy, {}).get(held.to, {})
        given = {**own, **(self._settings if proxy == FILTER_PROXY else {})}
        values = {
            name: given.get(name, known[name].default)
            for name in sorted(names)
            if name in known and name not in held.set
        }
        return {name: value for name, value in values.items() if _travels(value)}

    def _parameters(self, proxy: str, mechanism: str) -> Mapping[str, Parameter]:
        kind = self._registry.catalogue("client")[proxy].get(mechanism)
        return {} if kind is None else kind.parameters()


def _travels(value: Any) -> bool:
    """Say whether a plan can have a value."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _by_decision(form: Plan, found: Iterable[tuple[Held, Action]]) -> list[Plan]:
    """Give one plan for all that belongs to a decision, in all else like `form`, the oldest first."""
    ordered = sorted(found, key=lambda each: each[0].since)
    return [
        form.model_copy(
            update={"scope": scope, "decision": decision, "actions": tuple(action for _, action in together)}
        )
        for (scope, decision), together in groupby(ordered, lambda each: (each[0].scope, each[0].decision))
    ]
