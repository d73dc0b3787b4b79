"""Executing plans: order, failures, repetition, records and listeners."""

from __future__ import annotations

import json
import logging
from typing import Annotated, Any, Protocol

import pytest
from pydantic import Field

from bypass.transitions import Engine, Mechanism, MechanismState, Plan, Record, TransferState
from bypass.transitions.engine.executor import KEPT_RECORDS


class Table:
    pass


class Index(Protocol):
    def find(self, key: str) -> list[str]: ...


class Base(Mechanism):
    table: Annotated[Table, TransferState()]

    def find(self, key: str) -> list[str]:
        return []


class Hash(Base):
    buckets: Annotated[int, MechanismState("buckets"), Field(ge=1)] = 16


class Tree(Base):
    order: Annotated[int, MechanismState("order")] = 4
    depth: Annotated[list[int], TransferState(optional=True)]


class Broken(Base):
    def start(self) -> None:
        raise OSError("no\nmemory")


class Ghost(Base):
    spirit: Annotated[dict[str, str], TransferState()]


class Diary:
    def __init__(self) -> None:
        self.entries: list[tuple[str, str, str, str]] = []

    def transition_finished(self, record: Record) -> None:
        self.entries.append(("finished", record.id, record.target, record.outcome))


class Clumsy:
    def transition_finished(self, record: Record) -> None:
        raise RuntimeError("blot")


@pytest.fixture
def engine() -> Engine:
    engine = Engine("h1", clock=lambda: 5.0)
    for name in ("left", "right"):
        engine.create_proxy(name, Index, Hash, mechanisms=[Tree, Broken, Ghost], state={"table": Table()})
    return engine


def plan(*actions: dict[str, Any], **fields: Any) -> Plan:
    return Plan.from_data({"plan": "p", "actions": actions, **fields})


TO_TREE = {"proxy": "left", "to": "tree"}
TO_BROKEN = {"proxy": "left", "to": "broken"}
RIGHT_TO_TREE = {"proxy": "right", "to": "tree", "set": {"order": 8, "buckets": 3}}


def names(engine: Engine) -> list[str]:
    return [engine.active(proxy).name for proxy in ("left", "right")]


def test_actions_are_done_in_order_with_one_record_each(engine: Engine) -> None:
    records = engine.execute(plan(TO_TREE, {"proxy": "left", "set": {"order": 6}}, RIGHT_TO_TREE, id="x"))
    assert [(r.id, r.proxy, r.kind, r.outcome) for r in records] == [
        ("x/0", "left", "total", "done"),
        ("x/1", "left", "self", "done"),
        ("x/2", "right", "total", "done"),
    ]
    assert names(engine) == ["tree", "tree"]
    assert [engine.active(p).settings() for p in ("left", "right")] == [{"order": 6}, {"order": 8}]
    assert engine.records == records


def test_a_failure_aborts_the_rest(engine: Engine) -> None:
    records = engine.execute(plan(TO_TREE, TO_BROKEN, RIGHT_TO_TREE))
    assert [r.outcome for r in records] == ["done", "failed", "skipped"]
    assert (records[1].failed_phase, records[1].error) == ("start", "OSError: no memory")
    assert records[2].error == "an earlier action of the plan failed"
    assert names(engine) == ["tree", "hash"]


def test_a_failure_does_not_keep_the_rest_if_the_plan_says_so(engine: Engine) -> None:
    records = engine.execute(plan(TO_BROKEN, RIGHT_TO_TREE, on_error="continue"))
    assert [r.outcome for r in records] == ["failed", "done"]
    assert names(engine) == ["hash", "tree"]


@pytest.mark.parametrize(
    ("action", "phase", "error"),
    [
        ({"proxy": "middle", "to": "tree"}, "check", "there is no proxy 'middle'; there are: left, right"),
        (
            {"proxy": "left", "to": "heap"},
            "check",
            "'left' has no mechanism 'heap'; it has: nothing, hash, tree",
        ),
        ({"proxy": "left", "to": "tree", "members": [1]}, "check", "'left' is not a group"),
        (
            {"proxy": "left", "to": "tree", "set": {"order": "many"}},
            "build",
            "'order' of 'tree' cannot be 'many'",
        ),
        ({"proxy": "left", "set": {"buckets": 0}}, "set", "'buckets' of 'hash' cannot be 0"),
        ({"proxy": "left", "to": "ghost"}, "transfer", "'ghost' requires state 'spirit'"),
    ],
)
def test_what_cannot_be_done_is_a_failed_record(
    engine: Engine, action: dict[str, Any], phase: str, error: str
) -> None:
    (record,) = engine.execute(plan(action))
    assert (record.outcome, record.failed_phase) == ("failed", phase)
    assert record.error.startswith(error) or error in record.error
    assert names(engine) == ["hash", "hash"]


