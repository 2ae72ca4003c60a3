"""confluent-kafka's consumers with a chain of interceptors. Drop-in: what nobody intercepts is the original's own method.

Records pass the chain before poll() hands them over; errors and ends of partitions do not, they are no records. Commits are
told however they came about: asked for, made by librdkafka itself, or on closing.
"""

import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import confluent_kafka

from interceptors.chain import Chain
from interceptors.clients.holding import Holding
from interceptors.clients.producer import kafka_error
from interceptors.clients.serving import serves
from interceptors.clients.wrapped import Wrapped, refuse_as
from interceptors.contract import CONSUMER_HOOKS, Happening


def committed(chain: Chain, invoked_ns: int, error: Any, partitions: list[Any], *, asked: bool) -> None:
    """Tell the chain of a commit: all of it as an event, what succeeded to on_commit."""
    if error is not None and error.code() == confluent_kafka.KafkaError._NO_OFFSET:
        return  # there was nothing to commit
    told = [where for where in partitions if where.offset >= 0]
    if error is None:
        chain.on_commit([where for where in told if where.error is None])
    chain.happened(Happening.OFFSETS, invoked_ns, error, told, asked=asked)


def answered(chain: Chain, asked: "deque[int]", error: Any, partitions: list[Any]) -> None:
    """librdkafka answers commits in order, and says of none who asked: while one is open it is taken for that."""
    invoked = asked.popleft() if asked else None
    committed(chain, invoked or time.monotonic_ns(), error, partitions, asked=invoked is not None)


def wanted(message: Any = None, offsets: Any = None, *_: Any, **__: Any) -> list[Any]:
    """What a commit with these arguments was to commit, as far as they say."""
    if message is not None:
        return [confluent_kafka.TopicPartition(message.topic(), message.partition(), message.offset() + 1)]
    return offsets or []


def through(chain: Chain, messages: list[Any]) -> list[Any]:
    """Records pass the chain; whatever else librdkafka handed over keeps its place among them, if they are as many."""
    records = [message for message in messages if message.error() is None]
    if not records:
        return messages
    answer = chain.on_consume(records)
    if len(records) == len(messages):
        return answer
    if len(answer) == len(records):
        rest = iter(answer)
        return [next(rest) if message.error() is None else message for message in messages]
    return [message for message in messages if message.error() is not None] + answer


def untouched(chain: Chain) -> set[str]:
    """What of a consumer the chain has no interest in. subscribe() is always ours: callbacks get the consumer they know."""
    names = set() if chain else {"close"}
    names |= set() if chain.consume or chain.poll else {"poll", "consume"}
    names |= set() if chain.commit or chain.event else {"commit"}
    return names if chain.event else names | {"assign", "unassign", "incremental_assign", "incremental_unassign", "seek"}


class _Consuming(Wrapped):
    _hooks, _role = CONSUMER_HOOKS, "consumer"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse_as(self._original, args, kwargs)
        theirs = self._load(dict(*args[:1], **kwargs))
        chain = self._chain
        self._asked: deque[int] = deque()  # when asynchronous commits were asked for that have no answer yet
        if chain.commit or chain.event:
            theirs["on_commit"] = _on_commit(chain, self._asked, theirs.get("on_commit"))
        with self._making():
            client = self._original(theirs, *args[1:])
        self._holding = Holding(chain)
        self._poll, self._consume = client.poll, client.consume
        self._adopt(client)

    def _untouched(self) -> set[str]:
        return untouched(self._chain)

    # ---- records ------------------------------------------------------------------------------------------------------

    def poll(self, *args: Any, **kwargs: Any) -> Any:
        chain = self._chain
        if chain.poll:
            chain.on_poll()
        message = self._poll(*args, **kwargs)
        if message is None or message.error() is not None or not chain.consume:
            return message
        answer = chain.on_consume([message])
        return answer[0] if answer else None

    def consume(self, *args: Any, **kwargs: Any) -> Any:
        chain = self._chain
        if chain.poll:
            chain.on_poll()
        messages = self._consume(*args, **kwargs)
        return through(chain, messages) if messages and chain.consume else messages

    # ---- commits ------------------------------------------------------------------------------------------------------

    def commit(self, *args: Any, **kwargs: Any) -> Any:
        invoked = time.monotonic_ns()
        try:
            answer = self._client.commit(*args, **kwargs)
        except confluent_kafka.KafkaException as error:
            committed(self._chain, invoked, kafka_error(error), wanted(*args, **kwargs), asked=True)
            raise
        if answer is None:  # the answer to an asynchronous one comes by on_commit
            self._asked.append(invoked)
        else:
            committed(self._chain, invoked, None, answer, asked=True)
        return answer

    # ---- partitions ---------------------------------------------------------------------------------------------------

    def subscribe(self, topics: Any, on_assign: Any = None, on_revoke: Any = None, on_lost: Any = None) -> Any:
        """Callbacks are called with this consumer, not with the one inside it."""
        given = {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost}
        if not self._chain.event:
            ours = weakref.ref(self)
            wrapped = {name: _with_us(ours, callback) for name, callback in given.items() if callback is not None}
            return self._client.subscribe(topics, **wrapped)
        return self._client.subscribe(topics, **self._holding.callbacks(weakref.ref(self), **given))

    def assign(self, partitions: Any) -> Any:
        answer = self._client.assign(partitions)
        self._holding.assigned(partitions)
        return answer

    def unassign(self) -> Any:
        answer = self._client.unassign()
        self._holding.assigned([])
        return answer

    def incremental_assign(self, partitions: Any) -> Any:
        answer = self._client.incremental_assign(partitions)
        self._holding.added(partitions)
        return answer

    def incremental_unassign(self, partitions: Any) -> Any:
        answer = self._client.incremental_unassign(partitions)
        self._holding.removed(partitions)
        return answer

    def seek(self, partition: Any) -> Any:
        answer = self._client.seek(partition)
        self._chain.happened(Happening.SEEK, time.monotonic_ns(), None, [partition])
        return answer

    # ---- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> Any:
        try:
            return self._client.close()
        finally:
            self._over()

    def __enter__(self) -> Any:
        self._client.__enter__()
        return self

    def __exit__(self, *exc: Any) -> Any:
        self.close()
        return self._client.__exit__(*exc)


def _on_commit(chain: Chain, asked: "deque[int]", callback: Callable[..., Any] | None) -> Callable[..., Any]:
    def on_commit(error: Any, partitions: list[Any]) -> Any:
        answered(chain, asked, error, partitions)
        return callback(error, partitions) if callback is not None else None

    return on_commit


def _with_us(ours: "weakref.ref[Any]", callback: Callable[..., Any]) -> Callable[..., Any]:
    return lambda client, partitions: callback(ours() or client, partitions)


@serves(confluent_kafka.Consumer)
class Consumer(_Consuming):
    """confluent_kafka.Consumer with interceptors: the same arguments, and `interceptor.classes` in its configuration."""

    _original = confluent_kafka.Consumer


@serves(confluent_kafka.DeserializingConsumer)
class DeserializingConsumer(_Consuming):
    """confluent_kafka.DeserializingConsumer with interceptors, which see records as poll() hands them over: deserialised."""

    _original = confluent_kafka.DeserializingConsumer

    def __init__(self, conf: dict[str, Any]) -> None:
        super().__init__(conf)
