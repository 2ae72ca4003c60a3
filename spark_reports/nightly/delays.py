"""From a fault to somebody's noticing: a lag status that is not good, an alert that fires; and links that were audited."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from spark_reports.contents import Audit, Delay, Spread
from spark_reports.kafka.links import link_totals
from spark_reports.nightly.statistics import Sample

CALM = ("OK", "WARMING_UP", "UNKNOWN", "EMPTY_GROUP")  # statuses of the lag monitor that report no trouble
Kind = Literal["lag", "alert"]
KINDS: tuple[Kind, ...] = ("lag", "alert")
SILENT = "nothing"  # the name, where nobody said anything


@dataclass(frozen=True, slots=True)
class Noticed:
    """How soon something was noticed in the runs of a scenario, in seconds after a fault, under which name."""

    kind: Kind
    name: str
    scenario: str
    sample: Sample
    missed: int  # runs that were watched and in which nothing of this kind was said


def noticed(happened: DataFrame, scenarios: Mapping[str, str]) -> list[Noticed]:
    """`scenarios`: run → scenario, of the runs that count. A run that nobody watched says nothing about watching."""
    wanted = happened.where(F.col("event").isin("fault", "observer", *KINDS)).orderBy("key", "at_s")
    by_run: dict[str, list[Row]] = defaultdict(list)
    for row in wanted.collect():
        if row["key"] in scenarios:
            by_run[row["key"]].append(row)
    delays: dict[tuple[str, Kind], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    missed: dict[tuple[str, Kind], int] = defaultdict(int)
    for run, rows in by_run.items():
        for kind in KINDS:
            found = _delays(rows, kind)
            for name, seconds in found:
                delays[scenarios[run], kind][name].append(seconds)
            watched = any(row["event"] == "observer" and row["name"] == kind for row in rows)
            if not found and watched and any(row["event"] == "fault" for row in rows):
                missed[scenarios[run], kind] += 1
    return [
        Noticed(kind, name, scenario, Sample.of(delays[scenario, kind].get(name, [])), missed[scenario, kind])
        for scenario, kind in sorted({*delays, *missed})
        for name in sorted(delays[scenario, kind]) or [SILENT]
    ]


def delay(one: Noticed, spread: Spread) -> Delay:
    return Delay(kind=one.kind, name=one.name, scenario=one.scenario, spread=spread, missed=one.missed)


def audits(happened: DataFrame, scenarios: Mapping[str, str]) -> list[Audit]:
    """What was said last of each link of each run."""
    last = F.max_by(F.struct("sent", "received", "missing", "duplicated", "completeness"), "at_s")
    rows = happened.where(F.col("event") == "audit").groupBy("key", "name").agg(last.alias("said")).orderBy("key", "name")
    return [
        Audit(
            run=row["key"],
            scenario=scenarios[row["key"]],
            link=row["name"] or "",
            completeness=row["said"]["completeness"],
            **{name: row["said"][name] or 0 for name in ("sent", "received", "missing", "duplicated")},
        )
        for row in rows.collect()
        if row["key"] in scenarios
    ]


def topic_audits(reports: DataFrame, *, now_ms: int) -> list[Audit]:
    """What the audit topic says of each link, by the reports that were read from it: no run's, but everybody's."""
    rows = link_totals(reports, now_ms=now_ms).orderBy("topic", "sources", "tier").collect()
    return [
        Audit(
            run=None,
            scenario=None,
            link=f"{row['topic']}: {row['sources']} → {row['tier']}",
            completeness=row["completeness"],
            **{name: row[name] or 0 for name in ("sent", "received", "missing", "duplicated")},
        )
        for row in rows
    ]


def _delays(rows: Sequence[Row], kind: Kind) -> list[tuple[str, float]]:
    """For each fault the first status, and the first firing of each alert, at or after it and before the next one."""
    faults = [row["at_s"] for row in rows if row["event"] == "fault"]
    said = [row for row in rows if row["event"] == kind and _matters(row, kind)]
    found: list[tuple[str, float]] = []
    for begin, until in zip(faults, [*faults[1:], float("inf")], strict=True):
        first: dict[str, float] = {}
        for row in said:
            if begin <= row["at_s"] < until:
                first.setdefault(str(row["name"]), row["at_s"] - begin)
        found += list(first.items())[: 1 if kind == "lag" else None]
    return found


def _matters(row: Row, kind: Kind) -> bool:
    return row["name"] is not None and (row["state"] == "firing" if kind == "alert" else row["name"] not in CALM)
