"""Spark's answer on an audit topic beside the auditor's own, on the same reports."""

import json
import random
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from interceptors.audit.auditor import Auditor
from interceptors.audit.reconcile import Judgement, Patience
from interceptors.audit.report import Report, encode
from interceptors.audit.sketch import Sketch
from tests.pure.audit_books import LATE, T0, World
from tests.spark.audit_histories import Arrived, history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORDS = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
SAME_WORD = {"complete": "complete", "unknown": "unknown", "late": "waiting", "pending": "waiting", "uncertain": "uncertain"}


def records(spark: "SparkSession", arrived: Iterable[tuple[bytes | None, int]]) -> "DataFrame":
    """As the connector gives them."""
    rows = [
        (b"k", value and bytearray(value), "kafka-trial-audit", 0, offset, datetime.fromtimestamp(ms / 1000, UTC))
        for offset, (value, ms) in enumerate(arrived)
    ]
    return spark.createDataFrame(rows, RECORDS)


def reports(spark: "SparkSession", arrived: Iterable[Arrived]) -> "DataFrame":
    from spark_reports.kafka.audit import audit_rows

    return audit_rows(records(spark, ((encode(report), ms) for report, ms in arrived)))


def told_by(world: World, *seen: Report) -> list[Arrived]:
    return [(report, report.at_ms) for report in seen]


def total(spark: "SparkSession", world: World, *seen: Report) -> dict[str, Any]:
    from spark_reports.kafka.links import link_totals

    [row] = link_totals(reports(spark, told_by(world, *seen)), now_ms=world.now, lateness_ms=LATE).collect()
    return row.asDict()


# ---- reports --------------------------------------------------------------------------------------------------------


def test_a_report_is_a_row_by_the_columns_of_the_table_and_a_copy_of_it_is_none(spark: "SparkSession"):
    from spark_reports.kafka.audit import AUDIT

    world = World()
    first, second = world.produced(1, 2), world.produced(3)

    found = reports(spark, [(first, T0), (second, T0 + 5), (first, T0 + 9)])

    assert found.schema.simpleString() == spark.createDataFrame([], AUDIT).schema.simpleString()
    rows = {row.key: row for row in found.collect()}
    assert set(rows) == {"producer/producer/p/0", "producer/producer/p/1"}
    assert rows["producer/producer/p/0"].received_ms == T0, "the first copy, not the last"
    assert rows["producer/producer/p/0"].date == date(2023, 11, 14)
    assert [row["count"] for row in rows["producer/producer/p/0"].rows] == [2]


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"seq": "x"}, {"tier": None}, {"rows": "none"}, {"rows": None}],
    ids=["version", "seq", "tier", "rows", "no rows"],
)
def test_what_is_no_report_is_left_out_and_counted(spark: "SparkSession", change: dict[str, Any]):
    from spark_reports.kafka.audit import audit_rows, strangers

    good = encode(World().produced(1))
    bad = json.dumps(json.loads(good) | change).encode()
    seen = records(spark, [(good, T0), (bad, T0), (b"{", T0), (b"[]", T0), (None, T0)])

    assert audit_rows(seen).count() == 1
    assert strangers(seen) == 4


# ---- links ----------------------------------------------------------------------------------------------------------


def test_what_everybody_has_is_complete(spark: "SparkSession"):
    from spark_reports.kafka.links import LINKS, link_totals

    world = World()
    seen = reports(spark, told_by(world, world.produced(*range(10)), world.consumed(*range(10))))

    found = link_totals(seen, now_ms=world.now, lateness_ms=LATE)

    assert found.schema.simpleString() == spark.createDataFrame([], LINKS).schema.simpleString()
    assert [tuple(row) for row in found.collect()] == [("orders", "producer", "billing", 10, 10, 0, 0, 10, 0, 0, 0, 1.0)]


