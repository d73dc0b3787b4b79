"""Distribution of categories among connectors: one subscriber each, no gap, and only what must move moves."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bypass.ingest.categories import Node, assign, topic_of
from bypass.ingest.connectors.balance import Balance
from bypass.ingest.connectors.filters import ApplicationFilters, UnreadableTopic
from bypass.ingest.connectors.membership import Membership
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log import leases
from bypass.ingest.log.catalogue import choose_log, find_log
from bypass.ingest.log.leases import FileLeases, LeasesFailed, LeaseTable
from bypass.transitions import Action, Plan

FILTERS = ApplicationFilters("App", 16)
CATEGORIES = FILTERS.covers(frozenset((FILTERS.whole,)))
LEASE_S = 10.0


class Subscriptions:
    """The subscriptions of one connector. Nobody gives up one that no other living connector has."""

    def __init__(self, fleet: "Fleet") -> None:
        self.fleet = fleet
        self.filters = frozenset[str]()

    async def subscribe(self, filters: frozenset[str]) -> None:
        self.filters |= filters

    async def unsubscribe(self, filters: frozenset[str]) -> None:
        before = self.fleet.covered()
        self.filters -= filters
        assert self.fleet.covered() == before


class Fleet:
    """Connectors in virtual time, with a real table of leases."""

    def __init__(self, table: LeaseTable) -> None:
        self.table = table
        self.now = 1000.0
        self.running: dict[str, tuple[Balance, Subscriptions, Membership]] = {}

    def covered(self) -> frozenset[str]:
        """The categories that a living connector is subscribed to."""
        held = [FILTERS.covers(subscriptions.filters) for _, subscriptions, _ in self.running.values()]
        return frozenset[str]().union(*held)

    def start(self, name: str, distribution: str = "synchronised") -> None:
        members = Membership(self.table, FILTERS, Node(name, name), lease_s=LEASE_S, clock=lambda: self.now)
        subscriptions = Subscriptions(self)
        balance = Balance(members, subscriptions, first=distribution)
        balance.begin(session_kept=False)
        self.running[name] = balance, subscriptions, members

    def die(self, name: str) -> None:
        del self.running[name]

    def exchange(self, to: str) -> None:
        for balance, _, _ in self.running.values():
            (record,) = balance.execute(Plan(plan=to, actions=(Action(proxy="distribution", to=to),)))
            assert record.outcome in ("done", "skipped")

    def step(self) -> bool:
        """One step of each; gives whether all are in step."""

        async def step() -> bool:
            return all([await balance.step() for balance, _, _ in self.running.values()])

        return asyncio.run(step())

    def settle(self, most: int = 8) -> None:
        """Let time pass, until everybody is in step with what everybody sees."""
        still = 0
        for _ in range(most):
            still = still + 1 if self.step() else 0
            if still == 2:
                return
            self.now += LEASE_S / 10
        raise AssertionError("they never came to rest")

    def outlive(self) -> None:
        """Let a lease run out that nobody renews."""
        for _ in range(3):
            self.now += LEASE_S / 2
            self.step()

    def owners(self) -> dict[str, str]:
        """The one subscriber of each category."""
        found: dict[str, str] = {}
        for name, (_, subscriptions, _) in self.running.items():
            for each in FILTERS.covers(subscriptions.filters):
                assert each not in found, f"{each} has {found[each]} and {name}"
                found[each] = name
        assert found.keys() == CATEGORIES
        return found


Tables = Callable[[], LeaseTable]
_numbers = count()


@pytest.fixture(params=["segments", "nats"])
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Makes tables of leases, those of a log each."""

    def make() -> LeaseTable:
        folder = IngestFolder(tmp_path_factory.mktemp("balance"))
        if request.param == "nats":
            address = request.getfixturevalue("nats").address
            choose_log(folder, f"nats://{address}?name=leases{next(_numbers)}")
        return find_log(folder).leases()

    return make


