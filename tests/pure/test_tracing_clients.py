"""Tracing in the clients that applications use, where no broker is: what is refused, and what never arrives."""

from typing import Any

import pytest
from confluent_kafka.error import ValueSerializationError

from interceptors import Producer, SerializingProducer
from tests.pure.tracing_stage import Stage

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "client.id": "till-7"}


def errors(stage: Stage) -> list[Any]:
    return [(span.name, (span.attributes or {}).get("error.type")) for span in stage.spans]


def test_a_record_for_which_there_is_no_room_is_an_error_at_once():
    stage = Stage()
    producer = Producer(NOBODY | {"interceptor.classes": [stage.tracing], "queue.buffering.max.messages": 1})
    producer.produce("orders", b"one")
    with pytest.raises(BufferError):
        producer.produce("orders", b"two")

    assert errors(stage) == [("send orders", "_QUEUE_FULL")]
    producer.purge()
    producer.flush(10)
    assert errors(stage)[1:] == [("send orders", "_PURGE_QUEUE")]
    assert (stage.spans[0].attributes or {})["messaging.client.id"] == "till-7"


def test_a_record_that_cannot_be_serialised_is_an_error_at_once():
    def refuses(*_: Any) -> bytes:
        raise TypeError("not a till")

    stage = Stage()
    producer = SerializingProducer(NOBODY | {"interceptor.classes": [stage.tracing], "value.serializer": refuses})
    with pytest.raises(ValueSerializationError):
        producer.produce("orders", key=b"k", value=object())

    assert errors(stage) == [("send orders", "_VALUE_SERIALIZATION")]
