"""What a batch of records adds to the tables. The second time it adds nothing, so a batch may come again after a crash.

Of a run the last word wins, as in the topic: judged again, its row is replaced (nightly/told.py). A report of the audit
never changes: the one that is there stays.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kernel.errors import SuiteError
from spark_reports.frames import fields
from spark_reports.kafka.audit import AUDIT, audit_rows, strangers
from spark_reports.kafka.results import parsed
from spark_reports.nightly.draft import Draft
from spark_reports.nightly.schemas import SUMMARY
from spark_reports.nightly.store import Store
from spark_reports.nightly.summary import summarised
from spark_reports.nightly.told import news

Say = Callable[[str], None]
News = Callable[[DataFrame, DataFrame], DataFrame]  # rows, and those that are known → what is new
PATIENCE = 600.0  # seconds that somebody else may be writing a report to the same place
SHOWN = 10  # records of a batch that are no results


def add_results(store: Store, say: Say = lambda _: None) -> Callable[[DataFrame], None]:
    """For `follow`: records of the results topic → table `summary`."""

    def add(records: DataFrame) -> None:
        rows = summarised(parsed(records)).persist()
        try:
            _complain(rows.where("trouble is not null"), say)
            _put(store, "summary", SUMMARY, rows.where("trouble is null"), news)
        finally:
            rows.unpersist()

    return add


def add_reports(store: Store, say: Say = lambda _: None) -> Callable[[DataFrame], None]:
    """For `follow`: records of the audit topic → table `audit`."""

    def add(records: DataFrame) -> None:
        if count := strangers(records):
            say(f"{count} records of the audit topic are no reports of a version that is known here: left out.")
        _put(store, "audit", AUDIT, audit_rows(records), _unknown)

    return add


def _put(store: Store, table: str, schema: str, rows: DataFrame, new_of: News) -> None:
    """Only what is new goes into a version of its own; nothing new, no version."""
    spark = rows.sparkSession
    ordered = rows.select(*(f"`{name}`" for name in fields(schema).names))
    dates = [row["date"] for row in ordered.select("date").distinct().collect()]
    with ExitStack() as until:
        draft = _drafted(store, until)
        known = draft.table(spark, table, schema).where(F.col("date").isin(*dates))
        fresh = new_of(ordered, known).persist()
        try:
            if draft.put(table, fresh):
                draft.publish()
        finally:
            fresh.unpersist()


def _unknown(rows: DataFrame, known: DataFrame) -> DataFrame:
    return rows.join(known.select("key"), on="key", how="left_anti")


def _drafted(store: Store, until: ExitStack) -> Draft:
    """A report that is being made at the same place is waited for: a stream has time."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return until.enter_context(store.draft())
        except SuiteError as busy:
            if "Another report" not in busy.message or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _complain(troubles: DataFrame, say: Say) -> None:
    found = [str(row["trouble"]) for row in troubles.limit(SHOWN + 1).collect()]
    for sentence in found[:SHOWN]:
        say(sentence)
    if len(found) > SHOWN:
        say("There are more records that are no results.")
