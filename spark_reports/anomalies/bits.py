"""Sixty-four neighbouring numbers as the bits of one: sets of values and of offsets that are small enough to be shuffled.

Producers count and logs have few holes, so a page of 64 numbers is mostly full. Where numbers lie far apart a page holds
one of them: that costs as much as a row each, and is as right.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

BITS = 6
SIZE = 1 << BITS


def page(column: str) -> Column:
    """Which page a number is on; below zero too."""
    return F.shiftright(f"`{column}`", BITS)


def bit(column: str) -> Column:
    """Its bit in the page."""
    return F.expr(f"shiftleft(1L, int(`{column}` & {SIZE - 1}))")


def below(column: str) -> Column:
    """Every bit of the page that is below that of the number."""
    return F.expr(f"~shiftleft(-1L, int(`{column}` & {SIZE - 1}))")


def up_to(column: str) -> Column:
    """Every bit of the page up to that of the number, and with it."""
    return F.expr(f"~shiftleft(-2L, int(`{column}` & {SIZE - 1}))")


def nothing() -> Column:
    return F.lit(0).cast("bigint")


def where(condition: Column, number: Column) -> Column:
    """The bits of all rows of a group that pass the condition."""
    return F.bit_or(F.when(condition, number).otherwise(nothing()))


def both(*pages: Column) -> Column:
    first, *others = pages
    for other in others:
        first = first.bitwiseAND(other)
    return first


def either(*pages: Column) -> Column:
    first, *others = pages
    for other in others:
        first = first.bitwiseOR(other)
    return first


def without(page: Column, other: Column) -> Column:
    return page.bitwiseAND(F.bitwise_not(other))
