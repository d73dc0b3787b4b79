"""The store of objects equals a brute-force one, whatever is inserted, deleted and asked for."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass import attr
from bypass.events.event import Event
from bypass.events.filters import Subscription
from bypass.live.broker.objects import pages
from bypass.live.broker.objects.arrivals import arrivals_since
from bypass.live.broker.objects.blobs import read_bytes
from bypass.live.broker.objects.changes import AddPart, BeginUpload, DeleteObject, SweepObjects
from bypass.live.broker.objects.object_database import PART_BYTES
from bypass.live.broker.objects.object_store import ObjectStore
from bypass.live.broker.store.database import StoreFailed, connect
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.objects.query import ObjectQuery, PageCursor, position
from bypass.objects.tags import TagFormula
from bypass.objects.window import TimeWindow
from bypass.protocol.storage import OperationStatus
from tests.live.stored_objects import SECRET, asked, decode, described, page, put, stored

TAGS = st.sampled_from(["a", "b", "c", "d"])
TIMES = st.integers(0, 6)


def formulas() -> st.SearchStrategy[str]:
    return st.recursive(
        TAGS,
        lambda inner: st.one_of(
            inner.map(lambda each: f"~({each})"),
            st.tuples(inner, inner).map(lambda two: f"({two[0]} & {two[1]})"),
            st.tuples(inner, inner).map(lambda two: f"({two[0]} | {two[1]})"),
        ),
        max_leaves=5,
    )


@st.composite
def queries(draw: st.DrawFn) -> ObjectQuery:
    start, length = draw(st.none() | TIMES), draw(st.none() | st.integers(1, 4))
    end = None if length is None else (start or 0) + length
    near = draw(st.none() | st.just((0.0, 0.0, 5.0)))
    where = draw(st.none() | st.just(Subscription.of(attr("level") > 2)))
    namespace = draw(st.sampled_from(["", "n"]))
    formula = TagFormula.parse(draw(formulas()))
    return ObjectQuery((1 << 32) + 1, 1, formula, TimeWindow(start, end), near, where, namespace)


@st.composite
def objects(draw: st.DrawFn) -> Metadata:
    place = draw(st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)))
    return described(
        draw(st.sampled_from("pqrstuvw")),
        draw(st.sets(TAGS, min_size=1)),
        draw(TIMES),
        draw(st.integers(1, 3)),
        place=None if place is None else (float(place[0]), float(place[1])),
        attributes=draw(st.none() | st.integers(0, 5).map(lambda level: Event(level=level))),
        namespace=draw(st.sampled_from(["", "n"])),
    )


STEPS = st.lists(
    st.one_of(
        st.lists(objects(), min_size=1, max_size=6),
        st.tuples(st.integers(1, 3), st.sampled_from("pqrstuvw")).map(lambda key: ObjectKey(*key)),
    ),
    max_size=12,
)


class Oracle:
    """All that a store has to know, without an index."""

    def __init__(self) -> None:
        self.objects: dict[ObjectKey, Metadata] = {}
        self.deleted: set[ObjectKey] = set()

    def insert(self, metadata: Metadata) -> OperationStatus:
        if metadata.key in self.deleted:
            return OperationStatus.REFUSED
        self.objects.setdefault(metadata.key, metadata)  # all have the same bytes here
        return OperationStatus.OK

    def delete(self, key: ObjectKey) -> OperationStatus:
        if self.objects.pop(key, None) is not None:
            self.deleted.add(key)
        return OperationStatus.OK if key in self.deleted else OperationStatus.NOT_FOUND

    def matches(self, query: ObjectQuery, after: PageCursor | None) -> list[Metadata]:
        found = [each for each in self.objects.values() if query.matches(each)]
        found.sort(key=position, reverse=True)
        return [each for each in found if after is None or position(each) < after]


@settings(deadline=None, max_examples=150)
@given(STEPS, st.lists(queries(), min_size=1, max_size=4), st.integers(1, 4), st.none() | TIMES)
def test_pages_equal_brute_force_while_objects_come_and_go(
    steps: list[list[Metadata] | ObjectKey], asks: list[ObjectQuery], limit: int, since: int | None
) -> None:
    oracle = Oracle()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "FEWEST_SCANNED", 2)
        patch.setattr(pages, "MOST_SCANNED", 3)
        path = Path(folder, "objects")
        with stored(path) as store:
            for step in steps:
                if isinstance(step, ObjectKey):
                    (outcome,) = store.apply([DeleteObject("a", step, SECRET)])
                    assert outcome.status == oracle.delete(step)
                else:
                    outcomes = store.apply([put(each) for each in step])
                    assert [each.status for each in outcomes] == [oracle.insert(each) for each in step]
                for query in asks:
                    expected = oracle.matches(query, None)
                    if since is not None:
                        expected = [each for each in expected if each.published_us >= since]
                    items, _, more = page(path, query, None, limit, since)
                    assert items == expected[:limit]
                    assert more == (len(expected) > limit)
            assert (store.accounts.objects, store.accounts.bytes > 0) == (
                len(oracle.objects),
                bool(oracle.objects),
            )
        for query in asks:  # all pages, out of the file alone
            after: PageCursor | None = None
            found: list[Metadata] = []
            more = True
            while more:
                items, after, more = page(path, query, after, limit)
                found += items
            assert found == oracle.matches(query, None)
            assert sorted(arrived(path, query), key=position, reverse=True) == found


def arrived(path: Path, query: ObjectQuery) -> list[Metadata]:
    connection = connect(path)
    found: list[Metadata] = []
    reached, ended = 0, False
    while not ended:
        matches, reached, ended = arrivals_since(connection.execute, query, reached, 2, decode)
        found += [each.metadata for each in matches]
    connection.close()
    return found


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(objects(), st.booleans()), max_size=20), queries(), st.integers(1, 3))
def test_each_past_match_is_on_one_page_while_the_store_changes(
    changes: list[tuple[Metadata, bool]], query: ObjectQuery, limit: int
) -> None:
    """An object that is there all the time is found once; one that comes and goes at most once."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "objects")
        with stored(path) as store:
            half = len(changes) // 2
            first: dict[ObjectKey, Metadata] = {}
            for metadata, _ in changes[:half]:
                store.apply([put(metadata)])
                first.setdefault(metadata.key, metadata)
            kept = dict(first)
            found: list[Metadata] = []
            after, more = None, True
            later = iter(changes[half:])
            while more:
                items, after, more = page(path, query, after, limit)
                found += items
                change = next(later, None)
                if change is not None:
                    metadata, deletes = change
                    if deletes:
                        store.apply([DeleteObject("a", metadata.key, SECRET)])
                        kept.pop(metadata.key, None)
                    else:
                        store.apply([put(metadata)])
    keys = [each.key for each in found]
    assert len({*keys}) == len(keys)
    assert {key for key, each in kept.items() if query.matches(each)} <= {*keys}


