"""OpenTelemetry's spans without its price: a span is built when it ends, where nobody would have looked at it before.

Starting, filling and ending a span costs the SDK 38 µs. But if no span processor has anything to do when a span starts, the
very same ReadableSpan can be made at the end, from facts. Otherwise, or with an SDK that looks different inside, spans are
started the public way. Both ways export the same.
"""

import threading
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from opentelemetry import trace
from opentelemetry.context import get_current
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from interceptors.tracing.context import RANDOM, SAMPLED, TraceContext
from interceptors.tracing.current import context_of, span_context_of
from interceptors.tracing.names import ERROR, SCHEMA, SCOPE
from interceptors.tracing.pipe import Pipe, pipe_of, processors_of
from interceptors.tracing.sampling import known_rule, never
from interceptors.tracing.spans import CLIENT, CONSUMER, PRODUCER, Draft, Failure, LinkTo, Recorder, with_failure

KINDS = {PRODUCER: SpanKind.PRODUCER, CONSUMER: SpanKind.CONSUMER, CLIENT: SpanKind.CLIENT}
KNOWN_FLAGS = SAMPLED | (RANDOM if hasattr(TraceFlags, "RANDOM_TRACE_ID") else 0)
UNSET = Status(StatusCode.UNSET)


def our_version() -> str:
    try:
        return version("kafka-trial")
    except PackageNotFoundError:
        return ""


