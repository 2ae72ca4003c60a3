"""What the application does with a record, as a span that is active meanwhile: what it sends inside is its child.

with process(message):                     # in a thread or a task; many at once
    producer.produce("invoices", …)

@processing                                # the same for a function whose first argument is the message
async def handle(message): …

with process_batch(consumer.consume(500)): # linked to each of them
    …
"""

import functools
import inspect
import logging
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

from interceptors.tracing.context import TraceContext
from interceptors.tracing.current import Processing
from interceptors.tracing.facts import Seat, add_record, add_seats, links_to, measured, operation, titled
from interceptors.tracing.interceptor import Tracing
from interceptors.tracing.names import BATCH_COUNT
from interceptors.tracing.origins import ORIGINS, in_common, tracing_of
from interceptors.tracing.parents import beside
from interceptors.tracing.reading import Found, read
from interceptors.tracing.settings import Settings
from interceptors.tracing.spans import CONSUMER, Draft, LinkTo, failed_with

LOG = logging.getLogger("interceptors.tracing")
F = TypeVar("F", bound=Callable[..., Any])


@functools.cache
def unknown() -> Tracing:
    """For messages of consumers that are not traced, by what is set for the whole process."""
    return Tracing()


class Process:
    """Made by `process` and `process_batch`; enter it once. `as` gives the context: trace_id, span_id, sampled."""

    def __init__(self, messages: list[Any], consumer: Any, batch: bool) -> None:
        self._messages, self._consumer, self._batch = messages, consumer, batch
        self._entered: tuple[Draft, Any, Tracing, dict[str, Any]] | None = None

    def __enter__(self) -> TraceContext | None:
        tracing, settings = self._whose()
        if tracing.around.quiet() or not self._messages:
            return None
        try:
            return self._enter(tracing, settings)
        except Exception as error:  # an application must not lose a record to its tracing
            LOG.warning("no span for what is processed: %s: %s", type(error).__name__, error, exc_info=error)
            return None

    def _whose(self) -> tuple[Tracing, Settings]:
        if self._consumer is not None:
            tracing = tracing_of(self._consumer)
            return tracing, tracing.settings
        known = {one for topic in {message.topic() for message in self._messages} for one in ORIGINS.of(topic)}
        if len(known) > 1:
            return next(iter(known)), in_common([tracing.settings for tracing in known])
        tracing = next(iter(known), None) or unknown()
        return tracing, tracing.settings

    def _enter(self, tracing: Tracing, settings: Settings) -> TraceContext:
        providers, around = tracing.providers, tracing.around
        if providers.looking:
            providers.look_again()
        found = [read(message.headers()) for message in self._messages]
        if tracing is unknown():  # else they were counted when they came in
            for each in found:
                tracing.bad_headers.update(each.bad)
        facts, seats = self._facts(settings)
        contexts = [each.context for each in found]
        parent, links = self._parent(settings, contexts, seats, around.active())
        title = titled("process", (topic for topic, _, _ in seats))
        draft = providers.recorder.begin(title, CONSUMER, parent, dict(facts), links, start=time.time_ns(), live=True)
        token = around.enter(Processing(draft.context, places(contexts), self._baggage(found)), draft.live)
        self._entered = draft, token, tracing, facts
        return draft.context

    def _facts(self, settings: Settings) -> tuple[dict[str, Any], list[Seat]]:
        seats: list[Seat] = [(message.topic(), message.partition(), message.offset()) for message in self._messages]
        facts = operation(settings.client, "process", "process")
        add_seats(facts, seats)
        if self._batch:
            facts[BATCH_COUNT] = len(seats)
        else:
            add_record(facts, self._messages[0].key() if settings.keys else None, self._messages[0].value())
        return facts, seats

    def _parent(
        self, settings: Settings, contexts: list[TraceContext | None], seats: list[Seat], active: TraceContext | None
    ) -> tuple[TraceContext | None, tuple[LinkTo, ...]]:
        if not self._batch and not settings.link and contexts[0] is not None:
            return contexts[0], ()
        return active or beside(contexts), links_to(contexts, seats)

    def _baggage(self, found: list[Found]) -> str:
        return "" if self._batch else found[0].baggage

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._entered is None:
            return
        draft, token, tracing, facts = self._entered
        self._entered = None
        try:
            tracing.around.leave(token)
            end, failure = draft.end(), None if error is None else failed_with(error)
            if draft.recording:
                tracing.providers.recorder.finish(draft, end, failure)
            if meters := tracing.providers.meters:
                meters.processed(end - draft.start, measured(facts, failure))
        except Exception as trouble:
            LOG.warning("the span of what was processed is lost: %s: %s", type(trouble).__name__, trouble, exc_info=trouble)


def places(contexts: list[TraceContext | None]) -> frozenset[tuple[str, str]]:
    return frozenset((told.trace_id, told.span_id) for told in contexts if told is not None and told.span_id)


def process(message: Any, consumer: Any = None) -> Process:
    """A process span around whatever is done with a message. `consumer` says whose it is, where several read its topic."""
    return Process([message], consumer, batch=False)


def process_batch(messages: Iterable[Any], consumer: Any = None) -> Process:
    """One span around many, linked to each (the first 128). Errors and ends of partitions among them are passed over."""
    return Process([message for message in messages if message.error() is None], consumer, batch=True)


def processing(function: F) -> F:
    """A function, or a coroutine function, whose first argument is the message, with `process` around every call."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def handled_later(message: Any, *args: Any, **more: Any) -> Any:
            with process(message):
                return await function(message, *args, **more)

        return handled_later  # type: ignore[return-value]

    @functools.wraps(function)
    def handled(message: Any, *args: Any, **more: Any) -> Any:
        with process(message):
            return function(message, *args, **more)

    return handled  # type: ignore[return-value]
