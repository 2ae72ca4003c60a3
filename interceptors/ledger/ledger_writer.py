"""Writes a client's ledger as it happens: a finished Parquet file every second, so that a kill costs a second at most.

A Parquet file without its footer is unreadable, so a row group that is merely flushed would be lost with the process.
Each second's rows therefore become a small file of their own, written under a hidden name and renamed when complete;
`seal` joins them once the client is done. Memory holds the rows of about a second, and of one more being written.
"""

import fcntl
import os
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kernel.ledger import COLUMNS

WRITING = ".writing"  # locked by whoever writes: a lock goes with its process, however that ends
EVERY = 1.0  # seconds
MOST_ROWS = 500_000  # in memory, whatever the clock says
TEXT = pa.dictionary(pa.int32(), pa.string())
TYPES = {"str": TEXT, "i64": pa.int64(), "i32": pa.int32(), "bool": pa.bool_()}
# When an open-loop producer meant to send: with invoked_ns it shows the delay that a closed loop would hide.
SCHEMA = pa.schema([*((name, TYPES[kind]) for name, kind in COLUMNS.items()), ("scheduled_ns", pa.int64())])

# The same for whoever reads it: Parquet has its own dictionaries, and one per row group is more than Arrow likes to join.
PLAIN = pa.schema([(field.name, pa.string() if field.type == TEXT else field.type) for field in SCHEMA])

Chunk = tuple[int, Mapping[str, Any]]


class LedgerWriter:
    """Rows come one at a time (`row`) or as columns (`rows`); a thread turns them into files."""

    def __init__(self, folder: Path, run_id: str, client: str, *, final: bool = False) -> None:
        self._folder, self.client = folder, client
        self._lock = os.open(folder / WRITING, os.O_CREAT | os.O_RDONLY, 0o644)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        self._common = {"run_id": run_id, "client": client, "final": final}
        self._rows: list[dict[str, Any]] = []
        self._chunks: list[Chunk] = []
        self._held = 0
        self._due = time.monotonic() + EVERY
        self._parts = 0
        # Bounded: a disk that cannot keep up slows the client down instead of filling its memory.
        self._full: queue.Queue[list[Chunk] | None] = queue.Queue(1)
        self._trouble: BaseException | None = None
        self._thread = threading.Thread(target=self._write_parts, name="ledger", daemon=True)
        self._thread.start()

    def row(self, **columns: Any) -> None:
        self._rows.append(columns)
        self._held += 1

    def rows(self, count: int, columns: Mapping[str, Any]) -> None:
        """Many rows at once: a column is a sequence, an Arrow array, or one value that all of them share."""
        if count:
            self._chunks.append((count, columns))
            self._held += count

    @property
    def due(self) -> bool:
        """Whether to flush: there is enough, or something went wrong, which flushing tells."""
        if self._trouble is not None:
            return True
        return self._held > 0 and (self._held >= MOST_ROWS or time.monotonic() >= self._due)

    def flush(self) -> None:
        """Hand what is held to the writing thread."""
        if self._trouble is not None:
            raise self._trouble
        if self._rows:
            names = {name for row in self._rows for name in row}
            self._chunks.append((len(self._rows), {name: [row.get(name) for row in self._rows] for name in names}))
        if self._chunks:
            self._full.put(self._chunks)
        self._rows, self._chunks, self._held = [], [], 0
        self._due = time.monotonic() + EVERY

    def sync(self) -> None:
        """On disk when this returns, and nothing more is held."""
        self.flush()
        self._full.join()
        if self._trouble is not None:
            raise self._trouble

    def close(self) -> None:
        """May be called more than once."""
        self.flush()
        if self._thread.is_alive():
            self._full.put(None)
            self._thread.join()
            os.close(self._lock)
        if self._trouble is not None:
            raise self._trouble

    def _write_parts(self) -> None:
        while (chunks := self._full.get()) is not None:
            if self._trouble is None:
                try:
                    self._write_part(chunks)
                except Exception as error:  # a full disk must not hang the client that waits for the queue
                    self._trouble = error
            self._full.task_done()

    def _write_part(self, chunks: list[Chunk]) -> None:
        self._parts += 1
        part = self._folder / f"{self.client}.{self._parts:05d}.parquet"
        draft = part.with_name(f".{part.name}.new")
        table = pa.Table.from_batches([_batch(count, {**self._common, **columns}) for count, columns in chunks], SCHEMA)
        pq.write_table(table.unify_dictionaries(), draft, compression="lz4")
        draft.rename(part)


def _batch(count: int, columns: Mapping[str, Any]) -> pa.RecordBatch:
    return pa.record_batch([_column(field.type, count, columns.get(field.name)) for field in SCHEMA], SCHEMA)


def _column(kind: pa.DataType, count: int, given: Any) -> pa.Array:
    if given is None:
        return pa.nulls(count, kind)
    if isinstance(given, (str, int, bool)):
        if kind == TEXT:  # one word for all: a dictionary of one
            zeros = pa.repeat(pa.scalar(0, pa.int32()), count)
            return pa.DictionaryArray.from_arrays(zeros, pa.array([given], pa.string()))
        return pa.repeat(pa.scalar(given, kind), count)
    if isinstance(given, pa.Array):
        return given if given.type == kind else given.cast(kind)
    if isinstance(given, Sequence) and kind == TEXT:
        return pa.array(given, pa.string()).dictionary_encode()
    return pa.array(given, kind)
