"""The figures of an installation in the text format of Prometheus. No tenant and no device is a label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bypass.ingest.exposure.histogram import TimeHistogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX = "bypass_ingest_"

_COUNTERS = {
    "received": (
        "messages_received",
        "Messages that came: the sum of all ends that they can have, and the lag.",
    ),
    "stored": ("messages_stored", "Messages whose measurements are in the table."),
    "filtered": ("messages_filtered", "Messages that a policy left out."),
    "duplicates": ("messages_duplicate", "Messages that had come before."),
    "measurements": ("measurements", "Measurements in the table, all that ever were."),
    "bytes": ("table_bytes", "Bytes written to tables."),
}
_BY_REASON = {
    "refused": ("messages_refused", "Messages that were not taken, by reason."),
    "dead_letters": ("messages_dead_letters", "Messages that a stage refused, by reason."),
}
_GAUGES = {
    "lag_messages": ("lag_messages", "Messages in the log that are not in the table yet."),
    "lag_s": ("lag_seconds", "Age of the latest batch if there is a lag."),
    "batch": ("batch", "Number of the latest batch; -1 before the first."),
}


def ingest_exposition(
    snapshot: Mapping[str, Any], latency: TimeHistogram, batch_time: TimeHistogram
) -> bytes:
    """The snapshot of an observer, and its histograms, in Prometheus' text format, version 0.0.4."""
    return generate_latest(_Families(snapshot, latency, batch_time))


class _Families(Collector):
    def __init__(
        self, snapshot: Mapping[str, Any], latency: TimeHistogram, batch_time: TimeHistogram
    ) -> None:
        self._snapshot, self._latency, self._batch_time = snapshot, latency, batch_time

    def collect(self) -> Iterator[Metric]:
        status = self._snapshot["status"]
        for key, (name, what) in _COUNTERS.items():
            yield CounterMetricFamily(_PREFIX + name, what, value=status[key])
        for key, (name, what) in _BY_REASON.items():
            family = CounterMetricFamily(_PREFIX + name, what, labels=["reason"])
            for reason, count in sorted(status[key].items()):
                family.add_metric([reason], count)
            yield family
        for key, (name, what) in _GAUGES.items():
            yield GaugeMetricFamily(_PREFIX + name, what, value=status[key])
        yield GaugeMetricFamily(
            _PREFIX + "subscribers", "Subscribers over WebSocket.", value=self._snapshot["subscribers"]
        )
        yield self._batch_time.family(
            _PREFIX + "batch_seconds", "Time of a batch, from its plan to its last commit."
        )
        yield self._latency.family(
            _PREFIX + "latency_seconds",
            "Time of a measurement, from the receipt of its message to its commit; in a batched row, of the "
            "row's first message.",
        )
