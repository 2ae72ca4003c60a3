"""A small frame that several others rest on, worked out once."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def kept(frame: DataFrame) -> DataFrame:
    """Its columns are made anew: else Spark may take them for those of the rows it came from, and refuse to join the two."""
    return frame.localCheckpoint().select(*(F.col(name).alias(name) for name in frame.columns))
