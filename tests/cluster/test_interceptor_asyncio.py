"""The asyncio clients on real brokers: the same results through the originals and through ours, and headers besides."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import confluent_kafka.aio
import pytest
from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka.serialization import IntegerDeserializer, IntegerSerializer, StringDeserializer, StringSerializer

import interceptors
from compose.cluster import Cluster
from interceptors.contract import Interceptor
from kernel.waiting import wait_until
from tests.cluster.interceptor_kit import AS_LONG, Hearing, Kit, cluster

__all__ = ["cluster"]  # the fixture
NOW = int(time.time() * 1000) - 60_000  # brokers refuse the future and forget the past
Pattern = Callable[[Kit], Coroutine[Any, Any, Any]]
GROUP = {"auto_offset_reset": "earliest", "enable_auto_commit": False}


@pytest.fixture
def alike(cluster: Cluster) -> Callable[[Pattern], tuple[Any, Hearing, Kit]]:
    """The result of a pattern, which is the same three times, what was heard, and of which topic."""

    def run(pattern: Pattern) -> tuple[Any, Hearing, Kit]:
        kept = Hearing()
        heard = Kit(cluster, interceptors, [kept])
        theirs = asyncio.run(pattern(Kit(cluster, confluent_kafka.aio, None)))
        assert asyncio.run(pattern(Kit(cluster, interceptors, []))) == theirs
        assert asyncio.run(pattern(heard)) == theirs
        return theirs, kept, heard

    return run


Alike = Callable[[Pattern], tuple[Any, Hearing, Kit]]


async def read(consumer: Any, count: int) -> list[Any]:
    records: list[Any] = []
    deadline = time.monotonic() + AS_LONG
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} records of {count} were read"
        message = await consumer.poll(0.1)
        if message is not None and message.error() is None:
            records.append(message)
    return records


def test_produce_await_and_read_with_asynchronous_callbacks_and_commits(alike: Alike):
    async def pattern(kit: Kit) -> Any:
        seen: list[Any] = []
        async with kit.client("AIOProducer") as producer:
            futures = [await producer.produce(kit.topic, f"{n}", key="k", partition=0) for n in range(5)]
            await producer.flush()
            sent = [((await future).offset(), (await future).value()) for future in futures]

        async def on_commit(error: Any, partitions: list[Any]) -> None:
            seen.append(("commit", error, [where.offset for where in partitions if where.offset >= 0]))

        async def on_assign(asked: Any, partitions: list[Any]) -> None:
            seen.append(("assign", asked is consumer, len(partitions)))
            for where in partitions:
                where.offset = 1 if where.partition == 0 else 0
            await asked.assign(partitions)

        async def on_revoke(asked: Any, partitions: list[Any]) -> None:
            seen.append(("revoke", asked is consumer, len(partitions)))

        consumer = kit.client("AIOConsumer", group_id=kit.group, on_commit=on_commit, **GROUP)
        await consumer.subscribe([kit.topic], on_assign=on_assign, on_revoke=on_revoke)
        values = [record.value() for record in await read(consumer, 4)]
        answer = await consumer.commit(offsets=[kit.where(3)], asynchronous=False)
        await consumer.commit(offsets=[kit.where(4)])
        while not any(each[0] == "commit" for each in seen):
            await consumer.poll(0.05)
        await consumer.close()
        return sent, values, [where.offset for where in answer], seen, kit.committed()

    (sent, values, answer, seen, committed), kept, kit = alike(pattern)

    assert sent == [(n, f"{n}".encode()) for n in range(5)] and values == [b"1", b"2", b"3", b"4"]
    assert seen == [("assign", True, 3), ("commit", None, [4]), ("revoke", True, 3)]
    assert answer == [3] and committed == {0: 4}
    assert kept.heard("on_send") == [(f"{n}",) for n in range(5)]
    assert kept.heard("on_acknowledgement") == [(f"{n}", None) for n in range(5)]
    assert kept.heard("on_consume") == [(value,) for value in values]
    assert kept.heard("on_commit") == [((kit.topic, 0, 3),), ((kit.topic, 0, 4),)]
    assert [(str(event.what), event.asked) for event in kept.events] == [
        ("assign", True), ("offsets", True), ("offsets", True), ("revoke", True),
    ]  # fmt: skip
    assert kept.closed == 2


def test_transactions_of_asyncio_exactly_once(alike: Alike):
    async def pattern(kit: Kit) -> Any:
        kit.fill("a", "b")
        output = f"{kit.topic}-out"
        kit.cluster.create_topic(output)
        consumer = kit.client("AIOConsumer", group_id=kit.group, **GROUP)
        await consumer.subscribe([kit.topic])
        producer = kit.client("AIOProducer", transactional_id=kit.group)
        await producer.init_transactions()
        for how in ("abort", "commit"):
            records = await read(consumer, 2)
            await producer.begin_transaction()
            for record in records:
                await producer.produce(output, record.value() + how.encode())
            here = await consumer.position(await consumer.assignment())
            await producer.send_offsets_to_transaction(here, await consumer.consumer_group_metadata())
            await getattr(producer, f"{how}_transaction")()
            await consumer.seek(kit.where(0))
        await consumer.close()
        await producer.close()
        reader = kit.client("AIOConsumer", group_id="reader", isolation_level="read_committed", **GROUP)
        await reader.assign([TopicPartition(output, 0, 0)])
        values = [record.value() for record in await read(reader, 2)]
        await reader.close()
        return values, wait_until(kit.committed, bool, what="offsets of the transaction", timeout=AS_LONG)

    (values, committed), kept, _ = alike(pattern)

    assert values == [b"acommit", b"bcommit"] and committed == {0: 2}
    told = [str(event.what) for event in kept.events if str(event.what) not in ("assign", "revoke")]
    assert told == ["begin", "send_offsets", "abort", "seek", "begin", "send_offsets", "commit", "seek"]
    assert len(kept.heard("on_acknowledgement")) == 4


def test_serialisers_of_asyncio_and_batches(alike: Alike):
    async def pattern(kit: Kit) -> Any:
        serialisers = {"key.serializer": StringSerializer(), "value.serializer": IntegerSerializer()}
        producer = await kit.client("AsyncSerializingProducer", **serialisers)
        futures = [await producer.produce(kit.topic, "k", number, partition=0) for number in range(4)]
        try:
            await producer.produce(kit.topic, "k", "no number")
            refusal = ""
        except Exception as error:
            refusal = type(error).__name__
        await producer.flush()
        sent = [(await future).offset() for future in futures]
        await producer.close()
        deserialisers = {"key.deserializer": StringDeserializer(), "value.deserializer": IntegerDeserializer()}
        consumer = await kit.client(
            "AsyncDeserializingConsumer", group_id=kit.group, enable_partition_eof=True, **GROUP, **deserialisers
        )
        await consumer.assign([kit.where(0)])
        values: list[Any] = []
        ends = 0
        while not ends:
            for message in await consumer.consume(3, 1.0):
                if message.error():
                    ends += message.error().code() == KafkaError._PARTITION_EOF
                else:
                    values.append((message.key(), message.value()))
        await consumer.unassign()
        await consumer.close()
        return sent, refusal, values

    (sent, refusal, values), kept, _ = alike(pattern)

    assert sent == [0, 1, 2, 3] and refusal == "ValueSerializationError"
    assert values == [("k", number) for number in range(4)]
    assert Counter(kept.heard("on_acknowledgement")) == Counter(
        [*((number, None) for number in range(4)), ("no number", "_VALUE_SERIALIZATION")]
    )
    assert [value for batch in kept.heard("on_consume") for value in batch] == [0, 1, 2, 3]
    assert [str(event.what) for event in kept.events] == ["assign", "revoke"]


def test_headers_and_timestamps_which_the_originals_refuse_arrive_in_order_with_records_that_have_none(cluster: Cluster):
    async def send(kit: Kit) -> list[int]:
        async with kit.client("AIOProducer") as producer:
            futures = []
            for n in range(6):
                headers = {"headers": {"n": f"{n}", "b": b"\xff"}} if n % 2 else {}
                futures.append(await producer.produce(kit.topic, f"{n}", partition=0, **headers))
            futures.append(await producer.produce(kit.topic, "6", partition=0, timestamp=NOW))
            await producer.flush()
            return [(await future).offset() for future in futures]

    async def arrived(kit: Kit) -> list[Any]:
        async with kit.client("AIOConsumer", group_id=kit.group) as consumer:
            await consumer.assign([kit.where(0)])
            return [(r.value(), r.headers(), r.timestamp()[1]) for r in await read(consumer, 7)]

    for chain in ([], [Hearing()]):
        kit = Kit(cluster, interceptors, chain)
        assert asyncio.run(send(kit)) == [0, 1, 2, 3, 4, 5, 6]
        found = asyncio.run(arrived(kit))
        assert [(value, headers) for value, headers, _ in found] == [
            (f"{n}".encode(), [("n", f"{n}".encode()), ("b", b"\xff")] if n in (1, 3, 5) else None) for n in range(7)
        ]
        assert found[6][2] == NOW


def test_the_originals_still_refuse_headers(cluster: Cluster):
    """Not ours: confluent-kafka's own. When this fails, they have learnt it, and clients/with_headers.py can go."""
    kit = Kit(cluster, confluent_kafka.aio, None)

    async def send() -> None:
        async with kit.client("AIOProducer") as producer:
            await producer.produce(kit.topic, "v", headers={"a": b"1"})

    with pytest.raises(NotImplementedError, match="Headers are not supported"):
        asyncio.run(send())


