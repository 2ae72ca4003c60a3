"""Who records spans and metrics in this process: found when a client is made, and looked for again until it is there.

Applications set their providers early, or late, or never; asking OpenTelemetry costs a microsecond, so it is asked once in a
second and not for every record.
"""

import time
from typing import Any

from interceptors.tracing.logs import Logs
from interceptors.tracing.metering import Meters
from interceptors.tracing.spans import Recorder

LOOK_EVERY = 1_000_000_000  # ns


class Providers:
    """`looking` while there may be more to find; not before `next`."""

    def __init__(self, sample: float, tracers: Any = None, meters: Any = None) -> None:
        self._tracers, self._meters = tracers, meters
        self.recorder: Recorder = Logs(sample)
        self.meters: Meters | None = None
        self.looking = True
        self.next = 0
        self.look(0)

    def look_again(self) -> None:
        if (now := time.monotonic_ns()) >= self.next:
            self.look(now)

    def look(self, now: int) -> None:
        self.next = now + LOOK_EVERY
        try:
            from opentelemetry import metrics, trace
        except ImportError:
            self.looking = False
            return
        if isinstance(self.recorder, Logs) and (found := self._tracers or real(trace.get_tracer_provider())):
            from interceptors.tracing.sdk import Sdk

            self.recorder = Sdk(found)
        if self.meters is None and (found := self._meters or real(metrics.get_meter_provider())):
            self.meters = Meters(found)
        self.looking = isinstance(self.recorder, Logs) or self.meters is None


def real(provider: Any) -> Any | None:
    """None for the stand-ins of the API, which stand there while nobody has set one."""
    return None if type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics")) else provider
