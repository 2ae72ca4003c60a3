"""The exporter of runs beside real trials: it waits for the folder, sees each run as it ends, and Prometheus gets it."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernel.waiting import wait_until
from tests.cluster.daemons import TRIAL, Daemon, free_port, prometheus, status
from tests.promtool import linted

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]

FAILED = {"Failed": 'kafka_trial_last_verdict{verdict="FAIL"} == 1'}


@contextmanager
def exporting(runs: Path, folder: Path) -> Iterator[Daemon]:
    port, said = free_port(), folder / "exporter.log"
    (folder / "runs.toml").write_text(f'runs_dir = "{runs}"\nlook_every = 0.2\n')
    words = [TRIAL, "runs", "exporter", "--config", str(folder / "runs.toml"), "--listen", f"127.0.0.1:{port}"]
    with said.open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    running = Daemon(process, f"http://127.0.0.1:{port}", said)
    try:
        page = f"{running.address}/-/healthy"
        wait_until(lambda: status(page), lambda seen: seen == 200, what=page, timeout=60, hint=said.read_text)
        yield running
    finally:
        process.kill()
        process.wait()


def trial(runs: Path, *words: str) -> dict[str, object]:
    command = [TRIAL, "run", "idempotence", "--runs", str(runs), "--provider", "processes", "--json", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=200)
    assert done.returncode in (0, 1), done.stderr
    return dict(json.loads(done.stdout))


def standing(exporter: Daemon) -> dict[tuple[str, str], float]:
    """Runs by twin and verdict, those that are none left out."""
    found = {tuple(dict(labels)[name] for name in ("twin", "verdict")): n for labels, n in runs_of(exporter).items() if n}
    return {(twin, verdict): count for (twin, verdict), count in found.items()}


def runs_of(exporter: Daemon) -> dict[tuple[tuple[str, str], ...], float]:
    return exporter.series("kafka_trial_runs")


def test_trials_are_told_of_as_they_end_and_no_longer_when_they_are_pruned(tmp_path: Path):
    runs = tmp_path / "runs"
    with exporting(runs, tmp_path) as exporter:
        assert exporter.series("kafka_trial_up") == {(): 0.0}
        assert status(f"{exporter.address}/-/ready") == 503

        passed = trial(runs)
        wait_until(lambda: standing(exporter), lambda seen: seen == {("no", "PASS"): 1}, what="one run", timeout=30)
        assert status(f"{exporter.address}/-/ready") == 200
        assert exporter.series("kafka_trial_last_acknowledged_records").popitem()[1] == passed["acknowledged"]

        with prometheus(tmp_path, [exporter.address.removeprefix("http://")], FAILED) as watching:
            assert watching.query('ALERTS{alertname="Failed"}') == {}
            failed = trial(runs, "--twin")
            fired = wait_until(lambda: watching.query("ALERTS"), bool, what="the alert", timeout=60)
            assert [dict(labels)["twin"] for labels in fired] == ["yes"]
            assert watching.by("anomaly", 'kafka_trial_last_findings{twin="yes"}') == failed["counts"]
            assert watching.by("anomaly", 'kafka_trial_last_findings{twin="no"}') == passed["counts"]
            assert watching.by("twin", "time() - kafka_trial_last_run_timestamp_seconds < bool 300") == {"no": 1, "yes": 1}
        assert standing(exporter) == {("no", "PASS"): 1, ("yes", "FAIL"): 1}
        assert linted(exporter.page()) == ""

        words = [TRIAL, "runs", "prune", "--runs", str(runs), "--max-size", "1k"]
        subprocess.run(words, check=True, capture_output=True, timeout=60)
        wait_until(lambda: runs_of(exporter), lambda seen: not seen, what="no run", timeout=30)
        assert exporter.ends() == 0
    assert exporter.said.read_text().count("is no folder of runs") == 1
