"""What became of a send: its own outcome, or that of the transaction it was in."""

import numpy as np

from chaos.evidence.columns import Bools, Ints, blocks
from chaos.evidence.history import ABORT, COMMIT, FAIL, INFO, OK, History


def transaction_fates(history: History) -> Ints:
    """An acknowledged commit decides; one that may have happened leaves it open; else an abort, or a commit that failed."""
    commit = {outcome: _ended(history, COMMIT, outcome) for outcome in (OK, FAIL, INFO)}
    undone = (_ended(history, ABORT, OK) | commit[FAIL]) & ~commit[INFO]
    return np.select([commit[OK], undone], [OK, FAIL], INFO).astype(np.int8)


def _ended(history: History, kind: int, outcome: int) -> Bools:
    ends, table = history.ends, np.zeros(len(history.txns), dtype=bool)
    table[ends.txn[(ends.kind == kind) & (ends.outcome == outcome)]] = True
    return table


def send_fates(history: History, transactions: Ints) -> Ints:
    sends = history.sends
    fates = sends.outcome.astype(np.int8)
    for block in blocks(len(sends)):
        inside = np.flatnonzero((sends.txn[block] >= 0) & (sends.outcome[block] != FAIL))
        fates[block][inside] = transactions[sends.txn[block][inside]]
    return fates
