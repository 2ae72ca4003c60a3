"""Reads that lie side by side, folded into one row: a poll returns hundreds, and most differ by one from the next.

In a stretch each read is as far from its neighbour in the log as in the client's order (in `ix`, or in `op` for a
client whose polls return one record each), so it rises by itself and a page of bits says where it has holes.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.anomalies import bits

BLOCK = 12  # bits of `op`: what is taken apart again because its stretches interleave
HASH = 16  # bits that are cut from a hash, so that a sum of thousands does not overflow


def stretches(reads: DataFrame) -> DataFrame:
    """c, tp, part, op0, ix0, op1, ix1 (where it begins and ends), page, mask, low, high, records, hashed, committed.

    `rising` is false where it cannot be one: its reads must be looked at singly.
    """
    step = F.when(F.col("single"), F.col("op")).otherwise(F.col("ix"))
    keyed = reads.select(
        *("c", "tp", "single", "committed", "offset", "value", part().alias("part")),
        F.try_subtract(F.col("offset"), step).alias("distance"),
        bits.page("offset").alias("page"),
    )
    folded = keyed.groupBy("c", "tp", "single", "committed", "part", "page", "distance").agg(
        F.bit_or(bits.bit("offset")).alias("mask"),
        F.min("offset").alias("low"),
        F.max("offset").alias("high"),
        F.count("*").alias("records"),
        F.try_sum(hashed()).alias("hashed"),
    )
    single, first, last = F.col("single"), F.col("low") - F.col("distance"), F.col("high") - F.col("distance")
    none = F.lit(0).cast("bigint")
    return folded.select(
        *("c", "tp", "part", "page", "mask", "low", "high", "records", "hashed", "committed"),
        F.when(single, first).otherwise(F.col("part")).alias("op0"),
        F.when(single, none).otherwise(first).alias("ix0"),
        F.when(single, last).otherwise(F.col("part")).alias("op1"),
        F.when(single, none).otherwise(last).alias("ix1"),
        F.col("distance").isNotNull().alias("rising"),
    )


def one_by_one(reads: DataFrame) -> DataFrame:
    """The same, a stretch for each read."""
    return reads.select(
        *("c", "tp", part().alias("part"), bits.page("offset").alias("page"), bits.bit("offset").alias("mask")),
        *(F.col("offset").alias(name) for name in ("low", "high")),
        F.lit(1).cast("bigint").alias("records"),
        hashed().alias("hashed"),
        "committed",
        *(F.col(name).alias(f"{name}{end}") for end in "01" for name in ("op", "ix")),
        F.lit(True).alias("rising"),
    )


def hashed() -> Column:
    """Of a value and its place in the page, for sums that tell whether two sets of seats are the same."""
    return F.shiftrightunsigned(F.xxhash64("value", "offset"), HASH)


def part() -> Column:
    """Stretches of different parts cannot interleave: parts are apart in the client's order."""
    return F.when(F.col("single"), F.shiftright("op", BLOCK)).otherwise(F.col("op"))
