"""A run's faults in Grafana: which regions and points they are, and that none is written twice."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from chaos.evidence.folder import RunFolder
from dashboards.push.annotations import Run, marks_of, outstanding, run_of, verdict_mark
from dashboards.push.port import Annotation, Written
from kafka_trial.cli.dashboards.annotate import annotate
from kernel.errors import UsageError
from tests.grafana_server import TOKEN, Grafana, serving
from tests.pure.commands import Ran, ran
from tests.pure.run_folders import Run as Drawn
from tests.pure.run_folders import write_run

pytestmark = pytest.mark.slow  # servers and programs, started for each: not for every change

S = 1_000_000_000
RUN = Run("r-1", "kill-leader", "trial", 100 * S, 1_000_000)


def at(seconds: float, event: str, **facts: Any) -> dict[str, Any]:
    return {"t_ns": int((100 + seconds) * S), "event": event, **facts}


def fault(seconds: float, name: str = "f1") -> dict[str, Any]:
    return at(seconds, "fault", id=name, fault="kill-broker", sentence="broker 1 is killed")


def drawn(*events: dict[str, Any], verdict: dict[str, Any] | None = None) -> dict[str, tuple[int, int | None, str]]:
    return {
        mark.step: (mark.annotation.start_ms, mark.annotation.end_ms, mark.annotation.text)
        for mark in marks_of(RUN, events, verdict)
    }


def test_a_fault_is_a_region_from_its_injection_to_its_heal():
    told = drawn(fault(6), at(6.2, "bite", id="f1", sentence="process 4711 is gone"), at(14, "heal", id="f1"))

    words = "kill-leader: broker 1 is killed (run r-1, f1)\nIt bit: process 4711 is gone\nHealed after 8.0 s"
    assert told == {"f1": (1_006_000, 1_014_000, words)}


def test_faults_at_the_same_time_have_a_region_each():
    told = drawn(fault(1), fault(2, "f2"), at(3, "heal", id="f2"), at(5, "heal", id="f1"))

    assert {step: one[:2] for step, one in told.items()} == {"f1": (1_001_000, 1_005_000), "f2": (1_002_000, 1_003_000)}


def test_a_fault_that_did_not_bite_says_so():
    told = drawn(fault(1), at(2, "no-bite", id="f1", sentence="it still runs"), at(3, "heal", id="f1"))

    assert "It did not bite: it still runs" in told["f1"][2]


def test_a_fault_that_nobody_healed_lasts_to_the_end():
    told = drawn(fault(1), at(9, "partition", topic="orders"))

    assert told["f1"][:2] == (1_001_000, 1_009_000) and "Not healed when the run ended, after 8.0 s" in told["f1"][2]


def health(seconds: float, **clauses: bool) -> list[dict[str, Any]]:
    return [at(seconds, "health", clause=clause, holds=holds) for clause, holds in clauses.items()]


def test_healthy_again_is_a_point_from_which_on_everything_holds():
    told = drawn(
        at(0, "phase", phase="healthy"), *health(0.5, alive=True), at(1, "phase", phase="steady"),
        fault(2), at(3, "heal", id="f1"), at(3, "phase", phase="healthy-again"), *health(4, alive=False, led=True),
        *health(5, alive=True), at(7, "phase", phase="drain"),
    )  # fmt: skip

    assert {step: one[:2] for step, one in told.items()} == {"f1": (1_002_000, 1_003_000), "healthy-1": (1_005_000, None)}


@pytest.mark.parametrize("alive", [[], [False]])
def test_a_cluster_that_did_not_become_healthy_has_no_such_point(alive: list[bool]):
    wait = [one for holds in alive for one in health(4, alive=holds)]
    told = drawn(
        fault(2), at(3, "heal", id="f1"), at(3, "phase", phase="healthy-again"), *wait, at(7, "phase", phase="drain")
    )

    assert set(told) == {"f1"}


def test_the_verdict_is_a_point_at_the_end_with_what_was_found():
    told = drawn(fault(1), at(2, "heal", id="f1"), at(9, "phase", phase="judge"), verdict={
        "verdict": "FAIL", "acknowledged": 41208, "counts": {"lost-write": 4, "duplicate": 0},
    })  # fmt: skip

    words = "kill-leader: FAIL, 41208 acknowledged, 4 lost-write (run r-1)"
    assert told["verdict"] == (1_009_000, None, words)


def test_tags_name_run_step_scenario_fault_and_cluster():
    (mark, end) = marks_of(RUN, [fault(1), at(2, "heal", id="f1")], {"verdict": "PASS"})

    own = ("kafka-trial", "run:r-1", "step:f1", "scenario:kill-leader", "cluster:trial", "fault:kill-broker")
    assert mark.annotation.tags == own
    assert set(end.annotation.tags) >= {"kafka-trial", "run:r-1", "step:verdict", "verdict:PASS"}


def test_tags_stay_within_what_grafana_takes():
    long = Run("r" * 300, "two\nlines " * 50, "c" * 300, 0, 0)

    tags = verdict_mark(long, 0, {"verdict": "PASS"}).annotation.tags
    assert max(len(tag) for tag in tags) <= 100 and len(json.dumps(tags)) <= 500 and not any("\n" in tag for tag in tags)


def test_times_are_those_of_the_wall():
    run = run_of(
        {"run_id": "r", "scenario": "s", "anchor": {"monotonic_ns": 5 * S, "wall": "2026-11-17T16:20:28.5+00:00"}}, "x"
    )

    wall = datetime.fromisoformat("2026-11-17T16:20:38.5+00:00")
    assert run.ms(15 * S) == int(wall.timestamp() * 1000)


@pytest.mark.parametrize("anchor", [None, {}, {"monotonic_ns": 1}, {"monotonic_ns": 1, "wall": "noon"}, "x"])
def test_a_run_without_a_time_of_day_cannot_be_placed(anchor: Any):
    with pytest.raises(UsageError, match="some/run has no anchor"):
        run_of({"run_id": "r", "anchor": anchor}, "some/run")


def test_only_what_is_missing_or_open_is_outstanding():
    closed, point = marks_of(RUN, [fault(1), at(2, "heal", id="f1")], {"verdict": "PASS"})
    region, end = closed.annotation, point.annotation

    def there(number: int, start: int, stop: int | None, tags: tuple[str, ...], text: str = "") -> Written:
        return Written(number, Annotation(start, stop, tags, text))

    commented = there(1, region.start_ms, region.end_ms, (*region.tags, "seen"), "and a word of mine")
    shown_as_region = there(2, end.start_ms, end.start_ms, end.tags)
    still_open = there(3, region.start_ms, region.start_ms, region.tags)
    other_run = there(4, region.start_ms, region.end_ms, tuple(tag.replace("r-1", "r-2") for tag in region.tags))
    judged_before = there(5, end.start_ms, end.start_ms, (*end.tags[:-1], "verdict:INCONCLUSIVE"))
    both = [closed, point]

    assert outstanding(both, []) == [(closed, None), (point, None)]
    assert outstanding(both, [commented, shown_as_region]) == []
    assert outstanding(both, [still_open, shown_as_region]) == [(closed, 3)]
    assert outstanding(both, [other_run, judged_before]) == [(closed, None), (point, 5)]


# ---- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Grafana]:
    with serving() as grafana:
        yield grafana


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return write_run(tmp_path / "runs")


def annotating(server: Grafana, *words: object) -> Ran:
    told = ran(
        annotate, "--url", server.url, *words, env={"GRAFANA_TOKEN": TOKEN, "GRAFANA_TOKEN_FILE": "", "GRAFANA_CA_FILE": ""}
    )
    assert TOKEN not in told.all
    return told


def test_runs_that_are_over_are_written_once(server: Grafana, folder: RunFolder, tmp_path: Path):
    other = write_run(tmp_path / "runs", Drawn(run_id="r-0002", recovers=False))
    first = annotating(server, folder.path, other.path)
    before, writes = json.dumps(server.annotations), len(server.writes)
    second = annotating(server, folder.path, other.path)

    assert (first.code, second.code) == (0, 0)
    assert f"{folder.path}  3 added, 0 completed, 0 already there" in first.out
    assert f"{folder.path}  0 added, 0 completed, 3 already there" in second.out
    assert (json.dumps(server.annotations), len(server.writes)) == (before, writes)
    began = int(datetime.fromisoformat("2025-11-16T03:12:44+00:00").timestamp() * 1000)
    regions = [one for one in server.annotations.values() if {"step:f1", "run:r-0001"} <= set(one["tags"])]
    assert [(one["time"] - began, one["timeEnd"] - began) for one in regions] == [(6000, 14000)]


def test_a_region_that_was_left_open_is_closed_and_keeps_its_tags(server: Grafana, folder: RunFolder):
    annotating(server, folder.path)
    (number,) = [number for number, one in server.annotations.items() if "step:f1" in one["tags"]]
    whole = dict(server.annotations[number])
    server.annotations[number]["timeEnd"] = whole["time"]

    told = json.loads(annotating(server, folder.path, "--json").out)
    assert told == [{"run": str(folder.path), "added": 0, "changed": 1, "there": 2}]
    assert server.annotations[number] == whole


def test_the_cluster_goes_by_the_name_it_is_given(server: Grafana, folder: RunFolder):
    annotating(server, folder.path, "--cluster", "staging")

    assert all("cluster:staging" in one["tags"] for one in server.annotations.values())


def test_a_run_of_which_one_cannot_be_read_writes_none(server: Grafana, folder: RunFolder, tmp_path: Path):
    told = annotating(server, folder.path, tmp_path)

    assert (told.code, server.seen) == (2, []) and "is not a run folder" in told.err


def test_a_run_under_way_is_left_alone(server: Grafana, folder: RunFolder):
    folder.write_manifest({**folder.manifest(), "process": {"pid": 1, "began": 0}})
    (folder.path / "verdict.json").unlink()

    told = annotating(server, folder.path)
    assert (told.code, server.seen) == (2, []) and "has no verdict yet" in told.err


def test_a_token_that_may_not_annotate(server: Grafana, folder: RunFolder):
    server.permissions = server.permissions - {"annotations:create"}

    told = annotating(server, folder.path)
    assert told.code == 2 and "may not write an annotation" in told.err
