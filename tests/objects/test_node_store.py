"""A node's store keeps its own, bounds copies, loses nothing when it is killed, and resurrects nothing."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bypass.errors import InvalidObject, NotOwner, UnknownObject
from bypass.events.event import Event
from bypass.objects import tombstones as limits
from bypass.objects.metadata import Metadata, ObjectKey, StoredObject, Tombstone, content_hash
from bypass.objects.node_store import NodeStore
from bypass.objects.persistence import MemoryPersistence, Persistence
from bypass.objects.sqlite_persistence import SqlitePersistence
from bypass.objects.tombstones import Tombstones
from bypass.protocol.wire.object_fields import metadata_from_bytes, metadata_to_bytes
from bypass.support.database import DatabaseUnavailable
from tests.object_strategies import SECRET, make_metadata

SELF = 1


def sqlite(path: Path) -> SqlitePersistence:
    return SqlitePersistence(path, metadata_to_bytes, metadata_from_bytes)


@pytest.fixture(params=["memory", "sqlite"])
def persistence(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Persistence]:
    made: Persistence = MemoryPersistence() if request.param == "memory" else sqlite(tmp_path / "objects.db")
    with closing(made):
        yield made


def stored(owner: int = SELF, name: str = "x", data: bytes = b"data", secret: bytes = SECRET) -> StoredObject:
    made = Metadata(
        ObjectKey(owner, name), frozenset({"a"}), 5, len(data), content_hash(data), content_hash(secret),
        attributes=Event(level=1),
    )  # fmt: skip
    return StoredObject(made, data)


def test_own_objects_stay_and_can_be_deleted_by_their_secret_alone(persistence: Persistence) -> None:
    store = NodeStore(SELF, persistence)
    own = stored()
    assert store.publish(own, SECRET)
    assert not store.publish(own, SECRET)  # once more, as after a time-out
    assert store.get(own.key) == own
    assert (store.own, store.secret(own.key)) == ([own.metadata], SECRET)
    assert not store.bury(Tombstone(own.key, b"wrong"))
    assert own.key in store
    assert store.bury(Tombstone(own.key, SECRET))
    assert not store.bury(Tombstone(own.key, SECRET))
    assert store.get(own.key) is None
    with pytest.raises(InvalidObject, match=r"^object 1/x was deleted: expected a name that is new$"):
        store.publish(own, SECRET)
    with pytest.raises(UnknownObject, match=r"^object 1/x: expected one that is stored here$"):
        store.secret(own.key)


class FullDisk(MemoryPersistence):
    """Keeps nothing more while it is `full`."""

    full = True

    def add(self, stored: StoredObject, secret: bytes | None, evicted: Sequence[ObjectKey]) -> None:
        self._check()
        super().add(stored, secret, evicted)

    def bury(self, tombstone: Tombstone, forgotten: Sequence[Tombstone], drops: bool) -> None:
        self._check()
        super().bury(tombstone, forgotten, drops)

    def _check(self) -> None:
        if self.full:
            raise DatabaseUnavailable("x.db: disk is full: expected a store of objects")


def test_a_full_disk_refuses_what_is_own_and_does_without_what_others_send(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = FullDisk()
    store = NodeStore(SELF, disk)
    disk.full = False
    own, copied = stored(), stored(owner=2)
    store.publish(own, SECRET)
    assert store.copy(copied)
    disk.full = True
    for _ in range(2):
        assert not store.copy(stored(owner=3))
    assert store.bury(Tombstone(copied.key, SECRET))
    assert not store.copy(copied)
    assert store.replicas == []
    assert [each.getMessage() for each in caplog.records] == [
        "nothing of other nodes is written: x.db: disk is full: expected a store of objects"
    ]
    with pytest.raises(DatabaseUnavailable):
        store.publish(stored(name="y"), SECRET)
    with pytest.raises(DatabaseUnavailable):
        store.bury(Tombstone(own.key, SECRET))
    assert store.get(own.key) == own
    disk.full = False
    assert store.copy(stored(owner=3))
    assert store.bury(Tombstone(own.key, SECRET))


def test_bad_input_changes_nothing(persistence: Persistence) -> None:
    store = NodeStore(SELF, persistence)
    store.publish(stored(), SECRET)
    with pytest.raises(InvalidObject, match=r"^object 1/x exists: expected a name that is new$"):
        store.publish(stored(data=b"other"), SECRET)
    with pytest.raises(InvalidObject, match=r"^object 1/y: expected the secret that it is committed to$"):
        store.publish(stored(name="y"), b"wrong")
    with pytest.raises(NotOwner, match=r"^object 2/x: expected one of 1$"):
        store.publish(stored(owner=2), SECRET)
    with pytest.raises(NotOwner, match=r"^object 2/x: expected one of 1$"):
        store.secret(ObjectKey(2, "x"))
    with pytest.raises(InvalidObject, match=r"^object's opening of 0 bytes: expected 1 to 64$"):
        store.bury(Tombstone(ObjectKey(1, "x"), b""))
    assert not store.copy(stored(data=b"other"))
    assert [store.get(each.key) for each in store.own] == [stored()]
    assert (store.replicas, len(store.tombstones)) == ([], 0)


def test_copies_are_bounded_in_bytes_and_the_oldest_go_first(persistence: Persistence) -> None:
    store = NodeStore(SELF, persistence, most_replica_bytes=10)
    store.publish(stored(data=b"x" * 100), SECRET)
    for name in "abc":
        assert store.copy(stored(2, name, b"1234"))
    assert [each.key.name for each in store.replicas] == ["b", "c"]
    assert store.replica_bytes == 8
    assert store.copy(stored(2, "b", b"123456"))  # instead of the other: no further one has to go
    assert [each.key.name for each in store.replicas] == ["c", "b"]
    assert not store.copy(stored(2, "d", b"x" * 11))
    assert store.copy(stored(2, "e", b"x" * 10))
    assert [each.key.name for each in store.replicas] == ["e"]
    assert len(store.own) == 1
    again = NodeStore(SELF, persistence, most_replica_bytes=10)
    assert (again.replicas, again.replica_bytes, again.own) == (store.replicas, 10, store.own)


def test_a_copy_that_comes_after_the_deletion_is_not_kept(persistence: Persistence) -> None:
    store = NodeStore(SELF, persistence)
    assert not store.bury(Tombstone(ObjectKey(2, "x"), SECRET))
    assert not store.copy(stored(owner=2))
    assert store.copy(stored(owner=2, secret=b"another"))  # that tombstone opens nothing of this one
    assert not NodeStore(SELF, persistence).copy(stored(owner=2))


def test_tombstones_are_bounded_per_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_PER_OWNER", 3)
    monkeypatch.setattr(limits, "MOST_OWNERS", 2)
    marks = Tombstones()
    for owner, name in ((1, "a"), (2, "a"), (1, "b"), (1, "c"), (1, "d")):
        assert marks.add(Tombstone(ObjectKey(owner, name), SECRET))
    assert [str(each.key) for each in marks] == ["2/a", "1/b", "1/c", "1/d"]
    assert marks.displaced_by(Tombstone(ObjectKey(3, "a"), SECRET)) == (Tombstone(ObjectKey(2, "a"), SECRET),)
    assert marks.add(Tombstone(ObjectKey(3, "a"), SECRET))
    assert not marks.add(Tombstone(ObjectKey(3, "a"), SECRET))
    assert [str(each.key) for each in marks] == ["1/b", "1/c", "1/d", "3/a"]
    assert Tombstone(ObjectKey(3, "a"), SECRET) in marks
    assert marks.hides(make_metadata(3, "a"))
    assert not marks.hides(make_metadata(1, "a"))
    assert marks.names(ObjectKey(1, "b"))
    assert not marks.names(ObjectKey(1, "a"))


class Stores(RuleBasedStateMachine):
    """A store in memory and one in a file do the same, whenever they are opened again."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.memory = MemoryPersistence()
        self.file = sqlite(self.folder / "objects.db")
        self.open()

    def open(self) -> None:
        self.stores = [NodeStore(SELF, each, most_replica_bytes=9) for each in (self.memory, self.file)]

    def teardown(self) -> None:
        self.file.close()
        shutil.rmtree(self.folder)

    def both(self, *results: object) -> None:
        assert results[0] == results[1]

    @rule(name=st.sampled_from("xyz"), data=st.sampled_from((b"", b"1", b"12345")))
    def publish(self, name: str, data: bytes) -> None:
        results = []
        for store in self.stores:
            try:
                results.append(str(store.publish(stored(name=name, data=data), SECRET)))
            except InvalidObject as error:
                results.append(str(error))
        self.both(*results)

    @rule(
        name=st.sampled_from("xyz"),
        data=st.sampled_from((b"", b"123", b"12345", b"x" * 10)),
        secret=st.sampled_from((SECRET, b"2")),
    )
    def copy(self, name: str, data: bytes, secret: bytes) -> None:
        copied = stored(2, name, data, secret)
        hidden = self.stores[0].tombstones.hides(copied.metadata)
        results = [store.copy(copied) for store in self.stores]
        self.both(*results)
        assert not (hidden and results[0])

    @rule(owner=st.integers(1, 2), name=st.sampled_from("xyz"), secret=st.sampled_from((SECRET, b"2")))
    def bury(self, owner: int, name: str, secret: bytes) -> None:
        self.both(*[store.bury(Tombstone(ObjectKey(owner, name), secret)) for store in self.stores])

    @rule(name=st.sampled_from("xyz"))
    def release(self, name: str) -> None:
        key = ObjectKey(SELF, name)
        for store in self.stores:
            store.release(key)
            assert key not in store

    @rule()
    def reopen(self) -> None:
        self.file.close()
        self.file = sqlite(self.folder / "objects.db")
        self.open()

    @invariant()
    def they_are_equal(self) -> None:
        first, second = self.stores
        self.both(first.own, second.own)
        self.both(first.replicas, second.replicas)
        self.both(list(first.tombstones), list(second.tombstones))
        self.both(first.replica_bytes, second.replica_bytes)
        for each in [*first.own, *first.replicas]:
            self.both(first.get(each.key), second.get(each.key))
            assert not first.tombstones.hides(each)


