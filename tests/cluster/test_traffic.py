"""Real clients on real brokers: every record is accounted for, whoever is killed, and nobody is left behind."""

import json
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from chaos.evidence.folder import RunFolder
from chaos.evidence.seal import seal
from chaos.judge import judge
from chaos.traffic.client import Client
from chaos.traffic.plans import ConsumerPlan, DrainPlan, ProducerPlan
from chaos.traffic.traffic import VALUES_EACH, Traffic
from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Blackhole, Cut
from kernel.errors import SuiteError
from kernel.verdict import ANOMALIES
from kernel.waiting import wait_until

TOP = Path(__file__).parent.parent.parent
Row = dict[str, Any]


class Stage:
    """Traffic of a run without a trial around it: topics of its own, and the way to a verdict."""

    def __init__(self, cluster: Cluster, runs: Path, name: str) -> None:
        self.cluster, self.name = cluster, name
        self.folder = RunFolder.create(runs, day="day", scenario="traffic", run_id=name)
        self.folder.events_file.touch()
        self.topics: dict[str, int] = {}
        self.traffic = Traffic(self.folder, name, cluster.address.librdkafka())

    def topic(self, part: str = "orders", partitions: int = 2) -> dict[str, int]:
        topic = f"{part}-{self.name}"
        self.cluster.create_topic(topic, partitions=partitions, config={"min.insync.replicas": "2"})
        self.topics[topic] = partitions
        return {topic: partitions}

    def start(self, name: str, plan: ProducerPlan | ConsumerPlan) -> Client:
        return self.traffic.start(name, plan, wait=False)

    def acknowledged(self, count: int) -> None:
        """Wait for so many acknowledgements in all."""
        wait_until(lambda: self.traffic.count("ok"), lambda ok: ok >= count, what=f"{count} acknowledged", timeout=60)

    def drain(self, *, timeout: float = 60) -> dict[str, Any]:
        return self.traffic.drain(DrainPlan(topics=self.topics, timeout=timeout), self.cluster.direct_address.librdkafka())

    def finish(self) -> list[Row]:
        """To the end of a run as a trial does it; returns the rows."""
        self.traffic.stop_producers()
        if any(isinstance(client.plan, ConsumerPlan) for client in self.traffic.clients):
            self.traffic.wait_read_out(quiet_s=1.5)
        self.traffic.stop_consumers()
        self.drain()
        self.traffic.seal()
        return rows(self.folder.path)

    def judged(self) -> dict[str, Any]:
        self.write_manifest()
        return judge(self.folder)

    def write_manifest(self) -> None:
        known = {"run_id": self.name, "scenario": "traffic", "permitted": [], "clients": self.traffic.facts()}
        self.folder.write_manifest(known)


def rows(run: Path, **where: Any) -> list[Row]:
    files = sorted((run / "ledger").glob("[!.]*.parquet"))
    return only([row for file in files for row in pq.read_table(file).to_pylist()], **where)


def only(found: list[Row], **where: Any) -> list[Row]:
    return [row for row in found if all(row[name] == value for name, value in where.items())]


def values(found: list[Row], **where: Any) -> list[int]:
    return [row["value"] for row in only(found, **where) if row["value"] is not None]


NO_ANOMALY = dict.fromkeys(ANOMALIES, 0)


