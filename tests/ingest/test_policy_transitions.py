"""Transitions of policies and row models while messages flow: nothing is lost, doubled or changed but by the
filter that is in force."""

import json
import struct
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bypass.ingest.devices.device import Device
from bypass.ingest.stream.plans import submit_plan
from bypass.ingest.tables.compaction import compact
from bypass.transitions import Action, Plan
from tests.ingest.pipeline import Pipeline

pytestmark = pytest.mark.slow

T = 1_763_459_000_000 // 60_000 * 60_000
DEVICES = ("device0", "device1", "device7")
BREAKS = st.sampled_from(["", "", "tasks", "commit", "offset"])
TYPES = {"a": "Long", "b": "Double", "c": "String"}

Reading = tuple[str, int, str, Any]  # device, time, metric, value

readings = st.lists(
    st.tuples(
        st.sampled_from(DEVICES),
        st.integers(0, 90_000),
        st.sampled_from(sorted(TYPES)),
        st.integers(-5, 5),
    ),
    max_size=8,
)
few = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])


def to(policy: str, *members: str, rows: str | None = None, **values: Any) -> Plan:
    exchange: dict[str, Any] = {"proxy": "precompute", "to": policy, "set": values}
    actions = [Action.model_validate({**exchange, "members": members} if members else exchange)]
    if rows is not None:
        actions.append(Action(proxy="row-model", to=rows))
    return Plan(plan=policy, actions=tuple(actions))


class LoadedPipeline(Pipeline):
    """A pipeline in virtual time, and what was sent in each batch. A plan counts from the next batch on, not
    in one that is repeated."""

    now = T
    sent = 0

    def load(self, some: Iterable[tuple[str, int, str, int]]) -> list[Reading]:
        """Log one message for each reading, all of which differ; gives them as rows should have them."""
        found = []
        for device, offset, metric, number in some:
            kind = TYPES[metric]
            value = {"Long": number, "Double": number / 2, "String": str(number)}[kind]
            telemetry = {"metric": metric, "value": value, "type": kind, "uom": str(self.sent)}
            content = {"id": device, "timestamp": T + offset, "telemetries": [telemetry]}
            self.append((device, json.dumps(content).encode()))
            self.sent += 1
            found.append((device, T + offset, metric, value))
        return found

    def advance(self, seconds: float, breaks: Iterable[str] = ()) -> None:
        """Run a batch, after as many attempts that were broken off."""
        self.now += int(seconds * 1000)
        self.clock = self.now
        for each in breaks:
            self.step(each)
            self.restart()
        self.step()

    def readings(self) -> list[Reading]:
        """The rows of the table."""
        names = ("long", "double", "label")
        return [
            (row["device"], row["time"], row["metric"], next(row[n] for n in names if row[n] is not None))
            for row in self.rows()
        ]


def new_pipeline(factory: pytest.TempPathFactory) -> LoadedPipeline:
    path = factory.mktemp("transitions")
    pipeline = LoadedPipeline(path, *(Device(id=name) for name in DEVICES))
    pipeline.clock = T
    return pipeline


