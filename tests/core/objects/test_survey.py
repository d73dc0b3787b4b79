"""A node asks all others what they have done with objects; each answers, and no answer outgrows a bound."""

from __future__ import annotations

import pytest

from bypass.core.objects.survey import ANSWER_S, MOST_ASKING
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import NodeCounts
from bypass.testing.rules import Point
from bypass.testing.worlds.storage import QUIET_S, StorageWorld

AREA = [0.0, 0.0, 240.0, 40.0]
LINE: list[Point] = [(20.0 + 40.0 * i, 20.0) for i in range(6)]
"""Six nodes in a row, of which each reaches two to either side."""


def begun(storage: str, routing: str) -> StorageWorld:
    cells = {"area": AREA, "side": 40.0}
    world = StorageWorld(LINE, (storage, {}), (routing, cells if routing == "cells" else {}))
    world.run(2 * QUIET_S)
    return world


def answers(world: StorageWorld, node: int) -> dict[int, NodeCounts]:
    survey = world.client(node).node.survey
    survey.ask()
    world.run(ANSWER_S + 2.0)
    return dict(survey.answers)


@pytest.mark.parametrize(("storage", "routing"), [("local", "dsdv"), ("server", "dsdv"), ("cells", "cells")])
def test_all_nodes_answer_with_what_they_have_done(storage: str, routing: str) -> None:
    world = begun(storage, routing)
    photo = world.insert(5, "beach", "sunset")
    world.insert(5, "rain")
    asked = world.ask(1, "beach | rain", limit=1)
    world.ask(2, "sun", limit=0)
    world.run(5.0)
    world.more(asked)
    world.retrieve(1, photo.metadata)
    late = world.insert(4, "beach")
    world.run(5.0)
    world.delete(late.metadata.key)
    world.withdraw(asked)
    world.run(5.0)
    found = answers(world, 0)
    assert sorted(found) == list(range(6))
    owner, asker = found[5], found[1]
    assert (owner.inserts, owner.tags, owner.objects, owner.subscriptions) == (2, 3, 2, 0)
    assert (found[4].inserts, found[4].deletes, found[4].objects) == (1, 1, 0)
    assert (asker.subscriptions, asker.keys, asker.withdrawals, asker.queries) == (1, 2, 1, 0)
    assert (asker.pages, asker.retrieves, found[2].queries) == (1, 1, 1)
    assert asker.notifications >= 1
    assert asker.answers >= 1
    assert all(each.neighbours in (2, 3, 4) and not each.mates for each in found.values())
    assert sum(each.ways + each.cell_ways for each in found.values()) > 0
    assert all(each.control > 0 for each in found.values())


def test_hops_are_those_of_the_ways() -> None:
    world = begun("server", "dsdv")  # number 0, at the end of the row
    before = answers(world, 5)
    world.ask(5, "a")
    world.run(5.0)
    after = answers(world, 5)
    there, back = (after[each].hops - before[each].hops for each in (0, 5))
    assert (after[0].ways - before[0].ways, after[5].ways - before[5].ways) == (1, 1)
    assert 2 <= there <= 5
    assert 2 <= back <= 5
    world.insert(5, "b")
    world.run(5.0)
    later = answers(world, 5)  # an acknowledgement is no way that is measured: some of them are of upkeep
    assert (later[0].ways - after[0].ways, later[5].ways - after[5].ways) == (1, 0)


def test_whoever_asks_again_is_answered_once_and_so_many_at_a_time() -> None:
    world = begun("server", "dsdv")
    survey = world.client(0).node.survey
    counters = world.client(0).engine.active("routing").counters  # type: ignore[attr-defined]
    already = counters.sent
    for _ in range(5):
        survey.asked(NodeAddress(1))
    for node in range(100, 200):
        survey.asked(NodeAddress(node))
    world.run(ANSWER_S + 1.0)
    assert counters.sent - already == MOST_ASKING
