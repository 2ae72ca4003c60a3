"""The results topic as documents, one a run: the same texts that a scan of run folders reads, for the same summary.

The newest record of a run wins. A record that is no result is kept, with a sentence that names its place: whoever wrote it
should hear of it, and no night is lost over it.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from kernel.results import FORMAT

# Objects as the text they are written in: what they must hold is the summary's business.
DOCUMENT = "format int, folder string, manifest string, verdict string, duration_s double, broken string"
HOW = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "broken"}


def documents(spark: SparkSession, kafka: Mapping[str, str]) -> DataFrame:
    """All that is there now: `folder, manifest, verdict, duration_s`, and `trouble`, null if there is none."""
    ends = {"startingOffsets": "earliest", "endingOffsets": "latest"}
    return parsed(spark.read.format("kafka").options(**kafka, **ends).load())


def parsed(records: DataFrame) -> DataFrame:
    """Records as Spark's connector gives them (key, value, topic, partition, offset, timestamp) → documents."""
    place = F.format_string("%s-%d offset %d", "topic", "partition", "offset")
    newest = (
        records.where(F.col("value").isNotNull())  # a deletion: the record goes from the topic, not the run from the tables
        .select(
            F.coalesce(F.col("key").cast("string"), place).alias("run"),
            F.struct("timestamp", "offset").alias("age"),
            F.struct(F.col("value").cast("string").alias("text"), place.alias("place")).alias("record"),
        )
        .groupBy("run")
        .agg(F.max_by("record", "age").alias("record"))
    )
    found = newest.select("record.*", F.from_json("record.text", DOCUMENT, HOW).alias("found"))
    trouble = _trouble()
    return found.select(
        F.when(trouble.isNull(), F.col("found.folder")).otherwise(F.col("place")).alias("folder"),
        F.when(trouble.isNull(), F.col("found.manifest")).alias("manifest"),
        F.when(trouble.isNull(), F.col("found.verdict")).alias("verdict"),
        F.when(trouble.isNull(), F.col("found.duration_s")).alias("duration_s"),
        trouble.alias("trouble"),
    )


def _trouble() -> Column:
    place, form = F.col("place"), F.col("found.format")
    newer = F.format_string(
        f"%s: format %d is newer than {FORMAT}, the newest this version reads: use the kafka-trial that wrote it.",
        place,
        form,
    )
    missing = F.concat_ws(
        ", ", *(F.when(F.col(f"found.{name}").isNull(), name) for name in ("format", "folder", "manifest"))
    )
    return (
        F.when(form > FORMAT, newer)
        .when(
            F.col("found").isNull() | F.col("found.broken").isNotNull(),
            F.format_string("%s is not a result, but %s", place, F.substring("text", 1, 80)),
        )
        .when(missing != "", F.format_string("%s is not a result: it has no %s.", place, missing))
    )
