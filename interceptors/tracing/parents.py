"""Whose child is a record that is sent? The headers that the application gave it and the span that is active may disagree.

The rule: without trace headers, the active span. With them, the headers, for somebody put them there; but the active span
if it is of the same trace, or processes the very record whose headers are forwarded: then it is the nearer one.
"""

from collections.abc import Iterable

from interceptors.tracing.context import TraceContext
from interceptors.tracing.current import Processing


def parent_of(told: TraceContext | None, active: TraceContext | None, processing: Processing | None) -> TraceContext | None:
    if told is None or active is None:
        return active if told is None else told
    if not told.trace_id:  # only whether to record, which is of this record alone
        return active._replace(sampled=told.sampled, debug=told.debug)
    if told.trace_id == active.trace_id:
        return active
    if processing is not None and processing.is_about(told):
        return active
    return told


def beside(contexts: Iterable[TraceContext | None]) -> TraceContext | None:
    """The parent of a span that is only linked to these: none, but if nothing it is linked to is recorded, neither is it."""
    return TraceContext(sampled=False) if all(told is not None and told.sampled is False for told in contexts) else None
