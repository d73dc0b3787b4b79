"""Whoever asks an edge and cells is told of each match of the past once, whatever the edge has forgotten."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.objects.metadata import ObjectKey, StoredObject
from bypass.objects.query import position
from bypass.objects.tags import TagFormula
from bypass.protocol.datagrams import Datagram
from bypass.protocol.edge import item_key
from bypass.protocol.storage import FoundObjects
from tests.area_world import AreaWorld
from tests.object_strategies import make_metadata

FORMULAS = ("a", "a & b", "a | b", "(a | b) & ~c", "a & ~b")
TAGS = ("a", "b", "c")
KINDS = ("unknown", "kept", "forgotten", "dropped", "untold")
"""An object is not at the edge; is, and cells know it; is not, but cells believe so; was, and cells know that
it is not any more; is, and cells do not know it."""

objects = st.tuples(st.sets(st.sampled_from(TAGS), min_size=1), st.sampled_from(KINDS), st.integers(0, 3))


@settings(max_examples=40)
@given(
    inserted=st.lists(objects, min_size=1, max_size=12),
    formula=st.sampled_from(FORMULAS),
    limit=st.integers(1, 5),
    loss=st.sampled_from([0.0, 0.0, 0.1, 0.3]),
    silent=st.booleans(),
    foreign=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_each_match_of_the_past_is_told_once_in_the_order_of_pages(
    inserted: list[tuple[set[str], str, int]],
    formula: str,
    limit: int,
    loss: float,
    silent: bool,
    foreign: int,
    seed: int,
) -> None:
    world = AreaWorld([0] * 4, 3, seed=seed)
    edge = world.edge()
    world.run(6.0)
    kinds: dict[str, list[StoredObject]] = {}
    for number, (tags, kind, node) in enumerate(inserted):
        world.insert(node, f"{number:02}", *tags)
        world.run(0.01)
        key = world.access(node).store.own[-1].key
        stored = world.access(node).store.get(key)
        assert stored is not None
        kinds.setdefault(kind, []).append(stored)
    world.run(1.0)
    edge.keep(*kinds.get("kept", []), *kinds.get("forgotten", []), *kinds.get("dropped", []))
    edge.keep(*kinds.get("untold", []), told=False)
    world.run(1.0)
    edge.tell_cells([item_key(each.metadata) for each in kinds.get("dropped", [])], False)
    for each in (*kinds.get("forgotten", []), *kinds.get("dropped", [])):
        del edge.objects[each.key]
    for number in range(foreign):  # of other areas: the edge alone has them
        metadata = make_metadata(77, f"far-{number}", frozenset("a"), 7_000_000 + number, source=99)
        edge.objects[metadata.key] = StoredObject(metadata, b"data")
    world.run(1.0)
    edge.silent, world.loss = silent, loss
    answered: dict[bool, list[ObjectKey]] = {True: [], False: []}  # by the edge, and by cells

    def note(node: int, datagram: Datagram) -> bool:
        body = datagram.body
        if node == 3 and isinstance(body, FoundObjects) and body.op:
            answered[body.conjunction is None] += [each.key for each in body.items]
        return False

    world.drop_body = note
    told = world.query(3, formula, limit=limit)
    world.run(20.0)
    assert told.own is not None
    pages = 0
    while told.own.more_past and pages < 20:
        pages += 1
        world.access(3).more(told.own, limit)
        world.run(20.0)
    matches = TagFormula.parse(formula).matches
    expected = [f"{number:02}" for number, (tags, _, _) in enumerate(inserted) if matches(frozenset(tags))]
    far = [f"far-{number}" for number in range(foreign) if matches(frozenset("a"))]
    found = [name for name in told.names if name not in far]
    assert sorted(found) == expected
    assert len(set(told.names)) == len(told.names)
    if not loss:
        assert sorted(told.names) == sorted(expected + ([] if silent else far))
        if not silent and not kinds.get("untold") and not foreign:
            assert not set(answered[True]) & set(answered[False]), "a cell told what the edge has told"
        newest_first = sorted(told.metadata, key=position, reverse=True)
        assert told.names == [each.key.name for each in newest_first]
