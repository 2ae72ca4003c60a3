"""An audited client as a process of its own, so that it can be killed: sends or reads, says how far it is, and waits.

python -m tests.cluster.audited produce|consume CONFIG_JSON TOPIC COUNT
"""

import json
import sys
import time

from interceptors import Consumer, Producer


def produce(config: dict[str, object], topic: str, count: int) -> None:
    producer, done = Producer(config), []
    for number in range(count):
        producer.produce(topic, f"{config['client.id']} {number}", on_delivery=lambda error, _: done.append(error))
    producer.flush(60)
    print(sum(error is None for error in done), flush=True)
    while True:
        producer.poll(0.1)


def consume(config: dict[str, object], topic: str, count: int) -> None:
    consumer, seen = Consumer(config), 0
    consumer.subscribe([topic])
    while seen < count:
        message = consumer.poll(1)
        seen += message is not None and message.error() is None
    consumer.commit(asynchronous=False)
    print(seen, flush=True)
    while True:
        time.sleep(0.1)


if __name__ == "__main__":
    {"produce": produce, "consume": consume}[sys.argv[1]](json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
