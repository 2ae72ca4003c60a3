"""The gaps that Spark finds are those of the local engine: on every partition of every run, to the nanosecond."""

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from chaos.evidence.tracks import Tracks
from chaos.recovery import gaps as local
from chaos.recovery.attempts import polls, sends
from spark_reports.ledger.frame import TIMES, read_ledgers
from spark_reports.recovery.availability import availability
from spark_reports.recovery.gaps import GAPS, ORDINARY_S, gaps
from spark_reports.recovery.rates import rates
from tests.pure.histories import Row, row, write_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Gap = tuple[str, str, int, str, int, int, bool]
CLEAN_RUN = Path(__file__).parent.parent / "data" / "clean_run"
STEP = 200_000_000  # ns: five to an ordinary silence, and few enough moments that many coincide


def gaps_of(run: str, ledger: Path, end: int | None) -> list[Gap]:
    """As the local engine counts them: polls on topics that somebody read."""
    tracks = Tracks(ledger)
    every = list(tracks.all())
    read = {track.topic for track in every if len(track.read_ns)}
    found: list[Gap] = []
    for track in every:
        waits = {"send": sends(track)} | ({"poll": polls(track)} if track.topic in read else {})
        for kind, attempts in waits.items():
            dark = local.gaps(attempts, tracks.last_ns if end is None else end)
            for begin, close, open_ in zip(dark.begin.tolist(), dark.end.tolist(), dark.open.tolist(), strict=True):
                found.append((run, track.topic, track.partition, kind, begin, close, open_))
    return sorted(found)


def gaps_by_spark(spark: "SparkSession", ledgers: dict[str, Path], ends: dict[str, int | None]) -> list[Gap]:
    rows = read_ledgers(spark, ledgers, TIMES)
    found = gaps(rows, spark.createDataFrame([*ends.items()], "run string, end_ns bigint"))
    assert ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in found.schema) == GAPS
    return sorted(tuple(one) for one in found.collect())


def drawn(seed: int) -> list[Row]:
    """Sends that are answered, late, failed or never; readers that read late, twice, before the answer, or not."""
    random = Random(seed)
    latest, rows, op = random.choice((3, 10, 40, 120)), [], 0
    txns = {f"t{n}": random.choice((None, "commit", "abort")) for n in range(random.choice((0, 0, 2, 4)))}
    for value in range(random.choice((0, 1, 3, 10, 40))):
        start = random.randrange(latest)
        answered = random.choice((None, start - 1, start, start + 1, start + 1, start + 2, start + random.randrange(40)))
        cells: Row = {"topic": random.choice("xxy"), "partition": random.choice((0, 0, 1)), "value": value}
        outcome = random.choice(("ok", "ok", "ok", "info", "fail"))
        txn = random.choice([None, None, *txns])
        rows.append(timed("send", "p", op, start, answered, outcome=outcome, txn=txn, **cells))
        for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
            seen = (start if answered is None else answered) + random.choice((-1, 0, 1, 1, 2, random.randrange(30)))
            final = random.choice((None, False, False, True))
            rows.append(timed("poll", random.choice("cd"), op, None, seen, final=final, offset=value, ix=len(rows), **cells))
        op += 1
    for name, end in txns.items():
        if end is not None:
            outcome = random.choice(("ok", "ok", "info", "fail"))
            rows.append(timed(end, "p", op, None, random.randrange(latest + 20), outcome=outcome, txn=name))
        op += 1
    return rows + [oddity(random, op + n, latest) for n in range(random.choice((0, 0, 2)))]


def oddity(random: Random, op: int, latest: int) -> Row:
    """What is left out: no time, no place, no record. And a value that nobody sent."""
    place: Row = {"topic": "x", "partition": 0, "offset": 0}
    return random.choice(
        (
            timed("send", "q", op, None, 3, value=900, **place),
            timed("send", "q", op, random.randrange(latest), 3, value=901),
            timed("poll", "q", op, None, None, value=902, **place),
            timed("poll", "q", op, random.randrange(latest), None, value=903, **place),
            timed("poll", "q", op, None, random.randrange(latest), **place),
            timed("poll", "q", op, None, random.randrange(latest), value=904, topic="z", partition=7, offset=0),
            timed("commit", "q", op, None, None, txn="t0"),
            row("crash", "q", op, completed_ns=99 * STEP),
        )
    )


def timed(kind: str, client: str, op: int, invoked: int | None, completed: int | None, **cells: Any) -> Row:
    times = {"invoked_ns": invoked, "completed_ns": completed}
    return row(kind, client, op, **cells, **{name: None if at is None else at * STEP for name, at in times.items()})


def folders(path: Path, runs: Iterable[list[Row]]) -> dict[str, Path]:
    return {f"run {n}": write_run(path / str(n), rows) / "ledger" for n, rows in enumerate(runs)}


