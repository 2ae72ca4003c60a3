"""confluent-kafka's asyncio consumers with a chain of interceptors.

Hooks run where the application awaits, not in a thread of the pool: what tracing makes current there is current for the
coroutine that got the record.
"""

import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import confluent_kafka.aio
from confluent_kafka import KafkaException

from interceptors.chain import Chain
from interceptors.clients.awaited import Awaited
from interceptors.clients.consumer import answered, committed, through, untouched, wanted
from interceptors.clients.holding import Holding
from interceptors.clients.producer import kafka_error
from interceptors.clients.serving import serves
from interceptors.clients.wrapped import Wrapped
from interceptors.contract import CONSUMER_HOOKS, Happening

Callback = Callable[..., Awaitable[Any]]


class _Consuming(Wrapped):
    _hooks, _role = CONSUMER_HOOKS, "consumer"

    def _load(self, given: Mapping[str, Any]) -> dict[str, Any]:
        theirs, chain = super()._load(given), self._chain
        self._asked: deque[int] = deque()
        if chain.commit or chain.event:
            theirs["on_commit"] = _on_commit(chain, self._asked, theirs.get("on_commit"))
        self._holding = Holding(chain)
        return theirs

    def _untouched(self) -> set[str]:
        return untouched(self._chain)

    # ---- records ------------------------------------------------------------------------------------------------------

    async def poll(self, *args: Any, **kwargs: Any) -> Any:
        self._chain.on_poll()
        message = await self._client.poll(*args, **kwargs)
        if message is None or message.error() is not None or not self._chain.consume:
            return message
        answer = self._chain.on_consume([message])
        return answer[0] if answer else None

    async def consume(self, *args: Any, **kwargs: Any) -> Any:
        self._chain.on_poll()
        messages = await self._client.consume(*args, **kwargs)
        return through(self._chain, messages) if messages and self._chain.consume else messages

    # ---- commits ------------------------------------------------------------------------------------------------------

    async def commit(self, *args: Any, **kwargs: Any) -> Any:
        invoked = time.monotonic_ns()
        try:
            answer = await self._client.commit(*args, **kwargs)
        except KafkaException as error:
            committed(self._chain, invoked, kafka_error(error), wanted(*args, **kwargs), asked=True)
            raise
        if answer is None:
            self._asked.append(invoked)
        else:
            committed(self._chain, invoked, None, answer, asked=True)
        return answer

    # ---- partitions ---------------------------------------------------------------------------------------------------

    async def subscribe(
        self,
        topics: Any,
        on_assign: Callback | None = None,
        on_revoke: Callback | None = None,
        on_lost: Callback | None = None,
    ) -> Any:
        ours = weakref.ref(self)
        given = {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost}
        if not self._chain.event:
            wrapped = {name: _with_us(ours, callback) for name, callback in given.items() if callback is not None}
            return await self._client.subscribe(topics, **wrapped)
        holding = self._holding

        async def assigned(client: Any, partitions: list[Any]) -> None:
            holding.tell(Happening.ASSIGN, partitions)
            with holding.rebalancing():
                if on_assign:
                    await on_assign(ours() or client, partitions)

        def given_up(what: Happening, callback: Callback | None) -> Callback:
            async def gone(client: Any, partitions: list[Any]) -> None:
                try:
                    with holding.rebalancing():
                        if callback:
                            await callback(ours() or client, partitions)
                finally:
                    holding.tell(what, partitions)

            return gone

        return await self._client.subscribe(
            topics,
            on_assign=assigned,
            on_revoke=given_up(Happening.REVOKE, on_revoke),
            on_lost=given_up(Happening.LOST, on_lost or on_revoke),
        )

    async def assign(self, partitions: Any) -> Any:
        answer = await self._client.assign(partitions)
        self._holding.assigned(partitions)
        return answer

    async def unassign(self) -> Any:
        answer = await self._client.unassign()
        self._holding.assigned([])
        return answer

    async def incremental_assign(self, partitions: Any) -> Any:
        answer = await self._client.incremental_assign(partitions)
        self._holding.added(partitions)
        return answer

    async def incremental_unassign(self, partitions: Any) -> Any:
        answer = await self._client.incremental_unassign(partitions)
        self._holding.removed(partitions)
        return answer

    async def seek(self, partition: Any) -> Any:
        answer = await self._client.seek(partition)
        self._chain.happened(Happening.SEEK, time.monotonic_ns(), None, [partition])
        return answer

    # ---- the end ------------------------------------------------------------------------------------------------------

    async def close(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await self._client.close(*args, **kwargs)
        finally:
            self._over()

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.close()


def _on_commit(chain: Chain, asked: "deque[int]", callback: Callback | None) -> Callback:
    async def on_commit(error: Any, partitions: list[Any]) -> Any:
        answered(chain, asked, error, partitions)
        return await callback(error, partitions) if callback is not None else None

    return on_commit


def _with_us(ours: "weakref.ref[Any]", callback: Callback) -> Callback:
    async def with_us(client: Any, partitions: list[Any]) -> Any:
        return await callback(ours() or client, partitions)

    return with_us


@serves(confluent_kafka.aio.AIOConsumer)
class AIOConsumer(_Consuming):
    """confluent_kafka.aio.AIOConsumer with interceptors."""

    _original = confluent_kafka.aio.AIOConsumer

    def __init__(self, consumer_conf: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        theirs = self._load(consumer_conf)
        with self._making():
            self._adopt(self._original(theirs, *args, **kwargs))


@serves(confluent_kafka.aio.AsyncDeserializingConsumer)
class AsyncDeserializingConsumer(_Consuming, Awaited):
    """confluent_kafka.aio.AsyncDeserializingConsumer with interceptors. Made by `await`, as the original."""

    _original = confluent_kafka.aio.AsyncDeserializingConsumer
