"""confluent-kafka's asyncio producers refuse headers and timestamps: they send in batches, which have neither.

Without headers there is no tracing. Here a batch in which a record has some is handed over record by record, in the same
thread, the same order and with the same reports; one without goes the original's way.
"""

import asyncio
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.aio import AIOProducer, AsyncSerializingProducer

from interceptors.clients.producer import kafka_error


class Batches:
    """Stands where the original's batch executor has its Producer."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self.poll, self.flush = producer.poll, producer.flush

    def produce_batch(self, topic: str, messages: list[dict[str, Any]], partition: int = -1) -> int:
        if any("headers" in message or "timestamp" in message for message in messages):
            return sum(self._one(topic, message, partition) for message in messages)
        return int(self._producer.produce_batch(topic, messages, partition=partition))

    def _one(self, topic: str, message: dict[str, Any], partition: int) -> int:
        value, key, when = message.get("value"), message.get("key"), message.get("timestamp", 0)
        where = message.get("partition", partition)
        try:
            self._producer.produce(topic, value, key, where, message.get("callback"), None, when, message.get("headers"))
        except (BufferError, KafkaException, TypeError) as error:
            message["_error"] = kafka_error(error)  # the original tells the record's future
            return 0
        return 1


class WithHeaders(AIOProducer):  # type: ignore[misc]
    async def produce(self, topic: str, value: Any = None, key: Any = None, *args: Any, **kwargs: Any) -> Any:
        headers = kwargs.pop("headers", None)
        if not headers and not kwargs.get("timestamp"):
            return await super().produce(topic, value, key, *args, **kwargs)
        executor = self._kafka_executor
        if not isinstance(executor._producer, Batches):
            executor._producer = Batches(executor._producer)
        # As the original does, which stops at the word headers.
        result = asyncio.get_running_loop().create_future()
        told = {str(name): kwargs[name] for name in ("partition", "timestamp") if name in kwargs}
        message: dict[str, Any] = {"topic": topic, "value": value, "key": key, **told}
        if headers:
            message["headers"] = headers
        self._batch_processor.add_message(message, result)
        self._buffer_timeout_manager.mark_activity()
        if self._batch_processor.get_buffer_size() >= self._batch_size:
            await self._flush_buffer()
        return result


class SerializingWithHeaders(AsyncSerializingProducer, WithHeaders):  # type: ignore[misc]
    """Its produce() serialises and then calls the next one's, which is the one above."""
