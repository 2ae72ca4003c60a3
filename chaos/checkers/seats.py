"""Who sits where: places that hold two values, values that sit in two places, and places whose record is certain."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from chaos.checkers.places import Places, seat_rows
from chaos.evidence.columns import Bools, Ints, distinct
from chaos.evidence.history import History, Rows


@dataclass(frozen=True, slots=True)
class Seat:
    rows: Rows
    row: int
    place: int
    value: int


@dataclass(frozen=True, slots=True)
class Clashes:
    places: Ints  # that hold two or more values
    values: Ints  # that are in two or more places


def clashes(history: History, places: Places) -> Clashes:
    """The last seat seen is remembered for each place and value; whoever finds another there than itself is a clash."""
    value_at = np.empty(places.size, dtype=_width(history.values.size))
    place_of = np.empty(history.values.size, dtype=_width(places.size))
    for rows, block in seat_rows(history):
        place, value = places.seat(rows.partition[block], rows.offset[block]), rows.value[block]
        value_at[place] = value
        place_of[value] = place
    crowded, scattered = [], []
    for rows, block in seat_rows(history):
        place, value = places.seat(rows.partition[block], rows.offset[block]), rows.value[block]
        crowded.append(place[value_at[place] != value])
        scattered.append(value[place_of[value] != place])
    return Clashes(_distinct(crowded), _distinct(scattered))


def certain_before(history: History, places: Places, certain: Bools) -> Ints:
    """For each place, how many below it hold a record that must be there: of fate ok, or seen by a committed reader."""
    table = np.zeros(places.size, dtype=bool)
    for rows, block in seat_rows(history):
        place = places.seat(rows.partition[block], rows.offset[block])
        table[place[certain[rows.value[block]]]] = True
    before = np.zeros(places.size + 1, dtype=_width(places.size))
    np.cumsum(table, out=before[1:])
    return before


def _width(size: int) -> type[np.int32 | np.int64]:
    return np.int32 if size < 1 << 31 else np.int64


def _distinct(found: list[Ints]) -> Ints:
    return distinct(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)


def seats_of(history: History, chosen: Callable[[Ints, Ints], Bools], places: Places) -> list[Seat]:
    """The seats that are chosen by place and value: a second look, for those few that a finding names."""
    found = []
    for rows, block in seat_rows(history):
        place, value = places.seat(rows.partition[block], rows.offset[block]), rows.value[block]
        for hit in np.flatnonzero(chosen(place, value)).tolist():
            row = block.start + hit if isinstance(block, slice) else int(block[hit])
            found.append(Seat(rows, row, int(place[hit]), int(value[hit])))
    return found
