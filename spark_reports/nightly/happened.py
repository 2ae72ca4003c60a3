"""What happened in each run, from its events: faults and their end, elections, and what the monitoring said to them.

Times are seconds since the run's first event. A run says by an `observer` event that somebody watched: only then is
silence a miss.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

SECOND = 1e9
ORDER = (
    "key", "at_s", "event", "id", "name", "state", "sentence", "end_s", "sent", "received", "missing", "duplicated",
    "completeness", "date",
)  # fmt: skip
RUN = ("folder", "t_ns")


def moments(events: DataFrame) -> DataFrame:
    """One row for each folder that has events: `first_ns`, `last_ns`, `drain_ns` (null: never), `torn` lines."""
    drain = (F.col("event") == "phase") & (F.col("phase") == "drain")
    return events.groupBy("folder").agg(
        F.min("t_ns").alias("first_ns"),
        F.max("t_ns").alias("last_ns"),
        F.min(F.when(drain, F.col("t_ns"))).alias("drain_ns"),
        F.count(F.when(F.col("event").isNull(), 1)).alias("torn"),
    )


def happened(events: DataFrame, began: DataFrame, runs: DataFrame) -> DataFrame:
    """The rows of HAPPENED. `began`: what `moments` gave; `runs`: `folder`, `key`, `date` of each that is wanted."""
    rows = reduce(DataFrame.unionByName, (_told(events), _shaped(_faults(events)), _shaped(_elections(events))))
    known = runs.select("folder", "key", "date").join(began.select("folder", "first_ns"), on="folder", how="inner")
    timed = rows.join(F.broadcast(known), on="folder", how="inner").withColumns(
        {"at_s": _seconds("t_ns"), "end_s": _seconds("end_ns")}
    )
    return timed.select(*ORDER)


def _seconds(moment: str) -> Column:
    return (F.col(moment) - F.col("first_ns")) / SECOND


def _is(event: str) -> Column:
    return F.col("event") == event


def _told(events: DataFrame) -> DataFrame:
    """What one line says by itself, each kind of event in its own fields."""
    place = F.concat_ws(" ", F.col("group"), F.lit("on"), F.concat_ws("-", "topic", "partition"))
    lag = F.concat(place, F.lit(" is "), "status", F.coalesce(F.concat(F.lit(", was "), "was"), F.lit("")))
    complete = 1 - F.coalesce("missing", F.lit(0)) / F.col("sent")
    cells = {
        "id": {"bite": F.col("id"), "lag": F.col("group")},
        "name": {
            "phase": F.col("phase"),
            "lag": F.col("status"),
            "alert": F.col("alert"),
            "audit": F.col("link"),
            "observer": F.col("kind"),
        },
        "state": {"lag": F.col("was"), "alert": F.col("state")},
        "sentence": {"bite": F.col("sentence"), "lag": lag, "alert": F.concat_ws(" is ", "alert", "state")},
        **{name: {"audit": F.col(name)} for name in ("sent", "received", "missing", "duplicated")},
        "completeness": {"audit": F.when(F.col("sent") > 0, complete)},
    }
    wanted = events.where(F.col("event").isin("bite", "phase", "lag", "alert", "audit", "observer"))
    chosen = [
        F.coalesce(*(F.when(_is(event), value) for event, value in of.items())).alias(name) for name, of in cells.items()
    ]
    return _shaped(wanted.select(*RUN, "event", *chosen))


def _shaped(rows: DataFrame) -> DataFrame:
    """What a kind of event does not have is null."""
    blank = {"id": "string", "name": "string", "state": "string", "sentence": "string", "end_ns": "bigint"}
    blank |= dict.fromkeys(("sent", "received", "missing", "duplicated"), "bigint") | {"completeness": "double"}
    missing = {name: F.lit(None).cast(kind) for name, kind in blank.items() if name not in rows.columns}
    return rows.withColumns(missing).select(*RUN, "event", *blank)


def _faults(events: DataFrame) -> DataFrame:
    heals = events.where(_is("heal")).groupBy("folder", "id").agg(F.min("t_ns").alias("end_ns"))
    faults = events.where(_is("fault")).select(*RUN, "event", "id", F.col("fault").alias("name"), "sentence")
    return faults.join(heals, on=["folder", "id"], how="left")


def _elections(events: DataFrame) -> DataFrame:
    """A partition that has another leader than before, with a higher epoch: one that merely came back is none."""
    before = Window.partitionBy("folder", "topic", "partition").orderBy("t_ns")
    led = events.where(_is("partition") & (F.col("leader") >= 0) & F.col("leader_epoch").isNotNull())
    was = led.withColumns({"was": F.lag("leader").over(before), "was_epoch": F.lag("leader_epoch").over(before)})
    elected = was.where("leader <> was AND leader_epoch > was_epoch")
    place = F.concat_ws("-", "topic", "partition")
    sentence = F.format_string("broker %d leads %s, before broker %s", "leader", place, "was")
    return elected.select(*RUN, F.lit("election").alias("event"), place.alias("name"), sentence.alias("sentence"))
