"""Decisions about storage and routing without a broker: each datagram says which one its sender follows.

Who hears of a larger one asks the sender for it, and gets the mechanisms with all of their parameters. Who
has followed one tells all in reach, once, so that a decision spreads like a flood; whoever missed it is
told by the next datagram that it hears.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_core import to_jsonable_python

from bypass.mechanisms.families import ROUTING_PROXY, STORAGE_PROXY
from bypass.ports.datagrams import DatagramLoss, DatagramPort
from bypass.ports.host import Host
from bypass.protocol.datagrams import Datagram, DatagramScope, NodeAddress
from bypass.protocol.storage import Decision, PlanCopy, PlanRequest, StorageMessage
from bypass.transitions import Action, Engine, InvalidPlan, Nothing, Plan, TransitionError
from bypass.transitions.recent import Recent

MOST_AHEAD = 256
"""How far an epoch that is heard may be ahead of the own one: nobody can push numbers to their end."""

ASK_AGAIN_S = 1.0
"""A neighbour is asked for the same decision again after so long."""

SPREAD_S = 0.05
"""The longest random time before a node tells all in reach of a decision: so not all speak at once."""

DECIDED_PROXIES = (ROUTING_PROXY, STORAGE_PROXY)
"""A plan of a neighbour may name these alone, in this order."""

_OF_PLANS = frozenset((PlanRequest, PlanCopy))

NO_DECISION = Decision(0, 0, 0)
"""That of a node without storage, which listens to nobody."""


class _Asked(Recent[tuple[int, Decision], float]):
    """When neighbours were asked for decisions."""

    LIMIT = 256


class StorageDecisions:
    """The decision that a node follows, and how it learns of larger ones.

    `follow(plan, decision)` carries out a plan of a neighbour, and raises TransitionError if that is not
    possible. Decisions are those of a `namespace`. Counted are decisions that were `followed`, plans that
    were `refused` or failed, epochs too far ahead (`leaps`), and datagrams that were dropped because their
    sender follows an older decision (`obsolete`) or a newer one (`newer`).
    """

    def __init__(
        self,
        host: Host,
        engine: Engine,
        port: DatagramPort,
        follow: Callable[[Plan, Decision], None],
        namespace: Callable[[], str],
    ) -> None:
        self.current = NO_DECISION
        self.followed = self.refused = self.leaps = self.obsolete = self.newer = 0
        self._host = host
        self._engine = engine
        self._port = port
        self._follow = follow
        self._namespace = namespace
        self._asked = _Asked()
        self._number: int = host.random("decision-numbers").getrandbits(32)
        self._draw = host.random("decision-jitter").random

    # -- what is decided here -----------------------------------------------------------------------------

    def next(self, scheme: int) -> Decision:
        """The decision that this node makes next, for a storage mechanism with this flag."""
        return Decision(self.current.epoch + 1, scheme, self._host.id)

    def adopt(self, decision: Decision, spread: bool) -> None:
        """Follow a decision from now on, and tell all in reach if it is to be `spread`."""
        self.current = decision
        if spread:
            self._host.after(SPREAD_S * self._draw(), self._tell_all, decision)

    def plan(self) -> Plan:
        """The mechanisms that run here, with all of their parameters, as a plan for somebody else."""
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

    # -- what is heard ------------------------------------------------------------------------------------

    def admits(self, datagram: Datagram) -> bool:
        """Whether a datagram that was heard goes on to routing; otherwise it has been dealt with here.

        A sender that follows an older decision is told of this one.
        """
        body, mine = datagram.body, self.current
        if (datagram.epoch, datagram.scheme, datagram.initiator) == mine and type(body) not in _OF_PLANS:
            return True  # as nearly always
        theirs = datagram.decision
        if isinstance(body, PlanRequest):
            if mine > body.decision or mine == body.decision:
                self._send(PlanCopy(self.plan().to_bytes()), datagram.client)
            return False
        if isinstance(body, PlanCopy):
            if theirs > mine:
                # Later, because nothing can be exchanged while it is being called.
                self._host.after(0.0, self._take, body.plan, theirs)
            return False
        if theirs < mine:
            self.obsolete += 1
            # A sender without storage listens to nobody. Others are told, since this node may have nothing to
            # say by which they would hear of its decision.
            if theirs.scheme and self._is_time(mine, datagram.client):
                self._send(PlanCopy(self.plan().to_bytes()), datagram.client)
        elif self._is_leap(theirs):
            self.leaps += 1
        else:
            self.newer += 1
            self._ask(theirs, datagram.client)
        return False

    def _is_leap(self, theirs: Decision) -> bool:
        return bool(self.current.epoch) and theirs.epoch > self.current.epoch + MOST_AHEAD

    def _ask(self, decision: Decision, neighbour: int) -> None:
        if self._is_time(decision, neighbour):
            self._send(PlanRequest(decision), neighbour)

    def _is_time(self, decision: Decision, neighbour: int) -> bool:
        """Whether a neighbour may be told or asked about a decision again; from now on it was."""
        now = self._host.now()
        if now - self._asked.get((neighbour, decision), -ASK_AGAIN_S) < ASK_AGAIN_S:
            return False
        self._asked[neighbour, decision] = now
        return True

    def _take(self, data: bytes, decision: Decision) -> None:
        if decision <= self.current or not self.current.scheme:  # followed meanwhile, or stopped
            return
        if self._is_leap(decision):
            self.leaps += 1
            return
        try:
            plan = Plan.from_bytes(data)
            if [action.proxy for action in plan.actions] != list(DECIDED_PROXIES):
                raise InvalidPlan(f"plan {plan.plan!r}: expected actions for {', '.join(DECIDED_PROXIES)}")
            self._follow(plan, decision)
        except TransitionError:
            self.refused += 1
            return
        self.followed += 1
        self.adopt(decision, True)

    # -- sending ------------------------------------------------------------------------------------------

    def _tell_all(self, decision: Decision) -> None:
        if decision == self.current:
            self._port.broadcast(self._datagram(PlanCopy(self.plan().to_bytes()), DatagramScope.HOP))

    def _send(self, body: StorageMessage, neighbour: int) -> None:
        datagram = self._datagram(body, DatagramScope.ROUTED, NodeAddress(neighbour))
        self._port.unicast(datagram, neighbour, _ignore)

    def _datagram(self, body: StorageMessage, scope: DatagramScope, *targets: NodeAddress) -> Datagram:
        self._number = (self._number + 1) & 0xFFFFFFFF
        number = self._host.id << 32 | self._number
        return Datagram(
            number,
            NodeAddress(self._host.id),
            targets,
            scope,
            body,
            namespace=self._namespace(),
            client=self._host.id,
        )


def _ignore(_: DatagramLoss) -> None:
    """Do nothing: whoever is still there is heard again, and asked again."""
