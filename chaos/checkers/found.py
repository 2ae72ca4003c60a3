"""What a checker hands back, and the rows that bear witness to it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from chaos.evidence.columns import Ints
from chaos.evidence.history import History, Rows
from kernel.findings import Witness
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


def witness(history: History, rows: Rows, row: int) -> Witness:
    """Everything that a row knows."""
    partition, offset = int(rows.partition[row]), int(rows.offset[row])
    topic, number = history.partitions[partition] if partition >= 0 else (None, None)
    txn = int(rows.txn[row]) if rows.txn.size else -1
    return Witness(
        client=history.clients[int(rows.client[row])],
        op=int(rows.op[row]),
        topic=topic,
        partition=number,
        offset=offset if offset >= 0 else None,
        value=history.values.value(int(rows.value[row])) if rows.value.size else None,
        txn=history.txns[txn] if txn >= 0 else None,
    )
