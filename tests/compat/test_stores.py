"""A store of an earlier version is copied, changed and goes on, whatever happens meanwhile."""

from __future__ import annotations

import json
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile

import pytest

from bypass.live.broker.store.store import Store, StoreFailed
from bypass.protocol.messages import Notify, PlanMessage
from bypass.protocol.session import Ack
from bypass.transitions import Plan
from tests.compat.make_store import MISSED, WAITING
from tests.live.brokers import config, peers, running, until

OLD = Path(__file__).with_name("store-0.1.0.db")
WITH_LANES = Path(__file__).with_name("store-schema-3.db")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    copyfile(OLD, tmp_path / "store.db")
    return tmp_path / "store.db"


def copied(path: Path, schema: int = 2) -> Path:
    return path.with_name(f"{path.name}.schema-{schema}")


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def test_all_that_waited_in_a_store_of_0_1_0_arrives(path: Path) -> None:
    with running(config(path.parent)) as service, peers() as make:
        assert service.server.broker.rollout.epoch == 1
        assert [each.name for each in service.server.broker.filter_schemes] == ["ste"]
        endpoint = service.server.endpoints[0]
        alice = make(endpoint, "alice", life=21, capabilities=("missed",))
        assert {each.handle for each in alice.welcome.kept} == {1, 2}
        assert {each.reason: each.count for each in alice.welcome.missed_by} == {"before 0.1.1": MISSED}
        alice.subscribe(2, radius=None)
        alice.subscribe(1)
        bob = make(endpoint, "bob", life=12, handles=(1,))
        assert bob.welcome.missed == MISSED
        numbers = [bob.event() for _ in range(WAITING)]
        assert numbers == list(range(numbers[0], numbers[0] + WAITING))
        arrived: list[tuple[int, int]] = []
        while len(arrived) < 2 * WAITING:  # for each subscription apart, or for both together
            notify = alice.get(Notify)
            alice.send(Ack((notify.publication.id,)))
            arrived += [(notify.publication.id, handle) for handle in notify.handles]
        assert sorted(arrived) == [(number, handle) for number in numbers for handle in (1, 2)]
        carol = make(endpoint, "carol", life=13)
        assert carol.welcome.published == 1 + MISSED + WAITING
    assert copied(path).read_bytes()[:16] == OLD.read_bytes()[:16]
    assert version(copied(path)) == 2
    assert version(path) == 4


def test_all_that_waited_in_a_store_of_schema_3_arrives(tmp_path: Path) -> None:
    """Alice has got all for one of her subscriptions; for the other one, it waits in a lane."""
    path = tmp_path / "store.db"
    copyfile(WITH_LANES, path)
    with running(config(tmp_path)) as service, peers() as make:
        endpoint = service.server.endpoints[0]
        assert [each.name for each in service.server.broker.filter_schemes] == ["ste"]
        bob = make(endpoint, "bob", life=12, handles=(1,), capabilities=("missed",), scheme=2, epoch=1)
        told = Plan.from_bytes(bob.get(PlanMessage).plan)  # nobody knows what he was told of it
        assert [action.to for action in told.actions if action.proxy == "filter"] == ["ste"]
        assert {each.reason: each.count for each in bob.welcome.missed_by} == {"too many waiting": MISSED}
        numbers = [bob.event() for _ in range(WAITING)]
        assert numbers == list(range(numbers[0], numbers[0] + WAITING))
        alice = make(endpoint, "alice", life=31)
        assert {each.handle for each in alice.welcome.kept} == {1, 2}
        assert alice.welcome.missed == MISSED
        alice.subscribe(1)
        alice.subscribe(2, radius=None)
        for number in numbers:
            notify = alice.get(Notify)
            assert (notify.publication.id, notify.handles) == (number, (2,))
            alice.send(Ack((number,)))
        assert not [each for each in alice.settle() if isinstance(each, Notify)]
        until(lambda: service.server.deliveries.waiting == 0)
        carol = make(endpoint, "carol", life=13)
        assert carol.welcome.published == 1 + MISSED + WAITING
    assert version(copied(path, 3)) == 3
    assert version(path) == 4


