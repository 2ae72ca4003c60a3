"""Results of runs on a real cluster that asks who is calling: written, and read by Spark as a scan of folders reads them."""

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from confluent_kafka import Producer, TopicPartition

import interceptors
from compose.cluster import Cluster
from compose.jars import spark_kafka_jars
from interceptors import Consumer
from kafka_trial.daemon.audit_config import AuditConfig
from kafka_trial.daemon.audit_once import audited
from kafka_trial.results import publish, published
from kernel.cluster import ClusterAddress
from kernel.errors import SuiteError
from kernel.results import TOPIC, document
from tests.spark.night import make_runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1, security="sasl_ssl") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the session keeps its log, so that a test can look for what must not be there."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("scratch")
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(scope="module")
def spark(scratch: Path) -> "Iterator[SparkSession]":
    from spark_reports.kafka.options import SESSION
    from spark_reports.session import spark_session

    settings = {**SESSION, "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    with spark_session("results", master="local[2]", jars=spark_kafka_jars(), settings=settings) as spark:
        spark.sparkContext.setLogLevel("INFO")  # whatever it may say, no secret is in it
        yield spark


def texts(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return json.loads((folder / "manifest.json").read_text()), json.loads((folder / "verdict.json").read_text())


def result(folder: Path, **judged: Any) -> dict[str, Any]:
    manifest, verdict = texts(folder)
    return document(str(folder), manifest, verdict | judged, 30.0)


def command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has ended
        return []


def test_what_was_published_is_summarised_as_the_folders_are(cluster: Cluster, spark: "SparkSession", tmp_path: Path):
    from spark_reports.kafka.options import kafka_options
    from spark_reports.kafka.results import documents
    from spark_reports.nightly.summary import summarised

    connection = cluster.address.librdkafka()
    runs = make_runs(tmp_path, runs=6, nights=2)
    publish(result(runs[0], verdict="INCONCLUSIVE"), connection)  # judged again below: the last word wins
    for run in runs:
        publish(result(run), connection)
    for key, value in ((b"1", b"no json"), (b"2", b'{"format":7}'), (b"3", b"[1]"), (b"4", b'{"format":1}'), (b"5", None)):
        producer = Producer(connection)
        producer.produce(TOPIC, value, key)
        assert producer.flush(20) == 0

    assert cluster.topic_config(TOPIC)["cleanup.policy"] == "compact", "no run is forgotten because it is old"
    found = documents(spark, kafka_options(cluster.address, TOPIC)).persist()
    rows = [(str(run), *(json.dumps(text) for text in texts(run)), 30.0) for run in runs]
    from_folders = spark.createDataFrame(rows, "folder string, manifest string, verdict string, duration_s double")
    expected = sorted(map(str, summarised(from_folders).collect()))
    good = summarised(found.where("trouble is null"))
    assert sorted(map(str, good.collect())) == expected
    assert good.where("trouble is not null").count() == 0
    assert sorted(row.trouble for row in found.where("trouble is not null").collect()) == [
        f"{TOPIC}-0 offset 10 is not a result: it has no folder, manifest.",
        f"{TOPIC}-0 offset 7 is not a result, but no json",
        f"{TOPIC}-0 offset 8: format 7 is newer than 1, the newest this version reads: use the kafka-trial that wrote it.",
        f"{TOPIC}-0 offset 9 is not a result, but [1]",
    ]


def test_the_password_is_in_no_log_no_plan_and_no_command_line(cluster: Cluster, spark: "SparkSession", scratch: Path):
    from spark_reports.kafka.options import kafka_options
    from spark_reports.kafka.results import documents

    password = str(cluster.address.password)
    found = documents(spark, kafka_options(cluster.address, TOPIC))
    found.count()

    plan = str(found._jdf.queryExecution().toString())
    assert "kafka" in plan.lower()
    [log] = scratch.glob("*/jvm.log")
    words = log.read_text()
    assert "AdminClientConfig" in words, "it does tell how it connects"
    commands = " ".join(word for child in psutil.Process().children(recursive=True) for word in command_line(child))
    assert "java" in commands
    for place in (plan, words, commands, str(spark.sparkContext.getConf().getAll())):
        assert password not in place


def test_nobody_there_is_one_sentence_and_the_run_goes_on(tmp_path: Path):
    [run] = make_runs(tmp_path, runs=1, nights=1)
    warned: list[str] = []
    assert not published(result(run), {"bootstrap.servers": "127.0.0.1:1"}, warn=warned.append, within=2)

    [sentence] = warned
    assert sentence.startswith(f"The result could not be written to {TOPIC} on 127.0.0.1:1: ")
    assert "The verdict stands" in sentence


@pytest.mark.parametrize("change", [{"password": "guessed"}, {"protocol": "PLAINTEXT"}], ids=["wrong password", "no TLS"])
def test_who_is_not_let_in_is_told_so_without_the_password(cluster: Cluster, tmp_path: Path, change: dict[str, str]):
    [run] = make_runs(tmp_path, runs=1, nights=1)
    stranger: ClusterAddress = replace(cluster.address, **change)  # type: ignore[arg-type]

    with pytest.raises(SuiteError) as refused:
        publish(result(run), stranger.librdkafka(), within=4)

    assert TOPIC in refused.value.message
    assert ("uthentication failed" in refused.value.message) == ("password" in change), refused.value.message
    assert "guessed" not in refused.value.message


# ---- the audit topic ------------------------------------------------------------------------------------------------


def audited_client(cluster: Cluster, **more: Any) -> dict[str, Any]:
    own = {"interceptor.classes": ["interceptors.audit.Audit"], "interceptor.audit.close.ms": 20_000, "log_level": 0}
    return cluster.address.librdkafka() | own | {name.replace("__", "."): value for name, value in more.items()}


def consumed(cluster: Cluster, group: str, steps: list[tuple[int, int]]) -> None:
    """Reads and commits stretches of offsets, from the first to before the end, by seeking from one to the next."""
    consumer = Consumer(audited_client(cluster, group__id=group, auto__offset__reset="earliest", enable__auto__commit=False))
    consumer.subscribe(["orders"])
    try:
        for nth, (begin, end) in enumerate(steps):
            if nth:
                consumer.seek(TopicPartition("orders", 0, begin))
            at, deadline = begin, time.monotonic() + 60
            while at < end and time.monotonic() < deadline:
                message = consumer.poll(1)
                if message is not None and message.error() is None:
                    at = message.offset() + 1
                    if at == end:
                        consumer.commit(message=message, asynchronous=False)
            assert at == end
    finally:
        consumer.close()


def test_spark_says_of_the_audit_topic_what_the_auditor_says(
    cluster: Cluster, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
):
    """One group reads all, one skips five records, one reads seven of them again."""
    from spark_reports.kafka.audit import audit_rows
    from spark_reports.kafka.links import link_totals
    from spark_reports.kafka.options import kafka_options

    cluster.create_topic("orders")
    records = spark.read.format("kafka").options(**kafka_options(cluster.address, "kafka-trial-audit"))
    assert records.load().count() == 0, "a topic that is not there yet is empty"
    producer = interceptors.Producer(audited_client(cluster))
    for number in range(200):
        producer.produce("orders", f"order {number}")
    assert producer.flush(30) == 0
    producer.close()
    consumed(cluster, "billing", [(0, 200)])
    consumed(cluster, "hasty", [(0, 100), (105, 200)])
    consumed(cluster, "thorough", [(0, 150), (143, 200)])
    monkeypatch.setenv("AUDITOR", str(cluster.address.password))
    login = {"username": cluster.address.username, "password_env": "AUDITOR"}
    kafka = {"bootstrap": cluster.address.bootstrap, "protocol": "SASL_SSL", "ca_file": cluster.address.ca_file}
    kafka |= {"sasl_mechanism": cluster.address.sasl_mechanism, "login": login}
    auditor = audited(AuditConfig.model_validate({"kafka": kafka, "lateness": 0}), 60)

    reports = audit_rows(records.load()).persist()
    totals = link_totals(reports, now_ms=time.time_ns() // 1_000_000, lateness_ms=0).collect()

    found = {(row.topic, row.sources, row.tier): (row.complete, row.missing, row.duplicated) for row in totals}
    assert found == {
        ("orders", "producer", "billing"): (200, 0, 0),
        ("orders", "producer", "hasty"): (195, 5, 0),
        ("orders", "producer", "thorough"): (200, 0, 7),
    }
    outcomes = {line: one.outcomes for line, one in auditor.sums().items()}
    assert {
        line: tuple(one.get(word, 0) for word in ("complete", "missing", "extra")) for line, one in outcomes.items()
    } == found
    assert [row.completeness for row in totals if row.tier == "hasty"] == [195 / 200]
