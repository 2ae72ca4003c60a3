"""What a chain of interceptors costs: throughput beside confluent-kafka's own on the same cluster, in the same run.

Every way of sending has a process of its own and takes its turn in every round, because a shared machine is not equally
fast all the time. Compared are: the bare client; ours with an empty chain; traced, audited, both; and the instrumentation
of OpenTelemetry, with the same SDK, the same sampler and an exporter that throws away. The application is the same for all:
it sends records of a size, counts its acknowledgements, and flushes.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

from compose.cluster import Cluster
from kernel.cluster import ClusterAddress

TOPIC, PARTITIONS = "speed", 6
SETTINGS = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 20,
    "queue.buffering.max.messages": 200_000,
    "log_level": 0,
}
TRACING, AUDIT, NOTHING = "interceptors.tracing.Tracing", "interceptors.audit.Audit", "benchmarks.interceptors.Nothing"
HEADER = [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02")]
# name → interceptors (None: confluent-kafka's own class), share of records that are sampled (None: no OpenTelemetry set up)
WAYS: dict[str, tuple[list[str] | None, float | None]] = {
    "bare": (None, None),
    "bare, with a header": (None, None),  # what librdkafka takes for a trace's header, whoever makes it
    "empty chain": ([], None),
    "acknowledgements heard": ([NOTHING], None),  # what the chain takes for an interceptor that does nothing
    "traced, 1 % sampled": ([TRACING], 0.01),
    "traced, all sampled": ([TRACING], 1.0),
    "audited": ([AUDIT], None),
    "traced 1 % and audited": ([TRACING, AUDIT], 0.01),
    "OpenTelemetry's instrumentation, 1 % sampled": (None, 0.01),
    "OpenTelemetry's instrumentation, all sampled": (None, 1.0),
}
GOALS = (
    ("empty chain", "bare", 0.95),
    ("traced, 1 % sampled", "bare", 0.7),
    ("traced, 1 % sampled", "OpenTelemetry's instrumentation, 1 % sampled", 3.0),
    ("traced, all sampled", "OpenTelemetry's instrumentation, all sampled", 3.0),
)


class Nothing:
    def on_acknowledgement(self, report: object, error: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--quick", action="store_true", help="fewer records: shows that it runs, not how fast")
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--size", type=int, action="append", help="bytes of a record; may be given more than once")
    asked = parser.parse_args()
    records, rounds = (20_000, 1) if asked.quick else (300_000, 5)
    figures: dict[int, dict[str, list[dict[str, float]]]] = {}
    with Cluster(brokers=asked.brokers) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS, replication=min(3, asked.brokers))
        for size in asked.size or [100, 1000]:
            figures[size] = {name: [] for name in WAYS}
            for _ in range(rounds):
                for name in WAYS:
                    figures[size][name].append(_measured(name, cluster.address, size, records))
    _print(figures, as_json=asked.json)


def _measured(name: str, address: ClusterAddress, size: int, records: int) -> dict[str, float]:
    few = records // 5 if name.startswith("OpenTelemetry") else records  # many times slower, and as exact
    task = json.dumps({"name": name, "config": address.librdkafka(), "size": size, "records": few})
    command = [sys.executable, "-m", "benchmarks.interceptors", "--one"]
    done = subprocess.run(command, input=task, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


# ---- one way, in a process of its own ----------------------------------------------------------------------------------


def _one(task: dict[str, Any]) -> dict[str, float]:
    classes, share = WAYS[task["name"]]
    if share is not None:
        _set_up_opentelemetry(share)
    producer = _producer(task["config"] | SETTINGS, classes, share)
    acknowledged = 0

    def on_delivery(error: object, message: object) -> None:
        nonlocal acknowledged
        acknowledged += error is None

    more = {"headers": HEADER} if task["name"].endswith("a header") else {}
    _send(producer, task["size"], 2_000, on_delivery, more)  # connections, metadata, caches
    producer.flush()
    acknowledged = 0
    began, cpu = time.perf_counter(), time.process_time()
    thread = time.thread_time()
    _send(producer, task["size"], task["records"], on_delivery, more)
    producer.flush()
    took, cpu, thread = time.perf_counter() - began, time.process_time() - cpu, time.thread_time() - thread
    if acknowledged != task["records"]:
        raise RuntimeError(f"{acknowledged} of {task['records']} records were acknowledged: not a measurement")
    return {"rate": task["records"] / took, "cpu_us": cpu / task["records"] * 1e6, "own_us": thread / task["records"] * 1e6}


def _send(producer: Any, size: int, records: int, on_delivery: Any, more: dict[str, Any]) -> None:
    value, produce, poll = b"x" * size, producer.produce, producer.poll
    for i in range(records):
        while True:
            try:
                produce(TOPIC, value, partition=i // 500 % PARTITIONS, on_delivery=on_delivery, **more)
                break
            except BufferError:
                poll(0.01)
        if i % 500 == 0:
            poll(0)


def _producer(config: dict[str, Any], classes: list[str] | None, share: float | None) -> Any:
    if classes is not None:
        from interceptors import Producer as Ours

        return Ours(config | {"interceptor.classes": classes})
    if share is not None:
        from opentelemetry.instrumentation.confluent_kafka import ConfluentKafkaInstrumentor

        ConfluentKafkaInstrumentor().instrument()
    import confluent_kafka  # after instrument(): names that were imported before it are not traced

    return confluent_kafka.Producer(config)


def _set_up_opentelemetry(share: float) -> None:
    from collections.abc import Sequence

    from opentelemetry import trace
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    class Nowhere(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    provider = TracerProvider(sampler=ParentBased(TraceIdRatioBased(share)))
    # Room for all that comes in between two exports: a span that is dropped would cost less than one that is kept.
    provider.add_span_processor(BatchSpanProcessor(Nowhere(), max_queue_size=1_000_000))
    trace.set_tracer_provider(provider)


# ---- what came of it ---------------------------------------------------------------------------------------------------


def _print(figures: dict[int, dict[str, list[dict[str, float]]]], *, as_json: bool) -> None:
    summary = {size: {name: _middle(rounds) for name, rounds in ways.items()} for size, ways in figures.items()}
    ratios = {size: _ratios(ways) for size, ways in figures.items()}
    audit = {size: _added(ways) for size, ways in figures.items()}
    if as_json:
        print(json.dumps({"ways": summary, "ratios": ratios, "audit_us": audit, "rounds": figures}))
        return
    for size, ways in summary.items():
        print(f"records of {size:,} bytes (medians of {len(figures[size]['bare'])})")
        for name, told in ways.items():
            own, cpu = told["own_us"], told["cpu_us"]
            print(f"  {name:46} {told['rate']:10,.0f} records/s   {own:6.2f} µs in its thread   {cpu:6.2f} µs CPU")
        for what, (ratio, goal) in ratios[size].items():
            print(f"  {what}: {ratio:.2f} (goal {goal:g})")
        for beside, added in audit[size].items():
            print(f"  audit adds {added:.2f} µs of its thread to a record, beside {beside} (goal 1)")


def _middle(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(told[key] for told in rounds) for key in rounds[0]}


def _ratios(ways: dict[str, list[dict[str, float]]]) -> dict[str, tuple[float, float]]:
    """Of rounds, each with itself: what else the machine did in a round slowed both."""
    told = {}
    for name, other, goal in GOALS:
        pairs = zip(ways[name], ways[other], strict=True)
        told[f"{name} / {other}"] = (statistics.median(a["rate"] / b["rate"] for a, b in pairs), goal)
    return told


def _added(ways: dict[str, list[dict[str, float]]]) -> dict[str, float]:
    return {
        beside: statistics.median(a["own_us"] - b["own_us"] for a, b in zip(ways["audited"], ways[beside], strict=True))
        for beside in ("bare", "acknowledgements heard")
    }


if __name__ == "__main__":
    if "--one" in sys.argv:
        print(json.dumps(_one(json.loads(sys.stdin.read()))))
    else:
        main()
