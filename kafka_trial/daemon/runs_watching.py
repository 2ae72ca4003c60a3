"""Looks through a folder of runs again and again, in a thread of its own, and has the figures ready."""

import logging
import threading
import time
from pathlib import Path
from types import TracebackType

from exporters.exposition import Renderer
from kafka_trial.daemon.runs_metrics import families, figures
from kafka_trial.daemon.runs_reading import Shelf
from kafka_trial.daemon.runs_told import Figure, Twins
from kernel.errors import UsageError

LOG = logging.getLogger("runs")


class RunsWatch:
    def __init__(self, directory: Path, twins: Twins, *, every: float, most: int) -> None:
        self._shelf, self._every, self._most = Shelf(directory, twins), every, most
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="runs", daemon=True)
        self._trouble = ""
        self._read_at: list[Figure] = []
        self._renderer = Renderer({})
        self.ready = False
        self._publish([("up", (), 0.0)])

    def __enter__(self) -> "RunsWatch":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join(5)

    def look(self) -> None:
        """Once. What a folder told that is there no more is not told any longer."""
        began = time.monotonic()
        try:
            self._shelf.look(self._ending)
        except UsageError:
            self._publish([("up", (), 0.0), *self._read_at])
            raise
        if self._ending.is_set():  # it was not looked through to the end
            return
        self._read_at = [("read_timestamp_seconds", (), time.time())]
        runs, read = self._shelf.runs, self._shelf.read
        found = [
            *figures(runs, self._most),
            ("unjudged_runs", (), float(self._shelf.unjudged)),
            ("unreadable_runs", (), float(len(read) - len(runs))),
            ("up", (), 1.0),
            *self._read_at,
            ("read_seconds", (), time.monotonic() - began),
        ]
        self._publish(found)
        self.ready = True

    def _publish(self, found: list[Figure]) -> None:
        """As text already: of thousands of series that takes a second, and a scrape should not wait for it."""
        self.figures, self.rendered = found, self._renderer.render(families(found))

    def _run(self) -> None:
        while not self._ending.is_set():
            trouble = ""
            try:
                self.look()
            except UsageError as missing:
                trouble = missing.message
            except Exception:  # a bug of ours must not look as if nothing had run since
                LOG.exception("the folder of runs could not be looked through")
                self._publish([("up", (), 0.0), *self._read_at])
            if trouble and trouble != self._trouble:
                LOG.warning("%s It is looked for again.", trouble)
            self._trouble = trouble
            self._ending.wait(self._every)
