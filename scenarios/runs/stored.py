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
from bypass.errors import BypassError
from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.mechanisms.storage.server import ExternalStorage
from bypass.models.maps import AttractionPoint
from bypass.models.radio.kernels.state import S
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
from bypass.sim.streams import stream
from bypass.support.units import MICROSECONDS
from bypass.transitions import Nothing, Plan, RuleBook, RuleEngine

STORE = -3  # the number of its random streams among those of hosts
PROBED_TOGETHER = 8  # tags that one query at the end asks for
PROBE_S = 20.0
PROBE_EVERY_S = 2.0  # between two of them: floods of all at once would be lost

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
        self._moments = stream(seed, STORE, "joins")
        self._tastes = stream(seed, STORE, "retrievals")
        self._queries: dict[int, OwnQuery] = {}  # by the number of the subscription
        self._found: set[ObjectKey] = set()
        self._traffic: dict[str, int] = {}
        self._design: Counter[str] = Counter()
        self._bodies = [Counter[str]() for _ in range(scenario.clients)]  # received in lives that are over
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
        received = self._received(number)
        super()._go(number)
        if not self._active[number]:
            self._bodies[number] += received

    def _received(self, number: int) -> Counter[str]:
        """The bodies that a client's routing has delivered so far, by the names of their classes."""
        routing = self.system.clients[number].engine.active("routing")
        return routing.counters.bodies if isinstance(routing, RoutingMechanism) else Counter()

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
                    action.model_copy(update={"set": {"server": self._middle, **action.set}})
                    if action.to == ExternalStorage.name
                    else action
                    for action in plan.actions
                )
            }
        )

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
            ended=self._timed(node, "insert", acknowledged),
        )
        post = StoredPost(metadata.key, node, metadata.tags, self.system.clock.now())
        self._watched.posts[number] = post

    def _subscribe(self, objects: ObjectAccess, node: int, number: int) -> None:
        now, past = self.system.clock.now(), bool(self._operations.all_time[number])
        tag = self._operations.posts.vocabulary[int(self._operations.tag[number])]
        lasting = self._settings.lasting
        until = None if lasting is None else now + lasting
        self._watched.follows[number] = FollowedTag(
            node, tag, -np.inf if past else now, now, np.inf if until is None else until
        )
        self._queries[number] = objects.query(
            tag,
            partial(self._told, number),
            since=None if past else now,
            until=until,
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

    def _delete(self, objects: ObjectAccess, number: int) -> None:
        post = self._watched.posts.get(number)
        if post is None or objects.store.metadata(post.key) is None:
            self._watched.skipped += 1
            return
        post.deleted = self.system.clock.now()
        objects.delete(post.key, self._timed(post.owner, "delete"))

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
            retrieved = self._timed(subscriber, "retrieve")
            self.system.clients[subscriber].objects.retrieve(metadata, retrieved)

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
            name: sum(int(self.system.local.counter(column).sum()) for column in columns)
            for name, columns in COLUMNS.items()
        }
        self._loads = self._node_loads()
        super()._drain()
        if present := self._storing():
            objects = self.system.clients[present[0]].objects
            tags = sorted({tag for post in self._watched.posts.values() for tag in post.tags})
            for first in range(0, len(tags), PROBED_TOGETHER):
                self._probe(objects, " | ".join(tags[first : first + PROBED_TOGETHER]))
                self.system.run_until(self.system.clock.now() + PROBE_EVERY_S)
        self.system.run_until(self.system.clock.now() + PROBE_S)

    def _probe(self, objects: ObjectAccess, formula: str) -> None:
        asked: list[OwnQuery] = []

        def further(result: OperationResult) -> None:
            if result.ok and asked and asked[0].more_past:
                objects.more(asked[0], 64, further)

        try:
            asked.append(objects.query(formula, self._notice, limit=64, ended=further))
        except BypassError as error:
            raise ExperimentFailed(f"at the end: {error}") from None

    def _notice(self, metadata: Metadata, _: OwnQuery) -> None:
        self._found.add(metadata.key)

    def _stores(self, number: int) -> bool:
        return not isinstance(self.system.clients[number].engine.active("storage"), Nothing)

    def _result(self, wall_s: float) -> Run:
        held: set[ObjectKey] = set()
        for number in self._storing():
            store = self.system.clients[number].objects.store
            held |= {metadata.key for metadata in (*store.own, *store.replicas)}
        seconds = max(sum(self._design.values()), 1)
        run = super()._result(wall_s)
        figures = store_figures(
            self._watched,
            self._found,
            held,
            self._traffic,
            {name: count / seconds for name, count in self._design.items() if name != Nothing.name},
            self._layout(),
            [(phase.name, phase.start_s) for phase in run.phases],
            self._settings.stage_starts,
            run.traffic["adhoc_up"],
            run.executions,
        )
        return replace(run, store=figures)

    def _layout(self) -> StoreLayout:
        storing, keyed = self._storing(), Counter[int]()
        grid = self.system.clients[storing[0]].node.routing.grid() if storing else None
        if grid is not None:
            for post in self._watched.posts.values():
                keyed.update(grid.cell_of_tag("", tag) for tag in post.tags)
        return StoreLayout(self._loads, grid, keyed)

    def _node_loads(self) -> list[NodeLoad]:
        """The loads of all clients so far."""
        begun = [Counter[str]() for _ in self._bodies]
        for end in self._watched.ends:
            begun[end.node][end.operation] += 1
        return [
            NodeLoad.of(
                self._trace.position(number, self.system.clock.now()),
                float(self._seconds_there[number]),
                begun[number],
                earlier + self._received(number) if self._active[number] else earlier,
            )
            for number, earlier in enumerate(self._bodies)
        ]

    def _storing(self) -> list[int]:
        """The clients that are there and have a store."""
        return [n for n in np.flatnonzero(self._active).tolist() if self._stores(n)]
