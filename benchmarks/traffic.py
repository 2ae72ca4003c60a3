"""What the ledger costs: full-speed traffic that writes every operation down, against a bare confluent-kafka loop.

Both send records of the same size with the same producer settings to the same partitions of one cluster, in turns, each
in a process of its own; the bare loop only counts its delivery reports. The same for reading.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.evidence.folder import RunFolder
from chaos.traffic.client import Client
from chaos.traffic.plans import ConsumerPlan, ProducerPlan
from compose.cluster import Cluster
from kernel.waiting import wait_until

TOPIC, PARTITIONS = "speed", 3
SETTINGS = {"linger.ms": 20, "queue.buffering.max.messages": 200_000, "partitioner": "murmur2_random", "log_level": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--quick", action="store_true", help="two short rounds instead of five")
    parser.add_argument("--size", type=int, default=100, help="bytes of a record")
    asked = parser.parse_args()
    rounds, seconds = (2, 3.0) if asked.quick else (5, 8.0)
    with Cluster(brokers=3) as cluster, tempfile.TemporaryDirectory() as folder:
        cluster.create_topic(TOPIC, partitions=PARTITIONS, config={"min.insync.replicas": "2"})
        config = dict(cluster.direct_address.librdkafka())
        figures = _measure(config, Path(folder), rounds, seconds, asked.size)
    _print(figures, as_json=asked.json)


def _measure(config: dict[str, str], folder: Path, rounds: int, seconds: float, size: int) -> dict[str, list[float]]:
    ways: dict[str, Callable[[int], float]] = {
        "send, bare": lambda _: _bare("send", config, seconds, size),
        "send, ledger": lambda i: _ledger(
            i, ProducerPlan(topics={TOPIC: PARTITIONS}, rate=None, size=size), "ok", config, folder, seconds
        ),
        "read, bare": lambda _: _bare("read", config, seconds, size),
        "read, ledger": lambda i: _ledger(
            i, ConsumerPlan(topics={TOPIC: PARTITIONS}, mode="assign", batch=1000), "read", config, folder, seconds
        ),
    }
    _bare("send", config, seconds, size)  # the brokers' own warming up is nobody's cost
    figures: dict[str, list[float]] = {name: [] for name in ways}
    for i in range(rounds):  # interleaved, so that a slow minute hits all alike
        for name, way in ways.items():
            figures[name].append(way(i))
    return figures


def _ledger(i: int, plan: Any, counted: str, config: dict[str, str], folder: Path, seconds: float) -> float:
    run = RunFolder.create(folder, day="day", scenario=f"{plan.role}-{counted}", run_id=f"run-{i}")
    task = {"run_id": "speed", "ledger": str(run.ledger), "config": config, "first": 10**12}
    client = Client("client", plan, task, run.logs / "client.log")
    wait_until(lambda: client.status.get(counted), bool, what="traffic flows", timeout=60)
    time.sleep(1)  # as long as the bare loop is given to get going
    first, began = _count(client, counted)
    time.sleep(seconds)
    last, ended = _count(client, counted)
    client.stop()
    client.wait_closed(120)
    client.end()
    return (last - first) / (ended - began)


def _count(client: Client, what: str) -> tuple[int, float]:
    status = client.status
    total = status[what] if what == "ok" else sum(count for parts in status[what].values() for count in parts.values())
    return int(total), float(status["at"])


def _bare(what: str, config: dict[str, str], seconds: float, size: int) -> float:
    task = json.dumps({"what": what, "config": config, "seconds": seconds, "size": size})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.traffic", "--bare"], input=task, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _bare_loop(task: dict[str, Any]) -> float:
    return (_bare_send if task["what"] == "send" else _bare_read)(task)


def _bare_send(task: dict[str, Any]) -> float:
    from confluent_kafka import Producer

    producer = Producer(task["config"] | SETTINGS | {"acks": "all", "enable.idempotence": True})
    value, acked = b"0" * task["size"], 0

    def counted(error: object, message: object) -> None:
        nonlocal acked
        acked += error is None

    began, first, sent = time.monotonic(), 0, 0
    started = began + 1
    while (now := time.monotonic()) < began + 1 + task["seconds"]:
        if now < started:
            first = acked
        for _ in range(500):
            try:
                producer.produce(TOPIC, value, partition=sent // 500 % PARTITIONS, on_delivery=counted)
                sent += 1
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    rate = (acked - first) / (time.monotonic() - started)
    producer.flush(60)
    return rate


def _bare_read(task: dict[str, Any]) -> float:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(task["config"] | {"group.id": "bare", "enable.auto.commit": False, "log_level": 0})
    consumer.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING) for partition in range(PARTITIONS)])
    began, first, read = time.monotonic(), 0, 0
    started = began + 1
    while (now := time.monotonic()) < began + 1 + task["seconds"]:
        if now < started:
            first = read
        read += len(consumer.consume(1000, timeout=0.05))
    rate = (read - first) / (time.monotonic() - started)
    consumer.close()
    return rate


def _print(figures: dict[str, list[float]], *, as_json: bool) -> None:
    middle = {name: statistics.median(rates) for name, rates in figures.items()}
    ratios = {what: middle[f"{what}, ledger"] / middle[f"{what}, bare"] for what in ("send", "read")}
    if as_json:
        print(json.dumps({"records_per_second": middle, "ledger_of_bare": ratios, "rounds": figures}))
        return
    for name, rate in middle.items():
        print(f"{name:14} {rate:12,.0f} records/s   (median of {len(figures[name])})")
    for what, ratio in ratios.items():
        print(f"{what} with the ledger keeps {ratio:.2f} of the bare loop")


if __name__ == "__main__":
    if "--bare" in sys.argv:
        print(_bare_loop(json.loads(sys.stdin.read())))
    else:
        main()
