"""Did a client read its own transaction's record before it asked to commit or abort? It was not visible yet."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.anomalies import bits
from spark_reports.anomalies.records import Records, holding, inside
from spark_reports.anomalies.values import Values


def too_early(records: Records, values: Values) -> DataFrame:
    """The values that were. Only those that were both sent in transactions and read by such clients are looked at."""
    chosen = bits.both(F.col("own_sent"), F.col("own_read"))
    reads, sends = (
        holding(rows.where("own"), values.pages, chosen, few=values.few)
        for rows in (records.reads(), records.sends().where(inside()))
    )
    pairs = reads.select("c", "value", F.col("op").alias("read_op")).join(
        sends.select("c", "value", "txn"), on=["c", "value"], how="inner"
    )
    # The client's own commit or abort, whatever came of it: ops of others do not compare.
    ends = records.ends().groupBy("c", "txn").agg(F.min("op").alias("ended_op"))
    judged = pairs.join(ends, on=["c", "txn"], how="left")
    early = F.col("ended_op").isNull() | (F.col("read_op") <= F.col("ended_op"))
    return judged.where(early).select("value").distinct()
