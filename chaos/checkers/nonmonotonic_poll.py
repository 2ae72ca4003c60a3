"""Did a reader go back inside one assignment? Without a seek, a position only rises."""

from chaos.checkers.facts import Facts
from chaos.checkers.found import Found, at_row, told, where, who
from chaos.evidence.history import History
from kernel.verdict import MOST_FINDINGS, Finding


def nonmonotonic_poll(history: History, facts: Facts) -> Found:
    places = facts.readers.steps_back()
    return told(places.size, (_finding(history, facts, place) for place in places[:MOST_FINDINGS].tolist()))


def _finding(history: History, facts: Facts, place: int) -> Finding:
    reads, row = history.reads, facts.readers.order.row_at(place)
    sentence = (
        f"{who(history, reads, row)} read {where(history, int(reads.partition[row]), int(reads.offset[row]))} "
        f"after offset {facts.readers.offset[place - 1]} in one assignment."
    )
    return at_row("nonmonotonic-poll", history, reads, row, sentence)
