"""A mirrored cluster is lost: what its group misses and reads again at the mirror. And a mirror goes with its target."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.judge import judge
from compose.state import marked_processes, state_root
from kernel.waiting import wait_until

# A minute each, with two clusters and a mirror: too long for every change.
pytestmark = [pytest.mark.chaos, pytest.mark.nightly, pytest.mark.timeout(400)]
AS_EXPECTED = {
    "duplicates": True, "nothing missed": True, "offsets": True, "read again": True, "none skipped": True,
    "fail-over time": True, "checkers agree": True,
}  # fmt: skip

HOLDER = """
import sys
from compose.cluster import Cluster
from compose.mirror import MirrorMaker, mirror_properties
with Cluster(brokers=1) as both:
    told = mirror_properties(
        both.address, both.address, topics=["t"], groups=["g"], replicas=(1, 1), flush_ms=1000, exactly_once=False
    )
    mirror = MirrorMaker(both, told)
    mirror.start()
    print(both.folder.name, mirror.pid, flush=True)
    sys.stdin.read()
"""


def test_a_planned_fail_over_misses_nothing_and_reads_nothing_again(trial):
    result = trial("mirror-failover")

    assert result.passed, result
    assert (result.expectations, result.found) == (AS_EXPECTED, {}), result
    copy = judge(result.folder / "target")
    assert copy["verdict"] == "PASS", copy["reasons"]
    assert (result.folder / "logs" / "mirror.log").stat().st_size > 0


def test_a_disaster_misses_exactly_what_the_dead_mirror_had_not_copied(trial):
    result = trial("mirror-failover", how="disaster", records="50", ahead="40")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == {}, "the source itself has lost nothing"
    assert result.expectations == AS_EXPECTED | {"nothing missed": False, "exact miss": True}, result
    copy = judge(result.folder / "target")
    assert (copy["verdict"], copy["counts"]["unseen-write"]) == ("FAIL", 50), copy["reasons"]
    assert {finding["value"] for finding in copy["findings"] if finding["name"] == "unseen-write"} == set(
        result.manifest["exposed"]
    )


def test_with_exactly_once_support_a_killed_mirror_copies_nothing_twice(trial):
    result = trial("mirror-failover", exactly_once="enabled")

    assert result.passed, result
    assert result.expectations == AS_EXPECTED, result
    assert judge(result.folder / "target")["counts"]["duplicate"] == 0


def test_a_mirror_goes_with_its_target_when_we_are_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKA_TRIAL_STATE", str(tmp_path / "state"))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert holder.stdout is not None
    cluster, mirror = holder.stdout.readline().split()
    assert int(mirror) in {process.pid for process in marked_processes(cluster)}
    holder.send_signal(signal.SIGKILL)
    holder.wait(10)

    wait_until(
        lambda: marked_processes(cluster), lambda left: not left, what="no process of the cluster is left", timeout=60
    )  # fmt: skip
    wait_until(lambda: (state_root() / cluster).exists(), lambda there: not there, what="its folder is gone", timeout=60)
