"""Java's own clients as the witness: the same interceptors, one of them broken, are called in the same order."""

import subprocess
from pathlib import Path
from typing import Any

from confluent_kafka.serialization import StringDeserializer, StringSerializer

import interceptors
from compose.cluster import Cluster
from compose.jars import kafka_jars
from compose.toolchain import find_java
from interceptors.contract import Interceptor
from tests.cluster.interceptor_kit import AS_LONG, Kit, cluster, read
from tests.pure.recording_interceptor import outcome

__all__ = ["cluster"]  # the fixture
PROGRAM = Path(__file__).parent / "Interceptors.java"


class Base(Interceptor):
    """What Interceptors.java has, line by line."""

    def __init__(self, log: list[str]) -> None:
        self.name, self.log = type(self).__name__, log

    def call(self, hook: str, what: Any = "") -> None:
        self.log.append(f"{self.name} {hook} {what}")
        if self.name == "B":
            raise RuntimeError("broken")

    def on_send(self, record: Any) -> Any:
        self.call("on_send", record.value)
        return record._replace(
            partition=0, value=record.value + self.name if isinstance(record.value, str) else record.value
        )

    def on_acknowledgement(self, report: Any, error: Any) -> None:  # type: ignore[override]
        self.call("on_acknowledgement", "ok" if error is None else "failed")

    def on_consume(self, records: list[Any]) -> list[Any]:
        for record in records:
            self.call("on_consume", record.value())
        return records

    def on_commit(self, offsets: list[Any]) -> None:
        for where in offsets:
            self.call("on_commit", where.offset)

    def close(self) -> None:
        self.call("close")


class A(Base): ...


class B(Base): ...


class C(Base): ...


def in_java(kit: Kit) -> list[str]:
    jars = ":".join(str(jar) for jar in kafka_jars(kit.cluster.spec.kafka))
    command = [str(find_java().path), "-cp", jars, str(PROGRAM), kit.cluster.address.bootstrap, kit.topic]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * AS_LONG)
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("> ") for line in done.stdout.splitlines() if line.startswith("> ")]


def in_python(kit: Kit, log: list[str]) -> list[str]:
    strings = {"key.serializer": StringSerializer(), "value.serializer": StringSerializer()}
    with kit.client("SerializingProducer", **strings) as producer:
        producer.produce(kit.topic, value="v")
        producer.flush(AS_LONG)
        assert outcome(lambda: producer.produce(kit.topic, value=5))[0] == "ValueSerializationError"
    consumer = kit.client(
        "DeserializingConsumer", group_id=kit.group, enable_auto_commit=False, **{"value.deserializer": StringDeserializer()}
    )
    consumer.assign([kit.where(0)])
    read(consumer, 1)
    consumer.commit(asynchronous=False)
    consumer.close()
    return log


def test_hooks_are_called_as_java_calls_them(cluster: Cluster):
    log: list[str] = []
    ours = in_python(Kit(cluster, interceptors, [A(log), B(log), C(log)]), log)

    assert ours == in_java(Kit(cluster, interceptors, []))
    assert "C on_consume vAC" in ours and "C on_acknowledgement failed" in ours
