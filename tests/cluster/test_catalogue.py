"""The catalogue held against live nodes of two Kafka versions, so that an upgrade cannot lose a metric in silence."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compose.cluster import Cluster
from kafka_trial.cli import catalogue
from kernel.metric_tables import FROM_JMX
from kernel.metric_tables.rows import gauge
from tests.cluster.test_cli import trial
from tests.cluster.traffic import read, send


@pytest.fixture(scope="module", params=["4.3.1", "3.9.1"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One that has served a producer and a group: what comes with the first of them is there."""
    with Cluster(brokers=1, controllers=1, kafka=request.param, jolokia=True, provider="processes") as cluster:
        cluster.create_topic("seen")
        send(cluster.address, "seen", ["a"])
        assert read(cluster.address, "seen", 1) == ["a"]
        yield cluster


@pytest.fixture
def file(cluster: Cluster, tmp_path: Path) -> Path:
    file = tmp_path / "exporter.toml"
    nodes = ", ".join(f'{node} = "{cluster.jmx(node)}"' for node in cluster.nodes)
    web = ", ".join(f'{node} = "{cluster.jolokia_url(node)}"' for node in cluster.nodes)
    file.write_text(
        f'[[clusters]]\nname = "jmx"\ntimeout = 60\nnodes = {{ {nodes} }}\n'
        f'[[clusters]]\nname = "web"\ntimeout = 60\ncollector = "jolokia"\nnodes = {{ {web} }}\n'
    )
    return file


def test_every_node_has_all_it_should_and_nothing_unknown(cluster: Cluster, file: Path):
    told = trial("catalogue", "verify", "--config", str(file), "--strict", "--json")

    assert told.returncode == 0, told.stdout + told.stderr
    facts = json.loads(told.stdout)
    assert {name: (one["version"], one["roles"]) for name, one in facts.items()} == {
        f"{way}/{node}": (cluster.facts()["kafka"], [role])
        for way in ("jmx", "web")
        for node, role in ((1, "broker"), (101, "controller"))
    }
    for one in facts.values():
        assert (one["missing"], one["unexpected"], one["wrong type"]) == ([], [], [])
        assert len(one["present"]) > 90
    assert facts["jmx/1"]["present"] == facts["web/1"]["present"], "two ways to look at one node"


def test_one_that_is_lost_fails_and_is_named(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    """Kafka will not lose a bean for a test; so the catalogue expects one that never was, and one of another kind."""
    lost = gauge("kafka.server:type=ReplicaManager,name=LostWithAnUpgrade", "A bean that was.")
    changed = gauge("kafka.server:type=app-info", "A number that became a word.", "commit-id", name="commit_id")
    monkeypatch.setattr(catalogue, "FROM_JMX", (*FROM_JMX, lost, changed))

    told = CliRunner().invoke(catalogue.catalogue, ["verify", cluster.jmx(1)])

    assert told.exit_code == 1
    assert "    1 missing\n      kafka.server:type=ReplicaManager,name=LostWithAnUpgrade/Value\n" in told.stdout
    assert "    1 wrong type\n" in told.stdout and "commit-id should be a number and is" in told.stdout
