"""Long arrays a block at a time, so that what is computed in between stays small and in the cache."""

from collections.abc import Callable, Iterator

import numpy as np

from chaos.evidence.columns import Bools, Ints

BLOCK = 1 << 19


def blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, BLOCK):
        yield slice(start, min(start + BLOCK, count))


def rows_where(count: int, test: Callable[[slice], Bools]) -> Ints:
    """The rows for which the test holds, in order."""
    found = [np.flatnonzero(test(block)) + block.start for block in blocks(count)]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def table_of(size: int, count: int, codes: Callable[[slice], Ints]) -> Bools:
    """True at every code that comes by."""
    table = np.zeros(size, dtype=bool)
    for block in blocks(count):
        table[codes(block)] = True
    return table
