"""The store gives back what was written, whatever the order, and its files stay small."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bypass.live.broker.store import database
from bypass.live.broker.store import store as store_module
from bypass.live.broker.store.batch import LAST_PLACE, Mark
from bypass.live.broker.store.recipients import pack_plain, pack_recipients, unpack_recipients
from bypass.live.broker.store.statements import HISTORY
from bypass.live.broker.store.store import (
    Batch,
    Loaded,
    Logged,
    Recipient,
    Store,
    StoredClient,
    StoreFailed,
    Waiting,
)


def publication(seq: int, *clients: int, size: int = 250) -> Logged:
    to = pack_recipients([Recipient(client, (1,), False) for client in clients])
    return Logged(seq, float(seq), 7 << 32 | seq, 7, 1, 3, seq.to_bytes(4, "big") * (size // 4), to, "alice")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "bypass.db", sync="normal")
    yield store
    store.close()


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


# -- anything that may be written, against a model of plain objects ---------------------------------------

numbers = st.sampled_from((1, 2**32 - 1))
u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
handles = st.integers(0, 2) | u32
floats = st.floats(allow_nan=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
recipients = st.lists(
    st.builds(Recipient, numbers, st.lists(handles, max_size=3).map(tuple), st.booleans()), max_size=5
).map(tuple)
plain_recipients = st.lists(
    st.builds(Recipient, numbers, st.tuples(handles), st.just(False)), min_size=1, max_size=5
).map(tuple)
marks = st.builds(
    Mark,
    st.integers(0, 40),
    st.integers(0, 40) | st.just(LAST_PLACE),
    st.lists(st.integers(0, 40), max_size=3, unique=True).map(sorted) | st.none(),
    st.integers(0, 40),
)
operations = st.one_of(
    st.tuples(st.just("client"), numbers, texts, u64, floats),
    st.tuples(st.just("forgotten"), numbers),
    st.tuples(st.just("subscribed"), numbers, st.integers(0, 2) | u32, st.binary(max_size=5)),
    st.tuples(st.just("unsubscribed"), numbers, st.integers(0, 2)),
    st.tuples(st.just("located"), numbers, floats, floats, floats, floats, floats),
    st.tuples(st.just("published"), numbers, u32, u32),
    st.tuples(
        st.just("logged"),
        *(
            floats,
            u64,
            u32,
            u32,
            u32,
            st.binary(max_size=20),
            (recipients | plain_recipients).map(pack_recipients),
            texts,
        ),
    ),
    st.tuples(st.just("cursor"), numbers, marks),
    st.tuples(st.just("lane"), numbers, st.integers(0, 2) | u32, marks | st.none()),
    st.tuples(st.just("owes"), numbers, st.integers(0, 2) | u64, st.booleans()),
    st.tuples(st.just("misses"), numbers, texts, u32),
    st.tuples(st.just("released"), st.lists(st.integers(0, 40), max_size=3)),
    st.tuples(st.just("setting"), texts, texts),
    st.tuples(st.just("record"), floats, texts, texts),
)


class Model:
    """The same in dictionaries."""

    def __init__(self) -> None:
        self.clients: dict[int, StoredClient] = {}
        self.log: dict[int, Logged] = {}
        self.settings: dict[str, str] = {}
        self.history: list[tuple[int, float, str, str]] = []
        self.last_seq = 0

    def write(self, calls: list[tuple[Any, ...]]) -> None:
        for position, (kind, *values) in enumerate(calls):
            later = [call for call in calls[position + 1 :] if call[:2] == ("forgotten", values[0])]
            if kind == "forgotten":
                self.clients.pop(values[0], None)
            elif kind == "client" and not later:
                number, name, life, seen = values
                known = self.clients.setdefault(number, StoredClient(number, "", 0, 0, 0, 0.0))
                known.name, known.life, known.seen = name, life, seen
        for position, (kind, *values) in enumerate(calls):
            if kind == "logged":
                self.log[values[0].seq] = values[0]
                self.last_seq = max(self.last_seq, values[0].seq)
            elif kind == "setting":
                self.settings[values[0]] = values[1]
            elif kind == "record":
                self.history.insert(0, (len(self.history) + 1, *values))
            elif kind != "released" and ("forgotten", values[0]) not in calls[position:]:
                self._about_client(kind, *values)
        for kind, *values in calls:
            if kind == "released":
                for seq in values[0]:
                    self.log.pop(seq, None)

    def _about_client(self, kind: str, number: int, *values: Any) -> None:
        client = self.clients.get(number)
        if client is None:
            return
        match kind:
            case "subscribed":
                client.subscriptions[values[0]] = values[1]
            case "unsubscribed":
                client.subscriptions.pop(values[0], None)
            case "located":
                client.place = (values[0], values[1], values[2], values[3], values[4])
            case "published":
                client.published, client.known = values
            case "cursor":
                client.mark = _with_behind(values[0], client.mark)._replace(reached=0)
            case "lane" if values[1] is None:
                client.lanes.pop(values[0], None)
            case "lane":
                client.lanes[values[0]] = _with_behind(values[1], client.lanes.get(values[0]))
            case "owes":
                (client.owed.add if values[1] else client.owed.discard)(values[0])
            case "misses":
                client.missed[values[0]] = values[1]

    def load(self) -> Loaded:
        """As the store's; publications that nobody waits for are gone after it."""
        waiting = []
        for seq, logged in sorted(self.log.items()):
            to, apart, done = [], {}, set()
            for one in unpack_recipients(logged.recipients):
                if one.client not in self.clients:
                    continue
                client = self.clients[one.client]
                there = {handle: mark for handle, mark in client.lanes.items() if handle in one.handles}
                if not one.handles or {*one.handles} - {*there}:
                    if _waits(client.mark, seq):
                        to.append(one)
                    elif client.lanes and one.handles:
                        done.add(one.client)
                for handle in one.handles:
                    if handle in there:
                        if _waits(client.mark if seq > there[handle].reached else there[handle], seq):
                            apart[one.client, handle] = True
                        else:
                            done.add(one.client)
            some = {one.client for one in to} | {client for client, _ in apart}
            if some:
                size, whose = len(logged.raw), (logged.publisher, logged.owner)
                partly = frozenset(done & some)
                waiting.append(
                    Waiting(seq, logged.at, logged.id, tuple(to), size, *whose, tuple(apart), partly)
                )
            else:
                del self.log[seq]
        clients = [self.clients[number] for number in sorted(self.clients)]
        return Loaded(clients, waiting, self.settings, self.last_seq)


