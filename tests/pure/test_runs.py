"""Runs can be listed whatever state they are in, and only what may go is removed, from where it may."""

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from chaos.evidence.folder import RunFolder
from chaos.report.shelf import Criteria, Entry, chosen, entries, human_size, parse_age, parse_size, remove
from kafka_trial.cli.runs import runs as app
from kernel.errors import SuiteError, UsageError

NOW = datetime(2025, 11, 16, 12, tzinfo=UTC)


def put(
    runs: Path, run_id: str, verdict: str | None = "PASS", *, days: float = 1, scenario: str = "kill", size: int = 0
) -> Path:
    """A run on the shelf, `days` old by its manifest."""
    folder = RunFolder.create(runs, day="2025-11-16", scenario=scenario, run_id=run_id)
    started = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    folder.write_manifest({"run_id": run_id, "scenario": scenario, "started": started})
    folder.events_file.write_text("")
    (folder.ledger / "a.parquet").write_bytes(b"x" * size)
    if verdict:
        counts = {"lost-write": 3, "unseen-write": 1} if verdict == "FAIL" else {}
        recovery = [{"kind": "send", "gap_s": 3.14, "censored": False}]
        folder.write_verdict({"verdict": verdict, "acknowledged": 41208, "counts": counts, "recovery": recovery})
    return folder.path


def call(*words: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def entry(run_id: str, *, days: float, verdict: str | None = "PASS", scenario: str = "kill", size: int = 100) -> Entry:
    when = NOW - timedelta(days=days)
    return Entry(Path(f"/runs/d/{scenario}/{run_id}"), scenario, run_id, when, when, size, verdict)


def going(shelf: list[Entry], **criteria: Any) -> list[str]:
    return [one.run_id for one in chosen(shelf, Criteria(**criteria), NOW)]


# ---- what is listed -----------------------------------------------------------------------------------------------


def test_a_list_tells_each_run_in_a_line_newest_first(tmp_path: Path):
    put(tmp_path, "old", "FAIL", days=2)
    put(tmp_path, "new", days=1)
    lines = call("list", "--runs", tmp_path).stdout.splitlines()

    assert [line.split()[3] for line in lines[1:]] == ["new", "old"]
    assert lines[2].split()[4:9] == ["FAIL", "41208", "4", "3.1", "s"]


def test_a_list_for_programs_holds_the_same(tmp_path: Path):
    path = put(tmp_path, "r", "FAIL")
    (row,) = json.loads(call("list", "--runs", tmp_path, "--json").stdout)

    assert (row["path"], row["verdict"], row["acknowledged"], row["lost"]) == (str(path), "FAIL", 41208, 4)
    assert row["bytes"] > 0 and row["trouble"] is None


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 99}', '{"started": "yesterday"}', None])
def test_a_damaged_run_is_listed_as_such_and_hides_no_other(tmp_path: Path, content: str | None):
    manifest = put(tmp_path, "bad") / "manifest.json"
    manifest.unlink() if content is None else manifest.write_text(content)
    put(tmp_path, "good")
    result = call("list", "--runs", tmp_path)

    assert result.exit_code == 0
    standing = {row["run_id"]: row["verdict"] for row in json.loads(call("list", "--runs", tmp_path, "--json").stdout)}
    assert standing == {"good": "PASS", "bad": "damaged"}


@pytest.mark.parametrize(
    "content", ["{", '{"verdict": "PASS", "recovery": 7}', '{"verdict": "PASS", "counts": {"lost-write": "x"}}']
)
def test_a_damaged_verdict_is_damage_too(tmp_path: Path, content: str):
    (put(tmp_path, "bad") / "verdict.json").write_text(content)

    assert [one.standing for one in entries(tmp_path)] == ["damaged"]


def test_a_run_without_a_verdict_is_listed(tmp_path: Path):
    put(tmp_path, "r", None)

    assert [one.standing for one in entries(tmp_path)] == ["no verdict"]


def test_what_is_no_run_is_not_listed(tmp_path: Path):
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / ".hidden" / "b" / "c" / "ledger").mkdir(parents=True)

    assert entries(tmp_path) == []
    assert "No run in" in call("list", "--runs", tmp_path).stdout


def test_a_directory_that_is_not_there_is_a_sentence():
    with pytest.raises(UsageError, match="/no/such/place is not a directory"):
        entries(Path("/no/such/place"))


# ---- what may go --------------------------------------------------------------------------------------------------


def test_the_newest_of_each_scenario_stay():
    shelf = [entry(f"{scenario}{day}", days=day, scenario=scenario) for scenario in "ab" for day in range(1, 5)]

    assert sorted(going(shelf, keep=2)) == ["a3", "a4", "b3", "b4"]
    assert going(shelf, keep=4) == []


def test_what_is_older_goes_oldest_first():
    assert going([entry("a", days=13.9), entry("b", days=14.1), entry("c", days=30)], older_than=timedelta(days=14)) == [
        "c",
        "b",
    ]


def test_the_newest_failing_run_of_a_scenario_is_spared_by_age_and_number():
    shelf = [
        entry("f1", days=40, verdict="FAIL"),
        entry("f2", days=50, verdict="FAIL"),
        entry("p", days=60),
        entry("n", days=1),
    ]

    assert going(shelf, older_than=timedelta(days=14)) == ["p", "f2"]
    assert going(shelf, keep=1) == ["p", "f2"]


def test_a_limit_of_size_takes_what_passed_first_and_then_whatever_it_must():
    shelf = [entry("fail", days=9, verdict="FAIL"), entry("old", days=5), entry("new", days=1)]

    assert going(shelf, max_size=300) == []
    assert going(shelf, max_size=299) == ["old"]
    assert sorted(going(shelf, max_size=100)) == ["new", "old"]
    assert sorted(going(shelf, max_size=0)) == ["fail", "new", "old"]


