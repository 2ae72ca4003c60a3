"""Did a group commit past a record it had not read? After a restart nobody would read it any more."""

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told, witness
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding


def commit_ahead(history: History, facts: Facts) -> Found:
    """Judged against the client's last read of the partition in its assignment; without one it cannot be said."""
    readers, turns = facts.readers, history.turns
    based = readers.rests_on >= 0
    commits, last = readers.commits[based], readers.order.row(readers.rests_on[based])
    if not commits.size:
        return NOTHING
    read_up_to = facts.places.seat(history.reads.partition[last], history.reads.offset[last])
    committed = facts.places.code(turns.partition[commits], turns.offset[commits])
    passed = facts.certain_between(read_up_to, committed)
    ahead = passed > 0
    shown = zip(commits[ahead].tolist(), last[ahead].tolist(), passed[ahead].tolist(), strict=True)
    return told(ahead.sum(), [_finding(history, *facts_of_one) for facts_of_one in list(shown)[:MOST_FINDINGS]])


def _finding(history: History, commit: int, last: int, passed: int) -> Finding:
    return findings.commit_ahead(witness(history, history.turns, commit), int(history.reads.offset[last]), passed)
