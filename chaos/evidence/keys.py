"""One number per row that sorts as (group, op, ix) do: sorting numbers is many times faster than sorting rows."""

import numpy as np

from chaos.evidence.columns import Column, Ints, blocks
from chaos.evidence.values import ValueColumns

Part = tuple[Ints, Ints, Ints]  # group, op, ix


def order_keys(parts: list[Part]) -> list[Ints]:
    """Keys for several lots of rows, comparable with each other."""
    return np.split(joint_keys(parts), np.cumsum([part[0].size for part in parts])[:-1])


def joint_keys(parts: list[Part]) -> Ints:
    """The same, one lot behind the other."""
    keys = _packed(parts)
    if keys is None:
        keys = _packed(_closer(parts))
    return _ranks(parts) if keys is None else keys


def _packed(parts: list[Part]) -> Ints | None:
    """None if the numbers lie too far apart for 64 bits."""
    lows, spans = zip(*(_span([part[place] for part in parts]) for place in range(3)), strict=True)
    if spans[0] * spans[1] * spans[2] >= 1 << 63:
        return None
    keys = np.empty(sum(part[0].size for part in parts), dtype=np.int64)
    start = 0
    for part in parts:
        for block in blocks(part[0].size):
            _pack(keys[start + block.start : start + block.stop], [column[block] for column in part], lows, spans)
        start += part[0].size
    return keys


def _pack(keys: Ints, columns: list[Ints], lows: tuple[int, ...], spans: tuple[int, ...]) -> None:
    np.subtract(columns[0], lows[0], out=keys, dtype=np.int64)
    for column, low, span in zip(columns[1:], lows[1:], spans[1:], strict=True):
        keys *= span
        keys += column
        keys -= low


def _span(columns: list[Ints]) -> tuple[int, int]:
    filled = [column for column in columns if column.size]
    if not filled:
        return 0, 1
    low = min(int(column.min()) for column in filled)
    return low, max(int(column.max()) for column in filled) - low + 1


def _closer(parts: list[Part]) -> list[Part]:
    """Ops brought closer together, their order kept: some writers put what they cannot place behind a large number."""
    columns, pages = [Column() for _ in parts], ValueColumns()
    for column, (_, op, _) in zip(columns, parts, strict=True):
        column.add(op)
        pages.add(op)
    dense = pages.finish(*columns)
    return [(group, dense.code(op), ix) for group, op, ix in parts]


def _ranks(parts: list[Part]) -> Ints:
    """Numbers too far apart to be packed into 64 bits are ranked instead: slower, and right for any."""
    group, op, ix = (np.concatenate([part[place] for part in parts]) for place in range(3))
    order = np.lexsort((ix, op, group))
    fresh = np.zeros(order.size, dtype=np.int64)
    for column in (group, op, ix):
        in_order = column[order]
        fresh[1:] |= in_order[1:] != in_order[:-1]
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = np.cumsum(fresh)
    return ranks