def test_four_connectors_of_which_one_dies(tables: Tables) -> None:
    fleet = Fleet(tables())
    names = ("a", "b", "c", "d")
    for name in names:
        fleet.start(name)
    fleet.settle()
    before = fleet.owners()  # instant 0: in step, divided among all
    expected = assign(16, [Node(name, name) for name in names])
    assert before == {FILTERS.of(number): owners.primary.name for number, owners in enumerate(expected)}
    assert set(before.values()) == set(names)
    fleet.die("b")  # instant 1: its categories have no subscriber
    lost = {category for category, name in before.items() if name == "b"}
    assert fleet.covered() == CATEGORIES - lost
    fleet.now += LEASE_S / 2
    assert fleet.step()  # instant 2: its lease has not run out, nobody has noticed
    assert fleet.covered() == CATEGORIES - lost
    fleet.outlive()
    fleet.settle()  # instant 3: in step again
    after = fleet.owners()
    assert {category for category in CATEGORIES if after[category] != before[category]} == lost
    fleet.start("b")
    fleet.settle()
    assert fleet.owners() == before


def test_one_that_is_alone_takes_everything(tables: Tables) -> None:
    fleet = Fleet(tables())
    fleet.start("a")
    fleet.settle()
    assert fleet.running["a"][1].filters == {"App/#"}
    fleet.start("b")
    fleet.settle()
    assert "App/#" not in fleet.running["a"][1].filters
    assert set(fleet.owners().values()) == {"a", "b"}
    fleet.running["b"][2].leave()
    fleet.die("b")
    fleet.settle()
    assert fleet.running["a"][1].filters == {"App/#"}


def test_one_that_was_paused_notices_that_it_has_lost_its_lease(tables: Tables) -> None:
    fleet = Fleet(tables())
    for name in ("a", "b"):
        fleet.start(name)
    fleet.settle()
    before = fleet.owners()
    paused = fleet.running.pop("a")
    fleet.outlive()
    fleet.settle()
    assert set(fleet.owners().values()) == {"b"}
    fleet.running["a"] = paused
    assert paused[0].lost == 0
    fleet.settle()
    assert (paused[0].lost, fleet.running["b"][0].lost) == (1, 0)
    assert fleet.owners() == before


def test_a_life_after_another_drops_what_that_has_left_in_the_session(tables: Tables) -> None:
    fleet = Fleet(tables())
    fleet.start("a")
    fleet.settle()
    for name in ("b", "c"):
        fleet.start(name)
    _, session, members = fleet.running.pop("a")
    fleet.settle()  # the lease of a has not run out: it is thought to live
    again = Balance(members, session)
    members.join()
    again.begin(session_kept=True)
    fleet.running["a"] = again, session, members
    assert session.filters == {"App/#"}
    fleet.settle()
    assert set(fleet.owners().values()) == {"a", "b", "c"}


events = st.lists(
    st.tuples(st.sampled_from(["start", "die", "leave", "shared", "synchronised"]), st.integers(0, 5)),
    min_size=1,
    max_size=7,
)


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=events)
def test_after_every_change_each_category_has_one_subscriber(
    tables: Tables, changes: list[tuple[str, int]]
) -> None:
    fleet = Fleet(tables())
    fleet.start("c0")
    fleet.settle()
    shared = False
    for change, number in changes:
        before = None if shared else fleet.owners()
        name = f"c{number}"
        if change == "start" and name not in fleet.running:
            fleet.start(name, "shared" if shared else "synchronised")
        elif change in ("die", "leave") and name in fleet.running and len(fleet.running) > 1:
            _, _, members = fleet.running[name]
            fleet.die(name)
            if change == "leave":
                members.leave()
            else:
                fleet.outlive()
        elif change in ("shared", "synchronised"):
            fleet.exchange(change)
            shared = change == "shared"
        fleet.settle()
        assert fleet.covered() == CATEGORIES
        if shared:
            assert {each.filters for _, each, _ in fleet.running.values()} == {frozenset((FILTERS.shared,))}
        else:
            after = fleet.owners()
            if before is not None:
                for category in CATEGORIES:
                    if after[category] != before[category]:  # only to a new one, or from one that is gone
                        assert after[category] == name or before[category] not in fleet.running


