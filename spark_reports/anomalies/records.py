"""The rows that carry records, in numbers: clients and partitions by their codes, sends with their fates.

Everything that a check asks of a row is worked out here, once; codes are narrow, and names are put back when something
is told.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from kernel.ledger import Kind, Outcome
from spark_reports.anomalies import bits
from spark_reports.anomalies.fates import FAIL, OK, Fates, with_fates
from spark_reports.anomalies.ground import MARKS, Ground, is_read, is_send

MANY_PAGES = 4_000_000  # fewer are handed to every task; more are shuffled


@dataclass(frozen=True, slots=True)
class Records:
    """Frames that are read anew by whoever asks: nothing of the size of the ledger is kept."""

    rows: DataFrame
    ground: Ground
    fates: Fates
    clients: DataFrame
    partitions: DataFrame

    def sends(self) -> DataFrame:
        return with_fates(self.sends_alone(), self.fates)

    def sends_alone(self) -> DataFrame:
        """Without their fates."""
        return self._coded(self.rows.where(is_send()))

    def reads(self) -> DataFrame:
        return self._coded(self.rows.where(is_read()))

    def both(self) -> DataFrame:
        """Sends and reads; a read has no fate."""
        return with_fates(self._coded(self._told()), self.fates)

    def uncoded(self) -> DataFrame:
        """The same without codes: a join less for each, in the one pass that seldom needs them."""
        told = self._told()
        if self.ground.all_committed and not self.ground.own:
            alike = {"committed": True, "own": False}
            return with_fates(told.withColumns({name: F.lit(fact) for name, fact in alike.items()}), self.fates)
        return with_fates(told.join(self.clients, on="client", how="inner"), self.fates)

    def _told(self) -> DataFrame:
        return self.rows.where(is_send() | is_read()).withColumn("sent", is_send())

    def turns(self) -> DataFrame:
        """Where a reader was given or lost a partition, and where it committed."""
        mark = F.col("kind").isin(*MARKS)
        commit = (F.col("kind") == Kind.OFFSETS) & (F.col("outcome") == Outcome.OK) & F.col("offset").isNotNull()
        return self._coded(self.rows.where(mark | commit)).where("tp is not null")

    def ends(self) -> DataFrame:
        """Commits and aborts, whatever came of them."""
        ended = F.col("kind").isin(Kind.COMMIT, Kind.ABORT) & F.col("txn").isNotNull()
        return self.rows.where(ended).join(self.clients, on="client", how="inner")

    def _coded(self, rows: DataFrame) -> DataFrame:
        coded = rows.withColumn("sent", is_send()).join(self.clients, on="client", how="inner")
        return coded.join(self.partitions, on=["topic", "partition"], how="left")


def records(spark: SparkSession, rows: DataFrame, ground: Ground, fates: Fates) -> Records:
    return Records(rows, ground, fates, ground.clients_frame(spark), ground.partitions_frame(spark))


# ---- of a send or a read, each of which says by `sent` which it is -------------------------------------------------------


def acknowledged() -> Column:
    """A send that says where its record is."""
    somewhere = F.col("topic").isNotNull() & F.col("partition").isNotNull() & F.col("offset").isNotNull()
    return F.col("sent") & (F.col("outcome") == Outcome.OK) & somewhere


def seated() -> Column:
    """It says where a value is in the log."""
    return ~F.col("sent") | acknowledged()


def inside() -> Column:
    return F.col("txn").isNotNull()


def bound() -> Column:
    """A send that stands or falls with its transaction, which did not fall."""
    ended = F.coalesce("ended", F.lit(OK))
    return F.col("sent") & inside() & (F.col("outcome") != Outcome.FAIL) & (ended != FAIL)


def certain() -> Column:
    """A seat that proves by itself that its record must be there."""
    return F.when(F.col("sent"), F.col("fate") == OK).otherwise(F.col("committed"))


def holding(rows: DataFrame, pages: DataFrame, chosen: Column, *, few: bool) -> DataFrame:
    """Rows whose value is among the chosen bits of the pages."""
    wanted = pages.select(F.col("page").alias("wanted_page"), chosen.alias("wanted")).where("wanted != 0")
    paged = rows.withColumn("wanted_page", bits.page("value"))
    met = paged.join(F.broadcast(wanted) if few else wanted, on="wanted_page", how="inner")
    return met.where(F.col("wanted").bitwiseAND(bits.bit("value")) != 0).drop("wanted_page", "wanted")
