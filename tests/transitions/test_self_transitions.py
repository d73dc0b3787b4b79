"""Changing parameters of what is active, without exchanging it."""

from __future__ import annotations

from typing import Annotated, Protocol

import pytest
from pydantic import Field

from bypass.transitions import (
    Action,
    Engine,
    InvalidParameter,
    Mechanism,
    MechanismState,
    Plan,
    Record,
    TransitionFailed,
)


class Sorter(Protocol):
    def sort(self, items: list[int]) -> list[int]: ...


class Base(Mechanism):
    def sort(self, items: list[int]) -> list[int]:
        return sorted(items)


class Quick(Base):
    cutoff: Annotated[int, MechanismState("cutoff"), Field(ge=1)] = 8
    ratio: Annotated[float, MechanismState("ratio"), Field(ge=0, le=1)] = 0.5
    pivot: Annotated[str, MechanismState("pivot")] = "first"

    def __init__(self, host: object = None, **values: object) -> None:
        super().__init__(host, **values)
        self.reactions: list[float] = []

    def set_ratio(self, ratio: float) -> None:
        self.ratio = ratio
        self.reactions.append(ratio)
        if ratio == 0.25:
            raise RuntimeError("cannot have a quarter")


class Merge(Base):
    width: Annotated[int, MechanismState("width")] = 2


@pytest.fixture
def engine() -> Engine:
    engine = Engine("h")
    engine.create_proxy("sorter", Sorter, Quick, mechanisms=[Merge])
    return engine


def quick(engine: Engine) -> Quick:
    active = engine.active("sorter")
    assert isinstance(active, Quick)
    return active


def run(engine: Engine, **action: object) -> Record:
    (record,) = engine.execute(Plan.from_data({"plan": "p", "actions": [{"proxy": "sorter", **action}]}))
    return record


def test_values_are_set_on_the_same_instance(engine: Engine) -> None:
    before = quick(engine)
    record = engine.set("sorter", why="larger inputs", cutoff="16", pivot="median")
    assert quick(engine) is before
    assert before.settings() == {"cutoff": 16, "ratio": 0.5, "pivot": "median"}
    assert (record.kind, record.source, record.target, record.outcome) == ("self", "quick", "quick", "done")
    assert record.set == {"cutoff": 16, "pivot": "median"}
    assert [name for name, _ in record.phases] == ["set"]


def test_a_setter_reacts(engine: Engine) -> None:
    engine.set("sorter", ratio=0.75)
    assert (quick(engine).ratio, quick(engine).reactions) == (0.75, [0.75])


def test_nothing_is_set_if_one_value_is_not_allowed(engine: Engine) -> None:
    with pytest.raises(TransitionFailed, match="'ratio' of 'quick' cannot be 2") as caught:
        engine.set("sorter", cutoff=16, ratio=2)
    assert (caught.value.phase, type(caught.value.cause)) == ("set", InvalidParameter)
    assert quick(engine).settings() == {"cutoff": 8, "ratio": 0.5, "pivot": "first"}
    assert engine.records[-1].outcome == "failed"


def test_what_was_set_before_a_setter_failed_is_restored(engine: Engine) -> None:
    with pytest.raises(TransitionFailed, match="cannot have a quarter"):
        engine.set("sorter", cutoff=16, ratio=0.25, pivot="last")
    assert quick(engine).settings() == {"cutoff": 8, "ratio": 0.5, "pivot": "first"}
    assert quick(engine).reactions == [0.25, 0.5]


def test_trouble_while_restoring_is_noted(engine: Engine) -> None:
    quick(engine).ratio = 0.25  # a value that the setter would not take

    def spoil(sorter: Quick) -> None:
        sorter.ratio = 1.0
        sorter.cutoff = 99
        raise ValueError("changed my mind")

    with pytest.raises(TransitionFailed):
        engine.alter("sorter", spoil)
    assert (
        engine.records[-1].error == "ValueError: changed my mind; undo: RuntimeError: cannot have a quarter"
    )
    assert quick(engine).cutoff == 8


def test_a_misspelt_parameter_is_refused_here_but_skipped_in_a_plan(engine: Engine) -> None:
    with pytest.raises(
        InvalidParameter, match=r"'sorter' has no parameter 'cutof' .* cutoff, pivot, ratio, width"
    ):
        engine.set("sorter", cutof=3)
    record = run(engine, set={"cutof": 3, "cutoff": 4})
    assert (record.outcome, record.set, record.skipped) == ("done", {"cutoff": 4}, ("cutof",))


def test_parameters_of_another_mechanism_are_skipped(engine: Engine) -> None:
    record = run(engine, set={"width": 4})
    assert (record.outcome, record.skipped, record.set) == ("skipped", ("width",), {})
    assert record.error == "'quick' is active and has no such parameter"


def test_a_change_can_be_restricted_to_a_mechanism(engine: Engine) -> None:
    assert run(engine, of="merge", set={"cutoff": 4}).outcome == "skipped"
    assert quick(engine).cutoff == 8
    assert run(engine, of="quick", set={"cutoff": 4}).outcome == "done"
    assert quick(engine).cutoff == 4


def test_a_transition_to_what_is_active_sets_parameters(engine: Engine) -> None:
    before = quick(engine)
    record = run(engine, to="quick", set={"cutoff": 4})
    assert (record.outcome, record.kind) == ("done", "self")
    assert quick(engine) is before
    assert before.cutoff == 4


def test_a_transition_with_parameters_skips_those_that_the_target_lacks(engine: Engine) -> None:
    record = run(engine, to="merge", set={"width": 8, "cutoff": 4})
    assert (record.outcome, record.set, record.skipped) == ("done", {"width": 8}, ("cutoff",))
    assert engine.active("sorter").settings() == {"width": 8}


def test_code_may_change_what_is_active(engine: Engine) -> None:
    def change(sorter: Quick) -> None:
        sorter.cutoff = 32

    record = engine.alter("sorter", change)
    assert (record.kind, record.set, record.outcome) == ("self", {"cutoff": 32}, "done")


def test_parameters_that_code_changed_before_it_failed_are_restored(engine: Engine) -> None:
    def change(sorter: Quick) -> None:
        sorter.cutoff = 32
        raise KeyError("missing")

    with pytest.raises(TransitionFailed) as caught:
        engine.alter("sorter", change)
    assert caught.value.phase == "set"
    assert quick(engine).cutoff == 8


def test_values_that_json_does_not_know_may_be_set_by_code(engine: Engine) -> None:
    record = engine.set("sorter", ratio=float("0.125"), cutoff=True)
    assert record.to_dict()["set"] == {"ratio": 0.125, "cutoff": 1}


def test_an_action_of_a_plan_must_say_something() -> None:
    with pytest.raises(ValueError, match="an action needs `to`"):
        Action(proxy="sorter")
