"""Notices when this machine itself stood still: a thread that sleeps a moment, and looks how long it really slept.

Brokers, clients and the clock that judges them share the machine. While it stands still, sessions expire and requests time
out that no fault of ours touched, so a time or a number that is off afterwards proves nothing against Kafka.
"""

import threading
import time

from chaos.evidence.events import EventLog

EVERY = 0.1  # seconds it means to sleep
WORTH_TELLING_S = 1.5  # beyond that; less is the ordinary noise of a busy machine


class Stalls:
    def __init__(self, events: EventLog) -> None:
        self._events, self._stop = events, threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> "Stalls":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(5)

    def _tick(self) -> None:
        before = time.monotonic()
        while not self._stop.wait(EVERY):
            now = time.monotonic()
            overslept = now - before - EVERY
            if overslept > WORTH_TELLING_S:
                self._events.write("stall", seconds=round(overslept, 3))
            before = now
