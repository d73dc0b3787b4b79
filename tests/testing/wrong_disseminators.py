"""Dissemination mechanisms that are wrong, each in a way of its own."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from bypass import Disseminator, Publish


class _Saying(Disseminator):
    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        self.host.link.broadcast(publication)


class TellsTwice(_Saying):
    """Tells of an event when it hears it, and once more when it has passed it on."""

    flag: ClassVar[int] = 101

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self.tell(publication)
        if self.admits(publication):
            self.host.link.broadcast(publication, 0.001 * (1 + self.host.id))
            self.tell(publication)


class KeepsToItself(_Saying):
    """Should pass events on, and does so only with those of who is nearby anyway."""

    flag: ClassVar[int] = 102

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self.tell(publication)
        if publication.client == self.host.id:
            self.host.link.broadcast(publication)


class NeverStops(_Saying):
    """Passes each event on again and again, for those who may have missed it."""

    flag: ClassVar[int] = 103

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self.tell(publication)
        self.again(publication)

    def again(self, publication: Publish) -> None:
        if self.admits(publication):
            self.host.link.broadcast(publication, 0.001 * (1 + self.host.id))
        self.host.after(2.0, self.again, publication)


class GoesDeaf(_Saying):
    """Tells of the first event that it hears, and of none that come later."""

    flag: ClassVar[int] = 104
    first: int | None = None

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        if self.first is None:
            self.first = publication.id
        if publication.id == self.first:
            self.tell(publication)
        if self.admits(publication):
            self.host.link.broadcast(publication, 0.001 * (1 + self.host.id))


class LosesThread(_Saying):
    """Passes everything on, and does not tell of each third frame that it hears."""

    flag: ClassVar[int] = 105
    frames = 0

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self.frames += 1
        if self.frames % 3:
            self.tell(publication)
        if self.admits(publication):
            self.host.link.broadcast(publication, 0.001 * (1 + self.host.id))
