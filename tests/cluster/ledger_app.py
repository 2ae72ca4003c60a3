"""An application as people write them, in a process of its own. It knows nothing of the ledger in its configuration.

The first line of its input says what it is and has its configuration; each later line is work to do, answered by a line of
what it has counted itself.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from interceptors import Consumer, Producer


def shop(config: dict[str, Any], topic: str) -> None:
    """Sends orders, and counts those that were acknowledged."""
    producer, sent, acked = Producer(config), 0, []

    def told(error: Any, message: Any) -> None:
        if error is None:
            acked.append([message.partition(), message.offset(), message.value().decode()])

    for word, number in work():
        for _ in range(number):
            producer.produce(topic, f"order-{sent}", key=f"customer-{sent % 7}", on_delivery=told)
            sent += 1
            producer.poll(0)
        if word == "send":
            producer.flush(60)
        answer(sent=sent, acked=acked)
    producer.flush(60)
    producer.close()
    answer(sent=sent, acked=acked)


def billing(config: dict[str, Any], topic: str) -> None:
    """Reads orders as a member of its group."""
    consumer, read = Consumer(config), []
    consumer.subscribe([topic])
    for _, number in work():
        while len(read) < number:
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                read.append([message.partition(), message.offset(), message.value().decode()])
        answer(read=read)
    consumer.close()
    answer(read=read)


def ledgers(config: dict[str, Any], topic: str) -> None:
    """Books in transactions of ten, and takes every third back."""
    producer, committed, aborted = Producer(config), [], []
    producer.init_transactions(60)
    for _, number in work():
        for n in range(1, number + 1):
            producer.begin_transaction()
            booked = [f"booking-{n}-{i}" for i in range(10)]
            for booking in booked:
                producer.produce(topic, booking)
            producer.flush(60)
            if n % 3 == 0:
                producer.abort_transaction(60)
                aborted += booked
            else:
                producer.commit_transaction(60)
                committed += booked
        answer(committed=committed, aborted=aborted)
    producer.close()


def invoices(config: dict[str, Any], topic: str) -> None:
    """From orders to invoices, each of them once: read, transform, send and commit in one transaction."""
    mine = {
        key: value for key, value in config.items() if key not in ("group.id", "auto.offset.reset", "enable.auto.commit")
    }
    producer, consumer, done = Producer(mine), Consumer({k: v for k, v in config.items() if k != "transactional.id"}), []
    producer.init_transactions(60)
    consumer.subscribe([topic])
    for _, number in work():
        while len(done) < number:
            orders = [message for message in consumer.consume(20, timeout=1.0) if message.error() is None]
            if orders:
                done += invoiced(producer, consumer, f"{topic}-invoices", orders)
        answer(done=done)
    consumer.close()
    producer.close()


def invoiced(producer: Any, consumer: Any, topic: str, orders: list[Any]) -> list[str]:
    producer.begin_transaction()
    for order in orders:
        producer.produce(topic, order.value().replace(b"order", b"invoice"), headers=order.headers())
    producer.send_offsets_to_transaction(
        [TopicPartition(o.topic(), o.partition(), o.offset() + 1) for o in orders], consumer.consumer_group_metadata(), 60
    )
    try:
        producer.commit_transaction(60)
    except KafkaException:
        producer.abort_transaction(60)
        raise
    return [order.value().decode() for order in orders]


def work() -> Iterator[tuple[str, int]]:
    for line in sys.stdin:
        word, _, number = line.strip().partition(" ")
        if word == "end":
            return
        yield word, int(number)


def answer(**counted: Any) -> None:
    print(json.dumps(counted), flush=True)


def of_payload(payload: bytes) -> int | None:
    """order-17 → 17."""
    return int(payload.removeprefix(b"order-")) if payload.startswith(b"order-") else None


ROLES: dict[str, Callable[[dict[str, Any], str], None]] = {
    role.__name__: role for role in (shop, billing, ledgers, invoices)
}

if __name__ == "__main__":
    task = json.loads(sys.stdin.readline())
    ROLES[task["role"]](task["config"], task["topic"])
