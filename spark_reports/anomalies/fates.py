"""What became of each transaction, and so of the sends inside it."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kernel.ledger import Kind, Outcome
from spark_reports.anomalies.kept import kept

OK, FAIL, INFO = range(3)
FEW = 1_000_000  # so many transactions are handed to every task; more are shuffled to their sends


@dataclass(frozen=True, slots=True)
class Fates:
    """`frame`: transaction and `ended`, its fate, of all that have a commit or abort row; None if there is none."""

    frame: DataFrame | None
    few: bool = True


def fates(rows: DataFrame) -> Fates:
    """An acknowledged commit decides; one that may have happened leaves it open; else an abort, or a commit that failed."""
    ends = rows.where(F.col("kind").isin(Kind.COMMIT, Kind.ABORT) & F.col("txn").isNotNull())
    told = ends.groupBy("txn").agg(
        *(_any(Kind.COMMIT, outcome).alias(f"commit_{outcome}") for outcome in Outcome),
        _any(Kind.ABORT, Outcome.OK).alias("undone"),
    )
    failed = (F.col("undone") | F.col("commit_fail")) & ~F.col("commit_info")
    ended = F.when(F.col("commit_ok"), OK).when(failed, FAIL).otherwise(INFO)
    frame = told.select("txn", ended.alias("ended")).transform(kept)
    return Fates(frame, frame.count() <= FEW)


def _any(kind: Kind, outcome: Outcome) -> Column:
    return F.bool_or((F.col("kind") == kind) & (F.col("outcome") == outcome))


def with_fates(rows: DataFrame, fates: Fates) -> DataFrame:
    """Rows that know whether they were `sent`; with `ended`, of their transaction, and `fate`, of sends; else null."""
    if fates.frame is None:
        joined = rows.withColumn("ended", F.lit(None).cast("int"))
    elif fates.few:
        joined = rows.join(F.broadcast(fates.frame), on="txn", how="left")
    else:  # apart, because all rows without a transaction would meet in one task
        inside = rows.where("txn is not null").join(fates.frame, on="txn", how="left")
        joined = inside.unionByName(rows.where("txn is null").withColumn("ended", F.lit(None).cast("int")))
    own = F.when(F.col("outcome") == Outcome.OK, OK).when(F.col("outcome") == Outcome.FAIL, FAIL).otherwise(INFO)
    alone = F.col("txn").isNull() | (F.col("outcome") == Outcome.FAIL)
    fate = F.when(alone, own).otherwise(F.coalesce("ended", F.lit(INFO)))
    return joined.withColumn("fate", F.when(F.col("sent"), fate))
