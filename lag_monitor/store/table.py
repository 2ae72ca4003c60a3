"""Columns of numbers that grow together: a row for each thing, reused when the thing is gone."""

import mmap
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int8]
U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
I32 = npt.NDArray[np.int32]
U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LEAST = 64  # rows that there is room for at first; then twice as many each time

Column = tuple[Any, Any]  # dtype, what an empty place holds


class Table:
    """`PLAIN` columns have a number in each row, those `WIDE` as many as the windows have places, newest last, and those in
    `SAMPLED` a number of places of their own."""

    PLAIN: ClassVar[Mapping[str, Column]] = {}
    WIDE: ClassVar[Mapping[str, Column]] = {}
    SAMPLED: ClassVar[Mapping[str, Column]] = {}
    SAMPLES: ClassVar[int] = 0

    def __init__(self, width: int) -> None:
        self.width = width
        self.used = 0  # rows that were ever given out: those beyond are empty
        self._room = 0
        self._free: list[int] = []
        self._columns = {**self.PLAIN, **self.WIDE, **self.SAMPLED}
        for name, (dtype, _) in self._columns.items():
            shape = (0, width) if name in self.WIDE else (0, self.SAMPLES) if name in self.SAMPLED else (0,)
            setattr(self, name, np.empty(shape, dtype))

    def __len__(self) -> int:
        return self.used - len(self._free)

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns().values())

    def allocate(self, count: int) -> I32:
        """Rows that hold nothing yet."""
        reused = [self._free.pop() for _ in range(min(count, len(self._free)))]
        new = count - len(reused)
        if self.used + new > self._room:
            self._grow(self.used + new)
        for name, (_, empty) in self._columns.items():
            getattr(self, name)[self.used : self.used + new] = empty
        rows = np.array([*reused, *range(self.used, self.used + new)], np.int32)
        self.used += new
        return rows

    def free(self, rows: I32) -> None:
        for name, (_, empty) in self._columns.items():
            getattr(self, name)[rows] = empty
        self._free.extend(rows.tolist())

    def columns(self) -> dict[str, Any]:
        """Those of the rows that were given out; views, not copies."""
        return {name: getattr(self, name)[: self.used] for name in self._columns}

    def _grow(self, wanted: int) -> None:
        room = max(wanted, 2 * self._room, LEAST)
        for name in self._columns:
            old = getattr(self, name)
            grown = _memory((room, *old.shape[1:]), old.dtype)
            grown[: self.used] = old[: self.used]
            setattr(self, name, grown)
        self._room = room


def _memory(shape: tuple[int, ...], dtype: Any) -> Any:
    """A mapping of its own: what is not written yet takes no memory, and all of it goes back when it is outgrown. From the
    heap, columns that grow in turns leave holes behind, a tenth of the whole."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype).reshape(shape)
