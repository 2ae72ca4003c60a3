"""Ledger rows as JSON lines: the format for a ledger written by hand, or in a language without Parquet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from kernel.errors import UsageError
from kernel.ledger import COLUMNS
from kernel.ledger_json import json_row

ARROW = {"str": pa.string(), "i64": pa.int64(), "i32": pa.int64(), "bool": pa.bool_()}
SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in COLUMNS.items()])


def json_batches(file: Path, size: int) -> Iterator[tuple[int, list[int], Any]]:
    """(number of the first row, line number of each row, rows)."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, line in enumerate(_lines(file), 1):
        if line.strip():
            rows.append(json_row(f"{file} line {number}", line))
            lines.append(number)
        if len(rows) == size:
            yield lines[0], lines, _batch(file, rows)
            rows, lines = [], []
    if rows:
        yield lines[0], lines, _batch(file, rows)


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
