"""What a tier has seen of one partition in one bucket of time, in a kilobyte: order-free, mergeable, subtractable.

A count alone cannot tell one loss and one duplicate from nothing; the sum and the xor of identities can, and the cells name
the offsets, if there are not too many. Pure; no clock, no numpy.
"""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interceptors.audit import cells as table
from interceptors.audit.cells import MASK, Cells, Item

NO_OFFSET = -1


@dataclass(frozen=True, slots=True)
class Sketch:
    count: int = 0
    sum: int = 0  # of identities, modulo 2^64
    xor: int = 0
    first: int = NO_OFFSET  # offsets, both included
    last: int = NO_OFFSET
    cells: Cells | None = None  # None: there are none, or they do not fit together
    latencies: Mapping[int, int] = field(default_factory=dict)  # by `latency.py`'s bins

    def __bool__(self) -> bool:
        return self.count > 0

    def __add__(self, other: "Sketch") -> "Sketch":
        if not self:
            return other
        if not other:
            return self
        return Sketch(
            self.count + other.count,
            (self.sum + other.sum) & MASK,
            self.xor ^ other.xor,
            min(self.first, other.first),
            max(self.last, other.last),
            _together(self.cells, other.cells, 1),
            added(self.latencies, other.latencies),
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """What one tier has and another has not. `more` and `less` are exact if the cells could be read backwards."""

    count: int
    same: bool
    items: Mapping[Item, int] | None  # offset and identity → how many more the first tier has

    @property
    def missing(self) -> int:
        """At least so many records, or exactly so many if `items` are known."""
        return sum(n for n in self.items.values() if n > 0) if self.items is not None else max(self.count, 0)

    @property
    def extra(self) -> int:
        return -sum(n for n in self.items.values() if n < 0) if self.items is not None else max(-self.count, 0)


def difference(one: Sketch, other: Sketch) -> Difference:
    count, total, xor = one.count - other.count, (one.sum - other.sum) & MASK, one.xor ^ other.xor
    if count == total == xor == 0:
        return Difference(0, True, {})
    size = next((len(sketch.cells) for sketch in (one, other) if sketch and sketch.cells), 0)
    none = table.no_cells(size // table.FIELDS)
    left = _together(one.cells if one else none, other.cells if other else none, -1)
    items = table.peel(left) if left else None
    if items is not None and not _explain(items, count, total, xor):
        items = None
    return Difference(count, False, items)


def _explain(items: Mapping[Item, int], count: int, total: int, xor: int) -> bool:
    """Whether this is the whole difference: cells that were read wrongly would hardly agree with all three."""
    odd = 0
    for (_, identity), times in items.items():
        odd ^= identity if times % 2 else 0
    return (
        sum(items.values()) == count
        and sum(identity * n for (_, identity), n in items.items()) & MASK == total
        and odd == xor
    )


def _together(one: Cells | None, other: Cells | None, sign: int) -> Cells | None:
    if not one or not other or len(one) != len(other):
        return None
    return array("Q", [(a + sign * b) & MASK for a, b in zip(one, other, strict=True)])


def added(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in sorted({*one, *other})}


# ---- as JSON ------------------------------------------------------------------------------------------------------------


def as_row(sketch: Sketch) -> dict[str, Any]:
    row: dict[str, Any] = {
        "count": sketch.count,
        "sum": f"{sketch.sum:016x}",
        "xor": f"{sketch.xor:016x}",
        "first": sketch.first,
        "last": sketch.last,
        "latencies": {str(place): count for place, count in sketch.latencies.items()},
    }
    if sketch.cells:
        row["cells"] = " ".join(f"{cell:x}" for cell in sketch.cells)
    return row


def from_row(row: Mapping[str, Any]) -> Sketch:
    """Raises ValueError, TypeError or KeyError if it is none."""
    cells = array("Q", [int(cell, 16) & MASK for cell in row["cells"].split()]) if row.get("cells") else None
    if cells is not None and len(cells) % (table.FIELDS * table.HASHES):
        raise ValueError("cells")
    latencies = {int(place): int(count) for place, count in row.get("latencies", {}).items()}
    hashes = int(row["sum"], 16) & MASK, int(row["xor"], 16) & MASK
    return Sketch(int(row["count"]), *hashes, int(row["first"]), int(row["last"]), cells, latencies)
