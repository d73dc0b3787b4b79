"""The figures of a broker's snapshot in the text format of Prometheus.

Rates are not here: readers of counters make them. No client's name is a label, so that the number of time
series does not grow with the number of clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

COUNTERS = {  # by their key in the snapshot; one that is not here is named by its key
    "publications": ("publications", "Publications taken."),
    "deliveries": (
        "deliveries",
        "Events for subscribers, each subscriber counted, sent at once or kept for it.",
    ),
    "acknowledged": ("deliveries_acknowledged", "Deliveries that their client has acknowledged."),
    "missed": (
        "deliveries_missed",
        "Deliveries given up, for whatever reason.",
    ),
    "bytes_in": ("received_bytes", "Bytes received from clients."),
    "bytes_out": ("sent_bytes", "Bytes sent to clients."),
    "malformed": ("messages_malformed", "Messages dropped because they could not be read."),
    "refused": (
        "requests_refused",
        "Publications and other requests of clients that were refused, or could not be stored.",
    ),
    "unauthorised": (
        "connections_unauthorised",
        "Connections and operators' requests refused: no right to them, or no place left.",
    ),
    "oversized": ("messages_oversized", "Messages dropped because they were too large."),
    "limited": ("messages_limited", "Messages refused because their key sent too many a second."),
    "limited_bytes": ("messages_limited_bytes", "Messages refused because their key sent too much a second."),
    "unread": ("messages_unread", "Messages, or packets of some, dropped unread: far too many of one key."),
    "overflowed": (
        "messages_overflowed",
        "Messages dropped unread: too much of one key, or of all, waited to be read.",
    ),
    "offended": ("connections_offended", "Connections given up because something on them was not read."),
    "disconnected": (
        "connections_disconnected",
        "Connections ended because their client went on then, or what it sent could not wait.",
    ),
    "ungreeted": (
        "connections_ungreeted",
        "Connections ended because they had no session for ten seconds.",
    ),
    "swollen": (
        "connections_swollen",
        "Connections ended because too much of them was held that nobody could read.",
    ),
    "over_sessions": ("sessions_refused", "Sessions refused: too many of one key, or of all."),
    "over_connections": (
        "connections_refused",
        "Connections refused: too many of one key in a short time.",
    ),
    "over_stored": ("publications_refused_stored", "Publications refused: too much of one key is stored."),
    "hello_repeated": ("hellos_repeated", "Greetings dropped: their connection had greeted before."),
    "kept_untold": ("subscriptions_untold", "Kept subscriptions that did not fit into a welcome of 0.1.0."),
    "kept_withdrawn": ("subscriptions_withdrawn", "Kept subscriptions that nobody has claimed in time."),
    "subscriptions_over_limit": (
        "subscriptions_over_limit",
        "Kept subscriptions found over a limit at the start, which go on.",
    ),
    "list_not_read": (
        "allow_list_not_read",
        "Looks at the allow-list at which something could not be read, so that what was known before counts.",
    ),
    "stalled": ("sends_stalled", "Packets that a client did not take, and lost its connection for."),
}
WAITING = "waiting"  # goes down as well as up, though it stands among the counters


def exposition(snapshot: Mapping[str, Any]) -> bytes:
    """The snapshot in Prometheus' text format, version 0.0.4."""
    return generate_latest(_Snapshot(snapshot))


