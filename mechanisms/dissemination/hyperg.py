"""HYPERG: gossip whose probability follows the density, and which repairs partitions when they meet."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.dissemination.disseminator import Disseminator
from bypass.ports.local_access import Unless
from bypass.protocol.messages import Publish
from bypass.transitions import MechanismState

STEPS = ((23, 0.3), (15, 0.5), (12, 0.6), (10, 0.7), (8, 0.8))
"""From so many neighbours on, the probability to pass an event on; with fewer, it is 1."""


class HyperGossip(Disseminator):
    """Clients say hello every `hello` seconds. One that has been silent for twice that time is no neighbour
    any more.

    An event is passed on with a probability that falls with the number of neighbours, after up to
    `hesitation` seconds, unless `copies` copies of it have been heard by then. Two clients that meet for the
    first time in `keep` seconds exchange the ids of the `ids` events they heard last; if less than the share
    `overlap` of the own ones is among the other's, the partitions of the two have just met, and what the
    other lacks, and is not older than `keep` seconds, is sent again.
    """

    name: ClassVar[str] = "hyperg"
    flag: ClassVar[int] = 5

    hello: Annotated[float, MechanismState("hello"), Field(gt=0)] = 0.1
    hesitation: Annotated[float, MechanismState("hesitation"), Field(ge=0, le=1)] = 0.01
    copies: Annotated[int, MechanismState("copies"), Field(ge=1, le=255)] = 3
    keep: Annotated[float, MechanismState("keep"), Field(gt=0)] = 2.0
    ids: Annotated[int, MechanismState("ids"), Field(ge=1, le=1000)] = 50
    overlap: Annotated[float, MechanismState("overlap"), Field(ge=0, le=1)] = 0.5

    def start(self) -> None:
        self._draw: Callable[[], float] = self.host.random("hesitation").random
        self._chance: Callable[[], float] = self.host.random("forward").random
        self._recent: OrderedDict[int, tuple[float, Publish]] = OrderedDict()
        self._digest_due = False
        self.host.after(self.hello * self.host.random("hello").random(), self._say_hello)

    @property
    def new_after_s(self) -> float:  # type: ignore[override] # follows a parameter here
        """The time for which events are kept: a neighbour heard of more recently cannot have missed much."""
        return self.keep

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:  # noqa: ARG002
        self._remember(publication)
        self.host.link.broadcast(publication)

    def heard(self, publication: Publish, sender: int, distance: float) -> None:  # noqa: ARG002
        self.tell(publication)
        if not self.admits(publication):
            return
        self._remember(publication)
        if self._chance() < self._probability():
            self.host.link.broadcast(publication, self.hesitation * self._draw(), Unless(self.copies))

    def neighbour_appeared(self, neighbour: int) -> None:  # noqa: ARG002 - a digest is for all
        if not self._digest_due:
            self._digest_due = True
            self.host.after(self.hello * self._draw(), self._send_digest)

    def digest_arrived(self, ids: Sequence[int], sender: int) -> None:  # noqa: ARG002
        self._forget_old()
        theirs = set(ids)
        missing = len(self._recent) - len(theirs.intersection(self._recent))
        if not missing or 1.0 - missing / len(self._recent) >= self.overlap:
            return
        link = self.host.link
        for number, (_, publication) in self._recent.items():
            if number not in theirs and self.admits(publication):
                # One of those who know the event is enough: who hears it from another one keeps silent.
                unless = Unless(min(link.copies(publication) + 1, 255))
                link.broadcast(publication, self.hesitation * self._draw(), unless)

    def _probability(self) -> float:
        neighbours = self.host.link.neighbours(2.0 * self.hello)
        for least, p in STEPS:
            if neighbours >= least:
                return p
        return 1.0

    def _say_hello(self) -> None:
        self.host.link.hello()
        self.host.after(self.hello, self._say_hello)

    def _send_digest(self) -> None:
        self._digest_due = False
        self._forget_old()
        self.host.link.digest(tuple(self._recent)[-self.ids :])

    def _remember(self, publication: Publish) -> None:
        self._recent[publication.id] = (self.host.now(), publication)
        if len(self._recent) > self.ids:
            self._recent.popitem(last=False)

    def _forget_old(self) -> None:
        oldest = self.host.now() - self.keep
        while self._recent and next(iter(self._recent.values()))[0] < oldest:
            self._recent.popitem(last=False)
        now = self.host.now()
        for number in [n for n, (_, each) in self._recent.items() if each.lifetime and each.expired(now)]:
            del self._recent[number]
