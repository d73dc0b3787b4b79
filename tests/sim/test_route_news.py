"""The link keeps from nodes only announcements that are no news: with and without it, runs are the same."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bypass.mechanisms.routing.distance_vectors import BROKEN, WayTable
from bypass.mechanisms.routing.dsdv import Dsdv
from bypass.protocol.datagrams import Datagram, DatagramScope, NodeAddress, RouteEntry, RouteTable
from bypass.protocol.storage import Decision
from bypass.sim.clock import VirtualClock
from bypass.sim.route_news import FOLLOWS, RouteNews
from bypass.testing.rules import Point
from bypass.testing.worlds.storage import StorageWorld
from bypass.transitions import Action, Plan

NODES = 5
SECONDS = 1_000_000
DECISION = Decision(1, 64, 0)

entries = st.builds(
    RouteEntry,
    st.integers(0, NODES),  # the last one is nobody whom the link knows
    st.sampled_from((0, 1, 2, 3, BROKEN - 1, BROKEN)),
    st.integers(0, 7),
)
announcements = st.tuples(
    st.just("learn"), st.integers(1, NODES), st.lists(entries, min_size=1, max_size=4).map(tuple)
)
steps = st.lists(
    announcements
    | announcements
    | announcements
    | st.tuples(st.just("wait"), st.integers(0, 4 * SECONDS))
    | st.tuples(st.just("lose"), st.integers(1, NODES))
    | st.tuples(st.just("expire"))
    | st.tuples(st.just("news"))
    | st.tuples(st.just("whole")),
    max_size=60,
)


def announcement(sender: int, told: tuple[RouteEntry, ...], **values: Any) -> Datagram:
    """The announcement that a node sends to all in reach."""
    datagram = Datagram(1, NodeAddress(sender), (), DatagramScope.HOP, RouteTable(told), client=sender)
    datagram.epoch, datagram.scheme, datagram.initiator = DECISION
    return dataclasses.replace(datagram, **values)


class Listener:
    """Node 0 of a simulation, by its table of ways alone, with a link that keeps what is no news."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.news = RouteNews(self.clock, NODES)
        self.known = self.news.of(0)
        self.known.follow(DECISION, "")
        self.table = WayTable(0, 5.0, 0.875, self.known)
        self.plain = WayTable(0, 5.0, 0.875)  # hears everything
        self.heard_at: dict[int, float] = {}
        self.kept = 0

    def hear(self, sender: int, told: tuple[RouteEntry, ...]) -> None:
        now = self.clock.now()
        if self.news.concerned(announcement(sender, told), [0]):
            if sender not in self.heard_at:
                self.known.met(sender)
            found = self.table.learn(told, sender, now, ())
        else:
            self.kept += 1
            found = []
            assert self.known.heard_at(sender) == now
        self.heard_at[sender] = now
        assert found == self.plain.learn(told, sender, now, ())

    def check(self) -> None:
        """Both tables know the same, and will say the same."""
        mine, other = self.table, self.plain
        assert (mine.sequence, mine.earliest, mine._changed) == (
            other.sequence,
            other.earliest,
            other._changed,
        )
        assert list(mine._changed) == list(other._changed)
        assert list(mine._ways) == list(other._ways)
        for node, way in mine._ways.items():
            heard_at = max(way.heard_at, self.known.confirmed_at(node))
            assert dataclasses.replace(way, heard_at=heard_at) == other._ways[node]


@given(steps)
@settings(deadline=None, max_examples=300)
def test_what_is_kept_would_have_changed_times_alone(taken: list[tuple[Any, ...]]) -> None:
    listener = Listener()
    for kind, *values in taken:
        now = listener.clock.now()
        both = listener.table, listener.plain
        match kind:
            case "learn":
                listener.hear(*values)
            case "wait":
                listener.clock.now_us += values[0]
            case "lose":
                assert both[0].lose(values[0], now) == both[1].lose(values[0], now)
            case "expire":
                for table in both:
                    table.expire(now - 6.0, now)
            case "news":
                assert both[0].news(now) == both[1].news(now)
            case _:
                assert both[0].whole(now) == both[1].whole(now)
        assert both[0].take_broken() == both[1].take_broken()
        listener.check()


