"""Three small applications, each a process of its own, as their authors would write them: traced by configuration alone.

    python -m tests.cluster.traced_app producer|transformer|consumer '{"kafka": {…}, "zipkin": "http://…", …}'

What an application saw itself is printed as JSON, so that a test can hold it against what Zipkin was told.
"""

import json
import sys
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.zipkin.json import ZipkinExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from interceptors import Consumer, Producer
from interceptors.tracing import process

UNSAMPLED = "00-{trace}-00f067aa0ba902b7-00"


class Application:
    def __init__(self, role: str, told: dict[str, Any]) -> None:
        self.told = told
        self.common = told["kafka"] | {
            "interceptor.classes": "interceptors.tracing.Tracing",
            "client.id": role,
            "log_level": 0,
        }
        self.saw: list[dict[str, Any]] = []

    def producer(self) -> Any:
        return Producer(self.common | {"linger.ms": 0, **self.told.get("producer", {})})

    def delivered(self, error: Any, report: Any) -> None:
        told = {"error": error and error.name(), "partition": report.partition(), "offset": report.offset()}
        self.saw.append(told | {"topic": report.topic(), "latency": report.latency()})

    def send(self) -> None:
        """One record to be traced, one not to be recorded, one that the broker will refuse."""
        producer, (orders, _, small) = self.producer(), self.told["topics"]
        producer.produce(orders, b"two coffees", b"loud", on_delivery=self.delivered)
        quiet = {"traceparent": UNSAMPLED.format(trace=self.told["quiet"])}
        producer.produce(orders, b"two coffees", b"quiet", headers=quiet, on_delivery=self.delivered)
        producer.produce(small, self.told["large"] * b"x", b"large", on_delivery=self.delivered)
        assert producer.flush(30) == 0

    def transform(self) -> None:
        producer, (orders, invoices, _) = self.producer(), self.told["topics"]
        with self.reading(orders, "transformers") as consumer:
            for message in self.records(consumer):
                with process(message):
                    producer.produce(
                        invoices,
                        message.value().upper(),
                        message.key(),
                        headers=message.headers(),
                        on_delivery=self.delivered,
                    )
                    assert producer.flush(30) == 0
                    consumer.commit(message, asynchronous=False)

    def read(self) -> None:
        with self.reading(self.told["topics"][1], "readers") as consumer:
            for message in self.records(consumer):
                with process(message):
                    assert message.value() == b"TWO COFFEES"

    def reading(self, topic: str, group: str) -> Any:
        config = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = Consumer(self.common | config)
        consumer.subscribe([topic])
        return consumer

    def records(self, consumer: Any) -> Any:
        for _ in range(2):
            while (message := consumer.poll(30)) is None or message.error():
                pass
            headers = [[name, value.decode()] for name, value in message.headers()]
            self.saw.append({"key": message.key().decode(), "headers": headers})
            yield message


def main() -> None:
    role, told = sys.argv[1], json.loads(sys.argv[2])
    provider = TracerProvider(resource=Resource({"service.name": role}))
    provider.add_span_processor(BatchSpanProcessor(ZipkinExporter(endpoint=told["zipkin"])))
    trace.set_tracer_provider(provider)
    app = Application(role, told)
    {"producer": app.send, "transformer": app.transform, "consumer": app.read}[role]()
    provider.shutdown()
    print(json.dumps(app.saw))


if __name__ == "__main__":
    main()
