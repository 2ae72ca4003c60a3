"""The only place that looks at the private parts of an SDK's tracer, and says whether spans may be built at their end.

They may if nobody would see them before: no span processor has anything to do when a span starts. If the SDK looks different
inside than it does today, the answer is no, and everything goes the public way.
"""

from typing import Any, NamedTuple


class Pipe(NamedTuple):
    """All that a span needs to know of its tracer at its end."""

    limits: Any
    scope: Any
    info: Any


def processors_of(tracer: Any) -> tuple[Any, ...] | None:
    """A new tuple whenever a processor is added. None: nobody can tell, or the tracer is switched off."""
    try:
        processors: tuple[Any, ...] = tracer.span_processor._span_processors
        return processors if tracer._is_enabled() else None
    except AttributeError:
        return None


def pipe_of(tracer: Any) -> Pipe | None:
    """None: spans have to be started the public way."""
    try:
        from opentelemetry.sdk.trace import SynchronousMultiSpanProcessor, Tracer
        from opentelemetry.sdk.trace._tracer_metrics import NoOpTracerMetrics

        several = tracer.span_processor
        plain = type(tracer) is Tracer and type(several) is SynchronousMultiSpanProcessor
        processors = processors_of(tracer)
        if not plain or processors is None or not isinstance(tracer._tracer_metrics, NoOpTracerMetrics):
            return None
        if not all(_has_nothing_to_start(processor) for processor in processors):
            return None
        return Pipe(tracer._span_limits, tracer._instrumentation_scope, tracer.instrumentation_info)
    except (ImportError, AttributeError):
        return None


def _has_nothing_to_start(processor: Any) -> bool:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

    idle = (SpanProcessor, BatchSpanProcessor, SimpleSpanProcessor)
    return all(
        name not in vars(processor) and getattr(type(processor), name) in [getattr(kind, name) for kind in idle]
        for name in ("on_start", "_on_ending")
    )
