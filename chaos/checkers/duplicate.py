"""Is one record in the log twice? A retry that both times arrived."""

from collections.abc import Iterator

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, at_row, told, where
from chaos.checkers.seats import Seat, seats_of
from chaos.evidence.history import History
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
        witness = spots[min(spots)]
        words = " and at ".join(_spot(history, spots[place]) for place in sorted(spots))
        sentence = f"Value {history.values.value(value)} is in the log {len(spots)} times: at {words}."
        yield at_row("duplicate", history, witness.rows, witness.row, sentence)


def _spot(history: History, seat: Seat) -> str:
    return where(history, int(seat.rows.partition[seat.row]), int(seat.rows.offset[seat.row]))
