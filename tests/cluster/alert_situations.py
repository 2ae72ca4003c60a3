"""What is broken, and how it is healed, so that each alert can be seen to fire and to clear."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from compose.cluster import Cluster
from compose.jars import kafka_jars
from compose.leader_moves import LeaderMoves
from compose.links import Link
from compose.toolchain import find_java
from compose.toxics import Cut, Latency
from interceptors import Consumer as AuditedConsumer
from interceptors import Producer as AuditedProducer
from kafka_trial.daemon import handout
from kernel.waiting import wait_until
from tests.cluster.alert_watch import Watch, exporter_file, lag_file, probe_file
from tests.cluster.daemons import daemon
from tests.cluster.lag_situations import Member, Traffic
from tests.cluster.watched_app import GROUP

PROBE = "kafka-trial-probe"  # its group, and its topic
CARELESS = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}


def restart_all(watch: Watch) -> float:
    """One broker after the other, in order; the longest time that one was away."""
    longest = 0.0
    for broker in watch.cluster.brokers:
        gone = time.monotonic()
        watch.cluster.restart(broker)
        longest = max(longest, time.monotonic() - gone)
        watch.cluster.wait_replicated("orders", partitions=3)
    return longest


@contextmanager
def broker_killed(watch: Watch) -> Iterator[None]:
    """Broker 3, which alone had a partition."""
    watch.cluster.create_topic("lonely", assignment=[[3]])
    watch.cluster.kill(3)
    try:
        yield
    finally:
        watch.cluster.start(3)
        watch.cluster.delete_topics("lonely")


def coordinator(watch: Watch, group: str) -> int:
    admin = AdminClient(watch.cluster.direct_address.librdkafka() | {"log_level": 0})
    return int(admin.describe_consumer_groups([group])[group].result(30).coordinator.id)


def brokers_apart(watch: Watch) -> list[int]:
    """Those that do not coordinate the application's group: where followers are slow, its commits are, and it is late."""
    return sorted({*watch.cluster.brokers} - {coordinator(watch, GROUP)})


@contextmanager
def clients_cut_off(watch: Watch, broker: int) -> Iterator[None]:
    """From the one to which the probe commits, until that has failed, too."""
    with watch.cluster.broken(Cut(), Link("client", broker)):
        failed = f'sum(kafka_probe_commit_errors_total{{instance="127.0.0.1:{watch.targets["probe"]}"}}) > 0'
        wait_until(lambda: watch.prometheus.query(failed), bool, what="a commit that fails", timeout=60)
        yield


@contextmanager
def follower_cut_off(watch: Watch) -> Iterator[None]:
    """A partition that needs both of its replicas for acks=all; whichever leads, the other cannot follow.

    It takes a record: a follower that has everything there is stays in the ISR, however long nobody heard of it.
    """
    watch.cluster.create_topic("strict", assignment=[[1, 2]], config={"min.insync.replicas": "2"})
    producer = Producer(watch.cluster.direct_address.librdkafka() | {"acks": 1, "log_level": 0})
    try:
        with watch.cluster.broken(Cut(), Link(2, 1, "replication"), Link(1, 2, "replication")):
            producer.produce("strict", b"record", partition=0)
            producer.flush(30)
            yield
    finally:
        watch.cluster.delete_topics("strict")


