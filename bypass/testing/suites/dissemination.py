"""The suite of dissemination mechanisms: promises that each of them keeps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.mechanisms.families import DISSEMINATION, Family
from bypass.testing.rules import Point
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.datagrams import DatagramWorld
from bypass.testing.worlds.radio import REACH, RadioWorld, cluster, row

LONG_S = 10.0
"""After so long nothing of an event goes on."""

TRIES = 10
"""Runs over which what is left to chance is averaged."""


class DisseminationSuite(MechanismSuite):
    """Devices in reach hear of an event, once, and then there is silence.

    Capabilities: `hops` is how far an event gets, if there is somebody in reach at each; None: as far as
    that. Within them a `share` of the devices hears of it: 1, all of them, always; less, so many on average.
    A device sends at most so many `frames` for one event. One that is not `live` is tested in virtual time
    alone.
    """

    family: ClassVar[Family] = DISSEMINATION
    defaults: ClassVar[Mapping[str, Any]] = {"hops": None, "share": 1.0, "frames": 1, "live": True}

    def devices(self, places: Sequence[Point], seed: int = 1, mode: str = "ad-hoc") -> RadioWorld:
        """Devices that all run this mechanism for their own events."""
        begin = {"mode": (mode, {}), "direct": (self.name, self.parameters)}
        return RadioWorld(places, begin, self.brought, seed)

    # -- who hears ----------------------------------------------------------------------------------------

    def test_everybody_in_reach_hears(self) -> None:
        """Devices close together publish, one after the other; the others hear each event, once."""

        def hears(number: int, publishers: list[int], seed: int) -> None:
            world = self.devices(cluster(number), seed)
            for count, publisher in enumerate(publishers, 1):
                event = world.publish(publisher % number)
                world.run()
                expected = [n for n in range(number) if n != publisher % number]
                heard = world.heard(event)
                assert heard == expected, f"event {count} was heard by {heard}, expected {expected}"

        self.for_all(
            hears,
            number=st.integers(2, 6),
            publishers=st.lists(st.integers(0, 5), min_size=4, max_size=8),
            seed=st.integers(0, 99),
        )

    def test_everybody_in_reach_hears_live_as_well(self) -> None:
        """Over UDP, on the loopback network; also what comes right after it, so that nothing comes twice."""
        if not self.capability("live"):
            return
        begin = {"mode": ("ad-hoc", {}), "direct": (self.name, self.parameters)}
        with closing(DatagramWorld(4, begin, self.brought)) as world:
            events = [world.publish(1) for _ in range(5)]
            for event in events:
                world.until_heard(event, [0, 2, 3])
            last = world.publish(2)
            world.until_heard(last, [0, 1, 3])
            assert [world.heard(event) for event in events] == [[0, 2, 3]] * 5

    def test_events_get_as_far_as_they_should(self) -> None:
        """In a row, each device hears from the next one alone."""
        number, shares = 6, []
        for seed in range(TRIES):
            publisher = seed % 3
            world = self.devices(row(number), seed)
            event = world.publish(publisher)
            world.run()
            far = number if self.capability("hops") is None else self.capability("hops")
            within = {n for n in range(number) if 0 < abs(n - publisher) <= far}
            heard = set(world.heard(event))
            assert heard <= within, (
                f"device {publisher} in a row published, {heard} heard: {far} hops at most"
            )
            shares.append(len(heard) / len(within))
        mean = sum(shares) / len(shares)
        assert mean >= self.capability("share"), (
            f"{mean:.0%} of those within reach heard: expected {self.capability('share'):.0%}"
        )

    def test_nobody_is_told_twice(self) -> None:
        """Wherever devices are, and whoever publishes: a device is told of an event of others once."""

        def once(places: list[Point], publishers: list[int], seed: int) -> None:
            world = self.devices(places, seed)
            own = {}
            for publisher in publishers:
                own[world.publish(publisher % len(places))] = publisher % len(places)
                world.run(0.003)
            world.run()
            for event, publisher in own.items():
                heard = world.heard(event)
                assert len(heard) == len(set(heard)), f"event {event} was told twice: {heard}"
                assert publisher not in heard, f"device {publisher} was told of its own event"
                near = {n for n, at in enumerate(places) if _in_chain(places, publisher, n)}
                assert set(heard) <= near, f"{heard} heard, of whom some are out of reach of all others"
            assert not any(world.repeated()), f"listeners were told again: {world.repeated()} times"

        metres = st.integers(0, 250).map(float)
        self.for_all(
            once,
            places=st.lists(st.tuples(metres, metres), min_size=2, max_size=7),
            publishers=st.lists(st.integers(0, 6), min_size=1, max_size=4),
            seed=st.integers(0, 99),
        )

    def test_an_event_comes_to_an_end(self) -> None:
        """A device sends few frames for an event, and none after a while."""
        for places in (cluster(5), row(5)):
            counts = []
            for publishes in (True, False):
                world = self.devices(places)
                if publishes:
                    world.publish(1)
                world.run(LONG_S)
                early = world.frames()
                world.run(LONG_S)
                counts.append((early, world.frames()))
            (early, late), (idle, later) = counts
            more = [e - i for e, i in zip(early, idle, strict=True)]
            assert max(more) <= self.capability("frames"), (
                f"devices sent {more} frames for one event: at most {self.capability('frames')}"
            )
            after = [e - i for e, i in zip(late, later, strict=True)]
            assert after == more, f"after {LONG_S:g} s devices went on sending: {after} frames, {more} before"

    def test_a_run_is_the_same_each_time(self) -> None:
        def run(seed: int) -> tuple[list[tuple[float, int, int]], list[int]]:
            world = self.devices([*row(4), *cluster(3)], seed)
            for publisher in (0, 5, 2):
                world.publish(publisher)
                world.run(0.1)
            world.run()
            return world.told, world.frames()

        def repeats(seed: int) -> None:
            assert run(seed) == run(seed), "the same seed gave another run"

        self.for_all(repeats, seed=st.integers(0, 2**32))

    # -- others -------------------------------------------------------------------------------------------

    def test_it_can_be_exchanged(self) -> None:
        """After transitions from and to each built-in mechanism devices hear each other as before."""
        for other in self.others:
            world = self.devices(cluster(4))
            for name in (other, self.name):
                for client in range(4):
                    record = world.change(client, "direct", name)
                    assert record.outcome == "done", f"to {name}: {record.outcome} {record.error}"
                event = world.publish(1)
                world.run()
                assert world.heard(event) == [0, 2, 3], f"after a transition to {name}"

    def test_neighbours_follow(self) -> None:
        """Devices that hear the frames of one that was told to exchange its mechanism do so, too."""
        for other in self.others:
            for here, there in ((other, self.name), (self.name, other)):
                world = RadioWorld(cluster(4), {"mode": ("augment", {}), "direct": (here, {})}, self.brought)
                world.plan("direct", there, 2, decision=world.system.broker.rollout.decide(0))
                world.run()
                event = world.publish_local(2)
                world.run()
                assert world.active("direct") == [there] * 4, f"from {here}: {world.active('direct')}"
                assert world.heard(event) == [0, 1, 3]


def _in_chain(places: Sequence[Point], start: int, end: int) -> bool:
    """Whether one device reaches another, over others in between."""
    reached, new = {start}, {start}
    while new:
        new = {
            n
            for n, at in enumerate(places)
            if n not in reached and any(math.dist(at, places[m]) <= REACH for m in new)
        }
        reached |= new
    return end in reached
