"""Ledger rows as JSON lines: the format for a ledger written by hand, or in a language without Parquet.

Read on the driver, line by line, because nothing else tells 1 from 1.0 and names the line; a few hundred thousand rows
at a time, so that a long file takes no more memory than a short one.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from kernel.errors import UsageError
from kernel.ledger import COLUMNS

ARROW = {"str": pa.string(), "i64": pa.int64(), "i32": pa.int64(), "bool": pa.bool_()}
SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in COLUMNS.items()])
WORDS = {"str": "a string", "i64": "an integer of 64 bits", "i32": "an integer of 64 bits", "bool": "true or false"}


def json_batches(file: Path, size: int) -> Iterator[tuple[list[int], Any]]:
    """(line number of each row, rows)."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, line in enumerate(_lines(file), 1):
        if line.strip():
            rows.append(_row(file, number, line))
            lines.append(number)
        if len(rows) == size:
            yield lines, _batch(file, rows)
            rows, lines = [], []
    if rows:
        yield lines, _batch(file, rows)


def _batch(file: Path, rows: list[dict[str, Any]]) -> Any:
    try:
        return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    except UnicodeError as error:  # half a surrogate pair, which JSON may spell and UTF-8 may not
        raise UsageError(f"{file} holds a string that is not Unicode: {error}.")


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8", newline="\n") as stream:
            yield from stream
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}.")


def _row(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise UsageError(f"{file} line {number} is not a JSON object: {line.strip()[:80]!r}.")
    for column, kind in COLUMNS.items():
        if not _fits(kind, row.get(column)):
            raise UsageError(f"{file} line {number}: {column} is {row[column]!r}, not {WORDS[kind]}.")
    return row


def _fits(kind: str, value: Any) -> bool:
    if value is None:
        return True
    if kind in ("i64", "i32"):
        return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63
    return isinstance(value, str if kind == "str" else bool)
