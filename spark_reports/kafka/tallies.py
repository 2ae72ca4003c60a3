"""What tiers have counted, added up by partition and bucket of time, and which offsets they account for.

Fingerprints are sums and xors of 64 bits without a sign, which Spark does not have: they are kept as two halves.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PLACE = ("topic", "partition")
BUCKET = (*PLACE, "start_ms")
HALF = 1 << 32
SUMS = ("sum_high", "sum_low", "xor_high", "xor_low")


def counted(reports: DataFrame) -> DataFrame:
    """One row for each bucket of each report: who, where, how many, its fingerprint, the first and the last offset."""
    rows = reports.select("tier", "role", "received_ms", F.explode("rows").alias("row")).where("row.count > 0")
    halves = [
        _half(f"row.{kind}", begin).alias(f"{kind}_{name}")
        for kind in ("sum", "xor")
        for name, begin in (("high", 1), ("low", 9))
    ]
    return rows.select("tier", "role", "received_ms", "row.topic", "row.partition", "row.start_ms", "row.count", *halves,
                       "row.first", "row.last")  # fmt: skip


def added(rows: DataFrame, by: Sequence[str]) -> DataFrame:
    """The same for all reports together. Sums carry from the low half to the high one, and are modulo 2^64."""
    totals = rows.groupBy(*by).agg(
        F.sum("count").alias("count"),
        *(F.sum(name).alias(name) for name in ("sum_high", "sum_low")),
        *(F.bit_xor(name).alias(name) for name in ("xor_high", "xor_low")),
        F.min("first").alias("first"),
        F.max("last").alias("last"),
        F.max("received_ms").alias("touched_ms"),
    )
    carried = F.col("sum_high") + F.shiftright("sum_low", 32)
    return totals.withColumns({"sum_high": carried % HALF, "sum_low": F.col("sum_low") % HALF})


def covered(reports: DataFrame) -> DataFrame:
    """Which offsets each consuming tier accounts for: `spans` (begin, end) without overlaps, `begin` and `end` of it all."""
    parts = Window.partitionBy("tier", "role", "life", "begins").orderBy("seq")
    # What a report accounts for may have been counted in an earlier part of it: it counts when all of them are there.
    whole = F.col("parts") == F.col("seq") - F.col("begins") + 1
    told = (
        reports.where("role = 'consumer'").withColumn("parts", F.row_number().over(parts)).where(whole)
        .select("tier", F.inline("positions")).where("begin < `end`")
    )  # fmt: skip
    by_begin = Window.partitionBy("tier", *PLACE).orderBy("begin", "end")
    before = F.max("end").over(by_begin.rowsBetween(Window.unboundedPreceding, -1))
    opens = F.when(F.col("begin") <= before, 0).otherwise(1)
    spans = (
        told.withColumn("opens", opens).withColumn("span", F.sum("opens").over(by_begin))
        .groupBy("tier", *PLACE, "span").agg(F.min("begin").alias("begin"), F.max("end").alias("end"))
    )  # fmt: skip
    return spans.groupBy("tier", *PLACE).agg(
        F.collect_list(F.struct("begin", "end")).alias("spans"), F.min("begin").alias("begin"), F.max("end").alias("end")
    )


def _half(hexadecimal: str, begin: int) -> Column:
    return F.conv(F.substring(F.lpad(F.col(hexadecimal), 16, "0"), begin, 8), 16, 10).cast("bigint")
