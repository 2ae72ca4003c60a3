"""For every offset of every partition: who says what sits there? Sixty-four offsets in a row, a bit for each answer.

Whether all say the same is told by sums of hashes of (value, offset): on a page on which each acknowledged offset was
acknowledged once and read by as many readers as the others, the readers' sum is that many times the producers'. By
chance alone it is once in 2^48. A page of which this cannot be said is looked at again, row by row.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.anomalies import bits
from spark_reports.anomalies.fates import FAIL, OK
from spark_reports.anomalies.kept import kept
from spark_reports.anomalies.records import MANY_PAGES, Records, acknowledged, certain, holding, seated
from spark_reports.anomalies.stretches import hashed
from spark_reports.anomalies.values import Values, certain_values

BITS = ("kept", "undone", "read", "certain", "dim")
SUMS = ("kept_rows", "undone_rows", "read_rows")
HASHES = ("kept_hash", "read_hash")


@dataclass(frozen=True, slots=True)
class Places:
    """`pages`: tp, page and the columns above. `unclear` of them must be looked at row by row."""

    pages: DataFrame
    few: bool  # pages
    seats: int  # (value, place) on the pages that are clear
    unclear: int
    dim: int  # places that may be certain, if their value is


def places(sends: DataFrame, stretches: DataFrame) -> Places:
    told = _of_sends(sends).unionByName(_of_reads(stretches)).groupBy("tp", "page")
    pages = told.agg(
        *(F.bit_or(name).alias(name) for name in BITS),
        *(F.sum(name).alias(name) for name in SUMS),
        # A sum that overflowed is null, and so is a sum with it: the page is unclear.
        *(F.when(F.count_if(F.col(name).isNull()) == 0, F.try_sum(name)).alias(name) for name in HASHES),
    ).transform(kept)
    clear = F.coalesce(_clear(), F.lit(False))
    every = bits.either(*(F.col(name) for name in ("kept", "undone", "read")))
    found = pages.agg(
        F.count("*").alias("pages"),
        F.coalesce(F.sum(F.when(clear, F.bit_count(every))), F.lit(0)).alias("seats"),
        F.count_if(~clear).alias("unclear"),
        F.coalesce(F.sum(F.bit_count(bits.without(F.col("dim"), F.col("certain")))), F.lit(0)).alias("dim"),
    ).collect()[0]
    return Places(pages, found.pages <= MANY_PAGES, found.seats, found.unclear, found.dim)


def _of_sends(sends: DataFrame) -> DataFrame:
    """Aborted records apart: nobody reads them, and they must share no place with others."""
    undone, bit = F.col("fate") == FAIL, bits.bit("offset")
    rows = sends.where(acknowledged()).groupBy("tp", bits.page("offset").alias("page"))
    pages = rows.agg(
        bits.where(~undone, bit).alias("kept"),
        bits.where(undone, bit).alias("undone"),
        bits.where(F.col("fate") == OK, bit).alias("certain"),
        bits.where(F.col("fate") != OK, bit).alias("dim"),
        F.count_if(~undone).alias("kept_rows"),
        F.count_if(undone).alias("undone_rows"),
        F.try_sum(F.when(~undone, hashed()).otherwise(bits.nothing())).alias("kept_hash"),
    )
    return pages.select("tp", "page", *_filled(pages))


def _of_reads(stretches: DataFrame) -> DataFrame:
    committed = F.col("committed")
    pages = stretches.select(
        *("tp", "page", F.col("mask").alias("read")),
        F.when(committed, F.col("mask")).otherwise(bits.nothing()).alias("certain"),
        F.when(committed, bits.nothing()).otherwise(F.col("mask")).alias("dim"),
        F.col("records").alias("read_rows"),
        F.col("hashed").alias("read_hash"),
    )
    return pages.select("tp", "page", *_filled(pages))


def _filled(pages: DataFrame) -> list[Column]:
    return [F.col(n) if n in pages.columns else bits.nothing().alias(n) for n in (*BITS, *SUMS, *HASHES)]


def _clear() -> Column:
    """Every place of the page has one value, and the page as many seats as places."""
    kept, undone, read = (F.col(name) for name in ("kept", "undone", "read"))
    kept_count = F.bit_count(kept).cast("bigint")
    once = (F.col("kept_rows") == kept_count) & (F.col("undone_rows") == F.bit_count(undone))
    apart = bits.both(undone, bits.either(kept, read)) == 0
    readers = F.expr("read_rows div greatest(bit_count(kept), 1)")
    evenly = readers * kept_count == F.col("read_rows")
    same = F.col("read_hash") == F.try_multiply(F.col("kept_hash"), readers)
    return once & apart & ((read == 0) | ((read == kept) & evenly & same))


# ---- row by row, where the pages do not tell ----------------------------------------------------------------------------


def unclear_seats(records: Records, places: Places) -> DataFrame:
    """tp, offset, value of every seat on an unclear page, once each."""
    unclear = places.pages.where(~F.coalesce(_clear(), F.lit(False))).select("tp", "page")
    pages = F.broadcast(unclear) if places.unclear <= MANY_PAGES else unclear
    rows = records.both().where(seated()).select("tp", "offset", "value", bits.page("offset").alias("page"))
    return rows.join(pages, on=["tp", "page"], how="left_semi").select("tp", "offset", "value").distinct()


def certain_pages(records: Records, values: Values, places: Places) -> DataFrame:
    """tp, page and `certain`: the offsets at which a record must be."""
    pages = places.pages.select("tp", "page", "certain")
    if not (places.dim and values.counts["dimly_certain"]):
        return pages
    rows = records.both().where(seated() & ~certain())
    more = holding(rows, values.pages, bits.both(F.col("dim"), certain_values()), few=values.few)
    seats = more.select("tp", bits.page("offset").alias("page"), bits.bit("offset").alias("certain"))
    return pages.unionByName(seats).groupBy("tp", "page").agg(F.bit_or("certain").alias("certain")).transform(kept)
