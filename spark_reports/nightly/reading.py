"""The texts of run folders as frames: manifest and verdict side by side, events line by line. One scan for thousands."""

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_reports.frames import frame, nothing
from spark_reports.nightly.folders import RunFound

DOCUMENTS = {"manifest": "manifest.json", "verdict": "verdict.json"}
EVENTS_FILE = "events.jsonl"
EVENTS = """
    t_ns bigint, event string, id string, fault string, sentence string, phase string, topic string, partition int,
    leader int, leader_epoch int, `group` string, status string, was string, alert string, state string, kind string,
    link string, sent bigint, received bigint, missing bigint, duplicated bigint
"""


def documents(spark: SparkSession, found: Sequence[RunFound]) -> DataFrame:
    """`folder`, `manifest`, `verdict`, as `summarised` wants them: a row for each folder, null for a file it lacks."""
    paths = [f"{run.folder}/{file}" for run in found for file in DOCUMENTS.values() if file in run.there]
    texts = _texts(spark, paths, whole=True)
    sides = (F.max(F.when(F.col("name") == file, F.col("value"))).alias(column) for column, file in DOCUMENTS.items())
    folders = one_column(spark, "folder", (run.folder for run in found))
    return folders.join(texts.groupBy("folder").agg(*sides), on="folder", how="left")


def events(spark: SparkSession, folders: Iterable[RunFound]) -> DataFrame:
    """`folder` and the fields of an event. A line that is none has no `event`: a torn last line, or worse."""
    paths = [f"{run.folder}/{EVENTS_FILE}" for run in folders if EVENTS_FILE in run.there]
    lines = _texts(spark, paths, whole=False).where(F.trim("value") != "")
    parsed = lines.select("folder", F.from_json("value", EVENTS).alias("line")).select("folder", "line.*")
    return parsed.withColumn("event", F.when(F.col("t_ns").isNotNull(), F.col("event")))


def one_column(spark: SparkSession, name: str, values: Iterable[str]) -> DataFrame:
    return frame(spark, ((value,) for value in values), f"{name} string")


def _texts(spark: SparkSession, paths: Sequence[str], *, whole: bool) -> DataFrame:
    if not paths:
        return nothing(spark, "folder string, name string, value string")
    # Each path is that of one file: nothing in it is a pattern. One that was pruned meanwhile is as if it had never been.
    reader = spark.read.option("__globPaths__", "false").option("ignoreMissingFiles", "true")
    texts = reader.text(list(paths), wholetext=whole)
    split = F.substring_index(_path(), "/", -1)
    folder = F.regexp_replace(_path(), "/[^/]*$", "")
    return texts.select(folder.alias("folder"), split.alias("name"), "value")


def _path() -> Column:
    """Spark spells a file as an address, in which a space is %20; a plus is itself."""
    spelled = F.col("_metadata.file_path")
    decoded = F.url_decode(F.replace(spelled, F.lit("+"), F.lit("%2B")))
    address = F.when(F.contains(spelled, F.lit("%")), decoded).otherwise(spelled)
    return F.regexp_replace(address, "^file:/+", "/")
