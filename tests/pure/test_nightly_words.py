"""Days as people write them, folders as runs leave them."""

import os
from datetime import date
from pathlib import Path

import pytest

from kernel.errors import UsageError
from spark_reports.nightly.dates import day, span
from spark_reports.nightly.folders import run_folders

TODAY = date(2026, 11, 17)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-11-01", date(2026, 11, 1)),
        ("today", TODAY),
        ("Yesterday", date(2026, 11, 16)),
        ("7d", date(2026, 11, 10)),
        ("0d", TODAY),
    ],
)
def test_a_day_in_words(text: str, meant: date):
    assert day(text, today=TODAY) == meant


@pytest.mark.parametrize("text", ["yesterday-ish", "", "2026-13-01", "-3d", "7 days"])
def test_what_is_no_day_is_refused(text: str):
    with pytest.raises(UsageError, match="is not a day: give a date such as 2026-11-17") as refused:
        day(text, today=TODAY)

    assert refused.value.exit_code == 2


def test_a_span_has_two_ends_in_order():
    assert span("2026-11-01..2026-11-14") == (date(2026, 11, 1), date(2026, 11, 14))
    with pytest.raises(UsageError, match="ends before it begins"):
        span("2026-11-14..2026-11-01")
    with pytest.raises(UsageError, match="neither a span of dates nor a report"):
        span("2026-11-14..")


def run(runs: Path, name: str, *signs: str) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    for sign in signs:
        (folder / sign).mkdir() if sign == "ledger" else (folder / sign).write_text("{}")
    return folder


def test_a_run_is_three_levels_down_and_has_one_of_the_signs(tmp_path: Path):
    whole = run(tmp_path, "2026-11-16/storm/a", "manifest.json", "verdict.json", "events.jsonl", "ledger")
    torn = run(tmp_path, "2026-11-16/storm/b", "ledger")
    run(tmp_path, "2026-11-16/storm/c", "notes.txt")
    run(tmp_path, "2026-11-16/too-high", "manifest.json")
    run(tmp_path, "2026-11-16/storm/a/inside", "manifest.json")
    run(tmp_path, ".trash/storm/d", "manifest.json")
    (tmp_path / "2026-11-16" / "storm" / "link").symlink_to(whole)

    found = run_folders(tmp_path)

    assert [one.folder for one in found] == [str(whole), str(torn)]
    assert found[0].there == {"manifest.json", "verdict.json", "events.jsonl", "ledger"}
    assert found[1].there == {"ledger"}


def test_a_folder_that_is_left_out_holds_no_runs(tmp_path: Path):
    run(tmp_path, "report/versions/1", "ledger")
    kept = run(tmp_path, "2026-11-16/storm/a", "ledger")

    assert [one.folder for one in run_folders(tmp_path, but=tmp_path / "report")] == [str(kept)]
    assert len(run_folders(tmp_path)) == 2


def test_no_directory_of_runs_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="nowhere is not a directory: give the one that holds the runs with --runs"):
        run_folders(tmp_path / "nowhere")


def test_a_mark_changes_with_what_is_inside_and_only_then(tmp_path: Path):
    folder = run(tmp_path, "2026-11-16/storm/a", "manifest.json", "ledger")
    ledger = folder / "ledger" / "one.parquet"
    ledger.write_bytes(b"abc")
    before = run_folders(tmp_path)[0].mark
    (folder / "report.html").write_text("drawn again")

    assert run_folders(tmp_path)[0].mark == before

    ledger.write_bytes(b"abcd")
    grown = run_folders(tmp_path)[0].mark
    os.utime(folder / "manifest.json", ns=(1, 1))
    touched = run_folders(tmp_path)[0].mark

    assert len({before, grown, touched}) == 3
