"""Real Kafka clusters as pytest fixtures; loaded by itself once kafka-trial is installed.

`kafka_cluster` is shared by the whole run and handed out healthy; `fresh_cluster` is the test's own. Both have three
brokers unless the test says otherwise: `@pytest.mark.kafka(brokers=1, security="tls")`, with whatever a ClusterSpec
takes. With `--trial-runs DIR` the broker logs of a failing test are kept there.

`trial("leader-election", acks="1")` runs a scenario and returns its result; `with traffic(acks="all") as flow:` keeps
known traffic flowing through `kafka_cluster` while the test does what it likes to it, and judges what became of it.

`application_run` is for an application of one's own: with `application_run.config` in the configuration of its clients it
keeps a ledger, and `application_run.judge(cluster.address)` reads back what it wrote and judges it.
"""

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # imported when first used, so that a test run without Kafka does not pay for it
    from chaos.faults.fault import Fault
    from chaos.schedule import Schedule
    from chaos.trial import Trial
    from compose.cluster import Cluster
    from kernel.cluster import ClusterAddress

MARKERS = {
    "kafka(**spec)": "the cluster this test wants: any argument of kafka_trial.ClusterSpec",
    "chaos": "breaks a cluster on purpose",
    "containers": "needs Docker",
    "slow": "takes seconds where its neighbours take moments",
    "nightly": "one of the many trials that take an hour together: for `make nightly`, not for every `make test`",
}
MOST_SHARED = 2  # kinds of clusters at a time; a test may use two of them
OUTCOME = pytest.StashKey[dict[str, bool]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafka-trial")
    group.addoption("--kafka-version", metavar="VERSION", help="Kafka version of the clusters (default: the newest tried)")
    group.addoption("--kafka-provider", metavar="NAME", default="auto", help="auto, processes or containers")
    group.addoption("--trial-runs", metavar="DIR", help="keep run folders, and the broker logs of failing tests, here")


def pytest_configure(config: pytest.Config) -> None:
    for marker, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {meaning}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Container tests are skipped where there is no Docker, but not where it was promised: a silent skip proves nothing."""
    if item.get_closest_marker("containers") is None:
        return
    from compose.toolchain import docker_trouble

    if trouble := docker_trouble():
        if os.environ.get("KAFKA_TRIAL_REQUIRE_DOCKER"):
            pytest.fail(f"KAFKA_TRIAL_REQUIRE_DOCKER is set, but {trouble.message}")
        pytest.skip(trouble.message)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    item.stash.setdefault(OUTCOME, {})[report.when] = report.failed
    return report


@pytest.fixture(scope="session")
def _shared_clusters(pytestconfig: pytest.Config) -> Iterator[dict[str, "Cluster"]]:
    clusters: dict[str, Cluster] = {}
    yield clusters
    for cluster in clusters.values():
        cluster.close()


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest, _shared_clusters: dict[str, "Cluster"]) -> Iterator["Cluster"]:
    """A cluster shared by all tests that want the same; healed and complete when it is handed over."""
    cluster = _shared(request, _shared_clusters, _wishes(request))
    yield cluster
    _keep_logs(request, cluster)


@pytest.fixture
def fresh_cluster(request: pytest.FixtureRequest) -> Iterator["Cluster"]:
    """A cluster of this test's own."""
    cluster = _start(request, _wishes(request))
    try:
        yield cluster
        _keep_logs(request, cluster)
    finally:
        cluster.close()


@dataclass(frozen=True, repr=False)
class TrialResult:
    """What a trial ended in. Printed, as pytest does when an assertion about it fails, it is the whole verdict block."""

    verdict: dict[str, Any]
    manifest: dict[str, Any]
    folder: Path

    @property
    def passed(self) -> bool:
        return bool(self.verdict["verdict"] == "PASS")

    @property
    def found(self) -> dict[str, int]:
        """Every anomaly that was found, and how often."""
        return {name: count for name, count in self.verdict["counts"].items() if count}

    @property
    def expectations(self) -> dict[str, bool | None]:
        return {expected["name"]: expected["holds"] for expected in self.verdict["expectations"]}

    def __repr__(self) -> str:
        from chaos.report.block import verdict_block

        return f"\n{verdict_block(self.verdict, self.manifest)}\n         run  {self.folder}"


@pytest.fixture
def trial(
    request: pytest.FixtureRequest, _shared_clusters: dict[str, "Cluster"], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., TrialResult]:
    """Run a scenario: `trial("acks-exposure", acks="1", settings="quick")`. Clusters are shared by trials that want the
    same, and healed in between; a scenario that leaves its cluster another one has one of its own."""

    def run_trial(
        scenario: str,
        *,
        settings: str = "quick",
        permit: Sequence[str] = (),
        seed: int | None = None,
        schedule: "Schedule | None" = None,
        provider: str | None = None,
        clients: Mapping[str, str] | None = None,
        **options: str,
    ) -> TrialResult:
        from chaos.run import Wishes, check_here, plan, run

        runs, on = _runs(request, tmp_path_factory), provider or request.config.getoption("--kafka-provider")
        wishes = Wishes(
            scenario, options, settings, seed, permitted=permit, schedule=schedule, runs=runs, clients=clients or {},
            provider=on,
        )  # fmt: skip
        version, wanted = request.config.getoption("--kafka-version"), plan(wishes)
        if version and wanted.cluster.kafka == wishes.kafka:  # one that is about versions has its own
            wishes = replace(wishes, kafka=version)
            wanted = plan(wishes)
        check_here(wanted, on)
        if wanted.scenario.spoils:
            folder, verdict = run(wishes, say=_say(request))
        else:
            cluster = _shared(request, _shared_clusters, {"spec": wanted.cluster, "provider": on})
            folder, verdict = run(wishes, cluster=cluster, say=_say(request))
        result = TrialResult(verdict, folder.manifest(), folder.path)
        request.node.add_report_section("call", "kafka-trial", repr(result))
        return result

    return run_trial


@pytest.fixture
def traffic(
    request: pytest.FixtureRequest, kafka_cluster: "Cluster", tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., AbstractContextManager["Trial"]]:
    """Known traffic through `kafka_cluster` while the block runs: a producer and a reader on a topic of the test's own.
    `flow.topics` has its name, `flow.wait_for(acks=…, reads=…)` waits, `flow.inject(fault)` breaks something and proves
    it; after the block `flow.verdict` is the verdict."""

    @contextmanager
    def flowing(
        topic: str = "orders", *, partitions: int = 3, config: dict[str, str] | None = None, **producer: Any
    ) -> "Iterator[Trial]":
        from chaos.run import freehand

        runs = _runs(request, tmp_path_factory)
        name = re.sub(r"[^\w.-]+", "-", request.node.name)
        with freehand(kafka_cluster, runs=runs, name=name, say=_say(request)) as flow:
            real = flow.topic(topic, partitions=partitions, config=config)
            flow.producer("producer-1", real, **producer)
            flow.consumer("reader-1", real, mode="assign")
            flow.warm_up()
            yield flow
        result = TrialResult(flow.verdict, flow.folder.manifest(), flow.folder.path)
        request.node.add_report_section("call", "kafka-trial", repr(result))

    return flowing


@dataclass(frozen=True)
class ApplicationRun:
    folder: Path

    @property
    def config(self) -> dict[str, str]:
        """What the clients of the application, those of `interceptors`, need on top of their own configuration."""
        return {"interceptor.classes": "interceptors.ledger.Ledger", "interceptor.ledger.folder": str(self.folder.resolve())}

    def inject(self, fault: "Fault", cluster: "Cluster") -> AbstractContextManager[None]:
        """`with application_run.inject(KillBroker(2), cluster):` puts the fault on record; it must be seen to bite."""
        from chaos.application import injected

        return injected(self.folder, fault, cluster)

    def judge(self, address: "ClusterAddress", *, topics: Sequence[str] = (), timeout: float = 120) -> TrialResult:
        """Once the application has closed its clients, or was killed."""
        from chaos.application import drain
        from chaos.evidence.folder import RunFolder
        from chaos.judge import judge

        drain(self.folder, address.librdkafka(), topics=topics, timeout=timeout)
        folder = RunFolder(self.folder)
        verdict = judge(folder)
        folder.write_verdict(verdict)
        return TrialResult(verdict, folder.manifest(), self.folder)


@pytest.fixture
def application_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ApplicationRun:
    """A run folder of this test's own, for the ledger of an application."""
    now = datetime.now(UTC)
    name = re.sub(r"[^\w.-]+", "-", request.node.name)
    run_id = f"{now:%H%M%S}-{secrets.token_hex(2)}"  # a ledger that is kept is not written to again
    return ApplicationRun(_runs(request, tmp_path_factory) / f"{now:%Y-%m-%d}" / name / run_id)


def _runs(request: pytest.FixtureRequest, factory: pytest.TempPathFactory) -> Path:
    kept = request.config.getoption("--trial-runs")
    return Path(kept) if kept else factory.mktemp("runs")


def _wishes(request: pytest.FixtureRequest) -> dict[str, Any]:
    marker = request.node.get_closest_marker("kafka")
    wishes: dict[str, Any] = {"provider": request.config.getoption("--kafka-provider")}
    if version := request.config.getoption("--kafka-version"):
        wishes["kafka"] = version
    return wishes | (marker.kwargs if marker else {})


def _shared(request: pytest.FixtureRequest, clusters: dict[str, "Cluster"], wishes: dict[str, Any]) -> "Cluster":
    """The one cluster of its kind, as good as new. Few kinds are kept at a time: brokers that idle are not free."""
    key = json.dumps(wishes, sort_keys=True, default=str)
    cluster = clusters.pop(key, None)
    try:
        if cluster is not None:
            _restore(cluster)
    except Exception:  # beyond repair: the next test deserves a working one
        cluster.close() if cluster is not None else None
        cluster = None
    while len(clusters) >= MOST_SHARED:
        clusters.pop(next(iter(clusters))).close()  # the one that was not used for longest
    clusters[key] = cluster if cluster is not None else _start(request, wishes)
    return clusters[key]


def _start(request: pytest.FixtureRequest, wishes: dict[str, Any]) -> "Cluster":
    from compose.cluster import Cluster

    return Cluster(**wishes, say=_say(request)).boot()


def _say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")

    def say(words: str) -> None:
        if reporter and request.config.option.verbose > 0:
            reporter.write_line(f"kafka-trial: {words}")

    return say


def _restore(cluster: "Cluster") -> None:
    """Undo what the last test may have left: faults on links, brokers that are paused or down, partitions behind."""
    cluster.links.heal_all()
    for node in cluster.nodes:
        cluster.resume(node)
        cluster.start(node)
    cluster.wait_replicated()


def _keep_logs(request: pytest.FixtureRequest, cluster: "Cluster") -> None:
    runs = request.config.getoption("--trial-runs")
    if not runs or not any(request.node.stash.get(OUTCOME, {}).values()):
        return
    folder = Path(runs) / date.today().isoformat() / re.sub(r"[^\w.-]+", "-", request.node.name)
    folder.mkdir(parents=True, exist_ok=True)
    for node in cluster.nodes:
        (folder / f"node-{node}.log").write_text(cluster.log(node))
    request.node.add_report_section("teardown", "kafka-trial", f"broker logs are in {folder}")
