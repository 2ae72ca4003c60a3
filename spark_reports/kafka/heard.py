"""Who of a topic's sources was heard to the end: whether a record that nobody told of may still be one of theirs."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SILENCES = 3  # so many reports that did not come make a life one that is over


def tiers(reports: DataFrame) -> DataFrame:
    """`tier, role, topic`: who has had to do with which topic, by records or by offsets accounted for."""
    topics = F.array_union(F.transform("rows", lambda row: row.topic), F.transform("positions", lambda at: at.topic))
    return reports.select("tier", "role", F.explode(topics).alias("topic")).distinct()


def sources_heard(reports: DataFrame, *, now_ms: int, lateness_ms: int) -> DataFrame:
    """By topic: `unheard` (a report of a source is missing), `over_ms` (until when one that ended badly may have sent more),
    and `living_ms` (when the most silent of those that still live was last heard)."""
    # Reports that somebody else found and sent tell nothing about when their client lived.
    last = F.coalesce(F.max(F.when(~F.col("left"), F.col("received_ms"))), F.min("received_ms"))
    lives = (
        reports.where("role = 'producer'")
        .groupBy("tier", "life")
        .agg(
            last.alias("last_ms"),
            F.max_by("every_ms", "seq").alias("every_ms"),
            F.max("closed").alias("closed"),
            F.max("left").alias("left"),
            (F.max("seq") + 1 != F.count("seq")).alias("unheard"),  # they are numbered from 0
        )
    )
    patience = F.greatest(F.col("every_ms") * SILENCES, F.lit(lateness_ms))
    over = ~F.col("closed") & (F.col("left") | (F.lit(now_ms) - F.col("last_ms") > patience))
    known = lives.withColumn("over", over)
    producers = tiers(reports).where("role = 'producer'").drop("role")
    return (
        producers.join(known, on="tier", how="inner")
        .groupBy("topic")
        .agg(
            F.max("unheard").alias("unheard"),
            F.max(F.when(F.col("over"), F.col("last_ms") + F.col("every_ms") + lateness_ms)).alias("over_ms"),
            F.min(F.when(~F.col("over") & ~F.col("closed"), F.col("last_ms"))).alias("living_ms"),
        )
    )


def doubts(reports: DataFrame) -> DataFrame:
    """Records that may be in the log though nobody counted them: `topic, partition, from_ms, to_ms, records`."""
    return reports.where("role = 'producer'").select(F.inline("unsure"))
