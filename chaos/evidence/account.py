"""What a scenario asks of a closed ledger to say exactly what it expected: sets of values, never mere counts."""

from collections import Counter
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
    txn: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a transaction as its client was told it: a commit or an abort."""

    client: str
    kind: str
    outcome: str
    error: str | None
    txn: str | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    client: str
    op: int
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A poll or a commit of a group that ended in an error."""

    client: str
    op: int
    kind: str
    error: str
    topic: str | None
    partition: int | None
    offset: int | None


class Account:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.sends = [_made(Sent, row) for row in rows if row["kind"] == "send"]
        read = [row for row in rows if row["kind"] == "poll" and row["outcome"] == "ok" and row["value"] is not None]
        self.reads = [_made(Read, row) for row in read if not row["final"]]
        self.final = [_made(Read, row) for row in read if row["final"]]  # by the closing reader, in the order of each log
        self.drained = frozenset(read.value for read in self.final)
        self.ends = [_made(Ended, row) for row in rows if row["kind"] in ("commit", "abort")]
        self.commits = [_made(Committed, row) for row in rows if row["kind"] == "offsets" and row["outcome"] == "ok"]
        self.refused = [_made(Refused, row) for row in rows if row["kind"] in ("poll", "offsets") and row["error"]]
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
    def fates(self) -> dict[int, str]:
        """What became of each value that was sent: its own outcome, or that of its transaction."""
        ends: dict[str | None, set[tuple[str, str]]] = {}
        for end in self.ends:
            ends.setdefault(end.txn, set()).add((end.kind, end.outcome))
        told = {txn: _fate(some) for txn, some in ends.items()}
        return {s.value: s.outcome if s.txn is None or s.outcome == "fail" else told.get(s.txn, "info") for s in self.sends}

    @property
    def lost(self) -> frozenset[int]:
        """Acknowledged, and neither read by anybody nor there at the end."""
        return self.acked - self.drained - {read.value for read in self.reads}

    @property
    def gone(self) -> frozenset[int]:
        """Acknowledged, and not there at the end, whether or not somebody read it while it was."""
        return self.acked - self.drained

    @property
    def twice(self) -> frozenset[int]:
        """In the log at two or more offsets at the end."""
        seats = {(read.topic, read.partition, read.offset, read.value) for read in self.final}
        times = Counter(value for *_, value in seats)
        return frozenset(value for value, count in times.items() if count > 1)

    def made_good(self, refused: Refused) -> bool:
        """A commit that its client tried again, or a later one of that partition, which says the same and more."""
        return refused.kind == "offsets" and any(
            (done.client, done.topic, done.partition) == (refused.client, refused.topic, refused.partition)
            and done.op > refused.op
            and refused.offset is not None
            and done.offset >= refused.offset
            for done in self.commits
        )

    def read_by(self, clients: Collection[str]) -> list[Read]:
        return [read for read in self.reads if read.client in clients]

    def read_twice(self, clients: Collection[str]) -> frozenset[int]:
        """Values that these clients together read more than once."""
        counts = Counter(read.value for read in self.read_by(clients))
        return frozenset(value for value, times in counts.items() if times > 1)


def _fate(ends: set[tuple[str, str]]) -> str:
    if ("commit", "ok") in ends:
        return "ok"
    return "fail" if ("commit", "info") not in ends and ends & {("abort", "ok"), ("commit", "fail")} else "info"


def _made(kind: type[Any], row: dict[str, Any]) -> Any:
    return kind(**{name: row[name] for name in kind.__slots__})
