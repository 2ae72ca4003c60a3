"""Lag monitors as daemons beside a real cluster, in a hurry: what they say over HTTP, and what Kafka says of the same."""

import json
import signal
import ssl
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from compose.cluster import Cluster
from kernel.cluster import ClusterAddress
from kernel.errors import CollectionFailed, NotReady
from kernel.waiting import wait_until
from lag_monitor.offsets_topic.keys import CommitKey, decode_key
from lag_monitor.offsets_topic.reading import Malformed
from lag_monitor.offsets_topic.values import decode_value
from lag_monitor.sources.apart import AdminApart
from tests.cluster.daemons import TRIAL, Daemon, free_port
from tests.cluster.lag_situations import Member

QUICK = {
    "replica.lag.time.max.ms": "2000",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "5",
}
CLUSTER = "trial"
OFFSETS = "__consumer_offsets"
AS_LONG = 60  # seconds until a state must have come
ABSENT = "ABSENT"  # in no answer, though it was in one before


def watching(address: ClusterAddress, *, head: str = "", cluster: str = "", tail: str = "", judge: str = "quiet = 6") -> str:
    """A monitor's file, impatient: what goes wrong is to be seen soon."""
    return (
        f"interval = 1\nsave_every = 2\n{head}\n"
        f"[judge]\nslow = 3\ntransaction = 5\n{judge}\n"
        f'[[clusters]]\nname = "{CLUSTER}"\ntopics_every = 2\ngroups_every = 2\ntimeout = 3\n'
        f'kafka.bootstrap = "{address.bootstrap}"\n{cluster}\n{tail}\n'
    )


@dataclass
class LagMonitor(Daemon):
    file: Path
    context: ssl.SSLContext | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
        """NotReady while nobody answers."""
        asked = Request(self.address + path, method=method, headers={**self.headers, **headers})
        try:
            with urlopen(asked, timeout=30, context=self.context) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            return refused.code, refused.read().decode()
        except (URLError, OSError) as trouble:
            raise NotReady(f"{self.address} does not answer: {trouble}.") from None

    def told(self, path: str) -> Any:
        code, text = self.ask(path)
        assert code == 200, (code, text)
        return json.loads(text)

    def burrow(self, path: str = "") -> Any:
        return self.told(f"/v3/kafka/{CLUSTER}{path}")

    def windows(self, group: str, topic: str, partition: int = 0) -> list[int]:
        """Offsets that Burrow would have of a group, oldest first; none if it does not know the group."""
        code, text = self.ask(f"/v3/kafka/{CLUSTER}/consumer/{group}")
        partitions = json.loads(text)["topics"].get(topic, []) if code == 200 else []
        return [one["offset"] for one in partitions[partition]["offsets"] if one] if partition < len(partitions) else []

    def about(self) -> Any:
        return self.told(f"/api/clusters/{CLUSTER}")

    def groups(self) -> dict[str, Any]:
        found = self.told(f"/api/clusters/{CLUSTER}/groups?limit=1000")["groups"]
        return {one["group"]: one for one in found}

    def group(self, name: str) -> Any:
        return self.told(f"/api/clusters/{CLUSTER}/groups/{name}")

    def statuses(self) -> dict[str, str]:
        return {name: one["status"] for name, one in self.groups().items()}

    def wait(self, group: str, *statuses: str, timeout: float = AS_LONG) -> Any:
        """Until it is so with the group; all that is told of it."""
        wait_until(
            lambda: self.groups().get(group, {"status": ABSENT}),
            lambda told: told["status"] in statuses,
            what=f"{group} {' or '.join(statuses)}",
            timeout=timeout,
            hint=self.last_words,
        )
        return self.group(group)

    def wait_for(self, what: str, good: Callable[[dict[str, str]], bool], timeout: float = AS_LONG) -> dict[str, str]:
        return wait_until(self.statuses, good, what=what, timeout=timeout, hint=self.last_words)

    def wait_looks(self, count: int) -> None:
        """Until it has looked so many times more."""
        before = self.figure("kafka_lag_looks_total")
        self.wait_figure("kafka_lag_looks_total", lambda now: now >= before + count)

    def figure(self, name: str, **labels: str) -> float:
        """Of one series, NotReady while there is none."""
        wanted = {"cluster": CLUSTER, **labels}
        found = [value for these, value in self.series(name).items() if wanted.items() <= dict(these).items()]
        if len(found) != 1:
            raise NotReady(f"{name} with {wanted} is there {len(found)} times.")
        return found[0]

    def wait_figure(self, name: str, good: Callable[[float], bool], timeout: float = AS_LONG, **labels: str) -> float:
        return wait_until(
            lambda: self.figure(name, **labels), good, what=f"{name} {labels}", timeout=timeout, hint=self.last_words
        )

    def log(self) -> str:
        return self.said.read_text()

    def last_words(self) -> str:
        return self.log()[-2000:]

    def reloads(self) -> None:
        self.process.send_signal(signal.SIGHUP)


