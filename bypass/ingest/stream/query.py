"""The query: the stream as Spark runs it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bypass.ingest.categories import PARTS
from bypass.ingest.stream.sink import TableSink
from bypass.ingest.stream.source import LogSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

CHECKPOINT_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""How Spark writes the checkpoint. What it would choose itself refuses to replace a file that another query
has just written, which the folder's lock does here, and takes three times as long: 60 ms more of a batch."""


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
    spark.conf.set("spark.sql.streaming.checkpointFileManagerClass", CHECKPOINT_FILES)
    tasks = min(spark.sparkContext.defaultParallelism, PARTS)  # more would cost more than balance saves
    results = (
        spark.readStream.format("bypass-log")
        .option("folder", str(folder))
        .option("tasks", tasks)
        .option("most", most)
        .option("synced", synced)
        .load()
    )
    writer = (
        results.writeStream.format("bypass-tables")
        .option("folder", str(folder))
        .option("synced", synced)
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=interval)
    return writer.start()
