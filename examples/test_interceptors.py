"""A producer and a consumer with three interceptors from a configuration file, as their users would run them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "interceptors"


@pytest.fixture
def config(kafka_cluster, tmp_path):
    kafka_cluster.create_topic("orders")
    told = (HERE / "orders.toml").read_text().replace("localhost:9092", kafka_cluster.address.bootstrap)
    (tmp_path / "orders.toml").write_text(told)
    return tmp_path / "orders.toml"


def test_orders_are_masked_traced_and_audited(config, kafka_cluster):
    shop = _run("shop.py", config)
    billing = _run("billing.py", config)

    assert shop.stdout.count("acknowledged: orders-0 @ ") == 3
    assert sorted(billing.stdout.splitlines()) == [
        "bill: 1 pear, card ************0004",
        "bill: 2 plums, cash",
        "bill: 3 apples, card ************1111",
    ]
    assert billing.stderr.count("process orders") == 3, billing.stderr
    assert _audited(kafka_cluster.address.bootstrap) == {"producer": 3, "consumer": 3}


def _run(script, config):
    done = subprocess.run([sys.executable, HERE / script, config], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def _audited(bootstrap):
    """What both tiers counted, straight from the audit topic."""
    from confluent_kafka import Consumer

    counted = {}
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "look", "auto.offset.reset": "earliest", "enable.partition.eof": True}
    )
    consumer.subscribe(["kafka-trial-audit"])
    while (message := consumer.poll(20)) is not None and not message.error():
        report = json.loads(message.value())
        for row in report["rows"]:
            counted[report["role"]] = counted.get(report["role"], 0) + row["count"]
    consumer.close()
    return counted
