"""How many records that must be there lie between two offsets? A running count over the pages of each partition."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.anomalies import bits
from spark_reports.anomalies.kept import kept
from spark_reports.anomalies.readers import READ, Readers


def passed_over(readers: Readers, certain: DataFrame) -> DataFrame:
    """c, tp, op, ix, kind, before, offset, passed: the reads and commits that passed over at least one."""
    return _leaps(readers, certain).unionByName(_holes(readers, certain)).transform(kept)


def _leaps(readers: Readers, certain: DataFrame) -> DataFrame:
    """From one stretch to the next, or to the offset that was committed."""
    leaps = readers.steps.where("leap or ahead").select(
        *("c", "tp", F.col("op0").alias("op"), F.col("ix0").alias("ix"), "kind", "before", F.col("low").alias("offset"))
    )
    counted = _counted(certain, leaps.select("tp", bits.page("offset").alias("page")).distinct())
    start = counted.select("tp", F.col("page").alias("page_before"), *_renamed("before"))
    end = counted.select("tp", F.col("page").alias("page_here"), *_renamed("here"))
    paged = leaps.select("*", bits.page("before").alias("page_before"), bits.page("offset").alias("page_here"))
    joined = paged.join(start, on=["tp", "page_before"], how="inner").join(end, on=["tp", "page_here"], how="inner")
    first = F.col("sum_before") + F.bit_count(bits.both(F.col("certain_before"), bits.up_to("before")))
    last = F.col("sum_here") + F.bit_count(bits.both(F.col("certain_here"), bits.below("offset")))
    return joined.select(*leaps.columns, (last - first).alias("passed")).where("passed > 0")


def _renamed(side: str) -> list[Column]:
    return [F.col(name).alias(f"{name}_{side}") for name in ("certain", "sum")]


def _counted(certain: DataFrame, asked: DataFrame) -> DataFrame:
    """Each page with the count of all before it. A commit may name a page on which nobody saw anything."""
    pages = certain.unionByName(asked.withColumn("certain", bits.nothing()))
    pages = pages.groupBy("tp", "page").agg(F.bit_or("certain").alias("certain"))
    before = Window.partitionBy("tp").orderBy("page").rowsBetween(Window.unboundedPreceding, -1)
    counted = F.coalesce(F.sum(F.bit_count("certain")).over(before), F.lit(0))
    return pages.select("tp", "page", "certain", counted.cast("bigint").alias("sum"))


def _holes(readers: Readers, certain: DataFrame) -> DataFrame:
    """Inside a stretch: only those few that passed over something are taken apart."""
    ragged = readers.steps.where(F.col("ragged")).drop("before")
    span = bits.without(bits.up_to("high"), bits.below("low"))
    holes = bits.both(bits.without(span, F.col("mask")), F.col("certain"))
    wrong = ragged.join(certain, on=["tp", "page"], how="inner").where(holes != 0)
    positions = F.filter(F.sequence(F.lit(0), F.lit(bits.SIZE - 1)), lambda at: F.getbit("mask", at) == 1)
    read = wrong.withColumn("at", positions).select("*", F.posexplode("at").alias("nth", "here")).where("nth > 0")
    first = F.col("page") * bits.SIZE
    pairs = read.select(
        *("c", "tp", "op0", "ix0", "op1", "low", "certain"),
        (first + F.element_at("at", F.col("nth"))).alias("before"),
        (first + F.col("here")).alias("offset"),
    )
    passed = F.bit_count(bits.both(F.col("certain"), bits.without(bits.below("offset"), bits.up_to("before"))))
    further, by_op = F.col("offset") - F.col("low"), F.col("op1") > F.col("op0")
    return pairs.select(
        *("c", "tp", (F.col("op0") + F.when(by_op, further).otherwise(0)).alias("op")),
        (F.col("ix0") + F.when(by_op, 0).otherwise(further)).alias("ix"),
        *(F.lit(READ).alias("kind"), "before", "offset", passed.cast("bigint").alias("passed")),
    ).where("passed > 0")
