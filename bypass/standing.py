"""What all clients of a broker have been told, for those who come later."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from bypass.mechanisms import CLIENT_MECHANISMS
from bypass.transitions import Action, Plan


class Standing:
    """Actions of plans that named nobody, in their order, with the decision of their plan.

    Whoever executes them all has what those have who were told one after the other. What cannot matter any
    more is forgotten: all about a proxy before it was switched from one known mechanism to another. `scheme`
    is the filter scheme that was there before anything was told.
    """

    def __init__(self, scheme: str) -> None:
        self.told: list[Plan] = []  # each with one action
        self._begin = {"filter": scheme}  # the mechanisms that all are known to begin with

    def remember(self, plan: Plan, actions: Iterable[Action]) -> None:
        """These actions of a plan were told to clients."""
        for action in actions:
            if action.members is None and action.proxy in CLIENT_MECHANISMS:
                self._add(plan, action)

    def plans(self, scheme: str, switch: bool) -> list[Plan]:
        """What a new client that `scheme` serves must do; `switch`: it came with another scheme."""
        found = [Plan(plan="join", actions=(Action(proxy="filter", to=scheme),))] if switch else []
        for told in self.told:
            (action,) = told.actions
            if action.proxy != "filter" or (action.to in (None, scheme) and action.set):
                found.append(told)
        return [
            Plan(
                plan="join",
                scope=scope,
                decision=decision,
                actions=tuple(action for told in together for action in told.actions),
            )
            for (scope, decision), together in groupby(found, lambda told: (told.scope, told.decision))
        ]

    def _add(self, plan: Plan, action: Action) -> None:
        own = [told for told in self.told if told.actions[0].proxy == action.proxy]
        switches = (t.actions[0].to for t in reversed(own) if t.actions[0].to is not None)
        known = next(switches, self._begin.get(action.proxy))
        if action.to is not None and known not in (None, action.to):
            self.told = [told for told in self.told if told.actions[0].proxy != action.proxy]
        elif own and own[-1].actions[0].to == action.to and own[-1].actions[0].of == action.of:
            self.told.remove(own[-1])  # what it set is set again
            action = action.model_copy(update={"set": own[-1].actions[0].set | action.set})
        self.told.append(plan.model_copy(update={"actions": (action,)}))