def test_what_clients_were_told_by_0_1_0_holds(path: Path) -> None:
    """One has another filter scheme than all others, and none knows what it was told of the rest."""
    with sqlite3.connect(path) as connection:
        (bob,) = connection.execute("SELECT number FROM clients WHERE name = 'bob'").fetchone()
        (text,) = connection.execute("SELECT value FROM settings WHERE key = 'state'").fetchone()
        state = json.loads(text)
        scheme = {"set": {"resolver": False, "missing_context": "ignore"}}
        state["schemes"] = [
            {**scheme, "name": "radial", "members": None},
            {**scheme, "name": "ste", "members": [bob]},
        ]
        actions = [
            {"proxy": "filter", "set": {"period": 4.0}},
            {"proxy": "direct", "to": "gossip", "set": {"p": 0.5}},
        ]
        state["told"] = [{"plan": "p", "epoch": 1, "actions": [action]} for action in actions]
        connection.execute("UPDATE settings SET value = ? WHERE key = 'state'", (json.dumps(state),))
    connection.close()
    with running(config(path.parent)) as service, peers() as make:
        for name, life, flag, mechanism in (("bob", 12, 2, "ste"), ("carol", 13, 1, "radial")):
            peer = make(service.server.endpoints[0], name, life=life, scheme=flag, epoch=1)
            plan = Plan.from_bytes(peer.get(PlanMessage).plan)
            told = {action.proxy: (action.to, action.set) for action in plan.actions}
            assert told["filter"][0] == mechanism
            assert {"period": 4.0, "threshold": 10.0}.items() <= told["filter"][1].items()
            assert told["direct"][0] == "gossip"
            assert {"p": 0.5, "jitter": 0.005}.items() <= told["direct"][1].items()


_OPEN = """
import sys
from collections.abc import Callable
from pathlib import Path
from bypass.live.broker.store import migration
from bypass.live.broker.store.store import Store
migration._STEPS[migration.PRESENT - 1] += sys.argv[2]
Store(Path(sys.argv[1]))
"""


def opening(
    path: Path, then: str = "", preexec_fn: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _OPEN, str(path), then],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=preexec_fn,
    )


def test_a_process_that_is_killed_while_it_changes_a_store_leaves_it_as_it_was(path: Path) -> None:
    """The last statement never comes to an end: everything else is done, and nothing is committed."""
    endless = (
        "CREATE TABLE begun (n); WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
        "SELECT count(*) FROM c;"
    )
    process = opening(path, endless)
    try:
        wal = path.with_name(f"{path.name}-journal"), path.with_name(f"{path.name}-wal")
        while not copied(path).exists() and process.poll() is None:
            pass
        assert process.poll() is None, process.communicate()[1]
        assert any(each.exists() for each in wal)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert version(path) == 2
    store = Store(path)
    loaded = store.load()
    store.close()
    assert len(loaded.waiting) == WAITING
    assert [client.missed for client in loaded.clients if client.missed] == [{"before 0.1.1": MISSED}] * 2
    assert version(path) == 4


def test_a_process_that_is_killed_while_it_copies_a_store_leaves_it_as_it_was(path: Path) -> None:
    begun = copied(path).with_name(f"{copied(path).name}-begun")
    begun.write_bytes(b"what a killed process has left")
    store = Store(path)
    store.close()
    assert version(copied(path)) == 2
    assert not begun.exists()


def test_without_room_for_a_copy_a_store_is_left_alone(path: Path) -> None:
    before = path.read_bytes()

    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) - 1, len(before) - 1))

    process = opening(path, preexec_fn=little_room)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "cannot be copied before its schema is changed" in error.splitlines()[-1]
    assert "nothing was changed" in error.splitlines()[-1]
    assert path.read_bytes() == before
    assert not copied(path).exists()


@pytest.mark.parametrize(("number", "which"), [(1, "an older"), (5, "a newer")])
def test_other_schemas_are_refused(number: int, which: str, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {number}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreFailed, match=f"{which} version of bypass with schema {number}: expected 2 to 4"):
        Store(path)
    assert path.read_bytes() == before
