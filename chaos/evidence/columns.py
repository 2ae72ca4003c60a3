"""Columns of integers that grow chunk by chunk and end in the narrowest type that holds them; names told as numbers.

A ledger has a hundred million rows on a bad day. What it weighs in memory is decided here.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

BLOCK = 1 << 18  # rows; what is computed of a block stays in the processor's cache
WIDTHS = (np.int8, np.int16, np.int32, np.int64)


def narrowest(low: int, high: int) -> np.dtype[Any]:
    return next(np.dtype(width) for width in WIDTHS if np.iinfo(width).min <= low and high <= np.iinfo(width).max)


def blocks(count: int) -> Iterator[slice]:
    """Long arrays a block at a time, so that what is computed in between stays small."""
    for start in range(0, count, BLOCK):
        yield slice(start, min(start + BLOCK, count))


def rows_where(count: int, test: Callable[[slice], Bools]) -> Ints:
    """The rows for which the test holds, in order."""
    found = [np.flatnonzero(test(block)) + block.start for block in blocks(count)]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def distinct(numbers: Ints) -> Ints:
    """In order. NumPy's own `unique` hashes, which takes twenty times as long on numbers that are all different."""
    ordered = np.sort(numbers)
    first = np.ones(ordered.size, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


class Column:
    def __init__(self) -> None:
        self.chunks: list[Ints] = []
        self._low = self._high = 0

    def add(self, chunk: Ints) -> None:
        if chunk.size:
            low, high = int(chunk.min()), int(chunk.max())
            self._low, self._high = min(self._low, low), max(self._high, high)
            self.chunks.append(chunk.astype(narrowest(low, high)))

    def finish(self) -> Ints:
        """The whole column. Each chunk goes as soon as it is copied, so that there is never much more than one copy."""
        return self.translate(lambda chunk: chunk, narrowest(self._low, self._high))

    def translate(self, code: Callable[[Ints], Ints], width: np.dtype[Any]) -> Ints:
        whole = np.empty(sum(chunk.size for chunk in self.chunks), dtype=width)
        filled = 0
        self.chunks.reverse()
        while self.chunks:
            chunk = code(self.chunks.pop())
            whole[filled : filled + chunk.size] = chunk
            filled += chunk.size
        return whole


class Names:
    """Each name that comes by gets the next number."""

    def __init__(self) -> None:
        self._codes: dict[Any, int] = {}

    def codes(self, names: list[Any]) -> Ints:
        codes = self._codes
        return np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int32)

    def all(self) -> list[Any]:
        return list(self._codes)
