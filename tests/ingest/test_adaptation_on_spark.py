"""The adaptive policy of a stream that Spark runs, in real time."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from deltalake import DeltaTable

from bypass.ingest.adaptation.adaptive_policy import AdaptivePolicy
from bypass.ingest.adaptation.controller import adapt, begin_adaptation
from bypass.ingest.adaptation.load import SampledLoad
from bypass.ingest.devices.device import Device
from bypass.ingest.stream.query import start_query
from bypass.models.compute.engines import SparkEngine
from tests.ingest.pipeline import Pipeline, message

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

PATIENCE_S = 200
POLICY = AdaptivePolicy.model_validate(
    {
        "budget": 3600 * 100_000,
        "window": "1h",
        "loss": 1.0,
        "sample": 1,
        "ladder": [
            {"name": "keep", "actions": [{"proxy": "precompute", "to": "keep-everything"}]},
            {"name": "thin", "actions": [{"proxy": "precompute", "to": "every-nth", "set": {"n": 50}}]},
        ],
    }
)


def test_a_stream_on_spark_thins_out_under_load_and_comes_back(spark: SparkEngine, tmp_path: Path) -> None:
    """A megabyte a second is too much for the budget, and thousands of bytes are not."""
    pipeline = Pipeline(tmp_path, Device(id="device0"))
    folder = pipeline.folder
    begin_adaptation(folder, POLICY)
    random, looked, sent = np.random.default_rng(9), threading.Event(), 0

    def send(messages: int) -> None:
        nonlocal sent
        noise = random.bytes(500 * messages).hex()
        labels = (noise[1000 * number :][:1000] for number in range(messages))
        pipeline.append(*(("device0", message("device0", sent + n, a=x)) for n, x in enumerate(labels)))
        sent += messages

    def load_until(done: Callable[[], bool], messages: int) -> None:
        """Send so many every tenth of a second until something holds; the controller looks on."""
        end = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < end, SampledLoad(POLICY, folder.plans, folder.progress).facts()
            if messages:
                send(messages)
            adapt(folder)
            looked.wait(0.1)

    def rung_in_force() -> int | None:
        """The rung that the latest batch was on."""
        load = SampledLoad(POLICY, folder.plans, folder.progress)
        return load.rung if pipeline.progress().offset.plans >= load.number else None

    query = start_query(spark.session, folder.path)
    try:
        load_until(lambda: pipeline.progress().stored > 0 and rung_in_force() == 0, 2)
        load_until(lambda: rung_in_force() == 1, 200)
        load_until(lambda: rung_in_force() == 0, 2)
        first_kept = sent
        load_until(lambda: pipeline.progress().read > first_kept, 2)
        load_until(lambda: pipeline.progress().read == sent, 0)
    finally:
        query.stop()
    progress = pipeline.progress()
    assert progress.filtered > 0
    assert progress.stored + progress.filtered == progress.read == sent
    times = set(DeltaTable(str(folder.measurements)).to_pyarrow_table()["time"].to_pylist())
    assert len(times) == progress.stored
    assert {*range(first_kept, sent)} <= times