def test_a_topic_names_its_device() -> None:
    assert FILTERS.device(topic_of("App", "bus/7", 16)) == "bus/7"
    for topic, reason in (
        ("App/zz/bus", "wrong category"), ("Other/0/bus", "malformed topic"), ("App/0/", "malformed topic"),
        ("App", "malformed topic"),
    ):  # fmt: skip
        with pytest.raises(UnreadableTopic, match=reason):
            FILTERS.device(topic)


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"x" * 5000), lambda path: path.mkdir()])
def test_a_table_that_is_none_is_refused(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    damage(tmp_path / "connectors.db")
    with pytest.raises(LeasesFailed, match=r"connectors\.db: .*: expected the table of connectors"):
        FileLeases(tmp_path / "connectors.db")


def test_two_that_release_at_once_leave_one(tables: Tables) -> None:
    """Whoever asks first may unsubscribe: the other one sees that nobody else has it."""
    table = tables()
    first, second = (Membership(table, FILTERS, Node(name, name)) for name in ("a", "b"))
    everything = frozenset((FILTERS.whole,))
    for each in (first, second):
        each.join()
        each.declare(everything)
    assert first.release(everything, everything) == everything
    assert second.release(everything, everything) == frozenset()
    held = table.change("App", lambda leases: {name: lease.held for name, lease in leases.items()})
    assert held == {"a": (), "b": ("App/#",)}


def test_many_that_change_leases_at_once_wait_for_each_other(tables: Tables) -> None:
    table = tables()
    members = [Membership(table, FILTERS, Node(f"m{number}", "host")) for number in range(8)]

    def live(member: Membership) -> None:
        member.join()
        member.declare(frozenset((FILTERS.of(int(member.node.name[1:])),)))
        member.renew()

    with ThreadPoolExecutor(len(members)) as pool:
        list(pool.map(live, members))
    held = table.change("App", lambda leases: {name: lease.held for name, lease in leases.items()})
    assert held == {f"m{number}": (FILTERS.of(number),) for number in range(8)}


def test_a_life_that_another_has_replaced_changes_nothing_any_more(tables: Tables) -> None:
    table = tables()
    earlier, later = (Membership(table, FILTERS, Node("a", "a")) for _ in range(2))
    everything = frozenset((FILTERS.whole,))
    earlier.join()
    earlier.declare(everything)
    later.join()
    for attempt in (
        earlier.renew,
        lambda: earlier.declare(everything),
        lambda: earlier.release(everything, everything),
        earlier.leave,
    ):
        with pytest.raises(LeasesFailed, match="a: life 2 has the name: expected 1"):
            attempt()
    assert later.renew() == ((Node("a", "a"),), False)
    assert table.change("App", lambda leases: leases["a"].held) == ()


def test_a_table_of_leases_that_is_busy_stops_no_loop_and_joining_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(FileLeases(tmp_path / "leases"))
    fleet.start("a")
    balance, _, members = fleet.running["a"]
    members.join()
    with closing(sqlite3.connect(tmp_path / "leases", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with monkeypatch.context() as patched:
            patched.setattr(leases, "_BUSY_S", 0.01)
            balance.begin(session_kept=False)
            with pytest.raises(LeasesFailed):
                fleet.step()

        async def free() -> None:
            step = asyncio.create_task(balance.step())
            await asyncio.sleep(0)
            other.execute("ROLLBACK")
            await step

        asyncio.run(free())
    assert members._life == 2
    fleet.settle()
    assert set(fleet.owners().values()) == {"a"}
