"""What Java clients have and Python never got: interceptor chains, tracing, audit.

    from interceptors import Consumer, Producer    # in the place of confluent_kafka's

The clients are imported when they are asked for, so that parts of this room can be had without confluent-kafka.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from interceptors.contract import Event, Happening, Interceptor
from interceptors.loading import BadInterceptor
from interceptors.record import ProducerRecord, Refused, Report

if TYPE_CHECKING:
    from interceptors.clients.aio_consumer import AIOConsumer, AsyncDeserializingConsumer
    from interceptors.clients.aio_producer import AIOProducer, AsyncSerializingProducer
    from interceptors.clients.consumer import Consumer, DeserializingConsumer
    from interceptors.clients.producer import Producer, SerializingProducer
    from interceptors.metrics import InterceptorMetrics

HOMES = {
    "AIOConsumer": "interceptors.clients.aio_consumer",
    "AIOProducer": "interceptors.clients.aio_producer",
    "AsyncDeserializingConsumer": "interceptors.clients.aio_consumer",
    "AsyncSerializingProducer": "interceptors.clients.aio_producer",
    "Consumer": "interceptors.clients.consumer",
    "DeserializingConsumer": "interceptors.clients.consumer",
    "InterceptorMetrics": "interceptors.metrics",
    "Producer": "interceptors.clients.producer",
    "SerializingProducer": "interceptors.clients.producer",
}

__all__ = [
    "AIOConsumer",
    "AIOProducer",
    "AsyncDeserializingConsumer",
    "AsyncSerializingProducer",
    "BadInterceptor",
    "Consumer",
    "DeserializingConsumer",
    "Event",
    "Happening",
    "Interceptor",
    "InterceptorMetrics",
    "Producer",
    "ProducerRecord",
    "Refused",
    "Report",
    "SerializingProducer",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
