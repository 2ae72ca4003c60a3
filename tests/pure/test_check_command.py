"""`kafka-trial check` as somebody uses it who has a folder and wants to know."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from kafka_trial.cli import check
from kernel.errors import SuiteError
from tests.pure.histories import drained, read, sent, write_run

app = typer.Typer()
app.command()(check.check)

RUNS = {
    "PASS": [sent(1, 0), read(1, 0), drained(1)],
    "FAIL": [*(sent(value, value) for value in range(6)), read(5, 5), drained(6)],
    "INCONCLUSIVE": [sent(1, 0), read(1, 0)],
}


def checked(run: Path, *options: str) -> Result:
    return CliRunner().invoke(app, [str(run), *options])


@pytest.mark.parametrize(("verdict", "exit_code"), [("PASS", 0), ("FAIL", 1), ("INCONCLUSIVE", 3)])
def test_the_verdict_is_printed_written_and_told_by_the_exit_code(tmp_path: Path, verdict: str, exit_code: int):
    run = write_run(tmp_path / "run", RUNS[verdict])

    answer = checked(run)

    assert answer.exit_code == exit_code
    assert answer.stdout.startswith(verdict)
    assert json.loads((run / "verdict.json").read_text())["verdict"] == verdict


def test_neighbours_are_told_as_a_range(tmp_path: Path):
    answer = checked(write_run(tmp_path / "run", RUNS["FAIL"]))

    assert "orders-0 @ 0-4" in answer.stdout


def test_programs_get_json_and_nothing_else(tmp_path: Path):
    run = write_run(tmp_path / "run", RUNS["FAIL"])

    answer: dict[str, Any] = json.loads(checked(run, "--json").stdout)

    assert answer["counts"]["lost-write"] == 5
    assert answer == json.loads((run / "verdict.json").read_text())


def test_bad_input_ends_with_2_and_leaves_an_older_verdict_as_it_is(tmp_path: Path):
    run = write_run(tmp_path / "run", [*RUNS["PASS"], sent(2, -7)])
    (run / "verdict.json").write_text("{}")

    answer = checked(run)

    assert isinstance(answer.exception, SuiteError)
    assert answer.exception.exit_code == 2
    assert (run / "verdict.json").read_text() == "{}"


def test_an_engine_nobody_knows_ends_with_2(tmp_path: Path):
    answer = checked(write_run(tmp_path / "run", RUNS["PASS"]), "--engine", "abacus")

    assert isinstance(answer.exception, SuiteError)
    assert answer.exception.message == "There is no engine 'abacus': use local or spark."


def test_judging_again_gives_the_same(tmp_path: Path):
    run = write_run(tmp_path / "run", RUNS["FAIL"])
    first, second = (json.loads(checked(run, "--json").stdout) for _ in range(2))

    assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_the_folder_on_the_page_is_judged_as_the_page_says(tmp_path: Path):
    page = (Path(__file__).parent.parent.parent / "docs" / "evidence.md").read_text()
    blocks = [block.partition("\n")[2].rstrip("\n") for block in page.split("```")[1::2]]
    manifest, rows, events, told = blocks[1:5]
    (tmp_path / "ledger").mkdir()
    (tmp_path / "manifest.json").write_text(manifest)
    (tmp_path / "ledger" / "rows.jsonl").write_text(rows)
    (tmp_path / "events.jsonl").write_text(events)

    answer = checked(tmp_path)

    assert answer.exit_code == 1
    assert answer.stdout.split() == told.split()


@pytest.mark.slow
def test_without_what_trials_need_it_is_one_sentence_and_not_a_traceback(tmp_path: Path):
    """A module that is None in sys.modules cannot be imported, as if it had not been installed."""
    code = (
        "import sys; sys.modules['pyarrow'] = None; sys.argv[1:] = ['check', '.']; from kafka_trial.cli import main; main()"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)

    assert (done.returncode, done.stdout) == (4, "")
    assert "pyarrow is not installed: trials need it. Install it with pip install 'kafka-trial[trials]'." in done.stderr
    assert "Traceback" not in done.stderr
