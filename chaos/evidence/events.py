"""What happened around the traffic, a line each, on disk before the next thing happens."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class EventLog:
    """Written by the trial and by those who watch the cluster, from several threads."""

    def __init__(self, file: Path, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._file = file.open("a", buffering=1)
        self._clock = clock
        self._lock = threading.Lock()
        self._listeners: list[Callable[[dict[str, Any]], None]] = []

    def write(self, event: str, *, t_ns: int | None = None, **facts: Any) -> dict[str, Any]:
        with self._lock:  # the time is taken inside, so that lines and times have one order
            line = {"t_ns": self._clock() if t_ns is None else t_ns, "event": event, **facts}
            self._file.write(json.dumps(line, default=str) + "\n")
        for listener in self._listeners:
            listener(line)
        return line

    def listen(self, listener: Callable[[dict[str, Any]], None]) -> None:
        self._listeners.append(listener)

    def close(self) -> None:
        self._file.close()
