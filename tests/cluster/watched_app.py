"""An application as people write them, watched, traced and audited: it produces, consumes, and commits transactions.

python -m tests.cluster.watched_app BOOTSTRAP PORT: metrics on 127.0.0.1:PORT, until it is ended.
"""

import itertools
import sys
import threading
import time

from confluent_kafka import KafkaException
from prometheus_client import REGISTRY, start_http_server

from exporters.clients import watched
from interceptors import Consumer, InterceptorMetrics, Producer

TOPIC, LEDGER, GROUP = "orders", "ledger", "orders-reader"
RATE = 20  # records a second
CHAIN = {
    "interceptor.classes": "interceptors.audit.Audit",
    "interceptor.audit.every.ms": "500",
    "statistics.interval.ms": 1000,
}


def main(bootstrap: str, port: int) -> None:
    REGISTRY.register(InterceptorMetrics())
    start_http_server(port, addr="127.0.0.1")
    common = {"bootstrap.servers": bootstrap, "log_level": 0}
    producer = Producer(watched(common | CHAIN | {"client.id": "shop", "enable.idempotence": True}))
    ledger = Producer(
        watched(common | {"client.id": "ledger", "transactional.id": "ledger", "statistics.interval.ms": 1000})
    )
    reads = {"client.id": "billing", "group.id": GROUP, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 500}
    consumer = Consumer(watched(common | CHAIN | reads))
    for work in (lambda: _produce(producer), lambda: _book(ledger), lambda: _consume(consumer)):
        threading.Thread(target=work).start()


def _produce(producer: Producer) -> None:
    for number in itertools.count():
        producer.produce(TOPIC, f"order {number}")
        producer.poll(1 / RATE)


def _consume(consumer: Consumer) -> None:
    consumer.subscribe([TOPIC])
    while True:
        consumer.poll(1)


def _book(producer: Producer) -> None:
    """A transaction each second, and each comes to its end: one that is left open would stop whoever reads its topic."""
    producer.init_transactions(60)
    for number in itertools.count():
        producer.begin_transaction()
        producer.produce(LEDGER, f"booked {number}")
        while not _ended(producer):
            time.sleep(0.2)
        time.sleep(1)


def _ended(producer: Producer) -> bool:
    try:
        producer.commit_transaction(5)
    except KafkaException as trouble:
        if not trouble.args[0].txn_requires_abort():
            return False
        producer.abort_transaction(30)
    return True


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
