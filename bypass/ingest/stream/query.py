"""The query: the stream as Spark runs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from bypass.ingest.categories import PARTS
from bypass.ingest.stream.sink import TableSink
from bypass.ingest.stream.source import LogSource
from bypass.ingest.stream.task import TaskOrder, run_task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

RESULTS = pa.schema([pa.field("result", pa.binary())])
TASKS_PER_CORE = 2


def start_query(
    spark: SparkSession,
    folder: Path,
    *,
    most: int = 200_000,
    interval: str = "0 seconds",
    once: bool = False,
    synced: bool = False,
) -> StreamingQuery:
    """Start the stream of an installation; with `once` it ends when it has taken all that is in the logs,
    with `synced` its batches survive the loss of power."""
    spark.createDataFrame(
        [], "nothing INT"
    )  # this thread may not be the one that made the session, which Spark looks for
    spark.dataSource.register(LogSource)
    spark.dataSource.register(TableSink)
    tasks = min(spark.sparkContext.defaultParallelism * TASKS_PER_CORE, PARTS)
    orders = (
        spark.readStream.format("bypass-log")
        .option("folder", str(folder))
        .option("tasks", tasks)
        .option("most", most)
        .option("synced", synced)
        .load()
    )
    writer = (
        orders.mapInArrow(process, "result BINARY")
        .writeStream.format("bypass-tables")
        .option("folder", str(folder))
        .option("synced", synced)
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=interval)
    return writer.start()


def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Carry out the orders of a task, and give what was done."""
    for batch in batches:
        for data in batch.column(0).to_pylist():
            order = msgspec.json.decode(data, type=TaskOrder)
            done = msgspec.json.encode((order.end, run_task(order)))
            yield pa.record_batch([pa.array([done], pa.binary())], schema=RESULTS)
