"""From a configuration to an exporter: a collector and a thread for each node, passwords read, certificates made ready."""

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from exporters.collectors.agent import AgentCollector
from exporters.collectors.asks import Ask, asks
from exporters.collectors.http import session
from exporters.collectors.jmxquery import JmxLogin, JmxQueryCollector
from exporters.collectors.jolokia import JolokiaCollector
from exporters.exporter import Exporter
from exporters.host_figures import HostFigures, in_container, on_this_host
from exporters.readings import Collector
from exporters.selection import selected
from exporters.shaping import Shaper
from exporters.target import Target
from kafka_trial.daemon.config_file import user_and_password
from kafka_trial.daemon.exporter_config import Cluster, ExporterConfig
from kernel.errors import UsageError
from kernel.metric_tables import FROM_JMX
from kernel.metrics import Metric


@contextmanager
def exporter_of(config: ExporterConfig) -> Iterator[Exporter]:
    """Nothing is asked before the block is entered; everything has ended when it is left."""
    with tempfile.TemporaryDirectory(prefix="kafka-trial-") as folder:
        targets = [target for cluster in config.clusters for target in _targets(cluster, config, Path(folder))]
        with Exporter(targets, max_age=config.max_age) as exporter:
            yield exporter


def check_logins(config: ExporterConfig) -> None:
    """The passwords and certificates that the file names for its nodes can be read. Nobody is asked."""
    with tempfile.TemporaryDirectory(prefix="kafka-trial-") as folder:
        for cluster in config.clusters:
            _login(cluster, Path(folder))


@contextmanager
def collectors_of(cluster: Cluster, asked: Sequence[Ask]) -> Iterator[dict[str, Collector]]:
    """For each node of a cluster, one that asks for this and no more. The agent's page holds what its rules let through,
    so it cannot be asked."""
    if cluster.collector == "agent":
        raise UsageError(f"cluster {cluster.name} is read from its agents, which show no more than they were set up to.")
    with tempfile.TemporaryDirectory(prefix="kafka-trial-") as folder, ExitStack() as ending:
        login = _login(cluster, Path(folder))
        made = {node: _collector(cluster, address, asked, (), login) for node, address in cluster.nodes.items()}
        for collector in made.values():
            ending.callback(collector.close)
        yield made


def _targets(cluster: Cluster, config: ExporterConfig, folder: Path) -> Iterator[Target]:
    metrics = selected(FROM_JMX, partitions=cluster.partitions, details=cluster.details)
    login = _login(cluster, folder)
    for node, address in cluster.nodes.items():
        shaper = Shaper(metrics, partitions=cluster.partitions, aliases=config.aliases, max_series=cluster.max_series)
        yield Target(
            {"cluster": cluster.name, "node": node},
            _collector(cluster, address, asks(metrics), metrics, login),
            shaper,
            interval=config.interval,
            host=_host(cluster, node),
        )


def _collector(
    cluster: Cluster, address: str, asked: Sequence[Ask], metrics: Sequence[Metric], login: JmxLogin
) -> Collector:
    if cluster.collector == "jmxquery":
        return JmxQueryCollector(address, asked, login=login, timeout=cluster.timeout)
    http = session(username=login.username, password=login.password, ca_file=str(cluster.ca_file or ""))
    if cluster.collector == "jolokia":
        return JolokiaCollector(address, asked, session=http, timeout=cluster.timeout)
    return AgentCollector(address, metrics, session=http, timeout=cluster.timeout)


def _host(cluster: Cluster, node: str) -> HostFigures | None:
    if cluster.host == "none":
        return None
    return HostFigures(on_this_host if cluster.host == "local" else in_container(cluster.containers[node], cluster.timeout))


def _login(cluster: Cluster, folder: Path) -> JmxLogin:
    username, word = user_and_password(cluster.login)
    if not cluster.ca_file:
        return JmxLogin(username, word)
    lock = secrets.token_urlsafe(16)
    store = folder / f"{secrets.token_hex(4)}.p12"
    store.write_bytes(_truststore(cluster.ca_file, lock))
    return JmxLogin(username, word, str(store), lock)


def _truststore(ca_file: Path, lock: str) -> bytes:
    """Java reads no PEM here: the same certificates in the form it wants."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

    try:
        found = x509.load_pem_x509_certificates(ca_file.read_bytes())
    except (OSError, ValueError):
        raise UsageError(f"ca_file = {str(ca_file)!r} holds no certificate in PEM.") from None
    entries = [PKCS12Certificate(certificate, f"ca-{number}".encode()) for number, certificate in enumerate(found)]
    return serialize_java_truststore(entries, BestAvailableEncryption(lock.encode()))
