"""When certificates expire, asked of real brokers: of those that are there, as they are now, and only with TLS."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from compose.cluster import Cluster
from kafka_trial.daemon.handout import probe_file
from kernel.waiting import wait_until
from tests.cluster.daemons import Daemon, daemon, prometheus
from tests.promtool import linted

pytestmark = pytest.mark.timeout(300)

DAYS = 3
QUICK = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
EXPIRY = "kafka_probe_certificate_expiry_timestamp_seconds"
OWN = "kafka_probe_client_certificate_expiry_timestamp_seconds"
ERRORS = "kafka_probe_certificate_errors_total"


@pytest.fixture(scope="module", params=["tls", "sasl_ssl"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(
        brokers=3, controllers=1, security=request.param, certificate_days=DAYS, config=QUICK, provider="processes"
    ) as cluster:
        yield cluster


def written(cluster: Cluster) -> dict[int, float]:
    """What the files say that the brokers were started with."""
    found = {}
    for broker in cluster.brokers:
        [file] = cluster.folder.glob(f"**/node-{broker}/node.pem")
        found[broker] = x509.load_pem_x509_certificates(file.read_bytes())[0].not_valid_after_utc.timestamp()
    return found


@contextmanager
def probing(cluster: Cluster, folder: Path) -> Iterator[Daemon]:
    every = "certificates_every = 1\n"
    with daemon("probe", every + probe_file(cluster.address, folder), folder) as running:
        yield running


def expiries(probe: Daemon) -> dict[int, float]:
    return {int(dict(labels)["broker"]): value for labels, value in probe.series(EXPIRY).items()}


def test_every_brokers_expiry_is_that_of_its_certificate(cluster: Cluster, tmp_path: Path):
    soon = (datetime.now(UTC) + timedelta(days=DAYS)).timestamp()
    with probing(cluster, tmp_path) as probe:
        told = wait_until(lambda: expiries(probe), lambda found: len(found) == 3, what="three expiries", timeout=30)
        own = probe.series(OWN)

        assert told == written(cluster)
        assert all(abs(expiry - soon) < 600 for expiry in told.values())
        assert not any(probe.series(ERRORS).values())
        assert linted(probe.page()) == ""
        if cluster.spec.security == "tls":
            file = Path(cluster.address.certificate_file or "")
            assert own == {(): x509.load_pem_x509_certificates(file.read_bytes())[0].not_valid_after_utc.timestamp()}
        else:
            assert own == {}
    assert not any("Failed authentication" in cluster.log(node) for node in cluster.nodes), "a look is no attempt to get in"


def test_a_broker_that_is_killed_is_not_told_of_and_comes_back_with_its_new_certificate(cluster: Cluster, tmp_path: Path):
    with probing(cluster, tmp_path) as probe:
        before = wait_until(lambda: expiries(probe), lambda found: len(found) == 3, what="three expiries", timeout=30)
        cluster.kill(3)
        left = wait_until(lambda: expiries(probe), lambda found: 3 not in found, what="no expiry of 3", timeout=30)
        assert left == {1: before[1], 2: before[2]}
        cluster.start(3)
        after = wait_until(lambda: expiries(probe), lambda found: len(found) == 3, what="three again", timeout=30)

    assert after == written(cluster)
    assert after[3] > before[3], "it was given a certificate of its own for this life"


def test_an_alert_on_expiry_fires_for_these_and_not_for_those_that_last(cluster: Cluster, tmp_path: Path):
    alerts = {
        "Expires": f"min by (broker) ({EXPIRY}) - time() < 14 * 86400",
        "TooSoon": f"min by (broker) ({EXPIRY}) - time() < 2 * 86400",
    }
    with probing(cluster, tmp_path) as probe:
        wait_until(lambda: expiries(probe), lambda found: len(found) == 3, what="three expiries", timeout=30)
        with prometheus(tmp_path, [probe.address.removeprefix("http://")], alerts) as watching:
            firing = 'count by (alertname, broker) (ALERTS{alertstate="firing"})'
            fired = wait_until(lambda: watching.query(firing), lambda found: len(found) == 3, what="alerts", timeout=30)

    assert {dict(labels)["alertname"] for labels in fired} == {"Expires"}
    assert {dict(labels)["broker"] for labels in fired} == {"1", "2", "3"}


def test_a_cluster_without_tls_has_no_certificate_to_tell_of(tmp_path: Path):
    with Cluster(brokers=1, provider="processes") as cluster, probing(cluster, tmp_path) as probe:
        wait_until(
            lambda: probe.series("kafka_probe_broker_available"), lambda found: 1.0 in found.values(), what="up", timeout=30
        )
        time.sleep(1.5)

        assert "certificate" not in probe.page()
