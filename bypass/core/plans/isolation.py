"""Clients that cannot exchange their filter scheme are served by the one that they have."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER_PROXY
from bypass.mechanisms.filters import FilterBroker
from bypass.transitions import Action, Plan, Record, TransitionError

log = logging.getLogger(__name__)

ISOLATE = "isolate"
"""The name of plans that isolate a client: one that fails such a plan is not isolated again."""


class ClientDirectory(Protocol):
    """Knows what clients are called, and what they say about themselves."""

    def name(self, client: int) -> str:
        """Give the name of a client; empty if it is gone for good."""

    def scheme(self, client: int) -> int:
        """Give the flag of the filter scheme that a client has, as it said last; 0 if that is not known."""

    def knows_areas(self, client: int) -> bool:
        """Whether a client can test whether it is in the area of an event."""


class NumberedClients:
    """Names clients by their numbers, and knows nothing else about them."""

    def name(self, client: int) -> str:
        """Give a client's number."""
        return str(client)

    def scheme(self, client: int) -> int:  # noqa: ARG002 - nobody has said it
        """Give 0."""
        return 0

    def knows_areas(self, client: int) -> bool:  # noqa: ARG002
        """Give True: there are no earlier versions here."""
        return True


class Isolation:
    """Has plans executed that move single clients back; `scheme_of` gives the scheme that serves a client."""

    def __init__(
        self,
        registry: Registry,
        clients: ClientDirectory,
        scheme_of: Callable[[int], FilterBroker],
        execute: Callable[[Plan], list[Record]],
    ) -> None:
        self._registry = registry
        self._clients = clients
        self._scheme_of = scheme_of
        self._execute = execute

    def differs(self, client: int) -> bool:
        """Say whether a client has another scheme than the one that serves it."""
        return self._clients.scheme(client) != self._registry.flags.of(self._scheme_of(client).scheme.name)

    def isolate(self, client: int, plan: Plan, reason: str) -> bool:
        """Serve a client that has failed a plan by the scheme that it says it has.

        Gives False, and does nothing, if the plan was not about schemes, or if that one serves it already.
        """
        own = self._registry.flags.scheme(self._clients.scheme(client))
        about_schemes = any(action.proxy == FILTER_PROXY for action in plan.actions)
        if not about_schemes or own is None or own == self._scheme_of(client).name:
            return False
        name = self._clients.name(client)
        log.error("%s stays with %s: %s", name, own, reason)
        action = Action(proxy=FILTER_PROXY, to=own, members=(client,))
        why = f"{name} failed {plan.id}: {reason}"[:500]
        try:
            self._execute(Plan(plan=ISOLATE, why=why, who="broker", actions=(action,)))
        except TransitionError as error:
            log.error("%s cannot be isolated: %s", name, error)
        return True
