"""Did an acknowledged record vanish? The question every run exists to answer."""

from chaos.checkers.facts import Facts
from chaos.checkers.found import Found, at_row, in_log_order, told, where, who
from chaos.evidence.history import History
from kernel.verdict import Finding


def lost_write(history: History, facts: Facts) -> Found:
    """Acknowledged records that the closing reader went past unseen; those beyond its reach are `unseen_write`."""
    rows = facts.missing.lost
    return told(rows.size, (_finding(history, facts, row) for row in in_log_order(history, history.sends, rows).tolist()))


def _finding(history: History, facts: Facts, row: int) -> Finding:
    sends = history.sends
    partition, offset = int(sends.partition[row]), int(sends.offset[row])
    sentence = (
        f"Value {history.values.value(int(sends.value[row]))}, acknowledged to {who(history, sends, row)} at "
        f"{where(history, partition, offset)}, was never read; the log goes on to {facts.drained_end[partition]}."
    )
    return at_row("lost-write", history, sends, row, sentence)
