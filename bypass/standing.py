"""What all clients of a broker have been told, for those who come later, or who have to be told again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from bypass.mechanisms import CLIENT_MECHANISMS
from bypass.transitions import Action, Plan


class Standing:
    """Actions of plans that named nobody, in their order, with the decision of their plan.

    Whoever executes them all has what those have who were told one after the other. What cannot matter any
    more is forgotten: all about a proxy before it was switched from one known mechanism to another. `begin`
    are the mechanisms, by proxy, that are known to have been there before anything was told.
    """

    def __init__(self, begin: Mapping[str, str]) -> None:
        self.told: list[Plan] = []  # each with one action
        self._begin = dict(begin)

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
        return _by_decision(Plan(plan="join", actions=found[0].actions), found) if found else []

    def mechanism(self, proxy: str) -> str | None:
        """The mechanism that everybody was told to have last, None if nothing is known of it."""
        switches = (t.actions[0].to for t in reversed(self.told) if t.actions[0].proxy == proxy)
        return next((to for to in switches if to is not None), self._begin.get(proxy))

    def _of(self, proxy: str) -> list[Action]:
        return [told.actions[0] for told in self.told if told.actions[0].proxy == proxy]

    def _add(self, plan: Plan, action: Action) -> None:
        own = [told for told in self.told if told.actions[0].proxy == action.proxy]
        known = self.mechanism(action.proxy)
        if action.to is not None and known not in (None, action.to):
            self.told = [told for told in self.told if told.actions[0].proxy != action.proxy]
        elif own and own[-1].actions[0].to == action.to and own[-1].actions[0].of == action.of:
            self.told.remove(own[-1])  # what it set is set again
            action = action.model_copy(update={"set": own[-1].actions[0].set | action.set})
        self.told.append(plan.model_copy(update={"actions": (action,)}))


def still_holding(share: Plan, later: Sequence[Plan], begin: Mapping[str, str]) -> list[Plan]:
    """Plans for a client that may not have executed its `share` of a plan, and was told `later` ones.

    Whoever executes them has what those have who executed the share and then the others; nothing is in them
    about proxies for which the later ones leave nothing of the share. None if that is so for all of it.
    `begin` are the client's mechanisms before the share, by proxy.
    """
    all_of_it, others = Standing(begin), Standing(begin)
    all_of_it.remember(share, share.actions)
    for plan in later:
        all_of_it.remember(plan, plan.actions)
        others.remember(plan, plan.actions)
    concerned = {action.proxy for action in share.actions}
    holding = {proxy for proxy in concerned if all_of_it._of(proxy) != others._of(proxy)}
    return _by_decision(share, [told for told in all_of_it.told if told.actions[0].proxy in holding])


def _by_decision(form: Plan, found: Iterable[Plan]) -> list[Plan]:
    """One plan for all that belongs to a decision, in all else like `form`."""
    return [
        form.model_copy(
            update={
                "scope": scope,
                "decision": decision,
                "actions": tuple(action for told in together for action in told.actions),
            }
        )
        for (scope, decision), together in groupby(found, lambda told: (told.scope, told.decision))
    ]
