"""Where in which trace somebody stands: what a header says, and what a child begins from.

Ids are hexadecimal text, as in every header; only OpenTelemetry wants numbers. What a header does not tell stays unknown.
"""

from typing import NamedTuple

SAMPLED = 0x01
RANDOM = 0x02  # W3C level 2: the trace id was made by chance, so that it can be sampled by
NO_TRACE, NO_SPAN = "0" * 32, "0" * 16


class TraceContext(NamedTuple):
    trace_id: str = ""  # 32 digits; empty if only a decision was told (`b3: 0`)
    span_id: str = ""  # 16 digits; empty if only the trace is known (`traceId`)
    sampled: bool | None = None  # None: nobody has decided yet
    random: bool = False
    state: str = ""  # tracestate, untouched
    debug: bool = False  # b3's: sampled, whatever anybody thinks of it
    remote: bool = True  # from a header, not from a span of this process

    @property
    def flags(self) -> int:
        return (SAMPLED if self.sampled else 0) | (RANDOM if self.random else 0)

    def child(self, span_id: str, sampled: bool) -> "TraceContext":
        """A span of this process in the same trace."""
        return TraceContext(self.trace_id, span_id, sampled, self.random, self.state, self.debug and sampled, False)
