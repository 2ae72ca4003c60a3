"""A cluster with everything around it that production has: exporter, lag monitor, probe, audit, an application, Prometheus
with our rules. Rules run ten times as fast as they are written, and scrapes fifteen times as often."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import requests

from compose.cluster import Cluster
from dashboards.alerts.build import prometheus_text
from dashboards.prometheus import Prometheus
from kernel.cluster import ClusterAddress
from kernel.waiting import wait_until
from tests.cluster import daemons
from tests.cluster.daemons import daemon, free_port

PACE = 0.1
NAME = "c"
NAMES = (
    "exporter", "lag-monitor", "probe", "audit", "app", "runs",
    "second exporter", "second lag-monitor", "second probe", "tls probe",
)  # fmt: skip
CONFIG = {
    "replica.lag.time.max.ms": "4000",
    "broker.session.timeout.ms": "6000",
    "num.io.threads": "2",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
}


@dataclass(frozen=True, slots=True)
class Interval:
    """One alert that fired, from when to when."""

    name: str
    labels: Mapping[str, str]
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Door:
    """A way to a page that can be shut: a proxy more on a Toxiproxy that the cluster has anyway."""

    toxiproxy: str
    name: str

    def shut(self) -> None:
        self._set(enabled=False)

    def open(self) -> None:
        self._set(enabled=True)

    def made(self, upstream: str) -> str:
        """Where it listens."""
        asked = {"name": self.name, "listen": "127.0.0.1:0", "upstream": upstream, "enabled": True}
        answer = requests.post(f"http://{self.toxiproxy}/proxies", json=asked, timeout=10)
        answer.raise_for_status()
        return str(answer.json()["listen"])

    def _set(self, **values: object) -> None:
        requests.post(f"http://{self.toxiproxy}/proxies/{self.name}", json=values, timeout=10).raise_for_status()


@dataclass
class Watch:
    cluster: Cluster
    prometheus: Prometheus
    folder: Path
    targets: dict[str, int]  # what is scraped → its port; some come and go
    door: Door  # between the exporter and node 2
    stays: ExitStack  # what was started on the way, and goes with all the rest
    began: float = field(default_factory=time.time)

    def firing(self) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
        found = self.prometheus.query('ALERTS{alertstate="firing"}')
        return {(one.labels["alertname"], tuple(sorted(_own(one.labels).items()))) for one in found}

    def fires(self, name: str, **labels: str) -> bool:
        return any(name == fired and labels.items() <= dict(of).items() for fired, of in self.firing())

    def history(self) -> list[Interval]:
        """Every alert that fired since the beginning; one that paused for less than three seconds went on."""
        series = self.prometheus.query_range('ALERTS{alertstate="firing"}', self.began, time.time(), 1)
        found = []
        for one in series:
            moments = [at for at, _ in one.points]
            pauses = [(early, late) for early, late in pairwise(moments) if late - early > 3]
            starts, ends = [moments[0], *(late for _, late in pauses)], [*(early for early, _ in pauses), moments[-1]]
            found += [
                Interval(one.labels["alertname"], _own(one.labels), start, end)
                for start, end in zip(starts, ends, strict=True)
            ]
        return found


def _own(labels: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name not in ("__name__", "alertname", "alertstate", "severity")}


@contextmanager
def watched(folder: Path) -> Iterator[Watch]:
    with ExitStack() as around:
        enter = around.enter_context
        cluster = enter(Cluster(brokers=3, controllers=3, config=CONFIG, jolokia=True, log_dirs=2, provider="processes"))
        for topic in ("orders", "ledger"):
            cluster.create_topic(topic, partitions=3, replication=3)
        targets = {name: free_port() for name in NAMES}
        door = Door(cluster.facts()["toxiproxy"][0], "jolokia-2")
        behind = urlsplit(cluster.jolokia_url(2))
        detour = {2: f"http://{door.made(behind.netloc)}{behind.path}"}
        enter(daemon("exporter", exporter_file(cluster, addresses=detour), folder, port=targets["exporter"]))
        told = webhook(enter(receiver()))
        enter(daemon("lag-monitor", lag_file(cluster.direct_address, more=told), folder, port=targets["lag-monitor"]))
        enter(daemon("probe", probe_file(cluster.address), folder, port=targets["probe"]))
        enter(app(cluster, targets["app"], folder))
        enter(daemon("audit", audit_file(cluster.direct_address), folder, port=targets["audit"]))
        labelled = {targets[name]: NAME for name in ("probe", "audit", "app", "second probe")} | {
            targets["tls probe"]: "tls"
        }
        labels = {f"127.0.0.1:{port}": {"cluster": name} for port, name in labelled.items()}
        addresses = [f"127.0.0.1:{port}" for port in targets.values()]
        running = enter(_prometheus(folder, addresses, labels))
        yield Watch(cluster, Prometheus(running.address), folder, targets, door, enter(ExitStack()))


@contextmanager
def _prometheus(folder: Path, targets: list[str], labels: Mapping[str, Mapping[str, str]]) -> Iterator[daemons.Prometheus]:
    with daemons.prometheus(folder, targets, rules=prometheus_text(pace=PACE), labels=labels) as running:
        yield running


def exporter_file(cluster: Cluster, name: str = NAME, addresses: Mapping[int, str] | None = None) -> str:
    nodes = {node: cluster.jolokia_url(node) for node in cluster.nodes} | dict(addresses or {})
    table = ", ".join(f'{node} = "{address}"' for node, address in nodes.items())
    return (
        f'interval = 1\nmax_age = 4\n[[clusters]]\nname = "{name}"\ncollector = "jolokia"\ntimeout = 2\n'
        f'host = "local"\npartitions = "topic"\ndetails = true\nnodes = {{ {table} }}\n'
    )


def lag_file(address: ClusterAddress, name: str = NAME, more: str = "") -> str:
    return (
        "interval = 1\n[judge]\nslow = 2\nquiet = 5\ntransaction = 5\n"
        f'[[clusters]]\nname = "{name}"\ntopics_every = 2\ngroups_every = 2\ntimeout = 3\n'
        f'kafka.bootstrap = "{address.bootstrap}"\nslo = [{{ groups = "late", seconds = 5 }}]\n{more}'
    )


def probe_file(address: ClusterAddress, more: str = "") -> str:
    return f'interval = 0.5\nplace_every = 1\n{more}\n[kafka]\nbootstrap = "{address.bootstrap}"\n'


def audit_file(address: ClusterAddress) -> str:
    return f'lateness = 6\njudge_every = 1\n[kafka]\nbootstrap = "{address.bootstrap}"\n'


@contextmanager
def receiver() -> Iterator[str]:
    """Somebody who is told of incidents, and is content with everything."""

    class Content(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Content)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def webhook(url: str) -> str:
    return (
        f'[[channels]]\nname = "duty"\ntype = "webhook"\nurl = "{url}"\n'
        '[[routes]]\nname = "everything"\nchannels = ["duty"]\n'
    )


@contextmanager
def app(cluster: Cluster, port: int, folder: Path) -> Iterator[None]:
    with (folder / "app.log").open("wb") as log:
        words = [sys.executable, "-m", "tests.cluster.watched_app", cluster.address.bootstrap, str(port)]
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        page = f"http://127.0.0.1:{port}/metrics"
        wait_until(lambda: daemons.status(page), lambda seen: seen == 200, what="the application's page", timeout=60)
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
