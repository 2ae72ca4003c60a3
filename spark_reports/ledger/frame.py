"""One ledger as a frame of rows, or thousands of them as one frame with a column that says which run a row belongs to.

One scan for all files of a make: what costs with thousands of small files is a job for each.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from kernel.errors import UsageError
from kernel.ledger import COLUMNS
from spark_reports.frames import frame, nothing
from spark_reports.ledger.files import LedgerFile, ledger_files
from spark_reports.ledger.json_rows import SCHEMA
from spark_reports.ledger.translated import Handed, translated

SPARK = {"str": "string", "i64": "bigint", "i32": "bigint", "bool": "boolean"}
TYPES = {name: SPARK[kind] for name, kind in COLUMNS.items()} | {"run": "string", "file": "string", "row": "bigint"}
ROWS = ("client", "op", "ix", "kind", "outcome", "txn", "topic", "partition", "offset", "value")  # what checks need
TIMES = ("client", "op", "kind", "outcome", "txn", "topic", "partition", "value", "invoked_ns", "completed_ns", "final")

Names = Sequence[str]
Refused = Callable[[str, UsageError], None]


def read_ledger(spark: SparkSession, ledger: Path, columns: Sequence[str] = ROWS) -> DataFrame:
    """The wanted columns of every row, in no order. `ix` is 0 where it is null; another column that is missing is null."""
    return _frame(spark, [_Source("", file) for file in ledger_files(ledger)], (), columns)


def read_ledgers(
    spark: SparkSession, ledgers: Mapping[str, Path], columns: Sequence[str], refused: Refused | None = None
) -> DataFrame:
    """The same of many ledgers by the name of their run, which is the first column, `run`.

    With `refused`, a ledger that cannot be read is told to it and left out; without, the first such ends the reading.
    """
    sources: list[_Source] = []
    for run, ledger in ledgers.items():
        try:
            sources += [_Source(run, file) for file in ledger_files(ledger)]
        except UsageError as error:
            if refused is None:
                raise
            refused(run, error)
    return _frame(spark, sources, ("run",), columns, refused)


def read_places(spark: SparkSession, ledger: Path, columns: Sequence[str] = ROWS) -> DataFrame:
    """The same of one ledger, with `file` (its name) and `row` (its number in the file, or that of its line, from 1 on)."""
    return _frame(spark, [_Source("", file) for file in ledger_files(ledger)], ("file", "row"), columns)


@dataclass(frozen=True, slots=True)
class _Source:
    run: str
    file: LedgerFile


def _frame(
    spark: SparkSession, sources: list[_Source], places: Names, columns: Names, refused: Refused | None = None
) -> DataFrame:
    by_hand, bad = _handed(spark, [source for source in sources if not source.file.plain], places, columns, refused)
    scans: dict[frozenset[str], list[_Source]] = defaultdict(list)
    for source in sources:
        if source.file.plain and source.run not in bad:
            scans[source.file.columns.intersection(columns)].append(source)
    frames = [_scan(spark, alike, places, columns) for alike in scans.values()]
    if by_hand is not None:
        frames.append(by_hand.where(~F.col("run").isin(*bad)) if bad else by_hand)
    schema = ", ".join(f"`{name}` {TYPES[name]}" for name in (*places, *columns))
    return reduce(DataFrame.unionAll, frames) if frames else nothing(spark, schema)


def _scan(spark: SparkSession, alike: list[_Source], places: Names, columns: Names) -> DataFrame:
    """Files that have the same of the wanted columns. Spark itself widens every integer to 64 bits."""
    there = [name for name in columns if name in alike[0].file.columns]
    reader = spark.read.schema(", ".join(f"`{name}` {TYPES[name]}" for name in there))
    # Each path is that of one file: nothing in it is a pattern, nor the name of a partition.
    reader = reader.option("__globPaths__", "false").option("recursiveFileLookup", "true")
    rows = reader.parquet(*dict.fromkeys(source.file.address for source in alike))
    cells = [_cell(name, name in there).alias(name) for name in columns]
    if "run" in places:
        return _of_runs(spark, rows.select(_address().alias("address"), *cells), alike).select("run", *columns)
    if "file" in places:
        cells = [
            F.substring_index(_address(), "/", -1).alias("file"),
            (F.col("_metadata.row_index") + 1).alias("row"),
            *cells,
        ]
    return rows.select(*cells)


def _of_runs(spark: SparkSession, rows: DataFrame, alike: list[_Source]) -> DataFrame:
    known = ((f"file:{source.file.address}", source.run) for source in alike)
    runs = F.broadcast(frame(spark, known, "address string, known string"))
    unknown = F.raise_error(F.concat(F.lit("no run is known for "), "address")).cast("string")  # rather than lose a row
    return rows.join(runs, on="address", how="left").withColumn("run", F.coalesce("known", unknown))


def _cell(name: str, there: bool) -> Column:
    cell = F.col(f"`{name}`") if there else F.lit(None).cast(TYPES[name])
    return F.coalesce(cell, F.lit(0).cast("bigint")) if name == "ix" else cell


def _address() -> Column:
    """A row's file. Spark spells it as an address, in which a space is %20; a plus is itself."""
    spelled = F.col("_metadata.file_path")
    decoded = F.url_decode(F.replace(spelled, F.lit("+"), F.lit("%2B")))
    return F.when(F.contains(spelled, F.lit("%")), decoded).otherwise(spelled)


def _handed(
    spark: SparkSession, sources: list[_Source], places: Names, columns: Names, refused: Refused | None
) -> tuple[DataFrame | None, set[str]]:
    """What Spark does not read itself, and the runs that cannot be read."""
    extra = {"run": pa.string(), "file": pa.string(), "row": pa.int64()}
    schema = pa.schema([(name, extra[name] if name in places else SCHEMA.field(name).type) for name in (*places, *columns)])
    handed, bad = Handed(spark, schema), set[str]()
    for source in sources:
        try:
            for numbers, batch in translated(source.file) if source.run not in bad else ():
                rows = batch.append_column("row", pa.array(numbers, pa.int64()))
                handed.add(rows, run=source.run, file=source.file.path.name)
        except UsageError as error:
            if refused is None:
                raise
            refused(source.run, error)
            bad.add(source.run)
    frame = handed.frame(TYPES)
    return frame and frame.select(*places, *(_cell(name, True).alias(name) for name in columns)), bad
