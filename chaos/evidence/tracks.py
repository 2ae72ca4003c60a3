"""Who sent and who read when, partition by partition: what recovery is measured on.

A reading of its own, because only runs with a fault need the times.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from chaos.evidence.columns import Bools, Column, Ints
from chaos.evidence.ledger_files import KINDS, OUTCOMES, Batch, LedgerFiles
from chaos.recovery import Track
from kernel.ledger import Kind, Outcome

COLUMNS = ("client", "op", "kind", "outcome", "txn", "topic", "partition", "value", "invoked_ns", "completed_ns", "final")
SEND, POLL, COMMIT = KINDS[Kind.SEND], KINDS[Kind.POLL], KINDS[Kind.COMMIT]
OK = OUTCOMES[Outcome.OK]
NEVER = -1


class Tracks:
    """Rows without a time are left out: nothing can be measured on them."""

    def __init__(self, ledger: Path) -> None:
        self._files = LedgerFiles(ledger, COLUMNS)
        self._sends = {name: Column() for name in ("topic", "partition", "sent", "acked", "ok", "value", "txn")}
        self._reads = {name: Column() for name in ("topic", "partition", "at", "value")}
        self._commits = {name: Column() for name in ("txn", "at")}
        self.last_ns = 0
        for batch in self._files.batches():
            self._add(batch)

    def _add(self, batch: Batch) -> None:
        cells, known = batch.cells, batch.known
        kind, ok = cells["kind"], cells["outcome"] == OK
        done = np.where(known["completed_ns"], cells["completed_ns"], NEVER)
        named = (cells["topic"] >= 0) & known["partition"] & known["value"]
        live = ~(cells["final"].astype(bool) & known["final"])
        sent = (kind == SEND) & named & known["invoked_ns"]
        at = np.where(known["completed_ns"], done, np.where(known["invoked_ns"], cells["invoked_ns"], NEVER))
        read = (kind == POLL) & ok & named & live & (at >= 0)
        committed = (kind == COMMIT) & ok & (cells["txn"] >= 0) & (done >= 0)
        times = {"sent": cells["invoked_ns"], "acked": done, "ok": ok, "at": at}
        for columns, where in ((self._sends, sent), (self._reads, read), (self._commits, committed)):
            _keep(columns, cells | times, where)
        if (sent | read).any():
            self.last_ns = max(self.last_ns, int(at[sent | read].max()))

    def all(self) -> Iterator[Track]:
        topics = self._files.names["topic"].all()
        sends = {name: column.finish() for name, column in self._sends.items()}
        reads = {name: column.finish() for name, column in self._reads.items()}
        sends["due"] = self._due(sends)
        sent_to, read_from = _by_place(sends), _by_place(reads)
        nobody = np.empty(0, dtype=np.int64)
        for topic, partition in sorted({*sent_to, *read_from}, key=lambda place: (topics[place[0]], place[1])):
            mine, theirs = (rows.get((topic, partition), nobody) for rows in (sent_to, read_from))
            yield Track(
                topics[topic],
                partition,
                sent_ns=_long(sends["sent"][mine]),
                acked_ns=_long(sends["acked"][mine]),
                sent_ok=sends["ok"][mine].astype(bool),
                sent_value=_long(sends["value"][mine]),
                read_ns=_long(reads["at"][theirs]),
                read_value=_long(reads["value"][theirs]),
                due_ns=_long(sends["due"][mine]),
            )

    def _due(self, sends: dict[str, Ints]) -> Ints:
        """A record of a transaction is for readers from its commit on, and never without one."""
        commits = {name: column.finish() for name, column in self._commits.items()}
        when = np.full(
            len(self._files.names["txn"].all()) + 1, NEVER, dtype=np.int64
        )  # the last place is for no transaction
        when[commits["txn"]] = commits["at"]
        return np.where(sends["txn"] >= 0, when[sends["txn"]], np.where(sends["ok"] > 0, sends["acked"], NEVER))


def _keep(columns: dict[str, Column], cells: dict[str, Any], where: Bools) -> None:
    for name, column in columns.items():
        column.add(cells[name][where].astype(np.int64))


def _by_place(rows: dict[str, Ints]) -> dict[tuple[int, int], Ints]:
    """The rows of each topic and partition, in one pass over all."""
    topic, partition = _long(rows["topic"]), _long(rows["partition"])
    order = np.lexsort((partition, topic))
    topic, partition = topic[order], partition[order]
    starts = np.flatnonzero((topic[1:] != topic[:-1]) | (partition[1:] != partition[:-1])) + 1
    lots = np.split(order, starts) if order.size else []
    return {(int(rows["topic"][lot[0]]), int(rows["partition"][lot[0]])): lot for lot in lots}


def _long(column: Ints) -> Ints:
    return column.astype(np.int64)
