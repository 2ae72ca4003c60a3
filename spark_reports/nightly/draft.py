"""A version that is being built. Files it shares with the one before are links, so a night costs what the night brought.

Nothing is ever changed inside a shared file: a date of a table with new rows is written anew and takes the old one's place.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kernel.errors import NoSpace
from spark_reports.nightly.durable import sync_tree
from spark_reports.trouble import told

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
STATE_FORMAT = 1


class Draft:
    """`path` is the folder to draw pages into."""

    def __init__(self, path: Path, publish: Callable[[Path], Path]) -> None:
        self.path = path
        self._publish = publish

    def table(self, spark: SparkSession, name: str, schema: str) -> DataFrame:
        """As it is in this draft."""
        from spark_reports.nightly.store import read_table

        return read_table(spark, self.path / "tables" / name, schema)

    def put(self, table: str, rows: DataFrame, *, instead_of: DataFrame | None = None) -> int:
        """Rows (with `key` and `date`) take the place of those that have the same keys; how many there are now of these.

        `instead_of` (`key`, `date`) names more keys whose rows go, though nothing may come in their place.
        """
        from spark_reports.nightly.store import read_table

        rows = rows.persist()
        try:
            counted = {str(row["date"]): row["count"] for row in rows.groupBy("date").count().collect()}
            keys = rows.select("key", "date")
            keys = keys.union(instead_of.select("key", "date")) if instead_of is not None else keys
            gone = (
                [str(row["date"]) for row in instead_of.select("date").distinct().collect()]
                if instead_of is not None
                else []
            )
            dates = sorted({*counted, *gone})
            if not dates:
                return 0
            there = self.path / "tables" / table
            if there.is_dir():
                before = read_table(rows.sparkSession, there, rows.schema).where(F.col("date").isin(*dates))
                kept = before.join(F.broadcast(keys.select("key").distinct()), on="key", how="left_anti").select(
                    *_names(rows)
                )
                rows_now = kept.unionByName(rows)
            else:
                rows_now = rows
            fresh = self.path / f".{table}"
            _write(rows_now, fresh, dates)
            for date in dates:
                shutil.rmtree(there / f"date={date}", ignore_errors=True)
            for folder in sorted(fresh.glob("date=*")):
                _take(folder, there / folder.name)
            shutil.rmtree(fresh)
            return sum(counted.values())
        finally:
            rows.unpersist()

    def replace(self, table: str, rows: DataFrame) -> None:
        """The whole of a table that has no dates."""
        there, fresh = self.path / "tables" / table, self.path / f".{table}"
        _plainly(rows.coalesce(1).write).parquet(str(fresh))
        shutil.rmtree(there, ignore_errors=True)
        _take(fresh, there)
        shutil.rmtree(fresh, ignore_errors=True)

    def note(self, state: dict[str, Any]) -> None:
        file = self.path / "state.json"
        file.unlink(missing_ok=True)  # it may be shared with the version before
        file.write_text(json.dumps({"format": STATE_FORMAT, **state}, sort_keys=True, default=str))

    def publish(self) -> Path:
        """Current from here on, whatever happens next."""
        sync_tree(self.path)
        return self._publish(self.path)


def linked(source: Path, target: Path) -> None:
    """The same files under another name; copies where the file system cannot do that."""
    if source.is_dir():
        shutil.copytree(source, target, copy_function=_link)
    else:
        _link(source, target)


@contextmanager
def room(out: Path) -> Iterator[None]:
    """A full disk is told as one, whoever met it."""
    sentence = (
        f"The disk is full, that of {out} or of Spark's scratch files (TMPDIR): free some. The last report is untouched."
    )
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise NoSpace(sentence) from error
        raise
    except Exception as error:
        if isinstance(told(error), NoSpace):
            raise NoSpace(sentence) from error
        raise


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in FULL:
            raise
        shutil.copy2(source, target)


def _names(rows: DataFrame) -> list[str]:
    return [f"`{name}`" for name in rows.columns]


def _write(rows: DataFrame, folder: Path, dates: list[str]) -> None:
    """One file a date, in order of key, so that the same rows are the same bytes."""
    within = [name for name in ("date", "key", "at_s", "event", "topic", "partition", "kind") if name in rows.columns]
    placed = rows.repartition(min(len(dates), 16), "date").sortWithinPartitions(*within)
    _plainly(placed.write.partitionBy("date")).parquet(str(folder))


def _plainly(writer: Any) -> Any:
    return writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").option("compression", "zstd")


def _take(source: Path, target: Path) -> None:
    """Its Parquet files under plain names: Spark's own are drawn by chance. Its checksum files stay behind."""
    target.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(sorted(source.glob("*.parquet"))):
        file.rename(target / f"rows-{number}.parquet")
    with suppress(OSError):
        shutil.rmtree(source)
