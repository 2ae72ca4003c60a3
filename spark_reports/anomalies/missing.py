"""Acknowledged records that nobody ever read although the closing reader went through their partition."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.anomalies import bits
from spark_reports.anomalies.fates import OK
from spark_reports.anomalies.records import Records, holding
from spark_reports.anomalies.values import Values


def missing(records: Records, values: Values) -> DataFrame:
    """value, lost: below the drained end, where others came after; else at or beyond it, or nobody knows where."""
    owed = records.sends().where((F.col("fate") == OK) & (F.col("end") >= 0))
    unread = holding(owed, values.pages, bits.without(F.col("ok"), F.col("read")), few=values.few)
    below = F.coalesce(F.col("offset") < F.col("end"), F.lit(False))
    return unread.groupBy("value").agg(F.bool_or(below).alias("lost"))
