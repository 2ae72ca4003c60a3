"""Many ledgers are one frame, in which every row knows its run; one that cannot be read costs only itself."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from kernel.errors import UsageError
from spark_reports.ledger import translated
from spark_reports.ledger.frame import ROWS, TIMES, read_ledger, read_ledgers
from tests.pure.histories import drained, read, sent, write_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = [sent(1, 0), read(1, 0), drained(1)]


def folders(path: Path, count: int, form: str = "both") -> dict[str, Path]:
    """Run n has n + 3 rows, in two files."""
    rows = {n: [*GOOD, *(sent(100 + value, value) for value in range(n))] for n in range(count)}
    return {f"run {n}": write_run(path / f"{n} +%", mine, files=2, form=form) / "ledger" for n, mine in rows.items()}


def sizes(spark: "SparkSession", ledgers: dict[str, Path]) -> dict[str, int]:
    return {row["run"]: row["count"] for row in read_ledgers(spark, ledgers, ROWS).groupBy("run").count().collect()}


@pytest.mark.parametrize("form", ["parquet", "jsonl", "both"])
def test_every_row_knows_its_run(spark: "SparkSession", tmp_path: Path, form: str):
    ledgers = folders(tmp_path, 40, form)

    frame = read_ledgers(spark, ledgers, TIMES)

    assert frame.columns == ["run", *TIMES]
    assert sizes(spark, ledgers) == {f"run {n}": n + 3 for n in range(40)}


def test_each_run_has_the_rows_that_its_ledger_has_alone(spark: "SparkSession", tmp_path: Path):
    ledgers = folders(tmp_path, 3)
    frame = read_ledgers(spark, ledgers, ROWS)

    for run, ledger in ledgers.items():
        mine = frame.where(frame["run"] == run).select(*ROWS)
        assert sorted(mine.collect(), key=repr) == sorted(read_ledger(spark, ledger, ROWS).collect(), key=repr)


def test_files_of_one_make_are_one_scan_however_many_runs_they_are_of(spark: "SparkSession", tmp_path: Path):
    ledgers = folders(tmp_path, 40, "parquet")

    plan = read_ledgers(spark, ledgers, ROWS)._jdf.queryExecution().executedPlan().toString()

    assert plan.count("FileScan parquet") == 1


def test_a_ledger_under_two_names_is_two_runs(spark: "SparkSession", tmp_path: Path):
    ledger = folders(tmp_path, 1, "parquet")["run 0"]
    (tmp_path / "link").symlink_to(ledger)

    assert sizes(spark, {"a": ledger, "b": ledger, "c": tmp_path / "link"}) == {"a": 3, "b": 3, "c": 3}


def test_no_run_at_all_is_a_frame_without_rows(spark: "SparkSession"):
    frame = read_ledgers(spark, {}, ROWS)

    assert (frame.columns, frame.count()) == (["run", *ROWS], 0)


def spoil(ledgers: dict[str, Path]) -> dict[str, str]:
    """Runs 1 to 4, each in its own way; what is then said about them."""
    (ledgers["run 1"] / "0.parquet").write_bytes(b"PAR1")
    for file in ledgers["run 2"].iterdir():
        file.unlink()
    lines = ledgers["run 3"] / "1.jsonl"
    lines.write_text(lines.read_text() + "{\n")
    table = pq.read_table(ledgers["run 4"] / "0.parquet")
    pq.write_table(table.drop_columns(["kind"]), ledgers["run 4"] / "0.parquet")
    return {
        "run 1": "cannot be read as Parquet, is it cut off?",
        "run 2": "holds no *.parquet and no *.jsonl",
        "run 3": "is not a JSON object: '{'.",
        "run 4": "has no column kind",
    }


@pytest.mark.parametrize("block", [1, 1 << 18], ids=["on disk", "in memory"])
def test_ledgers_that_cannot_be_read_are_told_of_and_left_out_whole(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
):
    monkeypatch.setattr(translated, "BLOCK", block)
    ledgers, told = folders(tmp_path, 7), dict[str, str]()
    wanted = spoil(ledgers)

    frame = read_ledgers(spark, ledgers, ROWS, refused=lambda run, error: told.update({run: error.message}))

    assert {row["run"]: row["count"] for row in frame.groupBy("run").count().collect()} == {
        f"run {n}": n + 3 for n in (0, 5, 6)
    }
    assert told.keys() == wanted.keys()
    assert all(wanted[run] in told[run] for run in told)


@pytest.mark.parametrize("run", ["run 1", "run 2", "run 3", "run 4"])
def test_without_anybody_to_tell_the_first_ends_the_reading(spark: "SparkSession", tmp_path: Path, run: str):
    ledgers = folders(tmp_path, 7)
    wanted = spoil(ledgers)[run]

    with pytest.raises(UsageError) as refused:
        read_ledgers(spark, {name: ledgers[name] for name in ("run 0", run, "run 6")}, ROWS)
    assert wanted in refused.value.message
