"""The same jobs on a real Spark cluster: they run on its workers, and say what they say on one machine."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chaos.checkers.local import examine as examine_here
from chaos.checkers.rings import rings
from chaos.evidence.folder import RunFolder
from tests.cluster.daemons import TRIAL
from tests.cluster.spark_standalone import SMALL, Standalone, standalone
from tests.pure.run_folders import write_run
from tests.spark.night import make_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOP = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


def places(spark: "SparkSession") -> set[str]:
    """The folders in which the JVMs that did some work were started."""
    from pyspark.sql import functions as F

    worked = spark.range(0, 4_000_000, numPartitions=16).select(
        F.reflect(F.lit("java.lang.System"), F.lit("getProperty"), F.lit("user.dir")).alias("at"), F.hash("id").alias("h")
    )
    return {row["at"] for row in worked.groupBy("at").agg(F.sum("h")).collect()}


@pytest.mark.timeout(400)
def test_a_job_runs_on_both_workers_and_not_here(cluster: Standalone):
    from spark_reports.session import spark_session

    with spark_session("on a cluster", master=cluster.master, settings=SMALL) as spark:
        found = places(spark)
        apps = cluster.facts()["activeapps"]

    assert len(found) == 2
    assert {next(own for own in cluster.folders if own in Path(place).parents) for place in found} == set(cluster.folders)
    assert [app["name"] for app in apps] == ["on a cluster"]
    assert cluster.facts()["activeapps"] == [], "it is gone with its session"
    with spark_session("here", master="local[2]", settings=SMALL) as spark:
        assert places(spark) == {str(Path.cwd())}


@pytest.mark.timeout(600)
def test_a_run_is_judged_alike_by_a_cluster_and_by_one_machine(cluster: Standalone, tmp_path: Path):
    from spark_reports.examine import examine
    from spark_reports.session import spark_session

    run = write_run(tmp_path)
    clients = RunFolder(run.path).manifest()["clients"]
    expected = examine_here(run.ledger, clients)
    assert expected.counts["lost-write"] > 0, "there is something to find"

    with spark_session("judged on a cluster", master=cluster.master, settings=SMALL) as spark:
        found = examine(spark, run.ledger, clients, rings)

    assert found == expected


@pytest.mark.timeout(1500)
def test_the_nightly_report_is_the_same_by_spark_submit_to_a_cluster(cluster: Standalone, tmp_path: Path):
    """Run folders and the report lie on a path that all of them share, as on a mounted disk."""
    make_runs(tmp_path / "runs", runs=8, nights=2)
    here = report([TRIAL], tmp_path, "here", ["--master", "local[2]", "--conf", "spark.driver.memory=1g"])

    settings = [
        word for key, value in {**SMALL, "spark.driver.host": "127.0.0.1"}.items() for word in ("--conf", f"{key}={value}")
    ]
    submit = [spark_submit(), "--master", cluster.master, *settings, str(TOP / "kafka_trial" / "submit.py")]
    there = report(submit, tmp_path, "there", [])

    assert len(here["runs"]) == 8
    assert {**there, "made": ""} == {**here, "made": ""}
    assert any(app["state"] == "FINISHED" for app in cluster.facts()["completedapps"]), "it was the cluster that did it"


def report(command: list[str], folder: Path, out: str, more: list[str]) -> dict[str, Any]:
    words = [*command, "report", "--runs", str(folder / "runs"), "--out", str(folder / out), *more]
    # The driver's Python; executors need none, because no job of ours runs Python there.
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | own, check=False, timeout=800)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    found: dict[str, Any] = json.loads((folder / out / "report.json").read_text())
    return found


def spark_submit() -> str:
    import pyspark

    return str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
