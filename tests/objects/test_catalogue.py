"""The catalogue finds what a brute-force search finds, and pages of the past have each match exactly once."""

from __future__ import annotations

from dataclasses import replace
from math import hypot

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bypass.events.event import Event
from bypass.events.matching import matches
from bypass.objects.catalogue import ObjectCatalogue
from bypass.objects.metadata import Metadata, ObjectKey, Replica
from bypass.objects.query import PAGE_BYTES, ObjectQuery, PageCursor, position
from bypass.objects.tags import TagFormula
from bypass.objects.window import TimeWindow
from bypass.protocol.wire.object_fields import metadata_to_bytes
from tests.object_strategies import make_metadata, objects, queries, times

repeatable = settings(derandomize=True, deadline=None, max_examples=100)


def wanted(query: ObjectQuery, metadata: Metadata) -> bool:
    """The rule of matching, term by term as it is defined."""
    text = str(query.formula)
    env = {tag: tag in metadata.tags for tag in query.formula.tags() | metadata.tags}
    holds = _evaluated(text, env)
    start, end = query.window.start_us, query.window.end_us
    in_time = (start is None or start <= metadata.published_us) and (
        end is None or metadata.published_us < end
    )
    near = query.near is None or (
        metadata.place is not None
        and hypot(metadata.place[0] - query.near[0], metadata.place[1] - query.near[1]) <= query.near[2]
    )
    where = query.where is None or matches(metadata.attributes or Event(), query.where)
    return holds and in_time and near and where and query.namespace == metadata.namespace


def _evaluated(text: str, present: dict[str, bool]) -> bool:
    """Evaluate a formula as Python would: `&`, `|` and `~` become and, or and not."""
    out, rest = [], text
    while rest:
        if rest[0] == '"':
            name, at = "", 1
            while rest[at] != '"':
                at += rest[at] == "\\"
                name += rest[at]
                at += 1
            out.append(str(present.get(name, False)))
            rest = rest[at + 1 :]
        elif rest[0] in "&|~() ":
            out.append({"&": " and ", "|": " or ", "~": " not "}.get(rest[0], rest[0]))
            rest = rest[1:]
        else:
            end = next((i for i, each in enumerate(rest) if each in "&|~() "), len(rest))
            out.append(str(present.get(rest[:end], False)))
            rest = rest[end:]
    return bool(eval("".join(out)))


def search(known: dict[ObjectKey, Metadata], query: ObjectQuery) -> list[Metadata]:
    """All matches in the order of pages, found one by one."""
    return sorted((each for each in known.values() if wanted(query, each)), key=position, reverse=True)


def filled(known: list[Metadata]) -> tuple[ObjectCatalogue, dict[ObjectKey, Metadata]]:
    catalogue, present = ObjectCatalogue(), {}
    for each in known:
        catalogue.add(each)
        present[each.key] = each
    return catalogue, present


@settings(repeatable, max_examples=200)
@given(queries, objects)
def test_a_query_matches_by_the_rule(query: ObjectQuery, metadata: Metadata) -> None:
    assert query.matches(metadata) is wanted(query, metadata)


@repeatable
@given(st.lists(objects, max_size=12), queries, st.integers(1, 5), st.none() | times)
def test_pages_are_the_matches_in_order(
    known: list[Metadata], query: ObjectQuery, limit: int, since: int | None
) -> None:
    catalogue, present = filled(known)
    expected = [each for each in search(present, query) if since is None or each.published_us >= since]
    found: list[Metadata] = []
    after, more = None, True
    while more:
        page = catalogue.page(query, after, limit, since)
        assert len(page.items) == limit or not page.more
        found += page.items
        after, more = page.next, page.more
    assert found == expected
    assert after == (position(found[-1]) if found else None)


