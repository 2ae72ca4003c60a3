"""A gap: a stretch without success in which somebody was waiting. No traffic is no gap, however long.

Between neighbouring successes a < b it runs from a, or from the first attempt outstanding after a, to b. After the last
success it runs to the end of the run and is open, unless it is so short that what is outstanding was merely in flight.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.recovery.attempts import TRACK, last_moments, moments

SECOND = 1_000_000_000
ORDINARY_S = 1.0  # a shorter silence is daily life: a fetch that waits, a collected heap, a batch in flight
GAPS = "run string, topic string, partition bigint, kind string, begin_ns bigint, end_ns bigint, open boolean"


def gaps(rows: DataFrame, ends: DataFrame) -> DataFrame:
    """Every gap of every run, a row each, as `GAPS` says; `kind` is send or poll, an open gap ends with the run.

    `rows` are those of `read_ledgers`. `ends` says of each run when its clients were told to stop (`run`, `end_ns`);
    null stands for the last moment in its ledger, and a run that is not named there is left out. Polls count on topics
    that somebody read: where nobody was meant to read, no record waits for a reader.
    """
    return stretches(rows, ends).where("dark").select(*(part.split()[0] for part in GAPS.split(", ")))


def stretches(rows: DataFrame, ends: DataFrame, *, at_least_s: float = 0.0) -> DataFrame:
    """The gaps that are long enough (`dark`), and for each partition and kind one row more that is not dark.

    That one says from when to when the partition was watched: from its first attempt (null: there was none) to the end
    of the run. Every row has that end as `run_end_ns`.
    """
    order = Window.partitionBy(*TRACK, "kind").orderBy("at_ns")
    before, upto = order.rowsBetween(Window.unboundedPreceding, -1), order.rowsBetween(Window.unboundedPreceding, 0)
    at, success, starts = F.col("at_ns"), F.col("success"), F.col("starts") > 0
    followed = moments(rows).select(
        "*",
        F.sum(F.col("starts") - F.col("stops") - F.col("unanswered")).over(upto).alias("waiting"),
        F.last(F.when(success, at), ignorenulls=True).over(before).alias("after"),
        F.last(F.when(starts, at), ignorenulls=True).over(before).alias("started"),
        F.min(F.when(starts, at)).over(upto).alias("first_ns"),
        F.lead(at).over(order).isNull().alias("last"),
    )
    fresh = starts & (F.col("started").isNull() | (F.col("started") <= F.col("after")))  # the first attempt after a success
    left = F.col("waiting") + F.col("unanswered") > 0
    known = followed.select(
        "*",
        left.alias("left"),
        F.last(F.when(success, left), ignorenulls=True).over(before).alias("left_then"),
        F.last(F.when(fresh, at), ignorenulls=True).over(before).alias("fresh_then"),
        F.last(F.when(fresh, at), ignorenulls=True).over(upto).alias("fresh_now"),
    )
    return _somebody_read(_cut(known, _ends(rows, ends), at_least_s))


def _ends(rows: DataFrame, ends: DataFrame) -> DataFrame:
    """Without a run whose end is unknown, Spark finds nothing to join and reads nothing."""
    unknown = F.broadcast(ends.where("end_ns is null").select("run"))
    last = last_moments(rows.join(unknown, on="run", how="left_semi"))
    told = ends.join(F.broadcast(last), on="run", how="left")
    return told.select("run", F.coalesce("end_ns", "last_ns").alias("run_end_ns"))


def _cut(moments: DataFrame, ends: DataFrame, at_least_s: float) -> DataFrame:
    """At each success the gap that it ends; at the last moment of a partition the one that nothing ended."""
    at, end, success, after = F.col("at_ns"), F.col("run_end_ns"), F.col("success"), F.col("after")
    since = F.when(F.col("left_then"), after).otherwise(_later(F.col("fresh_then"), after))
    open_since = F.when(success, F.when(F.col("left"), at)).otherwise(
        F.when(F.col("left_then"), after).otherwise(_later(F.col("fresh_now"), after))
    )
    long_enough = end - open_since >= int(max(ORDINARY_S, at_least_s) * SECOND)
    found = F.array(
        _stretch(success & (at - since >= int(at_least_s * SECOND)), since, at, dark=True, open=False),
        _stretch(F.col("last") & long_enough, open_since, end, dark=True, open=True),
        _stretch(F.col("last"), F.col("first_ns"), end, dark=False, open=False),
    )
    reading = (success | after.isNotNull()).alias("succeeded")
    whole = moments.join(F.broadcast(ends), on="run", how="inner")
    return whole.select(*TRACK, "kind", "run_end_ns", reading, F.inline(found)).where("there").drop("there")


def _later(fresh: Column, after: Column) -> Column:
    return F.when(after.isNull() | (fresh > after), fresh)


def _stretch(there: Column, begin: Column, end: Column, **facts: bool) -> Column:
    cells = {"there": there, "begin_ns": begin, "end_ns": end, **{name: F.lit(fact) for name, fact in facts.items()}}
    return F.struct(*(cell.alias(name) for name, cell in cells.items()))


def _somebody_read(stretches: DataFrame) -> DataFrame:
    read = F.bool_or("succeeded").over(Window.partitionBy("run", "topic", "kind"))
    counted = stretches.withColumn("read", read).where((F.col("kind") == "send") | F.col("read"))
    return counted.drop("read", "succeeded")
