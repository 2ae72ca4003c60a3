"""Histories at the borders of how the Spark engine counts: pages, stretches, chunks. Each is judged as its title says."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaos.checkers.local import examine as examine_locally
from chaos.checkers.rings import rings
from tests.pure.histories import drained, ended, read, sent, turn
from tests.pure.naive_checker import NaiveChecker
from tests.spark.engine_histories import Told, counts_of_each, facts, findings_of_each, side_by_side, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERED = {"ordered": True}
UNCOMMITTED = {"isolation": "read_uncommitted"}
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
MANY = range(200)


def told(*rows: dict[str, Any], **clients: dict[str, Any]) -> Told:
    return Told(list(rows), clients)


def many(reader: str, leave_out: int | None = None) -> list[dict[str, Any]]:
    return [read(value, value, client=reader, op=1, ix=value) for value in MANY if value != leave_out]


SENT = [sent(value, value) for value in MANY]

BORDERS: dict[str, tuple[Told, dict[str, int]]] = {
    "an aborted record and another at one offset, of which one was read": (
        told(sent(1, 5, txn="t"), ended("abort", "t", 9), sent(2, 5), read(2, 5)),
        {"inconsistent-offsets": 1},
    ),
    "two aborted records at one offset": (
        told(sent(1, 5, txn="t"), sent(2, 5, txn="t"), ended("abort", "t", 9)),
        {"inconsistent-offsets": 1},
    ),
    "an aborted record alone at its offset": (told(sent(1, 5, txn="t"), ended("abort", "t", 9), sent(2, 6), read(2, 6)), {}),
    "two readers of whole pages": (told(*SENT, *many("c"), *many("d")), {}),
    "two readers, one of whom read another value at one offset": (
        told(*SENT, *many("c"), *many("d", leave_out=70), read(71, 70, client="d", op=1, ix=70)),
        {"inconsistent-offsets": 1, "duplicate": 1},
    ),
    "two readers who read two offsets the wrong way round, both alike": (
        told(sent(1, 1), sent(2, 2), *(read(3 - at, at, client=c) for at in (1, 2) for c in "cd")),
        {"inconsistent-offsets": 2, "duplicate": 2},
    ),
    "one of two readers has a hole in its poll": (told(*SENT, *many("c"), *many("d", leave_out=70)), {"poll-skip": 1}),
    "a hole in reads of one record each": (
        told(*SENT[:4], *(read(v, v, client="d") for v in range(4)), *(read(v, v, op=10 + v) for v in (0, 1, 3))),
        {"poll-skip": 1},
    ),
    "a hole in reads of one record each, and an assignment in it": (
        told(
            *(*SENT[:4], *(read(v, v, client="d") for v in range(4))),
            *(*(read(v, v, op=10 + v) for v in (0, 1, 3)), turn("assign", 12)),
        ),
        {},
    ),
    "a commit between two reads that lie side by side": (
        told(*SENT[:2], *(read(v, v, op=10 + 2 * v) for v in (0, 1)), turn("offsets", 11, offset=2)),
        {"commit-ahead": 1},
    ),
    "a record whose place only a reader of uncommitted records knows": (
        told(sent(0, 0), sent(1), sent(2, 2), read(0, 0), read(2, 2), read(1, 1, client="u"), u=UNCOMMITTED),
        {"poll-skip": 1},
    ),
    "an unknown record whose place only a reader of uncommitted records knows": (
        told(
            *(sent(0, 0), sent(1, outcome="info"), sent(2, 2), read(0, 0), read(2, 2), read(1, 1, client="u")), u=UNCOMMITTED
        ),
        {},
    ),
    "sends out of order, a million ops apart": (
        told(sent(1, 5, op=1), sent(2, 4, op=1 << 20), p=ORDERED),
        {"nonmonotonic-send": 1},
    ),
    "sends in order, a million ops apart": (told(sent(1, 4, op=1), sent(2, 5, op=1 << 20), p=ORDERED), {}),
    "sends in order, and not so in the file": (told(*(sent(v, v) for v in (3, 1, 2, 0)), p=ORDERED), {}),
    "sends of one op out of order": (
        told(sent(1, 5, op=1), sent(2, 4, op=1, ix=1), p=ORDERED),
        {"nonmonotonic-send": 1},
    ),
    "ops, offsets and values as far apart as there are numbers": (
        told(
            *(sent(LEAST, 0, op=LEAST), sent(GREATEST, GREATEST, op=GREATEST), drained(GREATEST)),
            *(read(LEAST, 0, op=LEAST), read(GREATEST, GREATEST, op=GREATEST), turn("assign", GREATEST, ix=1, offset=LEAST)),
            p=ORDERED,
        ),
        {},
    ),
    "a leap over many pages in which there is one record": (
        told(sent(1, 1), sent(2, 1000), sent(3, 9000), read(1, 1), read(3, 9000), read(2, 1000, client="d")),
        {"poll-skip": 1},
    ),
    "a leap over many pages in which there is none": (told(sent(1, 1), sent(3, 9000), read(1, 1), read(3, 9000)), {}),
}
FAR = "ops, offsets and values as far apart as there are numbers"  # its values cannot be moved to lie beside others


def test_each_border_is_judged_as_it_says_and_as_by_the_local_engine(spark: "SparkSession", tmp_path: Path):
    from spark_reports.examine import examine

    cases = [case for title, (case, _) in BORDERS.items() if title != FAR]
    expected = [counts for title, (_, counts) in BORDERS.items() if title != FAR]
    every = side_by_side(cases)
    ledger = written(tmp_path / "all", every)

    ours, theirs = examine(spark, ledger, every.clients, rings), examine_locally(ledger, every.clients)

    assert counts_of_each(tmp_path / "each", cases) == expected
    assert facts(ours) == facts(theirs)
    assert dict(zip(BORDERS, findings_of_each(ours, len(cases)), strict=False)) == dict(zip(BORDERS, expected, strict=False))


def test_numbers_as_far_apart_as_there_are(spark: "SparkSession", tmp_path: Path):
    from spark_reports.examine import examine

    case, expected = BORDERS[FAR]
    ledger = written(tmp_path / "run", case)

    ours = examine(spark, ledger, case.clients, rings)

    assert ours.counts == NaiveChecker({"clients": case.clients}, case.rows).counts()
    assert {name: count for name, count in ours.counts.items() if count} == expected


def test_only_what_is_large_is_cut_into_chunks():
    from spark_reports.anomalies.readers import BLOCK, WIDEST, chunk_shift

    assert chunk_shift(1_999_999, 1_000_000, (0, 1 << 40)) is None
    assert chunk_shift(4_000_000, 1_000_000, (0, 1 << 20)) == 19
    assert chunk_shift(4_000_000, 1_000_000, (0, 9)) == BLOCK
    assert chunk_shift(2_000_000, 1_000_000, (-(1 << 63), 1 << 63)) == WIDEST