@contextmanager
def lag_monitor(
    config: str,
    folder: Path,
    *,
    ready: bool = True,
    context: ssl.SSLContext | None = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[LagMonitor]:
    """Ended by kill -9, unless it was asked to end before: its state stays in `state` for the next."""
    port = free_port()
    file, said = folder / f"lag-{port}.toml", folder / f"lag-{port}.log"
    file.write_text(f'listen = "127.0.0.1:{port}"\nstate_folder = "state"\n{config}')
    with said.open("wb") as log:
        process = subprocess.Popen([TRIAL, "lag-monitor", "--config", str(file)], stdout=log, stderr=log)
    address = f"{'https' if context else 'http'}://127.0.0.1:{port}"
    running = LagMonitor(process, address, said, file, context, headers or {})
    try:
        page = f"/-/{'ready' if ready else 'healthy'}"
        wait_until(
            lambda: running.ask(page)[0], lambda seen: seen == 200, what=page, timeout=AS_LONG, hint=running.last_words
        )
        yield running
    finally:
        process.kill()
        process.wait()


# ---- who looks all the while -----------------------------------------------------------------------------------------


@dataclass
class Witness:
    """Every status that was ever told of a group, while it looked."""

    statuses: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    looks: int = 0

    def of(self, *groups: str) -> set[str]:
        return set().union(*(self.statuses[group] for group in groups))

    def why(self) -> dict[tuple[str, str], str]:
        return {key: why for key, why in self.reasons.items() if key[1] not in ("OK", "UNKNOWN")}


@contextmanager
def witness(monitor: LagMonitor) -> Iterator[Witness]:
    seen, ended = Witness(), threading.Event()

    def look() -> None:
        try:
            told = monitor.groups()
        except NotReady:
            return
        for name in seen.statuses.keys() - told.keys():
            seen.statuses[name].add(ABSENT)
        for name, one in told.items():
            seen.statuses[name].add(one["status"])
            seen.reasons[name, one["status"]] = one["reason"]
        seen.looks += 1

    def run() -> None:
        while not ended.wait(0.1):
            look()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join(40)
        look()


# ---- what Kafka says -------------------------------------------------------------------------------------------------


class Truth:
    def __init__(self, cluster: Cluster) -> None:
        self.address, self._direct = cluster.address, cluster.direct_address

    @property
    def admin(self) -> AdminClient:
        """A new one each time: librdkafka goes on asking a coordinator that is none any more."""
        return AdminClient(self._direct.librdkafka() | {"log_level": 0})

    def topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=20).topics)

    def groups(self) -> set[str]:
        admin = self.admin
        return {one.group_id for one in admin.list_consumer_groups(request_timeout=20).result().valid}

    def end(self, topic: str, partition: int = 0) -> int:
        return self._offset(topic, partition, OffsetSpec.latest())

    def start(self, topic: str, partition: int = 0) -> int:
        return self._offset(topic, partition, OffsetSpec.earliest())

    def _offset(self, topic: str, partition: int, spec: OffsetSpec) -> int:
        admin, where = self.admin, TopicPartition(topic, partition)
        return int(admin.list_offsets({where: spec}, request_timeout=20)[where].result().offset)

    def committed(self, group: str, topic: str, partition: int = 0) -> int | None:
        """In a process of its own, as the monitor asks: if the coordinator dies under the call, librdkafka may end ours."""
        admin = AdminApart(self._direct, {}, 20)
        try:
            told = admin.commits([group])
        except CollectionFailed as trouble:  # it moves, or has just begun
            raise NotReady(f"{group} cannot be asked: {trouble.message}") from None
        finally:
            admin.close()
        if group not in told:
            raise NotReady(f"{group} cannot be asked.")
        return told[group].get((topic, partition))

    def coordinator(self, group: str) -> int:
        return wait_until(lambda: self._coordinator(group), lambda _: True, what=f"{group}'s coordinator", timeout=AS_LONG)

    def _coordinator(self, group: str) -> int:
        admin = self.admin
        (told,) = admin.describe_consumer_groups([group], request_timeout=20).values()
        try:
            return int(told.result().coordinator.id)
        except KafkaException as trouble:  # it moves
            raise NotReady(f"{group} cannot be described: {trouble.args[0].str()}.") from None

    def delete_group(self, group: str) -> None:
        admin = self.admin
        for asked in admin.delete_consumer_groups([group], request_timeout=20).values():
            asked.result()

    def delete_records(self, topic: str, before: int) -> None:
        admin = self.admin
        for asked in admin.delete_records([TopicPartition(topic, 0, before)], request_timeout=20).values():
            asked.result()

    def every_commit(self, group: str) -> list[int]:
        """Offsets of all commits of a group, as they stand in the topic of commits."""
        config = {"group.id": "reads-commits", "enable.partition.eof": True, "enable.auto.commit": False, "log_level": 0}
        consumer = Consumer(self.address.librdkafka() | config)
        count = len(self.admin.list_topics(OFFSETS, timeout=20).topics[OFFSETS].partitions)
        consumer.assign([TopicPartition(OFFSETS, number, 0) for number in range(count)])
        found: list[int] = []
        ended: set[int] = set()
        try:
            while len(ended) < count:
                for message in consumer.consume(10_000, 0.5):
                    if message.error():
                        ended.add(message.partition())
                    elif (key := _commit_key(message.key())) and key.group == group and message.value() is not None:
                        found.append(decode_value(message.value()).offset)
        finally:
            consumer.close()
        return found


