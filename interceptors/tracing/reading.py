"""Every trace header that a record may carry, read without ever raising: what cannot be read is named and passed over.

Of several formats the first that can be read counts: traceparent, b3, X-B3-*, traceId. Of headers with the same name the
last counts, as Java's lastHeader() has it; if that one is bad, the ones before it are not asked.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from interceptors.tracing.context import NO_SPAN, NO_TRACE, RANDOM, SAMPLED, TraceContext

TRACEPARENT, TRACESTATE, BAGGAGE, B3, TRACE_ID = "traceparent", "tracestate", "baggage", "b3", "traceId"
X_TRACE, X_SPAN, X_SAMPLED, X_FLAGS = "X-B3-TraceId", "X-B3-SpanId", "X-B3-Sampled", "X-B3-Flags"
X_PARENT = "X-B3-ParentSpanId"
MULTI = (X_TRACE, X_SPAN, X_SAMPLED, X_FLAGS, X_PARENT)

# Header names in Kafka are case-sensitive; some writers spell those of X-B3 as HTTP/2 does.
KNOWN = {name: name for name in (TRACEPARENT, TRACESTATE, BAGGAGE, B3, TRACE_ID, *MULTI)}
KNOWN |= {name.lower(): name for name in MULTI}

LONGEST_TRACEPARENT = 512  # of a version to come; that of today has 55
LONGEST_B3 = 32 + 1 + 16 + 2 + 1 + 16
LONGEST_STATE = 8192  # W3C asks to keep 512 at least; a megabyte is no tracestate
LONGEST_BAGGAGE = 8192  # W3C's limit

_traceparent = re.compile("([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?").fullmatch
_b3 = re.compile("([0-9a-f]{32}|[0-9a-f]{16})-([0-9a-f]{16})(?:-([01d]))?(?:-([0-9a-f]{16}))?").fullmatch
_trace_id = re.compile("[0-9a-f]{32}|[0-9a-f]{16}").fullmatch
_span_id = re.compile("[0-9a-f]{16}").fullmatch
_plain = re.compile("[0-9a-fA-F]{32}|[0-9a-fA-F]{16}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch
_printable = re.compile("[\t\x20-\x7e]*").fullmatch

DECISIONS = {"0": False, "1": True, "false": False, "true": True}


class Found(NamedTuple):
    """What the headers of a record say; `bad` names those that could not be read."""

    context: TraceContext | None = None
    baggage: str = ""
    bad: tuple[str, ...] = ()


NOTHING = Found()


class Unreadable(ValueError):
    """Raised and caught in this file alone; its text is the name of the header."""


def read(headers: Iterable[tuple[str, Any]] | None) -> Found:
    """What the pairs of a record say, in whatever formats they say it."""
    if not headers:
        return NOTHING
    try:
        last = {KNOWN[name]: value for name, value in headers if name in KNOWN}
    except (TypeError, ValueError):  # an application may set what it likes as the headers of a Message
        return Found(bad=("headers",))
    if not last:
        return NOTHING
    bad: list[str] = []
    context: TraceContext | None = None
    for names, reader in READERS:
        if context is None and not names.isdisjoint(last):
            try:
                context = reader(last, bad)
            except Unreadable as trouble:
                bad.append(str(trouble))
    baggage = _optional(last, BAGGAGE, LONGEST_BAGGAGE, bad) if BAGGAGE in last else ""
    return Found(context, baggage, tuple(bad))


def plain_trace_id(value: Any) -> str | None:
    """The trace that a `traceId` header means: 32 or 16 digits, or a UUID; None if it is something else."""
    if not isinstance(value, (bytes, str)) or len(value) > 36:
        return None
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if _plain(text) is None:
        return None
    digits = text.replace("-", "").lower().rjust(32, "0")
    return None if digits == NO_TRACE else digits


def _text(last: dict[str, Any], name: str, longest: int) -> str | None:
    """None if there is none. latin-1 never fails, and what is not ASCII then matches no pattern."""
    if name not in last:
        return None
    value = last[name]
    if isinstance(value, bytes):
        value = value.decode("latin-1") if len(value) <= longest else None
    if not isinstance(value, str) or len(value) > longest:
        raise Unreadable(name)
    return value


def _w3c(last: dict[str, Any], bad: list[str]) -> TraceContext | None:
    text = _text(last, TRACEPARENT, LONGEST_TRACEPARENT)
    match = _traceparent(text or "")
    if match is None:
        raise Unreadable(TRACEPARENT)
    version, trace_id, span_id, flags, more = match.groups()
    if version == "ff" or (version == "00" and more) or trace_id == NO_TRACE or span_id == NO_SPAN:
        raise Unreadable(TRACEPARENT)
    bits = int(flags, 16)
    # A tracestate that cannot be read is dropped, and the traceparent still holds; without a traceparent it means nothing.
    state = _optional(last, TRACESTATE, LONGEST_STATE, bad) if TRACESTATE in last else ""
    return TraceContext(trace_id, span_id, bool(bits & SAMPLED), bool(bits & RANDOM), state)


def _optional(last: dict[str, Any], name: str, longest: int, bad: list[str]) -> str:
    try:
        text = _text(last, name, longest)
        if text is not None and _printable(text) is None:
            raise Unreadable(name)
    except Unreadable:
        bad.append(name)
        return ""
    return text or ""


def _single(last: dict[str, Any], bad: list[str]) -> TraceContext | None:
    text = _text(last, B3, LONGEST_B3) or ""
    if text in ("0", "1", "d"):
        return TraceContext(sampled=text != "0", debug=text == "d")
    match = _b3(text)
    if match is None:
        raise Unreadable(B3)
    trace_id, span_id, sampled, _parent = match.groups()
    return _b3_context(trace_id, span_id, None if sampled is None else sampled != "0", sampled == "d", B3)


def _multi(last: dict[str, Any], bad: list[str]) -> TraceContext | None:
    trace_id, span_id = _text(last, X_TRACE, 32), _text(last, X_SPAN, 16)
    decision, flags = _text(last, X_SAMPLED, 5), _text(last, X_FLAGS, 1)
    if decision is not None and decision.lower() not in DECISIONS:
        raise Unreadable(X_SAMPLED)
    debug = flags == "1"
    sampled = True if debug else None if decision is None else DECISIONS[decision.lower()]
    if trace_id is None and span_id is None:
        return None if sampled is None else TraceContext(sampled=sampled, debug=debug)
    if trace_id is None or _trace_id(trace_id) is None:
        raise Unreadable(X_TRACE)
    if span_id is None or _span_id(span_id) is None:
        raise Unreadable(X_SPAN)
    return _b3_context(trace_id, span_id, sampled, debug, X_TRACE)


def _b3_context(trace_id: str, span_id: str, sampled: bool | None, debug: bool, name: str) -> TraceContext:
    trace_id = trace_id.rjust(32, "0")
    if trace_id == NO_TRACE or span_id == NO_SPAN:
        raise Unreadable(name)
    return TraceContext(trace_id, span_id, sampled, debug=debug)


def _traceid(last: dict[str, Any], bad: list[str]) -> TraceContext | None:
    trace_id = plain_trace_id(last[TRACE_ID])
    if trace_id is None:
        raise Unreadable(TRACE_ID)
    return TraceContext(trace_id)


Reader = Callable[[dict[str, Any], list[str]], TraceContext | None]
READERS: tuple[tuple[frozenset[str], Reader], ...] = (
    (frozenset({TRACEPARENT}), _w3c),
    (frozenset({B3}), _single),
    (frozenset(MULTI), _multi),
    (frozenset({TRACE_ID}), _traceid),
)
