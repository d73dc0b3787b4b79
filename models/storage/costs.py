"""The communication costs of the three designs of a store: messages of each operation, counted in three ways.

Published formulas count a broadcast in a cell as one message for each of its nodes. A radio sends it once,
and all others of the cell receive it: transmissions and receptions are counted apart, and `published` as in
the formulas. Symbols there: D_i = `inserts`, D_r = `retrieves`, S = `subscriptions`, D_s = `notifications`,
n = `nodes`, m = `cells`, c = `population`, t = `tags`, k = `keys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from math import isfinite, sqrt
from typing import NamedTuple

from bypass.errors import BypassError, shown


class InvalidCosts(BypassError):
    """A quantity of a cost formula is not a number that it can be."""


class Design(Enum):
    """The designs, by the names of their mechanisms."""

    SERVER = "server"
    LOCAL = "local"
    CELLS = "cells"


class TimeGrowth(Enum):
    """The order of growth of an operation's time with the number of nodes."""

    CONSTANT = "1"
    ROOT = "√n"
    LINEAR = "n"


TIME_GROWTH: Mapping[str, Mapping[Design, TimeGrowth]] = {
    "insert": {
        Design.SERVER: TimeGrowth.ROOT,
        Design.LOCAL: TimeGrowth.CONSTANT,
        Design.CELLS: TimeGrowth.ROOT,
    },
    "retrieve": {
        Design.SERVER: TimeGrowth.ROOT,
        Design.LOCAL: TimeGrowth.ROOT,
        Design.CELLS: TimeGrowth.ROOT,
    },
    "subscribe": {
        Design.SERVER: TimeGrowth.ROOT,
        Design.LOCAL: TimeGrowth.LINEAR,
        Design.CELLS: TimeGrowth.ROOT,
    },
}
"""The average time of operations; a deletion takes that of an insertion, a withdrawal that of a
subscription."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Numbers of operations. An object has `tags` tags on average, a query `keys` conjunctions, all in
    different cells.

    The published formulas have neither further `pages` of the past nor `answers` to pages, counted by the
    owners of the objects on them. Raises InvalidCosts for numbers below 0.
    """

    inserts: float = 0.0
    retrieves: float = 0.0
    subscriptions: float = 0.0
    notifications: float = 0.0
    deletes: float = 0.0
    withdrawals: float = 0.0
    tags: float = 1.0
    keys: float = 1.0
    pages: float = 0.0
    answers: float = 0.0

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each.name, getattr(self, each.name), 0.0)


@dataclass(frozen=True, slots=True)
class Extent:
    """A network: its nodes, how many are in a populated cell on average, and the mean lengths of ways.

    `hops` lead from node to node; in `cells`, `cell_hops` lead to a cell and `return_hops` to a node.
    `neighbours` is the mean number of nodes in reach, `company` the share of broadcasts in a cell that have
    somebody to hear them. Raises InvalidCosts.
    """

    nodes: float
    population: float
    hops: float
    cell_hops: float
    return_hops: float
    neighbours: float = 1.0
    company: float = 1.0

    def __post_init__(self) -> None:
        _check("nodes", self.nodes, 1.0)
        _check("population", self.population, 1.0)
        for name in ("hops", "cell_hops", "return_hops", "neighbours", "company"):
            _check(name, getattr(self, name), 0.0)

    @classmethod
    def plain(cls, nodes: float, population: float = 1.0, neighbours: float = 1.0) -> Extent:
        """The network of the plain formulas: ways are √n and √m hops long. Raises InvalidCosts."""
        _check("nodes", nodes, 1.0)
        _check("population", population, 1.0)
        cell_hops = sqrt(nodes / population)
        return cls(nodes, population, sqrt(nodes), cell_hops, cell_hops, neighbours)

    @property
    def cells(self) -> float:
        """The number of populated cells."""
        return self.nodes / self.population


class MessageCount(NamedTuple):
    """The messages of operations: ways to a node or, in `cells`, to a cell; ways from there to a node
    (`returns`); broadcasts in a cell, floods, and messages to a node in reach (`steps`)."""

    ways: float = 0.0
    returns: float = 0.0
    broadcasts: float = 0.0
    floods: float = 0.0
    steps: float = 0.0

    def times(self, factor: float) -> MessageCount:
        """So many operations of this kind."""
        return MessageCount(*[own * factor for own in self])

    def plus(self, other: MessageCount) -> MessageCount:
        """These operations and the others."""
        return MessageCount(*[own + theirs for own, theirs in zip(self, other, strict=True)])


