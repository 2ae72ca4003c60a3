"""SIGHUP: the configuration is read again. What is wrong with it is told, and what was in force stays in force."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kernel.errors import SuiteError

log = logging.getLogger(__name__)


@contextmanager
def reloading(reload: Callable[[], None]) -> Iterator[None]:
    """In a thread of its own: the one that gets the signal is the one that answers."""
    asked, ended = threading.Event(), threading.Event()

    def run() -> None:
        while not ended.is_set():
            asked.wait()
            asked.clear()
            if ended.is_set():
                return
            try:
                reload()
                log.info("the configuration was read again")
            except SuiteError as trouble:
                log.error("the configuration was not taken, and the one before stays: %s", trouble.message)
            except Exception:
                log.exception("reading the configuration again failed")

    before = signal.signal(signal.SIGHUP, lambda *_: asked.set())
    thread = threading.Thread(target=run, name="reload", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
        ended.set()
        asked.set()
        thread.join(3)