def _commit_key(data: bytes) -> CommitKey | None:
    try:
        key = decode_key(data)
    except Malformed:
        return None
    return key if isinstance(key, CommitKey) else None


# ---- who writes, reads and commits -----------------------------------------------------------------------------------


def fill(address: ClusterAddress, topic: str, count: int, *, over: float = 0.0) -> float:
    """So many records, with times of their own: evenly over the last so many seconds. Returns when the first was."""
    producer = Producer(address.librdkafka() | {"acks": "all", "log_level": 0, "linger.ms": 20})
    first = time.time() - over
    for number in range(count):
        producer.produce(topic, b"record", partition=0, timestamp=int((first + number * over / count) * 1000))
    assert producer.flush(30) == 0
    return first


def commit(address: ClusterAddress, group: str, topic: str, *offsets: int) -> None:
    """One after the other, by somebody who is not in the group."""
    consumer = Consumer(address.librdkafka() | {"group.id": group, "log_level": 0, "enable.auto.commit": False})
    try:
        for offset in offsets:
            consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    finally:
        consumer.close()


class NewMember(Member):
    """Of a group as KIP-848 has it: brokers decide, and no session is a member's own choice."""

    def __init__(self, address: ClusterAddress, group: str, topic: str) -> None:
        self.group, self.topic = group, topic
        self.pause = 0.0
        self.stuck = threading.Event()
        self._stop, self._dead = threading.Event(), threading.Event()
        ours = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0}
        self._consumer = Consumer(address.librdkafka() | ours | {"group.protocol": "consumer"})
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()


def moment(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp()
