"""Counted messages agree with the formulas, once these know how long ways are and who is in a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bypass.core.client import Client
from bypass.models.storage.costs import Demand, Design, Extent, cost, switch_cost
from bypass.protocol.storage import NodeCounts
from bypass.testing.rules import Point
from bypass.testing.store_messages import APART, OPERATIONS, StoreMessages
from bypass.testing.worlds.storage import QUIET_S, StorageWorld
from bypass.transitions import Action, Plan

SIDE = 40.0
AREA = [0.0, 0.0, 160.0, 80.0]
PLACES: list[Point] = [
    (SIDE * column + 12.0 + 16.0 * (n % 2), SIDE * row + 9.0 + 7.0 * n)
    for row in range(2)
    for column in range(4)
    for n in range(1 + (row + column) % 3)
]
"""Eight cells with one, two or three nodes."""

PAIRS: list[Point] = [
    (SIDE * column + 9.0 + 17.0 * n, SIDE * row + 12.0 + 11.0 * n)
    for row in range(2)
    for column in range(4)
    for n in range(2)
]
"""Eight cells with two nodes."""


def counted(design: str, **parameters: Any) -> tuple[StoreMessages, NodeCounts, Extent]:
    """The messages of a small workload, the operations of all nodes, and the network as they measured it."""
    routing = ("cells", {"area": AREA, "side": SIDE}) if design == "cells" else ("dsdv", {})
    world = StorageWorld(PLACES, (design, parameters), routing)
    world.run(2 * QUIET_S)
    clients = world.system.clients
    messages = StoreMessages(lambda number: clients[number].node.routing.own_cell())
    world.system.monitor.register(messages)
    nodes = len(PLACES)
    for i in range(24):
        world.ask(5 * i % nodes, f"tag{i % 8}", limit=0 if i % 2 else 20)
        world.run(0.3)
    for i in range(48):
        world.insert(7 * i % nodes, f"tag{i % 8}", f"other{i % 5}")
        world.run(0.2)
    for i, photo in enumerate(list(world.objects.values())[:16]):
        world.retrieve(11 * i % nodes, photo.metadata)
        world.run(0.2)
    for photo in list(world.objects.values())[:8]:
        world.delete(photo.metadata.key)
        world.run(0.2)
    for asked in list(world.queries)[:6]:
        world.withdraw(asked)
        world.run(0.2)
    world.run(3.0)
    counts = [client.node.counts() for client in clients]
    done = summed(clients)
    cells = sum(1 / (each.mates + 1) for each in counts)
    alone = sum(not each.mates for each in counts)
    hops = done.hops / done.ways
    extent = Extent(
        nodes,
        nodes / cells,
        hops,
        done.cell_hops / max(1, done.cell_ways),
        hops,
        done.neighbours / nodes,
        1 - alone / cells,
    )
    return messages, done, extent


@pytest.mark.parametrize(
    ("design", "parameters"),
    [(Design.LOCAL, {}), (Design.SERVER, {}), (Design.CELLS, {"as_published": True}), (Design.CELLS, {})],
)
def test_formulas_agree_with_counted_messages(design: Design, parameters: dict[str, Any]) -> None:
    """Within 15 %, transmissions and receptions apart."""
    messages, done, extent = counted(design.value, **parameters)
    demand = Demand(
        done.inserts, done.retrieves, done.subscriptions, done.notifications, done.deletes, done.withdrawals,
        done.tags / done.inserts, done.keys / done.subscriptions, done.pages, done.answers,
    )  # fmt: skip
    assert (demand.inserts, demand.subscriptions, demand.tags, demand.keys) == (48, 24, 2, 1)
    confirmed = design is Design.CELLS and not parameters
    formula = cost(design, demand, extent, confirmed=confirmed)
    sent = sum(messages.sent[each] for each in OPERATIONS)
    received = sum(messages.received[each] for each in OPERATIONS)
    assert formula.transmissions() == pytest.approx(sent, rel=0.15)
    assert formula.receptions() == pytest.approx(received, rel=0.15)
    assert (messages.sent["confirm"] > 0) == confirmed
    assert messages.sent["survey"] == messages.sent["decisions"] == 0
    assert messages.sent["routing"] > 0
    assert set(messages.sent) <= {*OPERATIONS, *APART}
    assert messages.bytes["insert"] > 0 or design is Design.LOCAL


def states_learned(clients: list[Any]) -> int:
    """How many parts of states nodes have had from each other."""
    active = [client.engine.active("routing") for client in clients]
    return sum(each.counters.bodies["NodeState"] for each in active)


@pytest.mark.parametrize(("begin", "end"), [("local", "cells"), ("cells", "local"), ("local", "server")])
def test_the_formula_of_a_switch_agrees_with_counted_messages(begin: str, end: str) -> None:
    """Within 15 %: transmissions but for those of routing, less those of as much time later."""

    def routing(design: str) -> tuple[str, dict[str, Any]]:
        return ("cells", {"area": AREA, "side": SIDE}) if design == "cells" else ("dsdv", {})

    world = StorageWorld(PAIRS, (begin, {}), routing(begin))
    world.run(2 * QUIET_S)
    clients, nodes = world.system.clients, len(PAIRS)
    for i in range(15):
        world.ask(5 * i % nodes, f"other{i % 40}")
        world.run(0.3)
    for i in range(45):
        world.insert(7 * i % nodes, f"other{i % 40}")
        world.run(0.2)
    world.run(40.0)
    messages = StoreMessages(lambda number: clients[number].node.routing.own_cell())
    world.system.monitor.register(messages)
    name, values = routing(end)
    actions = (Action(proxy="routing", to=name, set=values), Action(proxy="storage", to=end))
    assert clients[6].decide(Plan(plan=f"to {end}", actions=actions)).ok
    world.run(40.0)
    counted = messages.sent.total() - messages.sent["routing"]
    world.run(60.0)
    later = messages.sent.total() - messages.sent["routing"]
    learned = states_learned(clients)
    world.run(40.0)
    assert states_learned(clients) == learned, "nodes of a cell go on telling each other of the same"
    counted -= messages.sent.total() - messages.sent["routing"] - later
    before = summed(clients)
    for i in range(40):
        world.insert(7 * i % nodes, f"other{i % 40}")
        world.run(0.2)
    world.run(5.0)
    done, mates = summed(clients), [client.node.counts().mates for client in clients]
    populated = sum(1 / (each + 1) for each in mates) if end == "cells" else 8.0
    company = 1 - sum(not each for each in mates) / populated if end == "cells" else 1.0
    hops = (done.hops - before.hops) / max(done.ways - before.ways, 1)
    cell_hops = (done.cell_hops - before.cell_hops) / max(done.cell_ways - before.cell_ways, 1)
    extent = Extent(nodes, nodes / populated, hops, cell_hops, hops, done.neighbours / nodes, company)
    copies = 1.0 if begin == "cells" else 0.0
    formula = switch_cost(Design(end), Demand(inserts=45, subscriptions=15), extent, copies=copies)
    assert formula.transmissions() == pytest.approx(counted, rel=0.15)


def summed(clients: Sequence[Client]) -> NodeCounts:
    """Give the sums of the counts of all nodes."""
    counts = [client.node.counts() for client in clients]
    return NodeCounts(**{name: sum(getattr(each, name) for each in counts) for name in NodeCounts.__slots__})
