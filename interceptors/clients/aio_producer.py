"""confluent-kafka's asyncio producers with a chain of interceptors.

Hooks run where the application awaits, not in a thread of the pool: the span that is current in a coroutine is the parent
of what it sends. Headers, which the originals refuse, work.
"""

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import Any

import confluent_kafka.aio
from confluent_kafka import KafkaError

from interceptors.chain import Chain
from interceptors.clients.awaited import Awaited
from interceptors.clients.lifetime import never_freed
from interceptors.clients.producer import (
    LEFT,
    LOG,
    TRANSACTION,
    handed_over,
    kafka_error,
    named,
    pairs,
    unanswered,
    untouched,
)
from interceptors.clients.serving import serves
from interceptors.clients.with_headers import SerializingWithHeaders, WithHeaders
from interceptors.clients.wrapped import Wrapped
from interceptors.contract import PRODUCER_HOOKS
from interceptors.record import ProducerRecord, Refused


class _Producing(Wrapped):
    _hooks, _role = PRODUCER_HOOKS, "producer"

    def _untouched(self) -> set[str]:
        return untouched(self._chain, {"produce"})

    # ---- records ------------------------------------------------------------------------------------------------------

    async def _send(self, record: ProducerRecord, *, key_first: bool) -> Any:
        record = self._chain.stamped(self._chain.on_send(record))
        topic, value, key, headers, partition, timestamp, _ = record
        more: dict[str, Any] = {"partition": partition} if partition != -1 else {}
        more |= {"timestamp": timestamp} if timestamp else {}
        more |= {"headers": list(headers)} if headers else {}
        first, second = (key, value) if key_first else (value, key)
        try:
            future = await self._client.produce(topic, first, second, **more)
        except BaseException as error:
            told = _told(error)
            self._chain.on_acknowledgement(Refused(record, told), told, record)
            raise
        if record.ears or self._chain.acknowledge:
            future.add_done_callback(partial(_acknowledged, self._chain, record))
        return future

    # ---- transactions -------------------------------------------------------------------------------------------------

    async def begin_transaction(self, *args: Any, **kwargs: Any) -> Any:
        return await self._transaction("begin_transaction", args, kwargs)

    async def commit_transaction(self, *args: Any, **kwargs: Any) -> Any:
        return await self._transaction("commit_transaction", args, kwargs)

    async def abort_transaction(self, *args: Any, **kwargs: Any) -> Any:
        return await self._transaction("abort_transaction", args, kwargs)

    async def send_offsets_to_transaction(self, *args: Any, **kwargs: Any) -> Any:
        return await self._transaction("send_offsets_to_transaction", args, kwargs)

    async def _transaction(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        invoked, error = time.monotonic_ns(), None
        try:
            return await getattr(self._client, name)(*args, **kwargs)
        except BaseException as trouble:
            error = kafka_error(trouble)
            raise
        finally:
            self._chain.happened(TRANSACTION[name], invoked, error, handed_over(args, kwargs))

    # ---- the end ------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """As the original, which waits until every record has its answer or has timed out; no longer than
        `interceptor.close.timeout.ms`, if that is set. Then the interceptors are closed."""
        if self._limit is not None:
            await self._settle(self._limit)
        try:
            await self._client.close()
            await asyncio.sleep(0)  # futures tell of their results in the loop's next round
        finally:
            self._over()

    async def _settle(self, patience: float) -> None:
        try:
            await self._client.flush(patience)
            if left := unanswered(self._client, self._client._producer.poll):
                await self._client.purge()
                LOG.warning(LEFT, named("was closed", self._chain), left, patience)
        except Exception as error:  # closed already, or failed for good: there is nothing to wait for
            LOG.debug("nothing could be flushed: %s", error)

    def _at_exit(self) -> None:
        """No loop runs any more: what was not awaited has no answer."""

        def poll(patience: float) -> None:
            with suppress(Exception):  # a report finds no loop to tell
                self._client._producer.poll(patience)

        if left := unanswered(self._client, poll):
            how = named("ended with its program", self._chain)
            LOG.warning("a producer %s and %d records that had no answer: await its close()", how, left)
            never_freed(self._client)
        self._over()

    def __len__(self) -> int:
        return len(self._client)

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.close()


def _acknowledged(chain: Chain, record: ProducerRecord, future: "asyncio.Future[Any]") -> None:
    trouble = asyncio.CancelledError() if future.cancelled() else future.exception()
    if trouble is not None:
        error = _told(trouble)
        chain.on_acknowledgement(Refused(record, error), error, record)
    else:
        chain.on_acknowledgement(future.result(), None, record)


def _told(error: BaseException) -> Any:
    """Who stops waiting, by a timeout or by purge(), does not know whether the record is on its way."""
    return KafkaError(KafkaError._PURGE_INFLIGHT) if isinstance(error, asyncio.CancelledError) else kafka_error(error)


@serves(confluent_kafka.aio.AIOProducer)
class AIOProducer(_Producing):
    """confluent_kafka.aio.AIOProducer with interceptors, and with headers."""

    _original = WithHeaders

    def __init__(self, producer_conf: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        theirs = self._load(producer_conf)
        with self._making():
            self._adopt(self._original(theirs, *args, **kwargs))

    async def produce(self, topic: str, value: Any = None, key: Any = None, *args: Any, **kwargs: Any) -> Any:
        headers = kwargs.get("headers")
        known = () if headers is None else pairs(headers)
        if known is None:
            raise TypeError(f"expected headers to be dict or list of (key, value) tuples, not {type(headers).__name__}")
        where, when = kwargs.get("partition", -1), kwargs.get("timestamp", 0)
        return await self._send(ProducerRecord(topic, value, key, known, where, when), key_first=False)


@serves(confluent_kafka.aio.AsyncSerializingProducer)
class AsyncSerializingProducer(_Producing, Awaited):
    """confluent_kafka.aio.AsyncSerializingProducer with interceptors, and with headers. Made by `await`, as the original."""

    _original = SerializingWithHeaders

    async def produce(
        self, topic: str, key: Any = None, value: Any = None, partition: int = -1, timestamp: int = 0, headers: Any = None
    ) -> Any:
        known = () if headers is None else pairs(headers)
        if known is None:
            raise TypeError(f"expected headers to be dict or list of (key, value) tuples, not {type(headers).__name__}")
        return await self._send(ProducerRecord(topic, value, key, known, partition, timestamp), key_first=True)
