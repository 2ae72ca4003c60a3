"""Values as small numbers, so that a table can be asked about a value by its place and nothing has to be hashed.

Producers mostly count: from zero, or each from a base of its own. Such values fill a few pages of 4096, and a page's
place times 4096 plus the position in it is a number without large holes. Values drawn at random do not; then the number
is the rank among all values, which costs a search each.
"""

from dataclasses import dataclass

import numpy as np

from chaos.evidence.columns import Column, Ints

PAGE = 12  # bits
WASTE = 4  # at most so many numbers per value; a table over all of them stays in proportion to the ledger
SLACK = 1 << 20
DIRECT = 1 << 22  # so many pages apart, a table finds a page at once


@dataclass(frozen=True, slots=True)
class Values:
    """Either `pages` (sorted) or `ranked` (every value, sorted) is what the numbers stand on."""

    pages: Ints
    ranked: Ints | None = None
    slots: Ints | None = None  # page − first page → its place among the pages

    @property
    def size(self) -> int:
        return int(self.pages.size << PAGE) if self.ranked is None else int(self.ranked.size)

    def code(self, values: Ints) -> Ints:
        if self.ranked is not None:
            return np.searchsorted(self.ranked, values)
        wide = values.astype(np.int64, copy=False)
        page, within = wide >> PAGE, wide & ((1 << PAGE) - 1)
        slot = np.searchsorted(self.pages, page) if self.slots is None else self.slots[page - self.pages[0]]
        return (slot << PAGE) | within

    def value(self, code: int) -> int:
        if self.ranked is not None:
            return int(self.ranked[code])
        return (int(self.pages[code >> PAGE]) << PAGE) | (code & ((1 << PAGE) - 1))


class ValueColumns:
    """Gathers which pages are used while the columns of values still grow."""

    def __init__(self) -> None:
        self._pages: list[Ints] = []

    def add(self, chunk: Ints) -> None:
        if chunk.size:
            self._pages.append(_pages(chunk.astype(np.int64, copy=False) >> PAGE))

    def finish(self, *columns: Column) -> Values:
        pages = np.unique(np.concatenate(self._pages)) if self._pages else np.empty(0, dtype=np.int64)
        count = sum(chunk.size for column in columns for chunk in column.chunks)
        if pages.size << PAGE > WASTE * count + SLACK:
            every = [np.unique(chunk.astype(np.int64)) for column in columns for chunk in column.chunks]
            return Values(pages, ranked=np.unique(np.concatenate(every)))
        if not pages.size or int(pages[-1]) - int(pages[0]) >= DIRECT:
            return Values(pages)
        slots = np.zeros(int(pages[-1] - pages[0]) + 1, dtype=np.int64)
        slots[pages - pages[0]] = np.arange(pages.size)
        return Values(pages, slots=slots)


def _pages(pages: Ints) -> Ints:
    """Distinct ones. Neighbouring rows mostly share a page, so a table beats a sort."""
    first, last = int(pages.min()), int(pages.max())
    if last - first >= DIRECT:
        return np.unique(pages)
    used = np.zeros(last - first + 1, dtype=bool)
    used[pages - first] = True
    return np.flatnonzero(used) + first
