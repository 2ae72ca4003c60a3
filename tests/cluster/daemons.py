"""Real daemons beside a cluster, started for one test and ended with it: ours, and Debian's Prometheus."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from kernel.waiting import wait_until
from tests.promtool import needed

TRIAL = str(Path(sys.executable).parent / "kafka-trial")
Series = dict[tuple[tuple[str, str], ...], float]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def status(address: str) -> int:
    """Of an HTTP page; 0 while nobody answers."""
    try:
        with urlopen(address, timeout=30) as answer:
            return int(answer.status)
    except HTTPError as refused:
        return refused.code
    except URLError:
        return 0


@dataclass
class Daemon:
    """One of ours, which answers on `address`."""

    process: "subprocess.Popen[bytes]"
    address: str
    said: Path

    def page(self) -> str:
        with urlopen(f"{self.address}/metrics", timeout=30) as answer:
            text: bytes = answer.read()
            return text.decode()

    def series(self, name: str) -> Series:
        """Every series of one name, by its labels."""
        families = text_string_to_metric_families(self.page())
        samples = (sample for family in families for sample in family.samples if sample.name == name)
        return {tuple(sorted(sample.labels.items())): sample.value for sample in samples}

    def ends(self) -> int:
        """Asked to end as init does it; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


@contextmanager
def daemon(command: str, config: str, folder: Path, *, ready: bool = True, port: int | None = None) -> Iterator[Daemon]:
    """`kafka-trial <command>` with a configuration to which the address to listen on is added."""
    port = port or free_port()
    name = f"{command.replace(' ', '-')}-{port}"
    file, said = folder / f"{name}.toml", folder / f"{name}.log"
    file.write_text(f'listen = "127.0.0.1:{port}"\n{config}')
    with said.open("wb") as log:
        process = subprocess.Popen([TRIAL, *command.split(), "--config", str(file)], stdout=log, stderr=log)
    running = Daemon(process, f"http://127.0.0.1:{port}", said)
    try:
        page = f"{running.address}/-/{'ready' if ready else 'healthy'}"
        wait_until(lambda: status(page), lambda seen: seen == 200, what=page, timeout=60, hint=said.read_text)
        yield running
    finally:
        process.kill()
        process.wait()


class Prometheus:
    def __init__(self, address: str) -> None:
        self.address = address

    def query(self, expression: str) -> Series:
        """What an expression is right now, by labels; the series' own name is left out."""
        with urlopen(f"{self.address}/api/v1/query?{urlencode({'query': expression})}", timeout=30) as answer:
            found = json.load(answer)["data"]["result"]
        return {
            tuple(sorted((label, value) for label, value in row["metric"].items() if label != "__name__")): float(
                row["value"][1]
            )
            for row in found
        }

    def by(self, label: str, expression: str) -> dict[str, float]:
        """Summed by one label."""
        return {dict(labels)[label]: value for labels, value in self.query(f"sum by ({label}) ({expression})").items()}

    def scraped_after(self, moment: float) -> bool:
        """Whether every target was scraped, and answered, since then."""
        times = self.query("timestamp(up == 1)")
        return bool(times) and all(at > moment for at in times.values())


@contextmanager
def prometheus(
    folder: Path,
    targets: Sequence[str],
    alerts: Mapping[str, str] | None = None,
    *,
    rules: str = "",
    labels: Mapping[str, Mapping[str, str]] | None = None,
    every: str = "1s",
) -> Iterator[Prometheus]:
    """`alerts`: by name, the expression that lets each fire at once. `rules`: a whole file instead. `labels`: by target.
    `every`: the time between two scrapes, and what one may take."""
    port = free_port()
    at_once = [{"alert": name, "expr": expression} for name, expression in (alerts or {}).items()]
    (folder / "rules.yml").write_text(rules or json.dumps({"groups": [{"name": "all", "rules": at_once}]}))
    scraped = [{"targets": [target], "labels": dict((labels or {}).get(target, {}))} for target in targets]
    config = {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": "1s"},
        "rule_files": [str(folder / "rules.yml")],
        "scrape_configs": [{"job_name": "kafka", "static_configs": scraped}],
    }
    file, said = folder / "prometheus.yml", folder / "prometheus.log"
    file.write_text(json.dumps(config))  # which is YAML too
    words = [needed("prometheus"), f"--config.file={file}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    with said.open("wb") as log:
        process = subprocess.Popen([*words, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    running = Prometheus(f"http://127.0.0.1:{port}")
    try:
        page = f"{running.address}/-/ready"
        wait_until(lambda: status(page), lambda seen: seen == 200, what=page, timeout=60, hint=said.read_text)
        began = time.time()
        wait_until(lambda: running.scraped_after(began), bool, what="a first scrape", timeout=60)
        yield running
    finally:
        process.terminate()
        process.wait()
