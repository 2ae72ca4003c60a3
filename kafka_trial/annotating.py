"""A trial's faults written into Grafana while they happen, by a thread of its own that the trial never waits for.

A Grafana that is away is told once; what it missed is written when it is back, or later with `dashboards annotate`.
"""

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafka_trial.cli.screen import complain
from kernel.errors import SuiteError

if TYPE_CHECKING:
    from chaos.evidence.folder import RunFolder
    from chaos.recording import Observe
    from chaos.trial import Trial
    from dashboards.push.annotations import Mark, Run, Story
    from dashboards.push.port import Annotation, Grafana

MOST_WAITING = 1000  # events; a trial tells a few a second
PATIENCE = 12.0  # seconds at the very end, after the verdict is out
LATER = "write it later with kafka-trial dashboards annotate"


class Annotator:
    """Of one command, which may run several trials after each other."""

    def __init__(self, grafana: "Grafana", cluster: str, *, warn: Callable[[str], None] = complain) -> None:
        self._grafana, self._cluster, self._warn = grafana, cluster, warn
        self._writer: _Writer | None = None

    def around(self, observe: "Observe") -> "Observe":
        @contextmanager
        def both(trial: "Trial") -> Iterator[None]:
            with self._watching(trial), observe(trial):
                yield

        return both

    @contextmanager
    def _watching(self, trial: "Trial") -> Iterator[None]:
        from dashboards.push.annotations import HEARD, Story, run_of

        run = run_of(trial.folder.manifest(), str(trial.folder.path), self._cluster)
        writer = self._writer = _Writer(self._grafana, run, Story(run), trial.events.write, self._warn)
        trial.events.listen(lambda event: writer.hear(event) if event["event"] in HEARD else None)
        try:
            yield
        finally:
            writer.stop()

    def conclude(self, folder: "RunFolder", verdict: dict[str, Any], *, patience: float = PATIENCE) -> None:
        """The verdict, and whatever Grafana was not there for. Takes no longer than its patience, and raises nothing."""
        from dashboards.push.annotations import verdict_mark

        writer, self._writer = self._writer, None
        if writer is None:
            return
        end = time.monotonic() + patience
        t_ns = max((int(event["t_ns"]) for event in folder.events()), default=writer.run.anchor_ns)
        last = threading.Thread(target=writer.finish, args=(verdict_mark(writer.run, t_ns, verdict), end), daemon=True)
        last.start()
        last.join(max(0.0, end - time.monotonic()))
        if not writer.whole:
            self._warn(f"Not all of the run's annotations reached {self._grafana.address}: {LATER} {folder.path}.")


class _Writer:
    def __init__(
        self, grafana: "Grafana", run: "Run", story: "Story", event: Callable[..., Any], warn: Callable[[str], None]
    ) -> None:
        self.run = run
        self._pending: dict[str, Annotation] = {}  # by step: what Grafana does not have yet
        self._missed = self._finished = False
        self._grafana, self._story, self._event, self._warn = grafana, story, event, warn
        self._numbers: dict[str, int] = {}  # by step: what Grafana calls it
        self._tried: set[str] = set()
        self._waiting: queue.Queue[dict[str, Any]] = queue.Queue(MOST_WAITING)
        self._over = threading.Event()
        self._recording = threading.Lock()  # held while an event is written: the file is closed soon after `stop`
        self._lost = False
        self._thread = threading.Thread(target=self._run, name="annotations", daemon=True)
        self._thread.start()

    def hear(self, event: dict[str, Any]) -> None:
        """On the trial's own time: no more than a note of it."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self._missed = True  # Grafana hangs; `dashboards annotate` completes it

    def stop(self) -> None:
        with self._recording:
            self._over.set()

    def finish(self, verdict: "Mark", end: float) -> None:
        self._thread.join(max(0.0, end - time.monotonic()))
        if not self._thread.is_alive():
            self._write([*self._story.ended(), verdict])
            self._finished = not self._pending

    @property
    def whole(self) -> bool:
        """Everything from the first fault to the verdict is in Grafana."""
        return self._finished and not self._missed

    def _run(self) -> None:
        while not (self._over.is_set() and self._waiting.empty()):
            try:
                event = self._waiting.get(timeout=0.1)
            except queue.Empty:
                continue
            self._write(self._story.told(event))

    def _write(self, marks: "list[Mark]") -> None:
        """New ones behind those that are late; the first that fails ends it until there is more to tell."""
        self._pending.update({mark.step: mark.annotation for mark in marks})
        if not marks:
            return
        try:
            for step in list(self._pending):
                self._one(step, self._pending[step])
                del self._pending[step]
            self._lost = False
        except SuiteError as trouble:
            self._tell(trouble.message)
        except Exception as trouble:  # an answer of a form that nobody foresaw: the trial goes on all the same
            self._tell(f"{self._grafana.address} answered in a way that was not understood ({type(trouble).__name__}).")

    def _one(self, step: str, annotation: "Annotation") -> None:
        if step in self._tried and step not in self._numbers:
            self._look_for(step, annotation)
        if step in self._numbers:
            self._grafana.change_annotation(self._numbers[step], annotation)
            return
        self._tried.add(step)
        self._numbers[step] = self._grafana.annotate(annotation)

    def _look_for(self, step: str, annotation: "Annotation") -> None:
        """One whose answer never came may be there all the same, and must not be written twice."""
        start, own = annotation.start_ms, annotation.tags[:3]
        for one in self._grafana.annotations(own, start_ms=start, end_ms=annotation.end_ms or start + 1, limit=1):
            self._numbers[step] = one.number

    def _tell(self, sentence: str) -> None:
        if self._lost:
            return
        self._lost = True
        self._warn(f"the trial goes on without its annotations: {sentence}")
        with self._recording:
            if not self._over.is_set():
                self._event("observer-lost", kind="annotations", sentence=sentence)


def annotator(url: str | None, cluster: str | None = None) -> Annotator | None:
    """Checked before anything starts: who answers there, and whether the token is taken."""
    if url is None:
        return None
    from dashboards.push.annotations import CLUSTER, TAG
    from kafka_trial.cli.dashboards.grafana_options import grafana_at

    grafana = grafana_at(url, None, None, os.environ)
    grafana.version()
    now = int(time.time() * 1000)
    grafana.annotations([TAG], start_ms=now - 1, end_ms=now, limit=1)
    return Annotator(grafana, cluster or CLUSTER)
