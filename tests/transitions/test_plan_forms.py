"""Plans as text and bytes: they come back as they were, and what is no plan is refused in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bypass.transitions import Action, InvalidPlan, Plan

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
settings = st.dictionaries(names, values, max_size=3)
members = st.none() | st.lists(st.integers() | names, min_size=1, max_size=4).map(tuple)
actions = st.one_of(
    st.builds(Action, proxy=names, to=names, set=settings, members=members),
    st.builds(
        Action, proxy=names, of=st.none() | names, set=st.dictionaries(names, values, min_size=1, max_size=3)
    ),
)
plans = st.builds(
    Plan,
    plan=names,
    why=texts,
    who=texts,
    id=texts,
    epoch=st.integers(0, 2**40),
    scope=st.integers(0, 2**16 - 1),
    decision=st.integers(0, 2**32 - 1),
    on_error=st.sampled_from(["abort", "continue"]),
    actions=st.lists(actions, min_size=1, max_size=4).map(tuple),
)

ENTER = Plan(
    plan="nightly",
    why="the store is nearly full",
    actions=(
        Action(proxy="compressor", to="brotli", set={"quality": 9}),
        Action(proxy="cache", set={"limit": 10}, of="lru"),
        Action(proxy="tenants", to="slow", members=(7, "eu")),
    ),
)

YAML = """\
plan: nightly
why: the store is nearly full
actions:
- proxy: compressor
  to: brotli
  set:
    quality: 9
- proxy: cache
  set:
    limit: 10
  of: lru
- proxy: tenants
  to: slow
  members:
  - 7
  - eu
"""

WIRE = (
    b'{"actions":[{"proxy":"compressor","set":{"quality":9},"to":"brotli"},'
    b'{"of":"lru","proxy":"cache","set":{"limit":10}},'
    b'{"members":[7,"eu"],"proxy":"tenants","to":"slow"}],'
    b'"plan":"nightly","why":"the store is nearly full"}'
)


@given(plans)
def test_round_trips(plan: Plan) -> None:
    assert Plan.from_yaml(plan.to_yaml()) == plan
    assert Plan.from_json(plan.to_json()) == plan
    assert Plan.from_bytes(plan.to_bytes()) == plan
    assert Plan.from_data(json.loads(plan.to_json())) == plan


@given(plans)
def test_equal_plans_have_equal_bytes(plan: Plan) -> None:
    assert Plan.from_yaml(plan.to_yaml()).to_bytes() == plan.to_bytes()


def test_what_the_forms_look_like() -> None:
    assert ENTER.to_yaml() == YAML
    assert ENTER.to_bytes() == WIRE


def with_action(**action: object) -> dict[str, Any]:
    return {"plan": "p", "actions": [{"proxy": "x", **action}]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"actions": [{"proxy": "x", "to": "y"}]}, "plan: plan is missing"),
        ({"plan": "p", "actions": []}, "plan: actions is []: Tuple should have at least 1 item"),
        (with_action(), "plan: actions.0 is {'proxy': 'x'}: an action needs `to`, a mechanism, or `set`"),
        (with_action(too="y"), "plan: actions.0.too is 'y': Extra inputs are not permitted"),
        (with_action(to=3), "plan: actions.0.to is 3: Input should be a valid string"),
        (with_action(to=""), "plan: actions.0.to is '': String should have at least 1 character"),
        (with_action(set={"a": 1}, members=[1]), "`members` and `area` need `to`"),
        (with_action(to="y", of="z"), "`of` restricts a change of parameters and excludes `to`"),
        (with_action(to="y", members=[]), "plan: actions.0.members is []: Tuple should have at least 1 item"),
        (
            with_action(set={"a": float("nan")}),
            "plan: actions.0.set is {'a': nan}: Out of range float values are not JSON compliant",
        ),
        (with_action(set={1: 2}), "Input should be a valid string"),
        (
            {**with_action(to="y"), "epoch": -1},
            "plan: epoch is -1: Input should be greater than or equal to 0",
        ),
        ({**with_action(to="y"), "scope": 2**16}, "plan: scope is 65536: Input should be less than or equal"),
        ({**with_action(to="y"), "decision": 2**32}, "plan: decision is 4294967296: Input should be less"),
        (
            {**with_action(to="y"), "on_error": "stop"},
            "plan: on_error is 'stop': Input should be 'abort' or 'continue'",
        ),
        ({**with_action(to="y"), "id": "i" * 129}, "String should have at most 128 characters"),
        (
            {"plan": "p", "actions": with_action(to="y")["actions"] * 129},
            "Tuple should have at most 128 items",
        ),
        ([], "plan: plan is []: Input should be a valid dictionary or instance of Plan"),
        (None, "plan: plan is None"),
    ],
)
def test_what_is_wrong_is_named_with_key_value_and_expectation(data: Any, message: str) -> None:
    with pytest.raises(InvalidPlan) as caught:
        Plan.from_data(data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 60_000,
        b'{"plan":"p","actions":[{"proxy":"x","to":"\\ud800"}]}',
        b'{"plan":"p","actions":[{"proxy":"x","set":{"a":NaN}}]}',
        b"null",
    ],
)
def test_bytes_that_are_no_plan(data: bytes) -> None:
    with pytest.raises(InvalidPlan) as caught:
        Plan.from_bytes(data)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=200))
def test_random_bytes_are_a_plan_or_refused(data: bytes) -> None:
    try:
        plan = Plan.from_bytes(data)
    except InvalidPlan:
        return
    assert plan.actions


def test_size_is_bounded_both_ways() -> None:
    plan = ENTER.model_copy(update={"why": "x" * 65_536})
    with pytest.raises(InvalidPlan, match=r"plan has 657.. bytes, at most 65536 are allowed"):
        plan.to_bytes()
    with pytest.raises(InvalidPlan, match="plan has 65537 bytes"):
        Plan.from_bytes(b" " * 65_537)


def test_text_that_is_not_unicode_cannot_be_sent() -> None:
    with pytest.raises(InvalidPlan, match="cannot be encoded"):
        ENTER.model_copy(update={"why": "\ud800"}).to_bytes()


def test_yaml_that_is_none() -> None:
    with pytest.raises(InvalidPlan, match=r"plan is not YAML: .* line 1") as caught:
        Plan.from_yaml("plan: [")
    assert "\n" not in str(caught.value)


def test_plans_do_not_change() -> None:
    with pytest.raises(ValidationError):
        ENTER.plan = "other"