class Paging(RuleBasedStateMachine):
    """A subscriber reads pages while objects come and go, and is told of those that come."""

    def __init__(self) -> None:
        super().__init__()
        self.catalogue = ObjectCatalogue()
        self.known: dict[ObjectKey, Metadata] = {}
        self.queries: dict[int, ObjectQuery] = {}
        self.deleted: set[ObjectKey] = set()
        # of the query that is read: what was there at its beginning, what has been read, where it is
        self.reading: ObjectQuery | None = None
        self.past: dict[ObjectKey, Metadata] = {}
        self.read: list[ObjectKey] = []
        self.after: PageCursor | None = None
        self.more = True

    @rule(metadata=objects)
    def insert(self, metadata: Metadata) -> None:
        if metadata.key in self.known or metadata.key in self.deleted:
            return
        assert self.catalogue.add(metadata)
        assert not self.catalogue.add(metadata)
        self.known[metadata.key] = metadata
        told = self.catalogue.concerned(metadata)
        assert told == [each for _, each in sorted(self.queries.items()) if wanted(each, metadata)]

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if not self.known:
            assert self.catalogue.remove(ObjectKey(9, "none")) is None
            return
        key = data.draw(st.sampled_from(sorted(self.known)))
        assert self.catalogue.remove(key) == self.known.pop(key)
        assert self.catalogue.get(key) is None
        self.deleted.add(key)

    @rule(query=queries)
    def subscribe(self, query: ObjectQuery) -> None:
        assert self.catalogue.add_query(query) is (query.id not in self.queries)
        assert not self.catalogue.add_query(query)
        self.queries[query.id] = query

    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        if self.queries:
            number = data.draw(st.sampled_from(sorted(self.queries)))
            assert self.catalogue.remove_query(number) == self.queries.pop(number)
            assert self.catalogue.remove_query(number) is None

    @rule(now=times)
    def expire(self, now: int) -> None:
        gone = {each.id for each in self.catalogue.expire(now)}
        assert gone == {each.id for each in self.queries.values() if each.window.ended(now)}
        for number in gone:
            del self.queries[number]

    @rule(query=queries)
    def begin(self, query: ObjectQuery) -> None:
        self.reading, self.past = query, {each.key: each for each in search(self.known, query)}
        self.read, self.after, self.more = [], None, True

    @rule(limit=st.integers(1, 3))
    def turn_page(self, limit: int) -> None:
        if self.reading is None or not self.more:
            return
        page = self.catalogue.page(self.reading, self.after, limit)
        for each in page.items:
            assert each.key not in self.deleted
            assert each.key not in self.read
            self.read.append(each.key)
        self.after, self.more = page.next, page.more

    @invariant()
    def each_past_match_is_read_once(self) -> None:
        if self.reading is not None and not self.more:
            assert set(self.past) - self.deleted <= set(self.read)

    @invariant()
    def all_is_there(self) -> None:
        assert {each.key: each for each in self.catalogue} == self.known
        assert len(self.catalogue) == len(self.known)
        assert {each.id: each for each in self.catalogue.queries()} == self.queries


TestPaging = Paging.TestCase
TestPaging.settings = settings(derandomize=True, deadline=None, max_examples=25, stateful_step_count=40)


@repeatable
@given(st.lists(objects, max_size=8), objects, queries)
def test_metadata_is_replaced(known: list[Metadata], metadata: Metadata, query: ObjectQuery) -> None:
    catalogue, present = filled([*known, metadata])
    assert list(catalogue.page(query, None, 64).items) == search(present, query)
    for each in present:
        catalogue.remove(each)
    assert catalogue.page(query, None, 64).items == ()
    assert (catalogue._by_tag, catalogue._all) == ({}, {})


