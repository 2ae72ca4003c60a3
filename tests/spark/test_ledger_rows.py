"""A ledger read by Spark has the rows that the local engine sees, whatever its files are made of."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chaos.evidence.ledger_files import KINDS, OUTCOMES, LedgerFiles
from kernel.ledger import COLUMNS
from spark_reports.ledger import translated
from spark_reports.ledger.frame import ROWS, TIMES, TYPES, read_ledger, read_places
from tests.pure.histories import drained, random_run, read, sent, soiled_run, write_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = [sent(1, 0, txn="t"), sent(2, 1, epoch=7, final=False), read(1, 0, final=True), drained(2)]
CLEAN_RUN = Path(__file__).parent.parent / "data" / "clean_run" / "ledger"


def local_rows(ledger: Path, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """What the local engine reads, told in words again."""
    files, rows = LedgerFiles(ledger, columns), []
    for batch in files.batches():
        cells = []
        for column in columns:
            if COLUMNS[column] == "str":
                fixed = {"kind": [*KINDS], "outcome": [*OUTCOMES]}.get(column)
                names = fixed if fixed is not None else files.names[column].all()
                cells.append([None if code < 0 else names[code] for code in batch.cells[column].tolist()])
            else:
                known, numbers = batch.known[column], batch.cells[column].tolist()
                cells.append([one if there or column == "ix" else None for one, there in zip(numbers, known, strict=True)])
        rows += list(zip(*cells, strict=True))
    return ordered(rows)


def ordered(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in rows), key=repr)


def assert_same(spark: "SparkSession", ledger: Path) -> None:
    for columns in (ROWS, TIMES):
        frame = read_ledger(spark, ledger, columns)
        assert [(field.name, field.dataType.simpleString()) for field in frame.schema] == [(c, TYPES[c]) for c in columns]
        assert ordered(frame.collect()) == local_rows(ledger, columns)


def rewrite(run: Path, change: Callable[[pa.Table], pa.Table], **options: Any) -> Path:
    file = run / "ledger" / "0.parquet"
    pq.write_table(change(pq.read_table(file)), file, **options)
    return run / "ledger"


def retyped(text: Any, number: Any) -> Callable[[pa.Table], pa.Table]:
    wanted = {pa.string(): text, pa.int64(): number, pa.int32(): number}
    return lambda table: table.cast(
        pa.schema([field.with_type(wanted.get(field.type, field.type)) for field in table.schema])
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (pa.large_string(), pa.int8()),
        (pa.string_view(), pa.uint8()),
        (pa.dictionary(pa.int8(), pa.string()), pa.int16()),
        (pa.dictionary(pa.int32(), pa.large_string()), pa.uint16()),
        (pa.string(), pa.uint32()),
        (pa.string(), pa.uint64()),
        (pa.string(), pa.int64()),
    ],
)
def test_strings_and_integers_of_any_make_are_read(spark: "SparkSession", tmp_path: Path, text: Any, number: Any):
    rows = [row | {"op": row["op"] % 100} for row in GOOD]

    assert_same(spark, rewrite(write_run(tmp_path / "run", rows), retyped(text, number)))


def test_the_largest_number_of_every_make_is_itself(spark: "SparkSession", tmp_path: Path):
    for number, most in ((pa.uint32(), 2**32 - 1), (pa.uint64(), 2**63 - 1), (pa.int64(), 2**63 - 1)):
        ledger = rewrite(write_run(tmp_path / str(number), GOOD), lambda table: table)
        table = pq.read_table(ledger / "0.parquet")
        column = pa.array([most, 0, 1, 2], number)
        pq.write_table(table.set_column(table.schema.get_field_index("op"), "op", column), ledger / "0.parquet")

        assert sorted(row.op for row in read_ledger(spark, ledger, ["op"]).collect()) == [0, 1, 2, most]


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "brotli"},
        {"compression": "gzip"},
        {"compression": "lz4"},
        {"compression": "zstd"},
        {"compression": "none"},
        {"version": "1.0"},
        {"data_page_version": "2.0"},
        {"use_dictionary": False, "column_encoding": {"op": "BYTE_STREAM_SPLIT", "value": "DELTA_BINARY_PACKED"}},
        {"row_group_size": 1},
        {"store_schema": False},
    ],
    ids=str,
)
def test_files_may_be_packed_in_any_way(spark: "SparkSession", tmp_path: Path, options: dict[str, Any]):
    assert_same(spark, rewrite(write_run(tmp_path / "run", GOOD), lambda table: table, **options))


def test_a_column_that_differs_in_case_only_is_another_one(spark: "SparkSession", tmp_path: Path):
    def change(table: pa.Table) -> pa.Table:
        table = table.append_column("OP", pa.array(["not", "an", "op", "at all"])).append_column("Op", pa.array([9] * 4))
        return table.drop_columns(["value"]).append_column("Value", pa.array([1, 2, 3, 4]))

    rows = [row for row in GOOD if row["kind"] != "send"]
    ledger = rewrite(write_run(tmp_path / "run", [*rows, *rows]), change)

    assert_same(spark, ledger)
    assert {row.value for row in read_ledger(spark, ledger).collect()} == {None}


def test_columns_nobody_knows_are_ignored_and_those_nobody_needs_may_be_missing(spark: "SparkSession", tmp_path: Path):
    def change(table: pa.Table) -> pa.Table:
        thinner = table.drop_columns(["run_id", "ix", "txn", "final", "epoch", "error", "invoked_ns"])
        return thinner.append_column("mood", pa.array([{"calm": True}] * 4))

    assert_same(spark, rewrite(write_run(tmp_path / "run", GOOD), change))


def test_a_column_of_nulls_without_a_type_is_null(spark: "SparkSession", tmp_path: Path):
    def change(table: pa.Table) -> pa.Table:
        for name in ("txn", "completed_ns", "ix", "final"):
            table = table.set_column(table.schema.get_field_index(name), name, pa.nulls(4))
        return table

    assert_same(spark, rewrite(write_run(tmp_path / "run", GOOD), change))


def test_files_of_different_makes_lie_beside_each_other(spark: "SparkSession", tmp_path: Path):
    run = write_run(tmp_path / "run", GOOD * 3, files=6, form="both")
    table = pq.read_table(run / "ledger" / "0.parquet")
    pq.write_table(table.drop_columns(["txn", "ix"]), run / "ledger" / "thin.parquet")
    pq.write_table(retyped(pa.large_string(), pa.uint64())(table), run / "ledger" / "wide.parquet")
    pq.write_table(table.slice(0, 0), run / "ledger" / "empty.parquet")
    pq.write_table(pa.table({"mood": pa.array([], pa.string())}), run / "ledger" / "strange and empty.parquet")
    (run / "ledger" / "empty.jsonl").touch()
    (run / "ledger" / "_SUCCESS").touch()
    (run / "ledger" / "_draft.jsonl").write_text("{")
    (run / "ledger" / ".draft.parquet").write_bytes(b"half a fi")

    assert_same(spark, run / "ledger")
    assert read_ledger(spark, run / "ledger").count() == 16


def test_a_ledger_without_a_row_is_a_frame_without_a_row(spark: "SparkSession", tmp_path: Path):
    assert_same(spark, write_run(tmp_path / "parquet", []) / "ledger")
    assert_same(spark, write_run(tmp_path / "json", [], form="jsonl") / "ledger")


@pytest.mark.parametrize("name", ["a b+c%41&d=e", "[1]{2}*?", "ключ=é", "date=2026-11-17", "a:b#c", "_hidden", ".hidden"])
def test_folders_and_files_may_have_any_name(spark: "SparkSession", tmp_path: Path, name: str):
    run = write_run(tmp_path / name, GOOD)
    (run / "ledger" / "0.parquet").rename(run / "ledger" / f"0{name}.parquet")

    assert_same(spark, run / "ledger")
    assert {row.file for row in read_places(spark, run / "ledger").collect()} == {f"0{name}.parquet"}


def test_a_folder_may_be_named_from_where_one_stands(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`link/..` is not where one stands: it is what the link's target lies in."""
    write_run(tmp_path / "run", GOOD)
    write_run(tmp_path / "elsewhere" / "run", GOOD[:1])
    (tmp_path / "elsewhere" / "deep").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "deep")
    monkeypatch.chdir(tmp_path)

    assert_same(spark, Path("run/ledger"))
    assert_same(spark, Path("link/../run/ledger"))


