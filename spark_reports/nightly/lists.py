"""What people ask for next: the anomalies with their folders, the slowest partitions, what each scenario promises."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.contents import Anomaly, SlowPartition

MOST_ANOMALIES = 500
MOST_PARTITIONS = 20


def anomalies(summary: DataFrame) -> list[Anomaly]:
    """What nobody permitted first, then the newest."""
    told = F.get(F.filter("findings", lambda finding: finding["name"] == F.col("name")), F.lit(0))["sentence"]
    rows = summary.select(
        F.col("key").alias("run"), "started", "scenario", "kafka", "folder", "permitted", "findings",
        F.explode("counts").alias("name", "count"),
    )  # fmt: skip
    allowed = F.array_contains("permitted", F.col("name"))
    found = rows.withColumns({"allowed": allowed, "told": told}).orderBy("allowed", F.desc("started"), "run", "name")
    return [
        Anomaly(
            run=row["run"],
            scenario=row["scenario"],
            kafka=row["kafka"],
            name=row["name"],
            count=row["count"],
            permitted=row["allowed"],
            sentence=row["told"] or "",
            folder=row["folder"],
        )
        for row in found.limit(MOST_ANOMALIES).collect()
    ]


def slowest(darkness: DataFrame, scenarios: Mapping[str, str]) -> list[SlowPartition]:
    """The longest gaps; one that never closed before any that did. `scenarios`: run → scenario."""
    dark = darkness.where("longest_s > 0").orderBy(F.desc("longest_open"), F.desc("longest_s"), "key", "topic", "partition")
    return [
        SlowPartition(
            run=row["key"],
            scenario=scenarios[row["key"]],
            topic=row["topic"],
            partition=row["partition"],
            operation=row["kind"],
            longest_s=row["longest_s"],
            open=row["longest_open"],
            dark_s=row["dark_s"],
            watched_s=row["watched_s"],
        )
        for row in dark.limit(MOST_PARTITIONS).collect()
        if row["key"] in scenarios
    ]


def promises(summary: DataFrame) -> dict[str, str]:
    """As the newest run of each scenario words it."""
    rows = summary.where("promise <> ''").groupBy("scenario").agg(F.max_by("promise", "started").alias("promise"))
    return {row["scenario"]: row["promise"] for row in rows.collect()}