def test_criteria_add_up():
    shelf = [entry("a", days=20), entry("b", days=3), entry("c", days=2), entry("d", days=1)]

    assert going(shelf, older_than=timedelta(days=14), keep=2) == ["a", "b"]
    assert going(shelf, older_than=timedelta(days=14), max_size=200) == ["a", "b"]


def test_a_run_that_may_still_be_going_on_stays_and_one_that_was_given_up_does_not():
    assert going([entry("now", days=0.01, verdict=None), entry("dead", days=1, verdict=None)], keep=0) == ["dead"]


def test_a_damaged_run_is_left_for_a_person_to_look_at(tmp_path: Path):
    path = put(tmp_path, "bad", days=100)
    (path / "manifest.json").write_text("{")

    assert call("prune", "--runs", tmp_path, "--keep", 0).exit_code == 0
    assert path.exists()


# ---- how it goes --------------------------------------------------------------------------------------------------


def test_prune_removes_and_says_what(tmp_path: Path):
    old, new = put(tmp_path, "old", days=20, size=100_000), put(tmp_path, "new")
    result = call("prune", "--runs", tmp_path, "--older-than", "14d")

    assert (old.exists(), new.exists()) == (False, True)
    assert f"removed {old}" in result.stdout and "1 run, " in result.stdout


def test_a_dry_run_removes_nothing_and_says_the_same(tmp_path: Path):
    old = put(tmp_path, "old", days=20)
    result = call("prune", "--runs", tmp_path, "--older-than", "14d", "--dry-run")

    assert old.exists() and f"would remove {old}" in result.stdout


def test_empty_folders_go_with_the_last_run_but_not_the_directory_itself(tmp_path: Path):
    put(tmp_path, "only", days=20)
    call("prune", "--runs", tmp_path, "--keep", 0)

    assert list(tmp_path.iterdir()) == []


def test_links_are_neither_followed_nor_emptied(tmp_path: Path):
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "gold").write_text("gold")
    outside = put(tmp_path / "elsewhere", "r", days=20)
    runs = tmp_path / "runs"
    inner = put(runs, "with-a-link", days=20)
    (inner / "logs" / "link").symlink_to(treasure)
    (inner / "link").symlink_to(treasure)
    (runs / "2025-11-16" / "kill" / "linked").symlink_to(outside)
    (runs / "linked-day").symlink_to(tmp_path / "elsewhere" / "2025-11-16")
    call("prune", "--runs", runs, "--keep", 0)

    assert not inner.exists()
    assert (treasure / "gold").exists() and (outside / "manifest.json").exists()
    assert (runs / "linked-day").is_symlink()


def test_a_folder_that_became_a_link_meanwhile_is_not_removed(tmp_path: Path):
    runs = tmp_path / "runs"
    path, other = put(runs, "r"), put(tmp_path / "elsewhere", "precious")
    (known,) = entries(runs)
    shutil.rmtree(path)
    path.symlink_to(other)

    with pytest.raises(SuiteError, match="not a run folder inside"):
        remove(runs, known)
    assert (other / "manifest.json").exists()


def test_the_manifest_goes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """So that an interrupted prune leaves something that the next one still knows."""
    path = put(tmp_path, "r")
    (known,) = entries(tmp_path)

    def interrupted(_: Path) -> None:
        raise OSError("disk on fire")

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(SuiteError, match="could not be removed altogether: disk on fire"):
        remove(tmp_path, known)

    assert (path / "manifest.json").exists()
    assert call("prune", "--runs", tmp_path, "--keep", 0).exit_code == 4


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give --keep, --older-than or --max-size"),
        (["--keep", "-1"], "keep -1 is less than none"),
        (["--older-than", "soon"], "age 'soon' is not understood"),
        (["--older-than", "14"], "age '14' is not understood"),
        (["--max-size", "big"], "size 'big' is not understood"),
        (["--max-size", "-3g"], "size '-3g' is not understood"),
    ],
)
def test_bad_values_are_a_sentence_and_change_nothing(tmp_path: Path, words: list[str], sentence: str):
    path = put(tmp_path, "r", days=100)
    result = call("prune", "--runs", tmp_path, *words)

    assert isinstance(result.exception, UsageError) and sentence in result.exception.message
    assert UsageError.exit_code == 2 and path.exists()


def test_ages_and_sizes_as_people_write_them():
    assert [parse_age(text) for text in ("90m", "36h", "14d", "1.5w")] == [
        timedelta(minutes=90), timedelta(hours=36), timedelta(days=14), timedelta(days=10.5)
    ]  # fmt: skip
    assert [parse_size(text) for text in ("100", "2k", "1.5M", "10g", "10GB", "1TiB")] == [
        100, 2048, 1_572_864, 10 * 2**30, 10 * 2**30, 2**40
    ]  # fmt: skip
    assert [human_size(size) for size in (12, 2048, 5 * 2**20, 3 * 2**30)] == ["12 B", "2.0 kB", "5.0 MB", "3.0 GB"]


@pytest.mark.slow
def test_listing_loads_nothing_heavy(tmp_path: Path):
    heavy = "{'numpy', 'pyarrow', 'jinja2', 'confluent_kafka'}"
    code = f"""import sys, pathlib
from kafka_trial.cli.runs import list_runs
list_runs(pathlib.Path({str(tmp_path)!r}))
print(sorted({heavy} & set(sys.modules)))"""

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer.splitlines()[-1] == "[]"
