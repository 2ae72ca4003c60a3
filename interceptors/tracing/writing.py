"""The configured trace headers in place of all that were there: a record never leaves with two stories about its trace.

Replacing and never adding is the point: a list of headers that is used again, or forwarded from a record that was read,
holds the trace of somebody else, and half of all readers take the first header of a name.
"""

from collections.abc import Callable
from typing import Any

from interceptors.record import Header
from interceptors.tracing.context import TraceContext
from interceptors.tracing.reading import B3, BAGGAGE, KNOWN, TRACE_ID, TRACEPARENT, TRACESTATE, plain_trace_id

Writer = Callable[[TraceContext], tuple[Header, ...]]


def w3c(context: TraceContext) -> tuple[Header, ...]:
    parent = (TRACEPARENT, f"00-{context.trace_id}-{context.span_id}-{context.flags:02x}".encode())
    return (parent, (TRACESTATE, context.state.encode())) if context.state else (parent,)


def b3(context: TraceContext) -> tuple[Header, ...]:
    decision = "d" if context.debug else "1" if context.sampled else "0"
    return ((B3, f"{context.trace_id}-{context.span_id}-{decision}".encode()),)


def trace_id(context: TraceContext) -> tuple[Header, ...]:
    return ((TRACE_ID, context.trace_id.encode()),)


WRITERS: dict[str, Writer] = {"w3c": w3c, "b3": b3, "traceId": trace_id}


def written(context: TraceContext, formats: tuple[str, ...]) -> tuple[Header, ...]:
    if len(formats) == 1:
        return WRITERS[formats[0]](context)
    return tuple(pair for name in formats for pair in WRITERS[name](context))


def replaced(old: tuple[Header, ...], context: TraceContext, formats: tuple[str, ...]) -> tuple[Header, ...]:
    """The headers of a record with this context and no other.

    `baggage` is the application's own and stays. So does a `traceId` that means this trace already, spelled as it is; and
    one that is no trace id at all, where we write none: others use that name for what they like."""
    new = written(context, formats)
    if not old:
        return new
    same = [pair for pair in old if pair[0] == TRACE_ID and plain_trace_id(pair[1]) == context.trace_id]
    if same:
        new = tuple(pair for pair in new if pair[0] != TRACE_ID)
    ours = TRACE_ID in formats
    return (*(pair for pair in old if pair[0] not in KNOWN or pair in same or _stays(pair, ours)), *new)


def _stays(pair: tuple[str, Any], ours: bool) -> bool:
    name, value = pair
    return name == BAGGAGE or (name == TRACE_ID and not ours and plain_trace_id(value) is None)
