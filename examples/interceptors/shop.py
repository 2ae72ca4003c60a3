"""Sends orders. Nothing in it knows of interceptors but one import: `python shop.py orders.toml`."""

import sys
import tomllib
from pathlib import Path

from interceptors import Producer  # in the place of: from confluent_kafka import Producer

ORDERS = [b"3 apples, card 4111 1111 1111 1111", b"1 pear, card 5500-0000-0000-0004", b"2 plums, cash"]


def report(error, message):
    print(f"failed: {error}" if error else f"acknowledged: {message.topic()}-{message.partition()} @ {message.offset()}")


with Producer(tomllib.loads(Path(sys.argv[1]).read_text())["producer"]) as producer:
    for order in ORDERS:
        producer.produce("orders", order, on_delivery=report)
    producer.flush()
