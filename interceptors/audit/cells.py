"""Where a record goes in the small table that can be read backwards, and how such a table is read.

An invertible Bloom lookup table: every record is added to three cells, each of which holds a count and sums. Take the table
of one tier from that of another, and what both have is gone; a cell with one record left over names it, and taking it from
its other two cells uncovers the next. All arithmetic is modulo 2^64, here in whole numbers, in `table.py` in numpy.
"""

from array import array
from collections.abc import Iterator, MutableSequence

HASHES = 3
FIELDS = 4  # count, and the sums of offsets, of identities and of checks
MASK = (1 << 64) - 1
PLACE, CHECK = 0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F
MOST_HALVINGS = 6  # how often a count may be divided by two: each doubles the identities to try

Item = tuple[int, int]  # offset, identity
Cells = MutableSequence[int]  # an array of unsigned 64 bits: all counts, then all sums of offsets, of identities, of checks


def mix(x: int) -> int:
    """splitmix64, as `identity.mixed`."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def no_cells(size: int) -> Cells:
    return array("Q", bytes(8 * FIELDS * size))


def places(item: Item, size: int) -> tuple[int, ...]:
    """One in each third."""
    third, seed = size // HASHES, _seed(item)
    return tuple(third * n + ((seed >> (21 * n)) & 0x1FFFFF) % third for n in range(HASHES))


def check(item: Item) -> int:
    return mix(_seed(item) ^ CHECK)


def _seed(item: Item) -> int:
    return mix(item[1] ^ ((item[0] * PLACE) & MASK))


def add(cells: Cells, item: Item, times: int) -> None:
    size = len(cells) // FIELDS
    for place in places(item, size):
        for field, amount in enumerate((1, item[0], item[1], check(item))):
            at = field * size + place
            cells[at] = (cells[at] + times * amount) & MASK


def peel(cells: Cells) -> dict[Item, int] | None:
    """What is in it, and how often (less than 0: taken from it more often than added); None if it cannot be told."""
    cells, found = array("Q", cells), dict[Item, int]()
    for _ in range(len(cells)):
        alone = next(_alone(cells), None)
        if alone is None:
            break
        item, times = alone
        add(cells, item, -times)
        found[item] = found.get(item, 0) + times
    return {item: times for item, times in found.items() if times} if not any(cells) else None


def _alone(cells: Cells) -> Iterator[tuple[Item, int]]:
    size = len(cells) // FIELDS
    for at in range(size):
        count, offsets, identities, checks = cells[at::size]
        times = count - (1 << 64) if count >> 63 else count
        for item in _candidates(times, offsets, identities):
            if times * check(item) & MASK == checks and at in places(item, size):
                yield item, times


def _candidates(times: int, offsets: int, identities: int) -> Iterator[Item]:
    """What, taken so many times, has these sums. Dividing by an even number modulo 2^64 leaves a choice."""
    if times == 0:
        return
    halvings = (times & -times).bit_length() - 1
    if halvings > MOST_HALVINGS:
        return
    step, odd = 1 << (64 - halvings), pow(times >> halvings, -1, 1 << 64)
    if (offsets | identities) & ((1 << halvings) - 1):
        return
    offset = ((offsets >> halvings) * odd & MASK) % step  # offsets are far below 2^58
    base = ((identities >> halvings) * odd & MASK) % step
    for choice in range(1 << halvings):
        yield (offset, base + choice * step)
