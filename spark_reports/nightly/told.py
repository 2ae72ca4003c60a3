"""Rows that come by another way than a folder, such as the results topic: which of them say something new.

A run that is known is not added again. If its verdict is another now (it was judged again), its row takes the old one's
place; what only its folder told, such as how long it took, is kept.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

OWN = ("folder", "duration_s")  # may differ by who tells of a run, and say nothing of how it went


def news(rows: DataFrame, known: DataFrame) -> DataFrame:
    """Of `rows` (the columns of SUMMARY, each key once) those that are not in `known`, or differ from it."""
    content = [F.col(f"`{name}`") for name in sorted(known.columns) if name not in OWN]
    before = known.select(
        "key", F.to_json(F.struct(*content)).alias("was"), *(F.col(name).alias(f"was_{name}") for name in OWN)
    )
    joined = rows.withColumn("is", F.to_json(F.struct(*content))).join(before, on="key", how="left")
    fresh = joined.where(F.col("was").isNull() | (F.col("was") != F.col("is")))
    kept = fresh.withColumns({name: F.coalesce(f"was_{name}", name) for name in OWN})
    return kept.select(*(f"`{name}`" for name in known.columns))
