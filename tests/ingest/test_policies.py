"""Policies: what a worker knows, and what another one reads, decide alike; variants run side by side."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.ingest.devices.policy import MECHANISMS
from bypass.ingest.stream import variants
from bypass.ingest.stream.policies import Policies
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.transitions import Action, Plan

DEVICES = ["a", "b", "c"]
MINUTE = 60_000

actions = st.builds(
    lambda to, members: Action(proxy="precompute", to=to[0], set=to[1], members=tuple(members) or None),
    st.sampled_from(
        [
            ("keep-everything", {}),
            ("every-nth", {"n": 2}),
            ("every-nth", {"n": 3}),
            ("every-nth", {}),
            ("batch", {"hold": 60}),
            ("batch", {"hold": 180}),
            ("mean-per-window", {"window": 60}),
            ("dead-band", {"band": 1}),
        ]
    ),
    st.lists(st.sampled_from(DEVICES), unique=True, max_size=2),
)
messages = st.lists(st.tuples(st.sampled_from(DEVICES), st.integers(0, 4), st.integers(0, 5)), max_size=5)


def plan(action: Action) -> Plan:
    return Plan(plan="test", actions=(action,))


def some(to: str, *members: str, **values: Any) -> Plan:
    return plan(Action(proxy="precompute", to=to, set=values, members=members or None))


def policies(memory: dict[str, Any]) -> Policies:
    return Policies(MECHANISMS, lambda _: True, msgspec.msgpack.decode(msgspec.msgpack.encode(memory)))


def note(memory: dict[str, Any], made: Policies) -> dict[str, Any]:
    changed = memory | made.changes()
    return {key: data for key, data in changed.items() if data is not None}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.none() | actions, messages), max_size=8))
def test_policies_that_are_read_again_decide_as_those_that_go_on(
    steps: list[tuple[Action | None, list[tuple[str, int, int]]]],
) -> None:
    live, memory, sequence = policies({}), dict[str, Any](), 0
    taken = ended = 0
    for number, (action, sent) in enumerate(steps):
        read = policies(memory)
        outcomes = []
        for each in (live, read):
            each.begin((number + 1) * MINUTE)
            if action is not None:
                assert [record.outcome for record in each.execute(plan(action))] != ["failed"]
            outcome = []
            for offset, (device, minute, value) in enumerate(sent):
                origin = MessageOrigin("r", "t", device, 0, "w/1", sequence + offset)
                measurement = Measurement(minute * MINUTE + sequence + offset, "m", "Long", value, None)
                outcome.append(each.take(origin, [measurement]))
            each.pass_time()
            outcomes.append((outcome, each.host.kept, each.host.settled, each.host.held, each.names()))
        assert outcomes[0] == outcomes[1]
        sequence += len(sent)
        taken += len(sent)
        outcome, _, settled, held, _ = outcomes[0]
        ended += outcome.count("stored") + outcome.count("filtered") + settled.total()
        assert taken == ended + held
        memory = note(memory, live)
        assert note(memory, policies(memory)) == memory


def test_a_plan_for_all_may_mean_a_variant_that_serves_some() -> None:
    made = policies({})
    made.execute(some("every-nth", "a", n=2))
    made.execute(some("every-nth", "b", n=3))
    made.execute(some("every-nth", n=3))
    assert made.names() == {"every-nth n=3": None}
    memory = note({}, made)
    again = policies(memory)
    assert again.names() == {"every-nth n=3": None}
    again.execute(some("every-nth", "a", n=2))
    again.execute(Plan(plan="set", actions=(Action(proxy="precompute", of="every-nth", set={"n": 7}),)))
    assert again.names() == {"every-nth n=7": None}


def test_variants_have_a_bound_that_is_told() -> None:
    made = policies({})
    for number in range(variants.MOST):
        (record,) = made.execute(some("every-nth", f"device{number}", n=number + 1))
        assert record.outcome == "done"
    (record,) = made.execute(some("every-nth", "one-more", n=5000))
    assert (record.outcome, record.error) == (
        "failed",
        "every-nth {'n': 5000}: expected at most 256 with other parameters",
    )
    assert len(made.names()) == variants.MOST + 1
