"""One number per row that sorts as (group, op, ix) do: sorting numbers is many times faster than sorting rows."""

import numpy as np

from chaos.evidence.columns import Column, Ints
from chaos.evidence.values import ValueColumns

Part = tuple[Ints, Ints, Ints]  # group, op, ix


def order_keys(parts: list[Part]) -> list[Ints]:
    """Keys for several lots of rows, comparable with each other."""
    return _packed(parts) or _packed(_closer(parts)) or _ranks(parts)


def _packed(parts: list[Part]) -> list[Ints]:
    """Nothing if the numbers lie too far apart for 64 bits."""
    lows, spans = zip(*(_span([part[place] for part in parts]) for place in range(3)), strict=True)
    return [_pack(part, lows, spans) for part in parts] if spans[0] * spans[1] * spans[2] < 1 << 63 else []


def _closer(parts: list[Part]) -> list[Part]:
    """Ops brought closer together, their order kept: some writers put what they cannot place behind a large number."""
    columns, pages = [Column() for _ in parts], ValueColumns()
    for column, (_, op, _) in zip(columns, parts, strict=True):
        column.add(op)
        pages.add(op)
    dense = pages.finish(*columns)
    return [(group, dense.code(op), ix) for group, op, ix in parts]


def _span(columns: list[Ints]) -> tuple[int, int]:
    filled = [column for column in columns if column.size]
    if not filled:
        return 0, 1
    low = min(int(column.min()) for column in filled)
    return low, max(int(column.max()) for column in filled) - low + 1


def _pack(part: Part, lows: tuple[int, ...], spans: tuple[int, ...]) -> Ints:
    key = part[0].astype(np.int64)
    key -= lows[0]
    for column, low, span in zip(part[1:], lows[1:], spans[1:], strict=True):
        key *= span
        key += column
        key -= low
    return key


def _ranks(parts: list[Part]) -> list[Ints]:
    """Numbers too far apart to be packed into 64 bits are ranked instead: slower, and right for any."""
    group, op, ix = (np.concatenate([part[place] for part in parts]) for place in range(3))
    order = np.lexsort((ix, op, group))
    fresh = np.zeros(order.size, dtype=np.int64)
    for column in (group, op, ix):
        sorted_column = column[order]
        fresh[1:] |= sorted_column[1:] != sorted_column[:-1]
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = np.cumsum(fresh)
    ends = np.cumsum([part[0].size for part in parts])
    return np.split(ranks, ends[:-1])
