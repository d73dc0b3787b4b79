"""Events that wait in several places for one session: given up in one of them, they are not missed yet."""

from __future__ import annotations

from collections.abc import Iterable


class SharedWaits:
    """Events of a session that wait in lanes, or did and wait elsewhere, by their numbers. Others wait in one
    place, that of the subscriptions without a lane.

    An event is missed when it was given up in the last place and the client has it from none; `had` are those
    that it has. `changed` says of which events it is to be stored that they are owed, or are not any more:
    those that were given up in one place, wait in another, and that the client does not have.
    """

    __slots__ = ("_owed", "_places", "changed", "had")

    def __init__(self) -> None:
        self.changed: dict[int, bool] = {}
        self._places: dict[int, int] = {}  # how many
        self.had: set[int] = set()
        self._owed: set[int] = set()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, number: int) -> bool:
        return number in self._places

    def places(self, number: int) -> int:
        """In how many places an event waits that does in one."""
        return self._places.get(number, 1)

    def restore(self, number: int, places: int, partly: bool, owed: bool) -> None:
        """An event waits in so many places, and was done with in others if it is `partly` done: the client
        has it then, unless it is `owed`."""
        self._places[number] = self._places.get(number, 0) + places
        if owed:
            self._owed.add(number)
        elif partly:
            self.had.add(number)

    def waits(self, number: int, others: int = 0) -> None:
        """An event waits in one more place, beside so many `others` if it is not known here."""
        self._places[number] = self._places.get(number, others) + 1

    def received(self, numbers: Iterable[int]) -> None:
        """The client has got events, each in one of its places."""
        for number in numbers:
            if number in self._places:
                self._owe(number, False)
                if self._leave(number):
                    self.had.add(number)

    def given_up(self, numbers: Iterable[int]) -> list[int]:
        """Events are given up, each in one of its places: gives those that are missed."""
        missed = []
        for number in numbers:
            had = number in self.had
            waits = self._leave(number)
            if not had:
                if waits:
                    self._owe(number, True)
                else:
                    missed.append(number)
        return missed

    def withdrawn(self, numbers: Iterable[int]) -> None:
        """Events wait in one place less each, and nobody misses them there."""
        for number in numbers:
            self._leave(number)

    def _leave(self, number: int) -> bool:
        """One place less; gives whether there are others."""
        left = self._places.get(number, 1) - 1
        if left:
            self._places[number] = left
        else:
            self._places.pop(number, None)
            self.had.discard(number)
            self._owe(number, False)
        return left > 0

    def _owe(self, number: int, owed: bool) -> None:
        if owed != (number in self._owed):
            self.changed[number] = owed
            (self._owed.add if owed else self._owed.discard)(number)