def _with_behind(mark: Mark, before: Mark | None) -> Mark:
    """As it is stored: what is behind is the same as before if nothing else is said."""
    return mark if mark.behind is not None else mark._replace(behind=before.behind if before else [])


def _waits(mark: Mark, seq: int) -> bool:
    return seq > mark.cursor or seq in (mark.behind or ())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.lists(operations, max_size=30)), max_size=5))
def test_what_was_written_is_loaded_and_read(batches: list[tuple[bool, list[tuple[Any, ...]]]]) -> None:
    model = Model()
    seq = 0
    with TemporaryDirectory() as folder:
        path = Path(folder, "bypass.db")
        store = Store(path, sync="normal")
        for reopen, drawn in batches:
            batch = Batch()
            calls: list[tuple[Any, ...]] = []
            for kind, *values in drawn:
                if kind == "logged":
                    seq += 1
                    values = [Logged(seq, *values)]
                calls.append((kind, *values))
                getattr(batch, kind)(*values)
            store.write(batch)
            model.write(calls)
            assert store.read(range(seq + 2)) == list(model.log.values())
            assert store.records(1000) == model.history
            if reopen:
                store.close()
                store = Store(path, sync="normal")
                assert store.load() == model.load()
        store.close()
        store = Store(path, sync="normal")
        assert store.load() == model.load()
        assert store.read(range(seq + 2)) == list(model.log.values())
        assert store.load() == model.load()
        store.close()


@example((Recipient(1, (), False), Recipient(2, (3, 4), False)))  # as many handles as recipients
@given(recipients | plain_recipients)
def test_recipients_are_the_same_after_packing(some: tuple[Recipient, ...]) -> None:
    again = tuple(unpack_recipients(pack_recipients(some)))
    assert again == some
    assert [type(one) for one in again] == [Recipient] * len(some)


@given(st.lists(u32, min_size=1, max_size=50, unique=True), u32)
def test_recipients_who_are_alike_are_packed_in_the_same_way(clients: list[int], handle: int) -> None:
    packed = pack_recipients([Recipient(client, (handle,), False) for client in clients])
    assert pack_plain(np.array(clients), handle) == packed


def test_many_recipients_with_one_handle_take_eight_bytes_each() -> None:
    assert len(pack_recipients([Recipient(n, (1,), False) for n in range(40)])) == 4 + 40 * 8


