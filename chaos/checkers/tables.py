"""Tables over all values, places or transactions, filled a block of rows at a time."""

from collections.abc import Callable

import numpy as np

from chaos.evidence.columns import BLOCK, Bools, Ints, blocks, rows_where

NEAR = 4 * BLOCK  # a count over so many neighbours is cheaper than one by one


def table_of(size: int, count: int, codes: Callable[[slice], Ints]) -> Bools:
    """True at every code that comes by."""
    table = np.zeros(size, dtype=bool)
    for block in blocks(count):
        table[codes(block)] = True
    return table


def count_into(table: Ints, codes: Ints) -> None:
    """One more for every code. Codes of one block mostly lie close together."""
    if not codes.size:
        return
    low, high = int(codes.min()), int(codes.max())
    if high - low < NEAR:
        table[low : high + 1] += np.bincount(codes - low)
    else:
        np.add.at(table, codes, 1)


def first_rows(column: Ints, size: int, wanted: Ints, also: Callable[[slice], Bools] | None = None) -> dict[int, int]:
    """For each of a few codes the first row that carries it (and passes `also`)."""
    among = np.zeros(size, dtype=bool)
    among[wanted] = True
    told = also or (lambda block: among[column[block]])
    rows = rows_where(column.size, lambda block: (column[block] >= 0) & among[column[block]] & told(block))
    distinct, first = np.unique(column[rows], return_index=True)
    return dict(zip(distinct.tolist(), rows[first].tolist(), strict=True))
