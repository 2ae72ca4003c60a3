"""Did a client read its own transaction's record before it asked to commit or abort? It was not visible yet."""

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told, witness
from chaos.checkers.writers import reads_of_transactions
from chaos.evidence.columns import Bools, Ints, rows_where
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding

NEVER = np.iinfo(np.int64).max


def precommitted_read(history: History, facts: Facts) -> Found:
    reads, sends = history.reads, history.sends
    transactional = _transactional(history)
    suspects = rows_where(len(reads), lambda block: transactional[reads.client[block]])
    if not suspects.size:
        return NOTHING
    read, send = reads_of_transactions(history, suspects)
    own = reads.client[read] == sends.client[send]
    read, send = read[own], send[own]
    early = reads.op[read] <= _first_end(history, sends.client[send], sends.txn[send])
    read, send = read[early], send[early]
    values, first = np.unique(reads.value[read], return_index=True)
    pairs = np.stack([read[first], send[first]], axis=1)[:MOST_FINDINGS].tolist()
    return told(values.size, (_finding(history, row, sent) for row, sent in pairs))


def _transactional(history: History) -> Bools:
    """By client: does it send inside transactions?"""
    table = np.zeros(len(history.clients), dtype=bool)
    table[history.sends.client[history.sends.txn >= 0]] = True
    return table


def _first_end(history: History, client: Ints, txn: Ints) -> Ints:
    """The op of the client's first commit or abort of the transaction, whatever came of it. Ops of others do not compare."""
    ends, width = history.ends, len(history.txns)
    keys = ends.client.astype(np.int64) * width + ends.txn
    order = np.lexsort((ends.op, keys))
    distinct, first = np.unique(keys[order], return_index=True)
    ops = np.append(ends.op[order][first].astype(np.int64), NEVER)
    wanted = client.astype(np.int64) * width + txn
    place = np.searchsorted(distinct, wanted)
    there = np.append(distinct, -1)[place] == wanted
    return np.where(there, ops[place], NEVER)


def _finding(history: History, row: int, sent: int) -> Finding:
    return findings.precommitted_read(witness(history, history.reads, row), witness(history, history.sends, sent))