def test_what_is_known_is_kept() -> None:
    listener, told = Listener(), (RouteEntry(1, 0, 4), RouteEntry(2, 1, 6), RouteEntry(3, BROKEN, 5))
    listener.hear(1, told[:2])
    assert listener.kept == 0
    for _ in range(3):
        listener.clock.now_us += SECONDS
        listener.hear(1, told[:2])
    assert listener.kept == 3
    listener.hear(3, told[:2])  # a neighbour that was not heard before
    listener.hear(3, told[:2])
    listener.hear(1, (RouteEntry(0, 1, 0),))  # of the node itself, which has said nothing yet
    assert listener.kept == 4
    listener.table.whole(3.0)
    listener.hear(1, (RouteEntry(0, 1, 2),))
    listener.hear(1, told)  # of a node that is not known
    assert listener.kept == 5


@pytest.mark.parametrize(
    "values", [{"epoch": 2}, {"scheme": 65}, {"initiator": 1}, {"namespace": "other"}], ids=str
)
def test_nothing_of_another_decision_or_namespace_is_kept(values: dict[str, Any]) -> None:
    listener, told = Listener(), (RouteEntry(1, 0, 4),)
    listener.hear(1, told)
    listener.hear(1, told)
    assert listener.kept == 1
    assert listener.news.concerned(announcement(1, told, **values), [0]) == [0]
    listener.known.follow(Decision(0, 0, 0), "")
    assert listener.news.concerned(announcement(1, told), [0]) == [0]


def test_a_way_that_was_forgotten_is_news_again() -> None:
    listener, told = Listener(), (RouteEntry(2, 1, 6),)
    listener.hear(1, told)
    for _ in range(2):  # first it is broken
        listener.clock.now_us += 10 * SECONDS
        for table in (listener.table, listener.plain):
            table.expire(listener.clock.now() - 5.0, listener.clock.now())
    listener.hear(1, told)
    listener.check()
    assert (listener.kept, listener.table.metric(2)) == (0, 2)


def test_a_node_that_begins_anew_hears_everything() -> None:
    listener, told = Listener(), (RouteEntry(1, 0, 4),)
    listener.hear(1, told)
    listener.hear(1, told)
    known = listener.news.of(0)
    known.follow(DECISION, "")
    assert listener.news.concerned(announcement(1, told), [0]) == [0]
    assert known.heard_at(1) < 0.0
    assert known.confirmed_at(1) < 0.0


# -- whole systems -------------------------------------------------------------------------------------

SPOTS: list[Point] = [(60.0 * k, 30.0 * (k % 3)) for k in range(7)]
numbers = st.integers(0, len(SPOTS) - 1)
events = st.lists(
    st.tuples(st.sampled_from(("leave", "join", "insert", "ask")), numbers)
    | st.tuples(st.just("move"), numbers, st.sampled_from([*SPOTS, (1e4, 1e4)]))
    | st.tuples(st.just("decide"), numbers, st.sampled_from(("local", "server", "one-hop", "other", "slow")))
    | st.tuples(st.just("wait"), st.sampled_from((0.02, 1.0, 5.0, 20.0))),
    min_size=3,
    max_size=12,
)


def plan(what: str) -> Plan:
    routing = Action(proxy="routing", to="one-hop" if what == "one-hop" else "dsdv")
    if what == "other":
        routing = routing.model_copy(update={"set": {"namespace": "other"}})
    if what == "slow":
        routing = routing.model_copy(update={"set": {"update_s": 4.0}})
    storage = Action(proxy="storage", to="server" if what == "server" else "local")
    return Plan(plan=what, actions=(routing, storage))