# -- batches ----------------------------------------------------------------------------------------------


def test_an_empty_batch_is_nothing_to_write(store: Store) -> None:
    batch = Batch()
    assert not batch
    store.write(batch)
    batch.released([])
    assert not batch


@pytest.mark.parametrize(
    "change",
    [
        lambda batch: batch.client(1, "alice", 1, 0.0),
        lambda batch: batch.forgotten(1),
        lambda batch: batch.subscribed(1, 1, b""),
        lambda batch: batch.unsubscribed(1, 1),
        lambda batch: batch.located(1, 0.0, 0.0, 0.0, 0.0, 0.0),
        lambda batch: batch.published(1, 1, 1),
        lambda batch: batch.logged(publication(1)),
        lambda batch: batch.cursor(1, Mark(1, 1, [])),
        lambda batch: batch.owes(1, 1, True),
        lambda batch: batch.lane(1, 1, None),
        lambda batch: batch.misses(1, "too old", 1),
        lambda batch: batch.released([1]),
        lambda batch: batch.setting("epoch", "1"),
        lambda batch: batch.record(0.0, "transition", "{}"),
    ],
)
def test_a_batch_with_a_change_is_something_to_write(change: Callable[[Batch], None]) -> None:
    batch = Batch()
    change(batch)
    assert batch


def test_batches_of_any_size_are_written_whole(store: Store) -> None:
    seq = 0
    for count in (1, 2, 3, 127, 128, 129, 1000):
        batch = Batch()
        for _ in range(count):
            seq += 1
            batch.logged(publication(seq, 1))
        store.write(batch)
    assert store.read(range(1, seq + 1)) == [publication(n, 1) for n in range(1, seq + 1)]


@pytest.mark.parametrize("at_once", [False, True])
def test_nothing_is_left_of_a_forgotten_client(at_once: bool, store: Store) -> None:
    batch = Batch()
    batch.client(1, "alice", 1, 0.0)
    batch.subscribed(1, 1, b"news")
    batch.located(1, 1.0, 2.0, 3.0, 4.0, 5.0)
    batch.published(1, 6, 4)
    batch.cursor(1, Mark(7, 7, [2]))
    batch.lane(1, 1, Mark(3, 3, [1]))
    batch.owes(1, 5, True)
    batch.misses(1, "too old", 8)
    if not at_once:
        store.write(batch)
        batch = Batch()
    batch.forgotten(1)
    batch.client(1, "bob", 2, 9.0)
    store.write(batch)
    assert store.load().clients == [StoredClient(1, "bob", 2, 0, 0, 9.0)]


def test_publications_are_read_in_the_order_asked_for(store: Store) -> None:
    batch = Batch()
    for seq in (1, 2, 3):
        batch.logged(publication(seq, 1))
    store.write(batch)
    assert [logged.seq for logged in store.read((3, 9, 1))] == [3, 1]
    assert store.read([]) == []


def test_numbers_go_on_when_all_publications_are_released(store: Store, tmp_path: Path) -> None:
    first, second = Batch(), Batch()
    first.logged(publication(1, 1))
    second.logged(publication(2, 1))
    second.released([1, 2])
    store.write(first)
    store.write(second)
    store.close()
    again = Store(tmp_path / "bypass.db")
    loaded = again.load()
    again.close()
    assert (loaded.waiting, loaded.last_seq) == ([], 2)


def test_loading_removes_publications_that_nobody_waits_for(store: Store) -> None:
    batch = Batch()
    batch.client(1, "alice", 1, 0.0)
    batch.cursor(1, Mark(1, 1, []))
    batch.logged(publication(1, 1))  # alice is done with it
    batch.logged(publication(2, 1, 5))  # nobody knows client 5
    batch.logged(publication(3, 5))
    store.write(batch)
    (waiting,) = store.load().waiting
    assert waiting == Waiting(
        2, 2.0, 7 << 32 | 2, (Recipient(1, (1,), False),), len(publication(2, 1, 5).raw), 7, "alice"
    )
    assert store.read([1, 2, 3]) == [publication(2, 1, 5)]


