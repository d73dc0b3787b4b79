"""Nothing that clients ask for is compiled while they wait."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

from bypass.events.filters import attr
from bypass.live.broker.warmup import warm_up
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER
from bypass.protocol.messages import AssignmentRequest, ContextUpdate, Subscribe
from bypass.transitions import Action, Plan
from tests.live.brokers import Peer, config, in_loop, peers, running

HERE = ContextUpdate((10.0, 10.0))


def compiled() -> dict[str, int]:
    """For how many types of arguments each kernel has been compiled, or loaded from disk."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("bypass.")]
    kernels: list[Any] = [
        each for module in modules for each in vars(module).values() if isinstance(each, Dispatcher)
    ]
    return {f"{each.__module__}.{each.__name__}": len(each.signatures) for each in kernels}


def test_what_is_done_with_every_scheme_was_done_before(tmp_path: Path) -> None:
    warm_up()
    before = compiled()
    assert sum(before.values()) > 10
    place = {"name": "park", "x": 10, "y": 10, "radius": 50}
    with running(config(tmp_path, region={"places": [place]})) as service, peers() as make:
        names = [*Registry().kinds(FILTER)]
        members = [make(service.server.endpoints[0], name) for name in "abc"]
        for peer in members:  # so many that attributes are matched first
            for handle in range(10, 60):
                peer.send(Subscribe(handle, (attr("kind") == "x") | (attr("n") > handle), 300, HERE))
            peer.settle()
        for a, b in permutations(names, 2):
            for to in (a, b):
                plan = Plan(plan=to, actions=(Action(proxy="filter", to=to),))
                in_loop(service, act(service.server.broker.execute, plan))
                use(members)
        plan = Plan(plan="some", actions=(Action(proxy="filter", to="grid", members=(members[0].number,)),))
        in_loop(service, act(service.server.broker.execute, plan))
        use(members)
    assert {name: count for name, count in compiled().items() if count > before.get(name, 0)} == {}


def act(function: Callable[[Plan], Any], plan: Plan) -> Callable[[], Any]:
    return lambda: function(plan)


def use(members: list[Peer]) -> None:
    for n, peer in enumerate(members):
        peer.subscribe(handle=1, at=(10.0 + 5 * n, 10.0))
        peer.subscribe(handle=2, radius=300, at=(10.0, 10.0 + 5 * n))
        peer.send(ContextUpdate((11.0, 11.0)))
        peer.send(ContextUpdate((12.0, 11.0), (1.0, 1.0)))
        peer.send(AssignmentRequest((400.0 * n, 11.0)))
        peer.publish((10.0, 10.0))
        peer.settle()
