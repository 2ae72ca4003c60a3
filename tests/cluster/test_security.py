"""Clusters that check who is calling: right credentials get in, others do not, and nothing secret shows."""

import dataclasses
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from compose.cluster import Cluster
from compose.state import marked_processes
from kernel.cluster import ClusterAddress
from kernel.errors import UsageError
from kernel.waiting import wait_until
from tests.cluster.traffic import read, send

MODES = [
    pytest.param(("processes", "tls"), id="tls"),
    pytest.param(("processes", "sasl_ssl"), id="sasl_ssl"),
    pytest.param(("containers", "sasl_ssl"), id="sasl_ssl-containers", marks=pytest.mark.containers),
]


@pytest.fixture(scope="module", params=MODES)
def cluster(request: pytest.FixtureRequest):
    provider, security = request.param
    with Cluster(provider=provider, security=security, javaagent=True, jolokia=True) as cluster:  # all that listens
        cluster.create_topic("secret")
        yield cluster


def test_the_handed_out_address_works(cluster: Cluster):
    sent = send(cluster.address, "secret", ["a", "b"])

    assert sent == ["a", "b"]
    assert read(cluster.address, "secret", 2) == sent
    assert cluster.view.brokers() == {1, 2, 3}
    assert cluster.controller() in (1, 2, 3)


def test_the_printed_properties_are_all_a_client_needs(cluster: Cluster):
    printed = Path(cluster.facts()["client_properties"]["librdkafka"]).read_text()
    settings = dict(line.split("=", 1) for line in printed.splitlines())

    assert "secret" in AdminClient(settings).list_topics(timeout=20).topics


def test_kcat_takes_the_printed_properties_as_they_are(cluster: Cluster):
    too_old = kcat_librdkafka() < (2, 6, 1) and cluster.spec.security == "sasl_ssl"
    properties = cluster.facts()["client_properties"]["librdkafka"]

    listing = subprocess.run(["kcat", "-F", properties, "-L"], capture_output=True, text=True, check=False, timeout=60)

    if too_old:  # it repeats the client nonce, which Kafka 4 refuses (librdkafka#4895); `up` warns of it
        assert listing.returncode != 0
        assert "SASL" in listing.stderr
        return
    assert listing.returncode == 0, listing.stderr
    assert 'topic "secret" with 1 partitions' in listing.stdout


def kcat_librdkafka() -> tuple[int, ...]:
    if shutil.which("kcat") is None and not os.environ.get("KAFKA_TRIAL_REQUIRE_KCAT"):
        pytest.skip("needs kcat (set KAFKA_TRIAL_REQUIRE_KCAT to fail instead)")
    words = subprocess.run(["kcat", "-V"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"librdkafka (\d+)\.(\d+)\.(\d+)", words)
    assert match, words
    return tuple(int(part) for part in match.groups())


def test_a_caller_without_credentials_is_refused(cluster: Cluster):
    stranger = ClusterAddress(cluster.address.bootstrap)

    with pytest.raises(KafkaException):
        AdminClient(stranger.librdkafka() | {"log_level": 0}).list_topics(timeout=4)


def test_a_user_may_do_nothing_until_an_acl_says_so(cluster: Cluster):
    name = "alice"
    alice = cluster.create_user(name, "correct-horse") if cluster.spec.security == "sasl_ssl" else cluster.address_for(name)
    refused = []
    producer = Producer(alice.librdkafka() | {"log_level": 0, "message.timeout.ms": 5000})
    producer.produce("secret", b"no", on_delivery=lambda error, _: refused.append(error))
    producer.flush(20)
    assert refused[0] is not None
    assert "uthoriz" in refused[0].str()

    rule = AclBinding(
        ResourceType.TOPIC,
        "secret",
        ResourcePatternType.LITERAL,
        f"User:{name}",
        "*",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    admin = AdminClient(cluster.address.librdkafka())
    for answer in admin.create_acls([rule]).values():
        answer.result()

    # The controller has the rule; the broker that leads reads it from the metadata log a moment later.
    wait_until(lambda: send(alice, "secret", ["now"]), lambda sent: sent == ["now"], what="let in", timeout=30)


def test_a_user_without_a_password_is_refused_instead_of_given_the_administrators(cluster: Cluster):
    if cluster.spec.security == "tls":
        assert cluster.address_for("bob").password is None
        return
    with pytest.raises(UsageError, match=r"user 'bob' needs a password here: call create_user\('bob', password\) first"):
        cluster.address_for("bob")


def test_no_secret_is_in_a_command_line_a_log_or_a_printed_address(cluster: Cluster):
    password = cluster.address.password or "BEGIN PRIVATE KEY"
    arguments = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]

    assert not any(password in line for line in arguments)
    assert not any(password in cluster.log(node) for node in cluster.nodes)
    assert password not in repr(cluster.address)
    assert password not in (cluster.folder / "state.json").read_text()


def test_what_holds_a_secret_is_readable_by_its_owner_alone(cluster: Cluster):
    files = [Path(file) for file in cluster.facts()["client_properties"].values()] + list(
        (cluster.folder / "client").iterdir()
    )

    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert stat.S_IMODE(cluster.folder.stat().st_mode) == 0o700


def test_what_is_reached_from_outside_the_pods_listens_on_loopback_only(cluster: Cluster):
    ours = [int(address.split(":")[1]) for address in cluster.address.bootstrap.split(",")]
    ours += [int(address.split(":")[1]) for address in cluster.direct_address.bootstrap.split(",")]
    ours += [int(where.split(":")[1]) for where in (*cluster.facts()["jmx"].values(), *cluster.facts()["toxiproxy"])]
    pages = [*cluster.facts()["agent"].values(), *cluster.facts()["jolokia"].values()]
    ours += [int(page.split(":")[2].split("/")[0]) for page in pages]
    listening = {c.laddr.port: c.laddr.ip for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN}

    assert {listening[port].removeprefix("::ffff:") for port in ours} == {"127.0.0.1"}


# Inside a pod every address is the pod's own; what leaves it is the test above.
@pytest.mark.parametrize("cluster", [mode for mode in MODES if mode.values[0][0] == "processes"], indirect=True)
def test_no_process_listens_elsewhere_but_for_the_jdks_own_local_connector(cluster: Cluster):
    """Every socket, not those we know of: on 2026-11-16 a JVM had one on all addresses that no port list would show."""
    known = {port for node in cluster.nodes for port in chosen_ports(cluster, node)}
    elsewhere: dict[int, list[int]] = {}
    for process in marked_processes(cluster.folder.name):
        sockets = [c.laddr for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        assert sockets, "the test would see nothing even if something listened"
        assert process.net_connections("udp") == [], "somebody tells the network of himself"
        elsewhere[process.pid] = [a.port for a in sockets if not a.ip.removeprefix("::ffff:").startswith("127.")]
        if elsewhere[process.pid]:
            assert "-Dcom.sun.management.jmxremote.local.only=true" in process.cmdline()

    assert all(len(ports) <= 1 for ports in elsewhere.values())
    assert not known & {port for ports in elsewhere.values() for port in ports}


def chosen_ports(cluster: Cluster, node: int) -> list[int]:
    """Every port the cluster chose for a node."""
    return list(dataclasses.astuple(cluster.ports_of(node)))
