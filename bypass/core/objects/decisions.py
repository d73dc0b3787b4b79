"""The decision about storage and routing that a node follows.

Who hears of a larger one asks the sender for it, and gets the mechanisms with all of their parameters. Who
has followed one tells all in reach, once, so that a decision spreads like a flood; whoever missed it is
told by the next datagram that it hears.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_core import to_jsonable_python

from bypass.core.objects.decision_exchange import DECIDED_PROXIES, DecisionExchange
from bypass.mechanisms.families import ROUTING_PROXY
from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.ports.datagrams import DatagramPort
from bypass.ports.host import Host
from bypass.protocol.domains import domain_of
from bypass.protocol.storage import Decision, PlanRequest
from bypass.transitions import Action, Engine, Nothing, Plan


class StorageDecisions(DecisionExchange):
    """The decision that a node with storage follows.

    `carry_out(plan, decision)` carries out a plan of a neighbour, and raises TransitionError if that is not
    possible. Decisions are those of a `namespace`; `left` is the one that this node has left just now by
    following a decision, None if it has not. `adopted(decision, namespace)` is told of each that is followed.
    A node that comes into the domain of an edge goes by the decision there, whatever its number, unless it
    came by a decision that it followed in no edge's domain.
    """

    def __init__(
        self,
        host: Host,
        engine: Engine,
        port: DatagramPort,
        carry_out: Callable[[Plan, Decision], None],
        namespace: Callable[[], str],
        left: Callable[[], str | None],
        adopted: Callable[[Decision, str], None],
    ) -> None:
        super().__init__(host, port, namespace)
        self._left = left
        self._adopted = adopted
        self._engine = engine
        self._carry_out = carry_out
        self._home: str | None = None  # where the current decision was followed
        self._unsettled: Decision | None = None  # that of the domain, whose plan has not come yet

    def follow(self, plan: Plan, decision: Decision) -> None:
        """Carry out a plan of a neighbour. Raises TransitionError."""
        self._carry_out(plan, decision)

    def changed(self, decision: Decision) -> None:
        """Tell who follows that."""
        self._adopted(decision, self._namespace())

    def adopt(self, decision: Decision, spread: bool) -> None:
        """Go by a decision from now on."""
        super().adopt(decision, spread)
        self._home, self._unsettled = self._namespace(), None

    def agreed(self, neighbour: int) -> None:
        """Let routing know of a neighbour that it did not hear, and might not hear for long."""
        active = self._engine.active(ROUTING_PROXY)
        if isinstance(active, RoutingMechanism):
            active.heard(neighbour)

    def concerned(self) -> tuple[str, ...]:
        """The own namespace, and the domain that this node has left by the decision."""
        own, left = self._namespace(), self._left()
        return (own,) if left is None else (left, own)

    def wants(self, decision: Decision) -> bool:
        """Whether a decision is larger than the own one, or that of the domain that this node came into."""
        return decision > self.current or decision == self._unsettled

    def entered(self, decision: Decision, edge: int) -> None:
        """This node came into the domain of an edge, where a decision holds; none if its scheme is 0."""
        if decision == self.current or not decision.scheme:
            return  # it is the first here: it brings its own
        home = None if self._home is None else domain_of(self._home)
        if home is not None and home.edge is None:
            return  # the larger one holds
        self.current = Decision(0, self.current.scheme, 0)
        self._unsettled = decision
        self.send(PlanRequest(decision), edge)

    def listens(self) -> bool:
        """Whether there is a storage mechanism."""
        return bool(self.current.scheme)

    def next(self, scheme: int) -> Decision:
        """The decision that this node makes next, for a storage mechanism with this flag."""
        return Decision(self.current.epoch + 1, scheme, self._host.id)

    def plan_text(self) -> bytes:
        """The plan for somebody else."""
        return self.plan().to_bytes()

    def plan(self) -> Plan:
        """The mechanisms that run here, with all of their parameters, as a plan."""
        decision = self.current
        return Plan(
            plan="follow-decision",
            why=f"decision {decision.epoch} of node {decision.initiator}",
            id=f"decision-{decision.epoch}-{decision.scheme}-{decision.initiator}",
            decision=decision.epoch,
            actions=tuple(map(self._action, DECIDED_PROXIES)),
        )

    def _action(self, proxy: str) -> Action:
        active = self._engine.active(proxy)
        values: dict[str, Any] = {} if isinstance(active, Nothing) else active.settings()
        return Action(proxy=proxy, to=active.name, set=to_jsonable_python(values))
