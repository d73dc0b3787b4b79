"""Everybody is served, once, by one scheme, after any sequence of exchanges and movements."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from bypass.ports.subscriptions import SubHandle
from bypass.protocol.messages import AssignmentRequest

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from tests.conftest import World

CLIENTS = 6
# Inside and outside circles and near their borders, near borders of cells, outside the area.
PLACES = [
    (250.0, 300.0), (300.0, 320.0), (350.0, 300.0), (415.0, 300.0), (425.0, 310.0), (195.0, 330.0),
    (210.0, 390.0), (600.0, 600.0), (599.0, 400.0), (810.0, 790.0), (700.0, 800.0), (-20.0, 1015.0),
]  # fmt: skip

clients = st.integers(0, CLIENTS - 1)
some_clients = st.lists(clients, min_size=1, max_size=4, unique=True)
schemes = st.sampled_from(["radial", "ste", "grid", "egrid", "attract", "multi"])
places = st.sampled_from(PLACES)
vectors = st.sampled_from([(0.0, 0.0), (1.5, 0.0), (-0.5, 2.0)])
parameters = st.sampled_from(
    [
        {"grid": 3},
        {"grid": 10},
        {"alpha": 0.0},
        {"alpha": 2.5},
        {"resolver": True},
        {"resolver": False},
        {"enable_updates": True},
        {"enable_updates": False},
    ]
)


class Transitions(RuleBasedStateMachine):
    world_class: ClassVar[type[World]]

    @initialize(
        scheme=schemes, grace=st.sampled_from([0.0, 1.0]), start=st.lists(places, min_size=6, max_size=6)
    )
    def begin(self, scheme: str, grace: float, start: list[tuple[float, float]]) -> None:
        self.world = self.world_class(start, scheme=scheme, grace=grace, set={"grid": 5})
        self.handles: list[tuple[int, SubHandle]] = []
        self.ever: set[tuple[int, int]] = set()
        self.publishers: dict[int, int] = {}
        for client in range(3):
            self.subscribe(client, 100)

    # -- what people do -----------------------------------------------------------------------------------

    @rule(client=clients, radius=st.sampled_from([None, 30, 100, 250]))
    def subscribe(self, client: int, radius: int | None) -> None:
        handle = self.world.subscribe(client, radius)
        self.handles.append((client, handle))
        self.ever.add((client, handle.id))

    @rule(which=st.integers(0, 1000))
    def unsubscribe(self, which: int) -> None:
        if self.handles:
            client, handle = self.handles.pop(which % len(self.handles))
            self.world.clients[client].unsubscribe(handle)

    @rule(client=clients)
    def leave(self, client: int) -> None:
        for owner, handle in [each for each in self.handles if each[0] == client]:
            self.handles.remove((owner, handle))
            self.world.clients[client].unsubscribe(handle)
        self.world.run(0.5)
        self.world.broker.disconnect(client)

    @rule(client=clients, place=places, vector=vectors)
    def move(self, client: int, place: tuple[float, float], vector: tuple[float, float]) -> None:
        self.world.put(client, place, vector, stands=True)

    @rule(client=clients, place=st.none() | places)
    def publish(self, client: int, place: tuple[float, float] | None) -> None:
        event = self.world.publish_local(client) if place is None else self.world.publish(client, place)
        self.publishers[event] = client

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.1, 0.3, 1.2]))
    def wait(self, seconds: float) -> None:
        self.world.run(seconds)

    # -- what the broker does -----------------------------------------------------------------------------

    @rule(to=schemes)
    def total(self, to: str) -> None:
        record = self.world.execute(to=to)
        assert record.outcome in ("done", "skipped")
        assert [scheme.name for scheme in self.world.schemes()] == [to]

    @rule(to=schemes, members=some_clients)
    def partial(self, to: str, members: list[int]) -> None:
        known = {client for client in members if any(client in s.clients for s in self.world.schemes())}
        record = self.world.execute(to=to, members=members)
        assert record.outcome in ("done", "skipped")
        assert record.error == "" or record.outcome == "skipped"
        assert all(self.world.scheme_of(client).name == to for client in known)

    @rule(values=parameters)
    def change(self, values: dict[str, Any]) -> None:
        assert self.world.execute(**values).outcome in ("done", "skipped")

    # -- what must hold -----------------------------------------------------------------------------------

    @invariant()
    def everybody_is_in_one_scheme(self) -> None:
        running = self.world.schemes()
        served = [client for scheme in running for client in scheme.clients]
        assert len(served) == len(set(served))
        assert len({scheme.name for scheme in running}) == len(running)

    @invariant()
    def every_subscription_is_there_at_most_once(self) -> None:
        table = self.world.broker.table
        rows = [(int(table.client[row]), int(table.handle[row])) for row in table.rows()]
        assert len(rows) == len(set(rows))
        assert set(rows) <= self.ever
        assert all(client in {c for s in self.world.schemes() for c in s.clients} for client, _ in rows)

    @invariant()
    def nobody_hears_anything_twice(self) -> None:
        heard = Counter((client, handle, event) for _, client, handle, event in self.world.deliveries)
        assert all(times == 1 for times in heard.values())
        assert all(self.publishers.get(event) != client for client, _, event in heard)

    @rule()
    def rest(self) -> None:
        """When all has settled, the broker knows what it must, and events reach exactly whom they concern."""
        self.world.run(4.0)
        self.the_broker_has_every_subscription()
        self.rows_are_where_their_owner_is()
        for client in {client for client, handle in self.handles if handle.radius is not None}:
            self.the_place_is_known(client)
        self.nobody_asks_for_channels()
        expected = {}
        for client in {client for scheme in self.world.schemes() for client in scheme.clients}:
            place = self.world.place(client)
            expected[self.world.publish_local(client)] = self.world.selected(client, place)
        for place in PLACES:
            expected[self.world.publish(0, place)] = self.world.selected(0, place)
        self.world.run()
        assert {event: self.world.heard(event) for event in expected} == expected

    def nobody_asks_for_channels(self) -> None:
        """People stand: who still asks does not know what it was told."""
        self.world.up.clear()
        self.world.run(1.5)
        assert not any(isinstance(message, AssignmentRequest) for message in self.world.up)

    def the_broker_has_every_subscription(self) -> None:
        table = self.world.broker.table
        rows = sorted((int(table.client[row]), int(table.handle[row])) for row in table.rows())
        assert rows == sorted((client, handle.id) for client, handle in self.handles)
        assert rows == sorted((client, handle.id) for client, handle in self.world.everybody())

    def rows_are_where_their_owner_is(self) -> None:
        table = self.world.broker.table
        for scheme in self.world.schemes():
            assert not scheme.grace.overlapping
            assert scheme.index.members().tolist() == table.located(scheme.clients).tolist()
            for client in scheme.clients:
                assert self.world.clients[client].engine.active("filter").name == scheme.name
        assert self.world.unanswered() == {}
        assert self.world.ended("failed") == {}
        assert self.world.tracker.retries == 0

    def the_place_is_known(self, client: int) -> None:
        """As exactly as the scheme wants it."""
        world = self.world
        known, place, scheme = world.broker.table.place(client), world.place(client), world.scheme_of(client)
        assert known is not None
        if scheme.name == "attract" or (scheme.name == "multi" and world.around(place)):
            assert world.around(known[:2]) == world.around(place)
        elif scheme.name in ("grid", "egrid"):
            n = scheme.settings()["grid"]
            assert self.cell(known[:2], n) == self.cell(place, n)
            if scheme.name == "egrid":
                self.every_area_is_covered(client, known[:2], place, n)
        else:
            assert known[:2] == place

    def every_area_is_covered(
        self, client: int, known: tuple[float, ...], place: tuple[float, ...], n: int
    ) -> None:
        radii = {handle.radius or 0 for owner, handle in self.handles if owner == client}
        for radius, sign in product(radii, (-1, 1)):
            assumed = self.cell([v + sign * radius for v in known], n)
            real = self.cell([v + sign * radius for v in place], n)
            assert all(sign * a >= sign * r for a, r in zip(assumed, real, strict=True))

    @staticmethod
    def cell(place: Any, n: int) -> tuple[int, ...]:
        return tuple(min(max(math.floor(v / (1000.0 / n)), 0), n - 1) for v in place)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.rest()


def test_any_sequence_of_transitions(new_world: type[World]) -> None:
    class Here(Transitions):
        world_class = new_world

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=100, stateful_step_count=30, deadline=None, derandomize=True, print_blob=True
        ),
    )
