"""Which transaction wrote the value that a read returned? The join that two checkers need."""

import numpy as np

from chaos.evidence.columns import Ints, blocks, rows_where
from chaos.evidence.history import History


def reads_of_transactions(history: History, reads: Ints) -> tuple[Ints, Ints]:
    """Pairs (row of a read, row of a send inside a transaction that carried its value), of the reads given.

    A value is sent once per run; should one have been sent more often, every such send counts.
    """
    sends = history.sends
    inside = rows_where(len(sends), lambda block: sends.txn[block] >= 0)
    table: Ints = np.full(history.values.size, -1, dtype=np.int32 if len(sends) < 1 << 31 else np.int64)
    for block in blocks(inside.size):
        table[sends.value[inside[block]]] = inside[block]
    writer = table[history.reads.value[reads]]
    pairs = [(reads[writer >= 0], writer[writer >= 0])]
    for again in _further(table, sends.value, inside):
        further: Ints = np.full(history.values.size, -1, dtype=table.dtype)
        further[sends.value[again]] = again
        writer = further[history.reads.value[reads]]
        pairs.append((reads[writer >= 0], writer[writer >= 0]))
    return np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])


def _further(table: Ints, values: Ints, inside: Ints) -> list[Ints]:
    """Sends of a value that was sent before, one lot for each time; in a sound run there are none."""
    lots = []
    left = inside[table[values[inside]] != inside]
    while left.size:
        _, first = np.unique(values[left], return_index=True)
        lots.append(left[first])
        left = np.delete(left, first)
    return lots
