"""Three ways to read a broker's beans give the same answer, and each says what is wrong when there is none."""

import math
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
import trustme

from compose.cluster import Cluster
from exporters.collectors.agent import AgentCollector
from exporters.collectors.asks import Ask, asks
from exporters.collectors.http import session
from exporters.collectors.jmxquery import JmxQueryCollector
from exporters.collectors.jolokia import JolokiaCollector
from exporters.exposition import Format
from exporters.readings import Collector
from exporters.selection import selected
from exporters.translate import Translated, Translator
from kafka_trial.daemon.config_file import load
from kafka_trial.daemon.exporter_building import exporter_of
from kafka_trial.daemon.exporter_config import ExporterConfig
from kernel.errors import CollectionFailed
from kernel.metric_tables import FROM_JMX
from kernel.metrics import Kind
from kernel.waiting import wait_until
from tests.cluster.daemons import free_port
from tests.cluster.traffic import read, send

METRICS = selected(FROM_JMX)
ASKED = asks(METRICS)
KINDS = ("jmxquery", "jolokia", "agent")
MOVED_BY_LOOKING = ("process_open_fds", "jvm_threads_current", "jvm_threads_peak")  # a connection, a thread to serve it
SLACK = 1 + 1e-9  # of one that was multiplied
C = TypeVar("C", bound=Collector)
Series = tuple[str, tuple[tuple[str, str], ...]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1, controllers=1, javaagent=True, jolokia=True, provider="processes") as cluster:
        cluster.create_topic("read", partitions=2)
        send(cluster.address, "read", [f"{n}" for n in range(50)])
        assert len(read(cluster.address, "read", 50)) == 50
        yield cluster


class Make(ExitStack):
    """Collectors, all closed in the end."""

    def kept(self, collector: C) -> C:
        self.callback(collector.close)
        return collector

    def __call__(self, cluster: Cluster, kind: str, node: int, timeout: float = 30) -> Collector:
        if kind == "jmxquery":
            return self.kept(JmxQueryCollector(cluster.jmx(node), ASKED, timeout=timeout))
        if kind == "jolokia":
            return self.kept(JolokiaCollector(cluster.jolokia_url(node), ASKED, session=session(), timeout=timeout))
        return self.kept(AgentCollector(cluster.agent_url(node), METRICS, session=session(), timeout=timeout))


@pytest.fixture
def make() -> Iterator[Make]:
    with Make() as make:
        yield make


def translated(collector: Collector) -> Translated:
    return Translator(METRICS).translate(collector.collect())


def values(told: Translated) -> dict[Series, float]:
    return {
        (name.removesuffix("_total") + suffix, labels): value
        for name, family in told.families.items()
        for suffix, labels, value in family.samples
    }


@pytest.mark.parametrize("node", [1, 101])
@pytest.mark.parametrize("kind", ["jmxquery", "agent"])
def test_all_give_the_same_families_and_values(cluster: Cluster, make: Make, kind: str, node: int):
    """Looked at before and after: what did not change in between is the same to the last digit, what only rises lies in
    between. A value may change and change back, so one that differs must differ every time."""
    reference, other = make(cluster, "jolokia", node), make(cluster, kind, node)
    wrong: set[Series] | None = None
    for _ in range(3):
        was, seen, became = (translated(one) for one in (reference, other, reference))
        assert list(seen.families) == list(was.families)
        assert values(seen).keys() == values(was).keys()
        differ = differing(was, seen, became)
        wrong = differ if wrong is None else wrong & differ
        if not wrong:
            break
    assert not wrong

    if node == 1:
        assert values(seen)["kafka_server_brokertopicmetrics_messagesin_total", (("topic", "read"),)] == 50