@pytest.fixture
def stage(kafka_cluster: Cluster, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    name = request.node.name.removeprefix("test_").translate(str.maketrans("[]_", "---"))[:40].strip("-")
    stage = Stage(kafka_cluster, tmp_path, name)
    with stage.traffic:
        yield stage
    kafka_cluster.delete_topics(*stage.topics)


# ---- sending ------------------------------------------------------------------------------------------------------


def test_round_robin_reaches_every_partition_of_every_topic_and_each_reader_of_its_own_reads_it_all(stage: Stage):
    topics = stage.topic("orders", 2) | stage.topic("books", 1)
    for name in ("a", "b"):
        stage.start(name, ConsumerPlan(topics=topics, mode="assign"))
    stage.start("p", ProducerPlan(topics=topics, records=90, size=64))
    stage.acknowledged(90)

    found = stage.finish()

    sent = Counter((row["topic"], row["partition"]) for row in only(found, kind="send", outcome="ok"))
    assert sent == {(topic, partition): 30 for topic, count in topics.items() for partition in range(count)}
    assert sorted(values(found, client="a")) == sorted(values(found, client="b")) == sorted(values(found, kind="send"))
    assert set(sizes(stage)) == {64}
    assert stage.judged()["verdict"] == "PASS"


def test_a_key_stays_on_its_partition_and_sizes_are_drawn_from_their_range(stage: Stage):
    stage.start("p", ProducerPlan(topics=stage.topic(partitions=3), records=120, keys=12, size=20, size_max=60))
    stage.acknowledged(120)

    found = stage.finish()

    places = defaultdict(set)
    for row in only(found, kind="send", outcome="ok"):
        places[row["value"] % 12].add(row["partition"])
    assert len(places) == 12
    assert all(len(partitions) == 1 for partitions in places.values())
    assert len(set.union(*places.values())) > 1
    assert min(sizes(stage)) >= 20
    assert max(sizes(stage)) <= 60
    assert len(set(sizes(stage))) > 5
    assert stage.judged()["verdict"] == "PASS"


def sizes(stage: Stage) -> list[int]:
    """As they lie in the log, read by somebody else."""
    from confluent_kafka import Consumer, TopicPartition

    reader = Consumer(stage.cluster.direct_address.librdkafka() | {"group.id": "sizes", "enable.partition.eof": True})
    reader.assign([TopicPartition(topic, p, 0) for topic, count in stage.topics.items() for p in range(count)])
    found, ends = [], 0
    while ends < sum(stage.topics.values()):
        message = reader.poll(30)
        assert message is not None
        ends += message.error() is not None
        found += [len(message.value())] if message.error() is None else []
    reader.close()
    return found


def test_what_is_acknowledged_by_fewer_is_written_down_all_the_same(stage: Stage):
    topics = stage.topic()
    for name, acks in (("nobody", "0"), ("leader", "1")):
        stage.start(name, ProducerPlan(topics=topics, records=60, acks=acks, idempotence=False))
    stage.acknowledged(120)

    found = stage.finish()

    offsets = {name: [row["offset"] for row in only(found, client=name, outcome="ok")] for name in ("nobody", "leader")}
    assert offsets["nobody"] == [None] * 60  # nobody answered, so nobody named an offset
    assert len(offsets["leader"]) == 60
    assert None not in offsets["leader"]
    assert stage.judged()["verdict"] == "PASS"


def test_at_full_speed_two_producers_write_down_every_value_once_and_share_none(stage: Stage):
    plan = ProducerPlan(topics=stage.topic(partitions=3), rate=None, config={"queue.buffering.max.messages": 2000})
    producers = [stage.start(name, plan) for name in ("p", "q")]
    wait_until(lambda: [p.status.get("ok", 0) for p in producers], lambda ok: min(ok) > 1000, what="1000 each", timeout=60)
    for producer in producers:
        producer.order("pause")

    found = stage.finish()

    for number, producer in enumerate(producers, 1):
        mine = sorted(values(found, client=producer.name, kind="send"))
        assert mine == list(range(number * VALUES_EACH, number * VALUES_EACH + producer.status["sent"]))
    acked, drained = set(values(found, kind="send", outcome="ok")), set(values(found, client="drain"))
    assert len(acked) > 2000
    assert acked <= drained <= set(values(found, kind="send"))
    assert stage.judged()["verdict"] == "PASS"


def test_a_burst_names_its_values_and_a_rest_leaves_nothing_open(stage: Stage):
    producer = stage.start("p", ProducerPlan(topics=stage.topic(), rate=50))
    stage.acknowledged(5)
    producer.rest()
    before = producer.status["sent"]

    burst = producer.burst(40)
    producer.rest()

    assert producer.status["sent"] == before + 40  # nothing else in between
    assert set(burst) <= set(values(stage.finish(), kind="send", outcome="ok"))


# ---- reading ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_shares_the_partitions_reads_everything_and_commits_it(stage: Stage, protocol: str):
    topics, group = stage.topic(partitions=4), f"group-{stage.name}"
    members = [
        stage.start(name, ConsumerPlan(topics=topics, group=group, protocol=protocol, commit_every=0.2))
        for name in ("m1", "m2")
    ]
    wait_until(
        lambda: [len(m.status.get("assigned", [])) for m in members], lambda n: n == [2, 2], what="two each", timeout=60
    )
    stage.start("p", ProducerPlan(topics=topics, records=200))
    stage.acknowledged(200)

    found = stage.finish()

    assert {row["value"] for row in found if row["client"] in ("m1", "m2") and row["value"]} == set(
        values(found, kind="send")
    )
    assert all(
        only(found, client=name, kind=kind) for name in ("m1", "m2") for kind in ("poll", "offsets", "assign", "revoke")
    )
    told = {(row["topic"], row["partition"]): row["offset"] for row in only(found, kind="drained")}
    assert stage.cluster.committed(group) == told
    assert stage.judged()["verdict"] == "PASS"


def test_a_consumer_at_rest_takes_nothing_until_it_is_told_to_go_on(stage: Stage):
    topics = stage.topic()
    reader = stage.start("r", ConsumerPlan(topics=topics, mode="assign"))
    producer = stage.start("p", ProducerPlan(topics=topics, rate=50))
    stage.acknowledged(5)
    for _ in range(3):  # a rest that is asked for again is not taken for the one before
        reader.rest()
        before = stage.traffic.read()

        burst = producer.burst(20)
        producer.rest()
        time.sleep(0.5)  # more than a fetch takes; there is no state to wait for, because nothing must happen

        assert stage.traffic.read() == before
        reader.order("resume")
        stage.traffic.wait_caught_up()

    assert set(burst) <= set(values(stage.finish(), client="r"))


# ---- transactions -------------------------------------------------------------------------------------------------


def test_aborted_transactions_are_written_down_and_no_committed_reader_sees_them(stage: Stage):
    topics = stage.topic()
    stage.start("committed", ConsumerPlan(topics=topics, mode="assign"))
    stage.start("anything", ConsumerPlan(topics=topics, mode="assign", isolation="read_uncommitted"))
    stage.start("p", ProducerPlan(topics=topics, records=60, transaction=5, abort_every=3))
    stage.acknowledged(60)

    found = stage.finish()

    ended = {kind: {row["txn"] for row in only(found, kind=kind, outcome="ok")} for kind in ("begin", "commit", "abort")}
    assert ended["abort"] == {"p-3", "p-6", "p-9", "p-12"}
    assert ended["commit"] == ended["begin"] - ended["abort"]
    assert len(ended["begin"]) == 12
    aborted = {row["value"] for row in only(found, kind="send") if row["txn"] in ended["abort"]}
    assert len(aborted) == 20
    assert set(values(found, client="committed")) == set(values(found, kind="send")) - aborted
    assert set(values(found, client="anything")) == set(values(found, kind="send"))
    assert stage.judged()["counts"] == NO_ANOMALY
    assert stage.judged()["verdict"] == "PASS"


def test_a_transaction_nobody_ends_keeps_the_end_of_the_log_unknown_until_it_is_ended(stage: Stage):
    """Asked through a consumer of committed records, the log would seem to end before it."""
    stage.start("p", ProducerPlan(topics=stage.topic(), transaction=100_000))
    stage.acknowledged(20)
    stage.traffic.kill("p")

    assert stage.drain(timeout=2)["drained"] == 0
    assert silenced_drain(stage)["drained"] == 0
    open_ = copied(stage, "while-it-is-open")
    assert [row["outcome"] for row in rows(open_, kind="drained")] == ["info"] * 4
    assert judge(open_)["verdict"] == "INCONCLUSIVE"

    taken_over(stage, "p")
    assert stage.drain()["drained"] == 2
    stage.traffic.seal()

    assert values(rows(stage.folder.path), kind="poll") == []
    assert stage.judged()["counts"] == NO_ANOMALY
    assert not any("not read to its end" in reason for reason in stage.judged()["reasons"])


def silenced_drain(stage: Stage) -> dict[str, Any]:
    """Its brokers fall silent while it asks where the log ends: nothing that anybody told, and no reason to crash."""
    ended: list[dict[str, Any]] = []
    plan, address = DrainPlan(topics=stage.topics, timeout=3), stage.cluster.address.librdkafka()
    drain = threading.Thread(target=lambda: ended.append(stage.traffic.drain(plan, address)), daemon=True)
    drain.start()
    drain.join(1.5)
    with stage.cluster.broken(Cut(), *(Link("client", broker) for broker in stage.cluster.brokers)):
        drain.join(60)
    return ended[0]


def test_a_producer_that_was_fenced_says_so_and_ends_in_order(stage: Stage):
    producer = stage.start("p", ProducerPlan(topics=stage.topic(), transaction=20, abort_every=1))
    stage.acknowledged(40)

    taken_over(stage, "p")
    wait_until(lambda: producer.status.get("fatal"), bool, what="the producer says that it is of no more use", timeout=60)
    found = stage.finish()

    assert producer.status["errors"]
    assert sorted(values(found, kind="send")) == list(range(VALUES_EACH, VALUES_EACH + producer.status["sent"]))
    assert stage.judged()["counts"] == NO_ANOMALY


def taken_over(stage: Stage, client: str) -> None:
    """Somebody else begins with its transactional.id: what it left open is aborted, and itself is fenced."""
    from confluent_kafka import KafkaException, Producer

    mine = {"transactional.id": f"{stage.name}-{client}", "log_level": 0}

    def took_over() -> bool:
        try:
            Producer(stage.cluster.direct_address.librdkafka() | mine).init_transactions(60)
        except KafkaException:  # it was quicker, and fenced us
            return False
        return True

    wait_until(took_over, bool, what=f"the transactional.id of {client} is ours", timeout=60)


def copied(stage: Stage, name: str) -> Path:
    """The folder as it is now, closed and ready to be judged, while the run goes on in the other."""
    stage.write_manifest()
    copy = stage.folder.path.with_name(name)
    shutil.copytree(stage.folder.path, copy)
    seal(copy)
    return copy


# ---- killed -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [100, None], ids=["paced", "flat-out"])
def test_what_a_killed_producer_left_open_is_unknown_and_no_phantom(stage: Stage, rate: float | None):
    """Its requests arrive, the answers do not: its last records are in the log, and it never learns that."""
    topics = stage.topic(partitions=1)
    little = {"queue.buffering.max.messages": 2000}  # so that full speed stays small
    producer = stage.start("p", ProducerPlan(topics=topics, rate=rate, config=little))
    first = stage.folder.ledger / "p.00001.parquet"
    wait_until(first.exists, bool, what="acknowledged records that are on disk already", timeout=60)
    links = [Link("client", broker) for broker in stage.cluster.brokers]
    if rate:
        producer.rest()
    with stage.cluster.broken(Blackhole(direction="downstream"), *links):
        if rate:
            producer.burst(300)
        wait_until(
            lambda: log_end(stage) - producer.status["ok"],
            lambda unanswered: unanswered > 100,
            what="more in the log than was acknowledged",
            timeout=60,
        )
        stage.traffic.kill("p")

    found = stage.finish()

    left = set(values(found, kind="send", error="_CLIENT_KILLED"))
    assert len(left & set(values(found, client="drain"))) >= 100
    assert {row["outcome"] for row in found if row["error"] == "_CLIENT_KILLED"} == {"info"}
    assert [row["client"] for row in only(found, kind="crash")] == ["p"]
    assert stage.judged()["verdict"] == "PASS"
    assert stage.judged()["counts"] == NO_ANOMALY


def log_end(stage: Stage) -> int:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec

    (topic,) = stage.topics
    admin = AdminClient(stage.cluster.direct_address.librdkafka() | {"log_level": 0})
    (answer,) = admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.latest()}).values()
    return int(answer.result(30).offset)