def test_a_plan_is_executed_once_per_id(engine: Engine) -> None:
    engine.execute(plan(TO_TREE, id="x"))
    engine.execute(plan({"proxy": "left", "to": "hash"}, id="y"))
    (again,) = engine.execute(plan(TO_TREE, id="x"))
    assert (again.outcome, again.id) == ("repeated", "x/0")
    assert names(engine) == ["hash", "hash"]
    assert len(engine.records) == 2


def test_also_a_failed_plan_is_not_tried_again(engine: Engine) -> None:
    outcomes = [engine.execute(plan(TO_BROKEN, id="x"))[0].outcome for _ in range(2)]
    assert outcomes == ["failed", "repeated"]


def test_plans_without_id_are_numbered(engine: Engine) -> None:
    ids = [engine.execute(plan(TO_TREE))[0].id for _ in range(3)]
    assert ids == ["h1-1/0", "h1-2/0", "h1-3/0"]


def test_the_memory_of_ids_is_bounded(engine: Engine) -> None:
    for number in range(1025):
        engine.execute(plan({"proxy": "left", "set": {"buckets": 1 + number}}, id=str(number)))
    assert engine.execute(plan(TO_TREE, id="1"))[0].outcome == "repeated"
    assert engine.execute(plan(TO_TREE, id="0"))[0].outcome == "done"


def test_the_memory_of_records_is_bounded(engine: Engine) -> None:
    engine.records.extend([engine.execute(plan(TO_TREE))[0]] * (KEPT_RECORDS - 1))
    assert len(engine.records) == KEPT_RECORDS
    last = engine.execute(plan(RIGHT_TO_TREE))
    assert len(engine.records) == KEPT_RECORDS
    assert engine.records[-1] is last[0]


def test_listeners_are_told_how_transitions_end(engine: Engine) -> None:
    diary = Diary()
    engine.add_listener(diary)
    engine.execute(plan(TO_TREE, TO_TREE, TO_BROKEN, RIGHT_TO_TREE, id="x"))
    engine.execute(plan(TO_TREE, id="x"))
    assert diary.entries == [
        ("finished", "x/0", "tree", "done"),
        ("finished", "x/1", "tree", "skipped"),
        ("finished", "x/2", "broken", "failed"),
        ("finished", "x/3", "tree", "skipped"),
    ]


def test_a_listener_that_fails_disturbs_nobody(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    diary = Diary()
    engine.add_listener(Clumsy())
    engine.add_listener(diary)
    with caplog.at_level(logging.ERROR):
        assert engine.execute(plan(TO_TREE))[0].outcome == "done"
    assert len(diary.entries) == 1
    assert [
        record.exc_info[1].args for record in caplog.records if record.exc_info and record.exc_info[1]
    ] == [
        ("blot",),
    ]


def test_plans_and_records_are_short_in_one_line(engine: Engine) -> None:
    told = plan(RIGHT_TO_TREE, *[TO_TREE] * 10, id="x")
    assert repr(told) == "Plan('p': right -> tree, left -> tree, left -> tree, left -> tree, and 7 more)"
    done, skipped = engine.execute(told)[0], engine.execute(plan(TO_BROKEN, RIGHT_TO_TREE))[1]
    assert repr(done) == "Record(x/0 at h1: right hash -> tree, done)"
    assert repr(skipped).startswith("Record(")
    assert len(repr(skipped)) < 250


def test_records_are_ready_for_json(engine: Engine) -> None:
    (record,) = engine.execute(plan(RIGHT_TO_TREE, id="x", why="growth", who="ops"))
    assert json.loads(json.dumps(record.to_dict(), allow_nan=False)) == {
        "id": "x/0",
        "plan": "p",
        "who": "ops",
        "why": "growth",
        "host": "h1",
        "at": 5.0,
        "proxy": "right",
        "kind": "total",
        "source": "hash",
        "target": "tree",
        "phases": [["build", 0.0], ["transfer", 0.0], ["start", 0.0], ["switch", 0.0], ["stop", 0.0]],
        "moved": ["table"],
        "dropped": [],
        "custom": "",
        "set": {"order": 8},
        "skipped": ["buckets"],
        "members": None,
        "outcome": "done",
        "error": "",
        "failed_phase": "",
    }
