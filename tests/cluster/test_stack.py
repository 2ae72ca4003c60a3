"""The stack that a user starts with one command, started by that command, looked at through its own pages, and broken."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml
from confluent_kafka.admin import AdminClient

from kernel.waiting import wait_until
from tests.cluster.daemons import Prometheus, free_port, status
from tests.stack import FILE, FOLDER, TOP, Stack, compose_command, docker, images, services, stack

pytestmark = pytest.mark.containers
JOBS = {"alertmanager", "audit", "clients", "exporter", "lag-monitor", "probe", "prometheus"}


@pytest.fixture(scope="module")
def running() -> Iterator[Stack]:
    with stack() as started:
        yield started


@pytest.fixture(scope="module")
def prometheus(running: Stack) -> Prometheus:
    return Prometheus(running.address("PROMETHEUS_PORT"))


def told(address: str) -> Any:
    with urlopen(address, timeout=30) as answer:
        return json.load(answer)


def becomes(
    prometheus: Prometheus, expression: str, wanted: dict[str, float], *, by: str = "node", within: float = 60
) -> None:
    wait_until(lambda: prometheus.by(by, expression), lambda seen: seen == wanted, what=expression, timeout=within, every=1)


# ---- the image ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image() -> str:
    """Of the sources as they are."""
    if here := images().get("KAFKA_TRIAL_IMAGE"):
        return here
    docker("build", "--quiet", "--tag", "kafka-trial/kafka-trial:test", str(TOP), timeout=280)
    return "kafka-trial/kafka-trial:test"


def test_the_image_runs_as_an_ordinary_user_and_has_no_tools_to_build_with(image: str):
    tools = "command -v gcc cc make; ls /opt/kafka-trial/bin/pip* /wheels /tools 2>/dev/null"
    look = f"id -u; id -g; {tools}; touch /etc/x /opt/kafka-trial/x 2>/dev/null && echo wrote; true"

    assert docker("run", "--rm", "--entrypoint", "sh", image, "-c", look).split() == ["10001", "10001"]
    assert docker("run", "--rm", image).startswith("Usage: kafka-trial ")


def test_the_image_knows_whether_its_daemon_lives_and_stops_it_well(image: str, tmp_path: Path):
    """jmxquery, so that its JVM is seen to run in there too: a node that refuses is told as one, not as a lack of ours."""
    port = free_port()
    (tmp_path / "exporter.toml").write_text(
        'listen = "0.0.0.0:9308"\ninterval = 1\n[[clusters]]\nname = "none"\nnodes = { 1 = "127.0.0.1:1" }\n'
    )
    tmp_path.chmod(0o755)
    # Docker waits longer than the check does, so that it is the check which finds out.
    impatient = ["--health-interval=1s", "--health-timeout=8s", "--health-retries=2", "--health-start-period=0s"]
    mounted = ["--volume", f"{tmp_path}:/etc/kafka-trial:ro", "--publish", f"127.0.0.1:{port}:9308"]
    words = ["exporter", "--config", "/etc/kafka-trial/exporter.toml"]
    container = docker("run", "--detach", *impatient, *mounted, image, *words)
    try:
        turns(container, "healthy")
        page = f"http://127.0.0.1:{port}/metrics"
        refused = 'kafka_jmx_errors_total{cluster="none",node="1",reason="refused"}'
        wait_until(lambda: urlopen(page, timeout=10).read().decode(), lambda text: refused in text, what=refused, timeout=30)
        docker("kill", "--signal", "STOP", container)
        turns(container, "unhealthy")
        docker("kill", "--signal", "CONT", container)
        turns(container, "healthy")
        docker("stop", "--time", "20", container)
        assert docker("inspect", "--format", "{{.State.ExitCode}}", container) == "0"
    finally:
        docker("rm", "--force", container)


def turns(container: str, health: str) -> None:
    words = ("inspect", "--format", "{{.State.Health.Status}}", container)
    wait_until(lambda: docker(*words), lambda seen: seen == health, what=f"{container} {health}", timeout=30, every=0.3)


# ---- the stack ----------------------------------------------------------------------------------------------------


def test_the_file_is_valid_for_the_compose_that_is_here():
    words = [*compose_command(), "--file", str(FILE), "config"]
    read = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout

    assert yaml.safe_load(read)["services"].keys() == services().keys()


def test_everything_gets_well(running: Stack):
    health = wait_until(
        running.health, lambda seen: set(seen.values()) == {"healthy"}, what="all healthy", timeout=90, every=1
    )

    assert health.keys() == set(running.services) - {"setup"}
    setup = running.containers()["setup"]["State"]
    assert (setup["Status"], setup["ExitCode"]) == ("exited", 0)


def test_nothing_runs_as_root_and_nothing_can_be_reached_from_elsewhere(running: Stack):
    for service, facts in running.containers().items():
        published = [where for all_of in facts["NetworkSettings"]["Ports"].values() for where in all_of or ()]
        assert {where["HostIp"] for where in published} <= {"127.0.0.1"}, service
        assert facts["HostConfig"]["CapDrop"] == ["ALL"] and facts["HostConfig"]["Memory"] > 0, service
        if service != "setup":
            rows = docker("top", facts["Id"], "-eo", "pid,uid").splitlines()[1:]
            assert rows and all(row.split()[1] != "0" for row in rows), service


def test_prometheus_reaches_everybody_and_alertmanager(running: Stack, prometheus: Prometheus):
    def targets() -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for one in told(f"{prometheus.address}/api/v1/targets")["data"]["activeTargets"]:
            found.setdefault(one["labels"]["job"], set()).add(one["health"])
        return found

    wait_until(targets, lambda seen: seen == {job: {"up"} for job in JOBS}, what="all targets up", timeout=60, every=1)
    assert prometheus.query("count(up == 1)") == {(): len(JOBS) + 1}  # two clients
    (manager,) = told(f"{prometheus.address}/api/v1/alertmanagers")["data"]["activeAlertmanagers"]
    assert manager["url"] == "http://alertmanager:9093/api/v2/alerts"


def test_the_rules_are_all_loaded_and_none_fails(prometheus: Prometheus):
    files = [yaml.safe_load(file.read_text()) for file in sorted((FOLDER / "prometheus" / "rules").glob("*.yml"))]
    written = sum(len(group["rules"]) for file in files for group in file["groups"])

    def loaded() -> list[str]:
        groups = told(f"{prometheus.address}/api/v1/rules")["data"]["groups"]
        return [rule["health"] for group in groups for rule in group["rules"]]

    wait_until(loaded, lambda seen: seen == ["ok"] * written, what=f"{written} rules evaluated", timeout=60, every=1)


def test_every_daemon_tells_what_it_is_there_for(running: Stack, prometheus: Prometheus):
    nodes = dict.fromkeys("123", 1.0)
    becomes(prometheus, "kafka_jmx_up", nodes)
    becomes(prometheus, "kafka_jmx_missing == 0", dict.fromkeys("123", 0.0))
    becomes(prometheus, "count by (node) (kafka_log_dir_free_bytes > 0)", nodes)
    becomes(prometheus, "count by (node) (kafka_log_log_size{topic='orders'})", nodes)
    becomes(prometheus, "kafka_probe_broker_available", nodes, by="broker")
    assert status(f"{running.address('LAG_PORT')}/-/ready") == 200
    becomes(prometheus, "kafka_lag_group_status{group='demo', status='OK'}", {"stack": 1.0}, by="cluster")
    becomes(prometheus, "kafka_audit_records{outcome='complete'} > bool 0", {"demo": 1.0}, by="tier", within=90)
    assert prometheus.by("outcome", "kafka_audit_records{outcome=~'missing|extra'}") == {"missing": 0, "extra": 0}
    # Whatever is of the cluster says so, and in one word.
    mine = 'count by (cluster) ({__name__=~"kafka_.*"})'
    assert [dict(labels) for labels in prometheus.query(mine)] == [{"cluster": "stack"}]


def test_what_is_critical_keeps_warnings_of_its_own_cluster_back(running: Stack):
    alerts = f"{running.address('ALERTMANAGER_PORT')}/api/v2/alerts"
    kinds = [("stack", "critical"), ("stack", "warning"), ("other", "warning")]
    body = [{"labels": {"alertname": "tried", "cluster": cluster, "severity": severity}} for cluster, severity in kinds]
    request = Request(alerts, json.dumps(body).encode(), {"Content-Type": "application/json"})
    assert urlopen(request, timeout=10).status == 200

    def shown() -> dict[tuple[str, str], str]:
        mine = [alert for alert in told(alerts) if alert["labels"]["alertname"] == "tried"]
        return {(one["labels"]["cluster"], one["labels"]["severity"]): one["status"]["state"] for one in mine}

    wanted = dict(zip(kinds, ("active", "suppressed", "active"), strict=True))
    wait_until(shown, lambda seen: seen == wanted, what="inhibition", timeout=40, every=1)


def test_a_record_is_traced_from_the_producer_to_the_group(running: Stack):
    zipkin = f"{running.address('ZIPKIN_PORT')}/api/v2/traces?serviceName=demo-consumer&limit=200"
    whole = {("demo-producer", "send orders"), ("demo-consumer", "poll orders"), ("demo-consumer", "process orders")}

    def traces() -> list[set[tuple[str, str]]]:
        return [{(span["localEndpoint"]["serviceName"], span["name"]) for span in trace} for trace in told(zipkin)]

    wait_until(traces, lambda seen: whole in seen, what="a whole trace", timeout=60, every=1)


def test_programs_on_this_machine_reach_every_broker(running: Stack):
    ports = {int(running.env[f"KAFKA_{node}_PORT"]) for node in (1, 2, 3)}
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{min(ports)}"})

    brokers = admin.list_topics(timeout=20).brokers.values()

    assert {(broker.host, broker.port) for broker in brokers} == {("127.0.0.1", port) for port in ports}


def test_grafana_gets_a_password_that_only_it_can_read(running: Stack):
    image = running.containers()["setup"]["Image"]
    look = ["--volume", f"{running.project}_secrets:/secrets:ro", "--user", "0", "--entrypoint", "stat", image]

    seen = docker("run", "--rm", *look, "-c", "%u %a %s", "/secrets/grafana-password")

    assert seen == "472 400 24"
    assert "password=" not in running("logs", "setup")


def test_a_killed_broker_is_seen_and_comes_back_with_its_data(running: Stack, prometheus: Prometheus):
    of_its_own = "kafka_server_replicamanager_partitioncount"
    partitions = prometheus.by("node", of_its_own)
    assert partitions.keys() == set("123")

    running("kill", "kafka-2")
    becomes(prometheus, "kafka_jmx_up", {"1": 1.0, "2": 0.0, "3": 1.0})
    becomes(prometheus, f"count by (node) ({of_its_own})", {"1": 1.0, "3": 1.0})
    becomes(prometheus, "kafka_probe_broker_available", {"1": 1.0, "2": 0.0, "3": 1.0}, by="broker")
    acknowledged = "sum(kafka_client_deliveries_total{topic='orders', outcome='ok'})"
    before = prometheus.query(acknowledged)[()]
    wait_until(lambda: prometheus.query(acknowledged)[()], lambda now: now > before, what="more orders", timeout=60, every=1)
    assert running.containers()["kafka-2"]["State"]["Status"] == "exited"  # killed by hand, it is not started again

    running("start", "kafka-2")
    becomes(prometheus, "kafka_jmx_up", dict.fromkeys("123", 1.0))
    becomes(prometheus, of_its_own, partitions)
    assert docker("logs", running.containers()["kafka-2"]["Id"]).count("Formatting metadata directory") == 1


def test_it_goes_and_leaves_nothing(running: Stack):
    assert len(running.left()) > len(running.services)

    running.down()

    assert running.left() == []
