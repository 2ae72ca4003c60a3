"""How long each partition of each run was dark, from the ledgers of many runs at once.

A ledger that cannot be read costs the night that run's figures, never the night: it is named, left out, and the rest is
read again.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kernel.errors import SuiteError, UsageError
from spark_reports.ledger.damage import UNREADABLE, refuse_damaged
from spark_reports.ledger.frame import TIMES, read_ledgers
from spark_reports.recovery.availability import availability

ROUNDS = 5  # of naming one damaged file and reading the others again; then all are looked through
Troubles = dict[str, str]


def darkness(spark: SparkSession, ledgers: Mapping[str, Path], ends: DataFrame) -> tuple[DataFrame, Troubles]:
    """Rows as in DARKNESS but for `date`, persisted, and why a run has none. `ends`: `run`, `end_ns`, as gaps want them."""
    troubles: Troubles = {}

    def refused(run: str, error: UsageError) -> None:
        troubles.setdefault(run, error.message)

    def measured(left: Mapping[str, Path]) -> DataFrame:
        rows = read_ledgers(spark, left, TIMES, refused=refused)
        found = availability(rows, ends).withColumnRenamed("run", "key")
        return found.withColumn("partition", F.col("partition").cast("int"))

    return _bearing(ledgers, troubles, measured), troubles


def bearing(ledgers: Mapping[str, Path], make: Callable[[Mapping[str, Path]], DataFrame]) -> tuple[DataFrame, Troubles]:
    """What `make` gives for the ledgers, persisted; those that are damaged inside are left out and told of."""
    troubles: Troubles = {}
    return _bearing(ledgers, troubles, make), troubles


def _bearing(ledgers: Mapping[str, Path], troubles: Troubles, make: Callable[[Mapping[str, Path]], DataFrame]) -> DataFrame:
    for again in range(ROUNDS + 1):
        frame = make({run: ledger for run, ledger in ledgers.items() if run not in troubles}).persist()
        try:
            frame.count()
            return frame
        except (PySparkException, Py4JJavaError) as error:
            frame.unpersist()
            text = str(error)
            if UNREADABLE not in text:
                raise
            left = {run: ledger for run, ledger in ledgers.items() if run not in troubles}
            named = {run: ledger for run, ledger in left.items() if _names(text, ledger)}
            found = _damaged(named if again < ROUNDS - 1 and named else left)
            if not found:
                found = dict.fromkeys(named, "Its ledger is damaged inside: Spark cannot read it.")
            if not found:
                raise
            troubles |= found
    raise SuiteError(f"Too many ledgers are damaged inside: after {ROUNDS} rounds there were still more.")


def _names(text: str, ledger: Path) -> bool:
    resolved = str(ledger.resolve())
    return f"{resolved}/" in text or f"{quote(resolved)}/" in text


def _damaged(ledgers: Mapping[str, Path]) -> Troubles:
    found: Troubles = {}
    for run, ledger in ledgers.items():
        try:
            refuse_damaged(ledger)
        except UsageError as error:
            found[run] = error.message
    return found


def availabilities(darkness: DataFrame) -> DataFrame:
    """For each run the share of its watched time that was not dark, over partitions and operations, and its longest gap."""
    watched = F.sum("watched_s")
    share = F.when(watched > 0, 1 - F.sum("dark_s") / watched)
    return darkness.groupBy("key").agg(share.alias("availability"), F.max("longest_s").alias("longest_s"))