def test_history_is_newest_first_in_pages_and_bounded(store: Store) -> None:
    batch = Batch()
    for number in range(1, HISTORY + 51):
        batch.record(float(number), "transition", f'{{"id": {number}}}')
    store.write(batch)
    newest = store.records(2)
    assert newest == [(n, float(n), "transition", f'{{"id": {n}}}') for n in (HISTORY + 50, HISTORY + 49)]
    assert [record[0] for record in store.records(2, before=newest[-1][0])] == [HISTORY + 48, HISTORY + 47]
    kept = store.records(2 * HISTORY)
    assert (len(kept), kept[-1][0]) == (HISTORY, 51)
    more = Batch()
    more.record(0.0, "transition", "{}")
    store.write(more)
    assert len(store.records(2 * HISTORY)) == HISTORY


# -- threads ----------------------------------------------------------------------------------------------


def test_other_threads_read_while_one_writes(store: Store) -> None:
    written = [0]
    failures: list[BaseException] = []

    def write() -> None:
        try:
            for turn in range(100):
                batch = Batch()
                for seq in range(turn * 20 + 1, turn * 20 + 21):
                    batch.logged(publication(seq, 1))
                batch.record(float(turn), "turn", str(turn))
                store.write(batch)
                written[0] += 20
        except BaseException as failure:
            failures.append(failure)

    def read() -> None:
        try:
            while writer.is_alive():
                done = written[0]
                assert store.read(range(1, done + 1)) == [publication(seq, 1) for seq in range(1, done + 1)]
                assert len(store.records(1000)) >= done // 20
        except BaseException as failure:
            failures.append(failure)

    writer = threading.Thread(target=write)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (writer, *readers):
        thread.start()
    for thread in (writer, *readers):
        thread.join(60)
        assert not thread.is_alive()
    assert failures == []
    assert len(store.read(range(1, 2001))) == 2000


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    batch = Batch()
    batch.setting("epoch", "1")
    for use in (lambda: store.write(batch), lambda: store.read([1]), lambda: store.records(1), store.load):
        with pytest.raises(StoreFailed, match=r"bypass\.db: .*closed"):
            use()


# -- room on disk -----------------------------------------------------------------------------------------


def test_room_of_released_publications_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "bypass.db"
    randomness = random.Random(1)
    kept: list[int] = []
    sizes = []
    seq = 0
    for turns in (60, 240):
        store = Store(path, sync="normal")
        for _ in range(turns):
            batch = Batch()
            for _ in range(50):
                seq += 1
                kept.append(seq)
                raw = randomness.randbytes(randomness.choice((50, 250, 9000)))
                batch.logged(replace(publication(seq, 1), raw=raw))
            randomness.shuffle(kept)
            batch.released(kept[500:])
            del kept[500:]
            store.write(batch)
        assert len(store.read(kept)) == 500
        store.close()  # all that was written is in its place then
        sizes.append(size(path))
    assert sizes[1] < 1.2 * sizes[0]


def test_the_write_ahead_log_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAL_PAGES", 100)
    path = tmp_path / "bypass.db"
    store = Store(path, sync="normal")
    largest = 0
    for turn in range(200):
        batch = Batch()
        for seq in range(turn * 50, turn * 50 + 50):
            batch.logged(publication(seq, 1))
        batch.released(range(turn * 50 - 500, turn * 50 - 450))
        store.write(batch)
        largest = max(largest, size(tmp_path / "bypass.db-wal"))
    store.close()
    assert 100 * 4096 <= largest < 3 * 100 * 4096
    assert not (tmp_path / "bypass.db-wal").exists()


def test_a_long_reader_only_delays_that_the_log_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAL_PAGES", 100)
    monkeypatch.setattr(database, "_PATIENCE", 0.0)
    monkeypatch.setattr(store_module, "WAL_BYTES", 1 << 20)
    path = tmp_path / "bypass.db"
    store = Store(path, sync="normal")

    def write(start: int, count: int) -> None:
        batch = Batch()
        for seq in range(start, start + count):
            batch.logged(publication(seq, 1))
        store.write(batch)

    write(0, 10)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM log").fetchone() == (10,)
    for start in range(10, 10_010, 1000):
        write(start, 1000)
    assert size(tmp_path / "bypass.db-wal") > 3 << 20
    other.execute("COMMIT")
    write(20_000, 1)
    assert size(tmp_path / "bypass.db-wal") == 0
    other.close()
    assert len(store.read(range(30_000))) == 10_011
    store.close()


def test_nobody_else_may_look_into_the_file(store: Store, tmp_path: Path) -> None:
    batch = Batch()
    batch.setting("epoch", "1")
    store.write(batch)
    for file in tmp_path.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file
