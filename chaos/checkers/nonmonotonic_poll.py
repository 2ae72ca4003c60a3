"""Did a reader go back inside one assignment? Without a seek, a position only rises."""

from chaos.checkers.facts import Facts
from chaos.checkers.found import Found, told, witness
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding


def nonmonotonic_poll(history: History, facts: Facts) -> Found:
    places = facts.readers.steps_back()
    return told(places.size, (_finding(history, facts, place) for place in places[:MOST_FINDINGS].tolist()))


def _finding(history: History, facts: Facts, place: int) -> Finding:
    row = witness(history, history.reads, facts.readers.order.row_at(place))
    return findings.nonmonotonic_poll(row, int(facts.readers.offset[place - 1]))
