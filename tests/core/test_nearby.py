"""Self-healing among clients nearby, in the real simulator: whoever is told what, they agree in the end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.radio.kernels.state import S
from tests.conftest import Point
from tests.vicinity import MECHANISMS, Choice, Vicinity, row

FLAGS = {name: flag for flag, name in enumerate(MECHANISMS, 1)}
metres = st.integers(0, 130).map(float)
decisions = st.lists(
    st.tuples(st.sampled_from(MECHANISMS), st.integers(1, 5), st.sets(st.integers(0, 9), min_size=1)),
    max_size=5,
)
"""Which mechanism, by which decision, and who is told."""


def talk(world: Vicinity, rounds: int = 2) -> None:
    """Everybody says something, one after the other, as often as it takes news to cross the network."""
    for _ in range(rounds):
        for client in range(len(world.clients)):
            world.publish(client)
            world.run(0.02)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(metres, metres), min_size=8, max_size=10),
    decisions,
    st.integers(0, 50),
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=6),
)
def test_clients_converge(
    where: list[Point], told: list[tuple[str, int, set[int]]], seed: int, meanwhile: list[tuple[int, bool]]
) -> None:
    """Scattered at random, some away for a while, told in any order; then all are together and talk."""
    world = Vicinity(where, {"direct": "broadcast"}, seed=seed)
    number = len(where)
    world.subscribe_all(None)
    world.run()
    away = {client % number for client, gone in meanwhile if gone}
    for client in away:
        world.put(client, (900.0, 900.0))
    for mechanism, decision, members in told:
        for client in members:
            world.carry_out(client % number, world.plan("direct", mechanism, decision=decision))
        talk(world, 1)
    for client in range(number):
        world.put(client, (100.0 + 5 * client, 100.0))
    world.run(0.2)
    # The newest decision; of equal ones, which several initiators can make, the larger flag.
    expected = max((stamp.counter, stamp.flag) for stamp in world.stamps())
    talk(world)
    assert {(stamp.counter, stamp.flag) for stamp in world.stamps()} == {expected}
    assert {FLAGS[name] for name in world.active("direct")} == {expected[1]}


def test_news_crosses_a_row_of_clients() -> None:
    """Each hears the next ones only; the last follows, too, by frames alone that are sent anyway."""
    world = Vicinity(row(10), {"direct": "gossip"})
    world.subscribe_all(None)
    world.run()
    world.carry_out(0, world.plan("direct", "flooding", decision=1))
    event = world.publish(0)
    world.run()
    assert world.active("direct") == ["flooding"] * 10
    assert world.receivers(event) == list(range(1, 10))
    assert world.frames() == [1] * 10
    assert {stamp.counter for stamp in world.stamps()} == {1}
    assert [client.nearby.healing["direct"].healed for client in world.clients] == [0] + [1] * 9


def test_who_does_not_run_anything_is_not_started_by_others() -> None:
    world = Vicinity(row(4, 10.0), {"direct": "flooding"})
    world.subscribe_all(None)
    world.change(2, "direct", "nothing")
    world.run()
    world.carry_out(0, world.plan("direct", "gossip", decision=1))
    talk(world)
    assert world.active("direct") == ["gossip", "gossip", "nothing", "gossip"]
    assert world.frames()[2] == 0


def test_areas_do_not_infect_each_other() -> None:
    """Clients of two areas stand in a mixed crowd; a decision about one of them moves nobody of the other."""
    world = Vicinity(row(8, 5.0), {"direct": "flooding"})
    world.subscribe_all(None)
    for client in range(8):
        world.carry_out(client, world.plan("direct", "flooding", scope=1 + client % 2, decision=1))
    world.run()
    world.carry_out(0, world.plan("direct", "plan-b", scope=1, decision=2))
    world.carry_out(1, world.plan("direct", "hyperg", scope=2, decision=9))
    talk(world)
    assert world.active("direct") == ["plan-b", "hyperg"] * 4
    assert [stamp.counter for stamp in world.stamps()] == [2, 9] * 4


def test_who_enters_an_area_follows_its_decision() -> None:
    world = Vicinity(row(4, 5.0), {"direct": "flooding"})
    world.subscribe_all(None)
    world.run()
    for client in (0, 1):
        world.carry_out(client, world.plan("direct", "hyperg", scope=1, decision=7))
    talk(world)
    assert world.active("direct") == ["hyperg", "hyperg", "flooding", "flooding"]
    world.carry_out(2, world.plan("direct", "flooding", scope=1, decision=3))
    talk(world)
    assert world.active("direct") == ["hyperg", "hyperg", "hyperg", "flooding"]


def test_an_overtaken_plan_changes_nothing() -> None:
    world = Vicinity(row(2, 5.0), {"direct": "flooding", "mode": "augment"})
    world.subscribe_all()
    world.run()
    world.carry_out(0, world.plan("direct", "gossip", decision=5))
    world.broker.execute(world.plan("direct", "broadcast", decision=4))
    world.run()
    assert world.active("direct") == ["gossip", "broadcast"]
    assert [stamp.counter for stamp in world.stamps()] == [5, 4]
    assert world.unanswered() == {}


@pytest.mark.parametrize("proxy", ["direct", "gateway"])
def test_proxies_heal_apart(proxy: str) -> None:
    other = "gateway" if proxy == "direct" else "direct"
    mechanisms: dict[str, Choice] = {"direct": "hyperg", "gateway": "hyperg"}
    world = Vicinity(row(4, 10.0), mechanisms)
    world.run()
    world.carry_out(0, world.plan(proxy, "hyperg", decision=1))
    world.run()
    assert {stamp.counter for stamp in world.stamps(proxy)} == {1}
    assert {stamp.counter for stamp in world.stamps(other)} == {0}


def test_parameters_are_not_healed_but_kept_by_who_was_told() -> None:
    """What travels is a flag and a number: who follows runs the mechanism with its own parameters."""
    world = Vicinity(row(3, 10.0), {"direct": "flooding"})
    world.subscribe_all(None)
    world.run()
    world.carry_out(0, world.plan("direct", "gossip", decision=1, p=1.0))
    talk(world)
    assert [client.engine.active("direct").settings()["p"] for client in world.clients] == [1.0, 0.4, 0.4]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 100), st.integers(0, 7), st.integers(1, 9))
def test_healing_sends_nothing(seed: int, first: int, decision: int) -> None:
    """Certain gossip and flooding send the same; whether one of them spreads or not costs no frame."""

    def frames(heals: bool) -> tuple[list[int], list[int], list[str]]:
        world = Vicinity(row(8), {"direct": "flooding"}, seed=seed)
        world.subscribe_all(None)
        world.run()
        if heals:
            world.carry_out(first, world.plan("direct", "flooding", decision=decision))
        talk(world)
        counters = {stamp.counter for stamp in world.stamps()}
        assert counters == {decision if heals else 0}
        sizes = world.system.local.counter(S.BYTES_UP).tolist()
        return world.frames(), [size > 0 for size in sizes], world.active("direct")

    assert frames(True) == frames(False)
