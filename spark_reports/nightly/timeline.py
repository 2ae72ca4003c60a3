"""The worst run of each scenario, second by second: faults, dark partitions, what was acknowledged and read, who noticed."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from spark_reports.contents import Dark, Lane, Mark, Run, Timeline
from spark_reports.frames import frame
from spark_reports.ledger.frame import TIMES, read_ledgers
from spark_reports.nightly.darkness import bearing
from spark_reports.nightly.delays import CALM
from spark_reports.nightly.folders import SIGNS, RunFound
from spark_reports.nightly.happened import SECOND, moments
from spark_reports.nightly.reading import events
from spark_reports.recovery.gaps import ORDINARY_S, gaps
from spark_reports.recovery.rates import rates

BUCKETS = 120
MOST_LANES = 16
MOST_MARKS = 60
Rows = Sequence[Row]


def timelines(spark: SparkSession, current: Sequence[Run], happened: DataFrame) -> dict[str, Timeline]:
    """By scenario. Only a run whose folder is still there has one."""
    worst = {run.key: run for run in _worst(current)}
    if not worst:
        return {}
    found = [RunFound(run.folder, frozenset(SIGNS), frozenset(), "") for run in worst.values()]
    folders = {run.folder: key for key, run in worst.items()}
    began = {folders[row["folder"]]: row for row in moments(events(spark, found)).collect() if row["first_ns"] is not None}
    ledgers = {key: Path(run.folder) / "ledger" for key, run in worst.items() if key in began}
    dark = _by_run(_dark(spark, ledgers, began))
    counts = _by_run(_counts(spark, ledgers, began))
    marks = _by_run(_marks(happened, list(ledgers)))
    return {
        worst[key].scenario: _timeline(worst[key], began[key], dark[key], counts[key], marks[key]) for key in sorted(ledgers)
    }


def _worst(current: Sequence[Run]) -> list[Run]:
    """Of each scenario the run with the longest gap that can still be looked at."""
    by_scenario: dict[str, list[Run]] = defaultdict(list)
    for run in current:
        by_scenario[run.scenario].append(run)
    worst = []
    for _, runs in sorted(by_scenario.items()):
        longest = sorted(runs, key=lambda run: (run.recovery_open, run.recovery_s or 0.0, run.key), reverse=True)
        worst += [run for run in longest if run.trouble is None and _is_there(run)][:1]
    return worst


def _is_there(run: Run) -> bool:
    return all((Path(run.folder) / sign).exists() for sign in SIGNS)


def _dark(spark: SparkSession, ledgers: Mapping[str, Path], began: Mapping[str, Row]) -> list[Row]:
    ends = frame(spark, ((key, began[key]["drain_ns"]) for key in ledgers), "run string, end_ns bigint")
    long_enough = F.col("end_ns") - F.col("begin_ns") >= int(ORDINARY_S * SECOND)
    found, _ = bearing(ledgers, lambda left: gaps(read_ledgers(spark, left, TIMES), ends).where(long_enough))
    rows = found.orderBy("run", "begin_ns").collect()
    found.unpersist()
    return rows


def _counts(spark: SparkSession, ledgers: Mapping[str, Path], began: Mapping[str, Row]) -> list[Row]:
    """Per run, because each has its own width of a bucket."""
    return [
        row
        for key, ledger in ledgers.items()
        for row in rates(
            read_ledgers(spark, {key: ledger}, TIMES), _width(began[key]), first_ns=began[key]["first_ns"]
        ).collect()
    ]


def _width(row: Row) -> float:
    return max(float(row["last_ns"] - row["first_ns"]) / SECOND / BUCKETS, 0.05)


def _marks(happened: DataFrame, keys: list[str]) -> list[Row]:
    said = F.col("event").isin("election", "lag", "alert") & F.col("key").isin(*keys)
    return happened.where(said).withColumnRenamed("key", "run").orderBy("run", "at_s", "sentence").collect()


def _by_run(rows: Rows) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["run"]].append(row)
    return found


def _timeline(run: Run, began: Row, dark: Rows, counts: Rows, marks: Rows) -> Timeline:
    width = _width(began)
    acked, read = [0] * BUCKETS, [0] * BUCKETS
    for row in counts:
        nth = min(max(row["bucket"], 0), BUCKETS - 1)  # what comes after the last event belongs to the last moment
        acked[nth] += row["acked"]
        read[nth] += row["read"]
    return Timeline(
        run=run.key,
        length_s=(began["last_ns"] - began["first_ns"]) / SECOND,
        faults=run.faults,
        lanes=_lanes(dark, began["first_ns"]),
        marks=_told(marks),
        bucket_s=width,
        acked=acked,
        read=read,
    )


def _lanes(dark: Rows, first_ns: int) -> list[Lane]:
    """Partitions with the longest gaps first."""
    lanes: dict[tuple[str, int, str], list[Dark]] = defaultdict(list)
    for row in dark:
        begin, end = ((row[name] - first_ns) / SECOND for name in ("begin_ns", "end_ns"))
        lanes[row["topic"], row["partition"], row["kind"]].append(Dark(begin_s=begin, end_s=end, open=row["open"]))

    def longest(lane: tuple[str, int, str]) -> float:
        return max(gap.end_s - gap.begin_s for gap in lanes[lane])

    order = sorted(lanes, key=lambda lane: (-longest(lane), lane))[:MOST_LANES]
    return [
        Lane(topic=t, partition=p, operation="send" if k == "send" else "poll", dark=lanes[t, p, k]) for t, p, k in order
    ]


def _told(marks: Rows) -> list[Mark]:
    """Elections, statuses that are not good and alerts that fire; when all is well again is no mark."""
    wanted = [
        row
        for row in marks
        if row["event"] == "election"
        or (row["event"] == "lag" and row["name"] not in CALM)
        or (row["event"] == "alert" and row["state"] == "firing")
    ]
    return [
        Mark(at_s=row["at_s"], kind=row["event"], sentence=row["sentence"] or row["name"] or "")
        for row in wanted[:MOST_MARKS]
    ]