@contextmanager
def follower_flapping(watch: Watch) -> Iterator[None]:
    """Out of the ISR and back, again and again, until it is over."""
    watch.cluster.create_topic("flapping", assignment=[[1, 2]])
    over = threading.Event()

    def flap() -> None:
        while not over.is_set():
            with watch.cluster.broken(Cut(), Link(2, 1, "replication"), Link(1, 2, "replication")):
                over.wait(7)
            over.wait(2)

    thread = threading.Thread(target=flap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(30)
        watch.cluster.delete_topics("flapping")


@contextmanager
def quorum_lost(watch: Watch) -> Iterator[None]:
    active = watch.cluster.controller()
    others = [node for node in watch.cluster.nodes if node > 100 and node != active]
    gone = [active, others[0]]
    for node in gone:
        watch.cluster.kill(node)
    try:
        yield
    finally:
        for node in gone:
            watch.cluster.start(node, wait=False)


@contextmanager
def another_cluster_under_the_same_name(watch: Watch, other: Cluster) -> Iterator[None]:
    with daemon("exporter", exporter_file(other), watch.folder, port=watch.targets["second exporter"]):
        yield


@contextmanager
def unclean_election(watch: Watch) -> Iterator[None]:
    """Only broker 1 has the newest of the probe's records in partition 0; then it goes, and broker 2 leads without them."""
    cluster = watch.cluster
    cluster.create_topic("lossy", assignment=[[1, 2], [2, 3], [3, 1]], config=CARELESS)
    config = probe_file(cluster.address, 'topic = "lossy"\nreplication = 2')
    with daemon("probe", config, watch.folder, port=watch.targets["second probe"]) as probe:
        acknowledged = lambda: probe.series("kafka_probe_acknowledged_total").get((("broker", "1"), ("partition", "0")), 0)  # noqa: E731
        wait_until(acknowledged, lambda many: many > 5, what="records of the second probe", timeout=60)
        cluster.kill(2)
        wait_until(lambda: cluster.isr_of("lossy"), lambda isr: isr == {1}, what="broker 1 alone", timeout=60)
        had = acknowledged()
        wait_until(acknowledged, lambda many: many > had + 5, what="records that broker 1 alone has", timeout=60)
        cluster.kill(1)
        cluster.start(2)
        wait_until(lambda: cluster.leader_of("lossy"), lambda leader: leader == 2, what="an unclean leader", timeout=60)
        cluster.start(1)
        yield
    cluster.delete_topics("lossy")


@contextmanager
def handlers_busy(watch: Watch, broker: int) -> Iterator[None]:
    """A topic that is flushed with every record, and many who write to it: the broker's two handlers do nothing else."""
    watch.cluster.create_topic(
        "flushed", assignment=[[broker]] * 8, config={"flush.messages": "1", "compression.type": "gzip"}
    )
    over = threading.Event()

    def flood() -> None:
        settings = {"linger.ms": 0, "batch.num.messages": 1, "acks": 1, "log_level": 0, "queue.buffering.max.messages": 2000}
        producer = Producer(watch.cluster.direct_address.librdkafka() | settings)
        record = os.urandom(2048).hex().encode()
        while not over.is_set():
            try:
                producer.produce("flushed", record)
            except BufferError:
                producer.poll(0.05)
            producer.poll(0)
        producer.purge()

    threads = [threading.Thread(target=flood) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(30)
        watch.cluster.delete_topics("flushed")


@contextmanager
def followers_far_away(watch: Watch, leader: int) -> Iterator[None]:
    """What a leader's followers fetch comes late, and so does every acknowledgement of all replicas."""
    followers = [broker for broker in watch.cluster.brokers if broker != leader]
    if watch.cluster.leader_of("orders") != leader:
        with LeaderMoves(watch.cluster.direct_address) as mover:
            mover.to("orders", 0, [leader, *followers])
    with watch.cluster.broken(Latency(ms=800), *(Link(follower, leader, "replication") for follower in followers)):
        yield


@contextmanager
def small_disk(watch: Watch, node: int) -> Iterator[Path]:
    """The second log directory of a broker on a disk of its own, of 200 MB."""
    cluster = watch.cluster
    [directory] = cluster.folder.rglob(f"node-{node}/data-2")
    kept = directory.with_name("kept")
    cluster.stop(node)
    shutil.copytree(directory, kept)
    mount = ["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(directory)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode and not os.environ.get("KAFKA_TRIAL_REQUIRE_MOUNT"):
        cluster.start(node)
        pytest.skip("needs root, to mount a small file system (set KAFKA_TRIAL_REQUIRE_MOUNT to fail instead)")
    assert mounted.returncode == 0, mounted.stderr
    shutil.copytree(kept, directory, dirs_exist_ok=True)
    cluster.start(node)
    cluster.wait_replicated("orders", partitions=3)
    try:
        yield directory
    finally:
        cluster.stop(node)
        shutil.rmtree(kept)
        shutil.copytree(directory, kept)
        subprocess.run(["umount", str(directory)], check=True)
        shutil.rmtree(directory)
        kept.rename(directory)
        cluster.start(node)


@contextmanager
def disk_filled(disk: Path, share: float) -> Iterator[None]:
    room = shutil.disk_usage(disk)
    ballast = disk / ".ballast"
    with ballast.open("wb") as file:
        left = int(room.free - room.total * (1 - share))
        while left > 0:
            try:
                left -= file.write(b"\\0" * min(left, 1 << 20))
            except OSError:  # full, as it was to be
                break
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def few_file_descriptors(watch: Watch, node: int) -> Iterator[None]:
    """The limit of a running broker is lowered to just above what it uses."""
    process = _process(watch.cluster, node)
    before = process.rlimit(psutil.RLIMIT_NOFILE)
    process.rlimit(psutil.RLIMIT_NOFILE, (int(process.num_fds() / 0.9), before[1]))
    try:
        yield
    finally:
        process.rlimit(psutil.RLIMIT_NOFILE, before)


@contextmanager
def groups(watch: Watch, *names: str) -> Iterator[dict[str, Member]]:
    """Consumers of busy topics, each in a group of its own and up to date, also when they leave."""
    for name in names:
        watch.cluster.create_topic(name, partitions=1, replication=3)
    members = {name: Member(watch.cluster.direct_address, name, name) for name in names}
    with Traffic(watch.cluster.direct_address, set(names)):
        wait_until(lambda: [watch.cluster.committed(name) for name in names], all, what="commits", timeout=60)
        yield members
    for name, member in members.items():
        behind = f'kafka_lag_group_records{{group="{name}"}} > 0'
        wait_until(lambda asked=behind: watch.prometheus.query(asked), lambda found: not found, what="no lag", timeout=60)
        member.leave()


@contextmanager
def stuck_and_slow(members: Mapping[str, Member]) -> Iterator[None]:
    """Members that poll and handle nothing, of which one was promised not to be late; and one that is too slow."""
    time.sleep(3)  # so that they are known as groups that got on
    for name in ("stuck", "late"):
        members[name].stuck.set()
    members["slow"].pause = 0.2
    try:
        yield
    finally:
        for member in members.values():
            member.unstick()


@contextmanager
def node_hidden(watch: Watch) -> Iterator[None]:
    """The exporter's way to node 2 is cut; the node itself is well."""
    watch.door.shut()
    try:
        yield
    finally:
        watch.door.open()


@contextmanager
def records_skipped(watch: Watch) -> Iterator[None]:
    """Eight records that a group was never given; they come to it when all is healed."""
    audited = {
        "bootstrap.servers": watch.cluster.direct_address.bootstrap,
        "interceptor.classes": "interceptors.audit.Audit",
        "interceptor.audit.every.ms": "500",
        "log_level": 0,
    }
    watch.cluster.create_topic("audited", partitions=1, replication=3)
    producer = AuditedProducer(audited)
    for number in range(20):
        producer.produce("audited", f"record {number}", partition=0)
    producer.flush(30)
    producer.close()
    reads = {"group.id": "skipper", "interceptor.audit.count": "read", "enable.auto.commit": False}
    consumer = AuditedConsumer({**audited, **reads})
    consumer.assign([TopicPartition("audited", 0, 0)])
    _read(consumer, 1)
    consumer.seek(TopicPartition("audited", 0, 9))
    _read(consumer, 11)
    try:
        yield
    finally:
        consumer.seek(TopicPartition("audited", 0, 1))
        _read(consumer, 8)
        consumer.close()


def _read(consumer: AuditedConsumer, many: int) -> None:
    for _ in range(many):
        message = consumer.poll(10)
        assert message is not None and message.error() is None, message


@contextmanager
def tiny_cluster_unseen(watch: Watch, tiny: Cluster) -> Iterator[None]:
    """Its exporter is ended, and its only node hangs, so that its lag monitor sees nothing either."""
    exporter = exporter_file(tiny, "tiny")
    monitor = lag_file(tiny.direct_address, "tiny")
    with ExitStack() as watching:
        watching.enter_context(daemon("lag-monitor", monitor, watch.folder, port=watch.targets["second lag-monitor"]))
        with daemon("exporter", exporter, watch.folder, port=watch.targets["second exporter"]):
            seen = 'kafka_jmx_up{cluster="tiny"} == 1 and on () kafka_lag_up{cluster="tiny"} == 1'
            wait_until(lambda: watch.prometheus.query(seen), bool, what="the tiny cluster on Prometheus", timeout=60)
        tiny.pause(1)
        try:
            yield
        finally:
            tiny.resume(1)
            watching.enter_context(daemon("exporter", exporter, watch.folder, port=watch.targets["second exporter"]))
            watch.stays.push(watching.pop_all())  # both go on, as they would


@contextmanager
def certificate_about_to_expire(watch: Watch) -> Iterator[None]:
    """Good for a day. Healed as it is in life: with a new one, and a restart."""
    cluster = watch.stays.enter_context(Cluster(brokers=1, security="tls", certificate_days=1, provider="processes"))
    config = "interval = 0.5\ncertificates_every = 1\nreplication = 1\n" + handout.probe_file(
        cluster.address, cluster.folder / "client"
    )
    watch.stays.enter_context(daemon("probe", config, watch.folder, port=watch.targets["tls probe"]))
    try:
        yield
    finally:
        cluster._plan.credentials.certificate_days = None
        cluster.restart(1)


def refused(watch: Watch) -> None:
    """A batch that is too large, and a record without a key for a topic that keeps one of each."""
    cluster = watch.cluster
    cluster.create_topic("narrow", partitions=1, replication=1, config={"max.message.bytes": "1000"})
    cluster.create_topic("compacted", partitions=1, replication=1, config={"cleanup.policy": "compact"})
    producer = Producer(cluster.direct_address.librdkafka() | {"log_level": 0})
    for _ in range(30):
        producer.produce("narrow", b"x" * 5000)
        producer.produce("compacted", b"no key")
        producer.flush(10)
        time.sleep(0.1)


def held_back(watch: Watch) -> None:
    """Two clients with quotas, set by Kafka's own tool (no Python client can), that send and read far more."""
    watch.cluster.create_topic("limited", partitions=1, replication=1)
    jars = ":".join(map(str, kafka_jars(watch.cluster.spec.kafka)))
    tool = [find_java().path, "-cp", jars, "kafka.admin.ConfigCommand", "--alter", "--entity-type", "clients"]
    tool += ["--bootstrap-server", watch.cluster.direct_address.bootstrap]
    quotas = {"greedy": "producer_byte_rate=2000,consumer_byte_rate=2000", "eager": "request_percentage=0.01"}
    for client, limits in quotas.items():
        words = ["--entity-name", client, "--add-config", limits]
        subprocess.run([*tool, *words], check=True, capture_output=True, timeout=60)
        _send_and_read(watch, client)


def _send_and_read(watch: Watch, client: str) -> None:
    settings = watch.cluster.direct_address.librdkafka() | {"client.id": client, "log_level": 0}
    producer, consumer = Producer(settings), Consumer(settings | {"group.id": client, "enable.auto.commit": False})
    consumer.assign([TopicPartition("limited", 0, 0)])
    for _ in range(30):
        producer.produce("limited", b"x" * 1000)
        producer.poll(0.1)
        consumer.poll(0.1)
    producer.purge()
    consumer.close()


def _process(cluster: Cluster, node: int) -> psutil.Process:
    home = f"{cluster.folder}/node-{node}/"
    for process in psutil.process_iter(["cmdline"]):
        if any(home in word for word in process.info["cmdline"] or ()) and "kafka.Kafka" in (process.info["cmdline"] or ()):
            return process
    raise AssertionError(f"node {node} does not run")