@few
@given(st.data())
def test_batch_to_keep_everything_and_back_under_load_loses_and_doubles_no_measurement(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    pipeline = new_pipeline(tmp_path_factory)
    expected: list[Reading] = []
    for _ in range(data.draw(st.integers(1, 5))):
        if data.draw(st.booleans()):
            members = data.draw(st.sampled_from([(), (), ("device1",), ("device0", "device7")]))
            policy = data.draw(st.sampled_from(["keep-everything", "batch"]))
            rows = data.draw(st.sampled_from([None, "standard", "batched"]))
            submit_plan(pipeline.folder.plans, to(policy, *members, rows=rows))
        expected += pipeline.load(data.draw(readings))
        pipeline.tasks = data.draw(st.integers(1, 3))
        pipeline.advance(data.draw(st.sampled_from([0.1, 30, 70])), data.draw(st.lists(BREAKS, max_size=2)))
        if data.draw(st.booleans()):
            compact(pipeline.folder.measurements, fewest=2)
        progress = pipeline.progress()
        assert progress.stored + progress.held == progress.read == pipeline.sent
    submit_plan(pipeline.folder.plans, to("keep-everything"))
    pipeline.advance(1)
    assert pipeline.progress().stored == pipeline.sent
    assert sorted(map(repr, pipeline.readings())) == sorted(map(repr, expected))


# -- filters, as anybody would write them who has all readings of a device and metric in a list


def by_metric(found: list[Reading]) -> list[Reading]:
    return [each for each in found if each[2] == "a"]


def by_type(found: list[Reading]) -> list[Reading]:
    return [each for each in found if TYPES[each[2]] != "String"]


def every_third(found: list[Reading]) -> list[Reading]:
    return found[::3]


def dead_band(found: list[Reading]) -> list[Reading]:
    kept: list[Reading] = []
    for each in found:
        if isinstance(each[3], str) or not kept or abs(each[3] - kept[-1][3]) > 2:
            kept.append(each)
    return kept


def mean_of_ten_seconds(found: list[Reading]) -> list[Reading]:
    if found and isinstance(found[0][3], str):
        return found
    windows: list[list[Reading]] = []
    for each in found:
        if windows and windows[-1][0][1] // 10_000 == each[1] // 10_000:
            windows[-1].append(each)
        else:
            windows.append([each])
    return [(*window[0][:3], sum(each[3] for each in window) / len(window)) for window in windows]


FILTERS: dict[str, tuple[Callable[[list[Reading]], list[Reading]], Plan]] = {
    "by-metric": (by_metric, to("by-metric", metrics=["a"])),
    "by-type": (by_type, to("by-type")),
    "every-nth": (every_third, to("every-nth", n=3)),
    "dead-band": (dead_band, to("dead-band", band=2)),
    "mean-per-window": (mean_of_ten_seconds, to("mean-per-window", window=10)),
}


def offline(found: list[Reading], keep: Callable[[list[Reading]], list[Reading]]) -> list[Reading]:
    """A filter applied to all readings at once, device by device and metric by metric."""
    kept: list[Reading] = []
    for key in {(device, metric) for device, _, metric, _ in found}:
        kept += keep([each for each in found if (each[0], each[2]) == key])
    return kept


@pytest.mark.parametrize("name", FILTERS)
@few
@given(data=st.data())
def test_after_a_transition_to_a_filter_the_table_is_what_the_filter_gives_offline(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """Rows of before stay; measurements that `batch` held back are filtered as if they came then."""
    keep, plan = FILTERS[name]
    pipeline = new_pipeline(tmp_path_factory)
    held = data.draw(st.booleans())
    if held:
        submit_plan(pipeline.folder.plans, to("batch", hold=3600))
    before, after = [], []
    for _ in range(data.draw(st.integers(0, 2))):
        before += pipeline.load(data.draw(readings))
        pipeline.advance(1, data.draw(st.lists(BREAKS, max_size=1)))
    submit_plan(pipeline.folder.plans, plan)
    for _ in range(data.draw(st.integers(1, 3))):
        after += pipeline.load(data.draw(readings))
        pipeline.advance(1, data.draw(st.lists(BREAKS, max_size=1)))
    pipeline.advance(3600)  # windows that are open end
    filtered = offline([*before, *after] if held else after, keep)
    expected = filtered if held else [*before, *filtered]
    assert sorted(map(exact, pipeline.readings())) == sorted(map(exact, expected))
    progress = pipeline.progress()
    assert (progress.held, progress.stored + progress.filtered) == (0, progress.read)


def exact(reading: Reading) -> tuple[str, int, str, bytes]:
    """A reading with its value as bits: a mean is the same sum, in the same order."""
    value = reading[3]
    return (*reading[:3], value.encode() if isinstance(value, str) else struct.pack(">d", value))


@few
@given(st.data())
def test_a_plan_counts_from_the_next_batch_on_and_never_in_one_that_is_repeated(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A decision that is made while a batch fails does not change its rows."""
    pipeline = new_pipeline(tmp_path_factory)
    expected = pipeline.load(data.draw(readings))
    pipeline.step(data.draw(st.sampled_from(["tasks", "commit", "offset"])))
    submit_plan(pipeline.folder.plans, to("by-metric", metrics=["a"], rows="batched"))
    pipeline.restart()
    pipeline.advance(1)
    assert sorted(map(exact, pipeline.readings())) == sorted(map(exact, expected))
    expected += by_metric(pipeline.load(data.draw(readings)))
    pipeline.advance(1)
    assert sorted(map(exact, pipeline.readings())) == sorted(map(exact, expected))


def test_what_a_batch_held_back_is_handed_on_in_the_order_in_which_it_came(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Minutes may be mixed: a filter counts measurements as they came, not minute by minute."""
    pipeline = new_pipeline(tmp_path_factory)
    submit_plan(pipeline.folder.plans, to("batch", hold=3600))
    came = pipeline.load(("device0", offset, "a", offset) for offset in (60_000, 0, 60_001, 1, 60_002, 2))
    pipeline.advance(1)
    submit_plan(pipeline.folder.plans, to("every-nth", n=2))
    pipeline.advance(1)
    assert sorted(pipeline.readings()) == sorted(came[::2])
