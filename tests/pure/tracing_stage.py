"""A tracing interceptor and an OpenTelemetry that keeps its spans in memory, played by hand: no client, no broker."""

import json
from collections.abc import Iterable
from typing import Any

from confluent_kafka import KafkaError, Message
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from interceptors.record import ProducerRecord, Refused
from interceptors.tracing import Tracing

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CREATE_TIME = 1


class Looks(SpanProcessor):
    """Wants to see spans as they start, so that they must be started."""

    def __init__(self) -> None:
        self.started: list[Any] = []

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self.started.append((span.name, dict(span.attributes)))


class Stage:
    """`looking`: a processor that has to do when a span starts. `options` are the provider's."""

    def __init__(self, config: dict[str, Any] | None = None, *, looking: bool = False, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False, **options)
        self.looks = Looks()
        if looking:
            self.provider.add_span_processor(self.looks)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracing = self.another(config or {})

    def another(self, config: dict[str, Any]) -> Tracing:
        tracing = Tracing(tracer_provider=self.provider)
        tracing.configure(config)
        return tracing

    def send(self, record: ProducerRecord | None = None, tracing: Tracing | None = None) -> ProducerRecord:
        return (tracing or self.tracing).on_send(record or ProducerRecord("orders", b"v", b"k"))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def span(self) -> ReadableSpan:
        (only,) = self.spans
        return only

    def names(self) -> list[str]:
        return [span.name for span in self.spans]


def acknowledged(record: ProducerRecord, *, partition: int = 3, offset: int = 41, error: KafkaError | None = None) -> None:
    """What the chain does when the outcome is known."""
    report = Message(topic=record.topic, partition=partition, offset=offset, key=b"k", value=b"v", error=error)
    heard(record, report, error)


def refused(record: ProducerRecord, error: KafkaError) -> None:
    heard(record, Refused(record, error), error)


def heard(record: ProducerRecord, report: Any, error: Any) -> None:
    for _, ear, more in record.ears:
        ear(report, error, record, *more)


def message(
    *,
    topic: str = "orders",
    partition: int = 3,
    offset: int = 41,
    headers: Iterable[tuple[str, Any]] | None = None,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    error: KafkaError | None = None,
    timestamp: tuple[int, int] = (0, 0),
) -> Message:
    return Message(
        topic=topic,
        partition=partition,
        offset=offset,
        headers=None if headers is None else list(headers),
        key=key,
        value=value,
        error=error,
        timestamp=timestamp,
    )


def traceparent(trace: str = TRACE, span: str = SPAN, flags: str = "01") -> tuple[str, bytes]:
    return "traceparent", f"00-{trace}-{span}-{flags}".encode()


def header_of(record: ProducerRecord) -> str:
    """The traceparent that a record left with, of which there is one only."""
    (value,) = [value for name, value in record.headers if name == "traceparent"]
    assert isinstance(value, bytes)
    return value.decode()


def ids_of(span: ReadableSpan) -> str:
    """As a traceparent says it."""
    context = span.get_span_context()
    assert context is not None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def told(span: ReadableSpan) -> dict[str, Any]:
    """All that an exporter sees, but times and ids that were made by chance."""
    facts: dict[str, Any] = json.loads(span.to_json())
    for name in ("start_time", "end_time"):
        assert facts.pop(name)
    facts["context"].pop("span_id")
    if facts["parent_id"] is None:
        facts["context"].pop("trace_id")
    return facts | {
        "flags": int(span.context.trace_flags),
        "remote_parent": span.parent and span.parent.is_remote,
        "parent_flags": span.parent and int(span.parent.trace_flags),
        "scope": repr(span.instrumentation_scope),
        "info": repr(span.instrumentation_info),
        "dropped": (span.dropped_attributes, span.dropped_links),
        "link_flags": [(int(link.context.trace_flags), link.context.is_remote) for link in span.links],
    }
