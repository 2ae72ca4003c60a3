"""The commands around a trial as a person or a CI system uses them: run, check, shrink, runs, demo."""

import json
import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaos.schedule import Schedule, Step
from kernel.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]

TRIAL = str(Path(sys.executable).parent / "kafka-trial")


def kafka_trial(*words: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [TRIAL, *map(str, words)]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=390, env={**os.environ, **(env or {})}
    )


@contextmanager
def rolling_restart(runs: Path, *, until: str) -> "Iterator[subprocess.Popen[str]]":
    """A run under way, as far as a word that it says."""
    command = [TRIAL, "run", "rolling-restart", "--runs", str(runs), "--provider", "processes"]
    # Whoever runs the tests in the background passes "ignore Ctrl-C" on to all they start; a person's shell does not.
    heeding = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **heeding) as run:
        assert run.stderr is not None
        assert any(until in line for line in run.stderr), f"it ended before it said {until!r}"
        yield run


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path, Path]:
    """One run that must fail, by the command line, looked at from several sides."""
    runs = tmp_path_factory.mktemp("runs")
    summary = runs / "summary.md"
    done = kafka_trial(
        "run", "idempotence", "--twin", "--runs", runs, "--provider", "processes", "--junit", runs / "junit.xml",
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip
    [manifest] = runs.glob("*/idempotence/*/manifest.json")
    return done, manifest.parent, runs


def test_a_failing_run_says_so_in_words_and_exit_code(failed):
    done, folder, _ = failed

    assert done.returncode == 1, done.stderr
    assert done.stdout.lstrip().startswith("FAIL  idempotence"), done.stdout
    assert "duplicate" in done.stdout and "50 records are in the log more than once" in done.stdout
    assert f"report  {folder / 'report.html'}" in done.stdout
    assert "it bites: client → 1 (client): no answer" in done.stderr
    assert (folder / "report.html").stat().st_size > 10_000


def test_ci_systems_get_their_files(failed):
    _, _, runs = failed
    [suite] = ET.parse(runs / "junit.xml").getroot().iter("testsuite")  # noqa: S314  (our own file)

    assert (suite.get("name"), suite.get("failures")) == ("idempotence", "1")
    assert "FAIL" in (runs / "summary.md").read_text()


def test_the_folder_can_be_judged_again_and_comes_to_the_same(failed):
    _, folder, _ = failed
    before = json.loads((folder / "verdict.json").read_text())

    again = kafka_trial("check", folder, "--json")

    assert again.returncode == 1
    verdict = json.loads(again.stdout)
    assert {key: verdict[key] for key in verdict if key != "seconds"} == {
        key: before[key] for key in before if key != "seconds"
    }


def test_the_run_is_listed_and_can_be_pruned(failed, tmp_path: Path):
    _, _folder, runs = failed
    copy = tmp_path / "runs"
    shutil.copytree(runs, copy)

    listed = kafka_trial("runs", "list", "--runs", copy, "--json")
    pruned = kafka_trial("runs", "prune", "--runs", copy, "--max-size", "1k")

    assert [(run["scenario"], run["verdict"]) for run in json.loads(listed.stdout)] == [("idempotence", "FAIL")]
    assert pruned.returncode == 0, pruned.stderr
    assert list(copy.glob("*/*/*/manifest.json")) == []


def test_only_a_storm_can_be_shrunk(failed):
    _, folder, _ = failed

    done = kafka_trial("shrink", folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert "only a storm has a schedule to shrink" in done.stderr


def test_a_failing_storm_is_shrunk_to_the_fault_that_matters(tmp_path: Path):
    """Two faults, one of them harmless: at acks=1 it is the isolated leader that loses records."""
    slow = {"fault": "latency", "links": [{"source": "client", "target": 3, "traffic": "client"}], "ms": 60}
    isolated = {"fault": "isolate", "node": "leader-of orders-0", "clients": False}
    file = tmp_path / "schedule.json"
    Schedule(7, (Step(0.0, slow, 1.0), Step(1.5, isolated, 7.0))).save(file)

    storm = kafka_trial(
        "run", "storm", "--acks", "1", "--replay", file, "--runs", tmp_path, "--provider", "processes", "--json"
    )
    folder = Path(json.loads(storm.stdout)["folder"])
    shrunk = kafka_trial("shrink", folder, "--runs", tmp_path, "--provider", "processes")

    assert storm.returncode == 1, storm.stdout
    assert json.loads((folder / "schedule.json").read_text())["steps"][1]["node"] in (1, 2, 3), "saved as it really was"
    assert shrunk.returncode == 0, shrunk.stderr
    [step] = Schedule.load(folder / "schedule-shrunk.json").steps
    assert step.fault["fault"] == "isolate"
    assert "1 of 2 faults are left" in shrunk.stdout


def test_a_run_that_is_killed_leaves_nothing_running_and_evidence_that_can_be_judged(tmp_path: Path):
    with rolling_restart(tmp_path, until="it bites") as run:
        [folder] = tmp_path.glob("*/*/*")
        under_way = kafka_trial("check", folder)
        run.send_signal(signal.SIGKILL)
    wait_until(lambda: _clients(folder), lambda pids: not pids, what="clients gone", timeout=60)

    judged = kafka_trial("check", folder, "--json")

    assert under_way.returncode == 2 and "is still under way" in under_way.stderr
    verdict = json.loads(judged.stdout)
    assert verdict["verdict"] == "INCONCLUSIVE", verdict["reasons"]
    assert verdict["acknowledged"] > 0
    assert {name: count for name, count in verdict["counts"].items() if count} == {}


def _clients(folder: Path) -> list[int]:
    """Processes that still have something of this run open."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                command = (process / "cmdline").read_bytes()
                if b"chaos.traffic.worker" in command and any(
                    str(folder) in str(entry.readlink()) for entry in (process / "fd").iterdir()
                ):
                    found.append(int(process.name))
            except OSError:  # it ended while we looked
                continue
    return found


def test_ctrl_c_ends_a_run_in_order(tmp_path: Path):
    with rolling_restart(tmp_path, until="steady") as run:
        run.send_signal(signal.SIGINT)
        run.wait(60)

    [folder] = tmp_path.glob("*/*/*")
    assert run.returncode == 130
    assert _clients(folder) == []