def test_quotas_of_one_key_and_of_all(tmp_path: Path) -> None:
    with stored(tmp_path / "o", objects_per_key=2, objects=3) as store:
        names = map(str, count())
        first = store.apply([put(described(next(names), "a")) for _ in range(3)])
        assert [each.status.name for each in first] == ["OK", "OK", "QUOTA"]
        assert first[2].detail == "3 objects of a: expected at most 2"
        more = store.apply([put(described(next(names), "a", owner=2), "b") for _ in range(2)])
        assert [each.reason for each in more] == ["", "objects_over_total_number"]
        store.apply([DeleteObject("a", ObjectKey(1, "0"), SECRET)])
        (again,) = store.apply([put(described(next(names), "a"))])
        assert again.status is OperationStatus.OK


def test_quota_in_bytes_counts_uploads_from_their_beginning(tmp_path: Path) -> None:
    large = described("large", "a", data=b"y" * 70_000)
    with stored(tmp_path / "o", bytes_per_key=100_000) as store:
        (begun,) = store.apply([BeginUpload("a", large, put(large).record)])
        assert begun.missing == 0
        other = described("other", "a", data=b"z" * 60_000)
        (refused,) = store.apply([put(other, data=b"z" * 60_000)])
        assert refused.reason == "objects_over_bytes"
        store.apply([SweepObjects(0.0, 2000.0)])  # the upload has not gone on
        (taken,) = store.apply([put(other, data=b"z" * 60_000)])
        assert taken.status is OperationStatus.OK