def test_the_gaps_of_many_drawn_runs_are_those_of_the_local_engine(spark: "SparkSession", tmp_path: Path):
    random = Random(8)
    ledgers = folders(tmp_path, (drawn(seed) for seed in range(400)))
    ends = {run: random.choice((None, random.randrange(150) * STEP)) for run in ledgers}

    found = gaps_by_spark(spark, ledgers, ends)

    wanted = [gap for run, ledger in ledgers.items() for gap in gaps_of(run, ledger, ends[run])]
    assert found == sorted(wanted)
    for kind in ("send", "poll"):
        for open_ in (True, False):
            assert sum(gap[3] == kind and gap[6] == open_ for gap in found) > 50, "too few to mean anything"


def test_the_gaps_of_a_recorded_run_are_those_of_the_local_engine(spark: "SparkSession"):
    ledger, end = CLEAN_RUN / "ledger", drain_of(CLEAN_RUN)

    found = gaps_by_spark(spark, {"clean": ledger, "until it ends": ledger}, {"clean": end, "until it ends": None})

    assert found == sorted(gaps_of("clean", ledger, end) + gaps_of("until it ends", ledger, None))
    assert {(gap[0], gap[3]) for gap in found} == {
        (run, kind) for run in ("clean", "until it ends") for kind in ("send", "poll")
    }


def drain_of(run: Path) -> int | None:
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return next((e["t_ns"] for e in events if e["event"] == "phase" and e.get("phase") == "drain"), None)


# ---- a few words by hand, so that both engines cannot be wrong together -----------------------------------------------

PLACE: Row = {"topic": "x", "partition": 0}


