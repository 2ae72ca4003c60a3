"""Dashboards judged by a real Prometheus: what has data there, what has none and why, what it refuses. Needs no Kafka."""

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dashboards.prometheus import BadExpression
from dashboards.prometheus import Prometheus as Client
from kernel.waiting import wait_until
from tests.cluster.daemons import TRIAL, Prometheus, prometheus

OFFLINE = "kafka_controller_kafkacontroller_offlinepartitionscount"
URP = "kafka_server_replicamanager_underreplicatedpartitions"
BYTES = "kafka_server_brokertopicmetrics_bytesin_total"
CONTROLLER = f"# TYPE {OFFLINE} gauge\n{OFFLINE} 1\n"
BROKER = """\
# TYPE kafka_server_replicamanager_underreplicatedpartitions gauge
kafka_server_replicamanager_underreplicatedpartitions 0
# TYPE kafka_server_brokertopicmetrics_bytesin_total counter
kafka_server_brokertopicmetrics_bytesin_total 10{seconds}
kafka_server_brokertopicmetrics_bytesin_total{{topic="orders"}} 10{seconds}
# TYPE jvm_memory_used_bytes gauge
jvm_memory_used_bytes{{area="heap"}} 1e8
# TYPE depth gauge
depth{{queue="a\\\\b"}} 3
"""


@contextmanager
def serving(page: str) -> Iterator[str]:
    began = time.monotonic()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(page.format(seconds=f"{time.monotonic() - began:.0f}").encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def watching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Two controllers that tell the same, and a broker."""
    with ExitStack() as stack:
        targets = [stack.enter_context(serving(page)) for page in (CONTROLLER, CONTROLLER, BROKER)]
        running = stack.enter_context(prometheus(tmp_path_factory.mktemp("prometheus"), targets))
        wait_until(lambda: running.query(f"rate({BYTES}[1m])"), bool, what="a rate", timeout=30)
        yield running


def judged(folder: Path, address: str, *words: str, **panels: Any) -> tuple[int, dict[str, list[tuple[str, str]]], str]:
    """Exit code, what is told of each panel, and everything as text."""
    made = [
        {"id": at, "title": title.replace("_", " "), "type": "stat"}
        | (panel if isinstance(panel, dict) else {"targets": [{"refId": "A", "expr": panel}]})
        for at, (title, panel) in enumerate(panels.items())
    ]
    file = folder / "board.json"
    file.write_text(json.dumps({"title": "A board", "panels": made}))
    command = [TRIAL, "dashboards", "lint", str(file), "--prometheus", address, "--json", *words]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    found: dict[str, list[tuple[str, str]]] = {}
    if told.stdout:
        for one in json.loads(told.stdout)["reports"][0]["findings"]:
            found.setdefault(one["panel"], []).append((one["check"], one["sentence"] + " → " + one["hint"]))
    return told.returncode, found, told.stdout + told.stderr


def test_what_has_data_is_let_be(watching: Prometheus, tmp_path: Path):
    code, found, said = judged(
        tmp_path,
        watching.address,
        gauge=f"sum({URP})",
        none_on_a_good_day=f"sum({URP}) > 0",
        two_conditions=f"{URP} > 5 and on (instance) rate({BYTES}{{topic=''}}[1m]) > 1e9",
        rate=f'sum(rate({BYTES}{{topic=""}}[$__rate_interval]))',
        absent=f"absent({URP})",
        either=f"jvm_memory_bytes_used or jvm_memory_used_bytes or {URP}_value",
        cluster=f'sum({URP}{{job=~"$job"}})',
        unless=f"{URP} unless on () {OFFLINE} > 0",
        escaped='depth{queue="a\\\\b"} > 100',
        yesterday=f"max({OFFLINE} offset 1d) > 0",
        scalar="time() - 1",
    )

    assert (code, found) == (0, {}), said


def test_what_has_no_data_is_told_with_its_reason(watching: Prometheus, tmp_path: Path):
    code, found, said = judged(
        tmp_path,
        watching.address,
        job=f'max({OFFLINE}{{job="kafka-broker"}})',
        old_name="jvm_memory_bytes_used",
        other_family=f"sum({URP}_value)",
        bitnami=f"max({OFFLINE}_value)",
        typing_error="kafka_server_replicamanager_underreplicatedpartition",
        gone="kafka_server_kafkarequesthandlerpool_controlplanerequesthandleravgidlepercent",
        not_yet="max(increase(kafka_controller_controllerstats_uncleanleaderelections_total[1h]))",
        sides=f"{URP} / on (instance) {OFFLINE}",
        refused=f"{URP} * on (job) {OFFLINE}",
        expected={"targets": [{"expr": "process_open_fds"}], "fieldConfig": {"defaults": {"noValue": "none"}}},
    )

    told = {panel: [check for check, _ in ones] for panel, ones in found.items()}
    assert code == 1, said
    assert told == {
        "job": ["no-data"],
        "old name": ["unknown-metric"],
        "other family": ["unknown-metric"],
        "bitnami": ["unknown-metric"],
        "typing error": ["unknown-metric"],
        "gone": ["unknown-metric"],
        "not yet": ["no-data"],
        "sides": ["no-data"],
        "refused": ["refused"],
    }
    assert f'no series of {OFFLINE} has job="kafka-broker"' in found["job"][0][1]
    assert "use jvm_memory_used_bytes" in found["old name"][0][1]
    assert f"use {URP}" in found["other family"][0][1]
    assert f"use {OFFLINE}" in found["bitnami"][0][1]
    assert f"use {URP}" in found["typing error"][0][1]
    assert "labels of its two sides differ" in found["sides"][0][1]
    assert "found duplicate series" in found["refused"][0][1]


def test_strict_asks_for_data_everywhere(watching: Prometheus, tmp_path: Path):
    panel = {"targets": [{"expr": "process_open_fds"}], "fieldConfig": {"defaults": {"noValue": "none"}}}

    assert judged(tmp_path, watching.address, files=panel)[0] == 0
    assert judged(tmp_path, watching.address, "--strict", files=panel)[0] == 1


def test_types_that_prometheus_was_told_are_used(watching: Prometheus, tmp_path: Path):
    wait_until(lambda: Client(watching.address).metadata(), lambda told: "depth" in told, what="metadata", timeout=30)
    _, found, said = judged(tmp_path, watching.address, depth="rate(depth[1m])")

    assert [check for check, _ in found["depth"]] == ["rate-of-gauge"], said


def test_the_client_asks_as_prometheus_answers(watching: Prometheus):
    client = Client(watching.address)
    now = time.time()

    assert {BYTES, URP, OFFLINE, "up"} <= client.names()
    assert client.metadata()[BYTES] == "counter"
    assert client.version()
    assert client.label_values("topic", BYTES) == ["orders"]
    assert client.query("vector(42)")[0].value == 42
    assert client.query("42")[0].value == 42
    assert len(client.query(OFFLINE)) == 2
    assert client.query(URP, at=now - 86400) == []
    assert client.query(f"{BYTES}[30s]")
    assert len(client.query_range("vector(1)", now - 10, now, 5)[0].points) == 3
    with pytest.raises(BadExpression, match="parse error"):
        client.query("sum(")


def test_an_address_that_is_no_prometheus_is_refused_without_its_secret(tmp_path: Path):
    with serving("hello\n") as somebody:
        code, _, said = judged(tmp_path, f"http://user:secret@{somebody}", panel=URP)

    assert (code, "secret" in said) == (2, False)
    assert "is not a Prometheus" in said
