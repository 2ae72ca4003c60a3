"""Who asks for it hears with which timestamp a record was sent, by whatever way; and the application notices nothing."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME
from confluent_kafka.serialization import StringSerializer

import interceptors
from interceptors.chain import Chain
from interceptors.loading import wants_created, wants_record
from interceptors.record import ProducerRecord, Report
from tests.pure.recording_interceptor import MOCK, Recording

GIVEN = 1_700_000_000_123


class Asks:
    def __init__(self) -> None:
        self.heard: list[tuple[int, tuple[int, int]]] = []

    def on_acknowledgement(self, report: Report, error: Any, *, created: int = 0) -> None:
        assert error is None
        self.heard.append((created, report.timestamp()))


class AsksForBoth:
    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []

    def on_acknowledgement(self, report: Report, error: Any, record: ProducerRecord, *, created: int = 0) -> None:
        self.heard.append((created, record.timestamp))


class Sends:
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record


Told = list[tuple[int, int]]


def by_produce(more: dict[str, Any], **given: Any) -> Told:
    told: Told = []
    with interceptors.Producer(MOCK | more) as producer:
        for _ in range(3):
            producer.produce("t", b"v", on_delivery=lambda error, message: told.append(message.timestamp()), **given)
        producer.flush(10)
    return told


def by_produce_batch(more: dict[str, Any], **given: Any) -> Told:
    told: Told = []
    with interceptors.Producer(MOCK | more) as producer:
        batch = [{"value": b"v"} | given for _ in range(3)]
        assert producer.produce_batch("t", batch, on_delivery=lambda error, message: told.append(message.timestamp())) == 3
        producer.flush(10)
    return told


def by_serialising(more: dict[str, Any], **given: Any) -> Told:
    told: Told = []
    with interceptors.SerializingProducer(MOCK | more | {"value.serializer": StringSerializer()}) as producer:
        for _ in range(3):
            producer.produce("t", value="v", on_delivery=lambda error, message: told.append(message.timestamp()), **given)
        producer.flush(10)
    return told


def by_asyncio(more: dict[str, Any], **given: Any) -> Told:
    async def sent() -> Told:
        async with interceptors.AIOProducer(MOCK | more) as producer:
            futures = [await producer.produce("t", b"v", **given) for _ in range(3)]
            await producer.flush()
            return [(await future).timestamp() for future in futures]

    return asyncio.run(sent())


def by_asyncio_and_serialising(more: dict[str, Any], **given: Any) -> Told:
    async def sent() -> Told:
        producer = await interceptors.AsyncSerializingProducer(MOCK | more | {"value.serializer": StringSerializer()})
        futures = [await producer.produce("t", value="v", **given) for _ in range(3)]
        await producer.flush()
        told = [(await future).timestamp() for future in futures]
        await producer.close()
        return told

    return asyncio.run(sent())


WAYS = [by_produce, by_produce_batch, by_serialising, by_asyncio, by_asyncio_and_serialising]
BESIDE: dict[str, Callable[[], list[Any]]] = {
    "alone": list,
    "one that sends": lambda: [Sends()],
    "one that keeps records": lambda: [Recording()],
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("given", [{}, {"timestamp": GIVEN}], ids=["now", "given"])
def test_who_asks_hears_the_timestamp_that_a_record_was_sent_with(way: Any, beside: str, given: dict[str, int]):
    """librdkafka's fakes answer that all was appended at 1234: the delivery reports cannot tell."""
    asks, before = Asks(), time.time_ns() // 1_000_000
    told = way({"interceptor.classes": [*BESIDE[beside](), asks]}, **given)
    after = time.time_ns() // 1_000_000

    assert told == [(TIMESTAMP_LOG_APPEND_TIME, 1234)] * 3 == [stamp for _, stamp in asks.heard]
    assert all(created == GIVEN if given else before <= created <= after for created, _ in asks.heard)


def test_callbacks_of_the_application_are_not_mixed_up_within_a_millisecond():
    """Records of one millisecond share an ear; not so if they have different callbacks."""
    asks, heard = Asks(), list[tuple[str, bytes]]()
    ears = {name: lambda error, message, name=name: heard.append((name, message.value())) for name in ("a", "b")}
    with interceptors.Producer(MOCK | {"interceptor.classes": [asks]}) as producer:
        for number in range(20):
            name = "ab"[number // 2 % 2]
            producer.produce("t", f"{name}".encode(), partition=0, timestamp=GIVEN + number // 3, on_delivery=ears[name])
        producer.flush(10)

    assert [name.encode() for name, _ in heard] == [value for _, value in heard] and len(heard) == 20
    assert [created for created, _ in asks.heard] == [GIVEN + number // 3 for number in range(20)]


def test_who_asks_for_the_record_too_gets_both():
    asks = AsksForBoth()
    by_produce({"interceptor.classes": [asks]}, timestamp=GIVEN)

    assert asks.heard == [(GIVEN, GIVEN)] * 3


def test_where_nobody_asks_no_timestamp_is_set():
    kept: list[int] = []

    class Keeps:
        def on_acknowledgement(self, report: Report, error: Any, record: ProducerRecord) -> None:
            kept.append(record.timestamp)

    by_produce({"interceptor.classes": [Keeps]})

    assert kept == [0] * 3


def test_what_a_hook_asks_for_is_read_from_its_arguments():
    assert [(wants_record(hook), wants_created(hook)) for hook in (
        Asks().on_acknowledgement, AsksForBoth().on_acknowledgement, Recording().on_acknowledgement, print,
        lambda report, error: None, lambda report, error, created: None,
    )] == [(False, True), (True, True), (True, False), (True, False), (False, False), (True, False)]  # fmt: skip


def test_a_report_without_a_record_tells_no_timestamp():
    asks = Asks()

    class Delivered:
        def timestamp(self) -> tuple[int, int]:
            return (2, 5)

    Chain([asks], "c").on_acknowledgement(Delivered(), None, None)  # type: ignore[arg-type]

    assert asks.heard == [(0, (2, 5))]
