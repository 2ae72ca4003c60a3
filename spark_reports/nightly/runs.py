"""Rows of the tables → the runs of the report, each with everything its page shows."""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, date
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from spark_reports.contents import FaultSpan, RecoveryRow, Run
from spark_reports.nightly.darkness import availabilities
from spark_reports.nightly.samples import OPERATIONS, worst_gap

SENTENCES = 10
RECOVERY = (
    "fault", "topic", "partition", "affected", "gap_s", "detect_s", "elect_s", "first_success_s", "full_isr_s",
    "drained_s", "bound_s", "within",
)  # fmt: skip


def between(table: DataFrame, first: date | None, last: date | None) -> DataFrame:
    rows = table if first is None else table.where(F.col("date") >= F.lit(first))
    return rows if last is None else rows.where(F.col("date") <= F.lit(last))


def collected(
    summary: DataFrame, darkness: DataFrame, happened: DataFrame, *, since: date, troubles: Mapping[str, str], site: Path
) -> list[Run]:
    """Oldest first. `site` is where the report will lie: links to the runs' own pages start there."""
    shares = {row["key"]: row["availability"] for row in availabilities(darkness).collect()}
    faults = fault_spans(happened)
    rows = summary.orderBy("started", "key").collect()
    return [_run(row, shares.get(row["key"]), faults.get(row["key"], []), since, troubles, site) for row in rows]


def fault_spans(happened: DataFrame) -> dict[str, list[FaultSpan]]:
    """By run, in order of time."""
    rows = happened.where(F.col("event").isin("fault", "bite")).orderBy("key", "at_s").collect()
    bites: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["event"] == "bite":
            bites.setdefault((row["key"], row["id"]), row["at_s"])
    spans = defaultdict(list)
    for row in rows:
        if row["event"] == "fault":
            spans[row["key"]].append(
                FaultSpan(
                    id=row["id"] or "",
                    kind=row["name"] or "",
                    sentence=row["sentence"] or row["name"] or "",
                    begin_s=row["at_s"],
                    end_s=row["end_s"],
                    bite_s=bites.get((row["key"], row["id"])),
                )
            )
    return dict(spans)


def _run(
    row: Row, share: float | None, faults: Sequence[FaultSpan], since: date, troubles: Mapping[str, str], site: Path
) -> Run:
    recovery = [_recovery(one) for one in row["recovery"] if one["kind"] in OPERATIONS and one["topic"] is not None]
    gap = worst_gap(recovery, "send")
    plain: dict[str, Any] = {
        name: row[name]
        for name in ("key", "run_id", "date", "scenario", "kafka", "config", "seed", "duration_s", "verdict", "reasons")
    }
    plain |= {name: row[name] for name in ("acknowledged", "read", "rows", "counts", "permitted", "folder")}
    return Run(
        **plain,
        started=row["started"].replace(tzinfo=UTC),
        findings=[one["sentence"] or one["name"] or "" for one in row["findings"]][:SENTENCES],
        recovery_s=gap[0] if gap else None,
        recovery_open=bool(gap and gap[1]),
        availability=share,
        recovery=recovery,
        faults=list(faults),
        report=_page(row["folder"], site),
        current=row["date"] >= since,
        trouble=troubles.get(row["key"]),
    )


def _recovery(one: Row) -> RecoveryRow:
    return RecoveryRow(operation=one["kind"], open=bool(one["censored"]), **{name: _given(one, name) for name in RECOVERY})


def _given(one: Row, name: str) -> Any:
    """Foreign folders may leave out what a row of ours always has."""
    return one[name] if one[name] is not None else {"fault": "", "partition": -1}.get(name)


def _page(folder: str, site: Path) -> str | None:
    page = f"{folder}/report.html"
    return os.path.relpath(page, site) if os.path.isfile(page) else None  # noqa: PTH113  (thousands of them)