class _Snapshot(Collector):
    def __init__(self, snapshot: Mapping[str, Any]) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        snapshot = self._snapshot
        info = GaugeMetricFamily("bypass_info", "Which broker this is; always 1.", labels=["version"])
        info.add_metric([snapshot["version"]], 1)
        yield info
        yield _gauge("start_time_seconds", "When the broker started (Unix time).", snapshot["started"])
        yield _gauge("snapshot_time_seconds", "When these figures were taken (Unix time).", snapshot["at"])
        yield _gauge("epoch", "Number of the latest plan.", snapshot["epoch"])
        yield _gauge("clients_connected", "Sessions with a connection.", snapshot["clients"]["connected"])
        yield _gauge("sessions", "Sessions, connected or kept.", snapshot["clients"]["sessions"])
        yield _gauge("subscriptions", "Subscriptions of all sessions.", snapshot["subscriptions"])
        yield _by("scheme_clients", "Clients that a filter scheme serves.", "scheme", _members(snapshot))
        yield from _counters(snapshot["counters"])
        missed = CounterMetricFamily(
            "bypass_deliveries_missed_by_reason", "Deliveries given up, by reason.", labels=["reason"]
        )
        for reason, count in snapshot["missed_by"].items():
            missed.add_metric([reason], count)
        yield missed
        yield from _store(snapshot["store"])
        yield from _objects(snapshot["objects"])
        if snapshot["transitions"]:
            yield from _last_transition(snapshot["transitions"][0])


def _members(snapshot: Mapping[str, Any]) -> dict[str, float]:
    """Clients by scheme; one name may stand for several schemes with different parameters."""
    members: dict[str, float] = {}
    for scheme in snapshot["schemes"]:
        members[scheme["name"]] = members.get(scheme["name"], 0) + scheme["clients"]
    return members


def _counters(counters: Mapping[str, float]) -> Iterator[Metric]:
    for key, value in counters.items():
        if key == WAITING:
            yield _gauge("deliveries_waiting", "Deliveries that wait for an acknowledgement.", value)
        else:
            yield _counter(*COUNTERS.get(key, (key, f"Counter {key} of the broker.")), value)


def _store(store: Mapping[str, Any]) -> Iterator[Metric]:
    yield _gauge("store_size_bytes", "Size of the store on disk.", store["bytes"])
    yield _counter("store_commits", "Batches made durable.", store["commits"])
    yield _gauge(
        "store_commit_seconds",
        "Mean time to make a batch durable, since the start.",
        store["commit_ms"] / 1e3,
    )
    yield _gauge("store_failing", "1 if the store cannot be written, else 0.", store["failing"] is not None)


def _objects(objects: Mapping[str, Any]) -> Iterator[Metric]:
    yield _gauge("objects", "Stored objects, uploads included.", objects["objects"])
    yield _gauge("objects_bytes", "Bytes of stored objects and their metadata.", objects["bytes"])
    yield _gauge("object_queries", "Queries for objects that go on.", objects["queries"])
    yield _gauge("object_uploads", "Objects whose bytes are on their way here.", objects["uploads"])
    yield _counter(
        "object_queries_held_back",
        "Times that an object had to wait because its subscriber had not taken others.",
        objects["held_back"],
    )
    yield _counter("object_commits", "Batches of changes of objects made durable.", objects["commits"])
    yield _gauge(
        "object_store_failing", "1 if objects cannot be written, else 0.", objects["failing"] is not None
    )


def _last_transition(transition: Mapping[str, Any]) -> Iterator[Metric]:
    yield _gauge(
        "last_transition_time_seconds", "When the newest transition began (Unix time).", transition["at"]
    )
    yield _by(
        "last_transition_clients",
        "Clients of the newest transition, by what became of it there.",
        "outcome",
        {outcome: transition[outcome] for outcome in ("done", "failed", "obsolete", "pending")},
    )
    yield _gauge(
        "last_transition_isolated",
        "Clients that it left with the filter scheme which they have.",
        len(transition["isolated"]),
    )
    if transition["took_ms"] is not None:
        yield _gauge("last_transition_seconds", "Time until its last answer.", transition["took_ms"] / 1e3)
    if transition["acknowledged"] is not None:
        yield _gauge(
            "last_transition_acknowledged_ratio",
            "Share of the deliveries around the newest transition that connected clients have acknowledged.",
            transition["acknowledged"],
        )


def _gauge(name: str, what: str, value: float) -> Metric:
    return GaugeMetricFamily(f"bypass_{name}", what, value=value)


def _counter(name: str, what: str, value: float) -> Metric:
    return CounterMetricFamily(f"bypass_{name}", what, value=value)


def _by(name: str, what: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"bypass_{name}", what, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
