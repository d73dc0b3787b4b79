"""Tests of how a filter scheme serves people: the same in virtual time and live."""

from __future__ import annotations

from bypass.testing.suites.scheme_suite import SchemeSuite
from bypass.testing.worlds.assertions import assert_nothing_lost, assert_told_rightly
from bypass.testing.worlds.people import CROWD, SPOTS, assert_events_arrive, gather
from bypass.testing.worlds.world import SmallWorld


class SchemeServiceSuite(SchemeSuite):
    """People who stand, move, come late, leave, return and are served by one scheme after the other are told
    what the scheme promises."""

    @property
    def another(self) -> str:
        """A built-in scheme that is not this one."""
        return "radial" if self.name != "radial" else "multi"

    def test_events_reach_whom_the_scheme_selects(self) -> None:
        def reach(world: SmallWorld) -> None:
            gather(world)
            assert [world.running(name) for name in CROWD] == [self.name] * len(CROWD)
            assert {world.serving()[name].scheme for name in CROWD} == {self.name}
            assert_events_arrive(world)

        self.in_worlds(reach)

    def test_people_who_move_are_found(self) -> None:
        """From cell to cell, into circles and out of them, and beyond the region."""

        def found(world: SmallWorld) -> None:
            gather(world)
            for name, place in {
                "ann": (810.0, 770.0),
                "cid": (610.0, 605.0),
                "fay": (295.0, 305.0),
                "hal": (-40.0, 1010.0),
                "publisher": (805.0, 780.0),
            }.items():
                world.move(name, place)
            world.settle()
            assert_events_arrive(world)

        self.in_worlds(found)

    def test_nobody_is_told_of_its_own_events(self) -> None:
        def not_told(world: SmallWorld) -> None:
            world.enter("a", (100.0, 100.0), 100, None)
            (other,) = world.enter("b", (100.0, 110.0), 100)
            world.settle()
            events = [world.publish_local("a"), world.publish("a", (100.0, 100.0)), world.publish("a")]
            world.settle()
            assert [world.heard(event) for event in events] == [[("b", other)]] * 3

        self.in_worlds(not_told)

    def test_who_comes_late_does_what_others_were_told(self) -> None:
        def late(world: SmallWorld) -> None:
            gather(world)
            world.execute(updates="hybrid", threshold=25.0, period=30.0)
            if self.name == "radial":
                world.execute("ste")
            world.execute(self.name)
            if "grid" in world.serving()["ann"].settings:
                world.execute(grid=4)
            world.enter("late", (280.0, 290.0), 80, None)
            world.enter("later", (620.0, 600.0))
            world.settle()
            world.subscribe("later", 120)
            world.settle()
            everybody = ("ann", "late", "later")
            settings = [
                world.at_client(name, lambda client: client.engine.active("filter").settings())
                for name in everybody
            ]
            assert settings[0] == settings[1] == settings[2]
            assert {world.running(name) for name in everybody} == {self.name}
            assert_events_arrive(world)

        self.in_worlds(late, "radial")

    def test_who_leaves_for_good_is_forgotten(self) -> None:
        def forgotten(world: SmallWorld) -> None:
            gather(world)
            numbers = [world.number(name) for name in ("ann", "bob")]
            for name in ("ann", "bob"):
                world.leave(name, for_good=True)
            world.settle()
            event = world.publish("publisher", (260.0, 310.0))
            world.settle()
            assert not {"ann", "bob"} & {name for name, _ in world.heard(event)}
            assert_told_rightly(world, [event])
            rows = world.at_broker(lambda broker: {each: len(broker.table.rows_of(each)) for each in numbers})
            assert rows == dict.fromkeys(numbers, 0)
            for name in ("ann", "bob"):
                world.come_back(name)
            world.settle()
            assert_events_arrive(world)
            assert not {"ann", "bob"} & {name for name, _ in world.heard(event)}

        self.in_worlds(forgotten)

    def test_who_returns_follows_what_has_happened_meanwhile(self) -> None:
        """It also gets what was published for it, and nothing twice."""

        def follows(world: SmallWorld) -> None:
            gather(world)
            mine = [("bob", number) for number in world.people["bob"].interests]
            world.leave("bob")
            early = world.publish("publisher", CROWD["bob"][0])
            world.execute(self.name)
            world.settle()
            late, plain = world.publish("publisher", CROWD["bob"][0]), world.publish("publisher")
            world.settle()
            assert not set(mine) & set(world.heard(early) + world.heard(late))
            world.come_back("bob")
            world.settle()
            for event in (early, late, plain):
                assert [each for each in world.heard(event) if each in mine] == mine
            assert world.running("bob") == world.serving()["bob"].scheme == self.name
            assert_events_arrive(world)

        self.in_worlds(follows, self.another)

    def test_some_people_are_served_by_this_scheme(self) -> None:
        def served(world: SmallWorld) -> None:
            gather(world)
            moved = ["ann", "bob", "fay"]
            before = world.serving()
            with world.publishing("bob", SPOTS) as events:
                record = world.execute(self.name, members=moved)
                world.settle()
            world.settle()
            assert (record.kind, record.outcome, record.members) == ("partial", "done", len(moved))
            for name in CROWD:
                expected = self.name if name in moved else self.another
                assert (name, world.running(name), world.serving()[name].scheme) == (name, expected, expected)
            assert_nothing_lost(world, events, before)
            assert_events_arrive(world)
            assert world.execute(self.another).outcome == "done"
            world.settle()
            assert {world.running(name) for name in CROWD} == {self.another}
            assert_events_arrive(world)

        self.in_worlds(served, self.another)
