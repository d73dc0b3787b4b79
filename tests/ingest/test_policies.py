"""Policies: what a worker knows, and what another one reads, decide alike; variants run side by side."""

from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.ingest.categories import PARTS, partition_of
from bypass.ingest.devices.device import Device
from bypass.ingest.devices.policy import MECHANISMS, DevicePolicy
from bypass.ingest.service.status import read_status
from bypass.ingest.stream import variants
from bypass.ingest.stream.policies import Policies
from bypass.ingest.stream.progress import read_warnings
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.transitions import Action, Plan
from tests.ingest.pipeline import Pipeline, message

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


def test_no_tenant_uses_up_or_keeps_the_variants_of_another() -> None:
    made = policies({})
    for number in range(variants.MOST):
        (record,) = made.execute(some("every-nth", f"device{number}", n=number + 2), "greedy")
        assert record.outcome == "done"
    (record,) = made.execute(some("every-nth", "one-more", n=5000), "greedy")
    assert (
        record.error == "every-nth {'n': 5000}: expected at most 256 with other parameters of tenant 'greedy'"
    )
    (record,) = made.execute(some("every-nth", "mine", n=2), "modest")
    assert record.outcome == "done"
    memory = note({}, made)
    again = policies(memory)
    assert again.names()["every-nth n=2"] == 2
    assert note(memory, policies(memory)) == memory
    (record,) = again.execute(some("every-nth", "another", n=6000), "greedy")
    assert record.outcome == "failed"
    # The variant is its tenant's own: it is free for other parameters when its devices have gone.
    (record,) = again.execute(some("every-nth", "mine", n=7000), "modest")
    assert record.outcome == "done"
    assert again.names()["every-nth n=2"] == 1
    again.execute(some("keep-everything", "device0"), "greedy")
    (record,) = again.execute(some("every-nth", "another", n=6000), "greedy")
    assert record.outcome == "done"


def test_a_tenant_that_has_too_many_policies_is_told_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "MOST", 2)
    alike = (f"d{n}" for n in count() if partition_of(f"d{n}") % PARTS == 0)
    names = dict(zip(alike, ("greedy", "greedy", "greedy", "modest"), strict=False))
    devices = [
        Device(id=name, tenant=tenant, policy=DevicePolicy(to="every-nth", set={"n": number + 2}))
        for number, (name, tenant) in enumerate(names.items())
    ]
    pipeline = Pipeline(tmp_path, *devices)
    for name in names:
        pipeline.append((name, message(name, MINUTE, a=1)))
        pipeline.step()
        pipeline.restart()
    status = read_status(pipeline.folder)
    assert status.unusable_policies == {str(devices[2].policy): 1}
    assert status.policies["every-nth n=5"] == 1
    (told,) = [line for _, line in read_warnings(pipeline.folder.progress, 0)]
    assert "expected at most 2 with other parameters of tenant 'greedy'" in told
