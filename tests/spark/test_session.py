"""A session is started quietly, ends with all it had, runs no Python on the rows, and says in one sentence what is wrong."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from kernel.errors import MissingTool, SuiteError
from spark_reports.frames import fields, frame, nothing
from spark_reports.session import spark_session
from spark_reports.trouble import told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIAL = str(Path(sys.executable).parent / "kafka-trial")
COUNTED = "from spark_reports.session import spark_session as s\nwith s(%s) as spark: print(spark.range(7).count())"


def counted(scratch: Path, given: str = "") -> "subprocess.CompletedProcess[str]":
    scratch.mkdir(exist_ok=True)
    environment = os.environ | {"TMPDIR": str(scratch)}
    return subprocess.run(
        [sys.executable, "-c", COUNTED % given], capture_output=True, text=True, env=environment, timeout=200, check=False
    )


def test_it_prints_nothing_and_leaves_nothing(tmp_path: Path):
    done = counted(tmp_path / "scratch")

    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not any(str(tmp_path) in " ".join(_words(process)) for process in psutil.process_iter())


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_the_first_session_leaves_its_classes_for_the_next(tmp_path: Path):
    archive = tmp_path / "cache" / "classes.jsa"
    given = f"archive=__import__('pathlib').Path({str(archive)!r})"

    first, second = counted(tmp_path / "scratch", given), counted(tmp_path / "scratch", given)

    assert (first.stdout, second.stdout, second.stderr) == ("7\n", "7\n", "")
    assert archive.stat().st_size > 10_000_000
    assert [file.name for file in archive.parent.iterdir()] == ["classes.jsa"]


def test_an_archive_that_does_not_fit_is_done_without(tmp_path: Path):
    (tmp_path / "classes.jsa").write_bytes(b"of another Java")

    done = counted(tmp_path / "scratch", f"archive=__import__('pathlib').Path({str(tmp_path / 'classes.jsa')!r})")

    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")


def test_a_jvm_that_does_not_start_is_quoted(spark: "SparkSession"):
    with (
        pytest.raises(SuiteError, match=r"Spark's JVM did not start: .*[Tt]oo small"),
        spark_session(settings={"spark.driver.memory": "1k"}),
    ):
        pass


def test_without_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(MissingTool, match="No Java was found, and Spark runs on it: install a JDK 17"), spark_session():
        pass


def test_what_spark_complains_of_is_one_sentence_with_its_cause(spark: "SparkSession"):
    with pytest.raises(Exception) as complained:
        spark.sql("select raise_error('the disk is gone') from range(1)").collect()
    with pytest.raises(Exception) as missing:
        spark.read.parquet("/nowhere/at/all")

    sentence = str(told(complained.value))
    assert sentence.startswith("Spark failed: ") and "the disk is gone" in sentence and "\n" not in sentence
    assert str(told(missing.value)).startswith("Spark failed: [PATH_NOT_FOUND] Path does not exist: file:/nowhere/at/all")


def test_what_is_not_sparks_is_left_as_it_is():
    for error in (BrokenPipeError(32, "nobody reads what we print"), ValueError("ours"), KeyError("ours too")):
        assert told(error) is error


def test_a_master_that_does_not_answer_is_told(tmp_path: Path):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    words = [TRIAL, "check", str(Path("tests/data/clean_run").resolve()), "--engine", "spark"]
    master = ["--master", "spark://127.0.0.1:1", "--conf", "spark.driver.memory=1g", "--json"]

    done = subprocess.run([*words, *master], capture_output=True, text=True, env=environment, timeout=280, check=False)

    assert (done.returncode, done.stdout) == (4, "")
    sentence = "The Spark master does not answer, or ended the job: is its address right, and is it running?"
    assert done.stderr.strip() == f"kafka-trial: {sentence}"


def test_small_frames_are_what_was_put_into_them(spark: "SparkSession"):
    made = frame(spark, [("a", 1), (None, None)], "name string, size bigint")
    none = nothing(spark, "name string, deep array<struct<size: bigint>>")

    assert sorted(made.collect(), key=repr) == sorted([("a", 1), (None, None)], key=repr)
    assert (frame(spark, [], "name string").count(), none.count()) == (0, 0)
    assert none.schema == fields("name string, deep array<struct<size: bigint>>")
