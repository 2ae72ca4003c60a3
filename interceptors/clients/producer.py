"""confluent-kafka's producers with a chain of interceptors. Drop-in: what nobody intercepts is the original's own method.

A record passes the chain before it is serialised, as in Java; its acknowledgement comes back through the chain before the
application hears of it, also if it was refused before it was sent.
"""

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import confluent_kafka

from interceptors.chain import Chain
from interceptors.clients.lifetime import never_freed
from interceptors.clients.serving import serves
from interceptors.clients.wrapped import Wrapped, refuse_as
from interceptors.contract import PRODUCER_HOOKS, Happening
from interceptors.record import Header, ProducerRecord, Refused, make

LOG = logging.getLogger("interceptors")
time_ns = time.time_ns
EXIT_PATIENCE = 10.0  # seconds for records in flight when the interpreter ends; interceptor.close.timeout.ms overrides it
LEFT = "a producer %s with %d records that had no answer after %g s: whether they are in the log is not known"
SENDABLE = (bytes, str, type(None))
ONLY_ERRORS = "delivery.report.only.error"
TRANSACTION = {
    "begin_transaction": Happening.BEGIN,
    "commit_transaction": Happening.COMMIT,
    "abort_transaction": Happening.ABORT,
    "send_offsets_to_transaction": Happening.SEND_OFFSETS,
}


def pairs(headers: Any) -> tuple[Header, ...] | None:
    """Headers in the one form that interceptors see; None for what the client itself would refuse."""
    if headers.__class__ is list:
        return tuple(headers)
    if isinstance(headers, dict):
        return tuple(headers.items())
    return tuple(headers) if isinstance(headers, list) else None


def sendable(message: dict[str, Any]) -> bool:
    """Whether nothing but a full queue keeps a message of a batch from being sent; of odd kinds nobody can say."""
    parts = isinstance(message.get("value"), SENDABLE) and isinstance(message.get("key"), SENDABLE)
    return parts and isinstance(message.get("partition", 0), int)


def untouched(chain: Chain, sending: set[str]) -> set[str]:
    """What of a producer the chain has no interest in."""
    names = set() if chain else {"close"}
    names |= set() if chain.send or chain.acknowledge else sending
    return names if chain.event else names | set(TRANSACTION)


def kafka_error(error: BaseException) -> Any:
    """A KafkaError for whatever kept a record from being sent."""
    from confluent_kafka import KafkaError

    if isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__  # a delivery report was interrupted by it, in the same breath
    told = error.args[0] if error.args else None
    if isinstance(told, KafkaError):
        return told
    if isinstance(error, BufferError):
        return KafkaError(KafkaError._QUEUE_FULL)
    return KafkaError(KafkaError._INVALID_ARG, f"{type(error).__name__}: {error}")


def named(how: str, chain: Chain) -> str:
    return f"({chain.client}) {how}" if chain.client else how


def unanswered(original: Any, poll: Callable[[float], Any]) -> int:
    """How many records have no answer yet. librdkafka counts its own events, such as "broker is down", among them until they
    are polled; of several looks the least is right, because one may come between poll and count."""
    return min((poll(0), len(original))[1] for _ in range(3))


