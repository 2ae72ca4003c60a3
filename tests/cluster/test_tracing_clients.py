"""What Zipkin's format has no room for, on a real broker: links of a batch, transactions, commits, and asyncio."""

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException, TopicPartition
from opentelemetry.sdk.trace import ReadableSpan

from compose.cluster import Cluster
from interceptors import AIOConsumer, AIOProducer, Consumer, Producer
from interceptors.tracing import process, process_batch
from kernel.waiting import wait_until
from tests.pure.tracing_stage import Stage


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    quick = {"group.initial.rebalance.delay.ms": "0", "transaction.state.log.min.isr": "1"}
    with Cluster(brokers=1, provider="processes", config=quick) as cluster:
        yield cluster


class Scene:
    """Traced clients whose spans stay in memory, and topics of their own."""

    def __init__(self, cluster: Cluster) -> None:
        self.stage, self.name = Stage(), uuid.uuid4().hex[:8]
        self.orders, self.books = f"orders-{self.name}", f"books-{self.name}"
        self.address = cluster.address.librdkafka()
        for topic in (self.orders, self.books):
            cluster.create_topic(topic, partitions=1)

    def config(self, **more: Any) -> dict[str, Any]:
        given = {key.replace("_", "."): value for key, value in more.items()}
        return self.address | {"log_level": 0, "interceptor.classes": [self.stage.another(given)]} | given

    def reading(self, **more: Any) -> dict[str, Any]:
        return self.config(group_id=self.name, auto_offset_reset="earliest", enable_auto_commit=False, **more)

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.stage.spans if span.name == name]


@pytest.fixture
def scene(cluster: Cluster) -> Scene:
    return Scene(cluster)


def place(context: Any) -> tuple[int, int]:
    return context.trace_id, context.span_id


def test_a_batch_of_two_topics_is_linked_to_every_record(scene: Scene):
    producer = Producer(scene.config())
    for topic in (scene.orders, scene.books, scene.orders):
        producer.produce(topic, b"v")
    assert producer.flush(30) == 0
    sent = {place(span.context) for span in scene.stage.spans}
    messages: list[Any] = []
    with Consumer(scene.reading()) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0) for topic in (scene.orders, scene.books)])
        while len(messages) < 3:
            messages += consumer.consume(3, timeout=10)
        with process_batch(messages):
            producer.produce(scene.books, b"sum")
            assert producer.flush(30) == 0

    polls = [span for span in scene.stage.spans if span.name.startswith("poll")]
    (batch,) = scene.spans("process")
    assert len(sent) == 3
    assert {place(link.context) for span in polls for link in span.links} == sent
    assert {place(link.context) for link in batch.links} == sent
    assert (batch.attributes or {})["messaging.batch.message_count"] == 3
    assert place(scene.spans(f"send {scene.books}")[-1].parent) == place(batch.context)


def test_a_transaction_is_settled_in_a_span_and_so_is_a_commit_that_fails(scene: Scene):
    producer = Producer(scene.config(transactional_id=scene.name))
    producer.init_transactions(30)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce(scene.orders, b"v")
        end(30)
    with Consumer(scene.reading()) as consumer, pytest.raises(KafkaException):
        consumer.commit(offsets=[TopicPartition("no-such-topic", 7, 7)], asynchronous=False)

    # The second record was still in the queue, or on its way, when its transaction was aborted.
    assert "error.type" not in (scene.spans(f"send {scene.orders}")[0].attributes or {})
    assert [len(scene.spans(name)) for name in ("commit", "abort", f"send {scene.orders}")] == [1, 1, 2]
    (failed,) = scene.spans("commit no-such-topic")
    assert (failed.attributes or {})["error.type"] == "UNKNOWN_TOPIC_OR_PART"


def test_an_asynchronous_commit_is_a_span_once_it_is_answered(scene: Scene):
    producer = Producer(scene.config())
    producer.produce(scene.orders, b"v")
    assert producer.flush(30) == 0
    name = f"commit {scene.orders}"
    with Consumer(scene.reading()) as consumer:
        consumer.subscribe([scene.orders])
        while (message := consumer.poll(30)) is None or message.error():
            pass
        consumer.commit(message)

        def answered() -> int:
            consumer.poll(0.1)
            return len(scene.spans(name))

        wait_until(answered, lambda seen: seen == 1, what="a span of the commit", timeout=30)
    (span,) = scene.spans(name)
    assert (span.attributes or {})["messaging.kafka.offset"] == 1
    assert (span.attributes or {})["messaging.consumer.group.name"] == scene.name


def test_tasks_of_asyncio_each_continue_the_trace_of_their_record(scene: Scene):
    async def all_of_it() -> None:
        producer, consumer = AIOProducer(scene.config()), AIOConsumer(scene.reading())
        for number in range(4):
            await producer.produce(scene.orders, b"v", f"{number}".encode())
        await producer.flush()
        await consumer.subscribe([scene.orders])

        async def handle(message: Any) -> None:
            with process(message):
                await asyncio.sleep(0)  # let the others in
                await producer.produce(scene.books, b"v", message.key())

        tasks: list[asyncio.Task[None]] = []
        while len(tasks) < 4:
            message = await consumer.poll(10)
            if message is not None and not message.error():
                tasks.append(asyncio.create_task(handle(message)))
        await asyncio.gather(*tasks)
        await producer.flush()
        await consumer.close()
        await producer.close()

    asyncio.run(all_of_it())

    traces = [
        {(span.attributes or {})["messaging.kafka.message.key"]: span.context.trace_id for span in scene.spans(name)}
        for name in (f"send {scene.orders}", f"poll {scene.orders}", f"process {scene.orders}", f"send {scene.books}")
    ]
    assert len(set(traces[0].values())) == len(traces[0]) == 4
    assert traces[1:] == [traces[0]] * 3
