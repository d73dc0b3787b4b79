"""A client in the area of an edge as a program, with the commands of `tests.live.nodes`, and `edge`.

`python -m tests.live.edge_clients NAME KEYS STORE INTERFACE`, KEYS is a folder, STORE a file, or - for none.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from bypass import Neighbours, connect
from bypass.live.keys import load_group_key
from tests.live.nodes import NodeProgram, say, serve

PARAMETERS: dict[str, Any] = {
    "area": [0.0, 0.0, 300.0, 300.0], "side": 100.0, "beacon_s": 0.25, "listen_s": 0.5, "settle_s": 0.5,
    "join_delay_s": 0.2, "repair_s": 2.0, "probe_s": 0.5, "cell_data_s": 0.5, "warm_up_s": 0.5,
}  # fmt: skip
"""With which less time passes than with the defaults."""

PLACE = 50.0, 50.0


class EdgeClientProgram(NodeProgram):
    """The commands of a node, and what edges are for."""

    async def do_edge(self) -> object:
        """The edge in whose area it is."""
        return self.me._exchange.usable().node.area()


async def _main(name: str, keys: str, store: str, interface: str) -> None:
    folder = Path(keys)
    me = connect(
        None,
        name=name,
        neighbours=Neighbours(load_group_key(folder / "group.key"), (interface,)),
        edges=sorted((folder / "edges").glob("*.pub")),
        location=lambda: PLACE,
        storage="infra",
        set=PARAMETERS,
        store=None if store == "-" else store,
    )
    async with me:
        say("ready", me.number)
        await serve(EdgeClientProgram(me))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
