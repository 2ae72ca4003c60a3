"""What an interceptor is handed: a record on its way out, and what became of it.

A record never changes. An interceptor answers with another one, so that a chain can always go on from the last good one,
even if the next interceptor breaks half way through its work.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

Header = tuple[str, bytes | str | None]
make = tuple.__new__  # of a ProducerRecord from all its fields: half the time of calling it, on a path where that counts
OFFSET_INVALID = -1001  # librdkafka's
NO_TIMESTAMP = (0, 0)  # TIMESTAMP_NOT_AVAILABLE

# What hears of one record alone: whose it is, the function, and what it is called with after (report, error, record).
Ear = tuple[object, Callable[..., None], tuple[Any, ...]]


class ProducerRecord(NamedTuple):
    """As the application gave it, before serialisation: key and value may be any object. Headers are always pairs."""

    topic: str
    value: Any = None
    key: Any = None
    headers: tuple[Header, ...] = ()
    partition: int = -1  # the partitioner decides
    timestamp: int = 0  # milliseconds; 0 for now
    ears: tuple[Ear, ...] = ()

    def header(self, name: str) -> bytes | str | None:
        """The last of that name, as Java's lastHeader(); None if there is none (or if its value is None)."""
        for known, value in reversed(self.headers):
            if known == name:
                return value
        return None

    def with_headers(self, *new: Header) -> "ProducerRecord":
        """The same with these headers, in the place of all that bear their names."""
        old = self.headers
        if old:
            names = {name for name, _ in new}
            new = (*(pair for pair in old if pair[0] not in names), *new)
        topic, value, key, _, partition, timestamp, ears = self
        return make(ProducerRecord, (topic, value, key, new, partition, timestamp, ears))

    def heard_by(self, whose: object, ear: Callable[..., None], *more: Any) -> "ProducerRecord":
        """The same, and `ear(report, error, record, *more)` is called once its outcome is known.

        For interceptors that want to hear of some records only, or that hand something on from sending to
        acknowledgement; `whose` is the interceptor, to which its time and its errors are counted."""
        topic, value, key, headers, partition, timestamp, ears = self
        return make(ProducerRecord, (topic, value, key, headers, partition, timestamp, (*ears, (whose, ear, more))))


class Report(Protocol):
    """What became of a record: confluent-kafka's Message, or `Refused` if it was never sent."""

    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> Any: ...
    def value(self) -> Any: ...
    def timestamp(self) -> tuple[int, int]: ...
    def latency(self) -> float | None: ...
    def error(self) -> Any: ...


class Refused:
    """A record that did not even reach the client's queue: it could not be serialised, the queue was full, ..."""

    __slots__ = ("_error", "_record")

    def __init__(self, record: ProducerRecord, error: Any) -> None:
        self._record, self._error = record, error

    def topic(self) -> str:
        return self._record.topic

    def partition(self) -> int:
        return self._record.partition

    def offset(self) -> int:
        return OFFSET_INVALID

    def key(self) -> Any:
        return self._record.key

    def value(self) -> Any:
        return self._record.value

    def headers(self) -> list[Header]:
        return list(self._record.headers)

    def timestamp(self) -> tuple[int, int]:
        return NO_TIMESTAMP

    def latency(self) -> None:
        return None

    def leader_epoch(self) -> None:
        return None

    def error(self) -> Any:
        return self._error
