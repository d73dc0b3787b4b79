"""A small world of nodes that store objects in cells, in virtual time, on radios that are discs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bypass.core.objects.access import KeptObjects, ObjectAccess, ObjectTimes
from bypass.core.objects.fallback import FallbackSettings
from bypass.core.objects.node import StorageNode, kept_in_memory
from bypass.core.objects.operations import OperationResult
from bypass.core.objects.own_queries import OwnQuery
from bypass.mechanisms.storage.cells.mechanism import Cells
from bypass.objects.metadata import Metadata
from bypass.ports.datagrams import Failed, KnownWays, NoKnownWays
from bypass.ports.host import Lease
from bypass.ports.monitor import Monitor
from bypass.protocol.datagrams import Datagram, RoutingMessage
from bypass.protocol.storage import OperationStatus
from bypass.sim.host import SimHost
from bypass.sim.sensor import TraceSensor
from bypass.testing.worlds.routing import RoutingWorld
from bypass.transitions import Engine, Plan, TransitionError

SIDE = 40.0


@dataclass
class Told:
    """A query in a test, and the names of the objects that its application was told of, in order."""

    names: list[str] = field(default_factory=list)
    metadata: list[Metadata] = field(default_factory=list)
    own: OwnQuery | None = None
    ended: list[OperationResult] = field(default_factory=list)

    def take(self, metadata: Metadata, _: OwnQuery) -> None:
        self.names.append(metadata.key.name)
        self.metadata.append(metadata)


class _Radio:
    """The transport and the local access of one node."""

    def __init__(self, world: CellsWorld, number: int) -> None:
        self._world, self._number = world, number

    def send_datagram(self, datagram: Datagram, neighbour: int | None, failed: Failed) -> bool:
        self._world.sent[type(datagram.body).__name__] += 1
        if neighbour is None:
            self._world.broadcast(self._number, datagram)
        else:
            self._world.unicast(self._number, datagram, neighbour, failed)
        return True

    def hear_datagrams(self, receiver: StorageNode) -> KnownWays:
        self._world.nodes[self._number].routing = receiver  # type: ignore[assignment]
        return NoKnownWays()


class CellsWorld(RoutingWorld):
    """Nodes with objects on a grid of `columns` x `rows` cells, each in one of `cells`.

    `cut` says between which nodes nothing passes, `drop_body` which datagrams a node does not receive.
    """

    storage: str = "cells"
    fallback: FallbackSettings | None = None

    def __init__(
        self,
        cells: Iterable[int],
        columns: int,
        rows: int,
        *,
        loss: float = 0.0,
        seed: int = 1,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.columns, self.rows = columns, rows
        self.storage_settings = {"listen_s": 1.0, **(settings or {})} if self.storage != "local" else {}
        self.storages: dict[int, StorageNode] = {}
        self.cut: Callable[[int, int], bool] = lambda _a, _b: False
        self.sent: Counter[str] = Counter()
        self.lives: Counter[int] = Counter()
        self.drop_body: Callable[[int, Datagram], bool] = lambda _receiver, _datagram: False
        places = [self.place_in(cell, number) for number, cell in enumerate(cells)]
        area = (0.0, 0.0, columns * SIDE, rows * SIDE)
        super().__init__(places, "cells", {"area": area, "side": SIDE, "still_s": 2.0}, loss=loss, seed=seed)

    def place_in(self, cell: int, number: int = 0) -> tuple[float, float]:
        """A place in a cell: nodes with different numbers stand apart."""
        row, column = divmod(cell, self.columns)
        draw = random.Random(number)
        return (column + draw.uniform(0.1, 0.9)) * SIDE, (row + draw.uniform(0.1, 0.9)) * SIDE

    # -- nodes --------------------------------------------------------------------------------------------

    def _begin(self, number: int) -> None:
        self._make(number, kept_in_memory(number))

    def _make(self, number: int, kept: KeptObjects) -> None:
        sensor = TraceSensor(self.clock, self, number, self._random.random())
        self.lives[number] += 1
        # A life draws other numbers than the one before: others remember datagrams by theirs.
        host = SimHost(number, self.clock, sensor, Monitor(), self.seed + 1000 * (self.lives[number] - 1))
        links: dict[str, Any] = {"stability": lambda: None}
        engine = Engine(
            f"node-{number}",
            lease=lambda proxy: Lease(host, proxy, links.get(proxy, lambda: None)()),
            clock=host.now,
            defer=partial(host.after, 0.0),
        )
        radio = _Radio(self, number)
        node = StorageNode(
            self._registry,
            engine,
            host,
            radio,  # type: ignore[arg-type]
            radio,
            lambda _: None,
            kept,
            ObjectTimes(),
            lambda plan: _carry_out(engine, plan),
            self.fallback,
        )
        links["routing"], links["storage"] = lambda: node.port, lambda: node.link
        self.nodes[number].engine = engine
        self.storages[number] = node
        engine.transition("routing", self.mechanism, set=dict(self.settings))
        engine.transition("storage", self.storage, set=dict(self.storage_settings))
        node.decisions.current = node.decisions.current._replace(epoch=1)

    def switch_off(self, number: int) -> None:
        """A node's program ends without a word; its own store stays."""
        self._kept = getattr(self, "_kept", {})
        self._kept[number] = self.access(number).kept()
        self.access(number).operations.drop()
        for proxy in ("storage", "routing"):
            self.nodes[number].engine.drop_proxy(proxy)
        self.die(number)

    def lose_store(self, number: int) -> None:
        """The store of a node that is switched off is lost."""
        self._kept[number] = kept_in_memory(number)

    def switch_on(self, number: int) -> None:
        """A node's program begins again with the store that it had."""
        self.revive(number)
        self._make(number, self._kept.pop(number))

    def _in_reach(self, node: int) -> list[int]:
        return [other for other in super()._in_reach(node) if not self.cut(node, other)]

    def _arrive(self, node: int, datagram: Datagram) -> None:
        if self._is_alive(node) and not self.drop_body(node, datagram):
            super()._arrive(node, datagram)

    def _note(self, datagram: Datagram) -> None:
        """Bodies are not numbered here."""

    def access(self, number: int) -> ObjectAccess:
        """The access of a node to objects."""
        return self.storages[number].access

    def cells(self, number: int) -> Cells:
        """The storage mechanism of a node."""
        found = self.nodes[number].engine.active("storage")
        assert isinstance(found, Cells)
        return found

    def part_of(self, node: int) -> set[int]:
        """The nodes that are there to which radios lead from one of them, over others."""
        known, new = {node}, [node]
        while new:
            found = set(self.in_reach(new.pop())) - known
            known |= found
            new += found
        return known

    def is_connected(self) -> bool:
        """Whether radios lead from each node that is there to every other."""
        up = self.alive()
        return self.part_of(up[0]) == set(up)

    def alive(self) -> list[int]:
        """The nodes that are there."""
        return [number for number, node in enumerate(self.nodes) if node.alive]

    # -- operations ---------------------------------------------------------------------------------------

    def insert(
        self, node: int, name: str, *tags: str, data: bytes = b"x", **options: Any
    ) -> list[OperationStatus]:
        """Have a node insert an object; the list gets how it ends."""
        ended: list[OperationStatus] = []
        self.access(node).insert(
            data, tags, name=name, ended=lambda result: ended.append(result.status), **options
        )
        return ended

    def query(self, node: int, formula: str, **options: Any) -> Told:
        """Have a node ask; what it is told is collected."""
        told = Told()
        told.own = self.access(node).query(formula, told.take, ended=told.ended.append, **options)
        return told

    def delete(self, node: int, name: str) -> list[OperationStatus]:
        """Have a node delete one of its objects."""
        ended: list[OperationStatus] = []
        key = next(each.key for each in self.access(node).store.own if each.key.name == name)
        self.access(node).delete(key, lambda result: ended.append(result.status))
        return ended

    def retrieve(self, node: int, metadata: Metadata) -> list[OperationResult]:
        """Have a node fetch an object."""
        ended: list[OperationResult] = []
        self.access(node).retrieve(metadata, ended.append)
        return ended

    def found_by(self, node: int, formula: str, seconds: float = 10.0) -> list[str]:
        """The names of all objects that a new query of a node is told of within some seconds, sorted."""
        told = self.query(node, formula, limit=64)
        self.run(seconds)
        assert told.own is not None
        self.access(node).withdraw(told.own)
        return sorted(told.names)


def _carry_out(engine: Engine, plan: Plan) -> None:
    for record in engine.execute(plan.model_copy(update={"id": ""})):
        if record.outcome == "failed":
            raise TransitionError(record.error)


def is_routing(datagram: Datagram) -> bool:
    """Whether a datagram is of routing itself."""
    return isinstance(datagram.body, RoutingMessage)