def in_steps(spark: "SparkSession", path: Path, rows: list[Row], end: int | None) -> list[tuple[str, int, int, bool]]:
    ledgers = folders(path, [rows])
    given = None if end is None else end * STEP
    found = gaps_by_spark(spark, ledgers, {"run 0": given})
    assert found == gaps_of("run 0", ledgers["run 0"], given)
    return [(kind, begin // STEP, close // STEP, open_) for _, _, _, kind, begin, close, open_ in found]


def test_a_gap_runs_from_the_first_attempt_left_waiting_to_the_next_acknowledgement(spark: "SparkSession", tmp_path: Path):
    rows = [timed("send", "p", n, at, done, value=n, **PLACE) for n, (at, done) in enumerate([(0, 1), (5, 40), (20, 41)])]

    assert in_steps(spark, tmp_path, rows, 50) == [("send", 0, 1, False), ("send", 5, 40, False), ("send", 40, 41, False)]


def test_what_is_outstanding_at_the_end_is_open_unless_it_was_merely_in_flight(spark: "SparkSession", tmp_path: Path):
    rows = [timed("send", "p", 0, 10, None, value=0, outcome="info", **PLACE)]

    assert int(ORDINARY_S * 1e9) == 5 * STEP
    assert in_steps(spark, tmp_path / "long", rows, 15) == [("send", 10, 15, True)]
    assert in_steps(spark, tmp_path / "short", rows, 14) == []


def test_a_record_waits_for_its_reader_from_its_commit_on(spark: "SparkSession", tmp_path: Path):
    rows = [
        timed("send", "p", 0, 0, 1, value=0, txn="t", **PLACE),
        timed("commit", "p", 1, 1, 6, txn="t"),
        timed("poll", "c", 0, None, 30, value=0, offset=0, **PLACE),
    ]

    assert in_steps(spark, tmp_path, rows, 50) == [("poll", 6, 30, False), ("send", 0, 1, False)]


def test_where_nobody_reads_a_topic_no_record_waits(spark: "SparkSession", tmp_path: Path):
    sent = timed("send", "p", 0, 0, 1, value=0, **PLACE)
    beside = timed("poll", "c", 0, None, 2, value=7, offset=0, topic="x", partition=1)

    assert in_steps(spark, tmp_path / "nobody", [sent], 50) == [("send", 0, 1, False)]
    assert in_steps(spark, tmp_path / "beside", [sent, beside], 50) == [("poll", 1, 50, True), ("send", 0, 1, False)]


def test_a_run_whose_end_is_not_told_is_left_out(spark: "SparkSession", tmp_path: Path):
    rows = [timed("send", "p", 0, 0, 1, value=0, **PLACE)]
    ledgers = folders(tmp_path, [rows, rows])

    assert {gap[0] for gap in gaps_by_spark(spark, ledgers, {"run 1": 50})} == {"run 1"}


@pytest.mark.parametrize(
    "rows", [[], [row("crash", "p", 1)], [timed("poll", "c", 0, None, 2)]], ids=["none", "crash", "idle"]
)
def test_no_traffic_is_no_gap(spark: "SparkSession", tmp_path: Path, rows: list[Row]):
    assert in_steps(spark, tmp_path, rows, 50) == []


def test_python_is_not_asked_about_any_row(spark: "SparkSession", tmp_path: Path):
    rows = read_ledgers(spark, folders(tmp_path, [drawn(1)]), TIMES)
    found = gaps(rows, spark.createDataFrame([("run 0", 5)], "run string, end_ns bigint"))

    assert "Python" not in found._jdf.queryExecution().executedPlan().toString()


# ---- what they come to, and rates ---------------------------------------------------------------------------------------


def availability_of(run: str, ledger: Path, end: int | None) -> dict[tuple[str, str, int, str], tuple[Any, ...]]:
    """By the local engine's gaps: number, longest, whether that is open, sum until the end, time watched."""
    tracks = Tracks(ledger)
    every, end = list(tracks.all()), tracks.last_ns if end is None else end
    read = {track.topic for track in every if len(track.read_ns)}
    found = {}
    for track in every:
        for kind, attempts in {"send": sends(track), "poll": polls(track)}.items():
            if (kind == "poll" and track.topic not in read) or not len(attempts.start) + len(attempts.success):
                continue
            dark = local.gaps(attempts, end)
            every_gap = zip(dark.begin.tolist(), dark.end.tolist(), dark.open.tolist(), strict=True)
            long = [(begin, close, open_) for begin, close, open_ in every_gap if close - begin >= ns(ORDINARY_S)]
            worst = max(((open_, close - begin) for begin, close, open_ in long), default=(False, 0))
            sum_ns = sum(max(0, min(close, end) - begin) for begin, close, _ in long)
            watched = max(0, end - int(attempts.start[0])) if len(attempts.start) else 0
            figures = (len(long), worst[1] / 1e9, worst[0], pytest.approx(sum_ns / 1e9), watched / 1e9)
            found[run, track.topic, track.partition, kind] = figures
    return found


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def test_availability_is_what_the_local_engines_gaps_come_to(spark: "SparkSession", tmp_path: Path):
    random = Random(9)
    ledgers = folders(tmp_path, (drawn(seed) for seed in range(1000, 1150))) | {"clean": CLEAN_RUN / "ledger"}
    ends = {run: random.choice((None, random.randrange(150) * STEP)) for run in ledgers} | {"clean": drain_of(CLEAN_RUN)}

    frame = availability(
        read_ledgers(spark, ledgers, TIMES), spark.createDataFrame([*ends.items()], "run string, end_ns bigint")
    )

    told = {(one.run, one.topic, one.partition, one.kind): tuple(one)[4:] for one in frame.collect()}
    assert told == {
        key: one for run, ledger in ledgers.items() for key, one in availability_of(run, ledger, ends[run]).items()
    }
    assert frame.dtypes[4:] == [
        ("gaps", "int"),
        ("longest_s", "double"),
        ("longest_open", "boolean"),
        ("dark_s", "double"),
        ("watched_s", "double"),
    ]
    assert {figures[0] == 0 for figures in told.values()} == {True, False}


def test_a_partition_without_a_gap_of_a_second_has_a_row_of_zeros(spark: "SparkSession", tmp_path: Path):
    quick = [timed("send", "p", n, n, n + 1, value=n, topic="x", partition=0) for n in range(20)]
    slow = [timed("send", "p", 100, 2, 7, value=100, topic="x", partition=1)]
    never = [timed("send", "p", 101, 4, None, value=101, topic="x", partition=2)]
    ledgers = folders(tmp_path, [quick + slow + never])

    frame = availability(
        read_ledgers(spark, ledgers, TIMES), spark.createDataFrame([("run 0", 24 * STEP)], "run string, end_ns bigint")
    )

    assert sorted(tuple(one)[2:] for one in frame.collect()) == [
        (0, "send", 0, 0.0, False, 0.0, 4.8),
        (1, "send", 1, 1.0, False, 1.0, 4.4),
        (2, "send", 1, 4.0, True, 4.0, 4.0),
    ]


def test_rates_count_answers_and_reads_by_the_moment_they_came(spark: "SparkSession", tmp_path: Path):
    rows = [
        timed("send", "p", 1, 0, 4, value=1, **PLACE),
        timed("send", "p", 2, 4, 5, value=2, **PLACE),
        timed("send", "p", 3, 4, 5, value=3, outcome="fail", **PLACE),
        timed("send", "p", 4, 4, 9, value=4, outcome="info", **PLACE),
        timed("send", "p", 5, 4, None, value=5, outcome="info", **PLACE),
        timed("poll", "c", 6, None, 5, value=1, offset=0, **PLACE),
        timed("poll", "d", 7, 5, None, value=1, offset=0, **PLACE),
        timed("poll", "c", 8, None, 6, **PLACE),
        timed("poll", "c", 9, None, 6, value=2, offset=1, final=True, **PLACE),
        timed("send", "p", 10, -4, -3, value=6, **PLACE),
    ]
    ledgers = folders(tmp_path, [rows, rows[:1]])

    frame = rates(read_ledgers(spark, ledgers, TIMES), 1.0, first_ns=0)

    assert frame.dtypes == [("run", "string"), *((name, "bigint") for name in ("bucket", "acked", "read", "failed"))]
    assert sorted(tuple(one) for one in frame.collect()) == [
        ("run 0", -1, 1, 0, 0),
        ("run 0", 0, 1, 0, 0),
        ("run 0", 1, 1, 2, 2),
        ("run 1", 0, 1, 0, 0),
    ]
