"""One bucket of one link: complete, or what its counts say, by the auditor's rules (docs/audit.md) without names of records.

A column is null where a side has nothing: `s_…` is what the sources sent, `g_…` what the tier got.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.kafka.tallies import SUMS


def judged(buckets: DataFrame, *, now_ms: int, lateness_ms: int) -> DataFrame:
    """With `verdict`, and with `missing` and `duplicated`: the least that must be so."""
    facts = buckets.withColumns(_facts(F.lit(now_ms), lateness_ms)).withColumns({"sure_of_more": _sure_of_more()})
    missing = F.when(F.col("whole"), F.col("least_missing")).otherwise(0)
    more = F.when(F.col("sure_of_more") & F.col("told_since"), F.col("least_more")).otherwise(0)
    may_still_be_told = F.col("sure_of_more") & ~F.col("told_since")
    verdict = (
        F.when(~F.col("fits"), "unknown")
        .when(F.col("same"), "complete")
        .when(_not_begun(), "unknown")
        .when(_not_there_yet() | (F.col("content") & ~F.col("old")), "waiting")
        .when(missing + more > 0, "differs")
        .when(may_still_be_told | ~F.col("old"), "waiting")
        .otherwise("uncertain")
    )
    differs = F.col("verdict") == "differs"
    return facts.withColumn("verdict", verdict).withColumns(
        {"missing": F.when(differs, missing).otherwise(0), "duplicated": F.when(differs, more).otherwise(0)}
    )


def _facts(now: Column, lateness_ms: int) -> dict[str, Column]:
    touched, got_ms = F.greatest("s_touched_ms", "g_touched_ms"), F.coalesce("g_touched_ms", F.lit(0))
    less = F.col("sent") - F.col("received")
    begin, end = F.coalesce("s_first", "g_first"), F.greatest("s_last", "g_last") + 1
    accounted_for = F.exists("spans", lambda span: (span["begin"] <= begin) & (span["end"] >= end))
    # A timestamp from the future says nothing about when the record was sent.
    sent_before_it_ended = (F.col("start_ms") <= F.col("over_ms")) | (F.col("start_ms") > touched)
    before_the_sources = F.coalesce(F.col("g_first") < F.col("lowest"), F.lit(False))
    return {
        "old": now - touched >= lateness_ms,
        "same": (less == 0) & _alike(),
        "whole": F.col("content") | F.coalesce(accounted_for, F.lit(False)),
        # Somebody of the sources was not heard to the end, or had not begun: what nobody told of may be one of theirs.
        "doubtful": F.col("unheard") | (F.col("over_ms").isNotNull() & sent_before_it_ended) | before_the_sources,
        # Whoever of the sources still lives has had the time to tell, and has told something since.
        "told_since": (now - got_ms >= lateness_ms) & F.coalesce(F.col("living_ms") > got_ms, F.lit(True)),
        "least_more": F.when(less <= 0, F.greatest(-less, F.lit(1))).otherwise(0),
        "least_missing": F.when(less >= 0, F.greatest(less, F.lit(1))).otherwise(0),
    }


def _alike() -> Column:
    alike = F.lit(True)
    for name in SUMS:
        alike = alike & F.equal_null(F.col(f"s_{name}"), F.col(f"g_{name}"))
    return alike


def _sure_of_more() -> Column:
    return (F.col("least_more") > F.col("unsure")) & ~F.col("doubtful")


def _not_begun() -> Column:
    """The tier began behind it; or the sources had not begun to count."""
    behind = (F.col("received") == 0) & F.coalesce(F.col("s_last") < F.col("begin"), F.lit(False))
    before = (F.col("sent") == 0) & ~F.col("content") & F.coalesce(F.col("g_last") < F.col("lowest"), F.lit(True))
    return behind | before


def _not_there_yet() -> Column:
    return ~F.col("content") & (F.col("sent") > 0) & (F.coalesce("end", F.lit(0)) <= F.col("s_last"))
