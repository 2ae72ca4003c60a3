"""What is wrong with a ledger is said by both engines in the same words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chaos.evidence.history import read_history
from kernel.errors import SuiteError, UsageError
from spark_reports.ledger import translated
from spark_reports.ledger.damage import damage_told
from spark_reports.ledger.frame import read_ledger
from spark_reports.ledger.rules import broken, refuse_first
from spark_reports.ledger.twins import refuse_twins
from tests.pure.histories import SCHEMA, Row, drained, random_run, read, row, sent, write_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = [sent(1, 0), read(1, 0), drained(1)]
Refused = Callable[[Path], str]


@pytest.fixture
def refused(spark: "SparkSession") -> Refused:
    def refused(ledger: Path) -> str:
        with pytest.raises(UsageError) as local:
            read_history(ledger)
        with pytest.raises(UsageError) as ours:
            read_whole(spark, ledger)
        assert ours.value.message == local.value.message
        return ours.value.message.replace(f"{ledger}/", "")

    return refused


def read_whole(spark: "SparkSession", ledger: Path) -> int:
    with damage_told(ledger):
        rows = read_ledger(spark, ledger)
        wrong = rows.where(broken()).count()
        if wrong:
            refuse_first(spark, ledger)
        refuse_twins(rows, ledger)
        return wrong


def rewrite(run: Path, change: Callable[[pa.Table], pa.Table], **options: Any) -> Path:
    file = run / "ledger" / "0.parquet"
    pq.write_table(change(pq.read_table(file)), file, **options)
    return run / "ledger"


def test_a_ledger_without_files_is_refused(tmp_path: Path, refused: Refused):
    run = write_run(tmp_path / "run", GOOD)
    (run / "ledger" / "0.parquet").rename(run / "ledger" / "_0.parquet")

    assert refused(run / "ledger").startswith(f"{run}/ledger holds no *.parquet and no *.jsonl")
    assert "holds no *.parquet" in refused(tmp_path / "nowhere")


CHANGES: list[tuple[Row, str]] = [
    ({"kind": "sned"}, "kind is 'sned', not one of send, poll, begin"),
    ({"outcome": "okay"}, "outcome is 'okay', not one of ok, fail, info."),
    ({"kind": "", "outcome": None, "client": None}, "kind is '', not one of"),
    ({"client": None}, "client is null: every row needs one."),
    ({"op": None}, "op is null: every row needs one."),
    ({"kind": None}, "kind is null: every row needs one."),
    ({"outcome": None}, "outcome is null: every row needs one."),
    ({"topic": None}, "topic is null: a poll that returned a record knows its topic, partition and offset."),
    ({"partition": None}, "partition is null: a poll that returned a record"),
    ({"offset": None}, "offset is null: a poll that returned a record"),
    ({"topic": None, "partition": -1, "offset": None}, "topic is null: a poll that returned a record"),
    ({"offset": -1001}, "offset is -1001: null stands for unknown."),
    ({"partition": -1}, "partition is -1: null stands for unknown."),
    ({"partition": -1, "offset": -1}, "partition is -1: null stands for unknown."),
    ({"kind": "crash", "partition": -1}, "partition is -1: null stands for unknown."),
    ({"kind": "offsets", "offset": -1}, "offset is -1: null stands for unknown."),
    ({"outcome": "fail", "offset": -1}, "offset is -1: null stands for unknown."),
    ({"kind": "send", "value": None}, "value is null: every send carries a value."),
    ({"kind": "send", "outcome": "fail", "value": None, "offset": -1}, "value is null: every send carries a value."),
    ({"kind": "drained", "offset": None}, "offset is null: a drained row that is ok names topic"),
    ({"kind": "drained", "topic": None, "value": None}, "topic is null: a drained row that is ok names topic"),
]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_row_that_breaks_the_contract_is_named(tmp_path: Path, refused: Refused, form: str):
    word = {"parquet": "row", "jsonl": "line"}[form]
    for number, (changed, sentence) in enumerate(CHANGES):
        run = write_run(tmp_path / str(number), [GOOD[0], GOOD[1] | changed, GOOD[2]], form=form)

        assert f"0.{form} {word} 2: {sentence}" in refused(run / "ledger")


def test_rows_that_keep_the_contract_are_left_alone(spark: "SparkSession", tmp_path: Path):
    allowed = [
        row("assign", "c", 1, topic="orders", partition=0, offset=-1001),
        row("poll", "c", 2, topic=None, outcome="ok"),
        row("poll", "c", 3, outcome="fail", value=7),
        row("drained", "d", 4, outcome="info"),
        row("offsets", "c", 5),
        row("send", "p", 6, value=-3, outcome="info"),
        row("crash", "p", -7, ix=-1),
        *GOOD,
    ]
    ledger = write_run(tmp_path / "run", allowed, files=2, form="both") / "ledger"

    assert read_history(ledger).rows == len(allowed)
    assert read_whole(spark, ledger) == 0


def test_drawn_rows_that_keep_the_contract_are_left_alone(spark: "SparkSession", tmp_path: Path):
    ledger = write_run(tmp_path / "run", random_run(8, 600).rows, files=3, form="both") / "ledger"

    assert read_history(ledger).rows == 600
    assert read_whole(spark, ledger) == 0


def test_the_first_of_many_is_named_by_its_file_and_its_place_in_it(tmp_path: Path, refused: Refused):
    rows = [sent(value, value) for value in range(5000)]
    run = write_run(tmp_path / "run", rows)
    broken_rows = [one | {"offset": -5} if one["value"] in (3123, 4000) else one for one in rows]
    table = pa.Table.from_pylist(broken_rows, schema=SCHEMA)
    pq.write_table(table, run / "ledger" / "0.parquet", row_group_size=1000)
    pq.write_table(table.slice(3123, 1), run / "ledger" / "1.parquet")

    assert refused(run / "ledger") == "0.parquet row 3124: offset is -5: null stands for unknown."


def test_a_ledger_in_which_nothing_is_wrong_any_more_is_told_of(spark: "SparkSession", tmp_path: Path):
    with pytest.raises(SuiteError, match="changed while it was read: judge it again"):
        refuse_first(spark, write_run(tmp_path / "run", GOOD) / "ledger")


@pytest.mark.parametrize(
    ("column", "type_", "sentence"),
    [
        ("offset", pa.string(), "column offset is string, not an integer."),
        ("value", pa.float64(), "column value is double, not an integer."),
        ("epoch", pa.string(), "column epoch is string, not an integer."),
        ("client", pa.int64(), "column client is int64, not a string."),
        ("client", pa.binary(), "column client is binary, not a string."),
        ("invoked_ns", pa.timestamp("ns"), "column invoked_ns is timestamp[ns], not an integer."),
        ("final", pa.int32(), "column final is int32, not a boolean."),
    ],
)
def test_a_column_of_another_type_is_refused(tmp_path: Path, refused: Refused, column: str, type_: Any, sentence: str):
    run = write_run(tmp_path / "run", GOOD)
    place = SCHEMA.get_field_index(column)

    ledger = rewrite(run, lambda table: table.set_column(place, column, pa.nulls(3, type_)))

    assert refused(ledger).startswith(f"0.parquet: {sentence}")


@pytest.mark.parametrize("column", ["client", "op", "kind", "outcome"])
def test_a_column_that_every_row_needs_must_be_there(tmp_path: Path, refused: Refused, column: str):
    ledger = rewrite(write_run(tmp_path / "run", GOOD), lambda table: table.drop_columns([column]))

    assert refused(ledger) == f"0.parquet has no column {column}: every row needs one."


def test_a_column_that_is_null_without_a_type_is_refused_where_every_row_needs_one(tmp_path: Path, refused: Refused):
    ledger = rewrite(
        write_run(tmp_path / "run", GOOD), lambda t: t.set_column(t.schema.get_field_index("kind"), "kind", pa.nulls(3))
    )

    assert refused(ledger) == "0.parquet row 1: kind is null: every row needs one."


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path, refused: Refused):
    ledger = rewrite(write_run(tmp_path / "run", GOOD), lambda table: table.append_column("op", table.column("op")))

    assert refused(ledger) == "0.parquet has the column op 2 times."


def test_a_number_too_large_is_refused(tmp_path: Path, refused: Refused):
    run, place = write_run(tmp_path / "run", GOOD), SCHEMA.get_field_index("op")

    ledger = rewrite(run, lambda table: table.set_column(place, "op", pa.array([1, 2, 2**64 - 1], pa.uint64())))

    assert refused(ledger).startswith("0.parquet: column op holds more than 64 bits with a sign can: Integer value")


def test_a_parquet_file_that_was_cut_off_is_named(tmp_path: Path, refused: Refused):
    run = write_run(tmp_path / "run", GOOD)
    file = run / "ledger" / "0.parquet"
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-1], b"", b"PAR1"):
        file.write_bytes(content)
        assert refused(run / "ledger").startswith("0.parquet cannot be read as Parquet, is it cut off?")
    file.unlink()
    file.mkdir()
    assert refused(run / "ledger").startswith("0.parquet cannot be read as Parquet, is it cut off?")


@pytest.mark.parametrize("compression", ["snappy", "brotli"])
def test_a_parquet_file_with_damaged_pages_is_named(tmp_path: Path, refused: Refused, compression: str):
    run = write_run(tmp_path / "run", [sent(value, value) for value in range(5000)])
    file = rewrite(run, lambda table: table, compression=compression) / "0.parquet"
    whole = bytearray(file.read_bytes())
    whole[100:2000] = bytes(1900)
    file.write_bytes(bytes(whole))

    assert refused(run / "ledger").startswith("0.parquet cannot be read as Parquet")


def test_another_error_of_sparks_is_left_as_it_is(spark: "SparkSession", tmp_path: Path):
    ledger = write_run(tmp_path / "run", GOOD) / "ledger"

    with pytest.raises(Exception, match="nothing is wrong with the files"), damage_told(ledger):
        read_ledger(spark, ledger).selectExpr("raise_error('nothing is wrong with the files')").collect()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "line 2 is not a JSON object: '{'."),
        ("[1]", "line 2 is not a JSON object: '[1]'."),
        ("null", "line 2 is not a JSON object: 'null'."),
        ('"' + "x" * 99 + '"', "line 2 is not a JSON object: '\"" + "x" * 79 + "'."),
        ('{"client": 7}', "line 2: client is 7, not a string."),
        ('{"client": "c", "op": 1.5}', "line 2: op is 1.5, not an integer of 64 bits."),
        ('{"client": "c", "op": 1.0}', "line 2: op is 1.0, not an integer of 64 bits."),
        ('{"client": "c", "op": true}', "line 2: op is True, not an integer of 64 bits."),
        ('{"client": "c", "op": 18446744073709551616}', "line 2: op is 18446744073709551616, not an integer of 64 bits."),
        ('{"client": "c", "ix": -9223372036854775809}', "line 2: ix is -9223372036854775809, not an integer of 64 bits."),
        ('{"client": "c", "final": "no"}', "line 2: final is 'no', not true or false."),
        ('{"client": "c", "final": 1}', "line 2: final is 1, not true or false."),
        ('{"client": "\\ud800", "op": 1}', "holds a string that is not Unicode"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, refused: Refused, line: str, sentence: str):
    run = write_run(tmp_path / "run", GOOD, form="jsonl")
    file = run / "ledger" / "0.jsonl"
    file.write_text(file.read_text().replace("\n", f"\n{line}\n", 1))

    assert refused(run / "ledger").startswith(f"0.jsonl {sentence}")


def test_lines_that_are_no_text_are_refused(tmp_path: Path, refused: Refused):
    run = write_run(tmp_path / "run", GOOD, form="jsonl")
    (run / "ledger" / "0.jsonl").write_bytes(b'{"client": "\xff"}')

    assert refused(run / "ledger").startswith("0.jsonl cannot be read: 'utf-8' codec can't decode byte 0xff")


def test_the_line_is_named_however_far_down_it_is(tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(translated, "BLOCK", 10)
    run = write_run(tmp_path / "run", [])
    lines = [json.dumps(sent(value, value if value != 77 else -1)) for value in range(100)]
    (run / "ledger" / "1.jsonl").write_text("\n\n".join(lines))

    assert refused(run / "ledger") == "1.jsonl line 155: offset is -1: null stands for unknown."


# ---- twins ---------------------------------------------------------------------------------------------------------

FAR = (1 << 62) + 5


@pytest.mark.parametrize(
    "name",
    [{"op": 3, "ix": 2}, {"op": FAR, "ix": 0}, {"op": -1, "ix": 0}, {"op": -FAR, "ix": -3}, {"op": 64, "ix": 1 << 30}],
    ids=str,
)
def test_two_rows_of_one_name_are_refused(tmp_path: Path, refused: Refused, name: Row):
    twin = row("begin", "q", 0) | name
    run = write_run(tmp_path / "run", [*GOOD, twin, twin | {"kind": "crash"}], files=2, form="both")

    told = f"{run}/ledger: client 'q', op {name['op']}, ix {name['ix']} names more than one row"
    assert refused(run / "ledger").startswith(told)


def test_a_null_ix_is_that_of_the_first(tmp_path: Path, refused: Refused):
    run = write_run(tmp_path / "run", [*GOOD, row("begin", "p", 5) | {"ix": None}, row("begin", "p", 5)])

    assert "client 'p', op 5, ix 0 names more than one row" in refused(run / "ledger")


def test_a_file_that_is_there_twice_is_refused(spark: "SparkSession", tmp_path: Path):
    """Of so many twins the engines may name different ones; ours names the least."""
    run = write_run(tmp_path / "run", GOOD)
    (run / "ledger" / "copy.parquet").write_bytes((run / "ledger" / "0.parquet").read_bytes())

    with pytest.raises(UsageError, match=r"client 'c', op 1000, ix 0 names .* is a file there twice\?"):
        read_whole(spark, run / "ledger")


def test_neighbours_are_no_twins(spark: "SparkSession", tmp_path: Path):
    ops = [*range(-130, 130), FAR, FAR - 64, -FAR, (1 << 63) - 1, -(1 << 63)]
    rows = [row("begin", client, op, ix=ix) for client in "ab" for op in ops for ix in (-1, 0, 1, 64, 1 << 30)]
    ledger = write_run(tmp_path / "run", rows, files=3) / "ledger"

    assert read_history(ledger).rows == len(rows)
    refuse_twins(read_ledger(spark, ledger), ledger)
