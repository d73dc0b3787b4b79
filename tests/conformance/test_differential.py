"""Whatever people and operators do: the simulator and the live system tell the same people the same."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bypass.testing.worlds.live import LiveWorld
from bypass.testing.worlds.people import SCHEMES
from bypass.testing.worlds.simulated import SimulatedWorld
from bypass.testing.worlds.world import SmallWorld
from tests.conftest import Point

pytestmark = pytest.mark.slow

NAMES = ("a", "b", "c", "d")
# Inside and outside circles and near their borders, near borders of cells, outside the area.
PLACES: list[Point] = [
    (250.0, 300.0), (300.0, 320.0), (350.0, 300.0), (415.0, 300.0), (195.0, 330.0), (210.0, 390.0),
    (600.0, 600.0), (599.0, 400.0), (810.0, 790.0), (-20.0, 1015.0),
]  # fmt: skip

names = st.sampled_from(NAMES)
places = st.sampled_from(PLACES)
radii = st.sampled_from([None, 30, 100, 250])


@dataclass(frozen=True)
class Publish:
    """Plain without a place; `local` where the publisher is."""

    name: str
    at: Point | None = None
    local: bool = False


@dataclass(frozen=True)
class Move:
    name: str
    to: Point


@dataclass(frozen=True)
class Subscribe:
    name: str
    radius: int | None


@dataclass(frozen=True)
class Unsubscribe:
    """The oldest subscription."""

    name: str


@dataclass(frozen=True)
class ComeOrGo:
    """Whoever is there leaves for good; whoever is not comes back."""

    name: str


@dataclass(frozen=True)
class Transition:
    """Of everybody, or of those of `members` who are there."""

    to: str
    members: frozenset[str] | None


@dataclass(frozen=True)
class Cells:
    """Another number of cells, where there are cells."""

    n: int


Change = Move | Subscribe | Unsubscribe | ComeOrGo | Transition | Cells

steps = st.one_of(
    st.builds(Publish, names, st.none() | places),
    st.builds(Publish, names, local=st.just(True)),
    st.builds(Move, names, places),
    st.builds(Subscribe, names, radii),
    st.builds(Unsubscribe, names),
    st.builds(ComeOrGo, names),
    st.builds(Transition, st.sampled_from(SCHEMES), st.none() | st.frozensets(names, min_size=1)),
    st.builds(Cells, st.sampled_from([3, 10])),
)


def perform(
    world: SmallWorld, start: Sequence[Point], script: Sequence[Publish | Change]
) -> dict[int, list[tuple[str, int]]]:
    """Who was told of each event. Publications follow each other at once, all else waits and is waited for.

    After each step there is something everywhere, so that what the step has changed shows.
    """
    for name, place in zip(NAMES, start, strict=True):
        world.enter(name, place, 100)
    world.enter("observer", (0.0, 0.0))
    world.settle()
    for step in script:
        if not isinstance(step, Publish):
            world.settle()
            apply(world, step)
            world.settle()
            observe(world)
        elif world.people[step.name].present:
            publish(world, step)
    world.settle()
    return {event: world.heard(event) for event in world.published}


def publish(world: SmallWorld, step: Publish) -> None:
    if step.local:
        world.publish_local(step.name)
    else:
        world.publish(step.name, step.at)


def apply(world: SmallWorld, step: Change) -> None:
    """Do one step, unless it is for somebody who is away."""
    present = {name for name, person in world.people.items() if person.present}
    match step:
        case Move(name, to) if name in present:
            world.move(name, to)
        case Subscribe(name, radius) if name in present:
            world.subscribe(name, radius)
        case Unsubscribe(name) if name in present and world.people[name].interests:
            world.unsubscribe(name, min(world.people[name].interests))
        case ComeOrGo(name) if name in present:
            world.leave(name, for_good=True)
        case ComeOrGo(name):
            world.come_back(name)
        case Transition(to, None):
            assert world.execute(to).outcome in ("done", "skipped")
        case Transition(to, members) if members and members & world.serving().keys():
            served = sorted(members & world.serving().keys())
            assert world.execute(to, served).outcome in ("done", "skipped")
        case Cells(n):
            assert world.execute(grid=n).outcome in ("done", "skipped")


def observe(world: SmallWorld) -> None:
    """Publish everywhere: it reaches exactly whom it should among those whom RADIAL serves."""
    served = {name for name, serving in world.serving().items() if serving.scheme == "radial"}
    events = [world.publish("observer", place) for place in PLACES]
    world.settle()
    for event in events:
        heard = [each for each in world.heard(event) if each[0] in served]
        assert heard == [each for each in world.selected(event) if each[0] in served]


@settings(
    max_examples=16,
    deadline=None,
    derandomize=True,
    print_blob=True,
    phases=[Phase.explicit, Phase.generate],  # each try takes seconds: shrinking would take too long
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    scheme=st.sampled_from(SCHEMES),
    start=st.lists(places, min_size=len(NAMES), max_size=len(NAMES)),
    script=st.lists(steps, min_size=4, max_size=12),
)
def test_both_worlds_tell_the_same_people(
    scheme: str, start: list[Point], script: list[Publish | Change]
) -> None:
    with closing(SimulatedWorld(scheme, {})) as world:
        expected = perform(world, start, script)
    with tempfile.TemporaryDirectory() as folder, closing(LiveWorld(scheme, {}, Path(folder))) as live:
        assert perform(live, start, script) == expected
