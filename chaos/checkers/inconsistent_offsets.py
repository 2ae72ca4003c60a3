"""Does one offset hold two records? Two leaders wrote there, and somebody was told something that is no longer true."""

from collections.abc import Iterator

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told, witness
from chaos.checkers.seats import Seat, seats_of
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding


def inconsistent_offsets(history: History, facts: Facts) -> Found:
    crowded = facts.clashes.places
    if not crowded.size:
        return NOTHING
    return told(crowded.size, _findings(history, facts))


def _findings(history: History, facts: Facts) -> Iterator[Finding]:
    shown = facts.clashes.places[:MOST_FINDINGS]
    seats = seats_of(history, lambda place, value: np.isin(place, shown), facts.places)
    for place in shown.tolist():
        one_each: dict[int, Seat] = {}
        for seat in seats:
            if seat.place == place:
                one_each.setdefault(seat.value, seat)
        yield findings.inconsistent_offsets(
            [(witness(history, seat.rows, seat.row), seat.rows is history.sends) for seat in one_each.values()]
        )
