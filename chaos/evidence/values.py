"""Values as small numbers, so that a table can be asked about a value by its place and nothing has to be hashed.

Producers mostly count: from zero, or each from a base of its own. Such values lie in a few stretches without large
holes; put one behind the other, the position in them is the number. Values drawn at random lie in no stretches; then
the number is the rank among all values, which costs a search each. Either way numbers rise as values do.
"""

from dataclasses import dataclass

import numpy as np

from chaos.evidence.columns import Column, Ints, distinct

PAGE = 12  # bits: holes shorter than this are left open
WASTE = 4  # at most so many numbers per value, so that a table over all of them stays in proportion to the ledger
SLACK = 1 << 20


@dataclass(frozen=True, slots=True)
class Values:
    size: int
    starts: Ints  # first value of each stretch, or every value (`ranked`); sorted
    codes: Ints  # its number
    ranked: bool = False

    def code(self, values: Ints) -> Ints:
        if self.ranked:
            return self._rank(values)
        shift: Ints = self.starts - self.codes
        if shift.size > 1:
            shift = shift[np.searchsorted(self.starts, values, side="right") - 1]
        return np.subtract(values, shift, dtype=np.int64)

    def _rank(self, values: Ints) -> Ints:
        """Searched for in order, so that one search finds in the cache what the last one left there."""
        order = np.argsort(values)
        ranks = np.empty(values.size, dtype=np.int64)
        ranks[order] = np.searchsorted(self.starts, values[order])
        return ranks

    def value(self, code: int) -> int:
        stretch = int(np.searchsorted(self.codes, code, side="right")) - 1
        return int(self.starts[stretch]) + code - int(self.codes[stretch])


class ValueColumns:
    """Gathers which pages are used while the columns of values still grow."""

    def __init__(self) -> None:
        self._pages: list[Ints] = []

    def add(self, chunk: Ints) -> None:
        if not chunk.size:
            return
        first, last = int(chunk.min()) >> PAGE, int(chunk.max()) >> PAGE
        if (last - first + 1) << PAGE <= WASTE * chunk.size + (1 << PAGE):
            self._pages.append(np.arange(first, last + 1))  # dense enough to take all between
        else:
            self._pages.append(distinct(chunk.astype(np.int64, copy=False) >> PAGE))

    def finish(self, *columns: Column) -> Values:
        pages = distinct(np.concatenate(self._pages)) if self._pages else np.empty(0, dtype=np.int64)
        count = sum(chunk.size for column in columns for chunk in column.chunks)
        if pages.size << PAGE <= WASTE * count + SLACK:
            first = np.flatnonzero(np.append(True, pages[1:] != pages[:-1] + 1)[: pages.size])
            return Values(int(pages.size) << PAGE, pages[first] << PAGE, first << PAGE)
        each = [distinct(chunk.astype(np.int64)) for column in columns for chunk in column.chunks]
        every = distinct(np.concatenate(each))
        return Values(int(every.size), every, np.arange(every.size), ranked=True)
