"""A batch that is sent twice and stands in the log once: no producer, however it sends, makes the audit cry.

Seen on 2026-11-17 with Kafka 4.3.1 and librdkafka 2.16.0: one partition of a topic with CreateTime, a batch of five records
with timestamps 0, 1, 2, 9 and 4 seconds after a moment. The broker's answer was swallowed; about two seconds after the link
was healed the batch had been sent again and was acknowledged. All five delivery reports said (LOG_APPEND_TIME, 9 s), with
the offsets 1 to 5. A consumer read the offsets 1 to 5, each once, with (CREATE_TIME, 0 s), 1 s, 2 s, 9 s and 4 s. So what a
broker answers as the time of appending, if it has the batch already, is the newest timestamp of the batch. On a topic with
LogAppendTime delivery reports and consumer said the same.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME
from confluent_kafka.serialization import StringSerializer

from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Blackhole
from interceptors import AIOProducer, Producer, SerializingProducer
from kernel.waiting import wait_until
from tests.cluster.test_audit import Stage, numbers, read, worst

WARM, COUNT = "warm", 5
APART = 0.02  # seconds between two records, so that their timestamps differ
SENDING = {"linger.ms": 500, "socket.timeout.ms": 1500, "request.timeout.ms": 1000, "enable.idempotence": True}
Told = list[tuple[int, tuple[int, int]]]  # offset, kind of timestamp and timestamp
Losing = Callable[[], Any]
Way = Callable[[Stage, list[list[str]], Losing], Told]


class AsksForTheRecord:
    """Beside it the chain keeps every record until its report comes."""

    def on_acknowledgement(self, report: Any, error: Any, record: Any) -> None:
        assert record.timestamp > 0, "what the audit asks for holds for all"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1) as cluster:
        cluster.create_topic(WARM)
        yield cluster


@pytest.fixture
def stage(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Stage]:
    name = request.node.name.removeprefix("test_").translate(str.maketrans("[]_ ,", "-----"))[-60:].strip("-")
    stage = Stage(cluster, name)
    yield stage
    for client in stage.opened:
        with suppress(RuntimeError):
            client.close()


@contextmanager
def answer_lost(stage: Stage, records: int) -> Iterator[None]:
    """Whatever is sent in here is appended, and nobody is told."""
    cluster = stage.cluster
    direct, place = cluster.direct_address.librdkafka(), confluent_kafka.TopicPartition(stage.orders, 0)
    watcher = confluent_kafka.Consumer(direct | {"group.id": "watcher", "isolation.level": "read_uncommitted"})
    try:
        end = watcher.get_watermark_offsets(place, timeout=10)[1]
        with cluster.broken(Blackhole(direction="downstream"), Link("client", cluster.brokers[0])):
            yield
            wait_until(
                lambda: watcher.get_watermark_offsets(place, timeout=10)[1],
                lambda now: now == end + records, what="the batch in the log", timeout=30,
            )  # fmt: skip
            time.sleep(1)  # the answer is on its way now, and to be swallowed too
    finally:
        watcher.close()


# ---- ways of sending ------------------------------------------------------------------------------------------------


def by_calls(producer: Any, batches: list[list[str]], lost: Losing, one: Callable[[str], Any]) -> None:
    """The second batch has its answer lost; what comes before and after it has none such trouble."""
    for number, values in enumerate(batches):
        if number == 1:
            with lost():
                send(values, one)
        else:
            send(values, one)
        assert producer.flush(60) == 0


def send(values: list[str], one: Callable[[str], Any]) -> None:
    for value in values:
        one(value)
        time.sleep(APART)


def hearing(told: Told) -> Callable[[Any, Any], None]:
    def heard(error: Any, message: Any) -> None:
        assert error is None, error
        told.append((message.offset(), message.timestamp()))

    return heard


def by_produce(stage: Stage, batches: list[list[str]], lost: Losing, **more: Any) -> Told:
    told: Told = []
    producer = Producer(stage.config() | SENDING | more)
    stage.opened.append(producer)
    producer.produce(WARM, "connected")  # and it knows its own number, and all topics
    producer.list_topics(timeout=30)
    assert producer.flush(60) == 0
    by_calls(producer, batches, lost, lambda value: producer.produce(stage.orders, value, on_delivery=hearing(told)))
    producer.close()
    return told


def by_produce_beside_others(stage: Stage, batches: list[list[str]], lost: Losing) -> Told:
    return by_produce(stage, batches, lost, **{"interceptor.classes": [AsksForTheRecord, "interceptors.audit.Audit"]})


def by_produce_batch(stage: Stage, batches: list[list[str]], lost: Losing) -> Told:
    told: Told = []
    producer = Producer(stage.config() | SENDING)
    stage.opened.append(producer)

    def one(value: str) -> None:
        assert producer.produce_batch(stage.orders, [{"value": value}], on_delivery=hearing(told)) == 1

    by_calls(producer, batches, lost, one)
    producer.close()
    return told


def by_serialising(stage: Stage, batches: list[list[str]], lost: Losing) -> Told:
    told: Told = []
    producer = SerializingProducer(stage.config() | SENDING | {"value.serializer": StringSerializer()})
    stage.opened.append(producer)
    by_calls(producer, batches, lost, lambda value: producer.produce(stage.orders, value=value, on_delivery=hearing(told)))
    producer.close()
    return told


def by_transactions(stage: Stage, batches: list[list[str]], lost: Losing) -> Told:
    told: Told = []
    producer = Producer(stage.config() | SENDING | {"transactional.id": stage.orders})
    stage.opened.append(producer)
    producer.init_transactions(60)
    producer.begin_transaction()
    by_calls(producer, batches, lost, lambda value: producer.produce(stage.orders, value, on_delivery=hearing(told)))
    producer.commit_transaction(60)
    producer.close()
    return told


def by_asyncio(stage: Stage, batches: list[list[str]], lost: Losing) -> Told:
    async def all_of_it() -> Told:
        producer = AIOProducer(stage.config() | SENDING, batch_size=1)
        told: Told = []

        async def sent(values: list[str]) -> list[Any]:
            futures = []
            for value in values:
                futures.append(await producer.produce(stage.orders, value))
                await asyncio.sleep(APART)
            return futures

        for number, values in enumerate(batches):
            if number == 1:
                with lost():
                    futures = await sent(values)
            else:
                futures = await sent(values)
            await producer.flush()
            told += [((await future).offset(), (await future).timestamp()) for future in futures]
        await producer.close()
        return told

    return asyncio.run(all_of_it())


WAYS: dict[str, Way] = {
    "produce": by_produce,
    "beside others": by_produce_beside_others,
    "produce_batch": by_produce_batch,
    "serialising": by_serialising,
    "transactions": by_transactions,
    "asyncio": by_asyncio,
}


def in_the_log(stage: Stage, count: int) -> Told:
    """As one reads them whom nobody audits."""
    reader = confluent_kafka.Consumer(stage.cluster.address.librdkafka() | {"group.id": "log", "enable.auto.commit": False})
    reader.assign([confluent_kafka.TopicPartition(stage.orders, 0, 0)])
    found: Told = []

    def one() -> int:
        message = reader.poll(0.5)
        if message is not None and message.error() is None:
            found.append((message.offset(), message.timestamp()))
        return len(found)

    try:
        wait_until(one, lambda seen: seen >= count, what=f"{count} records", timeout=60, every=0)
    finally:
        reader.close()
    return found


# ---- what becomes of it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_that_was_sent_twice_and_is_in_the_log_once_is_complete(stage: Stage, way: str):
    stage.cluster.create_topic(stage.orders, partitions=1)
    batches = [["before"], numbers(COUNT), ["after"]]

    told = sorted(WAYS[way](stage, batches, lambda: answer_lost(stage, COUNT)))
    log = in_the_log(stage, COUNT + 2)

    assert [offset for offset, _ in told] == [offset for offset, _ in log], "acknowledged and in the log, each once"
    twice, own = [stamp for _, stamp in told[1:-1]], [stamp for _, stamp in log[1:-1]]
    assert twice == [(TIMESTAMP_LOG_APPEND_TIME, own[-1][1])] * COUNT, "the broker knew the batch, or this proves nothing"
    assert {kind for kind, _ in own} == {TIMESTAMP_CREATE_TIME} and len(set(own)) == COUNT
    stage.read(COUNT + 2)
    assert worst(stage.audited()) == {"complete"}, stage.audited().judgements
    assert sum(one.counted for one in stage.audited().judgements) == COUNT + 2


def test_a_batch_that_was_sent_twice_to_a_topic_with_the_brokers_clock_is_complete(stage: Stage):
    stage.cluster.create_topic(stage.orders, partitions=1, config={"message.timestamp.type": "LogAppendTime"})

    told = by_produce(stage, [["before"], numbers(COUNT), ["after"]], lambda: answer_lost(stage, COUNT))

    assert sorted(told) == in_the_log(stage, COUNT + 2)
    stage.read(COUNT + 2)
    assert worst(stage.audited()) == {"complete"}, stage.audited().judgements


@pytest.mark.parametrize(("after", "verdict"), [(["after"], "complete"), ([], "uncertain")], ids=["then another", "alone"])
def test_if_it_is_the_first_that_a_client_ever_sent_the_next_one_tells(stage: Stage, after: list[str], verdict: str):
    """Alone it may be what a broker with its own clock has appended within that millisecond: nobody can say, nobody does."""
    stage.cluster.create_topic(stage.orders, partitions=1)
    stage.send(["of another client"])

    by_produce(stage, [[], numbers(COUNT), after], lambda: answer_lost(stage, COUNT))

    stage.read(1 + COUNT + len(after))
    found = stage.audited()
    assert verdict in worst(found), found.judgements
    assert worst(found) <= {"complete", verdict}


def test_a_record_that_is_lost_beside_a_batch_that_was_sent_twice_is_still_missing(stage: Stage):
    """The reader leaves out one of the batch: a mended audit is not a deaf one."""
    stage.cluster.create_topic(stage.orders, partitions=1)
    by_produce(stage, [["before"], numbers(COUNT), ["after"]], lambda: answer_lost(stage, COUNT))
    reader, place = stage.consumer(), confluent_kafka.TopicPartition(stage.orders, 0, 4)

    read(reader, 3)
    reader.seek(place)
    read(reader, COUNT - 2)
    reader.close()

    [wrong] = [one for one in stage.audited().judgements if one.verdict != "complete"]
    assert (wrong.verdict, wrong.missing_offsets, wrong.extra_offsets) == ("missing", (3,), ())
