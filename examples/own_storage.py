"""A storage mechanism and a routing of your own: small objects are found, what gets lost is sent again."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field

from bypass import MechanismState, Region, Registry, SimulatedSystem
from bypass.mechanisms.routing import OneHop
from bypass.mechanisms.storage import Local
from bypass.models.mobility import RandomWaypoint
from bypass.objects import Metadata
from bypass.protocol.datagrams import Datagram
from bypass.transitions import Action


class Pocket(Local):
    """Serves objects up to `most` bytes from where they are; no query finds others."""

    flag: ClassVar[int] = 64  # what datagrams call it: from 64 on, numbers are free
    most: Annotated[int, MechanismState(), Field(ge=0)] = 10_000

    def serve(self, metadata: Metadata) -> bool:
        return metadata.size <= self.most and super().serve(metadata)


class Stubborn(OneHop):
    """Sends once more, after `pause_s`, what a node in reach has not acknowledged."""

    name: ClassVar[str] = "stubborn"
    pause_s: Annotated[float, MechanismState(), Field(gt=0, le=60)] = 0.5

    def unicast(self, datagram: Datagram, neighbour: int, failed: Callable[[], None]) -> None:
        again = partial(super().unicast, datagram, neighbour, failed)
        super().unicast(datagram, neighbour, lambda: self.host.after(self.pause_s, again))


if __name__ == "__main__":
    begin = {"transport": "wifi", "routing": "stubborn", "storage": "pocket"}
    system = SimulatedSystem(
        4,
        RandomWaypoint(width=50, height=50).generate(4, 60.0, seed=1).cursor(),
        Region((0, 0, 50, 50)),
        begin=[Action(proxy=proxy, to=to) for proxy, to in begin.items()],
        registry=Registry([Pocket, Stubborn]),
    )
    system.run_until(5.0)
    anna, ben = (client.objects for client in system.clients[:2])
    anna.insert(b"#" * 900, {"beach"}, name="thumbnail.jpg")
    anna.insert(b"#" * 90_000, {"beach"}, name="photo.jpg")
    ben.query("beach", lambda metadata, query: print("found", metadata.key.name), since="-1h")
    system.run_until(10.0)
    anna.insert(b"#" * 800, {"beach", "sunset"}, name="sunset.jpg")
    system.run_until(15.0)
