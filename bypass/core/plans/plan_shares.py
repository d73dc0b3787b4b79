"""Divides a broker's plan into shares, one for all clients that have to do the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from bypass.mechanisms.families import FILTER_PROXY
from bypass.transitions import Action, Catalogue, Plan

NamedMembers = tuple[int | str, ...]


def shares(
    plan: Plan, catalogue: Catalogue, served: Sequence[AbstractSet[int]], resubscribe: bool
) -> list[tuple[Plan, list[int]]]:
    """The plans that clients have to execute, each with the clients that share it.

    `catalogue` is what clients may be told to have.

    A client executes the actions that name it and those that name nobody. Only clients in `served` are
    concerned. `resubscribe`: the broker starts from nothing and has to be told all subscriptions again.
    """
    actions = [
        (action.members, theirs)
        for action in plan.actions
        if (theirs := _for_clients(action, catalogue, resubscribe)) is not None
    ]
    clients: dict[tuple[int, ...], list[int]] = {}
    for client in _concerned([members for members, _ in actions], served):
        share = tuple(i for i, (members, _) in enumerate(actions) if members is None or client in members)
        clients.setdefault(share, []).append(client)
    return [
        (plan.model_copy(update={"id": _id(plan, n), "actions": tuple(actions[i][1] for i in share)}), them)
        for n, (share, them) in enumerate(clients.items())
    ]


def _concerned(named: list[NamedMembers | None], served: Sequence[AbstractSet[int]]) -> Iterable[int]:
    """Everybody, or those named if all actions name somebody: then there may be much fewer."""
    if None in named:
        return [client for group in served for client in sorted(group)]
    members = dict.fromkeys(member for each in named if each is not None for member in each)
    return [m for m in members if isinstance(m, int) and any(m in group for group in served)]


def _for_clients(action: Action, catalogue: Catalogue, resubscribe: bool) -> Action | None:
    """An action as each of the clients concerned executes it; None if it does not concern them."""
    kinds = catalogue.get(action.proxy, {})
    named = action.to or action.of
    theirs = [kind for name, kind in kinds.items() if named in (None, name)]
    values = {
        name: value for name, value in action.set.items() if any(name in kind.parameters() for kind in theirs)
    }
    if not theirs or (action.to is None and not values):
        return None
    if action.proxy == FILTER_PROXY and action.to is not None and resubscribe:
        values["resubscribe"] = True
    return action.model_copy(update={"set": values, "members": None})


def _id(plan: Plan, n: int) -> str:
    """The plan's own id, or one of its own for each further share: hosts answer by id."""
    return plan.id if n == 0 else f"{plan.id[:120]}#{n}"
