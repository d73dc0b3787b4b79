"""The adaptive policy: it thins out when the load would shorten the window, and comes back."""

import math
import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bypass.cli.group import commands
from bypass.ingest.adaptation import controller
from bypass.ingest.adaptation.adaptive_policy import AdaptivePolicy, InvalidAdaptivePolicy
from bypass.ingest.adaptation.controller import adapt, begin_adaptation, read_policy
from bypass.ingest.devices.device import Device
from bypass.ingest.folder import IngestFolder
from bypass.ingest.sizing.loss import LossTolerance, evictions
from bypass.ingest.stream import progress
from bypass.ingest.stream.offsets import StreamOffset
from bypass.ingest.stream.plans import latest_plan, plans_between
from bypass.ingest.stream.progress import note_batch, read_progress
from bypass.ingest.stream.task import TaskResult
from bypass.ingest.tables.files import WrittenFile
from tests.ingest.pipeline import Pipeline, message

HOUR = 3600.0
SAMPLE = 60
BATCH_S = 30
COSTS = {"keep": 100, "batch": 40, "thin": 20, "thinner": 4}  # bytes of a message


def budget_for(load: float, window: float) -> int:
    """The budget in which measurements stay for `window` seconds under `load` bytes a second."""
    allowed = LossTolerance().probability(evictions(HOUR, load))
    return math.ceil(load * window / math.pow(allowed, 0.2))


