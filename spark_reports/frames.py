"""Small frames from what the driver has in hand, by Arrow: Spark's own way from a list starts Python on the executors."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

KINDS = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}


def frame(spark: SparkSession, rows: Iterable[tuple[Any, ...]], schema: str) -> DataFrame:
    """`schema`: name and type of each column, as in "run string, end_ns bigint"."""
    columns = [column.split() for column in schema.split(", ")]
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(column, KINDS[kind]) for column, (_, kind) in zip(cells, columns, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, names=[name for name, _ in columns]), schema=schema)


def nothing(spark: SparkSession, schema: str | StructType) -> DataFrame:
    """No row, of any schema."""
    return spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in fields(schema)))


def fields(schema: str | StructType) -> StructType:
    """Of a schema in words; a session must be there."""
    parsed = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert isinstance(parsed, StructType)  # noqa: S101  (for the type checker: a list of columns is one)
    return parsed
