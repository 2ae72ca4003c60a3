"""The nightly report from end to end: scan, append, compare, assemble, draw, publish. All of it, or nothing.

Run again on the same night with the same wishes it finds nothing new, writes nothing and gives the same report.
"""

import os
from collections.abc import Callable
from datetime import date, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kernel.errors import UsageError
from spark_reports.contents import Report
from spark_reports.kafka.audit import AUDIT
from spark_reports.nightly.assemble import Tables, assembled
from spark_reports.nightly.baseline import load
from spark_reports.nightly.dates import SPAN, span
from spark_reports.nightly.draft import Draft
from spark_reports.nightly.folders import RunFound, run_folders
from spark_reports.nightly.scan import Entry, Known, Rows, fresh_of, scanned
from spark_reports.nightly.schemas import DARKNESS, HAPPENED, SUMMARY
from spark_reports.nightly.store import Store
from spark_reports.nightly.summary import summarised
from spark_reports.nightly.told import news

Say = Callable[[str], None]
SCHEMAS = {"summary": SUMMARY, "darkness": DARKNESS, "happened": HAPPENED}
REPORT = "report.json"


def nightly(
    spark: SparkSession,
    *,
    runs: Path | None,
    out: Path,
    since: date | None = None,
    baseline: str | None = None,
    made: datetime,
    made_by: str,
    draw: Callable[[Report, Path], None],
    documents: DataFrame | None = None,
    say: Say = lambda _: None,
) -> Report:
    """`runs` None: from the tables alone. `documents`: more runs, as `summarised` wants them. `draw` writes the pages.

    The caller decides what a `regressed` report is worth.
    """
    store = Store(out)
    found = run_folders(runs, but=store.out) if runs is not None else None
    _check(store, runs, found, baseline, documents)
    with store.draft(keep_pages=False) as draft:
        state = store.state()
        known = Known.of(state)
        rows, after = scanned(spark, found, known, _entries(spark, draft), say) if found is not None else (None, known)
        _append(draft, rows, say)
        if documents is not None:
            _add(spark, draft, documents, after)
        wishes = {"since": str(since), "baseline": _mark(baseline), "made_by": made_by}
        memory = {**after.noted(), "wishes": wishes, "tables": _tables_mark(draft.path / "tables")}
        if {**memory, "format": state.get("format")} == state and (last := _last(store)) is not None:
            say("nothing is new since the last report")
            return last
        say("comparing with earlier nights")
        audit = draft.table(spark, "audit", AUDIT) if (draft.path / "tables" / "audit").is_dir() else None
        summary, darkness, happened = (draft.table(spark, name, schema) for name, schema in SCHEMAS.items())
        tables = Tables(summary, darkness, happened, audit)
        report = assembled(
            spark, tables, since=since, baseline=baseline, made=made, made_by=made_by, known=after, site=store.out
        )
        say("drawing the pages")
        draw(report, draft.path)
        draft.note(memory)
        draft.publish()
    return report


def _check(store: Store, runs: Path | None, found: list[RunFound] | None, baseline: str | None, documents: Any) -> None:
    """Before anything is touched: what was asked for must make sense."""
    if baseline is not None:
        span(baseline) if SPAN in baseline and not Path(baseline).exists() else load(Path(baseline))
    if store.current() is None and documents is None:
        if runs is None:
            raise UsageError(f"{store.out} holds no tables yet: give the directory of the runs with --runs.")
        if not found:
            raise UsageError(f"There is no run in {runs}: a run is a folder <date>/<scenario>/<run_id>.", value=str(runs))


def _last(store: Store) -> Report | None:
    """None if there is none that can be read: then it is made again."""
    current = store.current()
    try:
        return load(current / REPORT) if current else None
    except UsageError:
        return None


def unread(runs: Path, out: Path) -> int:
    """How many run folders the next report has to read; needs no Spark."""
    store = Store(out)
    return len(fresh_of(run_folders(runs, but=store.out), Known.of(store.state())))


def _entries(spark: SparkSession, draft: Draft) -> dict[str, Entry]:
    if not (draft.path / "tables" / "summary").is_dir():
        return {}
    rows = draft.table(spark, "summary", SUMMARY).select("key", "folder", "started").collect()
    return {row["key"]: Entry(row["key"], row["folder"], row["started"]) for row in rows}


def _append(draft: Draft, rows: Rows | None, say: Say) -> None:
    if rows is None:
        return
    say("writing tables")
    draft.put("summary", rows.summary)
    draft.put("happened", rows.happened, instead_of=rows.keys)
    draft.put("darkness", rows.darkness, instead_of=rows.keys)
    for frame in rows.held:
        frame.unpersist()


def _add(spark: SparkSession, draft: Draft, documents: DataFrame, after: Known) -> None:
    told = summarised(documents).persist()
    bad = told.where("trouble is not null").select("folder", "trouble").collect()
    after.unreadable |= {str(row["folder"]): row["trouble"] for row in bad}
    good = told.where("trouble is null").drop("trouble").dropDuplicates(["key"])
    draft.put("summary", news(good, draft.table(spark, "summary", SUMMARY)))


def _mark(baseline: str | None) -> str | None:
    """A report's content, not its name: it may have been written again."""
    if baseline is None or not Path(baseline).is_file():
        return baseline
    return blake2b(Path(baseline).read_bytes(), digest_size=12).hexdigest()


def _tables_mark(tables: Path) -> str:
    """Which files they are: one that was not written again is the same file."""
    seen = []
    for folder, _, names in sorted(os.walk(tables)):
        for name in sorted(names):
            file = Path(folder) / name
            state = file.stat()
            seen.append(f"{file.relative_to(tables)}|{state.st_size}|{state.st_mtime_ns}")
    return blake2b("\n".join(seen).encode(), digest_size=12).hexdigest()
