"""Did an acknowledged record vanish? The question every run exists to answer."""

from chaos.checkers.facts import Facts
from chaos.checkers.found import Found, in_log_order, told, witness
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import Finding


def lost_write(history: History, facts: Facts) -> Found:
    """Acknowledged records that the closing reader went past unseen; those beyond its reach are `unseen_write`."""
    rows = facts.missing.lost
    return told(rows.size, (_finding(history, facts, row) for row in in_log_order(history, history.sends, rows).tolist()))


def _finding(history: History, facts: Facts, row: int) -> Finding:
    sends = history.sends
    return findings.lost_write(witness(history, sends, row), int(facts.drained_end[sends.partition[row]]))
