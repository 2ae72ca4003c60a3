"""Reads orders until none came for a while. What happens inside `process` is part of the trace of its record:
`python billing.py orders.toml`."""

import logging
import sys
import tomllib
from pathlib import Path

from interceptors import Consumer  # in the place of: from confluent_kafka import Consumer
from interceptors.tracing import process

# Without OpenTelemetry every finished span is a line in the log; with it, spans go where OpenTelemetry is told to send them.
logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
logging.getLogger("interceptors.tracing").setLevel(logging.INFO)

with Consumer(tomllib.loads(Path(sys.argv[1]).read_text())["consumer"]) as consumer:
    consumer.subscribe(["orders"])
    seen = idle = 0
    while idle < (20 if seen == 0 else 3):
        message = consumer.poll(1.0)
        if message is None or message.error():
            idle += 1
            continue
        idle, seen = 0, seen + 1
        with process(message):
            print(f"bill: {message.value().decode()}", flush=True)
