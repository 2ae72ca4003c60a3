"""Does an acknowledged record lie beyond the end of the log? The log was cut below what a producer was promised."""

from chaos.checkers.facts import Facts
from chaos.checkers.found import Found, at_row, in_log_order, told, where, who
from chaos.evidence.history import History
from kernel.verdict import Finding


def unseen_write(history: History, facts: Facts) -> Found:
    rows = facts.missing.unseen
    return told(rows.size, (_finding(history, facts, row) for row in in_log_order(history, history.sends, rows).tolist()))


def _finding(history: History, facts: Facts, row: int) -> Finding:
    sends = history.sends
    partition, offset = int(sends.partition[row]), int(sends.offset[row])
    place = where(history, partition, offset) if offset >= 0 else f"an unknown offset of {where(history, partition)}"
    sentence = (
        f"Value {history.values.value(int(sends.value[row]))}, acknowledged to {who(history, sends, row)} at {place}, "
        f"was never read; the log ends at {facts.drained_end[partition]}."
    )
    return at_row("unseen-write", history, sends, row, sentence)
