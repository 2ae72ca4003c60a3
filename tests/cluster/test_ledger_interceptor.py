"""An application that has the ledger in its configuration and knows nothing of it, judged by its own traffic."""

import json
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Blackhole
from kafka_trial import KillBroker
from kafka_trial.pytest_plugin import ApplicationRun
from kernel.verdict import ANOMALIES
from kernel.waiting import wait_until
from tests.pure.snippets import DOCS, blocks

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

TOP = Path(__file__).parent.parent.parent
TRIAL = str(Path(sys.executable).parent / "kafka-trial")
NO_ANOMALY = dict.fromkeys(ANOMALIES, 0)
Row = dict[str, Any]


class Application:
    """The process, and what it says of itself."""

    def __init__(self, role: str, config: dict[str, Any], topic: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.ledger_app"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=TOP,
        )
        self._write(json.dumps({"role": role, "config": config, "topic": topic}))

    def does(self, work: str) -> dict[str, Any]:
        self._write(work)
        return self.counted()

    def counted(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it ended before it answered"
        return dict(json.loads(line))

    def ends(self) -> None:
        self._write("end")
        self.process.communicate(timeout=120)
        assert self.process.returncode == 0

    def _write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


Start = Callable[..., Application]


@pytest.fixture
def topic(kafka_cluster: Cluster, request: pytest.FixtureRequest) -> str:
    name = f"{request.node.name.removeprefix('test_')[:24].strip('_').replace('_', '-')}-{uuid.uuid4().hex[:6]}"
    leader, *others = sorted(kafka_cluster.brokers, key=lambda broker: broker == kafka_cluster.controller())
    kafka_cluster.create_topic(name, assignment=[[leader, *others]] * 2, config={"min.insync.replicas": "2"})
    return name


@pytest.fixture
def start(kafka_cluster: Cluster, application_run: ApplicationRun, topic: str) -> Iterator[Start]:
    with ExitStack() as ending:

        def started(role: str, **config: Any) -> Application:
            named = {key.replace("__", "."): value for key, value in config.items()}
            whole = kafka_cluster.address.librdkafka() | application_run.config | {"client.id": role, "log_level": 0} | named
            application = Application(role, whole, topic)
            ending.enter_context(application.process)
            ending.callback(application.process.kill)
            return application

        yield started


def rows(run: ApplicationRun, **where: Any) -> list[Row]:
    files = sorted((run.folder / "ledger").glob("[!.]*.parquet"))
    found = [row for file in files for row in pq.read_table(file).to_pylist()]
    return [row for row in found if all(row[name] == value for name, value in where.items())]


def places(found: list[Row]) -> list[tuple[int, int]]:
    return sorted((row["partition"], row["offset"]) for row in found)


def counted(told: list[list[Any]]) -> list[tuple[int, int]]:
    return sorted((partition, offset) for partition, offset, _ in told)


GROUP = {"group__id": f"billing-{uuid.uuid4().hex[:6]}", "auto__offset__reset": "earliest"}


def led_by_another(cluster: Cluster, topic: str, old: int) -> None:
    wait_until(
        lambda: [cluster.partition(topic, partition).leader for partition in (0, 1)],
        lambda now: all(leader not in (None, old) for leader in now),
        what=f"{topic} led by another broker than {old}",
        timeout=60,
    )


# ---- a killed leader --------------------------------------------------------------------------------------------------


def test_at_acks_all_an_application_keeps_every_record_though_its_leader_is_killed(
    kafka_cluster: Cluster, application_run: ApplicationRun, start: Start, topic: str
):
    shop, billing = start("shop", acks="all"), start("billing", **GROUP)
    shop.does("send 100")
    leader = kafka_cluster.leader_of(topic)

    with application_run.inject(KillBroker(leader), kafka_cluster):
        shop.does("hand-over 200")
        led_by_another(kafka_cluster, topic, leader)
        sold = shop.does("send 100")
        billed = billing.does("read 400")
    for application in (shop, billing):
        application.ends()

    result = application_run.judge(kafka_cluster.direct_address)

    assert len(sold["acked"]) == 400
    assert places(rows(application_run, client="shop", kind="send", outcome="ok")) == counted(sold["acked"])
    assert places(rows(application_run, client="billing", kind="poll")) == counted(billed["read"])
    assert len(rows(application_run, client="drain", kind="poll")) == 400
    assert {row["kind"] for row in rows(application_run, client="billing")} == {"assign", "poll", "offsets", "revoke"}
    assert (result.verdict["verdict"], result.found) == ("PASS", {})
    assert result.verdict["acknowledged"] == 400


def test_at_acks_1_exactly_the_records_are_named_that_died_with_their_leader(
    kafka_cluster: Cluster, application_run: ApplicationRun, start: Start, topic: str
):
    leader = kafka_cluster.leader_of(topic)
    shop = start("shop", acks="1")
    shop.does("send 100")
    # The end that readers see is what every follower has; until they fetch, a fresh topic's leader is alone with it.
    wait_until(lambda: log_ends(kafka_cluster, topic), lambda end: end == 100, what="100 replicated", timeout=30)
    links = [Link(other, leader, "replication") for other in kafka_cluster.brokers if other != leader]

    # Of the answers, not of the requests: a fetch that waits at the leader would still carry records away.
    with kafka_cluster.broken(Blackhole(direction="downstream"), *links):
        at_risk = shop.does("send 40")
        with application_run.inject(KillBroker(leader), kafka_cluster):
            led_by_another(kafka_cluster, topic, leader)
            shop.does("send 200")
    shop.ends()

    result = application_run.judge(kafka_cluster.direct_address)

    assert len(at_risk["acked"]) == 140
    first = result.manifest["clients"]["shop"]["life"] << 32
    findings = [f for f in result.verdict["findings"] if f["name"] in ("lost-write", "unseen-write")]
    assert sorted(f["value"] for f in findings) == list(range(first + 100, first + 140))
    assert sorted((f["partition"], f["offset"]) for f in findings) == counted(at_risk["acked"][100:])
    assert result.verdict["verdict"] == "FAIL"
    assert result.found.keys() <= {"lost-write", "unseen-write", "inconsistent-offsets"}


# ---- transactions -----------------------------------------------------------------------------------------------------


def test_transactions_that_were_committed_are_there_and_those_taken_back_are_not(
    kafka_cluster: Cluster, application_run: ApplicationRun, start: Start, topic: str
):
    books, reader = start("ledgers", transactional__id=f"books-{topic}"), start("billing", **GROUP)
    booked = books.does("book 9")
    reader.does("read 60")
    for application in (books, reader):
        application.ends()

    result = application_run.judge(kafka_cluster.direct_address)

    ended = {kind: {row["txn"] for row in rows(application_run, kind=kind)} for kind in ("begin", "commit", "abort")}
    assert ended["begin"] == {f"ledgers-{n}" for n in range(1, 10)}
    assert ended["abort"] == {"ledgers-3", "ledgers-6", "ledgers-9"}
    assert ended["commit"] == ended["begin"] - ended["abort"]
    assert (len(booked["committed"]), len(booked["aborted"])) == (60, 30)
    assert len(rows(application_run, client="ledgers", kind="send", outcome="ok")) == 90
    assert (
        len(rows(application_run, client="drain", kind="poll"))
        == len(rows(application_run, client="billing", kind="poll"))
        == 60
    )
    assert (result.verdict["verdict"], result.found) == ("PASS", {})


def test_a_hop_that_reads_transforms_and_sends_on_in_one_transaction_is_judged_whole(
    kafka_cluster: Cluster, application_run: ApplicationRun, start: Start, topic: str
):
    kafka_cluster.create_topic(f"{topic}-invoices", partitions=2)
    shop = start("shop")
    shop.does("send 100")
    hop = start(
        "invoices",
        transactional__id=f"hop-{topic}",
        group__id=f"group-{topic}",
        auto__offset__reset="earliest",
        enable__auto__commit=False,
    )
    done = hop.does("invoice 100")
    for application in (shop, hop):
        application.ends()

    result = application_run.judge(kafka_cluster.direct_address)

    assert len(done["done"]) == 100
    names = Counter(row["client"] for row in rows(application_run, kind="send"))
    assert (names["shop"], sorted(names)) == (100, sorted({"shop", *(n for n in names if n.startswith("invoices"))}))
    sent = rows(application_run, topic=f"{topic}-invoices", kind="send")
    assert len({row["value"] for row in sent}) == 100
    assert {row["value"] for row in sent} & {
        row["value"] for row in rows(application_run, topic=topic, kind="send")
    } == set()
    told = rows(application_run, kind="offsets", outcome="ok")
    assert {row["txn"] for row in told} == {row["txn"] for row in rows(application_run, kind="commit", outcome="ok")}
    assert kafka_cluster.committed(f"group-{topic}") == {
        (topic, partition): max(row["offset"] for row in told if row["partition"] == partition)
        for partition in {row["partition"] for row in told}
    }
    assert (result.verdict["verdict"], result.found) == ("PASS", {})


# ---- killed -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["header", "tests.cluster.ledger_app.of_payload"])
def test_what_a_killed_application_had_under_way_is_unknown_and_no_phantom(
    kafka_cluster: Cluster, application_run: ApplicationRun, start: Start, topic: str, value: str
):
    """Its requests arrive, the answers do not: its last records are in the log, and it never learns that."""
    shop = start("shop", interceptor__ledger__value=value, enable__idempotence=True)
    shop.does("send 50")
    wait_until(lambda: len(rows(application_run, kind="send")), lambda n: n == 50, what="50 rows on disk", timeout=30)
    with kafka_cluster.broken(Blackhole(direction="downstream"), *(Link("client", b) for b in kafka_cluster.brokers)):
        shop.does("hand-over 60")
        wait_until(
            lambda: log_ends(kafka_cluster, topic), lambda end: end >= 100, what="more in the log than was told", timeout=60
        )
        shop.process.kill()
        shop.process.wait()

    if value != "header":
        done = drained(application_run, kafka_cluster)
        assert done.returncode == 2
        assert "by a function of its own (tests.cluster.ledger_app.of_payload): name it with --value." in done.stderr
    done = drained(application_run, kafka_cluster, *(() if value == "header" else ("--value", value)))
    checked = subprocess.run([TRIAL, "check", application_run.folder], check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    left = rows(application_run, kind="send", error="_CLIENT_KILLED")
    assert {row["outcome"] for row in left} == {"info"}
    assert len({row["value"] for row in left} & {row["value"] for row in rows(application_run, client="drain")}) >= 50
    assert len(rows(application_run, kind="send", outcome="ok")) == 50
    assert checked.stdout.startswith("PASS"), checked.stdout
    assert checked.returncode == 0


def drained(run: ApplicationRun, cluster: Cluster, *more: str) -> subprocess.CompletedProcess[str]:
    command = [TRIAL, "drain", str(run.folder), "--bootstrap", cluster.direct_address.bootstrap, *more]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=TOP)


def log_ends(cluster: Cluster, topic: str) -> int:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec

    admin = AdminClient(cluster.direct_address.librdkafka() | {"log_level": 0})
    asked = admin.list_offsets({TopicPartition(topic, partition): OffsetSpec.latest() for partition in (0, 1)})
    return sum(int(answer.result(30).offset) for answer in asked.values())


# ---- together ---------------------------------------------------------------------------------------------------------


def test_two_processes_of_one_name_write_one_run_and_old_records_are_nobodys(
    kafka_cluster: Cluster, application_run: ApplicationRun, start: Start, topic: str, tmp_path: Path
):
    before = start("shop", interceptor__ledger__folder=str(tmp_path / "another-run"))
    before.does("send 30")
    before.ends()
    plain = start("shop", interceptor__classes="")
    plain.does("send 20")
    plain.ends()

    shops = [start("shop"), start("shop")]
    for shop in shops:
        shop.does("send 70")
    busy = drained(application_run, kafka_cluster)
    for shop in shops:
        shop.ends()
    result = application_run.judge(kafka_cluster.direct_address)

    assert busy.returncode == 2
    assert "are still at work" in busy.stderr
    assert sorted(result.manifest["clients"]) == ["drain", "shop", "shop.2"]
    sent = rows(application_run, kind="send", outcome="ok")
    assert Counter(row["client"] for row in sent) == {"shop": 70, "shop.2": 70}
    assert {row["value"] for row in rows(application_run, kind="poll")} == {row["value"] for row in sent}
    assert len({row["value"] for row in sent}) == 140
    assert (result.verdict["verdict"], result.found) == ("PASS", {})


def test_a_run_that_was_drained_takes_no_more_clients_and_one_never_drained_proves_nothing(
    kafka_cluster: Cluster, application_run: ApplicationRun, start: Start, topic: str
):
    shop = start("shop")
    shop.does("send 10")
    shop.ends()
    early = subprocess.run([TRIAL, "check", application_run.folder], check=False, capture_output=True, text=True)
    assert early.returncode == 3
    assert "was written and not read to its end" in early.stdout

    assert drained(application_run, kafka_cluster).returncode == 0
    late = start("shop")
    late.process.communicate(timeout=60)

    assert late.process.returncode != 0
    assert drained(application_run, kafka_cluster, "--config", "x.toml").returncode == 2


# ---- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.kafka(config={"default.replication.factor": "3", "min.insync.replicas": "2", "num.partitions": "3"})
def test_the_page_is_true_from_zero_to_the_verdict(fresh_cluster: Cluster, tmp_path: Path):
    applications = []
    for name, script in zip(("shop.py", "billing.py"), blocks("ledger.md", "python"), strict=False):
        (tmp_path / name).write_text(script)
        command = [sys.executable, name, fresh_cluster.address.bootstrap]
        applications.append(subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL))
    run = ApplicationRun(tmp_path / "black-friday")
    wait_until(lambda: len(rows(run, kind="poll")), lambda read: read > 300, what="traffic", timeout=60)
    fresh_cluster.kill(2)
    for application in applications:
        assert application.wait(120) == 0

    told = drained(run, fresh_cluster).stdout
    checked = subprocess.run([TRIAL, "check", run.folder], check=False, capture_output=True, text=True).stdout

    page = (DOCS / "ledger.md").read_text()
    assert told in page
    assert checked in page