def test_a_loss_is_counted_and_a_reader_that_is_not_there_yet_has_lost_nothing(spark: "SparkSession"):
    world = World()
    produced = world.produced(*range(10))
    behind, past = world.consumed(0, 1, 2, 3), world.consumed(5, 6, 7, 8, 9, begin=4)

    assert total(spark, world, produced, behind)["waiting"] == 10
    lost = total(spark, world, produced, behind, past)
    assert (lost["missing"], lost["duplicated"], lost["complete"], lost["completeness"]) == (1, 0, 9, 0.9)


def test_one_lost_and_one_doubled_are_seen_though_the_counts_are_equal(spark: "SparkSession"):
    world = World()
    seen = [world.produced(*range(10), closed=True), world.consumed(0, 1, 2, 4, 5, 6, 7, 7, 8, 9)]
    world.wait(LATE)

    found = total(spark, world, *seen)

    assert (found["sent"], found["received"], found["missing"], found["duplicated"]) == (10, 10, 1, 1)


def test_a_sum_beyond_64_bits_wraps_as_the_auditors_does(spark: "SparkSession"):
    """Sixty identities of 64 bits, told one by one: Spark's own sum would end in an overflow."""
    world = World()
    seen = [world.produced(offset) for offset in range(60)] + [world.consumed(*range(60))]

    assert total(spark, world, *seen)["complete"] == 60


@pytest.mark.parametrize(
    ("sent", "got"), [((5, 5), (5, 1)), ((3, 3), (11, 3))], ids=["the xor alone differs", "the sum alone differs"]
)
def test_either_half_of_a_fingerprint_tells_records_apart(
    spark: "SparkSession", sent: tuple[int, int], got: tuple[int, int]
):
    """Identities 1 and 4 against 2 and 3; 1 and 2 against 4 and 7."""
    world, place = World(), ("orders", 0, T0)
    seen = [
        world.produced(0, 1, rows={place: Sketch(2, *sent, 0, 1)}, closed=True),
        world.consumed(0, 1, rows={place: Sketch(2, *got, 0, 1)}),
    ]
    world.wait(LATE)

    found = total(spark, world, *seen)

    assert (found["complete"], found["missing"], found["duplicated"]) == (1, 1, 1)


def test_on_generated_histories_no_alarm_is_false_and_what_is_complete_is_complete(spark: "SparkSession"):
    """The auditor names records, so it may know more: a difference that it explains may be uncertain here. Never less."""
    from spark_reports.kafka.links import bucket_verdicts

    arrived = [one for number in range(300) for one in history(number, random.Random(number))]
    now_ms = max(ms for _, ms in arrived) + 2 * LATE
    auditor = Auditor(Patience(LATE))
    for report, ms in sorted(arrived, key=lambda one: one[1]):
        auditor.add(report, ms)
    expected = {place(one): one for one in auditor.judge(now_ms)}

    rows = bucket_verdicts(reports(spark, arrived), now_ms=now_ms, lateness_ms=LATE).collect()

    found = {(row.topic, row.sources, row.tier, row.partition, row.start_ms): row for row in rows}
    assert set(found) == set(expected)
    assert [(found[at], one) for at, one in expected.items() if not agrees(found[at], one)] == []
    words = [(row.verdict, expected[at].verdict) for at, row in found.items()]
    assert words.count(("complete", "complete")) > 200
    alarms = [pair for pair in words if pair[1] in ("missing", "extra")]
    assert len(alarms) > 50
    assert sum(word == "differs" for word, _ in alarms) > len(alarms) * 0.7, "and most differences are told"


def place(one: Judgement) -> tuple[str, str, str, int, int]:
    return (one.topic, one.flow.source, one.flow.tier[0], one.partition, one.start_ms)


def agrees(row: Any, one: Judgement) -> bool:
    if (row.sent, row.received) != (one.records, one.counted):
        return False
    if row.verdict == "differs":
        return one.verdict in ("missing", "extra") and row.missing <= one.missing and row.duplicated <= one.extra
    if one.verdict in ("missing", "extra"):
        return bool(row.verdict == "uncertain")
    return bool(row.verdict == SAME_WORD[one.verdict])
