"""Expectations: the people who must be told of each event, and those who may, while people and schemes
change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from bypass.testing.worlds.assertions import told
from bypass.testing.worlds.person import OPEN, Person, Serving
from bypass.testing.worlds.world import SmallWorld

OwnedSubscription = tuple[str, int]
"""Somebody, and one of its subscriptions."""


class WorldState(NamedTuple):
    """How things were at a moment: everybody whom the broker knows, and what served them."""

    people: Mapping[str, Person]
    serving: Mapping[str, Serving]


class Expectations:
    """Keeps what must hold in a world in which everything may change between two rests, in any order.

    An event must be told to whom it concerns in every state since the rest before it, whatever the system
    knew of them, and may be told to whom it may concern in one of them. Who is away is told when it is back.
    Nobody is told twice for one subscription, unless its program was killed meanwhile.
    """

    def __init__(self, world: SmallWorld) -> None:
        self._world = world
        self._away: dict[str, Serving] = {}  # the last that is known of what serves them
        self._states: list[WorldState] = []
        self._must: dict[int, set[OwnedSubscription]] = {}
        self._may: dict[int, set[OwnedSubscription]] = {}
        self._again: Counter[tuple[int, str]] = Counter()  # how often an event may be repeated to somebody
        self.changed()

    # -- changes ------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Take down how things are now; after each change."""
        self._states.append(self._state())

    def left(self, name: str, *, killed: bool = False) -> None:
        """Somebody is away; the broker remembers it."""
        self._away[name] = self._states[-1].serving.get(name, OPEN)
        if killed and not self._world.virtual:
            self._again.update((event, name) for event in self._world.published)
        self.changed()

    def returned(self, name: str) -> None:
        """Somebody is back."""
        self._away.pop(name, None)
        self.changed()

    def exchanged(self) -> None:
        """A plan was executed: nobody knows how exactly those who are away are known to what serves them."""
        self._away = dict.fromkeys(self._away, OPEN)
        self.changed()

    def _state(self) -> WorldState:
        people, serving = {}, dict(self._world.serving())
        for name, person in self._world.people.items():
            if person.present or name in self._away:
                people[name] = replace(person, present=True, interests=dict(person.interests))
                serving.setdefault(name, self._away.get(name, OPEN))
        return WorldState(people, serving)

    # -- checks -------------------------------------------------------------------------------------------

    def rest(self) -> None:
        """Wait until all has settled. Raises AssertionError if somebody was not told, told twice, or told
        wrongly, or if the broker serves somebody no more."""
        self._world.settle()
        self.changed()
        self._assert_served()
        for event in self._world.published:
            if event not in self._must:
                self._judge(event)
            self._assert_told(event)
        del self._states[:-1]

    def _judge(self, event: int) -> None:
        verdicts = [dict(self._world.judged(event, state.serving, state.people)) for state in self._states]
        self._must[event] = set.intersection(*({who for who in each if each[who]} for each in verdicts))
        self._may[event] = {who for each in verdicts for who in each if each[who] is not False}

    def _assert_told(self, event: int) -> None:
        heard = Counter(self._world.heard(event))
        owed = {who for who in self._must[event] if who[0] not in self._away}
        often = {who for who, times in heard.items() if times > 1 + self._again[event, who[0]]}
        assert not often, told(self._world, event, f"more than once to {sorted(often)}")
        lost = sorted(owed - heard.keys())
        assert not lost, told(self._world, event, f"not to all whom it concerns, {lost}")
        wrong = sorted(heard.keys() - self._may[event])
        assert not wrong, told(self._world, event, f"to some whom it does not concern, {wrong}")

    def _assert_served(self) -> None:
        people, serving = self._world.people, self._world.serving()
        left_out = [
            name for name, each in people.items() if each.present and each.interests and name not in serving
        ]
        assert not left_out, f"no scheme serves {', '.join(left_out)}"
        for name, each in serving.items():
            running = self._world.running(name)
            assert running == each.scheme, f"{name} runs {running}, the broker {each.scheme} for it"
