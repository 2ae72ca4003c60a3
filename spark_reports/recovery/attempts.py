"""What somebody was waiting for on each partition, and what came: moments of every run, ready to be looked at in order.

A send waits from its call to its answer. A record waits for a reader from its acknowledgement, or from its
transaction's commit, to its first read. Both become the same moments, so that one definition of a gap serves both.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kernel.ledger import Kind, Outcome

TRACK = ("run", "topic", "partition")
SEATS = 256  # among which rows outside of transactions are dealt out: they have no name to be dealt by


def moments(rows: DataFrame) -> DataFrame:
    """One row for each run, topic, partition, kind and moment at which something happened.

    `starts` and `stops` count the attempts whose wait began and ended then; `unanswered` those that began then and
    have no answer: they wait until the partition's next success, after which they tell nothing about it.
    """
    seen = _first_reads(_due(_relevant(rows)))
    events = _passed(seen).select(*TRACK, F.inline(F.array(*_events()))).where("at_ns is not null")
    return events.groupBy(*TRACK, "kind", "at_ns").agg(
        F.sum("starts").alias("starts"),
        F.sum("stops").alias("stops"),
        F.sum("unanswered").alias("unanswered"),
        F.bool_or("success").alias("success"),
    )


def last_moments(rows: DataFrame) -> DataFrame:
    """For each run the last moment of its ledger: `run`, `last_ns`."""
    timed = _relevant(rows).where(F.col("kind") != Kind.COMMIT)
    return timed.groupBy("run").agg(F.greatest(F.max(_at()), F.lit(0)).alias("last_ns"))


def _relevant(rows: DataFrame) -> DataFrame:
    """Sends, reads (but for the closing drain) and commits. Without a time nothing can be measured on them."""
    kind, ok = F.col("kind"), F.col("outcome") == Outcome.OK
    named = F.col("topic").isNotNull() & F.col("partition").isNotNull() & F.col("value").isNotNull()
    sent = (kind == Kind.SEND) & named & F.col("invoked_ns").isNotNull()
    read = (kind == Kind.POLL) & ok & named & ~F.coalesce("final", F.lit(False)) & (_at() >= 0)
    committed = (kind == Kind.COMMIT) & ok & F.col("txn").isNotNull() & (F.col("completed_ns") >= 0)
    return rows.where(sent | read | committed).select(
        *TRACK, "kind", "txn", "value", "invoked_ns", "completed_ns", ok.alias("ok")
    )


def _at() -> Column:
    return F.coalesce("completed_ns", "invoked_ns", F.lit(-1))


def _due(rows: DataFrame) -> DataFrame:
    """When a reader should get a record: from its acknowledgement on, or from its transaction's commit, if it has one."""
    seat = F.when(F.col("txn").isNull(), F.pmod(F.col("value"), F.lit(SEATS))).alias("seat")
    committed = F.max(F.when(F.col("kind") == Kind.COMMIT, F.col("completed_ns")))
    whole = rows.withColumn("committed_ns", committed.over(Window.partitionBy("run", "txn", seat)))
    sent = F.col("kind") == Kind.SEND
    answered = F.when(F.col("completed_ns") >= 0, F.greatest("completed_ns", "invoked_ns"))
    due = F.when(F.col("txn").isNotNull(), F.col("committed_ns")).when(F.col("ok"), F.col("completed_ns"))
    return whole.where(F.col("kind") != Kind.COMMIT).select(
        *TRACK,
        "value",
        F.when(sent, F.col("invoked_ns")).alias("sent_ns"),
        F.when(sent, answered).alias("answered_ns"),
        F.when(sent & F.col("ok"), answered).alias("acked_ns"),
        F.when(sent & (due >= 0), due).alias("due_ns"),
        F.when(~sent, _at()).alias("seen_ns"),
    )


def _first_reads(rows: DataFrame) -> DataFrame:
    """Reading a value again is no progress: a reader that goes round in a loop looks busy and delivers nothing."""
    value = Window.partitionBy(*TRACK, "value")
    return rows.repartition(*TRACK).withColumn("read_ns", F.min("seen_ns").over(value))


def _passed(rows: DataFrame) -> DataFrame:
    """When a reader had gone past a record that nobody read: it read one that was sent after the record was due.

    For that a record nobody read stands here twice: among the others by when it was sent, and by when it was due.
    """
    sent, unread = F.col("sent_ns").isNotNull(), F.col("due_ns").isNotNull() & F.col("read_ns").isNull()
    places = F.when(unread, F.array("sent_ns", "due_ns")).otherwise(F.array("sent_ns"))
    both = rows.select("*", F.posexplode(places).alias("again", "place_ns"))
    later = Window.partitionBy(*TRACK).orderBy(F.desc("place_ns"))  # and those at the same moment
    return both.withColumn("passed_ns", F.min(F.when(sent & (F.col("again") == 0), F.col("read_ns"))).over(later))


def _events() -> list[Column]:
    """Of each row those that have a moment. A reader may be faster than the acknowledgement; then nobody ever waited."""
    once, unread = F.col("again") == 0, F.col("read_ns").isNull()
    until = F.when(unread, F.col("passed_ns")).otherwise(F.col("read_ns"))
    waits = F.col("due_ns").isNotNull() & (~once | ~unread) & (until.isNull() | (until > F.col("due_ns")))
    answered = F.col("answered_ns").isNotNull()
    return [
        _event("send", F.when(once, F.col("sent_ns")), starts=1, unanswered=F.when(answered, 0).otherwise(1)),
        _event("send", F.when(once, F.col("answered_ns")), stops=1, success=F.col("acked_ns").isNotNull()),
        _event("poll", F.when(waits, F.col("due_ns")), starts=1),
        _event("poll", F.when(waits, until), stops=1),
        _event("poll", F.when(once, F.when(F.col("seen_ns") == F.col("read_ns"), F.col("seen_ns"))), success=F.lit(True)),
    ]


def _event(
    kind: str,
    at: Column,
    *,
    starts: int = 0,
    stops: int = 0,
    unanswered: Column | None = None,
    success: Column | None = None,
) -> Column:
    return F.struct(
        F.lit(kind).alias("kind"),
        at.alias("at_ns"),
        F.lit(starts).alias("starts"),
        F.lit(stops).alias("stops"),
        (F.lit(0) if unanswered is None else unanswered).alias("unanswered"),
        (F.lit(False) if success is None else success).alias("success"),
    )
