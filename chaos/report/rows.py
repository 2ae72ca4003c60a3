"""The ledger's rows in batches, whoever wrote them: Parquet or JSON lines, any integer width, any coding of strings.

A report of a hundred million rows must fit beside the cluster it reports on, so no more than one batch is held.
"""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernel.errors import UsageError

BATCH = 1 << 18
NONE = np.iinfo(np.int64).min  # where a number is not known
SCHEDULED = "scheduled_ns"  # when a send was due: not every producer keeps it
STRINGS = ("client", "kind", "outcome", "topic")
NUMBERS = ("invoked_ns", "completed_ns", "partition", "offset", SCHEDULED)
TIMES = ("invoked_ns", "completed_ns")
Ints = np.ndarray[Any, np.dtype[np.int64]]


class Rows:
    """One batch, column by column; a column that is missing is unknown throughout."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch
        self.names = set(batch.schema.names)
        self._codes: dict[str, tuple[Ints, list[str]]] = {}

    def ints(self, name: str) -> Ints:
        if name not in self.names:
            return np.full(len(self.batch), NONE, np.int64)
        column = pc.cast(self.batch.column(name), pa.int64())
        return np.asarray(pc.fill_null(column, int(NONE)))

    def codes(self, name: str) -> tuple[Ints, list[str]]:
        """Each row's place in the list of words; -1 where there is none."""
        if name not in self._codes:
            self._codes[name] = self._encoded(name)
        return self._codes[name]

    def _encoded(self, name: str) -> tuple[Ints, list[str]]:
        if name not in self.names:
            return np.full(len(self.batch), -1, np.int64), []
        column = self.batch.column(name)
        if not pa.types.is_dictionary(column.type):
            column = pc.dictionary_encode(column)
        codes = pc.fill_null(pc.cast(column.indices, pa.int64()), -1)
        return np.asarray(codes), [str(word) for word in column.dictionary.to_pylist()]

    def mask(self, name: str, word: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Words are few, and one may stand in a dictionary twice."""
        codes, words = self.codes(name)
        found = np.zeros(len(codes), np.bool_)
        for place, known in enumerate(words):
            if known == word:
                found |= codes == place
        return found

    def truths(self, name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        if name not in self.names:
            return np.zeros(len(self.batch), np.bool_)
        return np.asarray(pc.fill_null(self.batch.column(name), False))


def files(ledger: Path) -> list[Path]:
    """Names that begin with a dot or an underscore are drafts."""
    found = [file for ending in ("*.parquet", "*.jsonl") for file in ledger.glob(ending)]
    return sorted(file for file in found if file.name[0] not in "._")


def batches(ledger: Path) -> Iterator[Rows]:
    for file in files(ledger):
        try:
            for batch in _parquet(file) if file.suffix == ".parquet" else _json_lines(file):
                yield Rows(batch)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UsageError(f"{file} cannot be read: {str(error).splitlines()[0]}.")


def span(ledger: Path) -> tuple[int, int] | None:
    """First and last moment of any row, from the files' own statistics where they have some; None if there is no row."""
    ends: list[int] = []
    for file in files(ledger):
        try:
            known = _statistics(file) if file.suffix == ".parquet" else None
            ends += _scanned(file) if known is None else known
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UsageError(f"{file} cannot be read: {str(error).splitlines()[0]}.")
    return (min(ends), max(ends)) if ends else None


def _parquet(file: Path, wanted: tuple[str, ...] = (*STRINGS, *NUMBERS, "final")) -> Iterator[Any]:
    with pq.ParquetFile(file, memory_map=True, read_dictionary=list(STRINGS)) as parquet:
        columns = [name for name in wanted if name in parquet.schema_arrow.names]
        yield from parquet.iter_batches(BATCH, columns=columns)


def _json_lines(file: Path, wanted: tuple[str, ...] = (*STRINGS, *NUMBERS, "final")) -> Iterator[Any]:
    types = dict.fromkeys(STRINGS, pa.string()) | dict.fromkeys(NUMBERS, pa.int64()) | {"final": pa.bool_()}
    schema = pa.schema([(name, types[name]) for name in wanted])
    with file.open(encoding="utf-8") as lines:
        while chunk := [json.loads(line) for line in islice(lines, BATCH) if line.strip()]:
            yield pa.RecordBatch.from_pylist(chunk, schema=schema)


def _statistics(file: Path) -> list[int] | None:
    ends: list[int] = []
    with pq.ParquetFile(file) as parquet:
        meta = parquet.metadata
        places = [place for place in range(meta.num_columns) if meta.schema.column(place).path in TIMES]
        for group in range(meta.num_row_groups):
            for place in places:
                known = meta.row_group(group).column(place).statistics
                if known is None or not (known.has_min_max or known.null_count == meta.row_group(group).num_rows):
                    return None
                ends += [int(known.min), int(known.max)] if known.has_min_max else []
    return ends


def _scanned(file: Path) -> list[int]:
    ends: list[int] = []
    for batch in _parquet(file, TIMES) if file.suffix == ".parquet" else _json_lines(file, TIMES):
        for name in TIMES:
            known = Rows(batch).ints(name)
            known = known[known != NONE]
            ends += [int(known.min()), int(known.max())] if len(known) else []
    return ends
