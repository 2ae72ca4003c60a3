"""Offsets that somebody accounts for, as few stretches: which are in, where the gaps are."""

from bisect import bisect_right
from collections.abc import Iterator

EVER = 1 << 62
Span = tuple[int, int]  # from, to before


class Spans:
    """Disjoint, in order; touching ones are one."""

    __slots__ = ("_begins", "_ends")

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._begins)

    def __iter__(self) -> Iterator[Span]:
        return zip(self._begins, self._ends, strict=True)

    def add(self, begin: int, end: int) -> None:
        if begin >= end:
            return
        at = bisect_right(self._begins, begin)
        if at and self._ends[at - 1] >= begin:
            at -= 1
        upto = at
        while upto < len(self._begins) and self._begins[upto] <= end:
            begin, end = min(begin, self._begins[upto]), max(end, self._ends[upto])
            upto += 1
        self._begins[at:upto], self._ends[at:upto] = [begin], [end]

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._begins, offset)
        return at > 0 and offset < self._ends[at - 1]

    def covers(self, begin: int, end: int) -> bool:
        """All of it; nothing is covered always."""
        at = bisect_right(self._begins, begin)
        return begin >= end or (at > 0 and end <= self._ends[at - 1])

    def gaps(self) -> list[Span]:
        """Between the first and the last."""
        return list(zip(self._ends, self._begins[1:], strict=False))

    @property
    def first(self) -> int:
        return self._begins[0] if self._begins else EVER

    @property
    def end(self) -> int:
        return self._ends[-1] if self._ends else 0
