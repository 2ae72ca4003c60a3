"""How complete every link is, by what its tiers have counted: a topic, from its producers to one tier that consumes it.

Counts and fingerprints are compared bucket by bucket, by the auditor's own rules (docs/audit.md), but for one thing: which
records differ is not asked. So `missing` and `duplicated` of a bucket are the least that its counts allow: of two lost and
one doubled, one is told as missing. Equal counts with different fingerprints are one of each. *Complete* is exact, and so
is whether there is a difference. What the auditor calls late or pending is *waiting* here.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.kafka.bucket_rules import judged
from spark_reports.kafka.heard import doubts, sources_heard, tiers
from spark_reports.kafka.tallies import BUCKET, PLACE, SUMS, added, counted, covered

LINKS = """
    topic string, sources string, tier string, sent bigint, received bigint, missing bigint, duplicated bigint,
    complete bigint, waiting bigint, uncertain bigint, unknown bigint, completeness double
"""
LINK = ("topic", "sources", "tier")
SHAPE = ("bucket_ms", "content", "fits")  # of a link: how long buckets are, what tells records apart, whether all agree


def link_totals(reports: DataFrame, *, now_ms: int, lateness_ms: int = 60_000) -> DataFrame:
    """Reports by the columns of AUDIT → one row a link, by the columns of LINKS. All counts are of records.

    `completeness`: of the records that were sent and can be judged, the share that is not missing."""
    buckets = bucket_verdicts(reports, now_ms=now_ms, lateness_ms=lateness_ms)
    most, decided = F.greatest("sent", "received"), F.col("verdict").isin("complete", "differs")
    totals = buckets.groupBy(*LINK).agg(
        *(F.sum(name).alias(name) for name in ("sent", "received", "missing", "duplicated")),
        F.sum(F.when(decided, F.col("sent") - F.col("missing")).otherwise(0)).alias("complete"),
        *(_sum_of(word, most) for word in ("waiting", "uncertain", "unknown")),
        F.sum(F.when(decided, F.col("sent")).otherwise(0)).alias("decided"),
    )
    share = F.when(F.col("decided") > 0, F.col("complete") / F.col("decided"))
    return totals.withColumn("completeness", share).drop("decided")


def bucket_verdicts(reports: DataFrame, *, now_ms: int, lateness_ms: int) -> DataFrame:
    """One row a bucket of a link: `verdict` is complete, differs, waiting, uncertain or unknown."""
    both = _both(reports)
    known = both.join(covered(reports), on=["tier", *PLACE], how="left").join(
        sources_heard(reports, now_ms=now_ms, lateness_ms=lateness_ms), on="topic", how="left"
    )
    return judged(_doubted(known, reports), now_ms=now_ms, lateness_ms=lateness_ms).select(
        *LINK, "partition", "start_ms", "sent", "received", "missing", "duplicated", "verdict"
    )


def _sum_of(word: str, records: Column) -> Column:
    return F.sum(F.when(F.col("verdict") == word, records).otherwise(0)).alias(word)


# ---- both sides of each bucket ------------------------------------------------------------------------------------------


def _both(reports: DataFrame) -> DataFrame:
    rows = counted(reports)
    produced, consumed = rows.where("role = 'producer'"), rows.where("role = 'consumer'")
    links = _links(reports)
    sent = links.join(_side(added(produced, BUCKET), "s"), on="topic", how="inner")
    got = links.join(_side(added(consumed, ("tier", *BUCKET)), "g"), on=["topic", "tier"], how="inner").drop(
        "sources", *SHAPE
    )
    lowest = produced.groupBy(*PLACE).agg(F.min("first").alias("lowest"))
    joined = sent.join(got, on=["topic", "tier", "partition", "start_ms"], how="full").drop("sources", *SHAPE)
    return (
        joined.join(links, on=["topic", "tier"], how="inner")
        .join(lowest, on=list(PLACE), how="left")
        .withColumns({"sent": F.coalesce("s_count", F.lit(0)), "received": F.coalesce("g_count", F.lit(0))})
    )


def _links(reports: DataFrame) -> DataFrame:
    """Every tier that consumes a topic, with all that produce it; and whether their settings fit together."""
    who = tiers(reports)
    sources = (
        who.where("role = 'producer'")
        .groupBy("topic")
        .agg(F.array_join(F.array_sort(F.collect_set("tier")), "+").alias("sources"))
    )
    pairs = who.where("role = 'consumer'").drop("role").join(sources, on="topic", how="inner")
    consuming = pairs.select("topic", "tier", F.col("tier").alias("member"), F.lit("consumer").alias("role"))
    producers = who.where("role = 'producer'").select("topic", F.col("tier").alias("member"), "role")
    producing = pairs.join(producers, on="topic", how="inner").select("topic", "tier", "member", "role")
    members = consuming.unionByName(producing)
    shapes = reports.select(F.col("tier").alias("member"), "role", "bucket_ms", "identity").distinct()
    fitting = (
        members.join(shapes, on=["member", "role"], how="inner")
        .groupBy("topic", "tier")
        .agg(
            F.max("bucket_ms").alias("bucket_ms"),
            F.max(F.col("identity") == "content").alias("content"),
            ((F.min("bucket_ms") == F.max("bucket_ms")) & (F.min("identity") == F.max("identity"))).alias("fits"),
        )
    )
    return pairs.join(fitting, on=["topic", "tier"], how="inner")


def _side(totals: DataFrame, name: str) -> DataFrame:
    return totals.withColumnsRenamed(
        {column: f"{name}_{column}" for column in ("count", "first", "last", "touched_ms", *SUMS)}
    )


def _doubted(buckets: DataFrame, reports: DataFrame) -> DataFrame:
    """With `unsure`: records of whose fate no source knows, and which may be of this bucket."""
    told = doubts(reports)
    same = [F.col(f"b.{name}") == F.col(f"d.{name}") for name in PLACE]
    within = (F.col("d.from_ms") < F.col("b.start_ms") + F.col("b.bucket_ms")) & (F.col("b.start_ms") < F.col("d.to_ms"))
    found = (
        buckets.select(*BUCKET, "bucket_ms").distinct().alias("b").join(told.alias("d"), on=[*same, within], how="inner")
        .groupBy(*(F.col(f"b.{name}") for name in (*BUCKET, "bucket_ms"))).agg(F.sum("d.records").alias("unsure"))
    )  # fmt: skip
    return buckets.join(found, on=[*BUCKET, "bucket_ms"], how="left").fillna({"unsure": 0})