def test_json_lines_may_lack_keys_be_empty_and_say_more_than_asked(spark: "SparkSession", tmp_path: Path):
    run = write_run(tmp_path / "run", [], form="jsonl")
    lines = [json.dumps({key: cell for key, cell in one.items() if cell is not None}) for one in GOOD]
    odd = ['{"client": "é\\u0041\\n", "op": -5, "kind": "begin", "outcome": "ok", "mood": [NaN, {"op": 1.5}]}', " \t\r"]
    twice = '  {"client": "c", "client": "d", "op": 1, "op": 2, "kind": "begin", "outcome": "ok"}\r'
    (run / "ledger" / "0.jsonl").write_text("\n\n".join([*lines, *odd, twice]))

    assert_same(spark, run / "ledger")
    assert read_ledger(spark, run / "ledger").where("client = 'd'").first().op == 2


def test_a_long_json_file_goes_through_the_disk_and_keeps_every_row(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(translated, "BLOCK", 100)
    run = write_run(tmp_path / "run", [sent(value, value) for value in range(1050)], form="jsonl", files=3)

    frame = read_ledger(spark, run / "ledger")

    assert frame.inputFiles()
    assert_same(spark, run / "ledger")


def test_rows_know_their_place_in_the_file(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(translated, "BLOCK", 10)
    rows = [sent(value, value) for value in range(40)]
    for form, options in (("parquet", {"row_group_size": 7}), ("parquet", {"compression": "brotli"}), ("jsonl", {})):
        run = write_run(tmp_path / f"{form}{len(options)}{'compression' in options}", rows, form=form)
        if options:
            rewrite(run, lambda table: table, **options)
        else:
            file = run / "ledger" / "0.jsonl"
            file.write_text("\n" + file.read_text())

        shift = 1 if options else 2
        places = {(row.value, row.file, row.row) for row in read_places(spark, run / "ledger").collect()}
        assert places == {(value, f"0.{form}", value + shift) for value in range(40)}


def test_a_recorded_run_has_the_same_rows(spark: "SparkSession"):
    assert_same(spark, CLEAN_RUN)
    assert read_ledger(spark, CLEAN_RUN).count() > 1000


def test_drawn_ledgers_have_the_same_rows(spark: "SparkSession", tmp_path: Path):
    random = Random(8)
    for number in range(12):
        seed = random.randrange(1 << 32)
        drawn = random_run(seed, 40) if number % 2 else soiled_run(seed, 30, 4)
        form = ("parquet", "jsonl", "both")[number % 3]
        assert_same(spark, write_run(tmp_path / str(number), drawn.rows, files=1 + number % 4, form=form) / "ledger")


def test_the_plan_reads_only_what_is_wanted(spark: "SparkSession", tmp_path: Path):
    ledger = write_run(tmp_path / "run", GOOD, files=2) / "ledger"

    plan = read_ledger(spark, ledger, ["client", "op"])._jdf.queryExecution().executedPlan().toString()

    assert plan.count("FileScan parquet") == 1
    assert "ReadSchema: struct<client:string,op:bigint>" in plan
