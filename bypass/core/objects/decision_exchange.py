"""How nodes tell each other of decisions: each datagram says which one its sender goes by.

Who hears of a larger one asks the sender for it, and gets the mechanisms with all of their parameters. Who
has followed one tells all in reach, once, so that a decision spreads like a flood; whoever missed it is
told by the next datagram that it hears.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from bypass.mechanisms.families import ROUTING_PROXY, STORAGE_PROXY
from bypass.ports.datagrams import DatagramLoss, DatagramPort, Failed
from bypass.ports.host import Host
from bypass.protocol.datagrams import Datagram, DatagramScope, EdgeBeacon, NodeAddress
from bypass.protocol.domains import domain_of
from bypass.protocol.storage import Decision, PlanCopy, PlanRequest, StorageMessage
from bypass.transitions import InvalidPlan, Plan, TransitionError
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


class StampedPort:
    """The `host.link` of routing: all that goes out says which decision its sender follows."""

    def __init__(self, outlet: DatagramPort, decision: Callable[[], Decision]) -> None:
        self._outlet = outlet
        self._decision = decision

    def broadcast(self, datagram: Datagram) -> None:
        """Send to all in reach, unacknowledged."""
        self._outlet.broadcast(self._stamped(datagram))

    def unicast(self, datagram: Datagram, neighbour: int, failed: Failed) -> None:
        """Send to one neighbour, which acknowledges it."""
        self._outlet.unicast(self._stamped(datagram), neighbour, failed)

    def _stamped(self, datagram: Datagram) -> Datagram:
        datagram.epoch, datagram.scheme, datagram.initiator = self._decision()
        return datagram


class DecisionExchange:
    """The decision that a node goes by in a namespace, and how it learns of larger ones and tells others.

    Counted are decisions that were `followed`, plans that were `refused` or failed, epochs too far ahead
    (`leaps`), and datagrams that were dropped because their sender follows an older decision (`obsolete`) or
    a newer one (`newer`).
    """

    def __init__(self, host: Host, port: DatagramPort, namespace: Callable[[], str]) -> None:
        self._current = NO_DECISION
        self.followed = self.refused = self.leaps = self.obsolete = self.newer = 0
        self._host = host
        self._port = port
        self._namespace = namespace
        self._asked = _Asked()
        self._number: int = host.random("decision-numbers").getrandbits(32)
        self._draw = host.random("decision-jitter").random

    @property
    def current(self) -> Decision:
        """The decision that this node goes by."""
        return self._current

    @current.setter
    def current(self, decision: Decision) -> None:
        self._current = decision
        self.changed(decision)

    def changed(self, decision: Decision) -> None:
        """This node goes by another decision from now on. Nothing, by default."""

    @abstractmethod
    def plan_text(self) -> bytes:
        """The plan of the current decision."""

    @abstractmethod
    def follow(self, plan: Plan, decision: Decision) -> None:
        """Go by a plan of a neighbour. Raises TransitionError if that is not possible."""

    def agreed(self, neighbour: int) -> None:
        """A neighbour has told that it goes by the same decision. Nothing, by default."""

    def listens(self) -> bool:
        """Whether decisions of others are of interest; always, by default."""
        return True

    def adopt(self, decision: Decision, spread: bool) -> None:
        """Go by a decision from now on, and tell all in reach if it is to be `spread`."""
        self.current = decision
        if spread:
            self._host.after(SPREAD_S * self._draw(), self._tell_all, decision, self.concerned())

    def concerned(self) -> tuple[str, ...]:
        """The namespaces in which a decision that is adopted now is told; the own one, by default."""
        return (self._namespace(),)

    def wants(self, decision: Decision) -> bool:
        """Whether the plan of a decision is to be followed."""
        return decision > self.current

    # -- what is heard ------------------------------------------------------------------------------------

    def admits(self, datagram: Datagram) -> bool:
        """Whether a datagram that was heard goes on to routing; otherwise it has been dealt with here.

        A sender that follows an older decision is told of this one.
        """
        body, mine = datagram.body, self._current
        if (datagram.epoch, datagram.scheme, datagram.initiator) == mine and type(body) not in _OF_PLANS:
            if self._asked:
                self._has_followed(datagram.client)
            return True  # as nearly always
        theirs = datagram.decision
        if isinstance(body, PlanRequest):
            if mine > body.decision or mine == body.decision:
                self.send(PlanCopy(self.plan_text()), datagram.client)
            return False
        if isinstance(body, PlanCopy):
            if self.wants(theirs):
                # Later, because nothing can be exchanged while it is being called.
                self._host.after(0.0, self._take, body.plan, theirs, datagram.client)
            elif theirs == mine:
                self._has_followed(datagram.client)
                self.agreed(datagram.client)
            return False
        if not theirs.scheme and isinstance(body, EdgeBeacon):
            return True  # an edge that has just begun knows no decision: it learns of one from its clients
        if theirs < mine:
            self.obsolete += 1
            # A sender without storage listens to nobody. Others are told, since this node may have nothing to
            # say by which they would hear of its decision.
            if theirs.scheme and self._is_time(mine, datagram.client):
                self.send(PlanCopy(self.plan_text()), datagram.client)
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
            self.send(PlanRequest(decision), neighbour)

    def _has_followed(self, neighbour: int) -> None:
        """A neighbour goes by the current decision: if it goes by an older one again, such as in its next
        life, it is told at once."""
        self._asked.pop((neighbour, self._current), None)

    def _is_time(self, decision: Decision, neighbour: int) -> bool:
        """Whether a neighbour may be told or asked about a decision again; from now on it was."""
        now = self._host.now()
        if now - self._asked.get((neighbour, decision), -ASK_AGAIN_S) < ASK_AGAIN_S:
            return False
        self._asked[neighbour, decision] = now
        return True

    def _take(self, data: bytes, decision: Decision, neighbour: int) -> None:
        if not self.listens() or not self.wants(decision):  # stopped, or followed meanwhile
            return
        if self._is_leap(decision):
            self.leaps += 1
            return
        try:
            plan = Plan.from_bytes(data)
            if [action.proxy for action in plan.actions] != list(DECIDED_PROXIES):
                raise InvalidPlan(f"plan {plan.plan!r}: expected actions for {', '.join(DECIDED_PROXIES)}")
            self.follow(plan, decision)
        except TransitionError:
            self.refused += 1
            return
        self.followed += 1
        self.adopt(decision, True)
        self.agreed(neighbour)

    # -- sending ------------------------------------------------------------------------------------------

    def _tell_all(self, decision: Decision, namespaces: tuple[str, ...]) -> None:
        if decision != self.current:
            return
        for namespace in namespaces:
            body = PlanCopy(self.plan_text())
            self._port.broadcast(self._datagram(body, DatagramScope.HOP, namespace))
            domain = domain_of(namespace)
            if domain is not None and domain.edge not in (None, self._host.id):
                self.send(body, domain.edge, namespace)  # it tells those who are out of reach

    def send(self, body: StorageMessage, neighbour: int, namespace: str | None = None) -> None:
        """Send something about decisions to a neighbour, in the own namespace or another one."""
        namespace = self._namespace() if namespace is None else namespace
        datagram = self._datagram(body, DatagramScope.ROUTED, namespace, NodeAddress(neighbour))
        self._port.unicast(datagram, neighbour, _ignore)

    def _datagram(
        self, body: StorageMessage, scope: DatagramScope, namespace: str, *targets: NodeAddress
    ) -> Datagram:
        self._number = (self._number + 1) & 0xFFFFFFFF
        number = self._host.id << 32 | self._number
        return Datagram(
            number,
            NodeAddress(self._host.id),
            targets,
            scope,
            body,
            namespace=namespace,
            client=self._host.id,
        )


def _ignore(_: DatagramLoss) -> None:
    """Do nothing: whoever is still there is heard again, and asked again."""
