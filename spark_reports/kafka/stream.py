"""A topic followed for ever, or caught up with once, batch by batch; ended at any moment, it goes on where it was.

A checkpoint says which records each batch holds before the batch begins, and that it is done after it is done. A batch that
was interrupted comes again, with the same records. So whatever a batch does must do nothing the second time.
"""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from kernel.errors import SuiteError
from spark_reports.kafka.options import topic_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

Batch = Callable[[DataFrame], object]
EVERY = 30.0  # seconds between two looks at the topic
MOST = 20_000  # records a batch: what is held at once, and what is done again after a crash
GRACE = 60.0  # seconds for the batch that is under way when somebody asks to end


def follow(
    spark: SparkSession,
    kafka: Mapping[str, str],
    batch: Batch,
    *,
    checkpoint: Path,
    once: bool,
    stop: threading.Event | None = None,
    every: float = EVERY,
    most: int = MOST,
    say: Callable[[str], None] = lambda _: None,
) -> int:
    """Hand records to `batch`, in order and each at least once. How many there were in this life of it.

    `once`: what is there now, and return. Otherwise until `stop` is set; the batch under way is finished first."""
    topic, told = topic_of(kafka), _Told(batch, say)
    records = spark.readStream.format("kafka").options(**kafka, startingOffsets="earliest", maxOffsetsPerTrigger=most).load()
    trigger: dict[str, Any] = {"availableNow": True} if once else {"processingTime": f"{every} seconds"}
    writer = records.writeStream.foreachBatch(told).option("checkpointLocation", str(checkpoint)).trigger(**trigger)
    try:
        query = writer.start()
        try:
            _watch(query, stop or threading.Event())
        finally:
            query.stop()
    except Exception as error:
        raise told.own or _lost(error, topic, checkpoint) or error from None
    return told.records


class _Told:
    """What Spark calls for each batch. Our own errors are kept, as Spark hands on no more than their text."""

    def __init__(self, batch: Batch, say: Callable[[str], None]) -> None:
        self.own: Exception | None = None
        self.records = 0
        self._batch, self._say = batch, say

    def __call__(self, records: DataFrame, number: int) -> None:
        held = records.persist()
        try:
            count = held.count()
            self._batch(held)
            self.records += count
            self._say(f"batch {number}: {count} records")
        except SuiteError as error:
            self.own = error
            raise
        finally:
            held.unpersist()


def _watch(query: "StreamingQuery", stop: threading.Event) -> None:
    while query.isActive and not stop.is_set():
        stop.wait(0.2)
    deadline = time.monotonic() + GRACE
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.1)
    if (trouble := query.exception()) is not None:
        raise trouble


def _lost(error: Exception, topic: str, checkpoint: Path) -> Exception | None:
    """What the checkpoint counts on is no longer in the topic: going on would leave a hole that nobody sees."""
    words = str(error)
    signs = ("data may have been lost", "DATA_LOSS", "failOnDataLoss", "offset was changed", "are gone")
    if not any(sign in words for sign in signs):
        return None
    return SuiteError(
        f"Records of {topic} were deleted before they were read, or it was made anew. What is in the tables is right; "
        f"to go on with what the topic has now, remove the checkpoint {checkpoint} (nothing is counted twice by that)."
    )
