"""A scheme that cannot take over: the old one goes on as if nothing had been asked."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Any

import pytest

from bypass.mechanisms.filters import FilterBroker, Grid, Radial
from bypass.mechanisms.filters.indexes.channels import ChannelIndex
from bypass.protocol.messages import Assignment
from bypass.transitions import Action, AtomicTransition, Mechanism, Plan, TransitionFailed

if TYPE_CHECKING:
    from tests.conftest import World

SCHEMES = ["radial", "ste", "grid", "egrid", "attract", "multi"]
PLACES = [(250.0, 300.0), (300.0, 320.0), (350.0, 300.0), (600.0, 600.0), (210.0, 390.0)]


class FailsToStart(Grid.Broker):
    name = "fails-to-start"

    def start(self) -> None:
        super().start()
        raise OSError("disk full")


class FailsToIndex(Grid.Broker):
    name = "fails-to-index"

    def make_index(self) -> ChannelIndex:
        raise MemoryError("too many cells")


class FailsToAdmit(Grid.Broker):
    name = "fails-to-admit"

    def admit(self, members: Collection[Hashable] | None, source: Mechanism | None) -> None:
        super().admit(members, source)
        raise ValueError("too many of you")


class TalksTooEarly(Grid.Broker):
    name = "talks-too-early"

    def start(self) -> None:
        super().start()
        self.tell(0, Assignment(1, "g1:0:0"))


class WantsMore(Grid.Broker):
    name = "wants-more"

    def start(self) -> None:
        self.grid = self.host.state_info.nothing_of_the_kind
        super().start()


FAILURES: list[tuple[type[FilterBroker], str, str]] = [
    (FailsToStart, "start", "OSError: disk full"),
    (FailsToIndex, "start", "MemoryError: too many cells"),
    (FailsToAdmit, "admit", "ValueError: too many of you"),
    (TalksTooEarly, "start", "broker's filter tried to communicate before it was switched to"),
    (WantsMore, "start", "AttributeError"),
]


def populated(new_world: type[World], scheme: str, **options: Any) -> World:
    world = new_world(PLACES, scheme=scheme, **options)
    for client in range(len(PLACES)):
        world.subscribe(client, 80)
        world.subscribe(client, None)
    world.run(3.0)
    return world


def picture(world: World) -> object:
    """Everything that must not change, by value or by identity."""
    table = world.broker.table
    rows = table.rows()
    columns = [
        column[rows].tolist() for column in (table.client, table.handle, table.group, table.x, table.y)
    ]
    schemes = [
        (scheme, scheme.index, sorted(scheme.clients), scheme.settings()) for scheme in world.schemes()
    ]
    return table, columns, table.listeners, schemes, [c.engine.active("filter") for c in world.clients]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("broken", "phase", "error"), FAILURES)
def test_the_old_scheme_still_serves(
    new_world: type[World], scheme: str, broken: type[FilterBroker], phase: str, error: str
) -> None:
    world = populated(new_world, scheme)
    before, sent = picture(world), len(world.tap.messages)
    under_way = world.publish_local(1)
    expected = world.selected(1, PLACES[1])
    with pytest.raises(TransitionFailed) as failed:
        world.broker.engine.transition("filter", broken)
    assert failed.value.phase == phase
    record = world.broker.engine.records[-1]
    assert (record.outcome, record.failed_phase, record.target) == ("failed", phase, broken.name)
    assert error in record.error
    assert picture(world) == before
    next_one = world.publish_local(1)
    world.run()
    assert world.heard(under_way) == world.heard(next_one) == expected
    assert [type(m) for _, m in world.tap.messages[sent:] if isinstance(m, Assignment)] == []
    assert world.execute(to="ste" if scheme != "ste" else "grid").outcome == "done"
    world.run(3.0)
    event = world.publish_local(1)
    world.run()
    assert world.heard(event) == world.selected(1, PLACES[1])


class NoWay(AtomicTransition[FilterBroker, Grid.Broker]):
    def transfer_state(self, a: FilterBroker, b: Grid.Broker) -> None:
        raise KeyError("table")


@pytest.mark.parametrize("members", [None, (1, 2)])
def test_clients_are_not_told_of_a_plan_that_failed_here(
    new_world: type[World], members: tuple[int, ...] | None
) -> None:
    world = populated(new_world, "radial")
    world.broker.engine.register_transition("filter", NoWay())
    before, sent = picture(world), len(world.tap.messages)
    actions = (Action(proxy="filter", to="egrid", members=members), Action(proxy="filter", to="ste"))
    records = world.broker.execute(Plan(plan="both", actions=actions))
    assert [record.outcome for record in records] == ["failed", "skipped"]
    assert (records[0].failed_phase, records[0].error) == ("transfer", "KeyError: 'table'")
    assert picture(world) == before
    world.run(3.0)
    assert len(world.tap.messages) == sent
    assert [progress.concerned for progress in world.rollouts] == [0]
    event = world.publish_local(1)
    world.run()
    assert world.heard(event) == world.selected(1, PLACES[1])


class Picky(Radial.Broker):
    """Moves nobody in once it is told not to."""

    name = "picky"
    full = False

    def admit(self, members: Collection[Hashable] | None, source: Mechanism | None) -> None:
        if self.full:
            raise ValueError("full")
        super().admit(members, source)


def test_a_running_scheme_that_refuses_members_keeps_its_own(new_world: type[World]) -> None:
    world = populated(new_world, "grid")
    world.broker.engine.transition("filter", Picky)
    world.broker.engine.transition("filter", "grid")
    world.run(3.0)

    def move(client: int) -> str:
        action = Action(proxy="filter", to="picky", members=(client,))
        (record,) = world.broker.engine.execute(Plan(plan="move", actions=(action,)))
        return record.outcome

    assert move(1) == "done"
    picky = world.broker.schemes.get("picky")
    assert isinstance(picky, Picky)
    picky.full = True
    assert move(2) == "failed"
    world.run(3.0)
    assert {scheme.name: sorted(scheme.clients) for scheme in world.schemes()} == {
        "grid": [0, 2, 3, 4],
        "picky": [1],
    }
    assert picky.index.members().tolist() == world.broker.table.located((1,)).tolist()
    event = world.publish(0, PLACES[1])
    world.run()
    assert {client for client, _ in world.heard(event)} == {1, 2, 3, 4}


class Cramped(Grid.Broker):
    name = "cramped"

    def make_index(self) -> ChannelIndex:
        if self.grid > 100:
            raise MemoryError("too many cells")
        return super().make_index()


@pytest.mark.parametrize("grace", [0.0, 1.0])
def test_a_parameter_that_cannot_be_set_is_restored(new_world: type[World], grace: float) -> None:
    world = populated(new_world, "grid", grace=grace)
    world.broker.engine.transition("filter", Cramped)
    world.run()
    with pytest.raises(TransitionFailed, match="too many cells"):
        world.broker.engine.set("filter", grid=150)
    assert world.schemes()[0].settings()["grid"] == 5
    world.run(3.0)
    event = world.publish_local(1)
    world.run()
    assert world.heard(event) == world.selected(1, PLACES[1])
