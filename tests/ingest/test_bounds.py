"""Bounds of what devices can make grow, and clocks that jump: nothing is lost and nothing waits for ever."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.policy import MECHANISMS, DevicePolicy
from bypass.ingest.service.status import read_status
from bypass.ingest.stream.policies import Policies
from bypass.ingest.tables.letters import LettersRemoved, bound_letters, list_letters
from bypass.mechanisms.precompute import device_values, held_buckets
from bypass.mechanisms.precompute.base import HeldMeasurement
from bypass.mechanisms.precompute.held_buckets import HeldBuckets
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.transitions import Action, Plan
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000
ORIGIN = MessageOrigin("r", "t", "device0", T, "w/1", 0)


def adds_up(pipeline: Pipeline) -> None:
    status = read_status(pipeline.folder)
    ends = (status.refused, status.dead_letters)
    assert status.received == status.stored + status.filtered + status.duplicates + status.lag_messages + sum(
        sum(each.values()) for each in ends
    )


@pytest.mark.parametrize("name", ["every-nth", "dead-band"])
def test_metrics_that_a_device_makes_up_are_forgotten(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_values, "MOST_METRICS", 20)
    made = Policies(MECHANISMS, lambda _: True, {})
    made.execute(Plan(plan="test", actions=(Action(proxy="precompute", to=name),)))
    for number in range(500):
        metrics = (f"m{number}", "speed")
        made.take(ORIGIN, [Measurement(T, metric, "Long", number, None) for metric in metrics])
    known = made.changes()[f"memory\n{name}\ndevice0"]
    assert (len(known), [*known][-2:]) == (20, ["m499", "speed"])
    speeds = [each for _, kept in made.host.kept for each in kept if each.metric == "speed"]
    assert len(speeds) == {"every-nth": 50, "dead-band": 500}[name]  # that metric was never forgotten


@pytest.mark.parametrize("policy", ["batch", "mean-per-window"])
def test_no_more_is_held_back_than_there_is_room_for(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_buckets, "MOST_HELD", 10)
    longest = {"batch": "hold", "mean-per-window": "window"}[policy]
    pipeline = Pipeline(tmp_path, Device(id="device0", policy=DevicePolicy(to=policy, set={longest: 3600})))
    for number in range(5):
        pipeline.append(
            *(("device0", message("device0", T + n, **{f"m{n}": n})) for n in range(number, 50, 5))
        )
        pipeline.step()
        pipeline.restart()
        assert pipeline.progress().held <= 10
        adds_up(pipeline)
    assert pipeline.progress().stored == 40
    assert [row["metric"] for row in pipeline.rows()] == [f"m{n}" for n in range(50) if n % 5 != 4]


def test_windows_that_a_device_changes_with_each_message_leave_nothing_behind() -> None:
    buckets = HeldBuckets()
    for number in range(10_000):
        buckets.put(HeldMeasurement(ORIGIN, Measurement(T, "a", "Long", 1, None), True), number, T + number)
        buckets.put(HeldMeasurement(ORIGIN, Measurement(T, "b", "Long", 1, None), True), number % 7, T)
        assert len(buckets.pop("device0", "a", number)) == 1
        assert len(buckets._begun) <= 1020
    assert len(list(buckets.pop_begun(T + 10_000))) == 7


def test_the_mean_of_the_largest_numbers_is_a_number(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0", policy="mean-per-window"))
    for time_of in (T, T + 1, T + 120_000):
        pipeline.append(("device0", message("device0", time_of, a=1.7e308)))
    pipeline.step()
    assert [row["double"] for row in pipeline.rows()] == [1.7e308]


def test_what_is_held_back_goes_on_after_the_clock_has_gone_back(tmp_path: Path) -> None:
    policy = DevicePolicy(to="batch", set={"hold": 3})
    pipeline = Pipeline(tmp_path, Device(id="device0", policy=policy))
    pipeline.clock = int(time.time() * 1000) + 86_400_000  # a machine that has begun with a wrong time
    pipeline.append(("device0", message("device0", T, a=1)))
    pipeline.step()
    assert pipeline.progress().held == 1
    before = pipeline.progress().offset.clock
    pipeline.clock = None
    for _ in range(10):  # a reader that has just begun takes a second for passed
        pipeline.step()
    progress = pipeline.progress()
    assert (progress.held, progress.stored) == (0, 1)
    assert before < progress.offset.clock < before + 60_000
    adds_up(pipeline)


def test_dead_letters_have_a_bound_in_bytes(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"))
    for number in range(6):
        pipeline.append((f"stranger{number}", bytes(range(256)) * 8), at=T + number)
        pipeline.step()
    table = pipeline.folder.dead_letters
    files = list(table.rglob("*.parquet"))
    size = sum(path.stat().st_size for path in files)
    assert bound_letters(table, size) == LettersRemoved()
    removed = bound_letters(table, size // 2)
    assert removed.letters == 3
    assert {row["device"] for row in list_letters(table, 10).latest} == {
        "stranger3",
        "stranger4",
        "stranger5",
    }
    assert len(list(table.rglob("*.parquet"))) == 6  # somebody may be reading them
    bound_letters(table, 1)
    assert list_letters(table, 10).reasons == {}
    assert len(list(table.rglob("*.parquet"))) == 3
    pipeline.append(("stranger", b"?"))
    assert pipeline.run().dead_letters == {"unknown device": 7}
    adds_up(pipeline)
