"""Takes notices out of the outbox and sends them: one thread for each channel, so that a dead receiver holds up no other."""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping

from lag_monitor.alerts.channels.channel import Channel, Refused
from lag_monitor.alerts.outbox import Outbox
from lag_monitor.alerts.queue import LONGEST_REQUEST, Row

log = logging.getLogger(__name__)
LAST_WORDS = 3.0  # seconds its threads have to end; one that waits for a receiver is left behind
LOOK = 5.0  # seconds after which it is looked at anew whatever was expected: clocks are put right


class _Worker:
    """One channel's."""

    def __init__(self, channel: Channel, outbox: Outbox, clock: Callable[[], float]) -> None:
        self.channel, self._outbox, self._clock = channel, outbox, clock
        self.wake = threading.Event()
        self.idle = threading.Event()  # nothing of it is between here and the receiver
        self.idle.set()
        self.gate = threading.Lock()
        self.open = False  # only then may it send
        self._stop = threading.Event()
        self._rest_until = 0.0  # by the clock that only goes forward
        self._failures = 0
        self._trouble = ""  # as it was last told
        self._told = False  # of those failures in a row
        self.thread = threading.Thread(target=self._run, name=f"alerts to {channel.name}", daemon=True)

    def stop(self) -> None:
        self._stop.set()
        self.wake.set()

    def use(self, channel: Channel) -> None:
        if channel != self.channel:  # what was wrong may be mended: nobody need wait to find out
            self.channel, self._rest_until = channel, 0.0
            self._outbox.wake(channel.name)
            self.wake.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._once()
            except Exception:  # a bug of ours must not end the alerts. Channels are not part of it: no secret is in reach
                log.exception("the channel %s stumbled and goes on", self.channel.name)
                self._stop.wait(1)

    def _once(self) -> None:
        self.wake.clear()
        wait = self._rest_until - time.monotonic()
        if wait > 0:
            self.wake.wait(min(wait, LOOK))
            return
        row = self._claimed()
        if row is None:
            due = self._outbox.next_due(self.channel.name, self._clock()) if self.open else None
            self.wake.wait(LOOK if due is None else min(LOOK, max(0.01, due - self._clock())))
            return
        try:
            self._deliver(row)
        finally:
            self.idle.set()

    def _claimed(self) -> Row | None:
        with self.gate:  # whoever closes it knows afterwards whether something is under way
            if not self.open or self._stop.is_set():
                return None
            row = self._outbox.claim(self.channel.name, self._clock())
            if row is not None:
                self.idle.clear()
            return row

    def _deliver(self, row: Row) -> None:
        try:
            self.channel.send(row.notice)
        except Refused as trouble:
            self._refused(row, trouble)
        except (
            Exception
        ) as trouble:  # a bug of ours. Its text is not written: it may hold an address, which may hold a token
            at = traceback.extract_tb(trouble.__traceback__)[-1]
            self._refused(row, Refused(f"a bug of ours, {type(trouble).__name__} at {at.filename}:{at.lineno}."))
        else:
            self._outbox.delivered(row, self._clock())
            self._well()

    def _well(self) -> None:
        # One failure alone may be the notice's own fault; of several in a row, the receiver was away, and is back.
        if self._failures > 1:
            self._outbox.wake(self.channel.name)
            log.info("the channel %s takes notices again", self.channel.name)
            self._trouble = ""
        self._failures, self._told = 0, False

    def _refused(self, row: Row, trouble: Refused) -> None:
        self._failures += 1
        if trouble.permanent:
            self._outbox.give_up(row, self._clock())
        else:
            self._outbox.failed(row, self._clock(), trouble.retry_after)
            rest = self._outbox.rest(self._failures) if trouble.retry_after is None else trouble.retry_after
            self._rest_until = time.monotonic() + min(rest, LONGEST_REQUEST)  # whoever refused one may refuse the next
        # What goes on and on is told once, and so is the notice that fails time and again while others pass.
        if trouble.message != self._trouble or (self._failures == 2 and not self._told):
            then = "It is not tried again." if trouble.permanent else "It is tried again."
            log.warning("the channel %s did not take a notice: %s %s", self.channel.name, trouble.message, then)
            self._trouble, self._told = trouble.message, True


class Sender:
    def __init__(self, outbox: Outbox, clock: Callable[[], float] = time.time) -> None:
        self._outbox, self._clock = outbox, clock
        self._workers: dict[str, _Worker] = {}
        self._lock = threading.Lock()
        self._open = False

    def use(self, channels: Mapping[str, Channel]) -> None:
        """From now on these. One that stays keeps its thread."""
        with self._lock:
            for name in [name for name in self._workers if name not in channels]:
                self._workers.pop(name).stop()
            for name, channel in channels.items():
                if name in self._workers:
                    self._workers[name].use(channel)
                else:
                    worker = self._workers[name] = _Worker(channel, self._outbox, self._clock)
                    worker.open = self._open
                    worker.thread.start()

    def resume(self) -> None:
        self._set(True)
        self.look()

    def pause(self, patience: float = LAST_WORDS) -> bool:
        """Nothing is sent any more. Whether what was under way came to an end."""
        workers = self._set(False)
        deadline = time.monotonic() + patience
        ended = [worker.idle.wait(max(0.0, deadline - time.monotonic())) for worker in workers]
        return all(ended)

    def look(self) -> None:
        """There may be something to send."""
        with self._lock:
            for worker in self._workers.values():
                worker.wake.set()

    def stop(self) -> None:
        self._set(False)
        with self._lock:
            workers, self._workers = list(self._workers.values()), {}
        deadline = time.monotonic() + LAST_WORDS
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.thread.join(max(0.0, deadline - time.monotonic()))

    def _set(self, is_open: bool) -> list[_Worker]:
        with self._lock:
            self._open = is_open
            workers = list(self._workers.values())
        for worker in workers:
            with worker.gate:
                worker.open = is_open
        return workers