class VirtualStream:
    """A stream in virtual time that notes batches as a real one does; each rung has a cost of its own."""

    def __init__(self, path: Path, policy: AdaptivePolicy) -> None:
        self.folder = IngestFolder(path)
        self.policy = policy
        self.now = 1_763_459_000 // SAMPLE * SAMPLE
        self.batch = 0
        begin_adaptation(self.folder, policy)

    @property
    def rung(self) -> str:
        """The rung of the latest plan."""
        number = latest_plan(self.folder.plans)
        return plans_between(self.folder.plans, number - 1, number)[0][1].plan

    def run(self, rate: float, samples: int) -> list[str]:
        """Run for so many samples; gives the rung at the end of each, when its last batch is noted."""
        rungs = []
        for _ in range(samples):
            for _ in range(SAMPLE // BATCH_S):
                self.note(rate, BATCH_S)
            rungs.append(self.rung)
        return rungs

    def note(self, rate: float, seconds: int) -> None:
        """Note one batch, with a dead letter."""
        self.now += seconds
        size = round(rate * seconds * COSTS[self.rung])
        file = WrittenFile("f", {}, size, 1, "", 0)
        offset = StreamOffset(self.batch + 1, plans=latest_plan(self.folder.plans), clock=self.now * 1000 - 1)
        read = round(rate * seconds)
        result = TaskResult({"measurements": [file]}, read=read, dead_letters={"malformed": 1})
        note_batch(self.folder.progress, self.batch, offset, [result])
        self.batch += 1
        adapt(self.folder)


def policy(**values: object) -> AdaptivePolicy:
    given = {"budget": budget_for(100 * COSTS["keep"], 6000), "window": HOUR, "sample": SAMPLE, **values}
    return AdaptivePolicy.model_validate(given)


@pytest.mark.slow
def test_a_load_step_thins_out_within_two_samples_and_comes_back_with_hysteresis(tmp_path: Path) -> None:
    stream = VirtualStream(tmp_path, policy())
    assert set(stream.run(100, 5)) == {"keep"}  # 6,000 s
    # 500 messages/s: 1,200 s on the first rung, 3,000 on the second, 6,000 on the third
    step = stream.run(500, 3)
    assert step[:2] == ["keep", "keep"]
    assert step[2] == "batch"  # decided with the first batch behind the second sample
    assert stream.run(500, 3)[-1] == "thin"
    assert set(stream.run(500, 10)) == {"thin"}
    # 350 messages/s would stay for 4,286 s on the second rung: enough, and not by a quarter
    assert set(stream.run(350, 10)) == {"thin"}
    back = stream.run(100, 12)
    assert back[:2] == ["thin", "thin"]
    assert sorted(set(back), key=back.index) == ["thin", "batch", "keep"]
    assert back[-1] == "keep"
    assert set(stream.run(100, 5)) == {"keep"}


@pytest.mark.slow
def test_an_extreme_load_goes_to_the_last_rung_and_none_back_to_the_first(tmp_path: Path) -> None:
    stream = VirtualStream(tmp_path, policy())
    stream.run(100, 3)
    assert stream.run(100_000, 12)[-3:] == ["thinner"] * 3
    assert stream.run(0, 12)[-1] == "keep"
    plans = [plan for _, plan in plans_between(stream.folder.plans, 0, latest_plan(stream.folder.plans))]
    assert [plan.plan for plan in plans] == ["keep", "batch", "thin", "thinner", "thin", "batch", "keep"]
    assert "100000 messages/s" in plans[1].why


def test_a_stream_that_stands_still_is_not_taken_for_one_without_load(tmp_path: Path) -> None:
    stream = VirtualStream(tmp_path, policy())
    assert stream.run(500, 7)[-1] == "thin"
    stream.now += 20 * SAMPLE  # a batch takes this long
    adapt(stream.folder)
    assert stream.rung == "thin"
    file = WrittenFile("f", {}, 20 * SAMPLE * 500 * COSTS["thin"], 1, "", 0)
    offset = StreamOffset(99, plans=latest_plan(stream.folder.plans), clock=stream.now * 1000 - 1)
    result = TaskResult({"measurements": [file]}, read=20 * SAMPLE * 500)
    note_batch(stream.folder.progress, stream.batch, offset, [result])
    stream.batch += 1
    assert set(stream.run(500, 3)) == {"thin"}  # its messages have come all the time


def test_a_sample_may_have_more_batches_than_are_kept_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_KEPT", 20)
    length, many = 1200, 60
    stream = VirtualStream(tmp_path, policy(sample=length))
    stream.now = stream.now // length * length
    rungs = []
    for _ in range(4 * many):
        stream.note(200, length // many)
        rungs.append(stream.rung)
    assert rungs.index("batch") == 3 * many  # with the first batch behind the second whole sample
    kept = progress.read_batches(stream.folder.progress)
    assert len(kept) < 100  # of 240: three have a minute
    assert sum(each.read for each in kept) == read_progress(stream.folder.progress).read
    assert sum(each.dead_letters for each in kept) == 4 * many


def test_samples_that_are_longer_than_batches_are_kept_for_are_refused() -> None:
    policy(sample="1d", samples=6)
    with pytest.raises(InvalidAdaptivePolicy, match=r"sample is 86400 s: expected 75600 at most, with 7"):
        AdaptivePolicy.from_yaml("{budget: 1GB, window: 1d, sample: 1d, samples: 7}")


def test_one_sample_is_not_enough_and_a_sample_decides_once(tmp_path: Path) -> None:
    stream = VirtualStream(tmp_path, policy(samples=3))
    stream.run(100, 3)
    assert stream.run(500, 2) == ["keep", "keep"]
    assert set(stream.run(100, 4)) == {"keep"}
    stream.run(500, 3)
    number = latest_plan(stream.folder.plans)
    stream.run(500, 1)
    assert latest_plan(stream.folder.plans) == number + 1
    for _ in range(3):  # whoever looks again at the same batches decides nothing else
        adapt(stream.folder)
    assert latest_plan(stream.folder.plans) == number + 1


@pytest.mark.slow
def test_a_rung_whose_cost_is_not_known_any_more_is_tried_once(tmp_path: Path) -> None:
    stream = VirtualStream(tmp_path, policy())
    assert stream.run(500, 7)[-1] == "thin"
    stream.run(500, 4)
    with closing(sqlite3.connect(stream.folder.progress)) as progress, progress:
        progress.execute("DELETE FROM batches WHERE batch < ?", (stream.batch - 7,))
    rungs = stream.run(500, 12)
    assert "batch" in rungs
    assert rungs[-3:] == ["thin"] * 3


def test_a_policy_that_was_written_by_hand_begins_with_the_first_rung(tmp_path: Path) -> None:
    folder = IngestFolder(tmp_path)
    folder.adaptation.write_text("{budget: 20GB, window: 7d}")
    for _ in range(2):
        adapt(folder)
    (submitted,) = plans_between(folder.plans, 0, 9)
    assert (submitted[1].plan, submitted[1].who) == ("keep", "adaptive policy")


def test_a_damaged_policy_is_told_and_the_controller_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = IngestFolder(tmp_path)
    monkeypatch.setattr(controller, "LOOK_S", 0.01)
    folder.adaptation.write_text("{budget: 20GB}")
    stop, looked = threading.Event(), threading.Event()
    thread = threading.Thread(target=controller.run_controller, args=(folder, stop))
    thread.start()
    try:
        end = time.monotonic() + 20
        while "window is missing" not in caplog.text and time.monotonic() < end:
            looked.wait(0.01)
        folder.adaptation.write_text("{budget: 20GB, window: 7d}")
        while not latest_plan(folder.plans) and time.monotonic() < end:
            looked.wait(0.01)
    finally:
        stop.set()
        thread.join()
    assert "window is missing" in caplog.text
    assert latest_plan(folder.plans) == 1


def test_without_a_policy_nothing_is_decided(tmp_path: Path) -> None:
    folder = IngestFolder(tmp_path)
    assert adapt(folder) == []
    assert read_policy(folder) is None
    assert latest_plan(folder.plans) == 0


def test_the_policy_of_the_documentation_is_one_with_the_default_ladder() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ingest.md").read_text(encoding="utf-8")
    (text,) = (block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "ladder:" in block)
    found = AdaptivePolicy.from_yaml(text)
    assert (found.budget, found.window) == (500 * 10**9, 30 * 86_400)
    assert found == AdaptivePolicy(budget=found.budget, window=found.window)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{budget: 20GB}", "window is missing"),
        ("{budget: 20 pounds, window: 1h}", "budget is '20 pounds': .*expected a number of bytes"),
        ("{budget: 1, window: 1h, rungs: 3}", "rungs is unknown: expected one of budget, window"),
        (
            "{budget: 1, window: 1h, ladder: [{name: a, actions: [{proxy: precompute, to: batch}]}]}",
            "ladder",
        ),
        (
            "{budget: 1, window: 1h, ladder: [{name: a, actions: [{proxy: precompute, to: batch}]},"
            " {name: a, actions: [{proxy: precompute, to: batch}]}]}",
            "expected names that differ",
        ),
        (
            "{budget: 1, window: 1h, ladder: [{name: a, actions: [{proxy: precompute, to: batch}]},"
            " {name: b, actions: [{proxy: precompute, to: magic}]}]}",
            r"ladder\.b .*magic",
        ),
    ],
)
def test_a_policy_that_cannot_be_used_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(InvalidAdaptivePolicy, match=complaint):
        AdaptivePolicy.from_yaml(text)


