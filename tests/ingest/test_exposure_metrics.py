"""Figures for Prometheus: counts by reason, lag, and histograms whose buckets add up."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from bypass.ingest.devices.device import Device
from bypass.ingest.exposure.histogram import BUCKETS, TimeHistogram
from bypass.ingest.exposure.metrics import ingest_exposition
from bypass.ingest.exposure.observer import IngestObserver
from tests.ingest.nats_servers import NatsServer
from tests.ingest.pipeline import Pipeline, message


def test_the_published_histogram() -> None:
    """Five times, of which the published figure shows buckets, count and sum."""
    histogram = TimeHistogram((0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10))
    histogram.observe([0.04, 0.2, 0.5, 0.9, 4.9])
    assert histogram.cumulative() == [0, 0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5]
    assert histogram.count == 5
    assert histogram.sum == pytest.approx(6.54)

    class One(Collector):
        def collect(self):  # type: ignore[no-untyped-def]
            yield histogram.family("feeder_put_time", "Put time.")

    (family,) = text_string_to_metric_families(generate_latest(One()).decode())
    buckets = {each.labels["le"]: each.value for each in family.samples if each.name.endswith("_bucket")}
    assert list(buckets.values()) == [0, 0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5]
    assert (buckets["0.05"], buckets["0.5"], buckets["5"], buckets["+Inf"]) == (1, 3, 5, 5)
    figures = {each.name: each.value for each in family.samples if "le" not in each.labels}
    assert figures == {"feeder_put_time_count": 5, "feeder_put_time_sum": pytest.approx(6.54)}


@given(st.lists(st.floats(0, 20), max_size=30))
def test_a_bucket_has_all_times_up_to_its_end(times: list[float]) -> None:
    histogram = TimeHistogram()
    histogram.observe(times)
    counts = histogram.cumulative()
    assert counts == [sum(time <= end for time in times) for end in (*BUCKETS, float("inf"))]
    assert histogram.sum == pytest.approx(sum(times))


def samples(observer: IngestObserver) -> dict[str, float]:
    text = ingest_exposition(observer.look(), observer.latency, observer.batch_time).decode()
    families = text_string_to_metric_families(text)
    return {
        each.name.removeprefix("bypass_ingest_")
        + "".join(f"[{value}]" for value in each.labels.values()): each.value
        for family in families
        for each in family.samples
    }


def test_a_log_that_does_not_count_by_writer_shows_no_count(tmp_path: Path, nats: NatsServer) -> None:
    pipeline = Pipeline(tmp_path, Device(id="a"), log=f"nats://{nats.address}?name=figures")
    pipeline.append(("a", message("a", 1_763_459_000_000, v=1)))
    (pipeline.folder.logs / "test").mkdir(parents=True, exist_ok=True)
    seen = IngestObserver(pipeline.folder).look()
    assert seen["status"]["received"] == 1
    assert seen["writers"] is None


@pytest.mark.parametrize("model", ["standard", "batched"])
def test_the_figures_of_an_installation_add_up(tmp_path: Path, model: str) -> None:
    pipeline = Pipeline(tmp_path, Device(id="a"))
    if model == "batched":
        from bypass.ingest.stream.plans import submit_plan
        from bypass.transitions import Plan

        plan = Plan.from_yaml("actions: [{proxy: row-model, to: batched}]\nplan: rows")
        submit_plan(pipeline.folder.plans, plan)
    observer = IngestObserver(pipeline.folder)
    observer.look()
    now = int(time.time() * 1000)
    pipeline.append(
        *(("a", message("a", now - n, v=n, w=1.5)) for n in range(5)), ("a", b"?"), ("b", b"?"), at=now
    )
    pipeline.run()
    pipeline.append(("a", message("a", now, v=0, w=1.5)), ("a", message("a", now + 1, v=0)), at=now)
    (pipeline.folder.logs / "test" / "refused.json").write_text('{"too large": 3}')
    found = samples(observer)
    assert found["messages_received_total"] == 12
    assert found["messages_refused_total[too large]"] == 3
    assert (found["messages_stored_total"], found["lag_messages"]) == (5, 2)
    letters = {name: value for name, value in found.items() if name.startswith("messages_dead_letters_total")}
    assert len(letters) == 2
    assert sum(letters.values()) == 2
    pipeline.run()
    found = samples(observer)
    assert (found["messages_stored_total"], found["messages_duplicate_total"], found["lag_messages"]) == (
        6,
        1,
        0,
    )
    assert found["measurements_total"] == found["latency_seconds_count"] == 11
    assert found["latency_seconds_bucket[+Inf]"] == 11
    assert 0 < found["latency_seconds_sum"] < 11 * 60
    assert found["batch_seconds_count"] == 2
    assert found["batch"] == 1
    counts = [name for name in found if name.startswith("messages_") and name.endswith(("_total", "]"))]
    assert found["messages_received_total"] == found["lag_messages"] + sum(
        found[name] for name in counts if name != "messages_received_total"
    )
