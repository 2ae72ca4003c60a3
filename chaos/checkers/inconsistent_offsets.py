"""Does one offset hold two records? Two leaders wrote there, and somebody was told something that is no longer true."""

from collections.abc import Iterator

import numpy as np

from chaos.checkers.facts import Facts
from chaos.checkers.found import NOTHING, Found, at_row, told, where, who
from chaos.checkers.seats import Seat, seats_of
from chaos.evidence.history import History
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
        here = [seat for seat in seats if seat.place == place]
        witness = here[0]
        at = where(history, int(witness.rows.partition[witness.row]), int(witness.rows.offset[witness.row]))
        held = " and ".join(_one_each(history, here))
        yield at_row("inconsistent-offsets", history, witness.rows, witness.row, f"{at} holds {held}.")


def _one_each(history: History, seats: list[Seat]) -> list[str]:
    """One witness for each value."""
    words: dict[int, str] = {}
    for seat in seats:
        how = "acknowledged to" if seat.rows is history.sends else "read by"
        words.setdefault(seat.value, f"{history.values.value(seat.value)} ({how} {who(history, seat.rows, seat.row)})")
    return list(words.values())
