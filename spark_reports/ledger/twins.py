"""Client, op and ix name one row. Two under one name, and no order of theirs would mean anything.

Ops count up, so 64 neighbours with the same ix share one group: a bit for each, and fewer bits than rows tell of twins.
That leaves a 64th of the rows to be shuffled, and is right for any op and ix, negative ones too.
"""

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kernel.errors import UsageError

BITS = 6


def refuse_twins(rows: DataFrame, ledger: Path) -> None:
    """Of several such names, the least is told."""
    page, bit = F.shiftright("op", BITS).alias("page"), F.expr(f"shiftleft(1L, int(op & {(1 << BITS) - 1}))")
    pages = rows.groupBy("client", "ix", page).agg(F.count("*").alias("rows"), F.bit_or(bit).alias("bits"))
    crowded = pages.where(F.col("rows") != F.bit_count("bits")).select(F.min(F.struct("client", "page", "ix"))).first()
    if crowded is None or crowded[0] is None:
        return
    client, page_number, ix = crowded[0]
    here = (F.col("client") == client) & (F.col("ix") == ix) & (F.shiftright("op", BITS) == page_number)
    twice = rows.where(here).groupBy("op").count().where("count > 1").agg(F.min("op")).collect()
    raise UsageError(
        f"{ledger}: client {client!r}, op {twice[0][0]}, ix {ix} names more than one "
        "row, and a row's client, op and ix are its name: is a file there twice?"
    )
