"""What an interceptor is: Java's contract (ProducerInterceptor, ConsumerInterceptor), and two hooks that Java lacks.

A class implements the hooks it needs; inheriting from `Interceptor` is welcome and not asked for. Hooks that are only
inherited cost nothing: the chain leaves them out. Whatever a hook raises is counted and logged once in a while, and never
reaches the application.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from interceptors.record import ProducerRecord, Report


class Happening(StrEnum):
    """What a client did besides sending and reading. The words are the ledger's, where it has them."""

    BEGIN = "begin"  # a transaction
    COMMIT = "commit"
    ABORT = "abort"
    SEND_OFFSETS = "send_offsets"  # a group's offsets, handed to a transaction
    OFFSETS = "offsets"  # a group's commit, asked for or made by the client itself
    ASSIGN = "assign"
    REVOKE = "revoke"
    LOST = "lost"
    SEEK = "seek"  # to another position; the partitions carry it


class Event(NamedTuple):
    what: Happening
    invoked_ns: int  # time.monotonic_ns() as the call began; of what librdkafka did by itself, when we heard of it
    completed_ns: int
    error: Any = None  # KafkaError, or None
    partitions: tuple[Any, ...] = ()  # TopicPartition, with offset and error of their own where the call has them
    asked: bool = True  # False: librdkafka committed by itself


class Interceptor:
    """All hooks, doing nothing. One instance belongs to one client and may be called from several threads, as the client."""

    def configure(self, config: Mapping[str, Any]) -> None:
        """Once, before anything else, with the whole configuration of the client, its own `interceptor.*` keys included.

        The only hook whose exception reaches the application: a client that is configured wrongly is not made."""

    # ---- producers ----------------------------------------------------------------------------------------------------

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Before the record is serialised and given a partition; sees what the interceptor before it answered."""
        return record

    def on_acknowledgement(self, report: Report, error: Any, record: ProducerRecord) -> None:
        """Acknowledged (`error` is None) or failed (a KafkaError), also if it was never sent (then `report` is a Refused).

        `record` is what the chain made of it. Called where librdkafka serves delivery reports: inside poll() or flush().
        May be written as Java's, `on_acknowledgement(self, report, error)`, which is cheaper where nobody asks for more; and
        with `*, created=0` behind either: the milliseconds that the record was sent with as its timestamp, which the report
        does not tell if the broker's clock or a duplicate has overwritten it. The clients then set it where nobody has."""

    # ---- consumers ----------------------------------------------------------------------------------------------------

    def on_poll(self) -> None:
        """The application asks for records (ours; Java has none)."""

    def on_consume(self, records: list[Any]) -> list[Any]:
        """Before poll() or consume() hands the Messages over. Errors and ends of partitions are not records."""
        return records

    def on_commit(self, offsets: list[Any]) -> None:
        """TopicPartitions whose offsets were committed, successfully, by whatever way."""

    # ---- both ---------------------------------------------------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        """Anything else that the client did, whether it worked or not (ours; Java has none)."""

    def close(self) -> None:
        """The client was closed; records that were in flight have been reported."""


PRODUCER_HOOKS = ("on_send", "on_acknowledgement", "on_event")
CONSUMER_HOOKS = ("on_poll", "on_consume", "on_commit", "on_event")
