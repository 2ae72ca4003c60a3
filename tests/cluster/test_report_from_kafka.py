"""Verdicts published by one machine and reported on by another, by the commands that people use."""

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from compose.cluster import Cluster
from kernel.waiting import wait_until
from tests.cluster.daemons import TRIAL

pytestmark = pytest.mark.timeout(400)
RECORDED = Path(__file__).parent.parent / "data" / "clean_run"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def published(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("elsewhere") / "run"
    shutil.copytree(RECORDED, run)
    done = kafka_trial("check", run, "--results-to", cluster.address.bootstrap)
    assert (done.returncode, "could not be written" in done.stderr) == (0, False), done.stderr
    return run


def kafka_trial(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([TRIAL, *map(str, words)], capture_output=True, text=True, timeout=300, check=False)


def test_a_published_verdict_is_reported_on_without_its_folder(cluster: Cluster, published: Path, tmp_path: Path):
    done = kafka_trial("report", "--from-kafka", cluster.address.bootstrap, "--out", tmp_path / "out")

    said = json.loads((tmp_path / "out" / "report.json").read_text())
    manifest = json.loads((published / "manifest.json").read_text())
    assert done.returncode == 0, done.stderr
    assert [(run["run_id"], run["scenario"]) for run in said["runs"]] == [(manifest["run_id"], manifest["scenario"])]
    assert said["unreadable"] == []


@pytest.mark.usefixtures("published")
def test_followed_until_it_is_told_to_end(cluster: Cluster, tmp_path: Path):
    out, said = tmp_path / "out", tmp_path / "said"
    with said.open("w") as log:
        following = subprocess.Popen(
            [TRIAL, "report", "--from-kafka", cluster.address.bootstrap, "--out", str(out), "--follow"],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        table = out / "current" / "tables" / "summary"
        wait_until(
            lambda: pq.read_table(table).num_rows if table.is_dir() else 0,
            lambda rows: rows == 1,
            what="the run in the table",
            timeout=180,
            hint=said.read_text,
        )
        following.send_signal(signal.SIGTERM)
        assert following.wait(90) == 0, said.read_text()
    finally:
        following.kill()
        following.wait()

    drawn = kafka_trial("report", "--out", out)
    assert drawn.returncode == 0, drawn.stderr
    assert len(json.loads((out / "report.json").read_text())["runs"]) == 1
