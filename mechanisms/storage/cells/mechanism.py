"""CELLS: nodes of a square cell are one virtual broker for the tags that belong to it (THYME-DCS)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from random import Random
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bypass.errors import InvalidObject
from bypass.mechanisms.storage.base import StorageMechanism
from bypass.mechanisms.storage.cells.cell_copies import CellCopies
from bypass.mechanisms.storage.cells.encounters import Encounters
from bypass.mechanisms.storage.cells.hand_over import HandOver
from bypass.mechanisms.storage.cells.learning import StateLearning
from bypass.mechanisms.storage.cells.location_updates import LocationUpdates
from bypass.mechanisms.storage.cells.membership import CellMembership
from bypass.mechanisms.storage.cells.repair import CellRepair
from bypass.mechanisms.storage.cells.requests import CellRequests
from bypass.mechanisms.storage.cells.retrieval import ReplicaRetrieval
from bypass.mechanisms.storage.cells.service import CellService, in_targets
from bypass.mechanisms.storage.cells.spreading import CellSpreading
from bypass.mechanisms.storage.cells.state.cell_state import StateBounds
from bypass.mechanisms.storage.cells.state.placement import tag_cells
from bypass.mechanisms.storage.fetching import ObjectFetches
from bypass.objects.metadata import Metadata, StoredObject, Tombstone
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.places.cell_grid import CellGrid
from bypass.ports.storage import CELL, FLOOD
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import (
    Acknowledge,
    AddReplica,
    Ask,
    CellUpdate,
    CopyObject,
    Delete,
    DigestKind,
    FoundObjects,
    Insert,
    JoinRequest,
    MoveNode,
    NodeState,
    Remove,
    StateDigest,
    StorageMessage,
    Withdraw,
)
from bypass.support.units import MICROSECONDS
from bypass.transitions import MechanismState

TICK_S = 1.0
"""How often a node looks after what it keeps."""

NOTICE_S = 0.05
"""Changes of the surroundings that come so close to each other are looked at together."""


class Cells(StorageMechanism):
    """Keeps metadata and queries in the cells of their tags, objects in the cell of their owner.

    Its parts: `requests` and `retrieval` do what the own application wants; `service` works for the cell,
    `spreading` tells the others of it; `membership` says whether the node works for a cell at all,
    `location_updates` tell others which; `learning`, `repair` and `hand_over` keep states whole when
    messages are lost and nodes come and go.
    """

    name = "cells"
    flag: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset((CELL, FLOOD))
    keyed: ClassVar[bool] = True

    as_published: Annotated[bool, MechanismState("as_published")] = False
    active: Annotated[Literal["cell", "fixed", "off"], MechanismState("active")] = "cell"
    copies: Annotated[int, MechanismState("copies"), Field(ge=1, le=15)] = 2
    population_threshold: Annotated[int, MechanismState("population_threshold"), Field(ge=1, le=10_000)] = 32
    replica_bound: Annotated[int, MechanismState("replica_bound"), Field(ge=1, le=16)] = 5
    batch: Annotated[int, MechanismState("batch"), Field(ge=1, le=64)] = 20
    listen_s: Annotated[float, MechanismState("listen_s"), Field(ge=0, le=60)] = 3.0
    join_wait_s: Annotated[float, MechanismState("join_wait_s"), Field(gt=0, le=60)] = 1.0
    join_retries: Annotated[int, MechanismState("join_retries"), Field(ge=1, le=20)] = 3
    confirm_s: Annotated[float, MechanismState("confirm_s"), Field(gt=0, le=10)] = 0.2
    wait_s: Annotated[float, MechanismState("wait_s"), Field(gt=0, le=3600)] = 30.0
    retry_s: Annotated[float, MechanismState("retry_s"), Field(gt=0, le=3600)] = 5.0
    settle_s: Annotated[float, MechanismState("settle_s"), Field(gt=0, le=60)] = 1.5
    repair_s: Annotated[float, MechanismState("repair_s"), Field(ge=1, le=3600)] = 5.0
    register_s: Annotated[float, MechanismState("register_s"), Field(ge=1, le=86_400)] = 120.0
    grace_s: Annotated[float, MechanismState("grace_s"), Field(ge=0, le=3600)] = 10.0
    most_objects: Annotated[int, MechanismState("most_objects"), Field(ge=1, le=1_000_000)] = 100_000
    most_per_owner: Annotated[int, MechanismState("most_per_owner"), Field(ge=1, le=1_000_000)] = 10_000
    most_queries: Annotated[int, MechanismState("most_queries"), Field(ge=1, le=1_000_000)] = 10_000
    most_per_subscriber: Annotated[int, MechanismState("most_per_subscriber"), Field(ge=1, le=100_000)] = 1000
    most_pending: Annotated[int, MechanismState("most_pending"), Field(ge=0, le=10_000)] = 100

    def start(self) -> None:
        self.random: Random = self.host.random("storage-cells")
        self.service = self.make_service()
        self.spreading = CellSpreading(self)
        self.learning = StateLearning(self)
        self.repair = CellRepair(self)
        self.hand_over = HandOver(self)
        self.encounters = Encounters(self)
        self.membership = CellMembership(self)
        self.location_updates = LocationUpdates(self)
        self.requests = CellRequests(self)
        self.retrieval = ReplicaRetrieval(self)
        self.grid: CellGrid | None = None
        self.cell: int | None = None
        self.located_us = 0
        self.cell_copies = CellCopies(self)
        self.outside = 0  # messages about cells that are none of the grid
        self._reviewing = False
        self._repaired_at = self._registered_at = self.host.now()
        super().start()
        self.fetches = ObjectFetches(self._send, self.retrieval.done)

    def begin(self) -> None:
        """Listen for the nodes of the cell, and join them."""
        super().begin()
        self._locate()
        self.membership.begin()
        self.host.after(TICK_S * self.random.random(), self._tick)

    @property
    def compare_s(self) -> float:
        return 0.0 if self.as_published else self.register_s

    # -- what parts ask -----------------------------------------------------------------------------------

    def make_service(self) -> CellService:
        """Begin to work for cells, with nothing."""
        return CellService(self)

    @property
    def bounds(self) -> StateBounds:
        """How much the state of a cell may hold."""
        return StateBounds(
            self.most_objects, self.most_per_owner, self.most_queries, self.most_per_subscriber,
            self.replica_bound,
        )  # fmt: skip

    @property
    def fresh_s(self) -> float:
        """How long two nodes of a cell may not know of what the other has received."""
        return 3.0 * self.repair_s

    @property
    def grace_us(self) -> int:
        """How long queries are kept after the end of their windows."""
        return round(self.grace_s * MICROSECONDS)

    def mates(self) -> list[int]:
        """The other nodes that work for the own cell, by number."""
        cell = self.cell
        if cell is None:
            return []
        return [each.node for each in self.host.link.neighbours() if each.cell == cell and not each.moving]

    def send(self, body: StorageMessage, targets: Iterable[NodeAddress]) -> None:
        """Send to any number of targets."""
        for some in in_targets(targets):
            self.host.link.send(body, some)

    def joined(self) -> None:
        """This node works for its cell now: others learn where it is, and that it has something."""
        self.location_updates.tell(with_copies=True)
        if not self.as_published:
            self._registered_at = self.host.now() - 0.5 * self.register_s * self.random.random()
            self.comparison.tell_soon()
            self.host.after(self.random.random(), self.repair.offer_own)
            self.host.after(1.0 + self.random.random(), self.repair.offer_copies)

    # -- what the application does ------------------------------------------------------------------------

    def insert(self, op: int, stored: StoredObject, active: bool | None) -> None:
        """Store an object: its bytes in this cell, its metadata in those of its tags."""
        self._locate()
        if self.grid is not None and self.cell is not None:
            self.requests.insert(op, stored, active, self.grid, self.cell)

    def delete(self, op: int, metadata: Metadata, opening: bytes) -> None:
        """Remove an object from the cells of its tags, and its copies."""
        self._locate()
        if self.grid is not None:
            self.requests.delete(op, metadata, opening, self.grid)

    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        live: bool,
    ) -> None:
        """Ask the cells of its conjunctions."""
        self._locate()
        if self.grid is not None:
            self.requests.ask(op, query, after, limit, since_us, live, self.grid)

    def withdraw(self, op: int, query: ObjectQuery) -> None:
        """Have the cells of its conjunctions forget a query."""
        self._locate()
        if self.grid is not None:
            self.requests.withdraw(op, query, self.grid)

    def retrieve(self, op: int, metadata: Metadata) -> None:
        """Fetch an object from the nearest copy, then from others."""
        self._locate()
        if self.grid is not None and self.cell is not None:
            self.retrieval.retrieve(op, metadata, self.grid, self.cell)

    def received(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        """Sort what arrives. Who sends something can be reached again. What is about a cell that the grid
        does not have is dropped: its sender has another grid."""
        if self._is_outside(body, target):
            self.outside += 1
            return
        if not self.as_published:
            self.service.heard(origin)
        taken = self.retrieval.takes(body, origin, target)
        if isinstance(body, FoundObjects) and not taken:
            self.requests.found(body, origin)
        elif not taken:
            super().received(body, origin, target)
            if isinstance(body, Remove) and target is not None and target.node is None:
                self.spreading.tell(body)

    def _is_outside(self, body: StorageMessage, target: NodeAddress | None) -> bool:
        """Whether a message names a cell that is none of the grid."""
        if target is not None and target.cell is not None and not self.has_cell(target.cell):
            return True
        body = body.body if isinstance(body, CellUpdate) else body
        if not isinstance(body, (JoinRequest, NodeState, StateDigest)):
            return False
        named = (body.cell, *body.cells) if isinstance(body, JoinRequest) else (body.cell,)
        return not all(each is None or self.has_cell(each) for each in named)

    def has_cell(self, cell: int) -> bool:
        """Whether the grid has a cell of this number."""
        return self.grid is not None and 0 <= cell < self.grid.cells

    def acknowledged(self, answer: Acknowledge, origin: NodeAddress) -> None:  # noqa: ARG002
        if not self.spreading.confirmed(answer.op, answer.cells):
            self.requests.acknowledged(answer)

    def take(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:
        """Do what a message asks for: as a node of a cell, or as the one that is meant."""
        if isinstance(body, CellUpdate):
            self._updated(body, origin)
        elif isinstance(body, StateDigest):
            if body.kind is DigestKind.NEIGHBOURS:
                self.encounters.asked(origin, body.entries)
            else:
                self.repair.digested(body, origin, target is None)
        elif isinstance(body, NodeState):
            self._learn(body, origin)
        elif isinstance(body, CopyObject):
            self._copy(body, origin, target)
        elif isinstance(body, JoinRequest):
            if body.cell is not None and not body.cells:
                self.membership.requested(origin)
            elif not self.as_published:
                if body.cells:
                    self.hand_over.requested(body, origin)
                else:
                    self.encounters.met()
        elif target is not None and target.node is None and target.cell is not None:
            self._serve(body, origin, target.cell)

    def undeliverable(self, body: StorageMessage, target: NodeAddress) -> None:
        """Keep a notification for later, or try the next copy of an object."""
        if isinstance(body, FoundObjects):
            self.service.undelivered(body, target)
        else:
            super().undeliverable(body, target)

    def surroundings_changed(self) -> None:
        """Look at the new surroundings soon: several things change at once."""
        if not self._reviewing:
            self._reviewing = True
            self.host.after(NOTICE_S, self._review)

    def _serve(self, body: StorageMessage, origin: NodeAddress, cell: int) -> None:
        """Do the request of a node for a cell that this node works for, or stands in for."""
        if isinstance(body, Ask):
            self.hand_over.when_settled(cell, lambda: self.service.ask(body, origin, cell))
        elif isinstance(body, Insert):
            self.hand_over.when_settled(cell, lambda: None)
            self.service.insert(body, origin, cell)
        elif isinstance(body, Delete):
            self.service.delete(body, origin, cell)
        elif isinstance(body, Withdraw):
            self.service.withdraw(body, origin, cell)
        elif isinstance(body, AddReplica):
            self.service.add_replica(body, origin)
        elif isinstance(body, MoveNode):
            self.service.move(body, origin)

    def _updated(self, update: CellUpdate, origin: NodeAddress) -> None:
        """Do what another node of the cell has done, and confirm it if this node is asked to."""
        body = update.body
        if isinstance(body, NodeState):
            self.learning.take(body, None, complete=True)
            if update.confirmer == self.host.id and body.cell is not None:
                self.host.link.send(Acknowledge(update.op, cells=(body.cell,)), (origin,))
        elif isinstance(body, AddReplica):
            self.service.note_replica(body)
        elif isinstance(body, MoveNode):
            self.service.note_move(body)
        elif isinstance(body, Remove):
            self.bury(Tombstone(body.key, body.opening))
        elif isinstance(body, CopyObject):
            self.cell_copies.take(body)

    def _learn(self, part: NodeState, origin: NodeAddress) -> None:
        """Take what another node sends of a cell's state, and tell the others of this one."""
        joining = self.membership.is_joining_with(origin.node)
        answer = self.learning.take(part, origin.node, complete=joining)
        if answer is not None:
            self.host.link.send(answer, (origin,))
        if joining:
            self.membership.part_arrived(part)
        elif origin.cell != self.cell and part.cell is not None:
            self.hand_over.learned(origin, part.cell)
            self.spreading.tell(part)
        elif part.cell is not None and not self.as_published:
            self.hand_over.learned_again(part.cell)

    def bury(self, tombstone: Tombstone) -> None:
        with suppress(InvalidObject):
            self.service.bury(tombstone)

    def _copy(self, body: CopyObject, origin: NodeAddress, target: NodeAddress | None) -> None:
        """Keep a copy of an object of this cell, and tell the others if it came for all of them."""
        self.cell_copies.take(body)
        if target is not None and target.node is None and origin.node != self.host.id:
            self.spreading.tell(body)

    def _tick(self) -> None:
        self.host.after(TICK_S, self._tick)
        now = self.host.now()
        self.service.expire()
        if self.as_published:
            return
        self.encounters.look()
        self.hand_over.pass_on()
        if now - self._repaired_at >= self.repair_s and self.membership.is_member:
            self._repaired_at = now - 0.2 * self.repair_s * self.random.random()
            self.repair.summarise()
        if now - self._registered_at >= self.register_s:
            # Those who have begun together do not always register together: all at once would be a storm.
            self._registered_at = now - 0.5 * self.register_s * self.random.random()
            self.repair.offer_own()
            self.host.after(1.0, self.repair.offer_copies)

    def _review(self) -> None:
        self._reviewing = False
        self._locate()
        self.membership.review()
        self.hand_over.review()

    def _locate(self) -> None:
        """Notice the own cell, and tell those who keep the own queries of another one."""
        grid, cell = self.host.link.grid(), self.host.link.own_cell()
        if grid != self.grid:
            regrid = self.grid is not None
            self.grid = grid
            if regrid:
                self._reindex()
        if cell != self.cell:
            moved = self.cell is not None
            self.cell = cell
            self.located_us = self.now_us()
            if moved:
                self.location_updates.tell(with_copies=False)

    def _reindex(self) -> None:
        """The grid is another one: keys are in other cells, and so is everybody."""
        states = self.service.states
        self.service = self.make_service()
        self.hand_over = HandOver(self)
        self.requests.grid_changed()
        grid = self.grid
        if grid is None:
            return
        for state in states.values():
            for metadata in state.catalogue:
                for cell in tag_cells(grid, metadata):
                    self.service.state(cell).add(metadata, self.bounds)
        for cell in self.service.states:
            self.hand_over.misplace(cell, self.random.random())
        self.joined()
