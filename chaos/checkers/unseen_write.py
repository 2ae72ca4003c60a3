"""Does an acknowledged record lie beyond the end of the log? The log was cut below what a producer was promised."""

from chaos.checkers.facts import Facts
from chaos.checkers.found import Found, in_log_order, told, witness
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import Finding


def unseen_write(history: History, facts: Facts) -> Found:
    rows = facts.missing.unseen
    return told(rows.size, (_finding(history, facts, row) for row in in_log_order(history, history.sends, rows).tolist()))


def _finding(history: History, facts: Facts, row: int) -> Finding:
    sends = history.sends
    return findings.unseen_write(witness(history, sends, row), int(facts.drained_end[sends.partition[row]]))
