"""Which span is active here: OpenTelemetry's where that is installed, else our own. What `process` enters and leaves.

Both stand in context variables, so that threads and tasks of asyncio have each their own.
"""

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, Token
from functools import cache
from typing import Any, NamedTuple

from interceptors.tracing.context import TraceContext

Place = tuple[str, str]  # trace and span


class Processing(NamedTuple):
    """A process span that is active, and the records it is about."""

    context: TraceContext
    records: frozenset[Place]
    baggage: str = ""

    def is_about(self, told: TraceContext) -> bool:
        return (told.trace_id, told.span_id) in self.records


PROCESSING: ContextVar[Processing | None] = ContextVar("interceptors.tracing.processing", default=None)


class Surroundings:
    """Without OpenTelemetry: what `process` set is all there is."""

    here: Callable[[], Any] = PROCESSING.get  # something false: there is nothing at all here, which is quickly seen

    def active(self) -> TraceContext | None:
        processing = PROCESSING.get()
        return None if processing is None else processing.context

    def quiet(self) -> bool:
        """Whether somebody asked for no telemetry here."""
        return False

    def baggage(self) -> str:
        processing = PROCESSING.get()
        return "" if processing is None else processing.baggage

    def enter(self, processing: Processing, span: Any) -> Any:
        return PROCESSING.set(processing)

    def leave(self, token: Any) -> None:
        _reset(token)


def _reset(token: Token[Processing | None]) -> None:
    with suppress(ValueError):  # left in another context than it was entered in, as generators do: nothing to put back
        PROCESSING.reset(token)


class OtelSurroundings(Surroundings):
    """What is in OpenTelemetry's current context, whoever put it there."""

    def __init__(self) -> None:
        from opentelemetry import context, trace
        from opentelemetry.baggage import get_all
        from opentelemetry.baggage.propagation import W3CBaggagePropagator

        self._context, self._trace = context, trace
        self.here = self._current = context.get_current
        self._span, self._all = trace.get_current_span, get_all
        self._propagator = W3CBaggagePropagator()
        self._suppressed = getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")

    def active(self) -> TraceContext | None:
        current = self._current()
        if not current:
            return None
        found = self._span(current).get_span_context()
        if not found.is_valid:
            return None
        processing = PROCESSING.get()
        if processing is not None and int(processing.context.span_id, 16) == found.span_id:
            return processing.context  # the same, and with what OpenTelemetry does not keep (b3's debug)
        return context_of(found)

    def quiet(self) -> bool:
        current = self._current()
        return bool(current) and bool(current.get(self._suppressed))

    def baggage(self) -> str:
        current = self._current()
        if not current or not self._all(current):
            return ""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, current)
        return carrier.get("baggage", "")

    def enter(self, processing: Processing, span: Any) -> Any:
        current = self._current()
        if processing.baggage:
            current = self._propagator.extract({"baggage": processing.baggage}, current)
        if span is None:
            span = self._trace.NonRecordingSpan(span_context_of(processing.context))
        token = self._context.attach(self._trace.set_span_in_context(span, current))
        return token, PROCESSING.set(processing)

    def leave(self, token: Any) -> None:
        theirs, ours = token
        _reset(ours)
        self._context.detach(theirs)


def context_of(found: Any) -> TraceContext:
    """From OpenTelemetry's SpanContext."""
    flags = int(found.trace_flags)
    state = found.trace_state.to_header() if found.trace_state else ""
    return TraceContext(
        f"{found.trace_id:032x}", f"{found.span_id:016x}", bool(flags & 1), bool(flags & 2), state, False, found.is_remote
    )


def span_context_of(context: TraceContext) -> Any:
    from opentelemetry.trace import SpanContext, TraceFlags, TraceState

    state = TraceState.from_header([context.state]) if context.state else None
    trace_id, span_id = int(context.trace_id, 16), int(context.span_id, 16)
    return SpanContext(trace_id, span_id, context.remote, TraceFlags(context.flags), state)


@cache
def surroundings() -> Surroundings:
    try:
        return OtelSurroundings()
    except ImportError:
        return Surroundings()