TestStores = Stores.TestCase
TestStores.settings = settings(derandomize=True, deadline=None, max_examples=30, stateful_step_count=25)

WRITER = """
import sys
from pathlib import Path
from bypass.objects.node_store import NodeStore
from tests.objects.test_node_store import SECRET, Tombstone, sqlite, stored

store = NodeStore(1, sqlite(Path(sys.argv[1])))
for i in range(10**9):
    store.publish(stored(name=str(i)), SECRET)
    if i % 3 == 0:
        store.bury(Tombstone(stored(name=str(i)).key, SECRET))
    print(i, flush=True)
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_has_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "objects.db"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        acknowledged = [int(next(process.stdout)) for _ in range(50)]
        process.kill()
        acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
    with closing(sqlite(path)) as persistence:
        store = NodeStore(SELF, persistence)
        for i in acknowledged:
            found = store.get(ObjectKey(SELF, str(i)))
            assert found == (None if i % 3 == 0 else stored(name=str(i)))
            assert store.tombstones.names(ObjectKey(SELF, str(i))) is (i % 3 == 0)


def test_secrets_are_for_the_owner_of_the_file_alone(tmp_path: Path) -> None:
    sqlite(tmp_path / "deep" / "objects.db").close()
    assert stat.S_IMODE((tmp_path / "deep" / "objects.db").stat().st_mode) == 0o600


def test_a_file_that_is_none_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "objects.db").write_bytes(b"no database" * 1000)
    with pytest.raises(
        DatabaseUnavailable, match=r"objects\.db: .*: expected a database that can be opened$"
    ):
        sqlite(tmp_path / "objects.db")
    with pytest.raises(DatabaseUnavailable, match=r"^/dev/null/x: .*: expected a store of objects$"):
        sqlite(Path("/dev/null/x"))


def test_an_error_of_the_file_changes_nothing_in_memory(tmp_path: Path) -> None:
    persistence = sqlite(tmp_path / "objects.db")
    store = NodeStore(SELF, persistence)
    store.publish(stored(), SECRET)
    persistence.close()
    with pytest.raises(DatabaseUnavailable, match=r"expected a store of objects$"):
        store.publish(stored(name="y"), SECRET)
    with pytest.raises(DatabaseUnavailable, match=r"expected a store of objects$"):
        store.bury(Tombstone(ObjectKey(SELF, "x"), SECRET))
    assert [each.key.name for each in store.own] == ["x"]
    assert len(store.tombstones) == 0