class Story:
    """Nodes that do what they are told; `said` is all that they send, with times, and what they know then."""

    def __init__(self, taken: list[tuple[Any, ...]]) -> None:
        self.said: list[Any] = []
        self.world = StorageWorld(SPOTS, ("local", {}), ("dsdv", {"update_s": 2.0}))
        self.world.system.monitor.register(self)
        self.world.run(5.0)
        for kind, *values in taken:
            self.take(kind, *values)
        self.world.run(10.0)
        self.look()

    def datagram_sent(self, node: int, datagram: Datagram, neighbour: int | None) -> None:
        self.said.append((self.world.system.clock.now_us, node, neighbour, repr(datagram)))

    def datagram_received(self, datagram: Datagram, nodes: list[int]) -> None:
        self.said.append((datagram.id, *nodes))

    def take(self, kind: str, *values: Any) -> None:
        world = self.world
        if kind == "wait":
            world.run(values[0])
            self.look()
            return
        node = values[0]
        if kind == "move":
            world.places[node] = values[1]
        elif kind == "join" and node in world.gone:
            world.join(node)
        elif node in world.gone:
            return
        elif kind == "leave" and len(world.present) > 2:
            world.leave(node)
        elif kind == "insert":
            world.insert(node, "a")
        elif kind == "ask":
            world.ask(node, "a")
        elif kind == "decide":
            world.client(node).decide(plan(values[1]))

    def look(self) -> None:
        for node in self.world.present:
            client = self.world.client(node)
            decisions = client.node.decisions
            active = client.engine.active("routing")
            news, namespace = self.world.system.local.news, active.settings()["namespace"]
            assert news.nodes[node, FOLLOWS] == news.number_of((*decisions.current, namespace))
            self.said.append((decisions.obsolete, decisions.newer, client.node.routing.neighbours()))
            if isinstance(active, Dsdv):
                self.said.append([(other, active.hops_to(other)) for other in range(len(SPOTS))])


LATE = [("decide", 0, "slow"), ("wait", 5.0), ("leave", 3), ("wait", 1.0), ("join", 3), ("wait", 5.0)]
"""A node begins with a decision that others have followed before."""


@given(events)
@example(LATE)
@settings(deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))
def test_all_that_nodes_say_is_the_same_if_they_hear_everything(taken: list[tuple[Any, ...]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        kept = 0
        concerned = RouteNews.concerned

        def counting(news: RouteNews, datagram: Datagram, stations: list[int]) -> list[int]:
            nonlocal kept
            left = concerned(news, datagram, stations)
            kept += len(stations) - len(left)
            return left

        patch.setattr(RouteNews, "concerned", counting)
        story = Story(taken)
        assert kept > 0
        patch.setattr(RouteNews, "concerned", lambda _news, _datagram, stations: stations)
        assert Story(taken).said == story.said


def routing(world: StorageWorld, node: int) -> Dsdv:
    active = world.client(node).engine.active("routing")
    assert isinstance(active, Dsdv)
    return active


def test_failures_before_a_neighbour_was_heard_do_not_count() -> None:
    """The link has noted that it was heard, and its node was not called."""
    world = StorageWorld(SPOTS[:2], ("local", {}), ("dsdv", {}))
    world.run(20.0)
    mine = routing(world, 0)
    lost = mine.datagram(RouteTable(), DatagramScope.ROUTED)
    for later, known in ((0.0, 1), (0.5, 1), (0.0, None)):
        world.run(later)
        if later:
            mine.known.met(1)  # as if the link had kept an announcement now
        mine._failed_at(lost, (), 1)
        assert mine.hops_to(1) == known


def test_nothing_is_kept_from_a_node_with_another_routing() -> None:
    world = StorageWorld(SPOTS[:2], ("local", {}), ("dsdv", {}))
    world.run(20.0)
    known = routing(world, 0).known
    assert known.heard_at(1) > 0.0
    assert world.decide(0, "local", "one-hop").ok
    assert known.heard_at(1) < 0.0


def test_a_datagram_to_a_cell_may_come_in_parts_after_nodes_had_an_edge() -> None:
    """The first parts of a long one complete it at nobody."""
    places = [(100.0 + 2 * node, 100.0) for node in range(3)]
    world = StorageWorld(places, ("cells", {}), ("access-point", {}), edges=[(100.0, 90.0)])
    world.run(5.0)
    assert world.decide(0, "cells", "cells").ok
    world.run(8.0)
    assert world.active("routing") == ["cells"] * 3
    inserted = world.insert(0, "a", size=5000)
    world.run(5.0)
    assert inserted.acknowledged
    stores = [world.client(node).objects.store for node in range(3)]
    assert all(each.get(inserted.metadata.key) is not None for each in stores)
