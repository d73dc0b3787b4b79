"""The suite of filter schemes: promises that each of them keeps."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from inspect import getsourcefile
from pathlib import Path
from typing import Any
from unittest import SkipTest

from hypothesis import strategies as st

from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER, FILTER_PROXY
from bypass.mechanisms.filters import FilterClient
from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.areas import Area
from bypass.places.region import Region
from bypass.places.sensor import Fix
from bypass.protocol.messages import ContextMessage
from bypass.protocol.scheme_context import SchemeContext
from bypass.protocol.wire import decode, encode
from bypass.support.extensions import file_of
from bypass.testing.rules import Point
from bypass.testing.strategies import areas, interests, places, radii
from bypass.testing.suites.scheme_service import SchemeServiceSuite
from bypass.testing.worlds.assertions import assert_nothing_lost, assert_told_rightly
from bypass.testing.worlds.people import CROWD, SPOTS, assert_events_arrive, gather
from bypass.testing.worlds.world import SmallWorld

Crowd = Sequence[tuple[Point, Sequence[int | None]]]

WITHOUT = """
import sys
from importlib.machinery import PathFinder
found = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in ("numpy", "numba") else found(name, path, target)
PathFinder.find_spec = find_spec
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER
registry = Registry([sys.argv[1]] if sys.argv[1] else [])
registry.find("client", "filter", sys.argv[2])
"""


class FilterSchemeSuite(SchemeServiceSuite):
    """People hear of each event that concerns them, once, whoever moves and whatever is exchanged."""

    # -- who is told --------------------------------------------------------------------------------------

    def test_nobody_whom_an_event_concerns_misses_it(self) -> None:
        """People subscribe and move, again and again; then something happens near each of them."""
        self.for_all(self._who_moves_is_found, **_strolls(self.region))

    def test_whoever_wants_areas_is_told_of_what_lies_in_them(self) -> None:
        """Areas are subscribed and changed, people move, and parameters and schemes are exchanged: nobody is
        told of anything that is not in its areas."""
        fixed = interests(self.region).filter(lambda interest: not interest.relative)
        wanted = interests(self.region) if self.is_built_in else fixed  # others report places as they like
        where = places(self.region)
        person = st.tuples(where, st.lists(wanted, min_size=1, max_size=2))
        self.for_all(
            self._areas_are_kept,
            crowd=st.lists(person, min_size=1, max_size=3),
            others=st.lists(areas(self.region), min_size=1, max_size=3),
            spots=st.lists(where, min_size=2, max_size=5),
            through=st.sampled_from(self.others),
        )

    def _areas_are_kept(
        self,
        crowd: Sequence[tuple[Point, Sequence[AreaOfInterest]]],
        others: Sequence[Area],
        spots: Sequence[Point],
        through: str,
    ) -> None:
        world = self.simulated()
        world.enter("publisher", spots[0])
        for n, (place, wanted) in enumerate(crowd):
            world.enter(f"p{n}", place)
            for interest in wanted:
                world.subscribe_areas(f"p{n}", interest)
        self._tell_all(world, spots)
        for n, (spot, area) in enumerate(zip(spots, others, strict=False)):
            world.move(f"p{n % len(crowd)}", spot)
            name, person = "p0", world.people["p0"]
            for number, wish in person.interests.items():
                if wish.interest is not None and not wish.interest.relative:
                    world.change_areas(name, number, [area])
        self._tell_all(world, spots)
        for target in (through, self.name):
            assert world.execute(target).outcome == "done"
            self._tell_all(world, spots)

    def _tell_all(self, world: SmallWorld, spots: Sequence[Point]) -> None:
        world.settle()
        events = [world.publish("publisher", at) for at in spots]
        near = [person.place for name, person in world.people.items() if name != "publisher"]
        events += [world.publish("publisher", (x + 20.0, y)) for x, y in near]
        events += [world.publish_local("publisher"), world.publish("publisher")]
        world.settle()
        assert_told_rightly(world, events)

    def test_a_scheme_is_the_same_each_time(self) -> None:
        """The same people, movements and seed give the same deliveries."""

        def repeats(crowd: Crowd, moves: list[list[tuple[int, Point]]], spots: list[Point]) -> None:
            runs = [self._perform(crowd, moves, spots) for _ in range(2)]
            assert runs[0].deliveries == runs[1].deliveries, "the same run gave other deliveries"

        self.for_all(repeats, **_strolls(self.region))

    def _who_moves_is_found(
        self, crowd: Crowd, moves: list[list[tuple[int, Point]]], spots: list[Point]
    ) -> None:
        self._perform(crowd, moves, spots)

    def _perform(self, crowd: Crowd, moves: list[list[tuple[int, Point]]], spots: list[Point]) -> SmallWorld:
        world = self.simulated()
        world.enter("publisher", spots[0])
        for n, (place, wanted) in enumerate(crowd):
            world.enter(f"p{n}", place, *wanted)
        world.settle()
        for turn in ([], *moves):
            for n, place in turn:
                world.move(f"p{n % len(crowd)}", place)
            world.settle()
            near = [(x + 20.0, y) for x, y in (p.place for p in world.people.values())]
            where = [*spots, *(person.place for person in world.people.values()), *near]
            events = [world.publish("publisher", at) for at in where]
            events += [world.publish_local("p0"), world.publish("publisher")]
            world.settle()
            assert_told_rightly(world, events)
        return world

    # -- transitions --------------------------------------------------------------------------------------

    def test_transitions_lose_nothing(self) -> None:
        """From each built-in scheme to this one and back, of all people and of some, while events come."""
        for other in self.others:
            world = self.simulated(other)
            gather(world)
            for target in (self.name, other, self.name):
                self._exchange(world, target)
            self._exchange(world, other, ["ann", "bob", "fay"])
            assert_events_arrive(world)

    def test_state_survives(self) -> None:
        """Subscriptions, places and parameters are there after a transition to another scheme and back."""
        for other in self.others:
            world = self.simulated()
            gather(world)
            known, parameters = _known(world), world.serving()["ann"].settings
            for target in (other, self.name):
                world.execute(target)
                world.settle()
                assert _known(world) == known, f"in the transition to {target} the broker forgot people"
            assert world.serving()["ann"].settings == parameters, "parameters are others than before"

    def _exchange(self, world: SmallWorld, target: str, members: Sequence[str] | None = None) -> None:
        before = world.serving()
        with world.publishing("bob", SPOTS) as events:
            record = world.execute(target, members)
            world.settle()
        world.settle()
        assert record.outcome == "done", f"transition to {target}: {record.outcome} {record.error}"
        moved = CROWD if members is None else members
        assert {world.running(name) for name in moved} == {target}
        assert_nothing_lost(world, events, before)

    # -- clients ------------------------------------------------------------------------------------------

    def test_clients_need_no_arrays(self) -> None:
        """The scheme can be imported where neither numpy nor numba is."""
        source = self._source()
        done = subprocess.run(  # noqa: S603 - of what is under test
            [sys.executable, "-c", WITHOUT, source, self.name], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"without numpy: {done.stderr.strip().splitlines()[-1]}"

    def test_what_clients_say_survives_the_wire(self) -> None:
        world = self.simulated()
        gather(world)
        contexts = Registry(self.brought).contexts()

        def survives(at: Point, speed: Point) -> None:
            part = world.at_client("ann", lambda client: client.engine.active(FILTER_PROXY))
            assert isinstance(part, FilterClient)
            message = part.context(Fix(*at, *speed, world.now()))
            message.scheme = world.at_client("ann", lambda client: client.network.flag)
            if isinstance(message, SchemeContext):
                message.of_scheme = message.scheme  # as the network does
            again = decode(encode(message), contexts)
            assert again == message, f"{message} came as {again}"
            assert isinstance(again, ContextMessage)
            found = world.at_broker(lambda broker: broker.filter_schemes[0].place_of(again))
            assert found is None or all(map(math.isfinite, found))

        speeds = st.integers(-30, 30).map(float)
        self.for_all(survives, at=places(self.region), speed=st.tuples(speeds, speeds))

    @property
    def is_built_in(self) -> bool:
        """Whether the scheme is one of the product's own."""
        return not self.brought or self.kind in Registry().kinds(FILTER).values()

    def _source(self) -> str:
        """A reference by which another process finds the scheme; empty if it is built in."""
        if self.is_built_in:
            return ""
        if isinstance(self.mechanism, str) and file_of(self.mechanism) is None:
            return self.mechanism
        file = getsourcefile(self.kind) if isinstance(self.mechanism, type) else file_of(self.mechanism)
        if file == getsourcefile(type(self)):
            raise SkipTest("the scheme is in the file of its test, which clients do not import")
        return f"{file}:{self.kind.__qualname__}"

    # -- live ---------------------------------------------------------------------------------------------

    def test_it_serves_live_as_well(self) -> None:
        """A broker and clients over sockets: from RADIAL to this scheme, and back if it is another one."""
        if not self.capability("live"):
            return
        with tempfile.TemporaryDirectory() as folder, closing(self.live(Path(folder))) as world:
            gather(world)
            assert_events_arrive(world)
            for target in {"radial", self.name} - {self.name}:
                self._exchange(world, target)
                self._exchange(world, self.name)
            assert_events_arrive(world)


def _strolls(region: Region) -> dict[str, st.SearchStrategy[Any]]:
    """People with subscriptions, who moves where in each of some turns, and places of events."""
    where = places(region)
    person = st.tuples(where, st.lists(radii(), min_size=1, max_size=3))
    turn = st.lists(st.tuples(st.integers(0, 3), where), min_size=1, max_size=3)
    return {
        "crowd": st.lists(person, min_size=1, max_size=4),
        "moves": st.lists(turn, min_size=2, max_size=3),
        "spots": st.lists(where, min_size=1, max_size=4),
    }


def _known(world: SmallWorld) -> dict[str, tuple[list[int], bool]]:
    """The subscriptions that the broker has of everybody, and whether it knows where its owner is."""

    def ask(number: int) -> Callable[[Any], tuple[list[int], bool]]:
        def answer(broker: Any) -> tuple[list[int], bool]:
            table = broker.table
            rows = table.rows_of(number)
            return sorted(table.handle[rows].tolist()), table.place(number) is not None

        return answer

    return {name: world.at_broker(ask(world.number(name))) for name in CROWD}
