"""Is a part of a transaction visible and another not? All or nothing is what a transaction is for."""

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told, witness
from chaos.checkers.tables import count_into, first_rows
from chaos.evidence.columns import blocks
from chaos.evidence.history import FAIL, History
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding


def torn_transaction(history: History, facts: Facts) -> Found:
    count = len(history.txns)
    if not count:
        return NOTHING
    sends = history.sends
    sent, seen, open_ended = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, dtype=bool)
    undrained = np.append(facts.drained_end < 0, False)  # the last place is for -1: nobody knows which partition
    for block in blocks(len(sends)):
        inside = np.flatnonzero((sends.txn[block] >= 0) & (sends.outcome[block] != FAIL))
        txn = sends.txn[block][inside]
        count_into(sent, txn)
        count_into(seen, txn[facts.seen[sends.value[block][inside]]])
        open_ended[txn[undrained[sends.partition[block][inside]]]] = True
    torn = np.flatnonzero((seen > 0) & (seen < sent) & ~open_ended & (facts.transaction_fate != FAIL))
    if not torn.size:
        return NOTHING
    shown = first_rows(sends.txn, count, torn[:MOST_FINDINGS])
    return told(torn.size, (_finding(history, row, int(seen[txn]), int(sent[txn])) for txn, row in shown.items()))


def _finding(history: History, row: int, seen: int, sent: int) -> Finding:
    return findings.torn_transaction(witness(history, history.sends, row), seen, sent)
