"""Without OpenTelemetry: the same ids and headers, its spans as lines in the log, and nothing built if nobody listens."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.pure.tracing_stage import SPAN, TRACE

HIDDEN = """
import importlib.abc, json, logging, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from confluent_kafka import KafkaError, Message
from interceptors.record import ProducerRecord
from interceptors.tracing import Tracing, process, process_batch

TRACEPARENT = ("traceparent", b"00-TRACE-SPAN-01")

def made(**config):
    tracing = Tracing()
    tracing.configure({f"interceptor.tracing.{key}": value for key, value in config.items()} | {"group.id": "tills"})
    return tracing

def acknowledged(record, error=None):
    for _, ear, more in record.ears:
        ear(Message(topic=record.topic, partition=3, offset=41), error, record, *more)

def message(*headers):
    return Message(topic="orders", partition=3, offset=41, key=b"k", value=b"v", headers=list(headers))

class Keeps(logging.Handler):
    lines = []
    def emit(self, record):
        self.lines.append(dict(span=json.loads(json.dumps(record.span)), text=record.getMessage()))

def listen():
    logging.getLogger("interceptors.tracing").setLevel(logging.INFO)
    logging.getLogger("interceptors.tracing").addHandler(Keeps())

def header(record):
    (value,) = [value for name, value in record.headers if name == "traceparent"]
    return value.decode()
"""


def run(code: str) -> Any:
    """What `answer` is at the end of the code, in an interpreter that finds no OpenTelemetry."""
    whole = HIDDEN.replace("TRACE-SPAN", f"{TRACE}-{SPAN}") + code
    whole += "\nprint(json.dumps([answer, sorted(name for name in sys.modules if name.startswith('opentelemetry'))]))"
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer, modules = json.loads(done.stdout)
    assert modules == []
    return answer


def test_a_trace_goes_from_producer_over_consumer_to_producer_as_lines_in_the_log():
    first, second, lines = run("""
listen()
producer, consumer = made(), made()
first = producer.on_send(ProducerRecord("orders", b"v", b"k"))
acknowledged(first)
got = message(*first.headers, ("baggage", b"user=7"))
consumer.on_poll()
consumer.on_consume([got])
with process(got):
    second = producer.on_send(ProducerRecord("invoices", None, headers=first.headers))
acknowledged(second, KafkaError(KafkaError._MSG_TIMED_OUT))
answer = [header(first), [[name, value.decode()] for name, value in second.headers], Keeps.lines]
""")
    send, poll, process, again = (line["span"] for line in lines)

    assert [line["span"]["name"] for line in lines] == ["send orders", "poll orders", "process orders", "send invoices"]
    assert [span["kind"] for span in (send, poll, process, again)] == ["PRODUCER", "CLIENT", "CONSUMER", "PRODUCER"]
    assert {span["trace_id"] for span in (send, poll, process, again)} == {first[3:35]}
    assert first[36:52] == send["span_id"] == poll["parent_id"] == process["parent_id"]
    assert poll["links"] == [{"trace_id": first[3:35], "span_id": first[36:52], "attributes": {}}]
    assert again["parent_id"] == process["span_id"]
    assert second == [["traceparent", f"00-{again['trace_id']}-{again['span_id']}-03"], ["baggage", "user=7"]]
    assert send["parent_id"] is None and send["duration"] >= 0 and send["start"] > 1e9
    assert process["attributes"]["messaging.consumer.group.name"] == "tills"
    assert again["attributes"]["error.type"] == "_MSG_TIMED_OUT" and again["attributes"]["messaging.kafka.message.tombstone"]
    assert lines[3]["text"].startswith("send invoices failed with _MSG_TIMED_OUT after ")


def test_nobody_listening_means_that_nothing_is_built_and_ids_go_on():
    assert run("""
producer = made()
with process(message(TRACEPARENT)) as active:
    record = producer.on_send(ProducerRecord("orders"))
producer.on_consume([message(TRACEPARENT)])
alone = producer.on_send(ProducerRecord("orders"))
answer = [len(record.ears), header(record)[:36], header(record)[-2:], active.trace_id, len(alone.ears), header(alone)[-2:]]
""") == [0, f"00-{TRACE}-", "01", TRACE, 0, "03"]


def test_what_the_ratio_leaves_out_is_not_logged_and_not_marked():
    assert run("""
listen()
producer = made(sample="0")
alone, child = producer.on_send(ProducerRecord("orders")), producer.on_send(ProducerRecord("orders", headers=(TRACEPARENT,)))
acknowledged(alone), acknowledged(child)
with process(message(), producer):
    pass
answer = [header(alone)[-2:], header(child)[-2:], [line["span"]["name"] for line in Keeps.lines]]
""") == ["02", "01", ["send orders"]]


def test_an_exception_is_told_and_goes_on():
    name, error, kind = run("""
listen()
try:
    with process_batch([message(), message()]):
        raise ValueError("no such till")
except ValueError as raised:
    (line,) = Keeps.lines
    answer = [line["span"]["name"], line["span"]["error"], line["span"]["attributes"]["error.type"]]
""")

    assert (name, error, kind) == ("process orders", "ValueError: no such till", "ValueError")


@pytest.mark.parametrize("module", ["interceptors.tracing"])
def test_importing_does_not_bring_opentelemetry(module: str):
    code = f"import sys, {module}; print([name for name in sys.modules if name.startswith(('opentelemetry', 'confluent'))])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
