"""Places that come and go while a broker runs: channels, subscriptions, plans and rules follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bypass.core.adaptation import Adaptation
from bypass.errors import InvalidLocation
from bypass.events.filters import attr
from bypass.places import Area, Place
from bypass.transitions import RuleBook

if TYPE_CHECKING:
    from tests.conftest import World

LAWN = Place.of_area("lawn", Area.polygon([(0, 0), (400, 0), (0, 400)]))
POND = Place("pond", 900.0, 900.0, 50.0)
SQUARE = Place("square", 600.0, 200.0, 100.0)
IN_LAWN, IN_SQUARE, ELSEWHERE = (100.0, 100.0), (620.0, 220.0), (500.0, 800.0)


@pytest.mark.parametrize("scheme", ["attract", "multi"])
def test_clients_listen_to_the_channels_of_new_places(new_world: type[World], scheme: str) -> None:
    world = new_world([IN_LAWN, IN_SQUARE, ELSEWHERE], attractions=(POND,), scheme=scheme)
    for client in range(3):
        world.subscribe(client, 50)
    world.run()
    filters: list[Any] = [client.engine.active("filter") for client in world.clients]
    before = {each.known.generation for each in filters}
    world.broker.places.change(put=[LAWN, SQUARE])
    world.run()
    assert [place.name for place in world.broker.places.all] == ["pond", "lawn", "square"]
    (generation,) = {each.known.generation for each in filters}
    assert {generation} != before
    assert [sorted(each.known.mine) for each in filters] == [
        [f"a{generation}:1"],
        [f"a{generation}:2"],
        [f"a{generation}:other"],
    ]
    world.broker.places.change(remove=["square"])
    world.run()
    assert [len(each.known.circles) for each in filters] == [2, 2, 2]


def test_a_subscription_to_a_place_follows_its_shape(new_world: type[World]) -> None:
    world = new_world([IN_LAWN, ELSEWHERE], attractions=(LAWN,), scheme="radial")
    told: list[int] = []
    world.clients[0].subscribe(
        attr("kind") == "news", lambda event, _: told.append(event["number"]), area=Area.of_place("lawn")
    )
    world.run()
    first = world.publish(1, (350.0, 350.0))
    world.run()
    world.broker.places.change(put=[Place.of_area("lawn", Area.box((0, 0), (400, 400)))])
    second = world.publish(1, (350.0, 350.0))
    world.run()
    world.broker.places.change(remove=["lawn"])
    third = world.publish(1, (350.0, 350.0))
    world.run()
    assert told == [second], (first, second, third)


def test_rules_know_places_by_numbers_that_stay(new_world: type[World]) -> None:
    book = RuleBook.from_yaml(
        "rules: [{rule: counted, on: density, when: area > 0 and count >= 0},"
        " {rule: located, on: location, when: client >= 0 and area >= 0}]"
    )
    world = new_world([IN_LAWN, IN_SQUARE], attractions=(LAWN, SQUARE), scheme="radial")
    rules = Adaptation(world.broker, book, world.broker.places.all).rules
    for client in range(2):
        world.subscribe(client, 50)
    world.run(3.0)
    rules.firings.clear()
    world.broker.places.change(remove=["lawn"])
    world.broker.places.change(put=[POND, Place("new lawn", 100.0, 100.0, 60.0)])
    counted = [f.facts for f in rules.firings if f.rule == "counted"]
    assert [(f["area"], f["count"]) for f in counted] == [(4, 1)]
    world.run(3.0)
    located = {f.facts["client"]: f.facts["area"] for f in rules.firings if f.rule == "located"}
    assert located == {0: 4, 1: 2}


def test_a_place_that_there_is_not_cannot_be_removed(new_world: type[World]) -> None:
    world = new_world([IN_LAWN], attractions=(LAWN,))
    with pytest.raises(InvalidLocation, match="place 'pond': expected the name of one: lawn"):
        world.broker.places.change(remove=["lawn", "pond"])
    assert world.broker.places.all == (LAWN,)
    with pytest.raises(InvalidLocation, match="1001 places: expected at most 1000"):
        world.broker.places.use([Place(f"p{k}", 0.0, 0.0, 1.0) for k in range(1001)])
