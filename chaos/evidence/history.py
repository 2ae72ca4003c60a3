"""What happened in a run, as arrays: the ledger read once, sorted by what its rows mean, ready to be judged.

Only what the checks need is kept, each column in the narrowest type that holds it, so that a hundred million rows fit
into a laptop. Rows may come in any order and from any number of files.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chaos.evidence.columns import Bools, Column, Ints, Names, distinct, rows_where
from chaos.evidence.keys import joint_keys, order_keys
from chaos.evidence.ledger_files import KINDS, OUTCOMES, Batch, LedgerFiles
from chaos.evidence.row_rules import check_rows
from chaos.evidence.values import ValueColumns, Values
from kernel.errors import UsageError
from kernel.ledger import Kind, Outcome

COLUMNS = ("client", "op", "ix", "kind", "outcome", "txn", "topic", "partition", "offset", "value")
OK, FAIL, INFO = (OUTCOMES[outcome] for outcome in (Outcome.OK, Outcome.FAIL, Outcome.INFO))
SEND, POLL, COMMIT, ABORT = (KINDS[kind] for kind in (Kind.SEND, Kind.POLL, Kind.COMMIT, Kind.ABORT))
OFFSETS, DRAINED = KINDS[Kind.OFFSETS], KINDS[Kind.DRAINED]
MARKS = tuple(KINDS[kind] for kind in (Kind.ASSIGN, Kind.REVOKE, Kind.LOST))
WIDEST_TABLE = 1 << 22


@dataclass(frozen=True, slots=True)
class Rows:
    """One kind of row. A column is empty where this kind has no use for it; -1 is null."""

    client: Ints
    op: Ints
    ix: Ints
    kind: Ints
    outcome: Ints
    txn: Ints
    partition: Ints  # a number for topic and partition together
    offset: Ints
    value: Ints  # a number for the value, see `Values`

    def __len__(self) -> int:
        return int(self.client.size)


@dataclass(frozen=True, slots=True)
class History:
    sends: Rows
    reads: Rows  # polls that returned a record
    turns: Rows  # assign, revoke, lost, and offsets that were committed: what a reader does beside reading
    ends: Rows  # commit and abort, of any outcome
    drains: Rows  # drained, ok
    clients: list[str]
    txns: list[str]
    partitions: list[tuple[str, int]]
    values: Values
    rows: int


def read_history(ledger: Path) -> History:
    return _Reading(LedgerFiles(ledger, COLUMNS)).history()


class _Stream:
    def __init__(self, *columns: str) -> None:
        self.columns = {column: Column() for column in ("client", "op", "ix", *columns)}

    def add(self, cells: dict[str, Ints], where: Bools) -> None:
        if not where.any():
            return
        if where.all():
            chosen = {name: cells[name] for name in self.columns}
        else:
            rows = np.flatnonzero(where)
            chosen = {name: cells[name][rows] for name in self.columns}
        for name, column in self.columns.items():
            column.add(chosen[name])

    def finish(self) -> Rows:
        empty = np.empty(0, dtype=np.int8)
        return Rows(*(self.columns[n].finish() if n in self.columns else empty for n in Rows.__dataclass_fields__))


class _Reading:
    def __init__(self, files: LedgerFiles) -> None:
        self._files = files
        self._partitions = Names()
        self._seen = ValueColumns()
        self._sends = _Stream("outcome", "txn", "partition", "offset", "value")
        self._reads = _Stream("txn", "partition", "offset", "value")
        self._turns = _Stream("kind", "partition", "offset")
        self._ends = _Stream("kind", "outcome", "txn")
        self._drains = _Stream("partition", "offset")
        self._others = _Stream()

    def history(self) -> History:
        rows = 0
        for batch in self._files.batches():
            check_rows(batch)
            self._sort(batch)
            rows += batch.rows
        values = self._value_codes()
        streams = (self._sends, self._reads, self._turns, self._ends, self._drains, self._others)
        finished = [stream.finish() for stream in streams]
        names = {column: name.all() for column, name in self._files.names.items()}
        _refuse_twins(self._files.ledger, finished, names["client"])
        sends, reads, turns, ends, drains, _ = finished
        partitions = self._partitions.all()
        return History(sends, reads, turns, ends, drains, names["client"], names["txn"], partitions, values, rows)

    def _sort(self, batch: Batch) -> None:
        """Each kind of row to those of its kind; what decides nothing is kept by name only."""
        cells = batch.cells | {"partition": self._numbered(batch)}
        cells["offset"] = _or_minus_one(cells["offset"], batch.known["offset"])
        present = np.zeros(len(KINDS), dtype=bool)
        present[cells["kind"]] = True
        for kind in np.flatnonzero(present).tolist():
            mine = cells["kind"] == kind
            stream, counts = self._home(kind, batch, cells)
            stream.add(cells, mine & counts)
            self._others.add(cells, mine & ~counts)
            if stream in (self._sends, self._reads):
                self._seen.add(cells["value"][mine & counts])

    def _home(self, kind: int, batch: Batch, cells: dict[str, Ints]) -> tuple["_Stream", Bools]:
        """Where rows of a kind belong, and which of them count there."""
        ok, named = cells["outcome"] == OK, cells["partition"] >= 0
        if kind == POLL:
            return self._reads, ok & batch.known["value"]
        if kind in (COMMIT, ABORT):
            return self._ends, cells["txn"] >= 0
        if kind in MARKS:
            return self._turns, named
        if kind == OFFSETS:
            return self._turns, named & ok & batch.known["offset"]
        return {SEND: (self._sends, ok | True), DRAINED: (self._drains, ok)}.get(kind, (self._others, ok | True))

    def _numbered(self, batch: Batch) -> Ints:
        """Topic and partition as one number, -1 where either is unknown."""
        topic, partition = batch.cells["topic"], batch.cells["partition"]
        named = (topic >= 0) & batch.known["partition"]
        if not named.any():
            return np.full(batch.rows, -1, dtype=np.int32)
        width = int(partition.max()) + 1
        both = np.where(named, topic.astype(np.int64) * width + partition, -1)
        used = _distinct(both)
        topics = self._files.names["topic"].all()
        numbers = self._partitions.codes([(topics[pair // width], pair % width) for pair in used.tolist()])
        if int(used[-1]) >= WIDEST_TABLE:
            return np.where(named, numbers[np.searchsorted(used, np.maximum(both, used[0]))], -1)
        table = np.full(int(used[-1]) + 2, -1, dtype=np.int32)
        table[used] = numbers
        return table[both]  # -1 is the last place

    def _value_codes(self) -> Values:
        columns = [stream.columns["value"] for stream in (self._sends, self._reads)]
        values = self._seen.finish(*columns)
        width = np.dtype(np.int32 if values.size < 1 << 31 else np.int64)
        for stream in (self._sends, self._reads):
            coded = Column()
            coded.add(stream.columns["value"].translate(values.code, width))
            stream.columns["value"] = coded
        return values


def _distinct(both: Ints) -> Ints:
    """The pairs that occur, without -1, in order."""
    top = int(both.max())
    if top >= WIDEST_TABLE:
        found = distinct(both)
        return found[found >= 0]
    used = np.zeros(top + 2, dtype=bool)
    used[both] = True
    return np.flatnonzero(used[:-1])


def _or_minus_one(cells: Ints, known: Bools) -> Ints:
    return cells if known.all() else np.where(known, cells, -1)


def _refuse_twins(ledger: Path, streams: list[Rows], clients: list[str]) -> None:
    """Client, op and ix name one row. Two under one name, and no order of theirs would mean anything."""
    names = [(rows.client, rows.op, rows.ix) for rows in streams]
    every = joint_keys(names)
    every.sort()
    twins = rows_where(every.size - 1, lambda b: every[b] == every[b.start + 1 : b.stop + 1])
    for rows, keys in zip(streams, order_keys(names) if twins.size else (), strict=False):
        found = np.flatnonzero(keys == every[twins[0]])
        if found.size:
            row = found[0]
            raise UsageError(
                f"{ledger}: client {clients[rows.client[row]]!r}, op {rows.op[row]}, ix {rows.ix[row]} names more than one "
                "row, and a row's client, op and ix are its name: is a file there twice?"
            )
