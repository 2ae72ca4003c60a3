"""Are an ordered producer's records out of order in a partition? Each acknowledged send beside the one before it.

A producer's rows mostly lie in a file as they were sent. So its ops and its offsets are gathered in lists, chunk by
chunk; where both rise, that chunk is in order, and nothing had to be sorted. Only other chunks are sorted row by row.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from spark_reports.anomalies.kept import kept
from spark_reports.anomalies.records import acknowledged

CHUNK = 17  # bits of `op`: no list is longer than so many ops
FEW = 1_000_000  # chunks whose names are handed to every task
KEY = ["c", "tp", "chunk"]
NAMES = ("op", "ix", "offset")


def out_of_order(sends: DataFrame) -> DataFrame:
    """c, tp, op, ix, offset, before_op, before_ix, before_offset: the sends below the one before them."""
    judged = sends.where(acknowledged() & F.col("ordered")).select(
        "c", "tp", F.shiftright("op", CHUNK).alias("chunk"), *NAMES
    )
    lists = _lists(judged).transform(kept)
    risen, others = _edges(lists.where("rises")), lists.where("not rises").select(*KEY)
    if not (count := others.count()):
        return _across(risen)
    inner, edges = _sorted(judged.join(F.broadcast(others) if count <= FEW else others, on=KEY, how="left_semi"))
    return inner.unionByName(_across(edges.unionByName(risen)))


def _lists(judged: DataFrame) -> DataFrame:
    """c, tp, chunk, op and offset of its first and last send, and whether it `rises` as it lies in the file."""
    listed = judged.groupBy(*KEY).agg(
        F.collect_list("op").alias("ops"),
        F.collect_list("offset").alias("offsets"),
        F.count_if(F.col("ix") != 0).alias("split"),  # where one op has several sends, ops do not tell their order
    )
    rises = (F.col("split") == 0) & (F.col("ops") == F.sort_array("ops")) & (F.col("offsets") == F.sort_array("offsets"))
    ends = [
        F.element_at(f"{n}s", at).alias(f"{end}_{n}") for end, at in (("first", 1), ("last", -1)) for n in ("op", "offset")
    ]
    return listed.select(*KEY, rises.alias("rises"), *ends)


def _edges(lists: DataFrame) -> DataFrame:
    """First and last send of chunks that rise."""
    return lists.select(*KEY, *_edge("first")).unionByName(lists.select(*KEY, *_edge("last")))


def _edge(end: str) -> list[Column]:
    ix = F.lit(0).cast("bigint").alias("ix")
    return [F.col(f"{end}_op").alias("op"), ix, F.col(f"{end}_offset").alias("offset"), F.lit(end == "first").alias("first")]


def _sorted(judged: DataFrame) -> tuple[DataFrame, DataFrame]:
    """What is out of order inside a chunk, and the first and last send of each."""
    window = Window.partitionBy(*KEY).orderBy("op", "ix")
    beside = judged.select("*", *_before(window), F.lead("op").over(window).isNull().alias("last"))
    first, back = F.col("before_op").isNull(), F.col("offset") < F.col("before_offset")
    marked = beside.withColumn("first", first).where(first | F.col("last") | back).transform(kept)
    return _told(marked.where(back)), marked.where("first or last").select(*KEY, *NAMES, "first")


def _across(edges: DataFrame) -> DataFrame:
    """What is out of order from one chunk to the next."""
    window = Window.partitionBy("c", "tp").orderBy("op", "ix", F.col("first").desc())
    back = F.col("first") & (F.col("offset") < F.col("before_offset"))
    return _told(edges.select("*", *_before(window)).where(back))


def _before(window: WindowSpec) -> list[Column]:
    return [F.lag(name).over(window).alias(f"before_{name}") for name in NAMES]


def _told(found: DataFrame) -> DataFrame:
    return found.select("c", "tp", *NAMES, *(f"before_{name}" for name in NAMES))
