"""An experiment with a store: clients store objects and ask for them, and what they are told is watched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from bypass.core.objects.access import ObjectAccess
from bypass.core.objects.operations import Ended, OperationResult
from bypass.core.objects.own_queries import OwnQuery
from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.mechanisms.routing.counters import RoutingCounters
from bypass.mechanisms.storage.server import ExternalStorage
from bypass.models.maps import AttractionPoint
from bypass.models.radio.kernels.state import S
from bypass.models.storage import DEVICES
from bypass.models.storage.operations import OperationKind
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.scenarios.experiments.objects import ObjectSettings
from bypass.scenarios.experiments.schema import Scenario, Step
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.figures.storage import (
    FollowedTag,
    OperationEnd,
    StoredPost,
    StoreLayout,
    StoreWatch,
    store_figures,
)
from bypass.scenarios.figures.storage_loads import NodeLoad
from bypass.scenarios.runs.experiment import Experiment, ExperimentFailed, Publication
from bypass.scenarios.runs.final_queries import Asker, FinalQueries
from bypass.scenarios.runs.sent_messages import SentMessages
from bypass.sim.host import stream
from bypass.support.units import MICROSECONDS
from bypass.transitions import Nothing, Plan, RuleBook, RuleEngine

STORE = -3  # the number of its random streams among those of hosts

COLUMNS = {
    "phy_bytes": (S.BYTES_UP, S.HANDSHAKE_BYTES),
    "phy_frames": (S.SENT,),
    "retransmissions": (S.RETRIED,),
    "given_up": (S.FAILED,),
    "own_bytes": (S.OWN_BYTES,),
    "forwarded_bytes": (S.FORWARDED_BYTES,),
    "control_bytes": (S.CONTROL_BYTES,),
}
"""The counters of stations that make up each figure of traffic."""


class StorageExperiment(Experiment):
    """A scenario in which clients do with objects what its posts say; nobody publishes events."""

    def __init__(self, scenario: Scenario, settings: ObjectSettings, seed: int) -> None:
        self._settings = settings
        super().__init__(scenario, seed)
        self._operations = settings.schedule(scenario.clients, seed)
        self._watched = StoreWatch()
        self._sent = SentMessages(scenario.clients)
        self.system.monitor.register(self._sent)
        self._moments = stream(seed, STORE, "joins")
        self._tastes = stream(seed, STORE, "retrievals")
        self._queries: dict[int, OwnQuery] = {}  # by the number of the subscription
        self._final = FinalQueries(lambda seconds: self.system.run_until(self.system.clock.now() + seconds))
        self._traffic: dict[str, int] = {}
        self._design: Counter[str] = Counter()
        self._bodies = [Counter[str]() for _ in range(scenario.clients)]  # received in lives that are over
        self._forwarded = [0] * scenario.clients
        self._seconds_there = np.zeros(scenario.clients)
        self._counted_until = 0.0
        self._loads: list[NodeLoad] = []

    def _scheduled(self, _: tuple[AttractionPoint, ...]) -> Iterator[Publication]:
        return iter(())

    def _begin_attendance(self) -> None:
        super()._begin_attendance()
        begin_us = round(self._settings.operations_from * MICROSECONDS)
        operations = self._operations
        columns = (operations.at_us, operations.node, operations.kind, operations.subject)
        for at_us, node, kind, subject in zip(*(column.tolist() for column in columns), strict=True):
            if self._does(node, kind):
                self.system.clock.at(begin_us + at_us, self._do, node, kind, subject)

    def _does(self, node: int, kind: int) -> bool:
        """Whether a client does that, if some publish and others subscribe."""
        share = self._settings.publishers
        publishes = kind in (OperationKind.INSERT, OperationKind.DELETE)
        return not share or publishes == (node < share * self.scenario.clients)

    def _take_part(self, number: int) -> None:
        self._watch(number)
        settings, now = self._settings, self.system.clock.now()
        at = max(settings.start + settings.joins * self._moments.random(), now)
        self.system.clock.at(round(at * MICROSECONDS), self._join, number, self.system.clients[number])

    def _join(self, number: int, client: object) -> None:
        """Have a client take part in the store, unless it has gone meanwhile."""
        if self.system.clients[number] is not client or not self._active[number]:
            return
        first = Plan(plan="store", actions=(self._settings.first,))
        outcome = self.system.clients[number].carry_out(self._with_server(first))
        if not outcome.ok:
            raise ExperimentFailed(f"client {number} cannot store by {self._settings.storage!r}: {outcome}")

    def _settle(self) -> None:
        super()._settle()
        now = self.system.clock.now()
        self._seconds_there[self._active] += now - self._counted_until
        self._counted_until = now
        for number in np.flatnonzero(self._active).tolist():
            self._design[self.system.clients[number].engine.active("storage").name] += 1

    def _go(self, number: int) -> None:
        counters = self._routed(number)
        super()._go(number)
        if not self._active[number]:
            self._bodies[number] += counters.bodies
            self._forwarded[number] += counters.forwarded

    def _routed(self, number: int) -> RoutingCounters:
        """The counters of a client's routing."""
        routing = self.system.clients[number].engine.active("routing")
        return routing.counters if isinstance(routing, RoutingMechanism) else RoutingCounters()

    def _step(self, step: Step) -> None:
        """Have the node in the middle decide, since there is no broker; the others follow it."""
        self._mark()
        outcome = self.system.clients[self._middle].decide(self._with_server(step.plan))
        if not outcome.ok:
            raise ExperimentFailed(f"plan {step.plan.plan!r} at {step.at} s: {outcome}")

    def _adaptation(self, book: RuleBook) -> RuleEngine:
        """Have the node in the middle adapt the store by rules."""
        world = self.scenario.world
        self.adaptation = self._settings.planner.adaptation(
            self.system.clients[self._middle], book, world.width, world.height
        )
        return self.adaptation.rules

    def _with_server(self, plan: Plan) -> Plan:
        """The plan with the number of the server, where it sets none."""
        return plan.model_copy(
            update={
                "actions": tuple(
                    action.model_copy(update={"set": {"server": self._server(), **action.set}})
                    if action.to == ExternalStorage.name
                    else action
                    for action in plan.actions
                )
            }
        )

    def _server(self) -> int:
        """The number of the node that is the server, where a plan sets none."""
        return self._middle

    @cached_property
    def _middle(self) -> int:
        """The client nearest to the middle out of those that are always there and stand still; out of all if
        there is none."""
        x, y = (column.copy() for column in self._trace.positions(0.0))
        later_x, later_y = self._trace.positions(self.scenario.duration)
        stays = (x == later_x) & (y == later_y) & (np.diff(self._presence.offsets) == 1)
        world = self.scenario.world
        away = np.hypot(x - world.width / 2, y - world.height / 2)
        return int(np.argmin(np.where(stays, away, np.inf) if stays.any() else away))

    def _mark(self) -> None:
        super()._mark()
        there = [self.system.clients[number] for number in self._storing()]
        for proxy in ("storage", "routing"):
            used = Counter(client.engine.active(proxy).name for client in there)
            for name, number in used.most_common(1):
                example = next(c for c in there if c.engine.active(proxy).name == name).engine.active(proxy)
                self._mechanisms[-1][proxy] = {
                    "name": name, "parameters": example.settings(), "clients": number,
                }  # fmt: skip

    # -- what clients do ----------------------------------------------------------------------------------

    def _do(self, node: int, kind: int, subject: int) -> None:
        client = self.system.clients[node]
        if not self._active[node] or isinstance(client.engine.active("storage"), Nothing):
            self._watched.skipped += 1
            return
        match kind:
            case OperationKind.INSERT:
                self._insert(client.objects, node, subject)
            case OperationKind.SUBSCRIBE:
                self._subscribe(client.objects, node, subject)
            case OperationKind.DELETE:
                self._delete(client.objects, subject)
            case OperationKind.WITHDRAW:
                self._unsubscribe(client.objects, subject)

    def _insert(self, objects: ObjectAccess, node: int, number: int) -> None:
        def acknowledged(result: OperationResult) -> None:
            post.acknowledged = result.ok

        posts = self._operations.posts
        metadata = objects.insert(
            bytes(int(posts.size[number])),
            [posts.vocabulary[tag] for tag in posts.tags_of(number).tolist()],
            name=f"post-{number}",
            namespace=self._world(node),
            ended=self._timed(node, "insert", acknowledged),
        )
        now, area = self.system.clock.now(), self._area(node)
        post = StoredPost(metadata.key, node, metadata.tags, now, world=metadata.namespace, area=area)
        self._watched.posts[number] = post

    def _subscribe(self, objects: ObjectAccess, node: int, number: int) -> None:
        now, past = self.system.clock.now(), bool(self._operations.all_time[number])
        tag = self._operations.posts.vocabulary[int(self._operations.tag[number])]
        lasting = self._settings.lasting
        until = None if lasting is None else now + lasting
        world, area = self._world(node), self._area(node)
        self._watched.follows[number] = FollowedTag(
            node, tag, -np.inf if past else now, now, np.inf if until is None else until, world, area
        )
        self._queries[number] = objects.query(
            tag,
            partial(self._told, number),
            since=None if past else now,
            until=until,
            namespace=world,
            limit=self._settings.page,
            ended=self._timed(node, "subscribe", partial(self._next_page, number)),
        )

    def _next_page(self, number: int, result: OperationResult) -> None:
        """Ask for what else there is of the past."""
        own = self._queries[number]
        node = own.query.subscriber
        objects = self.system.clients[node].objects
        if result.ok and own.more_past and not own.withdrawn and objects.queries.get(own.query.id) is own:
            ended = self._timed(node, "page", partial(self._next_page, number))
            objects.more(own, self._settings.page, ended)
        elif result.ok and not own.more_past:
            self._past_told(number)

    def _past_told(self, number: int) -> None:
        """A subscription has all pages of the past."""

    def _delete(self, objects: ObjectAccess, number: int) -> None:
        post = self._watched.posts.get(number)
        if post is None or objects.store.metadata(post.key) is None:
            self._watched.skipped += 1
            return

        def acknowledged(result: OperationResult) -> None:
            post.is_gone = result.ok

        post.deleted = self.system.clock.now()
        objects.delete(post.key, self._timed(post.owner, "delete", acknowledged))

    def _unsubscribe(self, objects: ObjectAccess, number: int) -> None:
        own = self._queries.get(number)
        if own is None or objects.queries.get(own.query.id) is not own:
            self._watched.skipped += 1
            return
        self._watched.follows[number].withdrawn = self.system.clock.now()
        objects.withdraw(own, self._timed(own.query.subscriber, "unsubscribe"))

    def _told(self, number: int, metadata: Metadata, own: OwnQuery) -> None:
        self._watched.told.setdefault((number, metadata.key), []).append(self.system.clock.now())
        subscriber = own.query.subscriber
        if metadata.key.owner != subscriber and self._tastes.random() < self._settings.retrieve:
            if not self._settings.within:
                self._retrieve(subscriber, metadata)
                return
            at = self.system.clock.now() + self._settings.within * self._tastes.random()
            client = self.system.clients[subscriber]
            self.system.clock.at(round(at * MICROSECONDS), self._retrieve_later, subscriber, client, metadata)

    def _retrieve_later(self, node: int, client: object, metadata: Metadata) -> None:
        """Retrieve what a client was told of, unless it has gone meanwhile."""
        if self.system.clients[node] is client and self._active[node] and self._stores(node):
            self._retrieve(node, metadata)
        else:
            self._watched.skipped += 1

    def _retrieve(self, node: int, metadata: Metadata) -> None:
        begun = self.system.clock.now()
        self.system.clients[node].objects.retrieve(
            metadata, self._timed(node, "retrieve", partial(self._retrieved, node, begun))
        )

    def _retrieved(self, node: int, begun: float, result: OperationResult) -> None:
        """Bytes have come that a client has asked for at a time (s), or could not be had."""

    def _timed(self, node: int, operation: str, ended: Ended = lambda _: None) -> Ended:
        """Note how an operation of a node ends, and how long it took."""
        begun = self.system.clock.now()

        def note(result: OperationResult) -> None:
            seconds = self.system.clock.now() - begun
            self._watched.ends.append(OperationEnd(node, operation, result.ok, seconds))
            ended(result)

        return note

    # -- what came of it ----------------------------------------------------------------------------------

    def _drain(self) -> None:
        """Ask at the end for everything that was stored, after what was begun has ended."""
        self._traffic = {
            name: sum(int(self._by_radio(column).sum()) for column in columns)
            for name, columns in COLUMNS.items()
        } | {"messages": self._sent.messages}
        self._loads = self._node_loads()
        super()._drain()
        askers: dict[tuple[str, int], Asker] = {}  # one client of each world and area
        for number in self._storing():
            world, area = self._world(number), self._area(number)
            askers.setdefault((world, area), (self.system.clients[number].objects, world, area))
        tags = {tag for post in self._watched.posts.values() for tag in post.tags}
        self._final.ask(askers.values(), tags)

    def _world(self, number: int) -> str:  # noqa: ARG002
        """The world of a client: all are in the one without a name."""
        return ""

    def _area(self, number: int) -> int:  # noqa: ARG002
        """The area of a client: there is one."""
        return 0

    def _stores(self, number: int) -> bool:
        return not isinstance(self.system.clients[number].engine.active("storage"), Nothing)

    def _result(self, wall_s: float) -> Run:
        held: set[tuple[int, ObjectKey]] = set()
        for number in self._storing():
            store, area = self.system.clients[number].objects.store, self._area(number)
            held |= {(area, metadata.key) for metadata in (*store.own, *store.replicas)}
        posts, final = self._watched.posts.values(), self._final
        seconds = max(sum(self._design.values()), 1)
        run = super()._result(wall_s)
        figures = store_figures(
            self._watched,
            {post.key for post in posts if final.found_in(post.area, post.key)},
            {post.key for post in posts if (post.area, post.key) in held},
            self._traffic,
            {name: count / seconds for name, count in self._design.items() if name != Nothing.name},
            self._layout(),
            [(phase.name, phase.start_s) for phase in run.phases],
            self._settings.stage_starts,
            run.traffic["adhoc_up"],
            run.executions,
            final.found,
        )
        return replace(run, store=figures)

    def _layout(self) -> StoreLayout:
        storing, keyed = self._storing(), Counter[int]()
        grid = self.system.clients[storing[0]].node.routing.grid() if storing else None
        if grid is not None:
            for post in self._watched.posts.values():
                keyed.update(grid.cell_of_tag("", tag) for tag in post.tags)
        return StoreLayout(self._loads, grid, keyed, DEVICES[self._settings.device])

    def _node_loads(self) -> list[NodeLoad]:
        """The loads of all clients so far."""
        begun = [Counter[str]() for _ in self._bodies]
        for end in self._watched.ends:
            begun[end.node][end.operation] += 1
        sent = self._by_radio(S.BYTES_UP) + self._by_radio(S.HANDSHAKE_BYTES)
        loads = []
        for number, (bodies, forwarded) in enumerate(zip(self._bodies, self._forwarded, strict=True)):
            latest = self._routed(number) if self._active[number] else RoutingCounters()
            taken, passed_on = bodies + latest.bodies, forwarded + latest.forwarded
            loads.append(self._load(number, begun[number], taken, passed_on, int(sent[number])))
        return loads

    def _load(
        self, number: int, begun: Counter[str], bodies: Counter[str], forwarded: int, sent: int
    ) -> NodeLoad:
        """The load of a client, by its operations, the messages that it has received and passed on, and the
        bytes that it has sent."""
        place = self._trace.position(number, self.system.clock.now())
        return NodeLoad.of(place, float(self._seconds_there[number]), begun, bodies, forwarded, sent)

    def _storing(self) -> list[int]:
        """The clients that are there and have a store."""
        return [n for n in np.flatnonzero(self._active).tolist() if self._stores(n)]
