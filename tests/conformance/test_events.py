"""Who is told of an event, in the simulator and live: the same people, once for each subscription."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bypass.errors import InvalidRadius
from bypass.events.filters import Subscription, attr
from bypass.testing.worlds.world import SmallWorld

Make = Callable[..., SmallWorld]


def test_plain_placed_and_local_events(make_world: Make) -> None:
    world = make_world()
    (near,) = world.enter("near", (100.0, 100.0), 50)
    (far,) = world.enter("far", (600.0, 600.0), 50)
    (anywhere,) = world.enter("anywhere", (900.0, 100.0), None)
    world.enter("publisher", (120.0, 100.0))
    world.settle()
    plain = world.publish("publisher")
    placed = world.publish("publisher", (610.0, 600.0))
    local = world.publish_local("publisher")
    nowhere = world.publish("publisher", (400.0, 400.0))
    world.settle()
    assert world.heard(plain) == [("anywhere", anywhere), ("far", far), ("near", near)]
    assert world.heard(placed) == [("anywhere", anywhere), ("far", far)]
    assert world.heard(local) == [("anywhere", anywhere), ("near", near)]
    assert world.heard(nowhere) == [("anywhere", anywhere)]


def test_the_border_of_a_radius_belongs_to_it(make_world: Make) -> None:
    world = make_world()
    (small,) = world.enter("a", (300.0, 400.0), 50)
    (large,) = world.enter("b", (300.0, 400.0), 51)
    world.enter("publisher", (0.0, 0.0))
    world.settle()
    on_it = [world.publish("publisher", at) for at in [(350.0, 400.0), (270.0, 440.0), (300.0, 350.0)]]
    beyond = [world.publish("publisher", at) for at in [(350.0001, 400.0), (270.0, 440.0001)]]
    world.settle()
    assert [world.heard(event) for event in on_it] == [[("a", small), ("b", large)]] * 3
    assert [world.heard(event) for event in beyond] == [[("b", large)]] * 2


def test_areas_of_interest_go_where_people_go(make_world: Make) -> None:
    world = make_world()
    (mine,) = world.enter("a", (100.0, 100.0), 30)
    world.enter("publisher", (0.0, 0.0))
    for place in [(500.0, 500.0), (505.0, 520.0), (-200.0, 1500.0)]:
        before = world.people["a"].place
        world.move("a", place)
        world.settle()
        here, there = world.publish("publisher", place), world.publish("publisher", before)
        world.settle()
        assert world.heard(here) == [("a", mine)]
        assert world.heard(there) == ([("a", mine)] if before == (500.0, 500.0) else [])


def test_attributes_decide_as_well(make_world: Make) -> None:
    world = make_world()
    world.enter("a", (100.0, 100.0))
    cheap = world.subscribe("a", 100, Subscription((attr("kind") == "food", attr("price") < 5)))
    named = world.subscribe("a", None, attr("title").startswith("Früh"))
    world.enter("publisher", (100.0, 120.0))
    world.settle()
    events = [
        world.publish_local("publisher", kind="food", price=4),
        world.publish_local("publisher", kind="food", price=5),
        world.publish_local("publisher", kind="food"),
        world.publish_local("publisher", kind="food", price=1, title="Frühstück"),
        world.publish("publisher", (800.0, 800.0), kind="food", price=1, title="Frühling"),
        world.publish("publisher", price=1, title="früh"),
    ]
    world.settle()
    heard = [[subscription for _, subscription in world.heard(event)] for event in events]
    assert heard == [[cheap], [], [], [cheap, named], [named], []]


def test_what_an_event_has_arrives(make_world: Make) -> None:
    world = make_world()
    world.enter("a", (100.0, 100.0), None)
    world.enter("publisher", (0.0, 0.0))
    world.settle()
    event = world.publish("publisher", n=-3, big=2**40, x=0.1, text="Grüße\0", tags={"a", 7})
    world.settle()
    assert world.received == {event: world.published[event].event}


def test_every_subscription_of_a_client_is_told_once(make_world: Make) -> None:
    world = make_world()
    small, large, anywhere, again = world.enter("a", (100.0, 100.0), 20, 200, None, 200)
    world.enter("publisher", (0.0, 0.0))
    world.settle()
    near, far, plain = (
        world.publish("publisher", (110.0, 100.0)),
        world.publish("publisher", (250.0, 100.0)),
        world.publish("publisher"),
    )
    world.settle()
    everything = [("a", small), ("a", large), ("a", anywhere), ("a", again)]
    assert world.heard(near) == everything
    assert world.heard(far) == everything[1:]
    assert world.heard(plain) == everything


def test_what_was_unsubscribed_is_not_told_of_any_more(make_world: Make) -> None:
    world = make_world()
    first, second = world.enter("a", (100.0, 100.0), 100, None)
    world.enter("publisher", (100.0, 100.0))
    world.settle()
    both = world.publish_local("publisher")
    world.settle()
    world.unsubscribe("a", first)
    world.settle()
    one = world.publish_local("publisher")
    world.settle()
    world.unsubscribe("a", second)
    world.settle()
    none = world.publish_local("publisher")
    world.settle()
    third = world.subscribe("a", 10)
    world.settle()
    new = world.publish_local("publisher")
    world.settle()
    assert world.heard(both) == [("a", first), ("a", second)]
    assert world.heard(one) == [("a", second)]
    assert world.heard(none) == []
    assert world.heard(new) == [("a", third)]


@pytest.mark.parametrize("radius", [0, -1, 20_000_001])
def test_what_cannot_be_subscribed_is_refused(make_world: Make, radius: int) -> None:
    world = make_world()
    world.enter("a", (100.0, 100.0))
    with pytest.raises(InvalidRadius):
        world.subscribe("a", radius)
