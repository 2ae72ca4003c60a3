"""A run under way and its Grafana: the trial is never held up, whatever Grafana does; what it missed comes later."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from chaos.evidence.events import EventLog
from chaos.evidence.folder import RunFolder
from dashboards.push.grafana_api_port import GrafanaApiPort
from kafka_trial import annotating
from kafka_trial.annotating import Annotator, annotator
from kernel.errors import UsageError
from kernel.waiting import wait_until
from tests.grafana_server import TOKEN, Dropped, Grafana, serving
from tests.pure.run_folders import Run, manifest

pytestmark = pytest.mark.slow  # servers and programs, started for each: not for every change

VERDICT = {"verdict": "PASS", "acknowledged": 12, "counts": {}}


class Stage:
    """A trial as the annotator sees it: a folder with a manifest, and events that are written as it goes."""

    def __init__(self, path: Path) -> None:
        self.folder = RunFolder.create(path, day="2026-11-17", scenario="kill-leader", run_id="r-0001")
        self.folder.write_manifest(manifest(Run()))
        self.events = EventLog(self.folder.events_file)
        self.slowest = 0.0

    def write(self, event: str, **facts: Any) -> None:
        began = time.monotonic()
        self.events.write(event, **facts)
        self.slowest = max(self.slowest, time.monotonic() - began)

    def fault(self, name: str = "f1") -> None:
        self.write("fault", id=name, fault="kill-broker", sentence="broker 1 is killed")

    def heal(self, name: str = "f1") -> None:
        self.write("heal", id=name)

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.folder.events() if event["event"] == kind]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def server() -> Iterator[Grafana]:
    with serving() as grafana:
        yield grafana


@pytest.fixture
def warnings() -> list[str]:
    return []


def of(server: Grafana, warnings: list[str], timeout: float = 5.0) -> Annotator:
    return Annotator(GrafanaApiPort(server.url, TOKEN, timeout=timeout), "trial", warn=warnings.append)


@contextmanager
def trial(stage: Stage, writer: Annotator) -> Iterator[None]:
    with writer.around(nullcontext)(stage):  # type: ignore[arg-type]
        yield
    stage.events.close()  # as recording does, before the verdict is made


def wait(look: Callable[[], bool], what: str) -> None:
    wait_until(look, bool, what=what, timeout=10, every=0.01)


def spans(server: Grafana) -> dict[str, bool]:
    """By step: whether it is a region."""
    steps = {next(tag for tag in one["tags"] if tag.startswith("step:")): one for one in server.annotations.values()}
    assert len(steps) == len(server.annotations), "a step was written twice"
    return {step: one["timeEnd"] > one["time"] for step, one in steps.items()}


def test_a_fault_is_there_while_it_lasts_and_closed_when_it_is_healed(stage: Stage, server: Grafana, warnings: list[str]):
    writer = of(server, warnings)
    with trial(stage, writer):
        stage.fault()
        wait(lambda: spans(server) == {"step:f1": False}, "the fault")
        time.sleep(0.02)
        stage.heal()
        wait(lambda: spans(server) == {"step:f1": True}, "its end")
    writer.conclude(stage.folder, VERDICT)

    assert spans(server) == {"step:f1": True, "step:verdict": False}
    assert (warnings, stage.told("observer-lost")) == ([], [])


def test_a_grafana_that_goes_in_the_middle_is_told_once(stage: Stage, warnings: list[str]):
    with serving() as server:
        writer = of(server, warnings)
        watched = trial(stage, writer)
        watched.__enter__()
        stage.fault()
        wait(lambda: len(server.annotations) == 1, "the fault")
    for name in ("f2", "f3"):
        stage.heal("f1")
        stage.fault(name)
        stage.heal(name)
    wait(lambda: bool(warnings), "a word on it")
    watched.__exit__(None, None, None)
    began = time.monotonic()
    writer.conclude(stage.folder, VERDICT)

    (lost,) = stage.told("observer-lost")
    assert lost["kind"] == "annotations" and f"no Grafana answers at {server.url}" in lost["sentence"]
    assert len(warnings) == 2 and "goes on without its annotations" in warnings[0]
    assert "dashboards annotate" in warnings[1] and str(stage.folder.path) in warnings[1]
    assert stage.slowest < 0.2 and time.monotonic() - began < 5


def test_what_a_grafana_missed_is_written_when_it_is_back(stage: Stage, server: Grafana, warnings: list[str]):
    def away(method: str, path: str) -> None:
        raise Dropped

    server.before = away
    writer = of(server, warnings)
    with trial(stage, writer):
        stage.fault("f1")
        time.sleep(0.02)
        stage.heal("f1")
        wait(lambda: bool(stage.told("observer-lost")), "a word on it")
        server.before = lambda method, path: None
        stage.fault("f2")
        wait(lambda: len(server.annotations) == 2, "both")
        time.sleep(0.02)
        stage.heal("f2")
    writer.conclude(stage.folder, VERDICT)

    assert spans(server) == {"step:f1": True, "step:f2": True, "step:verdict": False}
    assert len(warnings) == 1


def test_one_that_was_written_and_never_answered_is_not_written_twice(stage: Stage, server: Grafana, warnings: list[str]):
    first: list[str] = []

    def once(method: str, path: str) -> None:
        if method == "POST" and not first:
            first.append(path)
            raise Dropped

    server.after = once
    writer = of(server, warnings)
    with trial(stage, writer):
        stage.fault()
        wait(lambda: bool(warnings), "a word on it")
        time.sleep(0.02)
        stage.heal()
    writer.conclude(stage.folder, VERDICT)

    assert spans(server) == {"step:f1": True, "step:verdict": False}


def test_a_grafana_that_hangs_holds_nobody_up(
    stage: Stage, server: Grafana, warnings: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(annotating, "MOST_WAITING", 5)
    release = threading.Event()
    server.before = lambda method, path: release.wait(20) and None
    writer = of(server, warnings, timeout=10)
    with trial(stage, writer):
        for number in range(50):
            stage.fault(f"f{number}")
            stage.heal(f"f{number}")
    began = time.monotonic()
    writer.conclude(stage.folder, VERDICT, patience=0.5)
    took = time.monotonic() - began
    release.set()

    assert (stage.slowest < 0.2, took < 1.5, len(stage.told("heal"))) == (True, True, 50)
    assert ["dashboards annotate" in one for one in warnings] == [True]


def test_a_grafana_that_hangs_at_the_verdict_holds_the_command_up_for_its_patience(
    stage: Stage, server: Grafana, warnings: list[str]
):
    release = threading.Event()
    writer = of(server, warnings, timeout=10)
    with trial(stage, writer):
        pass
    server.before = lambda method, path: release.wait(20) and None
    began = time.monotonic()
    writer.conclude(stage.folder, VERDICT, patience=0.5)
    took = time.monotonic() - began
    release.set()

    assert took < 1.5 and ["dashboards annotate" in one for one in warnings] == [True]


def test_a_grafana_that_is_gone_for_the_verdict_is_told_when_the_events_are_closed(
    stage: Stage, server: Grafana, warnings: list[str]
):
    def away(method: str, path: str) -> None:
        raise Dropped

    writer = of(server, warnings)
    with trial(stage, writer):
        stage.fault()
        stage.heal()
        wait(lambda: "PATCH" in {method for method, _ in server.seen}, "the region")
    server.before = away
    writer.conclude(stage.folder, VERDICT)

    assert len(warnings) == 2 and stage.told("observer-lost") == []


def test_more_faults_than_a_hanging_grafana_leaves_room_for_are_told_at_the_end(
    stage: Stage, server: Grafana, warnings: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(annotating, "MOST_WAITING", 5)
    release = threading.Event()
    server.before = lambda method, path: release.wait(20) and None
    writer = of(server, warnings, timeout=10)
    with trial(stage, writer):
        for number in range(50):
            stage.fault(f"f{number}")
            stage.heal(f"f{number}")
        release.set()
    writer.conclude(stage.folder, VERDICT)

    assert "step:verdict" in spans(server) and ["dashboards annotate" in one for one in warnings] == [True]


def test_what_tells_of_no_fault_takes_no_place_among_what_waits(
    stage: Stage, server: Grafana, warnings: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(annotating, "MOST_WAITING", 5)
    release = threading.Event()
    server.before = lambda method, path: release.wait(20) and None
    writer = of(server, warnings, timeout=10)
    with trial(stage, writer):
        stage.fault()
        for _ in range(50):
            stage.write("partition", topic="orders", partition=0)
        stage.heal()
        release.set()
    writer.conclude(stage.folder, VERDICT)

    assert (set(spans(server)), warnings) == ({"step:f1", "step:verdict"}, [])


def test_a_mistake_of_our_own_does_not_end_the_trial(stage: Stage, server: Grafana, warnings: list[str]):
    def mistaken(annotation: object) -> int:
        raise KeyError("id")

    port = GrafanaApiPort(server.url, TOKEN)
    port.annotate = mistaken  # type: ignore[method-assign]
    writer = Annotator(port, "trial", warn=warnings.append)
    with trial(stage, writer):
        stage.fault()
        wait(lambda: bool(stage.told("observer-lost")), "a word on it")
        stage.heal()
    writer.conclude(stage.folder, VERDICT)

    assert "not understood (KeyError)" in warnings[0]


def test_a_fault_that_is_open_at_the_end_is_closed_with_the_verdict(stage: Stage, server: Grafana, warnings: list[str]):
    writer = of(server, warnings)
    with trial(stage, writer):
        stage.fault()
        time.sleep(0.02)
        stage.write("phase", phase="drain")
    writer.conclude(stage.folder, VERDICT)

    assert spans(server) == {"step:f1": True, "step:verdict": False}


def test_several_trials_of_one_command_are_kept_apart(tmp_path: Path, server: Grafana, warnings: list[str]):
    writer = of(server, warnings)
    for number in range(2):
        stage = Stage(tmp_path / str(number))
        stage.folder.write_manifest(manifest(Run(run_id=f"r-{number}")))
        with trial(stage, writer):
            stage.fault()
            time.sleep(0.02)
            stage.heal()
        writer.conclude(stage.folder, VERDICT)

    runs = sorted(tag for one in server.annotations.values() for tag in one["tags"] if tag.startswith("run:"))
    assert (runs, warnings) == (["run:r-0", "run:r-0", "run:r-1", "run:r-1"], [])


def test_a_run_that_is_not_annotated_needs_no_grafana():
    assert annotator(None) is None


@pytest.mark.parametrize(
    ("token", "url", "words"),
    [
        ("", None, "none was given"),
        ("glsa_stale", None, "does not take the token"),
        (TOKEN, "http://127.0.0.1:1", "no Grafana answers"),
        (TOKEN, "localhost", "is no address of a Grafana"),
    ],
)
def test_a_grafana_that_cannot_be_written_to_is_told_before_anything_starts(
    server: Grafana, monkeypatch: pytest.MonkeyPatch, token: str, url: str | None, words: str
):
    monkeypatch.setenv("GRAFANA_TOKEN", token)
    monkeypatch.delenv("GRAFANA_TOKEN_FILE", raising=False)
    with pytest.raises(UsageError, match=words):
        annotator(url or server.url)
    assert server.writes == []


def test_a_grafana_that_can_is_only_asked_before_the_start(server: Grafana, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRAFANA_TOKEN", TOKEN)

    assert annotator(server.url, "staging") and server.writes == []
    assert ("GET", "/api/annotations") in server.seen
