"""The decision about storage and routing that holds in one domain, as its edge knows it."""

from __future__ import annotations

from collections.abc import Callable

from bypass.core.objects.decision_exchange import DecisionExchange
from bypass.ports.datagrams import DatagramPort
from bypass.ports.host import Host
from bypass.protocol.storage import Decision
from bypass.transitions import Plan


class CarriedDecision(DecisionExchange):
    """The latest decision in a domain. The edge does not carry it out: it keeps the plan for its clients."""

    def __init__(self, host: Host, port: DatagramPort, namespace: Callable[[], str]) -> None:
        super().__init__(host, port, namespace)
        self._plan = b""

    def plan_text(self) -> bytes:
        """The plan of the current decision; empty while there is none."""
        return self._plan

    def follow(self, plan: Plan, decision: Decision) -> None:  # noqa: ARG002 - it is kept with its plan
        """Keep the plan."""
        self._plan = plan.to_bytes()
