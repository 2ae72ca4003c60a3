"""confluent-kafka's consumers with a chain of interceptors. Drop-in: what nobody intercepts is the original's own method.

Records pass the chain before poll() hands them over; errors and ends of partitions do not, they are no records. Commits are
told however they came about: asked for, made by librdkafka itself, or on closing.
"""

import time
import weakref
from collections.abc import Callable
from typing import Any

import confluent_kafka

from interceptors.chain import Chain
from interceptors.clients.holding import Holding
from interceptors.clients.producer import kafka_error
from interceptors.clients.serving import serves
from interceptors.clients.wrapped import Wrapped
from interceptors.contract import CONSUMER_HOOKS, Happening


def committed(chain: Chain, invoked_ns: int, error: Any, partitions: list[Any], *, asked: bool) -> None:
    """Tell the chain of a commit: all of it as an event, what succeeded to on_commit."""
    from confluent_kafka import KafkaError

    if error is not None and error.code() == KafkaError._NO_OFFSET:
        return  # there was nothing to commit
    told = [where for where in partitions if where.offset >= 0]
    if error is None:
        chain.on_commit([where for where in told if where.error is None])
    chain.happened(Happening.OFFSETS, invoked_ns, error, told, asked=asked)


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
    return names if chain.event else names | {"assign", "unassign", "incremental_assign", "incremental_unassign"}


class _Consuming(Wrapped):
    _hooks, _role = CONSUMER_HOOKS, "consumer"
    _original: type

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and not isinstance(args[0], dict):
            self._original(*args, **kwargs)  # says what is wrong
        theirs = self._load(dict(*args[:1], **kwargs))
        chain = self._chain
        if chain.commit or chain.event:
            theirs["on_commit"] = _on_commit(chain, theirs.get("on_commit"))
        try:
            client = self._original(theirs, *args[1:])
        except BaseException:
            chain.close()
            raise
        self._holding = Holding(chain)
        self._poll, self._consume = client.poll, client.consume
        self._adopt(client, untouched(chain))

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
            committed(self._chain, invoked, kafka_error(error), kwargs.get("offsets") or [], asked=True)
            raise
        if answer is not None:  # the answer to an asynchronous one comes by on_commit
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


def _on_commit(chain: Chain, callback: Callable[..., Any] | None) -> Callable[..., Any]:
    def on_commit(error: Any, partitions: list[Any]) -> Any:
        committed(chain, time.monotonic_ns(), error, partitions, asked=False)
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
