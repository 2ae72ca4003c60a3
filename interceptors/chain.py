"""The interceptors of one client, called in order, each with the answer of the one before.

An interceptor that raises is passed over: the chain goes on with the last good record. Java logs that and nobody sees it;
here it is counted for each interceptor and hook, with the time that was spent, and logged once in a while.

The same few lines stand in every hook that is called for each record: a function around them would cost as much as they do.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from interceptors.contract import Event, Happening
from interceptors.loading import name_of, own, wants_created, wants_record
from interceptors.record import ProducerRecord, Report, make

LOG = logging.getLogger("interceptors")
LOG_EVERY = 60.0  # seconds between two words about the same hook
clock = time.perf_counter_ns
time_ns = time.time_ns


class Tally:
    """What one hook of one interceptor has cost, and how often it failed."""

    __slots__ = ("_lock", "_logged", "_told", "calls", "errors", "hook", "interceptor", "ns")

    def __init__(self, interceptor: str, hook: str) -> None:
        self.interceptor, self.hook = interceptor, hook
        # Counted without a lock: between reading and writing such an attribute CPython lets no other thread run.
        self.calls = self.errors = self.ns = 0
        self._lock, self._logged, self._told = threading.Lock(), float("-inf"), 0

    def failed(self, error: BaseException) -> None:
        with self._lock:
            self.errors += 1
            now = time.monotonic()
            if now - self._logged < LOG_EVERY:
                return
            since, self._told, self._logged = self.errors - self._told, self.errors, now
        LOG.warning(
            "interceptor %s failed in %s and was passed over (%d times since it was last told of, %d in all): %s: %s",
            self.interceptor, self.hook, since, self.errors, type(error).__name__, error,
            exc_info=error,
        )  # fmt: skip


Hook = tuple[Callable[..., Any], Tally]


class Chain:
    """Empty hooks are false, so that a client can leave out whole what nobody wants to hear."""

    def __init__(self, interceptors: list[Any], client: str) -> None:
        self.client = client  # its client.id
        self._interceptors = interceptors
        self.tallies: list[Tally] = []
        self.send = self._hooks("on_send")
        # With whether it wants the record too, and whether any does: a record that nobody asks for is not kept.
        self.acknowledge = [
            (hook, tally, wants_record(hook), wants_created(hook)) for hook, tally in self._hooks("on_acknowledgement")
        ]
        self.wants_record = any(wants for _, _, wants, _ in self.acknowledge)
        self.stamps = any(created for _, _, _, created in self.acknowledge)  # records are sent with a timestamp in any case
        self.poll = self._hooks("on_poll")
        self.consume = self._hooks("on_consume")
        self.commit = self._hooks("on_commit")
        self.event = self._hooks("on_event")
        self._close = self._hooks("close")
        sending = interceptors if self.send else []  # nobody else can ask to hear of a record
        self._ears = {id(interceptor): self._tally(interceptor, "on_acknowledgement") for interceptor in sending}
        self._closing = threading.Lock()

    def _hooks(self, name: str) -> list[Hook]:
        return [
            (hook, self._tally(interceptor, name))
            for interceptor in self._interceptors
            if (hook := own(interceptor, name)) is not None
        ]

    def _tally(self, interceptor: object, hook: str) -> Tally:
        name = name_of(interceptor)
        for known in self.tallies:
            if (known.interceptor, known.hook) == (name, hook):
                return known
        self.tallies.append(Tally(name, hook))
        return self.tallies[-1]

    def __bool__(self) -> bool:
        return bool(self._interceptors)

    @property
    def interceptors(self) -> tuple[Any, ...]:
        return tuple(self._interceptors)

    # ---- producers ----------------------------------------------------------------------------------------------------

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        before = clock()
        for hook, tally in self.send:
            try:
                answer = hook(record)
                if answer.__class__ is not ProducerRecord:
                    raise TypeError(f"on_send answered {_kind(answer)} and not a ProducerRecord")
                record = answer
            except Exception as error:
                tally.failed(error)
            after = clock()
            tally.calls += 1
            tally.ns += after - before
            before = after
        return record

    def stamped(self, record: ProducerRecord) -> ProducerRecord:
        """With a timestamp, if somebody asks for those of all records."""
        if not self.stamps or record.timestamp:
            return record
        topic, value, key, headers, partition, _, ears = record
        now = time_ns() // 1_000_000  # as librdkafka would
        return make(ProducerRecord, (topic, value, key, headers, partition, now, ears))

    def on_acknowledgement(self, report: Report, error: Any, record: ProducerRecord | None) -> None:
        before = clock()
        for hook, tally, wants, created in self.acknowledge:
            try:
                if wants and created:
                    hook(report, error, record, created=record.timestamp if record is not None else 0)
                elif wants:
                    hook(report, error, record)
                elif created:
                    hook(report, error, created=record.timestamp if record is not None else 0)
                else:
                    hook(report, error)
            except Exception as trouble:
                tally.failed(trouble)
            after = clock()
            tally.calls += 1
            tally.ns += after - before
            before = after
        if record is not None and record.ears:
            self._ears_hear(report, error, record)

    def _ears_hear(self, report: Report, error: Any, record: ProducerRecord) -> None:
        before = clock()
        for whose, ear, more in record.ears:
            # An ear whose owner is none of ours was added for somebody else, by hand: called all the same.
            tally = self._ears.get(id(whose)) or self._tally(whose, "on_acknowledgement")
            try:
                ear(report, error, record, *more)
            except Exception as trouble:
                tally.failed(trouble)
            after = clock()
            tally.calls += 1
            tally.ns += after - before
            before = after

    def hearing(self, callback: Any, *, failures_only: bool = False) -> Callable[[Any, Any], None]:
        """What to call with the reports of all records that nobody has to be reminded of: one for all of them, where a
        callback for each, with its record, would keep the garbage collector busy while they are in flight."""
        hooks = [(hook, tally) for hook, tally, *_ in self.acknowledge]

        def heard(error: Any, message: Any) -> None:
            before = clock()
            for hook, tally in hooks:
                try:
                    hook(message, error)
                except Exception as trouble:
                    tally.failed(trouble)
                after = clock()
                tally.calls += 1
                tally.ns += after - before
                before = after
            if callback is not None and not (failures_only and error is None):
                callback(error, message)

        return heard

    def hearing_when(self, callback: Any, *, failures_only: bool = False) -> Callable[[int], Callable[[Any, Any], None]]:
        """The same if somebody asks for the timestamps that records were sent with: one for all that have the same."""
        hooks = [(hook, tally, created) for hook, tally, _, created in self.acknowledge]

        def hearing(when: int) -> Callable[[Any, Any], None]:
            def heard(error: Any, message: Any) -> None:
                before = clock()
                for hook, tally, created in hooks:
                    try:
                        if created:
                            hook(message, error, created=when)
                        else:
                            hook(message, error)
                    except Exception as trouble:
                        tally.failed(trouble)
                    after = clock()
                    tally.calls += 1
                    tally.ns += after - before
                    before = after
                if callback is not None and not (failures_only and error is None):
                    callback(error, message)

            return heard

        return hearing

    def delivered(self, record: ProducerRecord | None, callback: Any, error: Any, message: Any) -> None:
        """A delivery report: the chain hears it, then the application, whose exceptions are its own."""
        self.on_acknowledgement(message, error, record)
        if callback is not None:
            callback(error, message)

    def delivered_or_not(self, record: ProducerRecord | None, callback: Any, error: Any, message: Any) -> None:
        """The same for an application that wants to hear of failures alone."""
        self.delivered(record, callback if error is not None else None, error, message)

    # ---- consumers ----------------------------------------------------------------------------------------------------

    def on_poll(self) -> None:
        self._tell(self.poll)

    def on_consume(self, records: list[Any]) -> list[Any]:
        before = clock()
        for hook, tally in self.consume:
            try:
                # A list of its own: one that breaks half way through changing it must not change what goes on.
                answer = hook(list(records))
                if not isinstance(answer, list):
                    raise TypeError(f"on_consume answered {_kind(answer)} and not a list of records")
                records = answer
            except Exception as error:
                tally.failed(error)
            after = clock()
            tally.calls += 1
            tally.ns += after - before
            before = after
        return records

    def on_commit(self, offsets: list[Any]) -> None:
        if offsets:
            self._tell(self.commit, offsets)

    # ---- both ---------------------------------------------------------------------------------------------------------

    def happened(
        self, what: Happening, invoked_ns: int, error: Any = None, partitions: Any = (), *, asked: bool = True
    ) -> None:
        if self.event:
            self._tell(self.event, Event(what, invoked_ns, time.monotonic_ns(), error, tuple(partitions), asked))

    def close(self) -> None:
        """Once; closing again does nothing."""
        with self._closing:
            hooks, self._close = self._close, []
        self._tell(hooks)

    def _tell(self, hooks: list[Hook], *what: Any) -> None:
        before = clock()
        for hook, tally in hooks:
            try:
                hook(*what)
            except Exception as error:
                tally.failed(error)
            after = clock()
            tally.calls += 1
            tally.ns += after - before
            before = after


def _kind(answer: Any) -> str:
    """Not the answer itself: what an application sends has no place in a log."""
    return "None" if answer is None else f"a {type(answer).__name__}"
