"""A span from its beginning to its end, whoever is told of it: a log, OpenTelemetry's SDK, or nobody.

Most spans here (send, poll, commit) are known whole only when they end, so that a draft of plain facts is all there is until
then. Whoever records spans decides what becomes of a draft.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from interceptors.tracing.context import TraceContext
from interceptors.tracing.ids import IDS
from interceptors.tracing.names import ERROR
from interceptors.tracing.sampling import Rule

PRODUCER, CONSUMER, CLIENT = "PRODUCER", "CONSUMER", "CLIENT"


class LinkTo(NamedTuple):
    context: TraceContext
    attributes: dict[str, Any]


class Failure(NamedTuple):
    type: str  # Kafka's name of the error, or the class of the exception
    description: str
    exception: BaseException | None = None


class Draft:
    """A span that has begun."""

    __slots__ = ("attributes", "began", "context", "kind", "links", "live", "name", "parent", "recording", "start", "via")

    def __init__(
        self,
        name: str,
        kind: str,
        context: TraceContext,
        parent: TraceContext | None,
        attributes: dict[str, Any],
        links: tuple[LinkTo, ...],
        start: int,
        recording: bool,
    ) -> None:
        self.name, self.kind, self.context, self.parent = name, kind, context, parent
        self.attributes, self.links, self.recording = attributes, links, recording
        self.start, self.began = start, time.monotonic_ns()
        self.live: Any = None  # OpenTelemetry's span, where it had to be begun there
        self.via: Any = None  # the way it will take to the exporter, where it had not

    def end(self) -> int:
        """Now, on a clock that does not jump: a wall clock that was set back would make spans of negative length."""
        return self.start + time.monotonic_ns() - self.began


class Recorder(ABC):
    """Gives spans their place in a trace, decides which are recorded, and hears of their end."""

    rule: Rule | None = None  # None: who records has to be asked for every span
    root: Rule | None = None  # the same for a span that has no parent, and quicker
    random = True  # W3C's flag of ids that were made by chance

    def __init__(self) -> None:
        self.pair: Callable[[], str] = IDS.pair
        self.span_id: Callable[[], str] = IDS.span

    def decide_by(self, rule: Rule | None) -> None:
        self.rule, self.root = rule, getattr(rule, "root", rule)

    def listening(self) -> bool:
        """Whether anybody would hear of a span that is recorded."""
        return True

    def way(self) -> Any | None:
        """Where a span can be made whole when it ends: what to make it with. Else it has to begin when it begins."""
        return None

    @abstractmethod
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
        """`live`: the application may look at the span before it ends. `context`: what `placed` has given it already."""

    @abstractmethod
    def finish(self, draft: Draft, end: int, failure: Failure | None = None) -> None:
        """It has ended, then; whoever is to hear of it hears now."""

    def placed(self, parent: TraceContext | None, rule: Rule) -> TraceContext:
        """A new span under its parent, decided by the rule."""
        if parent is not None and parent.trace_id:
            return parent.child(self.span_id(), rule(parent.trace_id, parent.sampled, parent.remote))
        pair = self.pair()
        told = None if parent is None else parent.sampled
        sampled = rule(pair, told, told is not None)
        debug = sampled and parent is not None and parent.debug
        return TraceContext(pair[:32], pair[32:], sampled, self.random, "", debug, False)


def failed_with(error: BaseException) -> Failure:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return Failure(name, f"{kind.__name__}: {error}", error)


def kafka_failure(error: Any) -> Failure | None:
    """From a KafkaError; an exception, where one was never made into a KafkaError."""
    if error is None:
        return None
    if isinstance(error, BaseException):
        inner = error.args[0] if error.args else None
        return kafka_failure(inner) if hasattr(inner, "name") and hasattr(inner, "str") else failed_with(error)
    return Failure(str(error.name()), str(error.str()))


def with_failure(attributes: Mapping[str, Any], failure: Failure | None) -> dict[str, Any]:
    return dict(attributes) if failure is None else {**attributes, ERROR: failure.type}