def test_a_header_that_cannot_be_sent_fails_its_own_record_alone(cluster: Cluster):
    kept = Hearing()

    async def send(kit: Kit) -> list[Any]:
        async with kit.client("AIOProducer") as producer:
            futures = [
                await producer.produce(kit.topic, "good", partition=0, headers={"a": b"1"}),
                await producer.produce(kit.topic, "bad", partition=0, headers={"a": 5}),
                await producer.produce(kit.topic, "good too", partition=0, headers={"a": b"1"}),
            ]
            await producer.flush()
            return [type(each).__name__ for each in await asyncio.gather(*futures, return_exceptions=True)]

    assert asyncio.run(send(Kit(cluster, interceptors, [kept]))) == ["Message", "KafkaException", "Message"]
    assert Counter(kept.heard("on_acknowledgement")) == Counter(
        [("good", None), ("bad", "_INVALID_ARG"), ("good too", None)]
    )


REQUEST: ContextVar[str] = ContextVar("REQUEST", default="none")


class InContext(Interceptor):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_send(self, record: Any) -> Any:
        self.seen.append(("send", record.value, REQUEST.get()))
        return record

    def on_acknowledgement(self, report: Any, error: Any, record: Any) -> None:
        self.seen.append(("acknowledgement", record.value, REQUEST.get()))

    def on_consume(self, records: list[Any]) -> list[Any]:
        self.seen.append(("consume", REQUEST.get()))
        REQUEST.set("of the record")
        return records


