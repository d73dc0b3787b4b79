"""Does the formula of what a switch of designs costs agree with counted messages?"""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations
from typing import Any, NamedTuple

from common import arguments, integer, print_table, write
from storage_costs import FIELDS, SIDE, demand, extent, ratio

from bypass.models.storage.costs import Demand, Design, DesignCost, switch_cost
from bypass.protocol.storage import NodeCounts
from bypass.testing.rules import Point
from bypass.testing.store_messages import OPERATIONS, StoreMessages
from bypass.testing.worlds.storage import StorageWorld
from bypass.transitions import Action, Plan

DESIGNS = ("local", "cells", "server")
LOADS = {"objects": (60, 20), "queries": (20, 60)}
"""Objects and queries that there are."""

TAGS = 40
SPAN_S = 40.0
QUIET_S = 60.0


class Switch(NamedTuple):
    """A switch: its formula, and what was counted in 40 s, less what is sent in as many seconds later."""

    nodes: int
    begin: str
    end: str
    load: str
    seed: int
    formula: DesignCost
    counted: Counter[str]

    @property
    def sent(self) -> int:
        """The transmissions of the switch, but for those of routing."""
        return sum(count for kind, count in self.counted.items() if kind != "routing")


def places(nodes: int, draw: random.Random) -> list[Point]:
    """Two nodes in each cell."""
    width, height = FIELDS[nodes]
    corners = [(SIDE * x, SIDE * y) for y in range(int(height / SIDE)) for x in range(int(width / SIDE))]
    return [
        (x + SIDE * draw.uniform(0.1, 0.9), y + SIDE * draw.uniform(0.1, 0.9))
        for x, y in corners
        for _ in range(2)
    ]


def routing_for(design: str, nodes: int) -> tuple[str, dict[str, Any]]:
    """The routing that a design needs, and its parameters."""
    width, height = FIELDS[nodes]
    area = [0.0, 0.0, float(width), float(height)]
    return ("cells", {"area": area, "side": SIDE}) if design == "cells" else ("dsdv", {})


def run(nodes: int, begin: str, end: str, load: str, seed: int) -> Switch:
    """Fill a store, switch it, and count; then measure how long ways are."""
    draw = random.Random(seed)
    world = StorageWorld(places(nodes, draw), (begin, {}), routing_for(begin, nodes), seed=seed)
    world.run(QUIET_S)
    objects, queries = LOADS[load]
    for _ in range(queries):
        world.ask(draw.randrange(nodes), f"tag{draw.randrange(TAGS)}")
        world.run(0.1)
    insert(world, draw, objects)
    world.run(QUIET_S)
    clients = world.system.clients
    messages = StoreMessages(lambda number: clients[number].node.routing.own_cell())
    world.system.monitor.register(messages)
    routing, values = routing_for(end, nodes)
    actions = (Action(proxy="routing", to=routing, set=values), Action(proxy="storage", to=end))
    assert clients[nodes // 2].decide(Plan(plan=f"to {end}", actions=actions)).ok
    world.run(SPAN_S)
    counted = Counter(messages.sent)
    world.run(QUIET_S)
    before = Counter(messages.sent)
    world.run(SPAN_S)
    counted.subtract({kind: count - before[kind] for kind, count in messages.sent.items()})
    present = Demand(inserts=objects, subscriptions=queries)
    before_ways = [client.node.counts() for client in clients]
    insert(world, draw, 80)
    world.run(5.0)
    ways = [since(one, client.node.counts()) for one, client in zip(before_ways, clients, strict=True)]
    assert demand(ways).inserts == 80
    copies = 1.0 if begin == "cells" else 0.0  # the other node of the cell
    formula = switch_cost(Design(end), present, extent(ways, end), copies=copies)
    return Switch(nodes, begin, end, load, seed, formula, counted)


def insert(world: StorageWorld, draw: random.Random, number: int) -> None:
    """Have random nodes insert objects."""
    for _ in range(number):
        world.insert(draw.randrange(len(world.places)), f"tag{draw.randrange(TAGS)}")
        world.run(0.1)


def since(before: NodeCounts, now: NodeCounts) -> NodeCounts:
    """Give the counts of a node since then, with its neighbours of now."""
    counts = {name: getattr(now, name) - getattr(before, name) for name in NodeCounts.__slots__}
    return NodeCounts(**{**counts, "neighbours": now.neighbours, "mates": now.mates})


def main() -> None:
    parser = arguments(__doc__ or "", repetitions=None)
    integer(parser, "--seeds", 1, "seeds from 1 to so many")
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 36], choices=FIELDS, metavar="N")
    options = parser.parse_args()
    switches = [
        run(nodes, begin, end, load, seed)
        for nodes in options.sizes
        for load in LOADS
        for begin, end in permutations(DESIGNS, 2)
        for seed in range(1, options.seeds + 1)
    ]
    print_table(
        "Messages of switches, less those of as much time later; the formula, and that over the count",
        ("nodes", "most are", "from", "to", "counted", "formula", "over", "operations", "repeated", "upkeep",
         "decisions", "routing"),
        [
            [
                each.nodes, each.load, each.begin, each.end, each.sent,
                round(each.formula.transmissions()), ratio(each.formula.transmissions(), each.sent),
                sum(each.counted[kind] for kind in OPERATIONS),
                *(each.counted[kind] for kind in ("repeated", "upkeep", "decisions", "routing")),
            ]
            for each in switches
        ],
    )  # fmt: skip
    rows = [
        {
            "nodes": each.nodes, "load": each.load, "begin": each.begin, "end": each.end, "seed": each.seed,
            "counted": dict(each.counted), "ratio": ratio(each.formula.transmissions(), each.sent),
            "formula": {kind: each.formula.transmissions(kind) for kind in each.formula.by_operation},
        }
        for each in switches
    ]  # fmt: skip
    write("storage_switches", options.out, {"rows": rows})


if __name__ == "__main__":
    main()
