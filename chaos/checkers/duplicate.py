"""Is one record in the log twice? A retry that both times arrived."""

from collections.abc import Iterator

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, told, witness
from chaos.checkers.seats import seats_of
from chaos.evidence.history import History
from kernel import findings
from kernel.verdict import MOST_FINDINGS, Finding


def duplicate(history: History, facts: Facts) -> Found:
    scattered = facts.clashes.values
    if not scattered.size:
        return NOTHING
    return told(scattered.size, _findings(history, facts))


def _findings(history: History, facts: Facts) -> Iterator[Finding]:
    shown = facts.clashes.values[:MOST_FINDINGS]
    seats = seats_of(history, lambda place, value: np.isin(value, shown), facts.places)
    for value in shown.tolist():
        spots = {seat.place: seat for seat in seats if seat.value == value}
        yield findings.duplicate([witness(history, spots[place].rows, spots[place].row) for place in sorted(spots)])