def test_a_policy_is_begun_and_shown_by_command(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("{budget: 20GB, window: 7d, hysteresis: 0.5}")
    folder = IngestFolder(tmp_path / "ingest")

    def run(*arguments: str) -> str:
        asked = ["ingest", "adapt", "--folder", str(folder.path), *arguments]
        result = CliRunner().invoke(commands, asked, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    assert run().strip() == "there is no adaptive policy"
    run(str(file))
    begun = read_policy(folder)
    assert begun is not None
    assert (begun.budget, begun.window, begun.hysteresis) == (20 * 10**9, 7 * 86_400, 0.5)
    assert "keep" in run()
    assert run().splitlines()[-1] == "no whole sample yet"
    run("--off")
    assert read_policy(folder) is None


@pytest.mark.slow
def test_the_pipeline_itself_thins_out_and_comes_back(tmp_path: Path) -> None:
    """Real batches in virtual time; a device keeps the policy that the registry gives it, here to store
    nothing."""
    devices = ("device0", "device1")
    pipeline = Pipeline(tmp_path, Device(id="device0"), Device(id="device1", policy="by-metric"), tasks=1)
    ladder = [
        {"name": "keep", "actions": [{"proxy": "precompute", "to": "keep-everything"}]},
        {"name": "thin", "actions": [{"proxy": "precompute", "to": "every-nth", "set": {"n": 100}}]},
    ]
    given = {"budget": 5_400_000, "window": HOUR, "sample": SAMPLE, "loss": 1.0, "ladder": ladder}
    begin_adaptation(pipeline.folder, AdaptivePolicy.model_validate(given))  # 1,500 bytes/s
    now, sent = 1_763_459_000 // SAMPLE * SAMPLE, 0
    random = np.random.default_rng(5)

    def run(samples: int, messages: int) -> tuple[int, int]:
        """Let so many messages come with each batch; gives how many were sent, and how many are stored."""
        nonlocal now, sent
        before, stored = sent, pipeline.progress().stored
        for _ in range(samples * SAMPLE // BATCH_S):
            now += BATCH_S
            pipeline.clock = now * 1000 - 1
            noise = random.bytes(300 * messages).hex()
            for number in range(messages):
                label = noise[600 * number :][:600]
                pipeline.append(*((d, message(d, now * 1000 + number, a=label)) for d in devices))
            sent += messages
            pipeline.step()
            adapt(pipeline.folder)
        return sent - before, pipeline.progress().stored - stored

    assert run(4, 1) == (8, 8)
    run(3, 200)  # within two samples, and the first batch behind them
    pipeline.restart()
    came, stored = run(3, 200)
    assert stored == came // 100
    run(5, 1)
    assert run(2, 1) == (4, 4)
    assert {row["device"] for row in pipeline.rows()} == {"device0"}
    progress = pipeline.progress()
    assert progress.stored + progress.filtered == progress.read == 2 * sent
