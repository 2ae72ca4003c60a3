"""Real Kafka clusters as pytest fixtures; loaded by itself once kafka-trial is installed.

`kafka_cluster` is shared by the whole run and handed out healthy; `fresh_cluster` is the test's own. Both have three
brokers unless the test says otherwise: `@pytest.mark.kafka(brokers=1, security="tls")`, with whatever a ClusterSpec
takes. With `--trial-runs DIR` the broker logs of a failing test are kept there.
"""

import json
import os
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # imported when first used, so that a test run without Kafka does not pay for it
    from compose.cluster import Cluster

MARKERS = {
    "kafka(**spec)": "the cluster this test wants: any argument of kafka_trial.ClusterSpec",
    "chaos": "breaks a cluster on purpose",
    "containers": "needs Docker",
    "slow": "takes longer than ten seconds",
}
OUTCOME = pytest.StashKey[dict[str, bool]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafka-trial")
    group.addoption("--kafka-version", metavar="VERSION", help="Kafka version of the clusters (default: the newest tried)")
    group.addoption("--kafka-provider", metavar="NAME", default="auto", help="auto, processes or containers")
    group.addoption("--trial-runs", metavar="DIR", help="keep the broker logs of failing tests under this folder")


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
    wishes = _wishes(request)
    key = json.dumps(wishes, sort_keys=True, default=str)
    if key not in _shared_clusters:
        _shared_clusters[key] = _start(request, wishes)
    cluster = _shared_clusters[key]
    try:
        _restore(cluster)
    except Exception:  # beyond repair: the next test deserves a working one
        _shared_clusters.pop(key).close()
        cluster = _shared_clusters[key] = _start(request, wishes)
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


def _wishes(request: pytest.FixtureRequest) -> dict[str, Any]:
    marker = request.node.get_closest_marker("kafka")
    wishes: dict[str, Any] = {"provider": request.config.getoption("--kafka-provider")}
    if version := request.config.getoption("--kafka-version"):
        wishes["kafka"] = version
    return wishes | (marker.kwargs if marker else {})


def _start(request: pytest.FixtureRequest, wishes: dict[str, Any]) -> "Cluster":
    from compose.cluster import Cluster

    reporter = request.config.pluginmanager.get_plugin("terminalreporter")

    def say(words: str) -> None:
        if reporter and request.config.option.verbose > 0:
            reporter.write_line(f"kafka-trial: {words}")

    return Cluster(**wishes, say=say).boot()


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
