"""What a scenario asks of a closed ledger to say exactly what it expected: sets of values, never mere counts."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from chaos.evidence.folder import RunFolder


@dataclass(frozen=True, slots=True)
class Read:
    """One record as one reader saw it."""

    client: str
    op: int
    topic: str
    partition: int
    offset: int
    epoch: int | None
    value: int
    completed_ns: int


@dataclass(frozen=True, slots=True)
class Sent:
    client: str
    invoked_ns: int | None
    completed_ns: int | None
    outcome: str
    error: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    value: int


@dataclass(frozen=True, slots=True)
class Committed:
    client: str
    op: int
    topic: str
    partition: int
    offset: int


class Account:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.sends = [_made(Sent, row) for row in rows if row["kind"] == "send"]
        read = [row for row in rows if row["kind"] == "poll" and row["outcome"] == "ok" and row["value"] is not None]
        self.reads = [_made(Read, row) for row in read if not row["final"]]
        self.drained = frozenset(row["value"] for row in read if row["final"])
        self.commits = [_made(Committed, row) for row in rows if row["kind"] == "offsets" and row["outcome"] == "ok"]
        self.rebalances = [row for row in rows if row["kind"] in ("assign", "revoke", "lost")]

    @staticmethod
    def of(folder: RunFolder) -> "Account":
        import pyarrow as pa
        import pyarrow.parquet as pq

        files = sorted(folder.ledger.glob("[!.]*.parquet"))
        tables = [pq.read_table(file) for file in files]
        rows = pa.concat_tables(tables).to_pylist() if tables else []
        return Account(sorted(rows, key=lambda row: (row["client"], row["op"], row["ix"])))

    @property
    def acked(self) -> frozenset[int]:
        return frozenset(sent.value for sent in self.sends if sent.outcome == "ok")

    @property
    def lost(self) -> frozenset[int]:
        """Acknowledged, and neither read by anybody nor there at the end."""
        return self.acked - self.drained - {read.value for read in self.reads}

    @property
    def gone(self) -> frozenset[int]:
        """Acknowledged, and not there at the end, whether or not somebody read it while it was."""
        return self.acked - self.drained

    def read_by(self, clients: Collection[str]) -> list[Read]:
        return [read for read in self.reads if read.client in clients]


def _made(kind: type[Any], row: dict[str, Any]) -> Any:
    return kind(**{name: row[name] for name in kind.__slots__})