def test_uploads_go_on_after_a_restart_and_are_checked(tmp_path: Path) -> None:
    data = bytes(range(256)) * 700  # three parts
    large = described("large", "a", data=data)
    begin = BeginUpload("a", large, put(large).record)
    parts = [
        AddPart("a", large.key, at, data[at : at + PART_BYTES]) for at in range(0, len(data), PART_BYTES)
    ]
    with stored(tmp_path / "o") as store:
        assert store.apply([begin])[0].missing == 0
        assert store.apply([parts[0]])[0].missing == PART_BYTES
        (refused,) = store.apply([parts[2]])
        assert refused.reason == "uploads_misplaced"
        assert page(tmp_path / "o", asked("a"))[0] == []
    with stored(tmp_path / "o") as store:
        assert store.apply([begin])[0].missing == PART_BYTES
        outcomes = store.apply([parts[0], *parts[1:]])
        assert [each.missing for each in outcomes] == [PART_BYTES, 2 * PART_BYTES, None]
        assert outcomes[2].arrived is not None
        assert outcomes[2].arrived.metadata == large
        assert store.accounts.objects == 1
        assert page(tmp_path / "o", asked("a"))[0] == [large]
        wrong = described("wrong", "a", data=data)
        store.apply([BeginUpload("a", wrong, put(wrong).record)])
        broken = [AddPart("a", wrong.key, each.offset, each.data[::-1]) for each in parts]
        assert store.apply(broken)[-1].reason == "uploads_damaged"
        assert store.accounts.objects == 1


def test_an_upload_whose_name_was_taken_meanwhile_leaves_no_bytes(tmp_path: Path) -> None:
    """A small object that is inserted under the name of a large one on its way must not fill the disk
    with bytes that count for nobody."""
    data = bytes(PART_BYTES + 1)
    large = described("one", "a", data=data)
    with stored(tmp_path / "o") as store:
        store.apply([BeginUpload("a", large, put(large).record)])
        store.apply([AddPart("a", large.key, 0, data[:PART_BYTES])])
        store.apply([put(described("one", "a"))])
        (refused,) = store.apply([AddPart("a", large.key, PART_BYTES, data[PART_BYTES:])])
        assert refused.detail == "object 1/one exists: expected a name that is new"
        assert store.accounts.objects == 1
    with closing(connect(tmp_path / "o")) as connection:
        assert connection.execute("SELECT sum(length(data)) FROM parts").fetchone() == (1,)


def test_abandoned_uploads_give_way_to_others_of_their_key(tmp_path: Path) -> None:
    """A program that was killed while it uploaded can upload again when it is back."""

    def begin(store: ObjectStore, number: int) -> str:
        large = described(f"large{number}", "a", data=bytes(PART_BYTES + 1))
        return store.apply([BeginUpload("a", large, put(large).record)])[0].reason

    with stored(tmp_path / "o", now=1000.0) as store:
        assert [begin(store, number) for number in range(9)] == [""] * 8 + ["uploads_too_many"]
    with stored(tmp_path / "o", now=1299.0) as store:
        assert begin(store, 10) == "uploads_too_many"
    with stored(tmp_path / "o", now=1301.0) as store:
        assert begin(store, 10) == ""
        assert store.accounts.objects <= 8


