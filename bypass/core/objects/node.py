"""The node of a client: the proxies `storage` and `routing`, and the ways between them, the radio and the
broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from bypass.core.objects.access import KeptObjects, ObjectAccess, ObjectTimes, microseconds
from bypass.core.objects.decisions import NO_DECISION, StorageDecisions
from bypass.core.objects.own_queries import MARGIN_US, QueryTable
from bypass.core.objects.recovery import ObjectRecovery
from bypass.core.objects.survey import NodeSurvey
from bypass.mechanisms import Registry
from bypass.mechanisms.families import ROUTING_PROXY, STORAGE_PROXY
from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.objects.node_store import NodeStore
from bypass.objects.persistence import MemoryPersistence
from bypass.ports.datagrams import DatagramOutlet, DatagramSender, Failed
from bypass.ports.host import Host
from bypass.ports.local_access import LocalAccess
from bypass.ports.routing import Routing
from bypass.ports.storage import Storage
from bypass.protocol.datagrams import Datagram, NodeAddress
from bypass.protocol.storage import (
    CountsRequest,
    Decision,
    FoundObjects,
    MoveNode,
    NodeCounts,
    StorageMessage,
)
from bypass.transitions import Engine, InvalidPlan, Nothing, Plan, Record

ToBroker = Callable[[StorageMessage], None]

BROKER_ADDRESS = NodeAddress(0)
"""The broker as a sender: no node has its number."""


def kept_in_memory(node: int) -> KeptObjects:
    """The beginning of a node that has no objects, and keeps them in memory."""
    return KeptObjects(NodeStore(node, MemoryPersistence()))


class StampedPort:
    """The `host.link` of routing: all that goes out says which decision its sender follows."""

    def __init__(self, outlet: DatagramOutlet, decision: Callable[[], Decision]) -> None:
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


class NodeLink:
    """The `host.link` of a storage mechanism: its ways to others are those of the routing that runs."""

    def __init__(
        self, routing: Routing, access: ObjectAccess, to_broker: ToBroker, recover: Callable[[int], None]
    ) -> None:
        self.send = routing.send
        self.flood = routing.flood
        self.tell_cell = routing.tell_cell
        self.tell_neighbours = routing.tell_neighbours
        self.neighbours = routing.neighbours
        self.grid = routing.grid
        self.own_cell = routing.own_cell
        self.serving = routing.serving
        self.to_broker = to_broker
        self.done = access.done
        self.matched = access.matched
        self.recover = recover


class StorageNode:
    """One client as a node of a store. `follow` carries out a plan that a neighbour has sent."""

    def __init__(
        self,
        registry: Registry,
        engine: Engine,
        host: Host,
        local: LocalAccess,
        transport: DatagramSender,
        to_broker: ToBroker,
        kept: KeptObjects,
        times: ObjectTimes,
        follow: Callable[[Plan], None],
    ) -> None:
        self._host = host
        self._engine = engine
        self._registry = registry
        self._follow_plan = follow
        self._missing_us = kept.left_us  # the time since which something may have been missed
        self._closed = False
        self._due = False
        self._namespace = ""
        outlet = DatagramOutlet(transport, partial(host.after, 0.0))
        self.outlet = outlet
        self.port = StampedPort(outlet, lambda: self.decisions.current)
        self.decisions = StorageDecisions(host, engine, self.port, self._follow, lambda: self._namespace)
        queries = QueryTable(partial(microseconds, host), kept.queries, kept.placed)
        self.routing: Routing = registry.create(engine, "client", ROUTING_PROXY, state={"sink": self})
        self.storage: Storage = registry.create(
            engine, "client", STORAGE_PROXY, state={"store": kept.store, "queries": queries}
        )
        self.access = ObjectAccess(host, self.storage, self.running, queries, kept, times)
        self.recovery = ObjectRecovery(host, self.access, self.routing)
        self.survey = NodeSurvey(host, self.routing, self.counts)
        self.link = NodeLink(self.routing, self.access, to_broker, self.recover_since)
        engine.add_listener(self)
        local.hear_datagrams(self)

    def running(self) -> bool:
        """Whether a storage mechanism runs here."""
        return not self._closed and not isinstance(self._engine.active(STORAGE_PROXY), Nothing)

    def close(self) -> KeptObjects:
        """Listen to nobody any more, forget operations; gives what the next client goes on with."""
        kept = self.access.kept()
        self._closed = True
        self.access.operations.drop()
        self.recovery.end()
        self.survey.end()
        self.decisions.current = NO_DECISION
        return kept

    # -- what arrives -------------------------------------------------------------------------------------

    def arrived(self, datagram: Datagram) -> None:
        """Take a datagram from the link; a node without storage listens to nobody. Decisions of another
        namespace are no business of this node: routing counts such datagrams."""
        if self.decisions.current.scheme and (
            datagram.namespace != self._namespace or self.decisions.admits(datagram)
        ):
            self.routing.arrived(datagram)

    def received(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        """Take a body from routing."""
        if isinstance(body, CountsRequest):
            self.survey.asked(origin)
            return
        if isinstance(body, NodeCounts):
            self.survey.answered(origin, body)
            return
        if isinstance(body, MoveNode):
            self.recovery.claimed(body, origin)
        elif isinstance(body, FoundObjects):
            self.access.counts.told(body)
        self.storage.received(body, origin, target)

    def counts(self) -> NodeCounts:
        """Give what the application has done here with objects, and what there is now."""
        access, routing = self.access, self._engine.active(ROUTING_PROXY)
        if not isinstance(routing, RoutingMechanism):
            return replace(access.counts)
        neighbours, cell = routing.neighbours(), routing.own_cell() if routing.serving() else None
        return replace(
            access.counts,
            ways=routing.counters.ways,
            hops=routing.counters.hops,
            cell_ways=routing.counters.cell_ways,
            cell_hops=routing.counters.cell_hops,
            control=routing.counters.control,
            objects=len(access.store.own),
            queries=sum(1 for _ in access.queries.live()),
            neighbours=len(neighbours),
            mates=sum(each.cell == cell is not None and not each.moving for each in neighbours),
        )

    def from_broker(self, body: StorageMessage) -> None:
        """Take a body of the broker's."""
        self.storage.received(body, BROKER_ADDRESS, None)

    def undeliverable(self, body: StorageMessage, target: NodeAddress) -> None:
        """Learn that a body did not get to a target."""
        self.storage.undeliverable(body, target)

    def doubtful(self, body: StorageMessage, target: NodeAddress) -> None:
        """Learn that a body may not have got to a target."""
        self.storage.doubtful(body, target)

    def surroundings_changed(self) -> None:
        """Learn that the own cell, or the populated cells around, are others now."""
        self.storage.surroundings_changed()

    # -- transitions --------------------------------------------------------------------------------------

    def transition_finished(self, record: Record) -> None:
        """Another mechanism may store, or route: datagrams say so, and indexes are built up again."""
        if record.proxy not in (ROUTING_PROXY, STORAGE_PROXY) or record.outcome != "done":
            return
        active = self._engine.active(record.proxy)
        if record.proxy == ROUTING_PROXY and not isinstance(active, Nothing):
            # Whatever routing comes next, this node stays in its namespace unless a plan says otherwise.
            self._namespace = active.settings()["namespace"]
            self._engine.set_defaults(ROUTING_PROXY, {"namespace": self._namespace})
        self.decisions.current = self.decisions.current._replace(scheme=self.flag())
        if record.kind == "total":
            self.recover()

    def recover(self) -> None:
        """Build up indexes again, soon and once, whoever asks for it.

        After every decision, also if the mechanisms stay: nodes that follow different ones do not listen to
        each other.
        """
        if not self._due:
            self._due = True
            self._host.after(0.0, self._recover)

    def recover_since(self, missing_us: int) -> None:
        """Build up indexes again; this node may have missed what was published since a time."""
        self._missing_us = missing_us if self._missing_us is None else min(missing_us, self._missing_us)
        self.recover()

    def decided(self) -> None:
        """A plan was carried out that this node has made: all in reach are to follow it."""
        self.decisions.adopt(self.decisions.next(self.flag()), spread=True)
        self.recover_since(0)  # nodes may follow that were out of reach, with objects from long ago

    def stays(self) -> None:
        """This node is no visitor: visitors, whose number is 0, follow what it has begun with."""
        self.decisions.adopt(Decision(1, self.flag(), 0), spread=False)

    def follow_broker(self, epoch: int) -> None:
        """A plan of the broker was carried out: its number is that of the decision."""
        self.decisions.adopt(Decision(epoch, self.flag(), 0), spread=False)
        self.recover()

    def flag(self) -> int:
        """The flag of the storage mechanism that runs; 0 if none does."""
        flag: int = getattr(self._engine.active(STORAGE_PROXY), "flag", 0)
        return flag

    def _follow(self, plan: Plan, decision: Decision) -> None:
        """Carry out a neighbour's plan. Raises TransitionError, also if it is not what its sender follows."""
        for action in plan.actions:
            if action.proxy == STORAGE_PROXY:
                kind = self._registry.find("client", STORAGE_PROXY, action.to or "")
                if getattr(kind, "flag", 0) != decision.scheme:
                    raise InvalidPlan(
                        f"storage {kind.name!r} for decision {decision}: expected the mechanism with its flag"
                    )
        # A decision that a neighbour had to tell may be old: queries ask for all that came since they began.
        self._follow_plan(plan)
        self.recover_since(0)

    def _recover(self) -> None:
        self._due = False
        if not self.running():
            return
        since_us = self.access.now_us()
        if self._missing_us is not None:
            since_us = min(since_us, self._missing_us)
        self._missing_us = None
        self.recovery.begin(max(since_us - MARGIN_US, 0))
