"""The spans of a consumer (and of whoever settles: group commits, transactions): `poll` for each poll that brought records,
`commit`, `abort`.

A poll that brings one record joins the trace of that record; one that brings several belongs to none of them and is linked
to each.
"""

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from interceptors.contract import Event, Happening
from interceptors.tracing import names
from interceptors.tracing.context import TraceContext
from interceptors.tracing.facts import Seat, add_record, add_seats, links_to, measured, operation, titled
from interceptors.tracing.origins import ORIGINS
from interceptors.tracing.parents import beside
from interceptors.tracing.reading import read
from interceptors.tracing.spans import CLIENT, Failure, kafka_failure

if TYPE_CHECKING:
    from interceptors.tracing.interceptor import Tracing


class Consuming:
    def __init__(self, tracing: "Tracing") -> None:
        self._tracing = tracing
        self._topics: set[str] = set()
        self._polled: int | None = None  # monotonic

    def polled(self) -> None:
        self._polled = time.monotonic_ns()

    def closed(self) -> None:
        ORIGINS.gone(self._tracing)

    def received(self, records: list[Any]) -> None:
        messages = [message for message in records if message.error() is None]
        polled, self._polled = self._polled, None
        if not messages or self._tracing.around.quiet():
            return
        tracing, now, monotonic = self._tracing, time.time_ns(), time.monotonic_ns()
        if tracing.providers.looking:
            tracing.providers.look_again()
        waited = 0 if polled is None else monotonic - polled
        contexts = [self._context(message) for message in messages]
        seats: list[Seat] = [(message.topic(), message.partition(), message.offset()) for message in messages]
        for topic in {topic for topic, _, _ in seats} - self._topics:
            self._topics.add(topic)
            ORIGINS.reads(topic, tracing)
        self._measure(seats, waited)
        if tracing.providers.recorder.listening():
            self._span(messages, contexts, seats, now, waited)

    def _context(self, message: Any) -> TraceContext | None:
        headers = message.headers()
        if not headers:
            return None
        found = read(headers)
        if found.bad:
            self._tracing.bad_headers.update(found.bad)
        return found.context

    def _span(
        self, messages: list[Any], contexts: list[TraceContext | None], seats: list[Seat], now: int, waited: int
    ) -> None:
        tracing, recorder, start = self._tracing, self._tracing.providers.recorder, now - waited
        parent = tracing.around.active()
        if parent is None and len(messages) == 1 and not tracing.settings.link and contexts[0] is not None:
            parent = contexts[0]
            start = min(now, max(start, created(messages[0])))  # it did not take part before there was a record
        parent = parent or beside(contexts)
        context = None if recorder.rule is None else recorder.placed(parent, recorder.rule)
        if context is not None and not context.sampled:
            return
        title, facts = titled("poll", (topic for topic, _, _ in seats)), self._facts(messages, seats)
        draft = recorder.begin(title, CLIENT, parent, facts, links_to(contexts, seats), start=start, context=context)
        if draft.recording:
            recorder.finish(draft, now)

    def _facts(self, messages: list[Any], seats: list[Seat]) -> dict[str, Any]:
        facts = operation(self._tracing.settings.client, "poll", "receive")
        add_seats(facts, seats)
        if len(messages) > 1:
            facts[names.BATCH_COUNT] = len(messages)
        else:
            add_record(facts, messages[0].key() if self._tracing.settings.keys else None, messages[0].value())
        return facts

    def _measure(self, seats: list[Seat], waited: int) -> None:
        meters = self._tracing.providers.meters
        if meters is None:
            return
        facts = operation(self._tracing.settings.client, "poll", "receive")
        for (topic, partition), count in Counter((topic, partition) for topic, partition, _ in seats).items():
            place = {names.DESTINATION: topic, names.PARTITION: str(partition)}
            meters.consumed(count, measured(facts | place, None))
        add_seats(facts, seats)
        meters.operation(waited, measured(facts, None))

    # ---- settling -----------------------------------------------------------------------------------------------------

    def settled(self, event: Event) -> None:
        tracing = self._tracing
        failure = failure_of(event)
        if tracing.around.quiet():
            return
        name = "abort" if event.what is Happening.ABORT else "commit"
        facts = operation(tracing.settings.client, name, "settle")
        seats: list[Seat] = [(each.topic, each.partition, each.offset) for each in event.partitions]
        add_seats(facts, seats)
        end = time.time_ns() - (time.monotonic_ns() - event.completed_ns)
        took = event.completed_ns - event.invoked_ns
        if meters := tracing.providers.meters:
            meters.operation(took, measured(facts, failure))
        recorder = tracing.providers.recorder
        if recorder.listening():
            title = titled(name, (topic for topic, _, _ in seats))
            draft = recorder.begin(title, CLIENT, tracing.around.active(), facts, start=end - took)
            if draft.recording:
                recorder.finish(draft, end, failure)


def failure_of(event: Event) -> Failure | None:
    """That of the call, else the first of a partition: a commit may work for one and not for the next."""
    partial = (getattr(each, "error", None) for each in event.partitions)
    return kafka_failure(event.error if event.error is not None else next(filter(None, partial), None))


def created(message: Any) -> int:
    """When the record was made, in nanoseconds; 0 if nobody knows."""
    kind, milliseconds = message.timestamp()
    return milliseconds * 1_000_000 if kind else 0
