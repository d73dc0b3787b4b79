"""A state machine that does to a small world whatever people and operators may do."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from bypass.places.area_of_interest import AreaOfInterest
from bypass.testing.expectations import Expectations
from bypass.testing.replay import NotReplayable, write_replay
from bypass.testing.rules import Point
from bypass.testing.strategies import interests, places, radii
from bypass.testing.suites.filter_schemes import FilterSchemeSuite
from bypass.testing.worlds.world import SmallWorld

PEOPLE = ("ann", "bob", "cid")
PUBLISHER = "publisher"

_schemes = st.runner().flatmap(lambda machine: st.just(machine.schemes[0]) | st.sampled_from(machine.schemes))
_places = st.runner().flatmap(lambda machine: places(machine.suite.region))
_interests = st.runner().flatmap(lambda machine: interests(machine.suite.region))
_values = st.runner().flatmap(lambda machine: st.sampled_from(machine.changes))
_people = st.sampled_from(PEOPLE)
_some = st.lists(_people, min_size=1, max_size=2, unique=True)


def _moves(interest: AreaOfInterest | None) -> bool | None:
    """Whether areas move; None if there are none."""
    return None if interest is None else interest.relative


class SystemMachine(RuleBasedStateMachine):
    """People subscribe, move, publish, leave, return and are killed, and filter schemes are exchanged.

    `suite` says which scheme is under test and what it promises; the others are those that are built in. In
    between, at times, all settles, and then nothing may be lost that was owed, nothing doubled, and nobody
    told wrongly. A `live` machine works with a broker and sockets, and has the broker die as well. `changes`
    are the parameters that self-transitions set. What fails is written as a scenario to a file in `replays`,
    named for the class, unless the broker has died in it.
    """

    suite: ClassVar[type[FilterSchemeSuite]]
    live: ClassVar[bool] = False
    changes: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"grid": 3},
        {"grid": 10},
        {"alpha": 0.0},
        {"alpha": 2.5},
    )
    replays: ClassVar[Path] = Path("out/replays")

    world: SmallWorld
    expectations: Expectations

    def __init__(self) -> None:
        super().__init__()
        self._subject = self.suite()
        self._stack = ExitStack()
        self.schemes = [self._subject.name, *self._subject.others]

    @initialize(scheme=_schemes, start=st.lists(st.tuples(_places, radii()), min_size=3, max_size=3))
    def begin(self, scheme: str, start: list[tuple[Point, int | None]]) -> None:
        self.world = self._make(scheme)
        self._stack.callback(self.world.close)
        for name, (place, radius) in zip(PEOPLE, start, strict=True):
            self.world.enter(name, place, radius)
        self.world.enter(PUBLISHER, start[0][0])
        self.world.settle()
        self.expectations = Expectations(self.world)

    def _make(self, scheme: str) -> SmallWorld:
        if not self.live:
            return self._subject.simulated(scheme, most=len(PEOPLE) + 1)
        folder = self._stack.enter_context(tempfile.TemporaryDirectory())
        return self._subject.live(Path(folder), scheme)

    # -- what people do -----------------------------------------------------------------------------------

    @rule(name=_people, radius=radii())
    def subscribe(self, name: str, radius: int | None) -> None:
        if self.is_there(name):
            self.world.subscribe(name, radius)
            self.expectations.changed()

    @rule(name=_people, interest=_interests)
    def subscribe_areas(self, name: str, interest: AreaOfInterest) -> None:
        if self.is_there(name):
            self.world.subscribe_areas(name, interest)
            self.expectations.changed()

    @rule(name=_people, interest=_interests)
    def change_areas(self, name: str, interest: AreaOfInterest) -> None:
        """Somebody has other areas in a subscription whose areas move alike."""
        wishes = self.world.people[name].interests.items()
        own = [number for number, wish in wishes if _moves(wish.interest) is interest.relative]
        if self.is_there(name) and own:
            self.world.change_areas(name, own[0], interest.areas)
            self.expectations.changed()

    @rule(name=_people)
    def unsubscribe(self, name: str) -> None:
        if self.is_there(name) and self.world.people[name].interests:
            self.world.unsubscribe(name, min(self.world.people[name].interests))
            self.expectations.changed()

    @rule(name=_people, place=_places)
    def move(self, name: str, place: Point) -> None:
        if self.is_there(name):
            self.world.move(name, place)
            self.expectations.changed()

    @rule(name=_people, way=st.lists(_places, min_size=2, max_size=3))
    def walk(self, name: str, way: list[Point]) -> None:
        """Somebody moves again and again, and is found where it is then."""
        for place in way:
            self.move(name, place)
            self.rest()
        self.publish_near(name)

    @rule(name=_people, place=st.none() | _places)
    def publish(self, name: str, place: Point | None) -> None:
        self.world.publish(name if self.is_there(name) else PUBLISHER, place)

    @rule(name=_people)
    def publish_near(self, name: str) -> None:
        x, y = self.world.people[name].place
        self.world.publish(PUBLISHER, (x + 5.0, y))

    @rule(name=_people)
    def publish_local(self, name: str) -> None:
        if self.is_there(name):
            self.rest()  # it has to know where it is
            self.world.publish_local(name)

    @rule(name=_people, killed=st.booleans())
    def leave(self, name: str, killed: bool) -> None:
        """The broker remembers who leaves or whose program is killed."""
        if self.is_there(name):
            self.rest()  # what it has not said to the broker is lost
            if killed:
                self.world.kill(name)
            else:
                self.world.leave(name)
            self.expectations.left(name, killed=killed)

    @rule(name=_people)
    def leave_for_good(self, name: str) -> None:
        if self.is_there(name):
            self.rest()
            self.world.leave(name, for_good=True)
            self.expectations.changed()

    @rule(name=_people, place=st.none() | _places)
    def come_back(self, name: str, place: Point | None) -> None:
        if not self.is_there(name):
            self.rest()
            self.world.come_back(name, place)
            self.expectations.returned(name)
            self.rest()

    def is_there(self, name: str) -> bool:
        """Whether somebody takes part at the moment."""
        return self.world.people[name].present

    # -- what operators do --------------------------------------------------------------------------------

    @rule(to=_schemes)
    def exchange_all(self, to: str) -> None:
        self._exchange(to)

    @rule(to=_schemes, members=_some)
    def exchange_some(self, to: str, members: list[str]) -> None:
        self.rest()
        served = [name for name in members if name in self.world.serving()]
        if served:
            self._exchange(to, served)

    @rule(values=_values)
    def change(self, values: Mapping[str, Any]) -> None:
        self._exchange(None, **values)

    def _exchange(self, to: str | None, members: list[str] | None = None, **values: Any) -> None:
        record = self.world.execute(to, members, **values)
        assert record.outcome in ("done", "skipped"), f"transition to {to}: {record.outcome} {record.error}"
        self.expectations.exchanged()

    @precondition(lambda self: self.live)
    @rule()
    def broker_dies(self) -> None:
        self.rest()  # what clients have not said to it is lost
        self.world.restart_broker()
        self.rest()

    # -- what must hold -----------------------------------------------------------------------------------

    @rule()
    def rest(self) -> None:
        """All settles, and everybody was told rightly."""
        self.expectations.rest()

    def end(self) -> None:
        """Everybody comes back, and then something happens near each of them."""
        for name in PEOPLE:
            self.come_back(name, None)
        self.rest()
        for name in PEOPLE:
            self.publish_near(name)
        self.world.publish(PUBLISHER)
        self.rest()

    def teardown(self) -> None:
        failure = sys.exc_info()[1]
        with self._stack:
            if hasattr(self, "expectations") and failure is None:
                try:
                    self.end()
                except Exception as error:
                    self._write(error)
                    raise
            elif hasattr(self, "world") and isinstance(failure, Exception):
                self._write(failure)

    def _write(self, failure: BaseException) -> None:
        """Say in the failure where the scenario is that replays it, or why there is none."""
        name = type(self).__name__
        try:
            path = write_replay(self.world, self.replays / f"{name}.yaml", f"{name} failed: {failure}")
        except NotReplayable as error:
            failure.add_note(f"there is no scenario that replays it: {error}")
        else:
            failure.add_note(f"bypass run {path} replays it")