@dataclass(frozen=True, slots=True)
class DesignCost:
    """The messages of a design for a demand, by operation; `hot_spot` is how many of them one server, or the
    busiest node, would handle."""

    design: Design
    extent: Extent
    by_operation: Mapping[str, MessageCount]
    hot_spot: float

    def published(self, operation: str | None = None) -> float:
        """Messages as in the published formulas; of all operations, or of one."""
        return self._counted(operation, self.extent.population, self.extent.nodes)

    def transmissions(self, operation: str | None = None) -> float:
        """How often a radio sends."""
        return self._counted(operation, self.extent.company, self.extent.nodes)

    def receptions(self, operation: str | None = None) -> float:
        """How often one of those that a message is for receives it; in a flood everybody in reach does."""
        return self._counted(
            operation, self.extent.population - 1, self.extent.nodes * self.extent.neighbours
        )

    def _counted(self, operation: str | None, broadcast: float, flood: float) -> float:
        chosen = self.by_operation.values() if operation is None else [self.by_operation[operation]]
        extent = self.extent
        way, back = extent.hops, extent.hops
        if self.design is Design.CELLS:
            way, back = extent.cell_hops, extent.return_hops
        return sum(
            each.ways * way
            + each.returns * back
            + each.broadcasts * broadcast
            + each.floods * flood
            + each.steps * extent.company
            for each in chosen
        )


def cost(design: Design, demand: Demand, extent: Extent, *, confirmed: bool = False) -> DesignCost:
    """The messages that a design needs for a demand. With `confirmed`, a node of each cell that has been told
    of something says so, as it does in `cells` unless that is as published."""
    insert, retrieve, subscribe, notify, page = _each(design, demand.tags, demand.keys)
    counts = {
        "insert": insert.times(demand.inserts),
        "retrieve": retrieve.times(demand.retrieves),
        "subscribe": subscribe.times(demand.subscriptions),
        "notify": notify.times(demand.notifications),
        "delete": insert.times(demand.deletes),
        "withdraw": subscribe.times(demand.withdrawals),
        "page": page.times(demand.pages),
    }
    if design is Design.LOCAL:
        counts["subscribe"] = counts["subscribe"].plus(MessageCount(returns=demand.answers))
    told = demand.tags * (demand.inserts + demand.deletes) + demand.keys * (
        demand.subscriptions + demand.withdrawals
    )
    counts["confirm"] = MessageCount(steps=told if confirmed and design is Design.CELLS else 0.0)
    hot_spot = demand.retrieves + demand.subscriptions + demand.notifications + demand.withdrawals
    if design is not Design.LOCAL:
        hot_spot += demand.inserts + demand.deletes
    return DesignCost(design, extent, counts, hot_spot)


def costs(demand: Demand, extent: Extent, *, confirmed: bool = False) -> dict[Design, DesignCost]:
    """The messages that each design needs for a demand; see `cost`."""
    return {design: cost(design, demand, extent, confirmed=confirmed) for design in Design}


JOIN_COIN = 0.5
"""The probability with which a neighbour answers a newcomer in `local`, unless it is set otherwise."""


def switch_cost(to: Design, present: Demand, extent: Extent, *, copies: float = 0.0) -> DesignCost:
    """The messages of a switch to a design, beside those that it needs anyway: `present` has the objects that
    there are (`inserts`) and the queries (`subscriptions`); `copies` is how many nodes have an object beside
    its owner, on average, as they do in `cells`.

    Of two neighbours, one tells the other of the decision; in `cells` beacons tell many at once. Soon after
    the switch, pages of `local` are flooded twice, and nodes of `cells` have heard nobody: they take their
    objects themselves, tell those with whom they join their cell, and pass them on to each cell until it says
    that it lacks nothing; then they, and one of each cell for its copies, register what they have. Whoever
    has copies of others floods a claim.
    """
    nodes, company = extent.nodes, extent.company or 1.0
    asked = cost(to, Demand(subscriptions=present.subscriptions, keys=present.keys), extent, confirmed=True)
    told = nodes if to is Design.CELLS else nodes * extent.neighbours / 2
    counts = {"decide": MessageCount(steps=told / company), **asked.by_operation}
    if to is Design.SERVER:
        counts["insert"] = MessageCount(ways=present.inserts, returns=present.inserts)
    elif to is Design.LOCAL:
        counts["subscribe"] = MessageCount(floods=2 * present.subscriptions)
        counts["join"] = MessageCount(steps=nodes * (1 + JOIN_COIN * extent.neighbours))
    else:
        indexed = present.inserts * present.tags
        holding = _cells_named(indexed, extent)
        offering = _cells_named(indexed + present.subscriptions * present.keys, extent)
        counts["insert"] = MessageCount(ways=3 * holding, returns=2 * holding, broadcasts=holding)
        counts["offer"] = MessageCount(ways=offering + _cells_named(indexed, extent, extent.cells))
        counts["join"] = MessageCount(steps=(4 * nodes + holding) / company)
    if copies > 0:
        counts["claim"] = MessageCount(floods=nodes * (1 - (1 - 1 / nodes) ** (present.inserts * copies)))
    return DesignCost(to, extent, counts, 0.0)