def test_the_published_picture() -> None:
    """Tags are hashed to cells; an object is where its tags are, a query where the keys of its conjunctions
    are: they meet."""
    cells = {"tree": 3, "green": 10, "nature": 13}
    tree = make_metadata(name="tree.jpg", tagged=frozenset({"tree", "green"}))
    query = ObjectQuery(1 << 32, 1, TagFormula.parse("nature | tree"))
    indexed = {cells[tag] for tag in tree.tags}
    asked = {cells[each.key_candidates[0]] for each in query.formula.conjunctions()}
    assert (indexed, asked, indexed & asked) == ({3, 10}, {3, 13}, {3})
    assert query.matches(tree)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (TimeWindow(None, 5), ["before"]),
        (TimeWindow(5, None), ["after", "at once"]),
        (TimeWindow(), ["after", "at once", "before"]),
        (TimeWindow(1, 5), ["before"]),
        (TimeWindow(6, 9), ["after"]),
        (TimeWindow(9, 12), []),
    ],
)
def test_windows_of_the_past_the_future_and_both(window: TimeWindow, expected: list[str]) -> None:
    query = ObjectQuery(1 << 32, 1, TagFormula.parse("a"), window)
    known = [
        make_metadata(name=name, published_us=at)
        for name, at in (("before", 4), ("at once", 5), ("after", 6))
    ]
    catalogue, _ = filled(known)
    assert [each.key.name for each in catalogue.page(query, None, 9).items] == expected
    catalogue.add_query(query)
    assert [each.key.name for each in reversed(known) if catalogue.concerned(each)] == expected


def test_asking_and_withdrawing_does_not_fill_the_memory() -> None:
    catalogue = ObjectCatalogue()
    query = ObjectQuery(1 << 32, 1, TagFormula.parse("a"), TimeWindow(None, 10))
    for end in range(1, 2000):
        catalogue.add_query(replace(query, window=TimeWindow(None, end)))
        catalogue.remove_query(query.id)
    assert len(catalogue._queries._ends) < 200


class Counting(ObjectQuery):
    """A query that counts how many objects it is compared with."""

    __slots__ = ()
    compared = 0

    def matches(self, metadata: Metadata) -> bool:
        type(self).compared += 1
        return super().matches(metadata)


@pytest.mark.parametrize(
    ("text", "most"), [("rare & common", 20), ("common", 21), ("~common", 21), ("none", 0)]
)
def test_a_page_does_not_look_at_all_objects(text: str, most: int) -> None:
    catalogue, _ = filled(
        [
            make_metadata(
                name=str(i), published_us=i,
                tagged=frozenset({"other"} if i % 2 else {"common", "rare"} if i % 200 == 0 else {"common"}),
            )
            for i in range(2000)
        ]
    )  # fmt: skip
    Counting.compared = 0
    catalogue.page(Counting(1 << 32, 1, TagFormula.parse(text)), None, 20)
    assert Counting.compared <= 2 * most


def test_an_object_is_not_compared_with_all_queries() -> None:
    catalogue = ObjectCatalogue()
    for i in range(1000):
        catalogue.add_query(Counting(1 << 32 | i, 1, TagFormula.parse(f'a & "tag {i}" | ~b & ~a & c{i}')))
    Counting.compared = 0
    assert len(catalogue.concerned(make_metadata(tagged=frozenset({"a", "tag 7"})))) == 1
    assert Counting.compared < 10


def test_a_page_is_cut_where_it_would_be_too_long() -> None:
    """Its longest objects, encoded, fit a message; nothing is left out, and one object is always there."""
    catalogue = ObjectCatalogue()
    values = Event(numbers=frozenset(range(1 << 62, (1 << 62) + 500)))
    for number in range(70):
        catalogue.add(
            Metadata(
                ObjectKey(1, f"{number:03}" * 42),
                frozenset({"a", *(f"{tag:064}" for tag in range(31))}),
                number,
                1,
                bytes(32),
                bytes(32),
                bytes(8192),
                attributes=values,
                namespace="n" * 128,
                replicas=tuple(Replica(2**32 - 1 - node, 2**32 - 1) for node in range(16)),
            )
        )
    query = ObjectQuery(1 << 32, 1, TagFormula.parse("a"), namespace="n" * 128)
    found: list[Metadata] = []
    page = catalogue.page(query, None, 64)
    while True:
        assert page.items
        encoded = sum(len(metadata_to_bytes(each)) for each in page.items)
        assert encoded <= sum(each.told_bytes for each in page.items) <= PAGE_BYTES
        found += page.items
        if not page.more:
            break
        page = catalogue.page(query, page.next, 64)
    assert [each.published_us for each in found] == list(reversed(range(70)))
