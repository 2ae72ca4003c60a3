"""What is drawn is what happened: the same counts, whatever the ledger is made of and however long it is."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chaos.evidence.folder import RunFolder
from chaos.report import figures, timeline
from chaos.report.buckets import Change, filled, nice_width, reach
from chaos.report.charts.backdrop import Backdrop
from chaos.report.charts.lines import Series, ceiling, short
from chaos.report.histogram import Histogram
from chaos.report.html import write_report
from chaos.report.rows import batches, span
from chaos.report.svg import Frame, area, decades, el, path, steps, ticks
from tests.pure.run_folders import BEGIN_NS, SCHEMA, Run, ns, write_run

HOSTILE = "</script><script>alert(1)</script>'\"&<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("runs"))


def test_buckets_hold_what_a_plain_count_holds(failed: RunFolder):
    rows = [row for file in sorted(failed.ledger.glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    begin, end = span(failed.ledger) or (0, 0)
    buckets = filled(begin, end, batches(failed.ledger))
    sent = [row for row in rows if row["kind"] == "send"]
    acked = [row for row in sent if row["outcome"] == "ok"]
    counted = [0] * buckets.number
    for row in acked:
        counted[(row["completed_ns"] - begin) // buckets.width_ns] += 1

    assert buckets.acked.tolist() == counted
    assert buckets.read.sum() == sum(row["kind"] == "poll" and not row["final"] for row in rows)
    assert buckets.unknown == buckets.unclear.sum() == sum(row["outcome"] == "info" for row in sent) > 0
    assert buckets.rows == len(rows)
    for partition in range(3):
        track = buckets.tracks["orders", partition]
        assert reach(track.acked_to)[-1] == 1 + max(row["offset"] for row in acked if row["partition"] == partition)
        assert track.drained == max(
            row["offset"] for row in rows if row["kind"] == "drained" and row["partition"] == partition
        )


@pytest.mark.slow
def test_many_small_batches_come_to_the_same(failed: RunFolder, monkeypatch: pytest.MonkeyPatch):
    begin, end = span(failed.ledger) or (0, 0)
    whole = filled(begin, end, batches(failed.ledger))
    monkeypatch.setattr("chaos.report.rows.BATCH", 97)
    split = filled(begin, end, batches(failed.ledger))

    assert split.acked.tolist() == whole.acked.tolist() and split.read.tolist() == whole.read.tolist()
    assert split.latency.percentile(0.99) == whole.latency.percentile(0.99)
    assert len(split.changes) == len(whole.changes) > 0


def test_a_ledger_of_any_make_is_read(tmp_path: Path):
    """JSON lines, narrow integers, dictionary-coded strings, no statistics, columns missing: the same two sends."""
    row = {"client": "p", "kind": "send", "outcome": "ok", "topic": "t", "partition": 0, "invoked_ns": 5, "completed_ns": 9}
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    (ledger / "a.jsonl").write_text(json.dumps(row | {"offset": 0}) + "\n")
    table = pa.Table.from_pylist([row | {"offset": 1, "completed_ns": 1000}])
    places = {name: number for number, name in enumerate(table.schema.names)}
    table = table.set_column(places["kind"], "kind", table["kind"].dictionary_encode())
    table = table.set_column(places["partition"], "partition", table["partition"].cast(pa.int8()))
    pq.write_table(table, ledger / "b.parquet", write_statistics=False)
    (ledger / ".draft.parquet").write_text("not parquet")

    assert span(ledger) == (5, 1000)
    buckets = filled(5, 1000, batches(ledger))
    assert buckets.acked.tolist() == [2]
    assert reach(buckets.tracks["t", 0].acked_to).tolist() == [2]


def test_the_number_of_buckets_is_bounded_whatever_the_length_of_the_run():
    for length in (1, 10**6, 23 * 10**9, 3600 * 10**9, 30 * 86400 * 10**9, 10**18):
        width = nice_width(length, 600)
        assert 1 <= -(-(length + 1) // width) <= 600


@given(st.lists(st.integers(10_000, 10**12), min_size=1, max_size=200))
@settings(max_examples=60)
def test_percentiles_are_right_to_a_few_percent(durations: list[int]):
    histogram = Histogram(2)
    histogram.add(np.zeros(len(durations), np.int64), np.array(durations))
    exact = sorted(durations)

    for share in (0.5, 0.99):
        rank = max(1, int(np.ceil(len(exact) * share)))
        found, nothing = histogram.percentile(share)
        assert found == pytest.approx(exact[rank - 1] / 1e9, rel=0.026)
        assert nothing is None
    assert histogram.maximum() == [exact[-1] / 1e9, None]


@pytest.mark.slow
def test_the_delay_behind_the_schedule_is_drawn_where_it_is_known(tmp_path: Path):
    folder = write_run(tmp_path, Run(files=1))
    assert "later than scheduled" not in write_report(folder).read_text()

    (file,) = folder.ledger.glob("*.parquet")
    table = pq.read_table(file)
    due = pa.array([at - 250_000_000 for at in table["invoked_ns"].to_pylist()])
    pq.write_table(table.append_column("scheduled_ns", due), file)
    begin, end = span(folder.ledger) or (0, 0)

    assert "later than scheduled" in write_report(folder).read_text()
    known = [delay for delay in filled(begin, end, batches(folder.ledger)).delay.percentile(0.5) if delay]
    assert known == pytest.approx([0.25] * len(known), rel=0.026)


def test_a_line_lifts_its_pen_where_nothing_is_known():
    assert path([(0, 1), (1, 2), None, (3, 4), (4, 5)]) == "M0.0 1.0L1.0 2.0M3.0 4.0L4.0 5.0"
    assert path([None, (1, 2), None]) == "M1.0 2.0h0"  # a dot, which round ends make visible
    assert steps([(0, 1), (2, 5)]) == [(0, 1), (2, 1), (2, 5)]
    assert area([(0, 1), (1, 1)], [(0, 3), (1, 2)]) == "M0.0 1.0L1.0 1.0L1.0 2.0L0.0 3.0Z"


@given(st.floats(0.001, 1e9), st.integers(2, 12))
@example(4.5, 2)
@settings(max_examples=80)
def test_an_axis_has_a_few_marks_inside_its_range(high: float, about: int):
    marks = ticks(0.0, high, about)

    assert 2 <= len(marks) <= about + 2
    assert all(0 <= mark <= high * 1.0001 for mark in marks)
    assert 2 <= len(decades(high, high * 20)) <= 8


def test_one_burst_does_not_flatten_the_run():
    calm: list[float | None] = [100.0] * 99

    assert ceiling([Series("a", "a", [*calm, 5000.0])]) == 200.0
    assert ceiling([Series("a", "a", [*calm, 250.0])]) == 250.0
    assert [short(value) for value in (950, 1200, 3_400_000)] == ["950", "1.2k", "3.4M"]


def test_attributes_and_text_of_a_drawing_are_escaped():
    assert el("text", HOSTILE, data_x=HOSTILE).count("<") == 2


CLOCK = timeline.Clock(BEGIN_NS, 10.0)


def event(at: float, name: str, **facts: Any) -> dict[str, Any]:
    return {"t_ns": ns(at), "event": name} | facts


def test_a_fault_lasts_until_it_is_healed():
    told = [event(2, "fault", id="f", fault="kill"), event(3, "bite", id="f", sentence="gone"), event(5, "heal", id="f")]
    (fault,) = timeline.faults(told, CLOCK)

    assert (fault.begin, fault.bite, fault.bitten, fault.end, fault.healed) == (2.0, 3.0, "gone", 5.0, True)


def test_a_fault_that_never_bit_and_never_healed_says_so():
    (fault,) = timeline.faults([event(2, "fault", id="f"), event(3, "bite", id="other")], CLOCK)

    assert (fault.bite, fault.end, fault.healed) == (None, 10.0, False)


def test_leaders_are_joined_while_they_stay_and_cut_where_the_run_begins():
    def state(at: float, leader: int | None, isr: list[int]) -> dict[str, Any]:
        return event(at, "partition", topic="t", partition=0, leader=leader, isr=isr, replicas=[1, 2, 3])

    told = [state(-1, 1, [1, 2, 3]), state(4, 1, [1, 2]), state(6, None, []), state(8, 2, [2])]
    lead = timeline.leaderships(told, CLOCK)["t", 0]

    assert [(one.begin, one.end, one.what) for one in lead.leaders] == [(0, 6, 1), (6, 8, None), (8, 10, 2)]
    assert [one.what for one in lead.in_sync] == [(3, 3), (2, 3), (0, 3), (1, 3)]
    assert timeline.leader_changes({("t", 0): lead}) == [
        (6.0, "t-0: broker 1 → no leader"),
        (8.0, "t-0: no leader → broker 2"),
    ]


def test_a_consumer_holds_a_partition_from_assign_to_revoke_or_crash():
    changes = [
        Change(ns(1), "c", "assign", "t", 0), Change(ns(1), "c", "assign", "t", 1), Change(ns(4), "c", "revoke", "t", 1),
        Change(ns(6), "c", "crash", "", -1), Change(ns(2), "idle", "revoke", "t", 0),
    ]  # fmt: skip
    held = timeline.holdings(changes, CLOCK)

    assert {name: [(one.begin, one.end, one.what) for one in row] for name, row in held.items()} == {
        "c": [(1, 4, ("t-0", "t-1")), (4, 6, ("t-0",))]
    }


def test_of_many_partitions_those_with_findings_and_long_gaps_are_shown():
    rows = [{"kind": "send", "topic": "t", "partition": 77, "gap_s": 9.0}]
    shown = figures.shown(
        [("t", number) for number in range(100)],
        {"recovery": rows, "findings": [{"name": "lost-write", "topic": "t", "partition": 50}]},
    )

    assert len(shown) == figures.MOST_ROWS and {("t", 77), ("t", 50)} <= set(shown)


@pytest.mark.slow
def test_memory_is_bounded_by_a_batch_not_by_the_ledger(tmp_path: Path):
    """Two million rows in one file: what is held at once stays far below what they weigh."""
    chance, rows = random.Random(1), 2_000_000
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    at = BEGIN_NS + np.arange(rows) * 10_000
    columns = {name: pa.nulls(rows, SCHEMA.field(name).type) for name in SCHEMA.names} | {
        "client": pa.array(["p"]).take(pa.array(np.zeros(rows, np.int8))),
        "kind": pa.array(["send"]).take(pa.array(np.zeros(rows, np.int8))),
        "outcome": pa.array(["ok"]).take(pa.array(np.zeros(rows, np.int8))),
        "topic": pa.array(["t"]).take(pa.array(np.zeros(rows, np.int8))),
        "partition": pa.array(np.arange(rows, dtype=np.int32) % 12),
        "offset": pa.array(np.arange(rows) // 12),
        "invoked_ns": pa.array(at),
        "completed_ns": pa.array(at + chance.randrange(10**6, 10**7)),
    }
    pq.write_table(pa.table(columns, schema=SCHEMA), ledger / "big.parquet", row_group_size=250_000)
    del columns, at
    held = []
    begin, end = span(ledger) or (0, 0)

    def watched() -> Any:
        for batch in batches(ledger):
            held.append(pa.total_allocated_bytes())
            yield batch

    assert filled(begin, end, watched()).acked.sum() == rows
    assert len(held) >= 8 and max(held) < 100 * 2**20


def test_faults_at_the_same_time_are_one_shade():
    def fault(name: str, begin: float, end: float) -> timeline.Fault:
        return timeline.Fault(name, "kill", "", begin, None, "", end, True)

    drawn = Backdrop(faults=[fault("a", 1, 4), fault("b", 2, 6), fault("c", 8, 9)]).drawn(Frame(1000, 100, 10.0))

    assert drawn.count('class="fault"') == 2
    assert drawn.count('class="fault-edge"') == 3
