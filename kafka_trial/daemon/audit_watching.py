"""The auditor as a daemon: a thread that reads the audit topic, judges every few seconds, and has the figures ready."""

import logging
import threading
import time
from types import TracebackType

from interceptors.audit.auditor import Auditor
from interceptors.audit.reading import Reader
from kafka_trial.daemon.audit_metrics import Figure, figures

LOG = logging.getLogger("audit")
ASK_EVERY = 30.0  # seconds between two questions where late partitions' logs end


class AuditWatch:
    def __init__(self, reader: Reader, auditor: Auditor, *, judge_every: float, ask_log_ends: bool) -> None:
        self._reader, self._auditor = reader, auditor
        self._judge_every, self._ask = judge_every, ask_log_ends
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._asked = float("-inf")
        self._worst: dict[tuple[str, str, str], int] = {}
        self.ready = False
        self.figures: list[Figure] = [("kafka_audit_up", (), 0.0), ("kafka_audit_ready", (), 0.0)]

    def __enter__(self) -> "AuditWatch":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join(15)

    def _run(self) -> None:
        due = 0.0
        try:
            while not self._ending.is_set():
                for report, received_ms in self._reader.read(0.5):
                    self._auditor.add(report, received_ms)
                caught_up = self._reader.at_end and not self.ready
                if time.monotonic() >= due or caught_up:
                    due = time.monotonic() + self._judge_every
                    self._judge()
        finally:
            self._reader.close()

    def _judge(self) -> None:
        """Not before the end was reached: what is not yet read looks as if it were missing."""
        now_ms = time.time_ns() // 1_000_000
        self.ready = self.ready or self._reader.at_end
        if self.ready:
            self._auditor.judge(now_ms)
            self._ask_for_ends()
            self._auditor.tidy(now_ms)
            self._tell()
        self.figures = figures(self._auditor, self._reader, self.ready, now_ms)

    def _ask_for_ends(self) -> None:
        if self._ask and time.monotonic() - self._asked > ASK_EVERY:
            self._asked = time.monotonic()
            self._auditor.log_ends = self._reader.log_ends(sorted(self._auditor.late_places())[:100], timeout=2.0)

    def _tell(self) -> None:
        """A line in the log for every turn to the worse."""
        for line, found in self._auditor.sums().items():
            bad = found.outcomes.get("missing", 0) + found.outcomes.get("extra", 0)
            if bad > self._worst.get(line, 0):
                missing, extra = found.outcomes.get("missing", 0), found.outcomes.get("extra", 0)
                LOG.warning("%s: %d records missing, %d extra, from %s to %s", line[0], missing, extra, line[1], line[2])
            self._worst[line] = bad
