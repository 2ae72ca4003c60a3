"""How long each partition of each run was dark, and how long it was watched: a row for each, with zeros where all was well.

Only gaps of a second and more count: a shorter silence is daily life.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.recovery.attempts import TRACK
from spark_reports.recovery.gaps import ORDINARY_S, SECOND, stretches


def availability(rows: DataFrame, ends: DataFrame) -> DataFrame:
    """`rows` and `ends` as `gaps` wants them.

    `gaps` counts them; `longest_s` is the longest, and one that never closed (`longest_open`) outranks any that did.
    `dark_s` is their sum within the time that was watched, `watched_s`: from the first attempt to the end of the run.
    """
    length = (F.col("end_ns") - F.col("begin_ns")) / SECOND
    within = (F.least("end_ns", "run_end_ns") - F.col("begin_ns")) / SECOND  # an answer may come after the end
    longest = F.max(F.when(F.col("dark"), F.struct(F.col("open"), length.alias("seconds"))))
    counted = stretches(rows, ends, at_least_s=ORDINARY_S).groupBy(*TRACK, "kind")
    summed = counted.agg(
        F.count_if("dark").cast("int").alias("gaps"),
        longest.alias("longest"),
        F.sum(F.when(F.col("dark"), F.greatest(within, F.lit(0.0)))).alias("dark_s"),
        F.max(F.when(~F.col("dark"), F.greatest(length, F.lit(0.0)))).alias("watched_s"),
    )
    return summed.select(
        *TRACK,
        "kind",
        "gaps",
        F.coalesce("longest.seconds", F.lit(0.0)).alias("longest_s"),
        F.coalesce("longest.open", F.lit(False)).alias("longest_open"),
        F.coalesce("dark_s", F.lit(0.0)).alias("dark_s"),
        F.coalesce("watched_s", F.lit(0.0)).alias("watched_s"),
    )
