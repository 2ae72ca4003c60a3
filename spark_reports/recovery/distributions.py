"""How times are spread over repeats: median and 95th percentile with their intervals, and what never ended kept as such.

**Order.** Samples are put in order of their seconds; one that is censored (it had not ended when the run did) is longer
than any that was measured, however little of it was seen. **Quantile.** The p-th percentile of n samples is the one of
rank ⌈n·p/100⌉ (SQL's percentile_disc): always a sample, never between two. If a censored one stands there, the answer is
null and `…_censored` is true: more than anything measured; `…_at_least` is then what it certainly reaches.
**Interval.** The 95 % percentile bootstrap, exactly (see bootstrap.py): two ranks, and the samples that stand there; null
again where a censored one does. With one sample it is that sample. With few it is too narrow, for a 95th percentile much
too narrow: `…_firm` says that there are enough for it to hold the true value in four nights of five.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.frames import frame
from spark_reports.recovery.bootstrap import coverage, interval, rank

QUANTILES = {"median": 50, "p95": 95}
ENDS = ("", "_low", "_high")
FIRM = 0.8  # reached with 4 samples for a median, with 32 for a 95th percentile, and never lost with more


def distributions(samples: DataFrame, by: Sequence[str]) -> DataFrame:
    """`samples` has the columns `by`, `seconds double` and `censored boolean`; the answer has a row for each group.

    Its columns: `by`, `n`, `censored` (how many), for median and p95 each `…`, `…_low`, `…_high` (seconds), `…_censored`,
    `…_at_least`, `…_firm`; and `worst`, the longest, with `worst_censored`: one that never ended outranks any that did.
    The samples are counted at once, because ranks depend on their number; keep them if they are dear to make.
    """
    whole = samples.where("seconds is not null").select(*by, "seconds", F.coalesce("censored", F.lit(False)).alias("open"))
    group = Window.partitionBy(*by)
    placed = whole.select(
        "*",
        F.count("*").over(group).alias("n"),
        F.row_number().over(group.orderBy("open", "seconds")).alias("place"),
        F.row_number().over(group.orderBy("seconds")).alias("bound_place"),
    )
    ranked = placed.join(F.broadcast(_ranks(whole, by)), on="n", how="inner")
    figures = [figure for name in QUANTILES for figure in _figures(name)]
    worst = F.max(F.struct("open", "seconds"))
    return ranked.groupBy(*by).agg(
        F.count("*").alias("n"),
        F.count_if("open").alias("censored"),
        *figures,
        worst["seconds"].alias("worst"),
        worst["open"].alias("worst_censored"),
    )


def _figures(name: str) -> list[Column]:
    def standing(place: str, column: Column) -> Column:
        return F.max(F.when(F.col(place) == F.col(f"{name}_rank"), column))

    open_, seconds = F.col("open"), F.col("seconds")
    values = [F.max(F.when((F.col("place") == F.col(f"{name}{end}_rank")) & ~open_, seconds)) for end in ENDS]
    is_open = standing("place", open_)
    return [
        *(value.alias(f"{name}{end}") for value, end in zip(values, ENDS, strict=True)),
        is_open.alias(f"{name}_censored"),
        F.when(is_open, standing("bound_place", seconds)).alias(f"{name}_at_least"),
        F.first(f"{name}_enough").alias(f"{name}_firm"),
    ]


def _ranks(samples: DataFrame, by: Sequence[str]) -> DataFrame:
    """For each size of a group that occurs, which places to look at."""
    sizes = samples.groupBy(*by).count().select("count").distinct().collect()
    places = [f"{name}{end}_rank bigint" for name in QUANTILES for end in ENDS]
    ddl = ", ".join(["n bigint", *places, *(f"{name}_enough boolean" for name in QUANTILES)])
    return frame(samples.sparkSession, (_row(n) for (n,) in sizes), ddl)


def _row(n: int) -> tuple[int | bool, ...]:
    middles = [rank(n, percent) for percent in QUANTILES.values()]
    places = [place for middle in middles for place in (middle, *interval(n, middle))]
    return n, *places, *(coverage(n, percent) >= FIRM for percent in QUANTILES.values())
