"""Invariants of edges with their clients, numbered as in the list that they come from, under lost and
reordered messages, cut wires and edges that crash."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.objects.metadata import Replica
from bypass.objects.window import TimeWindow
from bypass.protocol.edge import (
    CellNeed,
    Download,
    DownloadCount,
    DownloadKind,
    Item,
    ItemKey,
    Provision,
)
from bypass.protocol.storage import StorageMessage
from bypass.transitions import Plan
from tests.mechanisms.storage.infra.edge_world import item
from tests.mechanisms.storage.infra.service_world import ServiceWorld, WorldClient, WorldEdge

FAST = EdgeSettings(
    local_entries=6,
    prefetch_metadata_entries=5,
    prefetch_data_entries=4,
    global_metadata_entries=5,
    global_data_entries=4,
    most_puts=2,
    addresses=2,
    retrieval_period_s=10.0,
    retrieval_slack_s=1.0,
    needs_period_s=4.0,
    slot_s=4.0,
    slot_guard_s=0.5,
    cell_data_period_s=5.0,
    cells=3,
    most_popular=4,
    consumed_ignored=2,
)
EDGES, CLIENTS = 3, 3
TAGS = "abc"

edges = st.integers(0, EDGES - 1)
clients = st.integers(0, CLIENTS - 1)
some = st.integers(0, 1000)


class EdgesMachine(RuleBasedStateMachine):
    """Three edges with three clients each, which publish, download, delete, and report; edges have room for
    few items. Clocks are wrong by up to half a second."""

    @initialize(
        seed=some,
        wire_loss=st.sampled_from((0.0, 0.3)),
        reordering=st.booleans(),
        skews=st.lists(st.floats(-0.45, 0.45), min_size=EDGES, max_size=EDGES),
    )
    def begin(self, seed: int, wire_loss: float, reordering: bool, skews: list[float]) -> None:
        self.world = ServiceWorld(0, seed=seed, wire_loss=wire_loss, reordering=reordering)
        self.edges: list[WorldEdge] = []
        for number, skew in enumerate(skews):
            edge = self.world.add_edge(100 + number, FAST, skew)
            self.edges.append(edge)
            for client in range(CLIENTS):
                edge.add_client(10 * number + client)
        self.items: list[Item] = []
        self.deleted: set[ItemKey] = set()
        self.provisions: list[tuple[float, int, int, Provision]] = []
        self.regular = False
        self.downloads_sent = 0
        self.requests: dict[int, set[int]] = defaultdict(set)
        self.world.watchers.append(self.watch)
        for number in range(12):
            self.publish(number % EDGES, number % CLIENTS, {TAGS[number % 2], TAGS[number % 3]})
        for _ in range(4):
            for each in range(EDGES):
                self.report(each, each % CLIENTS, seed, 2, True)
            self.world.run(11.0)

    # -- observation --------------------------------------------------------------------------------------

    def watch(self, sender: int, receiver: int, body: StorageMessage) -> None:
        now = self.world.clock.now()
        if isinstance(body, Provision):
            self.provisions.append((now, sender, receiver, body))
            self.check_provision(now, sender, receiver)
        elif isinstance(body, Download):
            self.downloads_sent += 1
            assert not self.regular, "13: a regular download left the area"

    def check_provision(self, now: float, sender: int, receiver: int) -> None:
        """8, and 9 as far as members are equal."""
        needs = self.world.needs[sender, receiver]
        sent = [
            each
            for at, one, other, body in self.provisions
            if (at, one, other) == (now, sender, receiver)
            for each in body.items
        ]
        keys = [each.key for each in sent]
        assert len(keys) == len(set(keys)) <= needs.capacity
        wanted = {(need.world, need.tag): need.window for need in needs.needs}
        for each in sent:
            at_us = each.metadata.published_us
            assert any(
                (each.key.world, tag) in wanted and wanted[each.key.world, tag].holds(at_us)
                for tag in each.metadata.tags
            )
        if not self.world.is_divided():
            slots = {
                edge.number: edge.service.engine.active("slots").is_open(  # type: ignore[attr-defined]
                    now + edge.skew, edge.number, [each.number for each in self.edges]
                )
                for edge in self.edges
            }
            assert [number for number, is_open in slots.items() if is_open] == [sender]

    # -- actions ------------------------------------------------------------------------------------------

    def client(self, edge: int, number: int) -> WorldClient:
        return self.edges[edge].clients[10 * edge + number]

    def alive(self) -> bool:
        return all(each.alive for each in self.edges)

    @rule(edge=edges, client=clients, tags=st.sets(st.sampled_from(TAGS), min_size=1))
    def publish(self, edge: int, client: int, tags: set[str]) -> None:
        owner = self.client(edge, client)
        at_us = round(self.world.clock.now() * 1e6)
        new = item(f"{len(self.items)}", "".join(tags), "", at_us, owner.edge.number)
        self.items.append(new)
        owner.copies[new.metadata.key] = new
        owner.edge.index(new.metadata)

    @precondition(lambda self: self.items)
    @rule(edge=edges, client=clients, chosen=some, count=st.integers(1, 5), again=st.booleans())
    def report(self, edge: int, client: int, chosen: int, count: int, again: bool) -> None:
        at = self.client(edge, client)
        if not at.edge.alive:
            return
        cycle = int(self.world.clock.now() // FAST.cell_data_period_s)
        own = [each for each in self.items if each.key.source == at.edge.number]
        holders = [each for each in at.edge.clients.values() if each.copies]
        told = [
            DownloadCount(
                each.metadata.key,
                each.metadata.source,
                count,
                tuple(Replica(holder.number) for holder in holders if each.metadata.key in holder.copies),
            )
            for each in own[-(1 + chosen % 4) :]
        ]
        for _ in range(1 + again):  # two clients may believe that they are the stable one
            at.report(cycle, told, [CellNeed(tag, count, window(chosen)) for tag in TAGS])

    @precondition(lambda self: self.items)
    @rule(edge=edges, client=clients, chosen=some)
    def download(self, edge: int, client: int, chosen: int) -> None:
        """13: regular downloads send nothing to other edges but notices."""
        at = self.client(edge, client)
        wanted = self.items[chosen % len(self.items)]
        if not at.edge.alive:
            return
        self.regular = True
        op = at.download(wanted.key)
        self.regular = False
        caches = at.edge.service.caches
        in_global = wanted.key in caches.global_.data
        self.world.run(0.01)
        found = at.downloaded(op)
        assert at.answered(op)
        if found is not None:
            assert found == wanted
            assert wanted.key not in self.deleted or not self.known_deleted(at.edge, wanted)
            assert wanted.key not in caches.prefetch.data  # 11
            assert wanted.key in caches.local or in_global  # 11, before the next put

    @precondition(lambda self: self.items)
    @rule(edge=edges, client=clients, chosen=some)
    def force(self, edge: int, client: int, chosen: int) -> None:
        """12: a forced item is in the global cache when the client has it, and a second request is a hit."""
        at = self.client(edge, client)
        wanted = self.items[chosen % len(self.items)]
        if not at.edge.alive:
            return
        op = at.download(wanted.key, DownloadKind.FORCED)
        for _ in range(300):
            if at.answered(op) or not at.edge.alive:
                break
            self.world.run(0.1)
        assert at.answered(op) or not at.edge.alive
        found = at.downloaded(op)
        if found is not None:
            assert found == wanted
            if wanted.key.source != at.edge.number:
                sent = self.downloads_sent
                again = at.download(wanted.key)
                self.world.run(0.01)
                assert at.downloaded(again) == wanted
                assert self.downloads_sent == sent

    @precondition(lambda self: self.items)
    @rule(edge=edges, client=clients, chosen=some)
    def delete(self, edge: int, client: int, chosen: int) -> None:
        at = self.client(edge, client)
        if at.edge.alive:
            wanted = self.items[chosen % len(self.items)]
            op = at.delete(wanted)
            self.deleted.add(wanted.key)
            self.world.run(0.01)
            assert at.acknowledged(op)
            assert self.known_deleted(at.edge, wanted)

    def known_deleted(self, edge: WorldEdge, wanted: Item) -> bool:
        return bool(edge.service.popular.is_deleted(wanted))

    @rule(seconds=st.sampled_from((1.0, 5.0, 20.0)))
    def run_for(self, seconds: float) -> None:
        self.world.run(seconds)

    @rule(one=edges, two=edges, mended=st.booleans())
    def change_wire(self, one: int, two: int, mended: bool) -> None:
        if one != two:
            (self.world.mend if mended else self.world.cut)(100 + one, 100 + two)

    @rule(edge=edges)
    def crash_or_restart(self, edge: int) -> None:
        at = self.edges[edge]
        if at.alive:
            at.crash()
        else:
            at.restart()

    @rule(edge=edges, size=st.integers(1, 8), to=st.sampled_from(("lru", "fifo", "w-tiny-lfu", "s3-fifo")))
    def exchange(self, edge: int, size: int, to: str) -> None:
        if self.edges[edge].alive:
            actions = [{"proxy": "capacities", "set": {"local": size}}, {"proxy": "cache", "to": to}]
            plan = Plan.from_data({"plan": "sizes", "actions": actions})
            assert {each.outcome for each in self.edges[edge].service.execute(plan)} == {"done"}

    @rule(edge=edges, cells=st.integers(1, 5))
    def change_cells(self, edge: int, cells: int) -> None:
        if self.edges[edge].alive:
            self.edges[edge].service.set_cells("", cells)

    # -- always -------------------------------------------------------------------------------------------

    @invariant()
    def caches_keep_their_bounds(self) -> None:
        """1 and 2."""
        for edge in getattr(self, "edges", ()):
            for cache in edge.service.caches.all() if edge.alive else ():
                sizes = cache.sizes()
                assert sum(sizes.values()) <= cache.capacity
                assert all(count <= sizes[name] for name, count in cache.counts().items())
                by_tag = {tag: {each.key for each in cache.tagged("", tag)} for tag in TAGS}
                assert by_tag == {
                    tag: {each.key for each in cache if tag in each.metadata.tags} for tag in TAGS
                }

    @invariant()
    def deleted_items_are_nowhere_at_an_edge_that_knows(self) -> None:
        """15, of one edge."""
        for edge in getattr(self, "edges", ()):
            if edge.alive:
                for cache in edge.service.caches.all():
                    assert not any(self.known_deleted(edge, each) for each in cache)

    @invariant()
    def retrievals_are_bounded(self) -> None:
        """6 and 7."""
        for edge in getattr(self, "edges", ()):
            retrieval = edge.service.popular.retrieval
            assert retrieval.requested <= FAST.most_popular
            assert retrieval.cycle != 1 or not retrieval.requested

    # -- at the end ---------------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "edges"):
            return
        self.heal()
        self.world.run(3 * FAST.needs_period_s)
        self.report_all()
        self.world.run(5.0)
        self.check_deleted_nowhere()
        self.check_subscriptions()

    def heal(self) -> None:
        self.world.loss["wire"] = 0.0
        for edge in self.edges:
            if not edge.alive:
                edge.restart()
        for one in range(EDGES):
            for two in range(one):
                self.world.mend(100 + one, 100 + two)

    def report_all(self) -> None:
        """Each cell has a stable client, and learns of tombstones that an edge could not tell it of."""
        for number, edge in enumerate(self.edges):
            for cell in range(edge.cells("")):
                cycle = int(self.world.clock.now() // FAST.cell_data_period_s)
                self.client(number, 0).report(cycle, cell=cell)
            self.client(number, 0).compare()
            edge.service.popular.retrieval.stop()  # what is here stays as it is from now on

    def check_deleted_nowhere(self) -> None:
        """15: after healing, no cache, no cell and no subscription has a deleted item."""
        for number, edge in enumerate(self.edges):
            for wanted in self.items:
                assert (wanted.key in self.deleted) == self.known_deleted(edge, wanted)
            objects = {key for state in edge.cell_states.values() for key in state.objects}
            assert not {key.object for key in self.deleted} & objects
            for tag in TAGS:
                found = {each.key for each in self.client(number, 0).ask(tag)}
                assert not {key.object for key in self.deleted} & found

    def check_subscriptions(self) -> None:
        """14: the answer of the edge and those of cells are all matches, and none is in both."""
        for number, edge in enumerate(self.edges):
            for tag in TAGS:
                by_edge = {each.key for each in self.client(number, 1).ask(tag)}
                (cell,) = edge.index_cells(item("x", tag, "").metadata)
                state = edge.state("", cell)
                at_edge = {key.object for key in state.at_edge}
                by_cell = {
                    key for key, each in state.objects.items() if tag in each.tags and key not in at_edge
                }
                own = {
                    each.metadata.key
                    for each in self.items
                    if each.key.source == edge.number
                    and tag in each.metadata.tags
                    and each.key not in self.deleted
                }
                assert not by_edge & by_cell
                assert own <= by_edge | by_cell


def window(chosen: int) -> TimeWindow:
    """All times, or those until now or from then on."""
    return (TimeWindow(), TimeWindow(None, 10_000_000), TimeWindow(10_000_000, None))[chosen % 3]


TestEdges = EdgesMachine.TestCase
TestEdges.settings = settings(derandomize=True, deadline=None, max_examples=60, stateful_step_count=40)
