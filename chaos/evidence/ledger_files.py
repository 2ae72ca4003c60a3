"""The ledger's files, Parquet or JSON lines, as batches of plain arrays, every cell checked against the contract.

Whoever writes a ledger in another language learns here, in one sentence, which file, row, field and value is wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chaos.evidence.columns import BLOCK, Bools, Ints, Names, narrowest
from chaos.evidence.json_rows import json_batches
from kernel.errors import UsageError
from kernel.ledger import COLUMNS, Kind, Outcome

KINDS = {str(kind): code for code, kind in enumerate(Kind)}
OUTCOMES = {str(outcome): code for code, outcome in enumerate(Outcome)}
FIXED = {"kind": KINDS, "outcome": OUTCOMES}
REQUIRED = ("client", "op", "kind", "outcome")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a batch comes from, so that a complaint can name the row."""

    file: Path
    first: int
    lines: list[int] | None = None

    def row(self, index: int) -> str:
        if self.lines is not None:
            return f"{self.file} line {self.lines[index]}"
        return f"{self.file} row {self.first + index}"


@dataclass(frozen=True, slots=True)
class Batch:
    """Columns by name. Strings are numbers (-1: null), integers are themselves; `known` says where they are not null."""

    origin: Origin
    rows: int
    cells: dict[str, Ints]
    known: dict[str, Bools]


class LedgerFiles:
    def __init__(self, ledger: Path, columns: tuple[str, ...]) -> None:
        self.ledger = ledger
        self.columns = columns
        self.names: dict[str, Names] = {column: Names() for column in ("client", "txn", "topic") if column in columns}

    def files(self) -> list[Path]:
        """Parquet and JSON lines; what begins with a dot or an underscore is somebody's marker or draft."""
        there = sorted(self.ledger.iterdir()) if self.ledger.is_dir() else []
        files = [file for file in there if file.suffix in (".parquet", ".jsonl") and file.name[0] not in "._"]
        if not files:
            raise UsageError(f"{self.ledger} holds no *.parquet and no *.jsonl: a run folder's ledger has at least one.")
        return files

    def batches(self) -> Iterator[Batch]:
        for file in self.files():
            raw = json_batches(file, BLOCK) if file.suffix == ".jsonl" else _parquet_batches(file, self.columns)
            for first, lines, table in raw:
                if table.num_rows:
                    yield self._batch(Origin(file, first, lines), table)

    def _batch(self, origin: Origin, table: Any) -> Batch:
        cells: dict[str, Ints] = {}
        known: dict[str, Bools] = {}
        there = set(table.schema.names)
        for column in self.columns:
            if column not in there and column in REQUIRED:
                raise UsageError(f"{origin.file} has no column {column}: every row needs one.")
            cell = table.column(column) if column in there else pa.nulls(table.num_rows)
            if COLUMNS[column] == "str":
                cells[column] = self._codes(origin, column, cell)
            else:
                cells[column], known[column] = _numbers(origin, column, cell)
        _refuse_null(origin, cells, known)
        return Batch(origin, table.num_rows, cells, known)

    def _codes(self, origin: Origin, column: str, cell: Any) -> Ints:
        """Only names that a row really uses are translated: a file's dictionary may hold many more than this batch."""
        if cell.null_count == len(cell):
            return np.full(len(cell), -1, dtype=np.int8)
        if not pa.types.is_dictionary(cell.type):
            cell = cell.dictionary_encode()
        indices = cell.indices
        if len(cell.dictionary) == 1 and not indices.null_count and not cell.dictionary.null_count:
            only = self._numbered(origin, column, cell.dictionary.to_pylist(), np.zeros(1, np.int8), np.zeros(1, np.int8))
            return np.full(len(cell), only[0], dtype=narrowest(0, int(only[0])))
        local = (indices.fill_null(-1) if indices.null_count else indices).to_numpy(zero_copy_only=False)
        used = np.zeros(len(cell.dictionary) + 1, dtype=bool)
        used[local] = True  # null is -1: the last place
        if cell.dictionary.null_count:  # a null may also stand in the dictionary itself
            used[:-1] &= cell.dictionary.is_valid().to_numpy(zero_copy_only=False)
        entries = np.flatnonzero(used[:-1])
        names = cell.dictionary.take(pa.array(entries)).to_pylist()
        numbers = self._numbered(origin, column, names, local, entries)
        table = np.full(used.size, -1, dtype=narrowest(-1, int(numbers.max(initial=0))))
        table[entries] = numbers
        codes: Ints = table[local]
        return codes

    def _numbered(self, origin: Origin, column: str, names: list[Any], local: Ints, entries: Ints) -> Ints:
        known = FIXED.get(column)
        if known is None:
            return self.names[column].codes(names)
        for name, entry in zip(names, entries, strict=True):
            if name not in known:
                row = origin.row(int(np.flatnonzero(local == entry)[0]))
                raise UsageError(f"{row}: {column} is {name!r}, not one of {', '.join(known)}.")
        return np.array([known[name] for name in names], dtype=np.int32)


def _numbers(origin: Origin, column: str, cell: Any) -> tuple[Ints, Bools]:
    if pa.types.is_null(cell.type):
        return np.zeros(len(cell), dtype=np.int8), np.zeros(len(cell), dtype=bool)
    if pa.types.is_unsigned_integer(cell.type):
        try:
            cell = cell.cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise UsageError(f"{origin.file}: column {column} holds more than 64 bits with a sign can: {_line(error)}.")
    if not cell.null_count:
        return cell.to_numpy(zero_copy_only=False), np.ones(len(cell), dtype=bool)
    known = cell.is_valid().to_numpy(zero_copy_only=False)
    return cell.fill_null(False if pa.types.is_boolean(cell.type) else 0).to_numpy(zero_copy_only=False), known


def _refuse_null(origin: Origin, cells: dict[str, Ints], known: dict[str, Bools]) -> None:
    for column in REQUIRED:
        if column in cells:
            missing = ~known[column] if column in known else cells[column] < 0
            if missing.any():
                raise UsageError(f"{origin.row(int(missing.argmax()))}: {column} is null: every row needs one.")


def _parquet_batches(file: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, None, Any]]:
    try:
        schema = pq.read_schema(file)
        _check_types(file, schema)
        there = [column for column in columns if column in schema.names]
        texts = [column for column in there if COLUMNS[column] == "str"]
        with pq.ParquetFile(file, read_dictionary=texts, buffer_size=1 << 20, pre_buffer=False) as parquet:
            first = 1
            for batch in parquet.iter_batches(BLOCK, columns=there or None, use_threads=False):
                yield first, None, batch
                first += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{file} cannot be read as Parquet, is it cut off? {_line(error)}.")


def _check_types(file: Path, schema: Any) -> None:
    fits = {"str": _is_text, "i64": pa.types.is_integer, "i32": pa.types.is_integer, "bool": pa.types.is_boolean}
    words = {"str": "a string", "i64": "an integer", "i32": "an integer", "bool": "a boolean"}
    for column, kind in COLUMNS.items():
        if schema.names.count(column) > 1:
            raise UsageError(f"{file} has the column {column} {schema.names.count(column)} times.")
        if column in schema.names:
            found = schema.field(column).type
            if not fits[kind](found) and not pa.types.is_null(found):
                raise UsageError(f"{file}: column {column} is {found}, not {words[kind]}.")


def _is_text(found: Any) -> bool:
    if pa.types.is_dictionary(found):
        return _is_text(found.value_type)
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found))


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
