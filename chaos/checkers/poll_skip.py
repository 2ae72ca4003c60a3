"""Did a reader pass over a record inside one assignment? Gaps are fine where only aborted records and markers lie."""

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told, witness
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding


def poll_skip(history: History, facts: Facts) -> Found:
    leaps = facts.readers.leaps()
    if not leaps.size:
        return NOTHING
    reads, order = history.reads, facts.readers.order
    before, here = order.row(leaps - 1), order.row(leaps)
    seats = [facts.places.seat(reads.partition[rows], reads.offset[rows]) for rows in (before, here)]
    passed = facts.certain_between(*seats)
    skips, counts = leaps[passed > 0], passed[passed > 0]
    shown = zip(skips[:MOST_FINDINGS].tolist(), counts.tolist(), strict=False)
    return told(skips.size, (_finding(history, facts, place, count) for place, count in shown))


def _finding(history: History, facts: Facts, place: int, passed: int) -> Finding:
    row = witness(history, history.reads, facts.readers.order.row_at(place))
    return findings.poll_skip(row, int(facts.readers.offset[place - 1]), passed)
