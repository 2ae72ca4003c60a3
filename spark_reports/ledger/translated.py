"""Files that Spark does not read as they are, read by Arrow and handed to it: JSON lines, and Parquet of a rarer make.

Few rows go to Spark as they are. Many are first put into a Parquet file among the session's own scratch files, which go
with it; but not on a cluster, whose workers do not see the driver's files.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from kernel.errors import UsageError
from spark_reports.ledger.files import LedgerFile, cut_off, first_line
from spark_reports.ledger.json_rows import SCHEMA, json_batches

BLOCK = 1 << 18  # rows


def translated(file: LedgerFile) -> Iterator[tuple[list[int], Any]]:
    """(number of each row in its file, rows in the types of `SCHEMA`)."""
    return json_batches(file.path, BLOCK) if file.path.suffix == ".jsonl" else _parquet_batches(file)


def _parquet_batches(file: LedgerFile) -> Iterator[tuple[list[int], Any]]:
    try:
        with pq.ParquetFile(file.path, pre_buffer=False) as parquet:
            first = 1
            for batch in parquet.iter_batches(BLOCK, columns=sorted(file.columns), use_threads=False):
                yield list(range(first, first + batch.num_rows)), _cast(file.path, batch)
                first += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise cut_off(file.path, error)


def _cast(path: Path, batch: Any) -> Any:
    cells = []
    for field in SCHEMA:
        if field.name not in batch.schema.names:
            cells.append(pa.nulls(batch.num_rows, field.type))
            continue
        try:
            cells.append(batch.column(field.name).cast(field.type))
        except pa.ArrowInvalid as error:
            what = f"column {field.name} holds more than 64 bits with a sign can"
            raise UsageError(f"{path}: {what}: {first_line(error)}.")
    return pa.RecordBatch.from_arrays(cells, schema=SCHEMA)


class Handed:
    """Batches of one schema, on their way to a frame."""

    def __init__(self, spark: SparkSession, schema: Any) -> None:
        self._spark, self._schema = spark, schema
        self._batches: list[Any] = []
        self._rows = 0
        self._writer: Any = None
        self._file = Path(spark.sparkContext._temp_dir) / f"ledger-{uuid4()}.parquet"

    def add(self, batch: Any, **constants: str) -> None:
        """Columns of the schema that the batch lacks are the constants."""
        cells = [
            pa.repeat(pa.scalar(constants[name], pa.string()), batch.num_rows) if name in constants else batch.column(name)
            for name in self._schema.names
        ]
        whole = pa.RecordBatch.from_arrays(cells, schema=self._schema)
        self._rows += batch.num_rows
        if self._writer is not None:
            self._writer.write_batch(whole)
            return
        self._batches.append(whole)
        if self._rows > BLOCK and str(self._spark.sparkContext.master).startswith("local"):
            self._writer = pq.ParquetWriter(self._file, self._schema)
            while self._batches:
                self._writer.write_batch(self._batches.pop(0))

    def frame(self, types: Mapping[str, str]) -> DataFrame | None:
        ddl = ", ".join(f"`{name}` {types[name]}" for name in self._schema.names)
        if self._writer is not None:
            self._writer.close()
            return self._spark.read.schema(ddl).parquet(str(self._file))
        if not self._rows:
            return None
        return self._spark.createDataFrame(pa.Table.from_batches(self._batches, self._schema), schema=ddl)
