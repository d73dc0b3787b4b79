"""The node of a client: the proxies `storage` and `routing`, and the ways between them, the radio and the
broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from bypass.core.objects.access import KeptObjects, ObjectAccess, ObjectTimes, microseconds
from bypass.core.objects.decision_exchange import NO_DECISION, StampedPort
from bypass.core.objects.decisions import StorageDecisions
from bypass.core.objects.fallback import Fallback, FallbackSettings
from bypass.core.objects.own_queries import MARGIN_US, QueryTable
from bypass.core.objects.recovery import ObjectRecovery
from bypass.core.objects.survey import NodeSurvey
from bypass.core.objects.worlds import Worlds
from bypass.mechanisms import Registry
from bypass.mechanisms.families import ROUTING_PROXY, STABILITY_PROXY, STORAGE_PROXY
from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.objects.node_store import NodeStore
from bypass.objects.persistence import MemoryPersistence
from bypass.ports.datagrams import DatagramOutlet, DatagramSender
from bypass.ports.host import Host
from bypass.ports.local_access import LocalAccess
from bypass.ports.proxies import Stability
from bypass.ports.routing import Routing
from bypass.ports.storage import Storage
from bypass.protocol.datagrams import Datagram, DatagramScope, EdgeAnswer, EdgeBeacon, EdgeProbe, NodeAddress
from bypass.protocol.domains import Domain
from bypass.protocol.edge import WorldList
from bypass.protocol.storage import (
    CountsRequest,
    Decision,
    FoundObjects,
    MoveNode,
    NodeCounts,
    StorageMessage,
)
from bypass.transitions import Engine, InvalidPlan, Nothing, Plan, Record, TransitionError

ToBroker = Callable[[StorageMessage], None]

JUST_NOW_S = 1.0
"""A plan is carried out in less; in virtual time at once."""

BROKER_ADDRESS = NodeAddress(0)
"""The broker as a sender: no node has its number."""


def kept_in_memory(node: int) -> KeptObjects:
    """The beginning of a node that has no objects, and keeps them in memory."""
    return KeptObjects(NodeStore(node, MemoryPersistence()))


class NodeLink:
    """The `host.link` of a storage mechanism: its ways to others are those of the routing that runs."""

    def __init__(
        self,
        routing: Routing,
        access: ObjectAccess,
        to_broker: ToBroker,
        recover: Callable[[int], None],
        stability: Stability,
    ) -> None:
        self.send = routing.send
        self.flood = routing.flood
        self.tell_cell = routing.tell_cell
        self.tell_neighbours = routing.tell_neighbours
        self.neighbours = routing.neighbours
        self.grid = routing.grid
        self.own_cell = routing.own_cell
        self.serving = routing.serving
        self.coverage = routing.coverage
        self.to_broker = to_broker
        self.done = access.done
        self.matched = access.matched
        self.recover = recover
        self.stability = stability.index


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
        fallback: FallbackSettings | None = None,
    ) -> None:
        self._host = host
        self._engine = engine
        self._registry = registry
        self._follow_plan = follow
        self._missing_us = kept.left_us  # the time since which something may have been missed
        self._closed = False
        self._due = False
        self._namespace = ""  # that of the routing that runs: its domain
        self._world = ""
        self._left: tuple[str, float] | None = None  # the namespace that a plan led out of, and when
        outlet = DatagramOutlet(transport, partial(host.after, 0.0))
        self.outlet = outlet
        self.port = StampedPort(outlet, lambda: self.decisions.current)
        known = local.hear_datagrams(self)
        self.decisions = StorageDecisions(
            host, engine, self.port, self._follow, lambda: self._namespace, self._left_now, known.follow
        )
        queries = QueryTable(partial(microseconds, host), kept.queries, kept.placed)
        self.routing: Routing = registry.create(
            engine, "client", ROUTING_PROXY, state={"sink": self, "known": known}
        )
        self.storage: Storage = registry.create(
            engine, "client", STORAGE_PROXY, state={"store": kept.store, "queries": queries}
        )
        self.access = ObjectAccess(
            host, self.storage, self.running, queries, kept, times, self.area, lambda: self.worlds.current
        )
        self.recovery = ObjectRecovery(host, self.access, self.routing)
        self.survey = NodeSurvey(host, self.routing, self.counts)
        stability: Stability = registry.create(engine, "client", STABILITY_PROXY)
        self.link = NodeLink(self.routing, self.access, to_broker, self.recover_since, stability)
        self.worlds = Worlds(
            host,
            engine,
            self.routing,
            self.access.operations,
            self._enter,
            lambda: self.fallback is not None and self.fallback.active,
        )
        self.fallback = None
        if fallback is not None:
            self.fallback = Fallback(
                host,
                engine,
                self.routing,
                fallback,
                self._present,
                self._go_over,
                self.recover_since,
                self._probe,
            )
        engine.add_listener(self)

    def area(self) -> int | None:
        """The edge in whose area this node is; None if there is none."""
        coverage = self.routing.coverage()
        return None if coverage is None else coverage.edge

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
        if self.fallback is not None:
            self.fallback.end()
        self.decisions.current = NO_DECISION
        return kept

    # -- what arrives -------------------------------------------------------------------------------------

    def arrived(self, datagram: Datagram) -> None:
        """Take a datagram from the link; a node without storage listens to nobody. Decisions of another
        namespace are no business of this node, unless the datagram leads it there: routing counts others."""
        if not self.decisions.current.scheme:
            return
        if self.fallback is not None and isinstance(datagram.body, (EdgeAnswer, EdgeBeacon)):
            self.fallback.heard(datagram, self.worlds.current)
        if datagram.namespace == self._namespace:
            if self.decisions.admits(datagram):
                self.routing.arrived(datagram)
            return
        self.worlds.heard(datagram.namespace)
        self.routing.arrived(datagram)
        if isinstance(datagram.body, EdgeAnswer) and self._domain() == datagram.namespace:
            self._enter_domain()
            self.decisions.entered(datagram.decision, datagram.client)

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
        elif isinstance(body, WorldList):
            self.worlds.received(body)
            return
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
        """Learn that the own cell, the populated cells around, or the edge are others now."""
        if self._namespace != self._domain():
            self._enter_domain()
        self.storage.surroundings_changed()
        if self.fallback is not None:
            self.fallback.review()

    # -- transitions --------------------------------------------------------------------------------------

    def transition_finished(self, record: Record) -> None:
        """Another mechanism may store, or route: datagrams say so, and indexes are built up again."""
        if record.proxy not in (ROUTING_PROXY, STORAGE_PROXY) or record.outcome != "done":
            return
        active = self._engine.active(record.proxy)
        if record.proxy == ROUTING_PROXY and not isinstance(active, Nothing):
            # Whatever routing comes next, this node stays in its namespace unless a plan says otherwise.
            before, self._namespace = self._namespace, self._domain()
            world = active.settings()["namespace"]
            self._engine.set_defaults(ROUTING_PROXY, {"namespace": world})
            if before != self._namespace and self._world == world:
                self._left = before, self._host.now()
            self._world = world
        self.decisions.current = self.decisions.current._replace(scheme=self.flag())
        if record.kind == "total":
            self.recover()
        if self.fallback is not None:
            self.fallback.review()

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

    def _domain(self) -> str:
        """The namespace in which decisions hold for this node."""
        active = self._engine.active(ROUTING_PROXY)
        return active.domain() if isinstance(active, RoutingMechanism) else self._namespace

    def _enter_domain(self) -> None:
        """Take datagrams of the domain of routing from now on."""
        self._namespace = self._domain()
        self.decisions.changed(self.decisions.current)

    def _left_now(self) -> str | None:
        """The namespace of decisions before the plan that was just carried out; None if it is the same."""
        recent = self._left is not None and self._host.now() - self._left[1] < JUST_NOW_S
        return self._left[0] if recent and self._left is not None else None

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

    def _go_over(self, plan: Plan) -> None:
        """Carry out a plan of this node for itself. Raises TransitionError.

        Where it goes to it has made no decision: it follows whichever is heard there.
        """
        for record in plan.dry_run(self._engine):
            if record.outcome == "failed":
                raise TransitionError(f"{record.proxy} to {record.target!r}: {record.error}")
        self._follow_plan(plan)
        self.decisions.current = Decision(0, self.flag(), 0)

    def _present(self) -> Plan:
        """The mechanisms that run here, as a plan, in whichever world the node will be."""
        plan = self.decisions.plan()
        actions = [
            each.model_copy(update={"set": {k: v for k, v in each.set.items() if k != "namespace"}})
            for each in plan.actions
        ]
        return plan.model_copy(update={"actions": tuple(actions)})

    def _enter(self, plan: Plan) -> None:
        """Carry out a plan that leads into another world."""
        self._go_over(plan)
        self.recover_since(0)

    def _probe(self, nonce: int) -> None:
        """Ask all in reach whether they are an edge, whatever routing runs here."""
        self.port.broadcast(
            Datagram(
                self._host.id << 32 | (nonce & 0xFFFFFFFF),
                NodeAddress(self._host.id),
                (),
                DatagramScope.HOP,
                EdgeProbe(nonce),
                namespace=Domain(self._namespace).namespace(),
                client=self._host.id,
            )
        )

    def _recover(self) -> None:
        self._due = False
        if not self.running():
            return
        since_us = self.access.now_us()
        if self._missing_us is not None:
            since_us = min(since_us, self._missing_us)
        self._missing_us = None
        self.recovery.begin(max(since_us - MARGIN_US, 0))
