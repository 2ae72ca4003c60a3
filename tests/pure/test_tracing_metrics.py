"""OpenTelemetry's messaging metrics: fed for every record where a MeterProvider is set, and nothing where none is."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import sampling
from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.semconv._incubating.metrics import messaging_metrics
from opentelemetry.semconv.attributes import error_attributes, server_attributes
from opentelemetry.semconv.schemas import Schemas

from interceptors.contract import Event, Happening
from interceptors.loading import BadInterceptor
from interceptors.record import ProducerRecord
from interceptors.tracing import Tracing, names, process
from tests.pure.tracing_stage import Stage, acknowledged, message, refused, traceparent

CONFIG = {"group.id": "tills", "client.id": "till-7", "bootstrap.servers": "[::1]:9092"}


class Measured:
    def __init__(self, config: dict[str, Any] = CONFIG) -> None:
        self.reader = InMemoryMetricReader()
        stage = Stage(sampler=sampling.ALWAYS_OFF)  # metrics are about every record, spans or not
        self.tracing = Tracing(
            tracer_provider=stage.provider, meter_provider=MeterProvider([self.reader], shutdown_on_exit=False)
        )
        self.tracing.configure(config)

    def points(self, name: str) -> list[tuple[Any, dict[str, Any]]]:
        data = self.reader.get_metrics_data()
        metrics = (
            [each for of in data.resource_metrics for scope in of.scope_metrics for each in scope.metrics] if data else []
        )
        points = [point for metric in metrics if metric.name == name for point in metric.data.data_points]
        return [(getattr(point, "value", getattr(point, "count", None)), dict(point.attributes or {})) for point in points]


def test_sent_records_are_counted_and_timed_by_partition_and_error():
    measured = Measured()
    for error in (None, None, KafkaError(KafkaError._MSG_TIMED_OUT)):
        acknowledged(measured.tracing.on_send(ProducerRecord("orders", b"v", b"k")), error=error)
    for code in (KafkaError._QUEUE_FULL, KafkaError.NOT_ENOUGH_REPLICAS):  # asyncio clients tell of both in this way
        refused(measured.tracing.on_send(ProducerRecord("orders")), KafkaError(code))

    base = {
        "messaging.system": "kafka",
        "messaging.operation.name": "send",
        "messaging.destination.name": "orders",
        "messaging.consumer.group.name": "tills",
        "server.address": "::1",
        "server.port": 9092,
    }
    there = base | {"messaging.destination.partition.id": "3"}
    sent, late = (
        [(2, there), (1, there | {"error.type": "_MSG_TIMED_OUT"})],
        (1, base | {"error.type": "NOT_ENOUGH_REPLICAS"}),
    )
    assert measured.points("messaging.client.sent.messages") == [*sent, late]
    assert measured.points("messaging.client.operation.duration") == [*sent, (1, base | {"error.type": "_QUEUE_FULL"}), late]


def test_received_records_are_counted_by_topic_and_partition():
    measured = Measured()
    measured.tracing.on_poll()
    measured.tracing.on_consume([message(), message(partition=4), message(topic="books"), message()])

    counted = {
        (facts["messaging.destination.name"], facts["messaging.destination.partition.id"]): value
        for value, facts in measured.points("messaging.client.consumed.messages")
    }
    assert counted == {("orders", "3"): 2, ("orders", "4"): 1, ("books", "3"): 1}
    ((count, facts),) = measured.points("messaging.client.operation.duration")
    assert (count, facts["messaging.operation.name"]) == (1, "poll")


def test_processing_and_committing_are_timed():
    measured = Measured()
    with pytest.raises(KeyError), process(message(headers=[traceparent()]), measured.tracing):
        raise KeyError("till")
    measured.tracing.on_event(Event(Happening.OFFSETS, 0, 5, partitions=(TopicPartition("orders", 3, 42),)))

    ((_, processed),) = measured.points("messaging.process.duration")
    ((_, committed),) = measured.points("messaging.client.operation.duration")
    assert (processed["error.type"], processed["messaging.consumer.group.name"]) == ("KeyError", "tills")
    assert (committed["messaging.operation.name"], "error.type" in committed) == ("commit", False)


def test_no_key_and_no_offset_becomes_a_series():
    measured = Measured()
    acknowledged(measured.tracing.on_send(ProducerRecord("orders", None, b"k")))
    ((_, facts),) = measured.points("messaging.client.sent.messages")

    assert not {"messaging.kafka.message.key", "messaging.kafka.offset", "messaging.client.id"} & set(facts)


def test_without_a_meter_provider_nobody_listens():
    assert Stage(sampler=sampling.ALWAYS_OFF).send().ears == ()
    assert len(Measured().tracing.on_send(ProducerRecord("orders")).ears) == 1


def test_the_words_are_those_of_the_conventions():
    """The modules of the conventions that are in development may change any day: this is where it would be seen."""
    known = {
        value
        for module in (messaging_attributes, messaging_metrics, error_attributes, server_attributes)
        for value in vars(module).values()
        if isinstance(value, str)
    }
    ours = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)} - {
        names.SCOPE,
        names.SCHEMA,
    }

    assert ours <= known
    assert names.SCHEMA in {schema.value for schema in Schemas}


# ---- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("write", "w4c", "interceptor.tracing.write is 'w4c': give one or more of w3c, b3, traceId."),
        ("write", [], "interceptor.tracing.write is []: give one or more of w3c, b3, traceId."),
        ("write", [["w3c"]], "interceptor.tracing.write is [['w3c']]: give one or more of w3c, b3, traceId."),
        ("write", 7, "interceptor.tracing.write is 7: give one or more of w3c, b3, traceId."),
        ("sample", "1.5", "interceptor.tracing.sample is '1.5': give a number from 0 (no trace) to 1 (all)."),
        ("sample", float("nan"), "interceptor.tracing.sample is nan: give a number from 0 (no trace) to 1 (all)."),
        ("sample", True, "interceptor.tracing.sample is True: give a number from 0 (no trace) to 1 (all)."),
        ("process", "parent", "interceptor.tracing.process is 'parent': give child or link."),
        ("keys", "perhaps", "interceptor.tracing.keys is 'perhaps': give true or false."),
        (
            "writes",
            "w3c",
            "interceptor.tracing.writes is not known: known are interceptor.tracing.write, interceptor.tracing.sample, "
            "interceptor.tracing.process, interceptor.tracing.keys.",
        ),
    ],
)
def test_a_wrong_setting_is_told_in_a_sentence(key: str, value: Any, sentence: str):
    with pytest.raises(BadInterceptor) as raised:
        Tracing().configure({f"interceptor.tracing.{key}": value})

    assert raised.value.message == sentence


@pytest.mark.parametrize(
    ("servers", "address"),
    [
        ("broker:9092", {"server.address": "broker", "server.port": 9092}),
        ("SASL_SSL://broker:9092", {"server.address": "broker", "server.port": 9092}),
        ("broker", {"server.address": "broker"}),
        ("[::1]:9092", {"server.address": "::1", "server.port": 9092}),
        ("a:1,b:2", {}),
        ("", {}),
        (None, {}),
    ],
)
def test_a_single_bootstrap_server_is_an_address(servers: Any, address: dict[str, Any]):
    tracing = Tracing()
    tracing.configure({"bootstrap.servers": servers})

    assert {key: value for key, value in tracing.settings.client.items() if key.startswith("server.")} == address
