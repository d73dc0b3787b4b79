"""A dry run says what executing the plan then records, and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from bypass.transitions import (
    AtomicTransition,
    Engine,
    Mechanism,
    MechanismState,
    Nothing,
    Plan,
    Record,
    TransferState,
)


class Store:
    pass


class Cache(Protocol):
    def get(self, key: str) -> bytes | None: ...


class Base(Mechanism):
    def get(self, key: str) -> bytes | None:
        return None


class Lru(Base):
    store: Annotated[Store, TransferState()]
    order: Annotated[list[str], TransferState(optional=True)]
    limit: Annotated[int, MechanismState("limit"), Field(ge=1)] = 4


class Lfu(Base):
    backend: Annotated[Store, TransferState()]
    counts: Annotated[dict[str, int], TransferState(optional=True)]
    decay: Annotated[float, MechanismState("decay")] = 0.5


class Off(Base):
    """Needs nothing and keeps nothing."""


class OffToLfu(AtomicTransition[Off, Lfu]):
    def transfer_state(self, a: Off, b: Lfu) -> None:
        b.backend = Store()


def make_engine() -> Engine:
    engine = Engine("h", clock=lambda: 0.0)
    for name in ("one", "two"):
        engine.create_proxy(name, Cache, Lru, mechanisms=[Lfu, Off], state={"store": Store()})
        engine.register_transition(name, OffToLfu())
    return engine


actions = st.fixed_dictionaries(
    {"proxy": st.sampled_from(["one", "two", "three"])},
    optional={
        "to": st.sampled_from(["lru", "lfu", "off", "nothing", "fifo"]),
        "set": st.dictionaries(st.sampled_from(["limit", "decay", "x"]), st.integers(0, 2), min_size=1),
    },
).filter(lambda action: len(action) > 1)
plans = st.builds(
    lambda actions, on_error: Plan.from_data(
        {"plan": "p", "id": "x", "actions": actions, "on_error": on_error}
    ),
    st.lists(actions, min_size=1, max_size=8),
    st.sampled_from(["abort", "continue"]),
)


def foreseen(record: Record) -> Record:
    """What a dry run can know of a record."""
    return replace(record, phases=[], outcome="planned" if record.outcome == "done" else record.outcome)


@given(plans)
def test_a_dry_run_equals_what_execution_records(plan: Plan) -> None:
    engine = make_engine()
    planned = plan.dry_run(engine)
    assert engine.records == []
    assert planned == [foreseen(record) for record in engine.execute(plan)]


@given(plans)
def test_a_dry_run_changes_nothing(plan: Plan) -> None:
    engine = make_engine()
    before = {name: (engine.active(name), dict(vars(engine.active(name)))) for name in ("one", "two")}
    plan.dry_run(engine)
    for name, (mechanism, content) in before.items():
        assert engine.active(name) is mechanism
        assert vars(mechanism) == content


def test_what_it_says() -> None:
    engine = make_engine()
    data: dict[str, Any] = {
        "plan": "p",
        "actions": [
            {"proxy": "one", "to": "lfu", "set": {"decay": 0.25, "limit": 3}},
            {"proxy": "one", "to": "nothing"},
            {"proxy": "one", "to": "off"},
            {"proxy": "one", "to": "lfu"},
            {"proxy": "two", "to": "off"},
            {"proxy": "two", "to": "lru"},
        ],
    }
    records = Plan.from_data(data).dry_run(engine)
    assert [(r.source, r.target, r.moved, r.dropped, r.custom, r.outcome) for r in records] == [
        ("lru", "lfu", ("backend",), ("order",), "", "planned"),
        ("lfu", "nothing", ("backend", "counts"), (), "", "planned"),
        ("nothing", "off", (), ("backend", "counts"), "", "planned"),
        ("off", "lfu", (), (), "OffToLfu", "planned"),
        ("lru", "off", (), ("store", "order"), "", "planned"),
        ("off", "lru", (), (), "", "failed"),
    ]
    assert (records[0].set, records[0].skipped) == ({"decay": 0.25}, ("limit",))
    assert records[5].error == "'lru' requires state 'store' (Store); offered is: nothing"


def test_a_plan_that_was_executed_would_be_repeated() -> None:
    engine = make_engine()
    plan = Plan.from_data({"plan": "p", "id": "x", "actions": [{"proxy": "one", "to": "off"}]})
    engine.execute(plan)
    assert [record.outcome for record in plan.dry_run(engine)] == ["repeated"]


@pytest.mark.parametrize("target", [Nothing, Lfu])
def test_trust_is_foreseen_from_what_nothing_holds_now(target: type[Mechanism]) -> None:
    engine = make_engine()
    engine.transition("one", Nothing)
    plan = Plan.from_data({"plan": "p", "id": "x", "actions": [{"proxy": "one", "to": target.name}]})
    planned = plan.dry_run(engine)
    assert planned == [foreseen(record) for record in engine.execute(plan)]
