"""GOSSIP: every receiver passes an event on with a certain probability."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.dissemination.disseminator import Disseminator
from bypass.protocol.messages import Publish
from bypass.transitions import MechanismState


class Forwarder(Disseminator):
    """Passes events on after up to `jitter` seconds, so that neighbours do not speak all at once."""

    jitter: Annotated[float, MechanismState("jitter"), Field(ge=0, le=1)] = 0.005

    def start(self) -> None:
        self._delay: Callable[[], float] = self.host.random("jitter").random

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:  # noqa: ARG002
        self.host.link.broadcast(publication)

    def pass_on(self, publication: Publish) -> None:
        """Send an event on after a moment."""
        self.host.link.broadcast(publication, self.jitter * self._delay())


class Gossip(Forwarder):
    """Passes each event on once, with probability `p`; with `p` = 1 it is flooding."""

    flag: ClassVar[int] = 4

    p: Annotated[float, MechanismState("p"), Field(ge=0, le=1)] = 0.4

    def start(self) -> None:
        super().start()
        self._chance: Callable[[], float] = self.host.random("forward").random

    def heard(self, publication: Publish, sender: int, distance: float) -> None:  # noqa: ARG002
        self.tell(publication)
        if self.admits(publication) and self._chance() < self.p:
            self.pass_on(publication)
