"""A few nodes that store objects, in virtual time: who stands where, who is gone, who was told what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bypass.core.client import Client
from bypass.core.objects.fallback import FallbackSettings
from bypass.core.objects.operations import OperationResult
from bypass.core.objects.own_queries import OwnQuery
from bypass.mechanisms import Registry
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.places.region import Region
from bypass.protocol.storage import OperationStatus
from bypass.sim.edges import EdgeModel
from bypass.sim.system import SimulatedSystem
from bypass.testing.rules import Point
from bypass.transitions import Action, Outcome, Plan

AREA = (0.0, 0.0, 400.0, 400.0)
QUIET_S = 20.0
"""After so long without a change, everybody knows what it should."""


@dataclass(slots=True)
class Inserted:
    """An object that a node has inserted, and what became of it."""

    metadata: Metadata
    data: bytes
    acknowledged: bool = False
    deleted: bool = False


@dataclass(slots=True)
class Asked:
    """A query of a node: what it was told, in that order, and how its first page ended."""

    node: int
    own: OwnQuery
    told: list[ObjectKey] = field(default_factory=list)
    status: OperationStatus | None = None


class StorageWorld:
    """Nodes at `places`, in reach of each other as the radio has it, that begin with a storage mechanism and
    a routing mechanism, each with parameters; `edges` are the places of edges, `fallback` is how nodes
    go on without one. `objects` is all that was inserted, by key, `queries` all that was asked and not
    withdrawn."""

    def __init__(
        self,
        places: Sequence[Point],
        storage: tuple[str, Mapping[str, Any]],
        routing: tuple[str, Mapping[str, Any]] = ("dsdv", {}),
        mechanisms: Sequence[str | type] = (),
        seed: int = 1,
        edges: Sequence[Point] = (),
        edge_model: EdgeModel | None = None,
        fallback: FallbackSettings | None = None,
    ) -> None:
        self.places = list(places)
        begin = {"transport": ("wifi", {}), "routing": routing, "storage": storage}
        actions = [Action(proxy=proxy, to=to, set=dict(values)) for proxy, (to, values) in begin.items()]
        self.system = SimulatedSystem(
            len(places),
            self,
            Region(AREA),
            seed=seed,
            begin=actions,
            registry=Registry(mechanisms),
            edges=edges,
            edge_model=edge_model,
            fallback=fallback,
        )
        self.gone: set[int] = set()
        self.objects: dict[ObjectKey, Inserted] = {}
        self.queries: list[Asked] = []
        self.twice: list[tuple[int, ObjectKey]] = []  # (node, object) told again to one query

    def position(self, client: int, at: float) -> Point:  # noqa: ARG002 - who moves is there at once
        """Where a node is, as the system asks."""
        return self.places[client]

    def velocity(self, client: int, at: float) -> Point:  # noqa: ARG002
        """How fast a node moves, as the system asks."""
        return (0.0, 0.0)

    # -- what happens -------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.system.run_until(self.system.clock.now() + seconds)

    def client(self, node: int) -> Client:
        """The client of a node."""
        return self.system.clients[node]

    def insert(self, node: int, *tags: str, size: int = 40, **values: Any) -> Inserted:
        """Insert an object."""
        data = bytes([len(self.objects) % 256]) * size
        ends: list[OperationResult] = []

        def ended(result: OperationResult) -> None:
            ends.append(result)
            if metadata:
                self.objects[metadata[0].key].acknowledged = result.ok

        metadata: list[Metadata] = []
        metadata.append(self.client(node).objects.insert(data, tags, ended=ended, **values))
        inserted = self.objects[metadata[0].key] = Inserted(metadata[0], data)
        inserted.acknowledged = bool(ends) and ends[0].ok
        return inserted

    def delete(self, key: ObjectKey) -> None:
        """Have its owner delete an object."""
        self.objects[key].deleted = True
        self.client(key.owner).objects.delete(key)

    def ask(self, node: int, formula: str, **values: Any) -> Asked:
        """Place a query."""
        asked: list[Asked] = []

        def told(metadata: Metadata, own: OwnQuery) -> None:  # noqa: ARG001
            if metadata.key in asked[0].told:
                self.twice.append((node, metadata.key))
            asked[0].told.append(metadata.key)

        def ended(result: OperationResult) -> None:
            early.append(result.status)
            if asked:
                asked[0].status = result.status

        early: list[OperationStatus] = []
        # Nothing is told before the call has returned, but an operation may end in it.
        own = self.client(node).objects.query(formula, told, ended=ended, **values)
        asked.append(Asked(node, own, status=early[0] if early else None))
        self.queries.append(asked[0])
        return asked[0]

    def more(self, asked: Asked, limit: int = 20) -> list[OperationStatus]:
        """Ask for the next page; gives a list that has its end once it has ended."""
        ends: list[OperationStatus] = []
        self.client(asked.node).objects.more(asked.own, limit, lambda result: ends.append(result.status))
        return ends

    def withdraw(self, asked: Asked) -> None:
        """Withdraw a query."""
        self.queries.remove(asked)
        self.client(asked.node).objects.withdraw(asked.own)

    def retrieve(self, node: int, metadata: Metadata) -> list[OperationResult]:
        """Fetch an object; gives a list that has its end once it has ended."""
        ends: list[OperationResult] = []
        self.client(node).objects.retrieve(metadata, ends.append)
        return ends

    def leave(self, node: int) -> None:
        """A node is gone, with its store."""
        self.gone.add(node)
        self.system.leave(node)

    def join(self, node: int) -> None:
        """A node is back, with its store and its queries."""
        self.gone.discard(node)
        self.system.join(node)

    def decide(self, node: int, storage: str, routing: str | None = None, **values: Any) -> Outcome:
        """Have a node decide about storage, and about routing if that changes, for all."""
        return self.client(node).decide(plan_for(storage, routing, **values))

    # -- what happened, and what should have --------------------------------------------------------------

    @property
    def present(self) -> list[int]:
        """The nodes that are there."""
        return [node for node in range(len(self.places)) if node not in self.gone]

    def active(self, proxy: str = "storage") -> list[str]:
        """The mechanisms that the nodes run that are there."""
        return [self.client(node).engine.active(proxy).name for node in self.present]

    def expected(self, asked: Asked) -> set[ObjectKey]:
        """All acknowledged objects that a query matches and that were not deleted: the oracle."""
        return {
            key
            for key, inserted in self.objects.items()
            if inserted.acknowledged and not inserted.deleted and asked.own.query.matches(inserted.metadata)
        }

    def found_by(self, node: int, formula: str, **values: Any) -> set[ObjectKey]:
        """Ask anew for all of the past, page by page; gives what was found."""
        asked = self.ask(node, formula, **values)
        self.run(5.0)
        for _ in range(100):
            if not asked.own.more_past:
                break
            self.more(asked)
            self.run(5.0)
        self.withdraw(asked)
        self.run(1.0)  # two floods at one moment would collide
        return set(asked.told)


def plan_for(storage: str, routing: str | None = None, **values: Any) -> Plan:
    """A plan that exchanges storage, and routing first if one is given."""
    actions = [Action(proxy="storage", to=storage, set=values)]
    if routing is not None:
        actions.insert(0, Action(proxy="routing", to=routing))
    return Plan(plan=f"to {storage}", actions=tuple(actions))
