"""What a checker hands back, and how it says where something is."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from chaos.evidence.columns import Ints
from chaos.evidence.history import History, Rows
from kernel.verdict import MOST_FINDINGS, Finding


@dataclass(frozen=True, slots=True)
class Found:
    """The count is of all, the findings are the first of them in the order of the log."""

    count: int
    findings: list[Finding] = field(default_factory=list)


NOTHING = Found(0)


def told(count: int, findings: Iterable[Finding]) -> Found:
    return Found(int(count), list(findings))


def in_log_order(history: History, rows: Rows, chosen: Ints) -> Ints:
    """The first of the chosen rows, by partition's name and offset."""
    count = len(history.partitions)
    rank = np.full(count + 1, count)  # -1, unknown, comes last
    rank[np.array(sorted(range(count), key=history.partitions.__getitem__), dtype=np.int64)] = np.arange(count)
    order = np.lexsort((rows.op[chosen], rows.offset[chosen], rank[rows.partition[chosen]]))
    return chosen[order[:MOST_FINDINGS]]


def at_row(name: str, history: History, rows: Rows, row: int, sentence: str) -> Finding:
    """A finding that points at a row, with everything the row knows."""
    partition = int(rows.partition[row])
    topic, number = history.partitions[partition] if partition >= 0 else (None, None)
    offset = int(rows.offset[row])
    txn = int(rows.txn[row]) if rows.txn.size else -1
    return Finding(
        name,
        sentence,
        topic=topic,
        partition=number,
        offset=offset if offset >= 0 else None,
        value=history.values.value(int(rows.value[row])) if rows.value.size else None,
        txn=history.txns[txn] if txn >= 0 else None,
        client=history.clients[int(rows.client[row])],
        op=int(rows.op[row]),
    )


def where(history: History, partition: int, offset: int | None = None) -> str:
    """As people write it: orders-0 @ 8812."""
    topic, number = history.partitions[partition]
    return f"{topic}-{number}" if offset is None or offset < 0 else f"{topic}-{number} @ {offset}"


def who(history: History, rows: Rows, row: int) -> str:
    return f"{history.clients[int(rows.client[row])]} (op {int(rows.op[row])})"
