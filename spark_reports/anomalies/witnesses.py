"""The rows that bear witness to what was found: a second look at the ledger, for the few that are named.

Rows come in the order in which the ledger is read, file by file, so that of several witnesses it is always the same one
that is called.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from kernel.findings import Witness
from kernel.ledger import Kind, Outcome
from spark_reports.anomalies.ground import Ground, is_read, is_send
from spark_reports.frames import frame
from spark_reports.ledger.frame import read_places

Name = tuple[str, int, int]  # client, op, ix
Place = tuple[str, int, int]  # topic, partition, offset


@dataclass(frozen=True, slots=True)
class Witnesses:
    spark: SparkSession
    ledger: Path
    ground: Ground

    def of_values(self, values: list[int]) -> dict[int, list[Row]]:
        """The sends and reads of each value."""
        rows = self._rows((is_send() | is_read()) & F.col("value").isin(values))
        return _by(rows, lambda row: row.value)

    def of_transactions(self, names: list[str]) -> dict[str, list[Row]]:
        """The sends of each."""
        return _by(self._rows(is_send() & F.col("txn").isin(names)), lambda row: row.txn)

    def ends(self, names: Iterable[str]) -> list[Row]:
        """Commits and aborts."""
        return self._rows(F.col("kind").isin(Kind.COMMIT, Kind.ABORT) & F.col("txn").isin(list(names)))

    def of_places(self, places: list[Place]) -> dict[Place, list[Row]]:
        """Who says what is there: reads, and then sends that were acknowledged."""
        told = is_read() | (is_send() & (F.col("outcome") == Outcome.OK))
        wanted = frame(self.spark, places, "topic string, partition bigint, offset bigint")
        rows = self._rows(told, wanted, ["topic", "partition", "offset"])
        return _by(sorted(rows, key=is_sent), lambda row: (row.topic, row.partition, row.offset))

    def named(self, names: list[Name]) -> dict[Name, Row]:
        wanted = frame(self.spark, names, "client string, op bigint, ix bigint")
        rows = self._rows(F.lit(True), wanted, ["client", "op", "ix"])
        return {(row.client, row.op, row.ix): row for row in rows}

    def _rows(self, condition: Column, wanted: DataFrame | None = None, on: list[str] | None = None) -> list[Row]:
        rows = read_places(self.spark, self.ledger).where(condition)
        if wanted is not None:
            rows = rows.join(F.broadcast(wanted), on=on, how="left_semi")
        return sorted(rows.collect(), key=lambda row: (row.file, row.row))


def _by(rows: list[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found


def is_sent(row: Row) -> bool:
    return bool(row.kind == Kind.SEND)


def witness(row: Row) -> Witness:
    """Everything that a row knows. A topic or a partition alone is no place."""
    somewhere = row.topic is not None and row.partition is not None
    record = is_sent(row) or row.kind == Kind.POLL
    return Witness(
        client=row.client,
        op=row.op,
        topic=row.topic if somewhere else None,
        partition=row.partition if somewhere else None,
        offset=row.offset,
        value=row.value if record else None,
        txn=row.txn if record else None,
    )