def handed_over(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The offsets among the arguments of a transaction's call, if it has any."""
    offsets = args[0] if args else kwargs.get("positions")
    return offsets if isinstance(offsets, list) else []


class _Producing(Wrapped):
    """What all producers share: the chain, transactions, the end."""

    _hooks, _role = PRODUCER_HOOKS, "producer"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse_as(self._original, args, kwargs)
        # As the original: a dictionary, keywords (with dots in them) that override it, or both.
        theirs = self._load(dict(*args[:1], **kwargs))
        chain = self._chain
        # Interceptors hear of every record; that an application wants to hear of failures alone is then seen to here.
        picky = theirs.get(ONLY_ERRORS) is True and bool(chain.send or chain.acknowledge)
        if picky:
            theirs[ONLY_ERRORS] = False
        with self._making():
            client = self._original(theirs, *args[1:])
        # Callbacks of single records hide the configured one, so it is called from ours.
        self._on_delivery = theirs.get("on_delivery")
        self._produce = client.produce
        self._delivered = chain.delivered_or_not if picky else chain.delivered
        self._hearing, self._picky = picky or bool(chain.acknowledge), picky
        self._unseen = not (chain.send or chain.wants_record)
        # The last callback of the application, and what hears for it: most applications have but one.
        self._known: tuple[Any, Any] = (None, chain.hearing(self._on_delivery, failures_only=picky))
        # The same where records are sent with a timestamp in any case: those of one millisecond have one ear between them.
        self._stamps = chain.stamps
        self._known_when: tuple[Any, Any] = (None, chain.hearing_when(self._on_delivery, failures_only=picky))
        self._known_at: tuple[Any, int, Any] = (None, -1, None)
        self._adopt(client)

    def _untouched(self) -> set[str]:
        return untouched(self._chain, {"produce", "produce_batch"})

    # ---- records ------------------------------------------------------------------------------------------------------

    def _through(self, record: ProducerRecord, callback: Any, *, stamp: bool = True) -> tuple[ProducerRecord, Any]:
        """What the chain makes of a record, and what is to be called with its report."""
        record = self._chain.on_send(record)
        if stamp:
            record = self._chain.stamped(record)
        if record.ears or self._chain.wants_record:
            return record, partial(self._delivered, record, callback)
        return record, self._heard(callback, record.timestamp)

    def _heard(self, callback: Any, timestamp: int) -> Any:
        """What hears of a record for the chain and then for the application, if nobody has to be reminded of the record."""
        if not self._hearing:
            return callback
        if self._stamps:
            at = self._known_at
            return (at if at[0] is callback and at[1] == timestamp else self._remember_at(callback, timestamp))[2]
        known = self._known  # both at once: another thread may have another callback
        return (known if known[0] is callback else self._remember(callback))[1]

    def _remember(self, callback: Any) -> tuple[Any, Any]:
        both = self._chain.hearing(callback or self._on_delivery, failures_only=self._picky)
        self._known = known = (callback, both)
        return known

    def _remember_at(self, callback: Any, timestamp: int) -> tuple[Any, int, Any]:
        when = self._known_when
        if when[0] is not callback:
            both = self._chain.hearing_when(callback or self._on_delivery, failures_only=self._picky)
            self._known_when = when = (callback, both)
        self._known_at = at = (callback, timestamp, when[1](timestamp))
        return at

    def _refused(self, record: ProducerRecord, error: BaseException) -> None:
        told = kafka_error(error)
        self._chain.on_acknowledgement(Refused(record, told), told, record)

    # ---- transactions -------------------------------------------------------------------------------------------------

    def begin_transaction(self, *args: Any, **kwargs: Any) -> Any:
        return self._transaction("begin_transaction", args, kwargs)

    def commit_transaction(self, *args: Any, **kwargs: Any) -> Any:
        return self._transaction("commit_transaction", args, kwargs)

    def abort_transaction(self, *args: Any, **kwargs: Any) -> Any:
        return self._transaction("abort_transaction", args, kwargs)

    def send_offsets_to_transaction(self, *args: Any, **kwargs: Any) -> Any:
        return self._transaction("send_offsets_to_transaction", args, kwargs)

    def _transaction(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        invoked, error = time.monotonic_ns(), None
        try:
            return getattr(self._client, name)(*args, **kwargs)
        except BaseException as trouble:
            error = kafka_error(trouble)
            raise
        finally:
            self._chain.happened(TRANSACTION[name], invoked, error, handed_over(args, kwargs))

    # ---- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> Any:
        """As the original, which waits until every record has its answer or has timed out; no longer than
        `interceptor.close.timeout.ms`, if that is set. Then the interceptors are closed."""
        if self._limit is not None:
            self._settle(self._limit, "was closed")
        try:
            return self._client.close()
        finally:
            self._over()

    def _settle(self, patience: float, how: str) -> bool:
        """Give what is in flight this long, then take it back, so that its failure is heard, and say how much it was.

        True if all of it had its answer.
        """
        left = 0
        try:
            self._client.flush(patience)
            if left := unanswered(self._client, self._client.poll):
                self._client.purge()
                self._client.flush(1.0)
                LOG.warning(LEFT, named(how, self._chain), left, patience)
        except Exception as error:  # closed already, or failed for good: there is nothing to wait for
            LOG.debug("nothing could be flushed: %s", error)
        return not left

    def _at_exit(self) -> None:
        if not self._settle(EXIT_PATIENCE if self._limit is None else self._limit, "ended with its program"):
            never_freed(self._client)
        self._over()

    def __len__(self) -> int:
        return len(self._client)

    def __bool__(self) -> bool:
        return bool(self._client)

    def __enter__(self) -> Any:
        self._client.__enter__()
        return self

    def __exit__(self, *exc: Any) -> Any:
        self.close()
        return self._client.__exit__(*exc)


@serves(confluent_kafka.Producer)
class Producer(_Producing):
    """confluent_kafka.Producer with interceptors: the same arguments, and `interceptor.classes` in its configuration."""

    _original = confluent_kafka.Producer

    def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        callback: Any = None,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> Any:
        heard = callback or on_delivery
        if self._unseen:  # acknowledgements alone are of interest, and no record has to be made
            if self._stamps:
                timestamp = timestamp or time_ns() // 1_000_000  # as librdkafka would
                at = self._known_at
                if at[0] is not heard or at[1] != timestamp:
                    at = self._remember_at(heard, timestamp)
                hears = at[2]
            else:
                known = self._known  # both at once: another thread may have another callback
                hears = (known if known[0] is heard else self._remember(heard))[1]
            try:
                return self._produce(topic, value, key, partition, hears, None, timestamp, headers)
            except BaseException as error:
                self._refused(ProducerRecord(topic, value, key, pairs(headers) or (), partition, timestamp), error)
                raise
        given = () if headers is None else pairs(headers)
        if given is None:  # of a kind that the client refuses: its own words are the best
            return self._produce(topic, value, key, partition, heard, None, timestamp, headers)
        chain, record = self._chain, make(ProducerRecord, (topic, value, key, given, partition, timestamp, ()))
        if chain.send:
            record = chain.on_send(record)
        if self._stamps:
            record = chain.stamped(record)
        topic, value, key, given, partition, timestamp, ears = record
        if ears or chain.wants_record:
            heard = partial(self._delivered, record, heard or self._on_delivery)
        elif self._hearing:
            heard = self._heard(heard, timestamp)
        try:
            return self._produce(topic, value, key, partition, heard, None, timestamp, list(given) if given else None)
        except BaseException as error:
            self._refused(record, error)
            raise

    def produce_batch(
        self, topic: str, messages: Any, partition: int = -1, callback: Any = None, on_delivery: Any = None
    ) -> int:
        """A batch in which a record has headers, from an interceptor, or a timestamp is sent record by record: librdkafka
        has no batches with them."""
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            return int(self._client.produce_batch(topic, messages, partition, callback, on_delivery))
        shared = callback or on_delivery or self._on_delivery
        # Timestamps are for batches that can be sent: what the original refuses, it refuses whole and in its own words.
        stamp = self._stamps and all(map(sendable, messages))
        through = [self._of_batch(topic, message, partition, shared, stamp) for message in messages]
        if any(record.headers or record.topic != topic or record.timestamp for record, _ in through):
            return self._one_by_one(messages, through)
        batch: list[dict[str, Any]] = [
            {"value": record.value, "key": record.key, "partition": record.partition, "callback": heard}
            for record, heard in through
        ]
        try:
            queued = self._client.produce_batch(topic, batch, partition)
        except BaseException as error:  # nothing of it was sent
            for record, _ in through:
                self._refused(record, error)
            raise
        for message, sent, (record, _) in zip(messages, batch, through, strict=True):
            if "_error" in sent:
                message["_error"] = sent["_error"]
                self._chain.on_acknowledgement(Refused(record, sent["_error"]), sent["_error"], record)
        return int(queued)

    def _of_batch(
        self, topic: str, message: dict[str, Any], partition: int, shared: Any, stamp: bool
    ) -> tuple[ProducerRecord, Any]:
        value, key, where = message.get("value"), message.get("key"), message.get("partition", partition)
        record = ProducerRecord(topic, value, key, (), where, message.get("timestamp", 0))
        return self._through(record, message.get("callback") or shared, stamp=stamp)

    def _one_by_one(self, messages: list[dict[str, Any]], through: list[tuple[ProducerRecord, Any]]) -> int:
        queued = 0
        for done, (message, (record, heard)) in enumerate(zip(messages, through, strict=True)):
            try:
                queued += self._one_of_batch(message, record, heard)
            except BaseException as error:
                for unsent, _ in through[done:]:
                    self._refused(unsent, error)
                raise
        return queued

    def _one_of_batch(self, message: dict[str, Any], record: ProducerRecord, heard: Any) -> int:
        topic, value, key, headers, partition, timestamp, _ = record
        try:
            self._produce(topic, value, key, partition, heard, None, timestamp, list(headers) if headers else None)
        except (BufferError, confluent_kafka.KafkaException) as error:
            message["_error"] = kafka_error(error)
            self._refused(record, error)
            return 0
        return 1


@serves(confluent_kafka.SerializingProducer)
class SerializingProducer(_Producing):
    """confluent_kafka.SerializingProducer with interceptors, which see keys and values before they are serialised."""

    _original = confluent_kafka.SerializingProducer

    def __init__(self, conf: dict[str, Any]) -> None:
        super().__init__(conf)

    def produce(
        self,
        topic: str,
        key: Any = None,
        value: Any = None,
        partition: int = -1,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> Any:
        known = () if headers is None else pairs(headers)
        if known is None:
            return self._produce(topic, key, value, partition, on_delivery, timestamp, headers)
        record, heard = self._through(
            ProducerRecord(topic, value, key, known, partition, timestamp), on_delivery or self._on_delivery
        )
        topic, value, key, known, partition, timestamp, _ = record
        try:
            return self._produce(topic, key, value, partition, heard, timestamp, list(known) if known else None)
        except BaseException as error:
            self._refused(record, error)
            raise
