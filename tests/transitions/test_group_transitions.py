"""Several stores side by side: each tenant is served by exactly one, and may be moved."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import Field

from bypass.transitions import (
    AtomicTransition,
    Engine,
    Group,
    InvalidParameter,
    Mechanism,
    MechanismState,
    Plan,
    Record,
    TransferState,
    TransitionFailed,
    UnknownMechanism,
    UnknownProxy,
)
from bypass.transitions.engine.record import TransitionResult


class Disk:
    """What all stores share, and a diary of what they do."""

    def __init__(self) -> None:
        self.diary: list[str] = []
        self.fails: set[str] = set()

    def note(self, entry: str) -> None:
        self.diary.append(entry)
        if entry in self.fails:
            raise OSError(f"{entry} failed")


class Shelf:
    def __init__(self, disk: Disk, name: str) -> None:
        self.disk = disk
        self.name = name

    def open(self) -> None:
        self.disk.note(f"open {self.name}")

    def close(self) -> None:
        self.disk.note(f"close {self.name}")


class Store(Mechanism):
    disk: Annotated[Disk, TransferState()]
    level: Annotated[int, MechanismState("level"), Field(ge=0, le=9)] = 1

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self.tenants: dict[Hashable, str] = {}

    def start(self) -> None:
        self.disk.note(f"start {self.name}")

    def stop(self) -> None:
        self.disk.note(f"stop {self.name}")

    def members(self) -> Collection[Hashable]:
        return self.tenants.keys()

    def admit(self, members: Collection[Hashable] | None, source: Mechanism | None) -> None:
        assert isinstance(source, Store)
        chosen = source.tenants if members is None else members
        for tenant in chosen:
            self.tenants[tenant] = source.tenants[tenant]
        who = "all" if members is None else sorted(map(str, members))
        self.disk.note(f"{self.name} admits {who} from {source.name}")

    def release(self, members: Collection[Hashable]) -> None:
        for tenant in members:
            self.tenants.pop(tenant, None)
        self.disk.note(f"{self.name} releases {sorted(map(str, members))}")


class Hot(Store):
    burst: Annotated[int, MechanismState("burst")] = 3
    index: Annotated[list[str], TransferState(optional=True)]


class Warm(Store):
    delay: Annotated[float, MechanismState("delay")] = 0.5


class Cold(Store):
    def set_level(self, level: int) -> None:
        self.disk.note(f"cold level {level}")
        self.level = level


class Alone(Mechanism):
    """Serves no members."""


class Setup:
    def __init__(self) -> None:
        self.disk = Disk()
        self.shelves = 0
        self.engine = Engine("h", lease=self.lease, clock=lambda: 0.0)
        self.group = self.engine.create_group(
            "tenants", Hot, mechanisms=[Warm, Cold], state={"disk": self.disk}
        )
        self.hot.tenants.update({1: "one", 2: "two", 3: "three", "eu": "europe"})
        self.disk.diary.clear()

    def lease(self, name: str) -> Shelf:
        self.shelves += 1
        return Shelf(self.disk, f"{name}#{self.shelves}") if self.shelves > 1 else Shelf(Disk(), "first")

    @property
    def hot(self) -> Hot:
        hot = self.group.get("hot")
        assert isinstance(hot, Hot)
        return hot

    def run(self, **action: Any) -> Record:
        plan = Plan.from_data(
            {"plan": "p", "id": str(len(self.engine.records)), "actions": [{"proxy": "tenants", **action}]}
        )
        planned = plan.dry_run(self.engine)
        (record,) = self.engine.execute(plan)
        if record.outcome in ("done", "skipped"):
            outcome: TransitionResult = "planned" if record.outcome == "done" else "skipped"
            assert planned == [
                replace(record, phases=[], outcome=outcome, error=planned[0].error, failed_phase="")
            ]
        return record

    def tenants(self) -> dict[str, set[Hashable]]:
        return {m.name: set(m.members()) for m in self.group.active if isinstance(m, Store)}


@pytest.fixture
def setup() -> Setup:
    return Setup()


def test_the_default_serves_everybody_first(setup: Setup) -> None:
    assert isinstance(setup.group, Group)
    assert setup.group.active == (setup.group.default,)
    assert setup.engine.active("tenants") is setup.group.default
    assert setup.group.get("warm") is None
    with pytest.raises(UnknownProxy, match="'tenants' is a group, not Store"):
        setup.engine.get_proxy("tenants", Store)


def test_a_partial_transition_moves_only_the_named_members(setup: Setup) -> None:
    before = setup.group.active
    record = setup.run(to="warm", members=[1, "eu"], set={"delay": 2, "burst": 5})
    assert setup.tenants() == {"hot": {2, 3}, "warm": {1, "eu"}}
    assert before == (setup.hot,)
    assert setup.disk.diary == [
        "start warm",
        "warm admits ['1', 'eu'] from hot",
        "open tenants#2",
        "hot releases ['1', 'eu']",
    ]
    assert [name for name, _ in record.phases] == ["build", "transfer", "start", "admit", "switch", "release"]
    assert (record.kind, record.source, record.target, record.members) == ("partial", "hot", "warm", 2)
    assert (record.moved, record.dropped) == (("disk",), ())
    assert (record.set, record.skipped) == ({"delay": 2.0}, ("burst",))
    warm = setup.group.get("warm")
    assert isinstance(warm, Warm)
    assert (warm.disk, warm.tenants) == (setup.disk, {1: "one", "eu": "europe"})


def test_a_mechanism_that_runs_already_is_not_built_again(setup: Setup) -> None:
    setup.run(to="warm", members=[1])
    warm = setup.group.get("warm")
    setup.disk.diary.clear()
    record = setup.run(to="warm", members=[1, 2], set={"delay": 4, "x": 1})
    assert setup.group.get("warm") is warm
    assert setup.disk.diary == ["warm admits ['2'] from hot", "hot releases ['2']"]
    assert [name for name, _ in record.phases] == ["set", "admit", "switch", "release"]
    assert (record.members, record.set, record.skipped, record.moved) == (1, {"delay": 4.0}, ("x",), ())
    assert warm is not None
    assert warm.settings() == {"level": 1, "delay": 4.0}


def test_members_come_from_several_mechanisms_and_empty_ones_are_stopped(setup: Setup) -> None:
    setup.run(to="warm", members=[1, 2])
    setup.disk.diary.clear()
    record = setup.run(to="cold", members=[1, 2, 3, "us"])
    assert setup.tenants() == {"hot": {"eu"}, "cold": {1, 2, 3}}
    assert setup.disk.diary == [
        "start cold",
        "cold admits ['3'] from hot",
        "cold admits ['1', '2'] from warm",
        "open tenants#3",
        "hot releases ['3']",
        "warm releases ['1', '2']",
        "stop warm",
        "close tenants#2",
    ]
    assert (record.source, record.members) == ("hot,warm", 3)


def test_the_default_stays_even_without_members(setup: Setup) -> None:
    setup.run(to="warm", members=[1, 2, 3, "eu"])
    assert setup.tenants() == {"hot": set(), "warm": {1, 2, 3, "eu"}}
    setup.run(to="hot", members=[1, 2, 3, "eu"])
    assert setup.tenants() == {"hot": {1, 2, 3, "eu"}}
    assert setup.hot.tenants == {1: "one", 2: "two", 3: "three", "eu": "europe"}


def test_nothing_is_built_for_members_that_nobody_serves(setup: Setup) -> None:
    record = setup.run(to="warm", members=["us"])
    assert (record.outcome, record.error, record.members) == (
        "skipped",
        "none of the members is served here",
        0,
    )
    assert setup.disk.diary == []


def test_members_that_are_there_already_only_get_the_parameters(setup: Setup) -> None:
    assert setup.run(to="hot", members=[1]).outcome == "skipped"
    record = setup.run(to="hot", members=[1], set={"burst": 7})
    assert (record.outcome, record.kind, setup.hot.burst) == ("done", "self", 7)


def test_a_total_transition_moves_everybody_and_stops_the_others(setup: Setup) -> None:
    setup.run(to="warm", members=[1])
    setup.disk.diary.clear()
    record = setup.run(to="cold", set={"level": 5})
    assert setup.tenants() == {"cold": {1, 2, 3, "eu"}}
    assert setup.group.default.name == "cold"
    assert setup.disk.diary == [
        "start cold",
        "cold admits all from hot",
        "cold admits all from warm",
        "open tenants#3",
        "stop hot",
        "stop warm",
        "close tenants#2",
    ]
    assert (record.kind, record.source, record.members) == ("total", "hot,warm", 4)
    assert (record.moved, record.dropped) == (("disk",), ("index",))


def test_a_total_transition_to_a_running_mechanism_makes_it_the_default(setup: Setup) -> None:
    setup.run(to="warm", members=[1])
    warm = setup.group.get("warm")
    record = setup.run(to="warm", set={"delay": 9})
    assert setup.group.active == (warm,)
    assert setup.tenants() == {"warm": {1, 2, 3, "eu"}}
    assert (record.outcome, record.kind, record.set, record.moved) == ("done", "total", {"delay": 9.0}, ())


def test_a_total_transition_to_the_only_one_changes_nothing(setup: Setup) -> None:
    assert setup.run(to="hot").outcome == "skipped"
    assert setup.disk.diary == []


def test_parameters_are_set_wherever_they_exist(setup: Setup) -> None:
    setup.run(to="warm", members=[1])
    record = setup.run(set={"level": 4, "burst": 8, "x": 0})
    assert [m.settings()["level"] for m in setup.group.active] == [4, 4]
    assert setup.hot.burst == 8
    assert (record.source, record.set, record.skipped) == ("hot,warm", {"level": 4, "burst": 8}, ("x",))


def test_parameters_may_be_restricted_to_one_mechanism(setup: Setup) -> None:
    setup.run(to="warm", members=[1])
    setup.run(of="warm", set={"level": 4})
    assert [m.settings()["level"] for m in setup.group.active] == [1, 4]
    assert setup.run(of="cold", set={"level": 4}).outcome == "skipped"


def test_parameters_of_all_mechanisms_are_restored_if_one_refuses(setup: Setup) -> None:
    setup.run(to="cold", members=[1])
    setup.disk.fails.add("cold level 7")
    record = setup.run(set={"level": 7})
    assert (record.outcome, record.failed_phase) == ("failed", "set")
    assert [m.settings()["level"] for m in setup.group.active] == [1, 1]


def test_code_is_applied_to_all(setup: Setup) -> None:
    setup.run(to="warm", members=[1])

    def raise_level(store: Store) -> None:
        store.level += 1

    assert setup.engine.alter("tenants", raise_level).source == "hot,warm"
    assert [m.settings()["level"] for m in setup.group.active] == [2, 2]


@pytest.mark.parametrize("members", [None, [1, 2]])
@pytest.mark.parametrize(
    ("fails", "phase", "tail"),
    [
        ("start warm", "start", ["start warm", "close tenants#2"]),
        ("warm admits", "admit", ["stop warm", "close tenants#2"]),
        ("open tenants#2", "switch", ["open tenants#2", "stop warm", "close tenants#2"]),
    ],
)
def test_a_new_mechanism_that_fails_is_discarded(
    setup: Setup, members: list[int] | None, fails: str, phase: str, tail: list[str]
) -> None:
    who = "all" if members is None else "['1', '2']"
    setup.disk.fails.add(f"{fails} {who} from hot" if phase == "admit" else fails)
    action = {"to": "warm"} if members is None else {"to": "warm", "members": members}
    record = setup.run(**action)
    assert (record.outcome, record.failed_phase) == ("failed", phase)
    assert setup.tenants() == {"hot": {1, 2, 3, "eu"}}
    assert setup.disk.diary[-len(tail) :] == tail


def test_a_running_mechanism_that_fails_to_admit_forgets_them_and_its_new_parameters(setup: Setup) -> None:
    setup.run(to="warm", members=[1])
    setup.run(to="cold", members=[2])
    setup.disk.fails.add("warm admits ['2'] from cold")
    record = setup.run(to="warm", members=[2, 3], set={"delay": 8})
    assert (record.outcome, record.failed_phase) == ("failed", "admit")
    assert setup.tenants() == {"hot": {3, "eu"}, "warm": {1}, "cold": {2}}
    warm = setup.group.get("warm")
    assert warm is not None
    assert warm.settings()["delay"] == 0.5


def test_invalid_parameters_fail_before_anything_happens(setup: Setup) -> None:
    record = setup.run(to="warm", members=[1], set={"level": 10})
    assert (record.outcome, record.failed_phase) == ("failed", "build")
    setup.run(to="warm", members=[1])
    setup.disk.diary.clear()
    record = setup.run(to="warm", members=[2], set={"level": 10})
    assert (record.outcome, record.failed_phase) == ("failed", "set")
    assert setup.disk.diary == []


def test_trouble_of_one_source_does_not_keep_the_others_from_releasing(setup: Setup) -> None:
    setup.run(to="warm", members=[1, 2])
    setup.disk.fails |= {"hot releases ['3']", "warm releases ['1']"}
    record = setup.run(to="cold", members=[1, 3])
    assert record.error.count("release: ") == 2
    assert setup.tenants() == {"hot": {"eu"}, "warm": {2}, "cold": {1, 3}}


def test_trouble_after_the_switch_is_noted_and_tolerated(setup: Setup) -> None:
    setup.disk.fails |= {"hot releases ['1']", "stop hot"}
    record = setup.run(to="warm", members=[1])
    assert (record.outcome, record.failed_phase) == ("done", "release")
    assert record.error == "release: OSError: hot releases ['1'] failed"
    record = setup.run(to="warm")
    assert (record.outcome, record.error) == ("done", "stop: OSError: stop hot failed")
    assert setup.tenants() == {"warm": {1, 2, 3, "eu"}}


class HotToWarm(AtomicTransition[Hot, Warm]):
    def transfer_state(self, a: Hot, b: Warm) -> None:
        b.disk = a.disk
        b.delay = 77.0


def test_custom_transitions_apply_to_groups(setup: Setup) -> None:
    setup.engine.register_transition("tenants", HotToWarm())
    assert setup.run(to="warm", members=[1]).custom == "HotToWarm"
    warm = setup.group.get("warm")
    assert warm is not None
    assert warm.settings()["delay"] == 77.0


def test_defaults_apply_to_groups(setup: Setup) -> None:
    setup.engine.set_defaults("tenants", {"delay": 6})
    setup.run(to="warm", members=[1])
    warm = setup.group.get("warm")
    assert warm is not None
    assert warm.settings()["delay"] == 6.0


def test_only_divisible_mechanisms_may_be_in_a_group(setup: Setup) -> None:
    with pytest.raises(TypeError, match="Alone cannot be in group 'tenants': it lacks 'members'"):
        setup.engine.transition("tenants", Alone)
    with pytest.raises(UnknownMechanism, match="no mechanism 'nothing'; it has: cold, hot, warm"):
        setup.engine.transition("tenants", "nothing")
    with pytest.raises(InvalidParameter, match="'warm' has no parameter 'burst'"):
        setup.engine.transition("tenants", Warm, set={"burst": 1})


def test_a_group_fails_like_a_proxy_when_the_program_asks(setup: Setup) -> None:
    setup.disk.fails.add("start warm")
    with pytest.raises(TransitionFailed, match="start warm failed"):
        setup.engine.transition("tenants", Warm)


def test_dropping_a_group_stops_all(setup: Setup) -> None:
    setup.run(to="warm", members=[1])
    setup.disk.diary.clear()
    setup.engine.drop_proxy("tenants")
    assert sorted(setup.disk.diary) == ["close tenants#2", "stop hot", "stop warm"]
    assert setup.group.active == ()
