"""Tables over all values or all places, filled a block of rows at a time."""

from collections.abc import Callable

import numpy as np

from chaos.evidence.columns import Bools, Ints, blocks


def table_of(size: int, count: int, codes: Callable[[slice], Ints]) -> Bools:
    """True at every code that comes by."""
    table = np.zeros(size, dtype=bool)
    for block in blocks(count):
        table[codes(block)] = True
    return table
