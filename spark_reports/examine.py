"""The Spark engine: a ledger of any size judged by frames, with the counts and the sentences of the local engine.

Nothing of the ledger's size is kept, in memory or on disk. Each pass folds rows into pages of bits, which say of most
checks that there is nothing to find; only where they do not are rows looked at one by one.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kernel.verdict import ANOMALIES, Examined
from spark_reports.anomalies.checks import of_producers, of_readers, of_seats, of_transactions, of_values
from spark_reports.anomalies.cycles import Rings
from spark_reports.anomalies.fates import Fates, fates
from spark_reports.anomalies.ground import look
from spark_reports.anomalies.kept import kept
from spark_reports.anomalies.places import places
from spark_reports.anomalies.records import records
from spark_reports.anomalies.stretches import stretches
from spark_reports.anomalies.values import values
from spark_reports.anomalies.witnesses import Witnesses
from spark_reports.ledger.frame import read_ledger
from spark_reports.ledger.rules import refuse_first
from spark_reports.ledger.twins import refuse_twins

# Lists of many chunks grow at once; by default Spark sorts the rows as soon as there are 128 of them.
LISTS = "spark.sql.objectHashAggregate.sortBased.fallbackThreshold"

Say = Callable[[str], None]
Session = Callable[[], AbstractContextManager[SparkSession]]
Engine = Callable[[Path, dict[str, dict[str, Any]]], Examined]


def engine(session: Session, rings: Rings, say: Say = lambda _: None) -> Engine:
    """An engine as the judge wants one. `rings` finds the strongly connected components of a small graph."""

    def judged(ledger: Path, clients: dict[str, dict[str, Any]]) -> Examined:
        with session() as spark:
            return examine(spark, ledger, clients, rings, say)

    return judged


def examine(
    spark: SparkSession, ledger: Path, clients: dict[str, dict[str, Any]], rings: Rings, say: Say = lambda _: None
) -> Examined:
    """`say` is told what is being done."""
    with _setting(spark, LISTS, "1000000"):
        return _examined(spark, ledger, clients, rings, say)


@contextmanager
def _setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)  # type: ignore[arg-type]


def _examined(spark: SparkSession, ledger: Path, clients: dict[str, dict[str, Any]], rings: Rings, say: Say) -> Examined:
    say("counting rows")
    rows = read_ledger(spark, ledger)
    ground = look(rows, clients)
    if ground.broken:
        refuse_first(spark, ledger)
    if not ground.rows:
        return Examined(0, 0, 0, [], dict.fromkeys(ANOMALIES, 0), [])
    say("looking for rows that are there twice")
    refuse_twins(rows, ledger)
    say("following transactions")
    told = records(spark, rows, ground, fates(rows) if ground.sends_inside else Fates(None))
    witnesses = Witnesses(spark, ledger, ground)
    say("following values")
    seen = values(told)
    found = of_values(told, seen, witnesses) | of_transactions(told, seen, witnesses, rings)
    say("following readers")
    walks = stretches(told.reads()).transform(kept)
    say("following the log")
    log = places(told.sends(), walks)
    found |= of_seats(told, seen, log, witnesses)
    say("comparing readers with the log")
    found |= of_readers(told, seen, log, walks, witnesses)
    say("following producers")
    found |= of_producers(told, witnesses)
    return Examined(
        rows=ground.rows,
        acknowledged=ground.acknowledged,
        read=seen.counts["read"],
        undrained=ground.undrained,
        counts={name: found[name].count for name in ANOMALIES},
        findings=[finding for name in ANOMALIES for finding in found[name].findings],
    )