def test_hooks_run_in_the_context_of_the_coroutine_that_awaits(cluster: Cluster):
    kept = InContext()
    kit = Kit(cluster, interceptors, [kept])

    async def handle(producer: Any, name: str) -> None:
        REQUEST.set(name)
        await (await producer.produce(kit.topic, name, partition=0))

    async def requests() -> str:
        async with kit.client("AIOProducer") as producer:
            handling = [asyncio.create_task(handle(producer, name)) for name in ("first", "second")]
            await asyncio.sleep(0)
            await producer.flush()
            await asyncio.gather(*handling)
        async with kit.client("AIOConsumer", group_id=kit.group) as consumer:
            await consumer.assign([kit.where(0)])
            REQUEST.set("reading")
            await read(consumer, 1)
            return REQUEST.get()

    assert asyncio.run(requests()) == "of the record"
    assert sorted(kept.seen[:-1]) == [
        (hook, name, name) for hook in ("acknowledgement", "send") for name in ("first", "second")
    ]
    assert kept.seen[-1] == ("consume", "reading")


def test_a_timestamp_arrives_without_headers_too(cluster: Cluster):
    kit = Kit(cluster, interceptors, [])

    async def there_and_back() -> Any:
        async with kit.client("AIOProducer") as producer:
            future = await producer.produce(kit.topic, "v", partition=0, timestamp=NOW)
            await producer.flush()
            await future
        async with kit.client("AIOConsumer", group_id=kit.group) as consumer:
            await consumer.assign([kit.where(0)])
            return (await read(consumer, 1))[0].timestamp()[1]

    assert asyncio.run(there_and_back()) == NOW
