"""Run folders → rows for the tables: only those that are new or were written again since the last report.

What is known of a folder is its key and a mark of its files; with the same mark it is not opened again. Two folders
with one key are two runs under one name: the one that was known first, or else the older, is kept.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from spark_reports.frames import frame
from spark_reports.meanwhile import meanwhile
from spark_reports.nightly.darkness import Troubles, darkness
from spark_reports.nightly.folders import RunFound
from spark_reports.nightly.happened import SECOND, happened, moments
from spark_reports.nightly.reading import documents, events
from spark_reports.nightly.summary import summarised

TORN = 1  # line that a crash may have cut off
Say = Callable[[str], None]


@dataclass
class Known:
    """What the last report knew: `folders` by path (mark, key, kept), sentences of unreadable ones, troubles by key."""

    folders: dict[str, dict[str, Any]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    clashes: dict[str, list[str]] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(state: Mapping[str, Any]) -> "Known":
        return Known(**{name: dict(state.get(name, {})) for name in ("folders", "unreadable", "clashes", "troubles")})

    def noted(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("folders", "unreadable", "clashes", "troubles")}


@dataclass(frozen=True, slots=True)
class Rows:
    """New rows of each table, and the keys (`key`, `date`) whose older rows they take the place of. `held` are persisted."""

    summary: DataFrame
    happened: DataFrame
    darkness: DataFrame
    keys: DataFrame
    held: tuple[DataFrame, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    folder: str
    started: datetime


def scanned(
    spark: SparkSession, found: Sequence[RunFound], known: Known, entries: Mapping[str, Entry], say: Say
) -> tuple[Rows | None, Known]:
    """`entries` are the runs of the tables by key. None: nothing is new."""
    fresh = fresh_of(found, known)
    there = {run.folder: run for run in found}
    kept = {path: facts for path, facts in known.folders.items() if path in there or Path(path).is_dir()}
    after = Known(folders=kept, troubles=dict(known.troubles), unreadable={}, clashes={})
    for run in found:
        if run.denied:
            file = f"{run.folder}/{min(run.denied)}"
            after.unreadable[run.folder] = f"{file} cannot be read: this user may not. Change its mode, or run as its owner."
    fresh = [run for run in fresh if not run.denied]
    say(f"{len(found)} run folders, {len(fresh)} of them new or changed")
    rows = _read(spark, fresh, after, entries, there) if fresh else None
    after.clashes |= _clashes(after, there, entries)
    return rows, after


def fresh_of(found: Sequence[RunFound], known: Known) -> list[RunFound]:
    return [run for run in found if _is_fresh(run, known)]


def _is_fresh(run: RunFound, known: Known) -> bool:
    facts = known.folders.get(run.folder)
    return facts is None or facts["mark"] != run.mark or not facts["kept"]


def _read(
    spark: SparkSession, fresh: Sequence[RunFound], after: Known, entries: Mapping[str, Entry], there: Mapping[str, RunFound]
) -> Rows | None:
    summary = summarised(documents(spark, fresh)).persist()
    seen = summary.select("folder", "key", "started", "trouble").collect()
    for row in seen:
        if row["trouble"]:
            after.unreadable[row["folder"]] = row["trouble"]
            after.folders.pop(row["folder"], None)
    good = {row["folder"]: row for row in seen if not row["trouble"]}
    winners = _winners(list(good.values()), entries, there)
    for folder, row in good.items():
        kept = winners[row["key"]] == folder
        after.folders[folder] = {"mark": there[folder].mark, "key": row["key"], "kept": kept}
    mine = {folder: key for key, folder in winners.items() if folder in good}
    if not mine:
        summary.unpersist()
        return None
    chosen = frame(spark, ((folder,) for folder in mine), "folder string")
    wanted = summary.join(F.broadcast(chosen), on="folder", how="left_semi")
    rows = _rows(spark, wanted.drop("trouble"), [there[folder] for folder in mine], mine, after.troubles)
    return replace(rows, held=(summary, *rows.held))


def _winners(rows: Sequence[Row], entries: Mapping[str, Entry], there: Mapping[str, RunFound]) -> dict[str, str]:
    """For each key the folder that is kept: the one in the tables, unless it is gone and this one is the same run, moved."""
    by_key: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_key[row["key"]].append(row)
    winners = {}
    for key, claims in by_key.items():
        oldest = min(claims, key=lambda row: (row["started"], row["folder"]))
        entry = entries.get(key)
        if entry is None:
            winners[key] = oldest["folder"]
        elif entry.folder in there or os.path.isdir(entry.folder):  # noqa: PTH112  (thousands of them)
            winners[key] = entry.folder
        else:
            moved = [row["folder"] for row in claims if row["started"] == entry.started]
            winners[key] = min(moved, default=entry.folder)
    return winners


def _clashes(after: Known, there: Mapping[str, RunFound], entries: Mapping[str, Entry]) -> dict[str, list[str]]:
    by_key: dict[str, list[str]] = defaultdict(list)
    for path, facts in after.folders.items():
        if path in there:
            by_key[facts["key"]].append(path)
    clashes = {}
    for key, paths in by_key.items():
        kept = [path for path in paths if after.folders[path]["kept"]]
        first = kept or ([entries[key].folder] if key in entries else [])
        if others := sorted(set(paths) - set(first)):
            clashes[key] = [*first, *others]
    return clashes


def _rows(
    spark: SparkSession, summary: DataFrame, found: Sequence[RunFound], keys: Mapping[str, str], troubles: Troubles
) -> Rows:
    """`keys`: folder → key. Whatever is found out about a run's trouble is put into `troubles`."""
    runs = summary.select("folder", "key", "date").persist()
    lines = events(spark, found).persist()
    began = moments(lines).persist()
    for key in keys.values():
        troubles.pop(key, None)
    ends = _named(began, keys, spark).select(F.col("key").alias("run"), F.col("drain_ns").alias("end_ns"))
    ledgers = {keys[run.folder]: Path(run.folder) / "ledger" for run in found if "ledger" in run.there}
    troubles |= {keys[run.folder]: f"{run.folder} has no ledger: nothing is known of its partitions." for run in found
                 if "ledger" not in run.there}  # fmt: skip
    silent = [keys[run.folder] for run in found if "events.jsonl" not in run.there]
    if silent:  # their runs end with their ledgers
        ends = ends.union(frame(spark, ((key, None) for key in silent), "run string, end_ns bigint"))
    took = began.select("folder", ((F.col("last_ns") - F.col("first_ns")) / SECOND).alias("took_s"))
    timed = summary.join(took, on="folder", how="left").withColumn("duration_s", F.coalesce("duration_s", "took_s"))
    with meanwhile(lambda: darkness(spark, ledgers, ends)) as measured:
        said = happened(lines, began, runs).persist()
        said.count()
        torn = began.where(F.col("torn") > TORN).select("folder", "torn").collect()
        dark, damaged = measured()
    troubles |= damaged
    troubles |= {
        keys[row["folder"]]: f"{row['folder']}/events.jsonl has {row['torn']} lines that are no events." for row in torn
    }
    return Rows(
        timed.select(*(f"`{name}`" for name in summary.columns)),
        said,
        dark.join(F.broadcast(runs.select("key", "date")), on="key", how="inner"),
        runs.select("key", "date"),
        (runs, lines, began, dark, said),
    )


def _named(began: DataFrame, keys: Mapping[str, str], spark: SparkSession) -> DataFrame:
    named = frame(spark, keys.items(), "folder string, key string")
    return named.join(began, on="folder", how="inner")
