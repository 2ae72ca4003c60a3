"""`kafka-trial report` and `check --engine spark` as somebody at a terminal, or in CI, has them."""

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from tests.spark.night import make_runs

TRIAL = str(Path(sys.executable).parent / "kafka-trial")
TOP = Path(__file__).parent.parent.parent
RECORDED = TOP / "tests" / "data" / "clean_run"
LAST = date(2026, 11, 16)


def kafka_trial(*words: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """No job may need Python where it runs: there is none."""
    told = os.environ | {"PYSPARK_PYTHON": "no-python-here", **environment}
    return subprocess.run([TRIAL, *map(str, words)], capture_output=True, text=True, env=told, timeout=280, check=False)


@pytest.fixture(scope="module")
def worse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of which the newest fail, one folder that cannot be read, and the report on them."""
    place = tmp_path_factory.mktemp("worse")
    make_runs(place / "runs", runs=12, nights=3, failing={"leader-election": LAST}, damaged=["format"], last=LAST)
    return place


def test_a_regression_ends_with_1_and_is_told_everywhere(worse: Path):
    step = worse / "step.md"
    done = kafka_trial("report", "--runs", worse / "runs", "--out", worse / "out", GITHUB_STEP_SUMMARY=str(step))

    said = json.loads((worse / "out" / "report.json").read_text())
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("WORSE  ") and said["headline"] in done.stdout
    assert "format 7 is newer than 1" in done.stdout, "what could not be read is said"
    assert f"report {worse / 'out' / 'index.html'}" in done.stdout
    assert "starting Spark" in done.stderr and "WARN" not in done.stderr
    assert step.read_text() == (worse / "out" / "summary.md").read_text()
    assert "leader-election" in (worse / "out" / "index.html").read_text()


def test_from_the_tables_alone_and_as_json(worse: Path):
    done = kafka_trial("report", "--out", worse / "out", "--since", "2026-11-14", "--json")

    said = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert said["totals"]["runs"] == 12


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["report", "--runs", "nowhere"], 2, "nowhere"),
        (["report", "--follow"], 2, "--follow needs to know what to follow: give --from-kafka HOST:PORT, or a TOML file."),
        (["report", "--since", "soon"], 2, "--since 'soon' is not a day: give a date such as 2026-11-17"),
        (["report", "--conf", "memory=2g"], 2, "--conf 'memory=2g' is not of the form spark.KEY=VALUE"),
        (["report", "--from-kafka", "somewhere"], 2, "'somewhere' is neither HOST:PORT nor a TOML file"),
        (["report", "--from-kafka", "absent.toml"], 2, "there is no configuration file absent.toml."),
        (["check", str(RECORDED), "--master", "local[1]"], 2, "--master and --conf are Spark's: say --engine spark too."),
        (["check", str(RECORDED), "--results-to", "here"], 2, "'here' is neither HOST:PORT nor a TOML file"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], code: int, sentence: str, tmp_path: Path):
    words = [*words, "--out", str(tmp_path / "out")] if words[0] == "report" else words
    done = kafka_trial(*words)

    *_, last = done.stderr.strip().splitlines()
    assert (done.returncode, done.stdout) == (code, "")
    assert last.startswith("kafka-trial: ") and sentence in last
    assert not (tmp_path / "out").exists()


def test_without_java_the_last_report_stays(worse: Path):
    before = (worse / "out" / "index.html").read_bytes()

    done = kafka_trial("report", "--runs", worse / "runs", "--out", worse / "out", JAVA_HOME="/nowhere")

    assert (done.returncode, done.stdout) == (4, "")
    assert "JAVA_HOME" in done.stderr and len(done.stderr.strip().splitlines()) == 2, (
        "one line for what it did, one sentence"
    )
    assert (worse / "out" / "index.html").read_bytes() == before


def test_spark_judges_as_the_local_engine_does(tmp_path: Path):
    run = tmp_path / "run"
    subprocess.run(["cp", "-r", str(RECORDED), str(run)], check=True)

    spark, local = (json.loads(kafka_trial("check", run, "--engine", name, "--json").stdout) for name in ("spark", "local"))

    assert (spark["engine"], local["engine"]) == ("spark", "local")
    assert {**spark, "engine": "", "seconds": 0} == {**local, "engine": "", "seconds": 0}
