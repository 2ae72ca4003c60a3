"""What was acknowledged, read and refused over time: the ground on which a timeline of one run is drawn."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kernel.ledger import Kind, Outcome
from spark_reports.recovery.gaps import SECOND


def rates(rows: DataFrame, width_s: float, *, first_ns: int) -> DataFrame:
    """Counts for each run and stretch of `width_s` seconds: `run`, `bucket` (from `first_ns` on), `acked`, `read`, `failed`.

    A send counts when it was answered: acknowledged, or failed or of unknown fate. A record counts each time that it is
    read, but for the closing drain. What has no time is left out, and so is a bucket in which nothing happened.
    """
    kind, ok = F.col("kind"), F.col("outcome") == Outcome.OK
    sent = (kind == Kind.SEND) & F.col("completed_ns").isNotNull()
    read = (kind == Kind.POLL) & ok & F.col("value").isNotNull() & ~F.coalesce("final", F.lit(False))
    at = F.coalesce("completed_ns", "invoked_ns")
    bucket = F.floor((at - first_ns) / F.lit(width_s * SECOND))
    return (
        rows.where((sent | read) & at.isNotNull())
        .groupBy("run", bucket.alias("bucket"))
        .agg(
            F.count_if(sent & ok).alias("acked"),
            F.count_if(read).alias("read"),
            F.count_if(sent & ~ok).alias("failed"),
        )
    )
