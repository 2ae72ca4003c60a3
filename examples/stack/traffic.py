"""Orders sent and read, traced, audited and watched: the traffic of compose/stack, for its dashboards to show.

`python traffic.py producer|consumer`, with BOOTSTRAP, ZIPKIN and RATE in the environment. What is asked of interceptors is
configuration; the rest is how anybody writes such a program.
"""

import json
import logging
import os
import random
import signal
import sys
import threading
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from opentelemetry import trace
from opentelemetry.exporter.zipkin.json import ZipkinExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from prometheus_client import start_http_server

from exporters.clients import watched
from interceptors import Consumer, Producer
from interceptors.tracing import process

TOPIC, GROUP, PAGE = "orders", "demo", 8001
FRUIT = ("apples", "pears", "plums", "quinces")
log = logging.getLogger("demo")


def settings(client: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": os.environ["BOOTSTRAP"],
        "client.id": client,
        "interceptor.classes": ["interceptors.tracing.Tracing", "interceptors.audit.Audit"],
    }


def make_topic(stop: threading.Event) -> None:
    admin = AdminClient({"bootstrap.servers": os.environ["BOOTSTRAP"]})
    wanted = NewTopic(TOPIC, num_partitions=6, replication_factor=3, config={"min.insync.replicas": "2"})
    while not stop.is_set():
        try:
            admin.create_topics([wanted])[TOPIC].result(10)
            return
        except KafkaException as trouble:
            if trouble.args[0].name() == "TOPIC_ALREADY_EXISTS":
                return
            log.warning("%s cannot be made yet: %s", TOPIC, trouble)
            stop.wait(2)


def produce(stop: threading.Event, rate: float) -> None:
    config = settings("demo-producer") | {"interceptor.audit.tier": "shop", "enable.idempotence": True}
    producer: Any = Producer(watched(config))
    number = 0
    while not stop.wait(1 / rate if rate > 0 else 1):
        if rate > 0:
            number += 1
            order = {"number": number, "fruit": random.choice(FRUIT), "count": random.randint(1, 9)}
            try:
                producer.produce(TOPIC, json.dumps(order).encode(), f"customer-{random.randrange(50)}".encode())
            except BufferError:  # nobody takes them at the moment; librdkafka has as many as it may
                log.warning("the queue is full, and order %d is not sent", number)
        producer.poll(0)
    producer.flush(10)
    producer.close()


def consume(stop: threading.Event) -> None:
    with Consumer(watched(settings("demo-consumer") | {"group.id": GROUP, "auto.offset.reset": "earliest"})) as consumer:
        consumer.subscribe([TOPIC])
        while not stop.is_set():
            message = consumer.poll(0.5)
            if message is None or message.error():
                continue
            with process(message):
                json.loads(message.value())


def main() -> None:
    role, stop = sys.argv[1], threading.Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: stop.set())
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    provider = TracerProvider(resource=Resource({"service.name": f"demo-{role}"}))
    provider.add_span_processor(BatchSpanProcessor(ZipkinExporter(endpoint=os.environ["ZIPKIN"])))
    trace.set_tracer_provider(provider)
    start_http_server(PAGE)
    make_topic(stop)
    if role == "producer":
        produce(stop, float(os.environ.get("RATE", "10")))
    else:
        consume(stop)
    provider.shutdown()


if __name__ == "__main__":
    main()