def differing(was: Translated, seen: Translated, became: Translated) -> set[Series]:
    before, between, after = values(was), values(seen), values(became)
    still = {key for key in before if before[key] == after.get(key) and key[0] not in MOVED_BY_LOOKING}
    assert len(still) > len(before) / 2, "too little stood still for the comparison to mean anything"
    differ = {key for key in still if between[key] != pytest.approx(before[key], rel=1e-9)}
    rising = {name for name, family in was.families.items() if family.metric.kind is Kind.COUNTER}
    moved = {key for key in before if key not in still and key[0] in rising and key in after}
    return differ | {
        key for key in moved if not before[key] <= between[key] * SLACK or not between[key] <= after[key] * SLACK
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_paused_broker_is_given_up_in_time_and_answers_again(cluster: Cluster, make: Make, kind: str):
    impatient = make(cluster, kind, 1, timeout=1.5)
    cluster.pause(1)
    try:
        began = time.monotonic()
        with pytest.raises(CollectionFailed, match=r"did not answer within 1\.5 s") as failed:
            impatient.collect()
        assert time.monotonic() - began < 10
    finally:
        cluster.resume(1)

    assert failed.value.reason == "timeout"
    assert make(cluster, kind, 1).collect()


def test_a_killed_broker_refuses_and_answers_again(cluster: Cluster, make: Make):
    """Asked all the time, by all three: also in the middle of an answer, and while it starts."""
    asking = [Asking(make(cluster, kind, 1)) for kind in KINDS]
    for one in asking:
        one.start()
    try:
        for one in asking:
            one.wait_for("whole")
        cluster.kill(1)
        for one in asking:
            one.wait_for("refused")
        cluster.start(1)
        for one in asking:
            one.wait_for("whole")
    finally:
        for one in asking:
            one.stop()

    for one in asking:
        # A broker that starts has few beans yet: that is the truth, and `kafka_jmx_missing` tells of it.
        assert set(one.outcomes) <= {"whole", "part", "refused", "reset", "gone", "timeout", "bad-answer"}, one.outcomes
        assert all(one.words), "a failure without a word"


class Asking(threading.Thread):
    """Asks again and again, and notes what came of it."""

    def __init__(self, collector: Collector) -> None:
        super().__init__()
        self.collector, self.beans = collector, len({reading.bean for reading in collector.collect()})
        self.outcomes: list[str] = []
        self.words: list[str] = []
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                beans = len({reading.bean for reading in self.collector.collect()})
                self.outcomes.append("whole" if beans >= 0.9 * self.beans else "part")
            except CollectionFailed as failed:
                self.outcomes.append(failed.reason)
                self.words.append(failed.message)

    def wait_for(self, outcome: str) -> None:
        wait_until(lambda: self.outcomes[-1:], lambda last: last == [outcome], what=outcome, timeout=60)

    def stop(self) -> None:
        self.ended.set()
        self.join()


@pytest.mark.parametrize(
    ("wrong", "reason", "words"),
    [
        (lambda: JmxQueryCollector("no-such-host.invalid:9999", ASKED), "unknown-host", "does not resolve"),
        (
            lambda: JolokiaCollector("http://no-such-host.invalid:1/", ASKED, session=session()),
            "unknown-host",
            "does not resolve",
        ),
        (
            lambda: AgentCollector("http://no-such-host.invalid:1/", METRICS, session=session()),
            "unknown-host",
            "does not res",
        ),
    ],
    ids=KINDS,
)
def test_a_wrong_host_is_named(make: Make, wrong: Callable[[], Collector], reason: str, words: str):
    with pytest.raises(CollectionFailed, match=words) as failed:
        make.kept(wrong()).collect()

    assert failed.value.reason == reason


def test_a_listener_that_is_something_else_is_no_answer(cluster: Cluster, make: Make):
    broker = cluster.direct_address.bootstrap
    with pytest.raises(CollectionFailed) as by_jmx:
        make.kept(JmxQueryCollector(broker, ASKED, timeout=20)).collect()
    with pytest.raises(CollectionFailed) as by_http:
        make.kept(JolokiaCollector(cluster.agent_url(1), ASKED, session=session())).collect()
    with pytest.raises(CollectionFailed) as by_page:
        make.kept(AgentCollector(cluster.jolokia_url(1) + "version", METRICS, session=session())).collect()

    assert by_jmx.value.reason in ("tls", "reset", "timeout", "error"), by_jmx.value.message
    assert by_http.value.reason == "bad-answer" and by_page.value.reason == "bad-answer"


def test_a_bean_that_throws_or_is_not_there_spoils_nothing_else(cluster: Cluster, make: Make):
    """`UsageThreshold` of a memory pool without one throws."""
    asked = [
        Ask("java.lang:name=Metaspace,type=MemoryPool", ("CollectionUsageThreshold",)),
        Ask("kafka.server:type=Nobody,name=Knows", ("Value",)),
        Ask("java.lang:type=Threading", ("ThreadCount",)),
    ]
    for one in (
        JmxQueryCollector(cluster.jmx(1), asked),
        JolokiaCollector(cluster.jolokia_url(1), asked, session=session()),
    ):
        found = {reading.attribute: reading.value for reading in make.kept(one).collect()}
        assert isinstance(found["ThreadCount"], (int, float)) and found["ThreadCount"] > 10
        threw = found.get("CollectionUsageThreshold")
        assert threw is None or not isinstance(threw, (int, float)) or math.isnan(threw), threw


# ---- a password, and TLS: the way of a configuration file ------------------------------------------------------------

USER, PASSWORD = "watcher", 'p"4s\\s;w#rd'


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Path]]:
    """A broker whose JMX wants a password and speaks TLS, and the folder with what is needed to get in."""
    folder = tmp_path_factory.mktemp("jmx")
    for name, text in {"access": f"{USER} readonly\n", "password": f"{USER} {PASSWORD}\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    for name, authority in {"ca": trustme.CA(), "other": trustme.CA()}.items():
        authority.cert_pem.write_to_path(str(folder / f"{name}.pem"))
        if name == "ca":
            identity = authority.issue_cert("127.0.0.1", "localhost").private_key_and_cert_chain_pem
            identity.write_to_path(str(folder / "server.pem"))
    words = ["openssl", "pkcs12", "-export", "-in", "server.pem", "-out", "server.p12", "-passout", "pass:changeit"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    remote = "-Dcom.sun.management.jmxremote"
    options = (
        f"{remote}.authenticate=true",
        f"{remote}.password.file={folder / 'password'}",
        f"{remote}.access.file={folder / 'access'}",
        f"{remote}.ssl=true",
        f"{remote}.rmi.port={free_port()}",  # one that speaks TLS cannot share the registry's, which does not
        f"-Djavax.net.ssl.keyStore={folder / 'server.p12'}",
        "-Djavax.net.ssl.keyStorePassword=changeit",
        "-Djavax.net.ssl.keyStoreType=PKCS12",
    )
    with Cluster(brokers=1, provider="processes", jvm_options=options) as cluster:
        yield cluster, folder


def exporting(guarded: tuple[Cluster, Path], login: str, authority: str) -> ExporterConfig:
    cluster, folder = guarded
    nodes = f'nodes = {{ 1 = "{cluster.jmx(1)}" }}\n'
    file = folder / "exporter.toml"
    file.write_text(f'[[clusters]]\nname = "a"\ntls = true\nca_file = "{authority}.pem"\ntimeout = 30\n{nodes}{login}')
    return load(file, ExporterConfig)


def first_page(config: ExporterConfig) -> str:
    with exporter_of(config) as exporter:
        wait_until(lambda: exporter.ready, bool, what="a first collection", timeout=60)
        return exporter.metrics(Format.TEXT).decode()


def test_a_password_and_tls_let_the_right_ones_in(guarded: tuple[Cluster, Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JMX_PASSWORD", PASSWORD)
    login = f'login = {{ username = "{USER}", password_env = "JMX_PASSWORD" }}\n'

    with CommandLines() as seen:
        page = first_page(exporting(guarded, login, "ca"))

    assert 'kafka_jmx_up{cluster="a",node="1"} 1.0' in page
    assert 'kafka_server_replicamanager_partitioncount{cluster="a",node="1"}' in page
    assert "KeptRunning" in seen.words, "nobody looked while it ran"
    assert not [word for word in seen.words if PASSWORD in word]


class CommandLines(threading.Thread):
    """Every word on the command line of every process below us, while it looks."""

    def __init__(self) -> None:
        super().__init__()
        self.words: set[str] = set()
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            for process in psutil.Process().children(recursive=True):
                try:
                    self.words.update(process.cmdline())
                except psutil.Error:
                    continue

    def __enter__(self) -> "CommandLines":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


@pytest.mark.parametrize(
    ("username", "password", "authority", "reason"),
    [
        (USER, "wrong-one", "ca", "unauthorised"),
        ("nobody", PASSWORD, "ca", "unauthorised"),
        ("", "", "ca", "unauthorised"),
        (USER, PASSWORD, "other", "tls"),
    ],
)
def test_the_wrong_ones_are_told_why_and_no_secret(
    guarded: tuple[Cluster, Path],
    username: str,
    password: str,
    authority: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    monkeypatch.setenv("JMX_PASSWORD", password)
    login = f'login = {{ username = "{username}", password_env = "JMX_PASSWORD" }}\n' if username else ""

    page = first_page(exporting(guarded, login, authority))

    assert f'kafka_jmx_errors_total{{cluster="a",node="1",reason="{reason}"}} 1.0' in page
    assert 'kafka_jmx_up{cluster="a",node="1"} 0.0' in page
    assert len(caplog.messages) == 1 and caplog.messages[0].startswith("a/1: ")
    assert PASSWORD not in caplog.text + page and "wrong-one" not in caplog.text + page


def test_closing_ends_a_collection_that_hangs():
    """Nothing answers at this port, and nothing refuses: the queue of a listener that never takes a call."""
    with socket.create_server(("127.0.0.1", 0), backlog=1) as mute:
        one = JmxQueryCollector(f"127.0.0.1:{mute.getsockname()[1]}", ASKED, timeout=60)
        failed: list[str] = []

        def collect() -> None:
            try:
                one.collect()
            except CollectionFailed as trouble:
                failed.append(trouble.reason)

        asking = threading.Thread(target=collect)
        asking.start()
        wait_until(
            lambda: [child for child in psutil.Process().children() if child.name() == "java"],
            bool,
            what="a JVM that asks",
            timeout=30,
        )
        one.close()
        asking.join(20)

    assert failed == ["closed"]
