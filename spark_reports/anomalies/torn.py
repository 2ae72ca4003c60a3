"""Is a part of a transaction visible and another not? All or nothing is what a transaction is for."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.anomalies import bits
from spark_reports.anomalies.kept import kept
from spark_reports.anomalies.records import Records, bound, holding
from spark_reports.anomalies.values import Values


def torn(records: Records, values: Values) -> DataFrame:
    """txn, sent, seen. Only transactions with a record that no committed reader saw are looked at."""
    sends = records.sends().where(bound())
    unseen = holding(sends, values.pages, bits.without(F.col("bound"), F.col("seen")), few=values.few)
    suspects = unseen.select("txn").distinct().transform(kept)
    theirs = sends.join(suspects, on="txn", how="left_semi").withColumn("page", bits.page("value"))
    pages = values.pages.select("page", "seen")
    judged = theirs.join(F.broadcast(pages) if values.few else pages, on="page", how="inner")
    seen = bits.both(F.col("seen"), bits.bit("value")) != 0
    counted = judged.groupBy("txn").agg(
        F.count("*").alias("sent"),
        F.count_if(seen).alias("seen"),
        F.count_if(F.col("end") < 0).alias("undrained"),  # null: nobody knows which partition
    )
    return counted.where((F.col("seen") > 0) & (F.col("seen") < F.col("sent")) & (F.col("undrained") == 0))
