"""For every value: was it sent, with what fate, read, and by whom? Sixty-four of them in a row, a bit for each answer."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.anomalies import bits
from spark_reports.anomalies.fates import INFO, OK
from spark_reports.anomalies.ground import Ground
from spark_reports.anomalies.kept import kept
from spark_reports.anomalies.records import MANY_PAGES, Records, bound, certain, inside, seated

ANSWERS = (
    "sent",
    "ok",
    "info",
    "read",
    "seen",
    "seated",
    "bound",
    "dim",
    "own_sent",
    "own_read",
    "sent_inside",
    "read_inside",
)


@dataclass(frozen=True, slots=True)
class Values:
    """`pages`: page, and a column of bits for each of `ANSWERS`."""

    pages: DataFrame
    few: bool  # pages
    counts: dict[str, int]  # of `QUESTIONS`


def _columns() -> dict[str, Column]:
    return {name: F.col(name) for name in ANSWERS}


def questions() -> dict[str, Column]:
    """Bits that are counted: each count is an anomaly's, or says that one needs no further look."""
    of = _columns()
    failed = bits.without(bits.without(of["sent"], of["ok"]), of["info"])
    return {
        "read": of["read"],
        "seated": of["seated"],
        "phantom": bits.without(of["read"], of["sent"]),
        "aborted": bits.both(of["seen"], failed),
        "missing": bits.without(of["ok"], of["read"]),
        "unbound": bits.without(of["bound"], of["seen"]),
        "dimly_certain": bits.both(of["dim"], certain_values()),
        "own": bits.both(of["own_sent"], of["own_read"]),
        "passed_on": bits.both(of["sent_inside"], of["read_inside"]),
    }


def certain_values() -> Column:
    """Of fate ok, or read by a committed reader. Of a value that was sent twice, the best fate counts."""
    return bits.either(F.col("ok"), F.col("seen"))


def values(records: Records) -> Values:
    pages = _pages(records).transform(kept)
    asked = [F.coalesce(F.sum(F.bit_count(chosen)), F.lit(0)).alias(name) for name, chosen in questions().items()]
    counts = pages.agg(F.count("*").alias("pages"), *asked).collect()[0].asDict()
    return Values(pages, counts.pop("pages") <= MANY_PAGES, counts)


def _pages(records: Records) -> DataFrame:
    """What cannot be, by what the first look told, is not gathered."""
    asked = _conditions(records.ground)
    # Each answer is worked out once, and then only put into its place in the page.
    rows = records.uncoded().select(bits.page("value").alias("page"), bits.bit("value").alias("bit"), *_named(asked))
    pages = rows.groupBy("page").agg(*(bits.where(F.col(name), F.col("bit")).alias(name) for name in asked))
    if records.ground.all_committed:
        pages = pages.withColumn("seen", F.col("read"))
    return pages.select("page", *(F.col(n) if n in pages.columns else bits.nothing().alias(n) for n in ANSWERS))


def _named(asked: dict[str, Column]) -> list[Column]:
    return [condition.alias(name) for name, condition in asked.items()]


def _conditions(ground: Ground) -> dict[str, Column]:
    send, read, own = F.col("sent"), ~F.col("sent"), F.col("own")
    asked = {
        "sent": send,
        "ok": send & (F.col("fate") == OK),
        "info": send & (F.col("fate") == INFO),
        "read": read,
        "seated": seated(),
        "dim": seated() & ~certain(),
    }
    if not ground.all_committed:
        asked["seen"] = read & F.col("committed")
    if ground.sends_inside:
        asked["bound"] = bound()
    if ground.own:
        asked |= {"own_sent": send & inside() & own, "own_read": read & own}
    if ground.sends_inside and ground.reads_inside:
        asked |= {"sent_inside": send & inside(), "read_inside": read & inside()}
    return asked