def test_only_the_owner_deletes_and_nothing_comes_back(tmp_path: Path) -> None:
    one = described("one", "a")
    with stored(tmp_path / "o") as store:
        store.apply([put(one)])
        (foreign,) = store.apply([DeleteObject("b", one.key, SECRET)])
        assert foreign.status is OperationStatus.NOT_OWNER
        (guessed,) = store.apply([DeleteObject("a", one.key, b"guess")])
        assert guessed.status is OperationStatus.NOT_OWNER
        assert page(tmp_path / "o", asked("a"))[0] == [one]
        for _ in range(2):  # asked for twice, done once
            (gone,) = store.apply([DeleteObject("a", one.key, SECRET)])
            assert gone.status is OperationStatus.OK
        assert page(tmp_path / "o", asked("a"))[0] == []
    with stored(tmp_path / "o") as store:
        (back,) = store.apply([put(one)])
        assert back.detail == "object 1/one was deleted: expected a name that is new"


def test_bytes_of_an_object_that_is_deleted_meanwhile_are_not_cut_off(tmp_path: Path) -> None:
    """A client that has the key alone cannot check them."""
    one = described("one", "a")
    with stored(tmp_path / "o") as store, closing(connect(tmp_path / "o")) as connection:
        store.apply([put(one)])
        assert read_bytes(connection.execute, one.key, 0, 10) == (b"x",)
        assert read_bytes(connection.execute, one.key, 1, 10) == (b"",)

        def overtaken(statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
            if "parts" in statement:
                store.apply([DeleteObject("a", one.key, SECRET)])
            return connection.execute(statement, values)

        assert read_bytes(overtaken, one.key, 0, 10) == (None,)


def test_objects_that_are_too_old_go(tmp_path: Path) -> None:
    with stored(tmp_path / "o", now=1000.0) as store:
        store.apply([put(described("old", "a"))])
    with stored(tmp_path / "o", now=2000.0) as store:
        store.apply([put(described("new", "a"))])
        (swept,) = store.apply([SweepObjects(1500.0, 0.0)])
        assert swept.removed == 1
        assert [each.key.name for each in page(tmp_path / "o", asked("a"))[0]] == ["new"]


def test_a_clock_that_is_set_back_keeps_nothing_for_longer(tmp_path: Path) -> None:
    """Things came while it was ten years ahead, others since; ages of the first begin with the restart."""
    gone, part = described("gone", "a"), described("part", "a", data=b"y" * 70_000)
    with stored(tmp_path / "o", now=1000.0 + 10 * 365 * 86_400.0) as store:
        store.apply([put(described("ahead", "a")), put(gone), DeleteObject("a", gone.key, SECRET)])
        store.apply([BeginUpload("a", part, put(part).record)])
    with stored(tmp_path / "o", now=1000.0) as store:
        store.apply([put(described("right", "a"))])
    with stored(tmp_path / "o", now=2000.0) as store:
        (swept,) = store.apply([SweepObjects(1500.0, 1500.0)])
        assert swept.removed == 2
        assert store.accounts.bytes == 0, "an upload that nobody goes on with is kept"
        store.apply([put(gone)])
        assert store.accounts.objects == 1, "the mark of a deleted object is kept"


def test_a_failed_transaction_changes_nothing(tmp_path: Path) -> None:
    with stored(tmp_path / "o") as store:
        store.apply([put(described("one", "a"))])
        other = connect(tmp_path / "o")
        other.execute("BEGIN IMMEDIATE")  # nobody else may write
        with pytest.raises(StoreFailed, match="locked"):
            store.apply([put(described("two", "b"))])
        other.execute("ROLLBACK")
        other.close()
        assert store.accounts.objects == 1
        store.apply([put(described("three", "c"))])
        assert [each.key.name for each in page(tmp_path / "o", asked("a | b | c"))[0]] == ["three", "one"]