def _cells_named(keys: float, extent: Extent, holders: float | None = None) -> float:
    """How many cells each holder has keys of, summed over all: so many keys are with random holders (None:
    nodes), each in a random cell."""
    cells, holders = extent.cells, extent.nodes if holders is None else holders
    if cells <= 1:
        return holders if keys else 0.0
    return float(holders * cells * (1 - (1 - 1 / cells) ** (keys / holders)))


def _each(design: Design, tags: float, keys: float) -> tuple[MessageCount, ...]:
    """The messages of one insertion, retrieval, subscription, notification and further page."""
    there_and_back, told = MessageCount(ways=1, returns=1), MessageCount(returns=1)
    if design is Design.SERVER:
        return there_and_back, there_and_back, there_and_back, told, there_and_back
    if design is Design.LOCAL:
        flood = MessageCount(floods=1)
        return MessageCount(), there_and_back, flood, told, flood
    asked = MessageCount(ways=1, returns=1, broadcasts=1)  # to a cell and back, told in that cell
    insert = asked.times(tags).plus(MessageCount(broadcasts=1))  # the object, in the owner's cell
    registered = MessageCount(ways=1, broadcasts=1).times(tags)
    page = there_and_back.times(keys)
    return insert, there_and_back.plus(registered), asked.times(keys), told, page


@dataclass(frozen=True, slots=True)
class UpkeepPeriods:
    """The seconds between two beacons of `cells`, two announcements of all ways by distance vectors, and two
    comparisons of a store in `local`, or of deletions in `server`, and in `cells`; infinity: never."""

    beacon_s: float = 1.0
    update_s: float = 15.0
    local_repair_s: float = 10.0
    cells_repair_s: float = 5.0


USUAL_PERIODS = UpkeepPeriods()
"""Those that mechanisms begin with."""


def upkeep(
    design: Design, nodes: float, periods: UpkeepPeriods = USUAL_PERIODS, deletes: float = 0.0
) -> float:
    """The transmissions in a second that a design needs besides those of operations; no published formula.

    A node's announcement of itself, with a new number, is passed on by all others, each at a time of its own.
    So is the mark of each of so many `deletes` in a second in `local` and `server`, when neighbours compare
    what they know; several that are told together are fewer than that.
    """
    if design is Design.CELLS:
        return nodes / periods.beacon_s + nodes / periods.cells_repair_s
    told_on = nodes * deletes if isfinite(periods.local_repair_s) else 0.0
    return nodes**2 / periods.update_s + nodes / periods.local_repair_s + told_on


def cell_change(
    population: float, subscriptions: float = 9, copies: float = 9, published: float = 0
) -> float:
    """The messages of a node that goes to another cell of a grid, as published (Vieira 2018, 5.4.1): a notice
    to each of the cell that it leaves, the state of the one that it joins, and its new place to all nodes of
    the cells that know its subscriptions, copies and own objects. In the area of an edge there are none."""
    _check("population", population, 1.0)
    return population - 1 + 2 + population * (subscriptions + copies + published)


def local_beats_server(nodes: float) -> float:
    """The insertions per subscription above which `local` needs fewer messages than `server`; plain
    formulas."""
    return sqrt(nodes) / 2 - 1


def local_beats_cells(extent: Extent) -> float:
    """The insertions per subscription above which `local` needs fewer messages than `cells`, if nothing is
    retrieved or notified and all have one tag; plain formulas."""
    root, population = sqrt(extent.cells), extent.population
    return (extent.nodes - 2 * root - population) / (2 * (root + population))


def notifications_per_node(notifications: float, population: float) -> float:
    """The notifications that one node of a cell sends, of those that the cell sends: one node for each
    match."""
    return notifications / population


class StoredCopies(NamedTuple):
    """The copies that a system keeps of one object, its metadata and one subscription."""

    objects: float
    metadata: float
    subscriptions: float


def copies(design: Design, demand: Demand, extent: Extent, retrieved: float = 0.0) -> StoredCopies:
    """The copies in a system, if each object was `retrieved` so often; of `cells`, retrievers keep theirs."""
    if design is Design.SERVER:
        return StoredCopies(1.0, 1.0, 1.0)
    if design is Design.LOCAL:
        return StoredCopies(1.0, 1.0, extent.nodes)
    return StoredCopies(
        extent.population + retrieved, extent.population * demand.tags, extent.population * demand.keys
    )


def _check(name: str, value: float, least: float) -> None:
    if not (isfinite(value) and value >= least):
        raise InvalidCosts(f"{name} {shown(value)}: expected a number from {least:g} on")
