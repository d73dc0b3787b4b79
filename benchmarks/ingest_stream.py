"""The stream as `ingest.py` measures it: how fast it takes a full log, and how soon one that fills."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing
from statistics import median
from typing import NamedTuple

import numpy as np
from ingest_load import Content, Installation, as_json
from ingest_service import cpu_of
from pyspark.sql import SparkSession

from bypass.ingest.connectors.intake import LogIntake
from bypass.ingest.stream.progress import read_progress
from bypass.ingest.stream.query import start_query

SAMPLE_S = 0.2
MOST = 200_000
"""Messages of a batch, as in `bypass ingest start`."""


class StreamRate(NamedTuple):
    """The speed of a stream: messages a second, processor time of all of Spark for a message (µs), and the
    load of the machine meanwhile."""

    rate: float
    cpu_us: float
    load: float
    batches: list[float]


def drain(spark: SparkSession, installation: Installation, count: int, most: int = MOST) -> StreamRate:
    """Run the stream over a log that has `count` new messages. Their first batch, during which the query
    starts, is not counted if there are others. Raises RuntimeError if a message is not stored."""
    before = read_progress(installation.folder.progress)
    began = time.time()
    samples = [(began, cpu_of(os.getpid()))]
    query = start_query(spark, installation.folder.path, most=most)
    while (after := read_progress(installation.folder.progress)).read - before.read < count:
        if query.awaitTermination(SAMPLE_S):  # type: ignore[arg-type]
            raise RuntimeError("the stream has ended")
        samples.append((time.time(), cpu_of(os.getpid())))
    query.stop()
    samples.append((time.time(), cpu_of(os.getpid())))
    if after.stored - before.stored != count:
        raise RuntimeError(f"{after.stored - before.stored} messages were stored: expected {count}")
    with closing(sqlite3.connect(installation.folder.progress)) as database:
        batches = database.execute(
            "SELECT at, read FROM batches WHERE batch > ? ORDER BY batch", (before.batch,)
        ).fetchall()
    ends = [began, *(at for at, _ in batches)]
    times, seconds = np.array(samples).T
    used = np.cumsum(np.maximum(np.diff(seconds, prepend=seconds[0]), 0.0))  # workers may end, unnoticed
    taken = np.diff(np.interp(ends, times, used))
    rates = [read / (ends[index + 1] - ends[index]) for index, (_, read) in enumerate(batches)]
    costs = [cpu / read * 1e6 for cpu, (_, read) in zip(taken, batches, strict=True)]
    counted = slice(1 if len(batches) > 1 else 0, None)
    return StreamRate(median(rates[counted]), float(median(costs[counted])), os.getloadavg()[0], rates)


class Latency(NamedTuple):
    """The time from the append of messages until they can be queried (s)."""

    rate: float
    p50: float
    p99: float
    longest: float
    load: float


def latency(
    spark: SparkSession, installation: Installation, rate: int, warm_s: float, seconds: float
) -> Latency:
    """Hand in `rate` messages a second while the stream runs; those of the first `warm_s` do not count.

    Messages of a log become rows in its order. So the count of those that are stored, which is noted right
    after the commit that shows them to readers, says which they are.
    """
    folder = installation.folder
    intake = LogIntake(installation.log, folder.path / "refused.json")
    query = start_query(spark, folder.path)
    handed_in: list[float] = []
    seen: list[tuple[float, int]] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.01):
            stored = read_progress(folder.progress).stored
            if not seen or stored > seen[-1][1]:
                seen.append((time.monotonic(), stored))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        began = time.monotonic()
        while (now := time.monotonic() - began) < warm_s + seconds:
            due = int(now * rate)
            while len(handed_in) < due:
                number = len(handed_in)
                device = f"device-{number % installation.devices:06d}"
                content = Content(device, number, 500.0, number)
                intake.submit_unacknowledged(device, as_json(content))
                handed_in.append(time.monotonic())
            time.sleep(0.005)
        end = time.monotonic() + 120
        while (not seen or seen[-1][1] < len(handed_in)) and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        stop.set()
        watching.join()
        query.stop()
        intake.close()
    if seen[-1][1] != len(handed_in):
        raise RuntimeError(f"{seen[-1][1]} messages were stored: expected {len(handed_in)}")
    times = np.array(handed_in)
    shown_at = np.array([at for at, _ in seen])
    shown = shown_at[np.searchsorted([count for _, count in seen], np.arange(len(times)), side="right")]
    taken = (shown - times)[times >= began + warm_s]
    p50, p99, longest = np.quantile(taken, [0.5, 0.99, 1.0])
    return Latency(rate, float(p50), float(p99), float(longest), os.getloadavg()[0])
