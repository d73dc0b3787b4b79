"""A filter scheme of one's own, in one file, beside those built in."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from bypass.errors import UnusableMechanism
from bypass.mechanisms import Registry
from bypass.mechanisms.filters import FilterScheme, Radial
from bypass.mechanisms.filters.indexes.keys import KeyIndex
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.places.sensor import Fix
from bypass.protocol.messages import Publish, Subscribe
from bypass.protocol.scheme_context import SchemeContext
from bypass.transitions import AtomicTransition, MechanismState, Nothing, UnknownMechanism
from tests.conftest import AREA, Point

if TYPE_CHECKING:
    from tests.conftest import World

HEXAGONS = f"{Path(__file__).parents[2] / 'examples' / 'hexagons.py'}:Hexagons"
BUILTIN = ["radial", "ste", "grid", "egrid", "attract", "multi"]
PLACES: list[Point] = [(250.0, 300.0), (300.0, 320.0), (350.0, 300.0), (600.0, 600.0), (210.0, 390.0)]


class Everybody(FilterScheme):
    """Inherits both parts."""

    class Client(Radial.Client):
        pass

    class Broker(Radial.Broker):
        pass


class Renamed(Everybody):
    """Has parts of its own kind without saying so, and a parameter of both."""

    name = "also"
    gain: Annotated[float, MechanismState(), Field(ge=0)] = 1.5


class Numbered(Everybody):
    """Wants a number of its own."""

    flag = 9


class Wordy(Everybody):
    """Says what cannot be said."""

    class Context(SchemeContext):
        words: list[str]


class Half(FilterScheme):
    """Has no parts."""


def populated(new_world: type[World], scheme: str, **options: Any) -> World:
    world = new_world(PLACES, scheme=scheme, registry=Registry([HEXAGONS]), **options)
    for client in range(len(PLACES)):
        world.subscribe(client, 80)
    world.run(3.0)
    return world


def near(place: Point, metres: float, but: int) -> set[int]:
    return {n for n, each in enumerate(PLACES) if n != but and math.dist(each, place) <= metres}


def heard_by(world: World, publisher: int, place: Point) -> set[int]:
    event = world.publish(publisher, place)
    world.run()
    return {client for client, _ in world.heard(event)}


def test_it_selects_whoever_may_be_near(new_world: type[World]) -> None:
    world = populated(new_world, "hexagons", set={"side": 20.0})
    for place in PLACES:
        heard = heard_by(world, 0, place)
        assert near(place, 80.0, 0) <= heard <= near(place, 80.0 + 6 * 20.0, 0)
    assert heard_by(world, 0, (900.0, 900.0)) == set()


def test_clients_say_which_cell_they_are_in_and_no_more(new_world: type[World]) -> None:
    world = populated(new_world, "hexagons", set={"side": 20.0})
    said = [each.piggyback for each in world.up if isinstance(each, Subscribe)]
    said += [each for each in world.up if isinstance(each, SchemeContext)]
    assert {type(each).__qualname__ for each in said} == {"Hexagons.Context"}
    sent = len(world.up)
    world.put(0, (252.0, 302.0))
    world.run(3.0)
    assert len(world.up) == sent  # the same cell
    world.put(0, (450.0, 302.0))
    world.run(3.0)
    assert len(world.up) == sent + 1
    assert heard_by(world, 3, (450.0, 302.0)) >= {0}


def test_its_messages_are_context_traffic(new_world: type[World]) -> None:
    from bypass.sim.cellular import Traffic

    world = populated(new_world, "hexagons")
    before = world.system.cellular.up[Traffic.CONTEXT, 0]
    world.put(0, (800.0, 800.0))
    world.run(3.0)
    assert world.system.cellular.up[Traffic.CONTEXT, 0] - before > 20


@pytest.mark.parametrize("scheme", BUILTIN)
def test_transitions_to_it_and_back_lose_nothing(new_world: type[World], scheme: str) -> None:
    world = populated(new_world, scheme)
    expected = near(PLACES[1], 80.0, 1)
    for to in ("hexagons", scheme, "hexagons"):
        under_way = world.publish(1, PLACES[1])
        assert world.execute(to=to).outcome == "done"
        at_once = world.publish(1, PLACES[1])
        world.run(3.0)
        assert {world.scheme_of(client).name for client in range(len(PLACES))} == {to}
        assert {client.engine.active("filter").name for client in world.clients} == {to}
        later = world.publish(1, PLACES[1])
        world.run()
        for event in (under_way, at_once, later):
            heard = [client for client, _ in world.heard(event)]
            assert set(heard) >= expected
            assert len(heard) == len(set(heard))


def test_it_serves_some_beside_another_scheme(new_world: type[World]) -> None:
    world = populated(new_world, "radial")
    assert world.execute(to="hexagons", members=[0, 1]).outcome == "done"
    world.run(3.0)
    assert [world.scheme_of(n).name for n in range(5)] == ["hexagons"] * 2 + ["radial"] * 3
    assert heard_by(world, 4, PLACES[1]) >= near(PLACES[1], 80.0, 4)


def test_a_parameter_of_the_scheme_is_one_of_both_parts(new_world: type[World]) -> None:
    world = populated(new_world, "hexagons")
    assert world.execute(side=25.0).outcome == "done"
    world.run(3.0)
    assert world.schemes()[0].settings()["side"] == 25.0
    assert {client.engine.active("filter").settings()["side"] for client in world.clients} == {25.0}
    for place in PLACES:
        assert near(place, 80.0, 0) <= heard_by(world, 0, place)


def test_looking_up_and_indexing_select_the_same(new_world: type[World]) -> None:
    world = populated(new_world, "hexagons", set={"side": 30.0})
    before = [heard_by(world, 0, place) for place in PLACES]
    world.execute(resolver=True)
    assert [heard_by(world, 0, place) for place in PLACES] == before


def test_numbers_are_given_in_the_order_of_bringing() -> None:
    registry = Registry([Everybody, HEXAGONS])
    assert registry.flags.given == {"everybody": 64, "hexagons": 65}
    assert registry.flags.scheme(65) == "hexagons"
    assert [*registry.contexts()] == [65]
    kept = Registry([HEXAGONS, Everybody])
    kept.flags.restore({"hexagons": 70, "gone": 64})
    assert kept.flags.given == {"hexagons": 70, "gone": 64, "everybody": 65}


def test_two_systems_have_different_schemes_under_one_number(new_world: type[World]) -> None:
    first = populated(new_world, "hexagons")
    second = new_world(PLACES, scheme="everybody", registry=Registry([Everybody]))
    second.subscribe(0, 80)
    second.run(2.0)
    assert {client.network.flag for client in (*first.clients, *second.clients)} == {64}
    assert heard_by(first, 4, PLACES[1]) >= near(PLACES[1], 80.0, 4)
    assert heard_by(second, 4, PLACES[0]) == {0}
    with pytest.raises(UnknownMechanism, match="'filter' has no mechanism 'hexagons'"):
        second.execute(to="hexagons")


def test_parts_that_are_inherited_are_derived() -> None:
    assert (Everybody.Client.name, Everybody.Broker.name) == ("everybody", "everybody")
    assert (Radial.Client.name, Radial.Client.scheme) == ("radial", Radial)
    assert (Renamed.Client.name, Renamed.Broker.scheme) == ("also", Renamed)
    assert Renamed.Client is not Everybody.Client
    assert {"gain", "updates"} <= Renamed.Client.parameters().keys()
    assert "gain" in Renamed.Broker.parameters()
    assert "gain" not in Everybody.Client.parameters()
    assert Renamed.Broker().settings()["gain"] == 1.5


def test_a_part_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Wrong\.Client: expected a subclass of FilterScheme\.Client"):
        type("Wrong", (FilterScheme,), {"Client": Nothing})


@pytest.mark.parametrize(
    ("scheme", "problem"),
    [
        (Numbered, "flag 9: expected none, the broker gives it one"),
        (Wordy, "Wordy.Context.words is list[str]: expected int, float, bool, str, tuples of these"),
        (Half, "Client lacks context: expected a method of this name"),
        (FilterScheme, "Client lacks context: expected a method of this name"),
    ],
)
def test_a_scheme_that_cannot_be_used_says_why(scheme: type, problem: str) -> None:
    with pytest.raises(UnusableMechanism) as refused:
        Registry([scheme])
    assert problem in str(refused.value)


class ToRenamed(AtomicTransition[Radial.Client, Renamed.Client]):
    def transfer_state(self, a: Radial.Client, b: Renamed.Client) -> None:
        b.subscriptions = a.subscriptions
        b.reported = Fix(0.0, 0.0, 0.0, 0.0, 0.0)


def test_a_custom_transition_between_parts_belongs_to_one_side(new_world: type[World]) -> None:
    world = new_world(PLACES, registry=Registry([Renamed, ToRenamed]))
    world.subscribe(0, 80)
    world.run(2.0)
    world.execute(to="also")
    world.run()
    assert world.broker.engine.records[-1].custom == ""
    assert world.clients[0].engine.records[-1].custom == "ToRenamed"


def cells(x: float, y: float, radius: float) -> set[tuple[int, int]]:
    low_x, high_x, low_y, high_y = (int(v // 100) for v in (x - radius, x + radius, y - radius, y + radius))
    return {(i, j) for i in range(low_x, high_x + 1) for j in range(low_y, high_y + 1)}


def falls(publication: Publish) -> tuple[int, int]:
    assert publication.location is not None
    ((cell),) = cells(*publication.location, 0.0)
    return cell


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 999), st.integers(0, 999)), max_size=20),
    st.lists(st.integers(0, 7), max_size=4),
    st.tuples(st.integers(0, 999), st.integers(0, 999)),
    st.booleans(),
)
def test_rows_are_found_by_their_keys(
    moves: list[tuple[int, int, int]], gone: list[int], place: tuple[int, int], resolver: bool
) -> None:
    table = SubscriptionTable()
    index = KeyIndex(table, resolver, cells, falls)
    table.listeners = (index,)
    for client, x, y in moves:
        table.locate(client, float(x), float(y), 0.0)
        row = table.add(client, 1, (AREA, client), 50)  # type: ignore[arg-type]
        if row not in index.members():
            index.insert(np.array([row]))
    for client in gone:
        table.remove_client(client)
    publication = Publish(1, None, location=(float(place[0]), float(place[1])))  # type: ignore[arg-type]
    found = index.match(publication)
    expected = [
        row
        for row in table.rows().tolist()
        if next(iter(cells(*place, 0))) in cells(table.x[row], table.y[row], 50.0)
    ]
    assert found is not None
    assert found.tolist() == expected
    assert index.members().tolist() == table.rows().tolist()
