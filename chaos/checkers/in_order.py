"""Rows of each client and partition in the order in which they happened, by (op, ix)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from chaos.evidence.columns import Bools, Ints, blocks, rows_where
from chaos.evidence.history import History


@dataclass(frozen=True, slots=True)
class Order:
    """`rows` in order; None: they already lie so. `fresh` where a row is the first of its client and partition."""

    rows: Ints | None
    fresh: Bools

    def row(self, places: Ints) -> Ints:
        return places if self.rows is None else self.rows[places]

    def row_at(self, place: int) -> int:
        return place if self.rows is None else int(self.rows[place])

    def column(self, column: Ints) -> Ints:
        return column if self.rows is None else column[self.rows]

    def neighbours_where(self, test: Callable[[Ints, Ints], Bools], column: Ints) -> Ints:
        """Places whose row and the one before it, of the same stretch, pass the test; the column is in order."""

        def holds(block: slice) -> Bools:
            here = slice(block.start + 1, block.stop + 1)
            return ~self.fresh[here] & test(column[block], column[here])

        return rows_where(max(column.size - 1, 0), holds) + 1


def group_of(history: History, client: Ints, partition: Ints) -> Ints:
    """Client and partition as one number."""
    width = max(len(history.partitions), 1)
    group: Ints = client.astype(np.int32 if len(history.clients) * width < 1 << 31 else np.int64)
    group *= width
    group += partition
    return group


def in_order(group: Ints, keys: Ints) -> Order:
    """Mostly each client's rows lie in order already, and gathering the groups is all there is to do."""
    if _rising(lambda block: keys[block], keys.size):
        return Order(None, _first_of_each(group))
    gathered = _gathered(group)
    if not _rising(lambda block: keys[gathered[block]], keys.size):
        gathered = _sorted(keys)
    narrow = gathered.astype(np.int32) if gathered.size < 1 << 31 else gathered
    return Order(narrow, _first_of_each(group))


def _rising(keys: Callable[[slice], Ints], count: int) -> bool:
    """Block by block, and no further than the first that does not."""
    for block in blocks(count):
        here = keys(slice(block.start, block.stop + 1))
        if not (here[1:] > here[:-1]).all():
            return False
    return True


def _gathered(group: Ints) -> Ints:
    """Groups together, each in its order of arrival. Sixteen bits are sorted by counting, not by comparing."""
    low, high = int(group.min()), int(group.max())
    return np.argsort((group - low).astype(np.uint16) if high - low < 1 << 16 else group, kind="stable")


def _sorted(keys: Ints) -> Ints:
    """Numbers are sorted four times faster than their places are, so the place travels in the lower bits if it fits."""
    bits = keys.size.bit_length()
    if int(keys.max()) >= 1 << (63 - bits):
        return np.argsort(keys, kind="stable")
    packed = keys << bits
    packed |= np.arange(keys.size)
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def _first_of_each(group: Ints) -> Bools:
    """Once groups lie together: where each begins."""
    together = np.sort(group)
    first = np.ones(group.size, dtype=bool)
    np.not_equal(together[1:], together[:-1], out=first[1:])
    return first
