"""What a ledger row must say, beyond the types of its cells; and the sentence for one that does not."""

from pathlib import Path
from typing import Any, NoReturn

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from kernel.errors import SuiteError, UsageError
from kernel.ledger import Kind, Outcome
from spark_reports.ledger.files import REQUIRED
from spark_reports.ledger.frame import read_places

KNOWN = {"kind": [str(kind) for kind in Kind], "outcome": [str(outcome) for outcome in Outcome]}
PLACE = ("topic", "partition", "offset")
WITH_OFFSET = [str(kind) for kind in (Kind.SEND, Kind.POLL, Kind.OFFSETS, Kind.DRAINED)]
RECORD_KNOWS = "a poll that returned a record knows its topic, partition and offset"
DRAIN_NAMES = "a drained row that is ok names topic, partition and log end"


def broken() -> Column:
    """True for a row of `ROWS` that breaks a rule, else false; never null."""
    kind, ok = F.col("kind"), F.col("outcome") == Outcome.OK
    lacks = {column: F.col(f"`{column}`").isNull() for column in (*REQUIRED, *PLACE, "value")}
    somewhere = lacks["topic"] | lacks["partition"] | lacks["offset"]
    read = (kind == Kind.POLL) & ok & ~lacks["value"]
    drained = (kind == Kind.DRAINED) & ok
    rules = [
        *(lacks[column] for column in REQUIRED),
        *(~F.col(column).isin(known) for column, known in KNOWN.items()),
        (kind == Kind.SEND) & lacks["value"],
        (read | drained) & somewhere,
        F.col("partition") < 0,
        (F.col("offset") < 0) & kind.isin(WITH_OFFSET),
    ]
    return F.greatest(*(F.coalesce(rule, F.lit(False)) for rule in rules))


def refuse_first(spark: SparkSession, ledger: Path) -> NoReturn:
    """Names the first row that breaks a rule: that of the first file, in order of names."""
    rows = read_places(spark, ledger).where(broken()).orderBy("file", "row").limit(1).collect()
    if not rows:
        raise SuiteError(f"{ledger} changed while it was read: judge it again when nobody writes to it.")
    row = rows[0].asDict()
    where = "line" if row["file"].endswith(".jsonl") else "row"
    raise UsageError(f"{ledger / row['file']} {where} {row['row']}: {_complaint(row)}.")


def _complaint(row: dict[str, Any]) -> str:
    """A row may break several rules; the order is that in which the local engine looks."""
    for column, known in KNOWN.items():
        if row[column] is not None and row[column] not in known:
            return f"{column} is {row[column]!r}, not one of {', '.join(known)}"
    for column in REQUIRED:
        if row[column] is None:
            return f"{column} is null: every row needs one"
    if row["kind"] == Kind.SEND and row["value"] is None:
        return "value is null: every send carries a value"
    column = next((column for column in PLACE if row[column] is None), "")
    if column and row["outcome"] == Outcome.OK:
        if row["kind"] == Kind.POLL and row["value"] is not None:
            return f"{column} is null: {RECORD_KNOWS}"
        if row["kind"] == Kind.DRAINED:
            return f"{column} is null: {DRAIN_NAMES}"
    below = "partition" if (row["partition"] or 0) < 0 else "offset"
    return f"{below} is {row[below]}: null stands for unknown"
