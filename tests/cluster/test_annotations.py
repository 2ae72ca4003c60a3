"""A real trial with a Grafana beside it: its faults arrive while they last; a Grafana that dies costs it nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_trial.cli.dashboards.annotate import annotate
from kernel.waiting import wait_until
from tests.grafana_server import TOKEN, Grafana, serving
from tests.pure.commands import ran

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]
ENV = {"GRAFANA_TOKEN": TOKEN, "GRAFANA_TOKEN_FILE": "", "GRAFANA_CA_FILE": ""}


@contextmanager
def running(url: str, runs: Path) -> Iterator[subprocess.Popen[str]]:
    trial = str(Path(sys.executable).parent / "kafka-trial")
    words = [trial, "run", "clients-disconnected", "--seed", "7", "--json", "--runs", str(runs), "--annotate", url]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENV})
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=60)


def ended(process: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert TOKEN not in out + err and TOKEN not in str(process.args)
    return json.loads(out), err


def events(folder: Path, *kinds: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (folder / "events.jsonl").read_text().splitlines())
    return [event for event in lines if event["event"] in kinds]


def step(one: dict[str, Any]) -> str:
    return str(next(tag for tag in one["tags"] if tag.startswith("step:")).removeprefix("step:"))


def at_once(server: Grafana) -> dict[str, Any]:
    """The first fault, as it is while the trial goes on."""
    return wait_until(
        lambda: next((dict(one) for one in server.annotations.values() if step(one) == "f1"), {}),
        bool,
        what="the first fault in Grafana",
        timeout=120,
        every=0.01,
    )


def test_faults_arrive_while_they_last_and_end_with_their_heal(tmp_path: Path):
    with serving() as server, running(server.url, tmp_path) as process:
        first = at_once(server)
        assert process.poll() is None and first["time"] == first["timeEnd"]
        verdict, err = ended(process)

        folder = Path(verdict["folder"])
        there = {step(one): one for one in server.annotations.values()}
        anchor = json.loads((folder / "manifest.json").read_text())["anchor"]
        wall = int(datetime.fromisoformat(anchor["wall"]).timestamp() * 1000)
        for fault in events(folder, "fault"):
            (heal,) = [one for one in events(folder, "heal") if one["id"] == fault["id"]]
            wanted = tuple(wall + (one["t_ns"] - anchor["monotonic_ns"]) // 1_000_000 for one in (fault, heal))
            assert (there[fault["id"]]["time"], there[fault["id"]]["timeEnd"]) == wanted
        assert {"f1", "healthy-1", "verdict"} <= set(there) and len(there) == len(server.annotations)
        assert f"verdict:{verdict['verdict']}" in there["verdict"]["tags"] and "annotations" not in err
        assert events(folder, "observer-lost") == []

        again = ran(annotate, "--url", server.url, folder, "--json", env=ENV)
        assert json.loads(again.out) == [{"run": str(folder), "added": 0, "changed": 0, "there": len(there)}]


def test_a_trial_whose_grafana_dies_in_the_middle_ends_with_its_verdict(tmp_path: Path):
    grafana = Grafana()
    with running_until_dead(grafana, tmp_path) as process:
        verdict, err = ended(process)

    folder = Path(verdict["folder"])
    (lost,) = events(folder, "observer-lost")
    assert (verdict["verdict"], lost["kind"]) == ("PASS", "annotations")
    assert err.count("goes on without its annotations") == 1 and "dashboards annotate" in err
    assert len(grafana.annotations) == 1

    with serving(grafana):
        later = json.loads(ran(annotate, "--url", grafana.url, folder, "--json", env=ENV).out)
    assert (later[0]["changed"], later[0]["added"]) == (1, len(grafana.annotations) - 1)
    assert {"f1", "verdict"} <= {step(one) for one in grafana.annotations.values()}


@contextmanager
def running_until_dead(grafana: Grafana, runs: Path) -> Iterator[subprocess.Popen[str]]:
    """The trial goes on, its Grafana ends with the first fault that it was told of."""
    dying = serving(grafana)
    dying.__enter__()
    alive = True
    try:
        with running(grafana.url, runs) as process:
            at_once(grafana)
            dying.__exit__(None, None, None)
            alive = False
            yield process
    finally:
        if alive:
            dying.__exit__(None, None, None)


def test_a_grafana_that_is_not_there_at_the_start_keeps_the_trial_from_starting(tmp_path: Path):
    with running("http://127.0.0.1:1", tmp_path / "runs") as process:
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, (tmp_path / "runs").exists()) == (2, "", False)
    assert "no Grafana answers at http://127.0.0.1:1" in err