class Given:
    """The tracer's id generator, but ids that were decided on before the span is started are taken as they are."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.local = inner, threading.local()

    def give(self, context: TraceContext | None) -> None:
        self.local.context = context

    def _given(self) -> TraceContext | None:
        return getattr(self.local, "context", None)

    def generate_trace_id(self) -> int:
        given = self._given()
        return int(given.trace_id, 16) if given else int(self.inner.generate_trace_id())

    def generate_span_id(self) -> int:
        given = self._given()
        return int(given.span_id, 16) if given else int(self.inner.generate_span_id())

    def is_trace_id_random(self) -> bool:
        given = self._given()
        return given.random if given else bool(getattr(self.inner, "is_trace_id_random", bool)())


class Sdk(Recorder):
    """Spans for a TracerProvider: that of opentelemetry-sdk, or one that keeps to the API and is asked for everything."""

    def __init__(self, provider: Any) -> None:
        super().__init__()
        self._tracer = provider.get_tracer(SCOPE, our_version(), SCHEMA)
        self._given: Given | None = None
        self._processors: tuple[Any, ...] | None = None
        self._pipe: Pipe | None = None
        if _is_sdk(self._tracer):
            self._know_the_sdk()

    def _know_the_sdk(self) -> None:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

        self._made = ReadableSpan
        found = self._tracer.id_generator
        self._given = found if isinstance(found, Given) else Given(found)
        self._tracer.id_generator = self._given
        generator = self._given.inner
        if type(generator) is not RandomIdGenerator:  # the application's own, whose ids may mean something
            self.span_id = lambda: f"{generator.generate_span_id():016x}"
            self.pair = lambda: f"{generator.generate_trace_id():032x}{generator.generate_span_id():016x}"
        self.random = bool(KNOWN_FLAGS & RANDOM) and bool(getattr(generator, "is_trace_id_random", bool)())
        self.decide_by(known_rule(self._tracer.sampler))

    def begin(
        self,
        name: str,
        kind: str,
        parent: TraceContext | None,
        attributes: dict[str, Any],
        links: tuple[LinkTo, ...] = (),
        *,
        start: int,
        live: bool = False,
        context: TraceContext | None = None,
    ) -> Draft:
        rule = self.rule
        context = context or self.placed(parent, rule or never)
        if parent is not None and parent.sampled is None:
            parent = parent._replace(sampled=context.sampled)  # nobody had decided: now somebody has
        draft = Draft(name, kind, context, parent, attributes, links, start, rule is None or bool(context.sampled))
        if not draft.recording:
            return draft
        draft.via = None if live else self.way()
        if draft.via is None:
            self._start(draft)
        elif rule is None:
            self._ask(draft)
        return draft

    def way(self) -> Pipe | None:
        """Looked at again when a processor was added."""
        processors = processors_of(self._tracer)
        if processors is None:
            return None
        if processors is not self._processors:
            self._processors, self._pipe = processors, pipe_of(self._tracer)
        return self._pipe

    def _ask(self, draft: Draft) -> None:
        """A sampler that we do not know: it may add attributes and change the tracestate."""
        parent = draft.parent
        root = parent is None or not parent.span_id
        answer = self._tracer.sampler.should_sample(
            None if root or parent is None else trace.set_span_in_context(NonRecordingSpan(span_context_of(parent))),
            int(draft.context.trace_id, 16),
            draft.name,
            KINDS[draft.kind],
            draft.attributes,
            links_of(draft.links),
        )
        state = answer.trace_state.to_header() if answer.trace_state else ""
        draft.context = draft.context._replace(sampled=answer.decision.is_sampled(), state=state)
        draft.recording = answer.decision.is_recording()
        draft.attributes = {**answer.attributes} if draft.recording else draft.attributes

    def _start(self, draft: Draft) -> None:
        """The public way. What the SDK then says of the span is what the header will say."""
        parent = draft.parent
        around = get_current()
        if parent is None or not parent.span_id:
            around = trace.set_span_in_context(trace.INVALID_SPAN, around)
        elif trace.get_current_span(around).get_span_context().span_id != int(parent.span_id, 16):
            around = trace.set_span_in_context(NonRecordingSpan(span_context_of(parent)), around)
        span = self._started(draft, around)
        found = span.get_span_context()
        if found.is_valid:
            debug = draft.context.debug and bool(found.trace_flags & SAMPLED)
            draft.context = context_of(found)._replace(debug=debug, remote=False)
        else:
            draft.context = draft.context._replace(sampled=False)  # a tracer that is switched off
        draft.live, draft.recording = span, span.is_recording()
        draft.attributes = {}  # it has these; what comes now is new

    def _started(self, draft: Draft, around: Any) -> Any:
        facts = (draft.name, around, KINDS[draft.kind], draft.attributes, links_of(draft.links), draft.start)
        if self._given is None:
            return self._tracer.start_span(*facts)
        self._given.give(draft.context)
        try:
            return self._tracer.start_span(*facts)
        finally:
            self._given.give(None)

    def finish(self, draft: Draft, end: int, failure: Failure | None = None) -> None:
        if draft.live is not None:
            self._end(draft, end, failure)
        else:
            self._tracer.span_processor.on_end(self._readable(draft.via, draft, end, failure))

    def _end(self, draft: Draft, end: int, failure: Failure | None) -> None:
        span = draft.live
        span.set_attributes(with_failure(draft.attributes, failure))
        if failure is not None:
            if failure.exception is not None:
                span.record_exception(failure.exception, escaped=True)
            span.set_status(Status(StatusCode.ERROR, failure.description))
        span.end(end)

    def _readable(self, pipe: Pipe, draft: Draft, end: int, failure: Failure | None) -> Any:
        context, parent = draft.context, draft.parent
        attributes = draft.attributes
        if failure is not None:
            attributes[ERROR] = failure.type
        state = TraceState.from_header([context.state]) if context.state else None
        return self._made(
            name=draft.name,
            context=SpanContext(
                int(context.trace_id, 16), int(context.span_id, 16), False, TraceFlags(context.flags & KNOWN_FLAGS), state
            ),
            parent=span_context_of(parent) if parent is not None and parent.span_id else None,
            resource=self._tracer.resource,
            attributes=bounded(attributes, pipe.limits),
            links=bounded_links(draft.links, pipe.limits) if draft.links else (),
            kind=KINDS[draft.kind],
            instrumentation_info=pipe.info,
            status=UNSET if failure is None else Status(StatusCode.ERROR, failure.description),
            start_time=draft.start,
            end_time=end,
            instrumentation_scope=pipe.scope,
        )


def _is_sdk(tracer: Any) -> bool:
    try:
        from opentelemetry.sdk.trace import Tracer
    except ImportError:
        return False
    return isinstance(tracer, Tracer)


def links_of(links: tuple[LinkTo, ...]) -> list[Link]:
    return [Link(span_context_of(link.context), link.attributes) for link in links]


def bounded(attributes: dict[str, Any], limits: Any) -> Any:
    """As the SDK limits them; plain where no limit can bite."""
    most, longest = limits.max_span_attributes, limits.max_span_attribute_length
    if longest is None and (most is None or len(attributes) <= most):
        return attributes
    from opentelemetry.attributes import BoundedAttributes

    return BoundedAttributes(most, attributes, immutable=True, max_value_len=longest)


def bounded_links(links: tuple[LinkTo, ...], limits: Any) -> Any:
    from opentelemetry.attributes import BoundedAttributes
    from opentelemetry.sdk.util import BoundedList

    made = [
        Link(
            span_context_of(link.context),
            BoundedAttributes(limits.max_link_attributes, link.attributes, max_value_len=limits.max_attribute_length),
        )
        for link in links
    ]
    return BoundedList.from_seq(limits.max_links, made)
