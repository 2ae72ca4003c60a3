"""One record through three processes, on a real broker, and its trace as a real Zipkin tells it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from compose.cluster import Cluster
from tests.cluster.zipkin import Span, Zipkin, zipkin
from tests.pure.snippets import blocks

TOP = Path(__file__).parent.parent.parent
ORDERS, INVOICES, SMALL = "orders", "invoices", "small"
QUIET = "4bf92f3577b34da6a3ce929d0e0e4736"
LARGE = 10_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1, provider="processes", config={"group.initial.rebalance.delay.ms": "0"}) as cluster:
        cluster.create_topic(ORDERS, partitions=2)
        cluster.create_topic(INVOICES, partitions=1)
        cluster.create_topic(SMALL, partitions=1, config={"max.message.bytes": "500"})
        yield cluster


@dataclass
class Story:
    """What the three processes saw, and Zipkin."""

    zipkin: Zipkin
    producer: list[Any]
    transformer: list[Any]
    consumer: list[Any]

    def headers(self, key: str) -> list[dict[str, str]]:
        """Those of the record with this key, as transformer and consumer received it."""
        seen = [row for row in (*self.transformer, *self.consumer) if row.get("key") == key]
        assert all(len({name for name, _ in row["headers"]}) == len(row["headers"]) for row in seen)  # none twice
        return [dict(row["headers"]) for row in seen]


def run(role: str, told: dict[str, Any]) -> list[Any]:
    words = [sys.executable, "-W", "error", "-m", "tests.cluster.traced_app", role, json.dumps(told)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=TOP, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    saw: list[Any] = json.loads(done.stdout)
    return saw


@pytest.fixture(scope="module")
def story(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with zipkin(tmp_path_factory.mktemp("zipkin")) as running:
        told = {
            "kafka": cluster.address.librdkafka(),
            "zipkin": running.spans_url,
            "topics": [ORDERS, INVOICES, SMALL],
            "quiet": QUIET,
            "large": LARGE,
        }
        yield Story(running, *(run(role, told) for role in ("producer", "transformer", "consumer")))


def tree(spans: list[Span], parent: str | None = None) -> dict[str, Any]:
    """Service and name of every span, under its parent."""
    under = [span for span in spans if span.get("parentId") == parent]
    return {f"{span['localEndpoint']['serviceName']}: {span['name']}": tree(spans, span["id"]) for span in under}


def named(spans: list[Span], name: str) -> Span:
    (only,) = [span for span in spans if span["name"] == name]
    return only


def test_the_trace_of_a_record_is_whole(story: Story):
    spans = story.zipkin.whole(story.headers("loud")[0]["traceparent"][3:35], 7)

    assert len(spans) == 7
    assert tree(spans) == {
        "producer: send orders": {
            "transformer: poll orders": {},
            "transformer: process orders": {
                "transformer: send invoices": {"consumer: poll invoices": {}, "consumer: process invoices": {}},
                "transformer: commit orders": {},
            },
        },
    }
    assert {span["name"]: span["kind"] for span in spans} == {
        "send orders": "PRODUCER",
        "poll orders": "CLIENT",
        "process orders": "CONSUMER",
        "commit orders": "CLIENT",
        "send invoices": "PRODUCER",
        "poll invoices": "CLIENT",
        "process invoices": "CONSUMER",
    }


def test_the_headers_are_the_ids_of_the_spans(story: Story):
    first, second = (headers["traceparent"] for headers in story.headers("loud"))
    spans = story.zipkin.whole(first[3:35], 7)

    assert (first[:36], second[:36]) == (f"00-{spans[0]['traceId']}-",) * 2
    assert (first[36:52], second[36:52]) == (named(spans, "send orders")["id"], named(spans, "send invoices")["id"])


def test_a_send_lasts_until_its_acknowledgement_and_says_where_the_record_is(story: Story):
    spans = story.zipkin.whole(story.headers("loud")[0]["traceparent"][3:35], 7)
    acknowledged = {row["topic"]: row for row in reversed((*story.producer, *story.transformer)) if "latency" in row}

    for topic in (ORDERS, INVOICES):
        span, saw = named(spans, f"send {topic}"), acknowledged[topic]
        assert span["tags"]["messaging.kafka.offset"] == str(saw["offset"])
        assert span["tags"]["messaging.destination.partition.id"] == str(saw["partition"])
        assert span["tags"]["messaging.kafka.message.key"] == "loud"
        assert span["duration"] + 1 >= saw["latency"] * 1e6 > 0
        assert "error.type" not in span["tags"] and "otel.status_code" not in span["tags"]


def test_every_span_names_its_group_and_its_record(story: Story):
    spans = story.zipkin.whole(story.headers("loud")[0]["traceparent"][3:35], 7)
    groups = {span["name"]: span["tags"].get("messaging.consumer.group.name") for span in spans}

    assert groups == {
        "send orders": None,
        "send invoices": None,
        **dict.fromkeys(("poll orders", "process orders", "commit orders"), "transformers"),
        **dict.fromkeys(("poll invoices", "process invoices"), "readers"),
    }
    sent = named(spans, "send orders")["tags"]
    for name, ahead in (("poll orders", 0), ("process orders", 0), ("commit orders", 1)):
        tags = named(spans, name)["tags"]
        assert int(tags["messaging.kafka.offset"]) == int(sent["messaging.kafka.offset"]) + ahead
        assert tags["messaging.destination.partition.id"] == sent["messaging.destination.partition.id"]


def test_a_delivery_that_fails_is_an_error_in_the_trace(story: Story):
    (failed,) = [row for row in story.producer if row["error"]]
    span = named(story.zipkin.everything(), f"send {SMALL}")

    assert span["tags"]["error.type"] == failed["error"] == "MSG_SIZE_TOO_LARGE"
    assert (span["tags"]["otel.status_code"], span["kind"]) == ("ERROR", "PRODUCER")
    assert span["tags"]["error"]
    assert "messaging.kafka.offset" not in span["tags"]
    assert span["duration"] + 1 >= failed["latency"] * 1e6 > 0


def test_a_record_that_is_not_sampled_arrives_with_its_trace_and_leaves_nothing(story: Story):
    story.zipkin.whole(story.headers("loud")[0]["traceparent"][3:35], 7)
    headers = story.headers("quiet")

    assert [told["traceparent"][:36] for told in headers] == [f"00-{QUIET}-"] * 2
    assert [told["traceparent"][-2:] for told in headers] == ["00"] * 2
    assert story.zipkin.trace(QUIET) == []
    # Nor anywhere else: one whole trace, one failed delivery, and no more.
    assert len(story.zipkin.everything()) == 7 + 1


def test_the_example_of_the_page_works_as_it_stands(cluster: Cluster, story: Story):
    """After the story, so that its group has nothing else to read."""
    address, trace = cluster.address.librdkafka(), "5" * 32
    producer = Producer(address | {"log_level": 0})
    producer.produce(ORDERS, b"tea", b"page", headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
    assert producer.flush(30) == 0
    (snippet,) = blocks("tracing.md", "python")
    scope: dict[str, Any] = {}
    exec(snippet.replace("localhost:9092", address["bootstrap.servers"]).replace("poll(10)", "poll(4)"), scope)  # noqa: S102
    scope["consumer"].close()

    with Consumer(address | {"group.id": "page", "auto.offset.reset": "earliest", "log_level": 0}) as consumer:
        consumer.subscribe([INVOICES])
        keys: dict[bytes, Any] = {}
        while b"page" not in keys:
            message = consumer.poll(30)
            assert message is not None
            if not message.error():
                keys[message.key()] = dict(message.headers())
    assert keys[b"page"]["traceparent"].startswith(f"00-{trace}-".encode())