ORPHANS = """
import json, sys
from pathlib import Path
from chaos.evidence.folder import RunFolder
from chaos.traffic.plans import ConsumerPlan, ProducerPlan
from chaos.traffic.traffic import Traffic

told = json.loads(sys.stdin.readline())
traffic = Traffic(RunFolder(Path(told["run"])), "r", told["config"])
traffic.start("p", ProducerPlan(topics=told["topics"], rate=200))
traffic.start("reader", ConsumerPlan(topics=told["topics"], mode="assign"))
traffic.start("frozen", ConsumerPlan(topics=told["topics"], group=told["group"]))
traffic.wait_for(acks=40, reads=40)
traffic.pause("frozen")
print(json.dumps([client.pid for client in traffic.clients]), flush=True)
sys.stdin.readline()
"""


def test_a_trial_that_is_killed_leaves_no_process_and_a_ledger_that_can_be_judged(stage: Stage, tmp_path: Path):
    topics = stage.topic()
    trial = subprocess.Popen(
        [sys.executable, "-c", ORPHANS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=TOP
    )
    assert trial.stdin is not None and trial.stdout is not None
    folder = RunFolder.create(tmp_path / "orphaned", day="day", scenario="traffic", run_id="r")
    folder.events_file.touch()
    task = {"run": str(folder.path), "config": stage.cluster.address.librdkafka(), "topics": topics}
    trial.stdin.write(json.dumps(task | {"group": f"group-{stage.name}"}) + "\n")
    trial.stdin.flush()
    clients = [psutil.Process(pid) for pid in json.loads(trial.stdout.readline())]
    process = {"pid": trial.pid, "began": psutil.Process(trial.pid).create_time()}
    folder.write_manifest({"run_id": "r", "scenario": "traffic", "permitted": [], "process": process})

    trial.kill()
    trial.communicate()
    verdict = judge(folder)  # at once: it waits for the clients to end

    wait_until(lambda: [c.pid for c in clients if lives(c)], lambda left: left == [], what="every client gone", timeout=60)
    assert verdict["acknowledged"] >= 80
    assert verdict["read"] >= 80
    assert verdict["counts"] == NO_ANOMALY
    assert verdict["verdict"] == "INCONCLUSIVE"  # nobody drained it
    assert {row["client"] for row in rows(folder.path)} == {"p", "reader", "frozen"}


def lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


# ---- secrets ------------------------------------------------------------------------------------------------------


@pytest.mark.kafka(brokers=1, security="sasl_ssl")
def test_a_password_is_in_no_command_line_and_no_log(kafka_cluster: Cluster, tmp_path: Path):
    password = kafka_cluster.address.password
    assert password
    kafka_cluster.create_topic("secret")
    folder = RunFolder.create(tmp_path, day="day", scenario="traffic", run_id="r")
    with Traffic(folder, "r", kafka_cluster.address.librdkafka()) as traffic:
        traffic.start("p", ProducerPlan(topics={"secret": 1}), wait=False)
        traffic.start("reader", ConsumerPlan(topics={"secret": 1}, mode="assign"), wait=False)
        with pytest.raises(SuiteError, match=r"no\.such\.setting") as refused:
            traffic.start("broken", ProducerPlan(topics={"secret": 1}, config={"no.such.setting": 1}))
        traffic.wait_for(acks=20, reads=20)
        lines = [line for process in psutil.process_iter() for line in command_line(process)]
        mine = [line for line in lines if "chaos.traffic.worker" in line]
        traffic.stop()
        traffic.drain(DrainPlan(topics={"secret": 1}), kafka_cluster.direct_address.librdkafka())
        facts = json.dumps(traffic.facts())

    assert len(mine) >= 2
    assert not any(password in line for line in lines)
    assert "no.such.setting" in (folder.logs / "clients.log").read_text()
    assert password not in (folder.logs / "clients.log").read_text() + facts + refused.value.message


def command_line(process: psutil.Process) -> list[str]:
    try:
        return [" ".join(process.cmdline())]
    except psutil.Error:
        return []
