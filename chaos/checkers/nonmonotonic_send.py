"""Are an ordered producer's records out of order in a partition? Idempotence, or one request in flight, forbids it."""

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told, witness
from chaos.checkers.in_order import group_of, in_order
from chaos.evidence.columns import Bools, rows_where
from chaos.evidence.history import OK, History
from chaos.evidence.keys import joint_keys
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding


def nonmonotonic_send(history: History, facts: Facts) -> Found:
    sends = history.sends
    if not facts.ordered.any():
        return NOTHING

    def judged(block: slice) -> Bools:
        known: Bools = (sends.offset[block] >= 0) & (sends.partition[block] >= 0)
        known &= (sends.outcome[block] == OK) & facts.ordered[sends.client[block]]
        return known

    rows = rows_where(len(sends), judged)
    chosen = rows if rows.size < len(sends) else slice(None)  # a slice costs nothing
    group = group_of(history, sends.client[chosen], sends.partition[chosen])
    order = in_order(group, joint_keys([(group, sends.op[chosen], sends.ix[chosen])]))
    offset = order.column(sends.offset[chosen])
    back = order.neighbours_where(lambda before, here: here < before, offset)
    pairs = np.stack([rows[order.row(back - 1)], rows[order.row(back)]], axis=1)[:MOST_FINDINGS].tolist()
    return told(back.size, (_finding(history, before, row) for before, row in pairs))


def _finding(history: History, before: int, row: int) -> Finding:
    sends = history.sends
    return findings.nonmonotonic_send(witness(history, sends, row), witness(history, sends, before))
