"""Do transactions read each other's writes in a ring? Then no order of them explains what was seen."""

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told
from chaos.checkers.rings import rings
from chaos.checkers.writers import reads_of_transactions
from chaos.evidence.columns import Ints, distinct, rows_where
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding

ROUNDS = 16  # of pruning; after that a walk is cheaper than another look at every edge


def write_read_cycle(history: History, facts: Facts) -> Found:
    reads, sends = history.reads, history.sends
    inside = rows_where(len(reads), lambda block: reads.txn[block] >= 0)
    if not inside.size:
        return NOTHING
    read, send = reads_of_transactions(history, inside)
    edges = _pruned(_edges(sends.txn[send], reads.txn[read], len(history.txns)))
    found = rings((writer, reader) for writer, reader in edges.tolist())
    return told(len(found), (_finding(history, ring) for ring in found[:MOST_FINDINGS]))


def _edges(wrote: Ints, read: Ints, width: int) -> Ints:
    """Distinct pairs (writer, reader) of different transactions."""
    other = wrote != read
    packed = distinct(wrote[other].astype(np.int64) * width + read[other])
    return np.stack([packed // width, packed % width], axis=1)


def _pruned(edges: Ints) -> Ints:
    """Whoever only writes or only reads is in no ring; without them, the next ones may be seen to be in none."""
    for _ in range(ROUNDS):
        keep = np.isin(edges[:, 0], edges[:, 1]) & np.isin(edges[:, 1], edges[:, 0])
        if keep.all():
            break
        edges = edges[keep]
    return edges


def _finding(history: History, ring: list[int]) -> Finding:
    return findings.write_read_cycle([history.txns[txn] for txn in ring])
