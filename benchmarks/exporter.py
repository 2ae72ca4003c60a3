"""What a look at a broker costs: our collectors against jmx_exporter's agent, and how fast /metrics answers.

Three brokers with a thousand partitions. One of them is asked in turns by every way: jmxquery, Jolokia, the agent with
the catalogue's include list, and the agent with rules that read everything, as jmx_exporter's own example for KRaft has
them. For each: how long it took, what it cost the broker and us in processor time, and how many series came of it.
Then all three by jmxquery at once; and last a real exporter is scraped while it collects.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from typing import Any

import psutil

from compose.cluster import Cluster
from compose.state import marked_processes
from exporters.collectors.agent import AgentCollector
from exporters.collectors.asks import asks
from exporters.collectors.http import ask, session
from exporters.collectors.jmxquery import JmxQueryCollector
from exporters.collectors.jolokia import JolokiaCollector
from exporters.selection import selected
from exporters.translate import Translator
from kernel.metric_tables import FROM_JMX
from kernel.waiting import wait_until

TRIAL = str(Path(sys.executable).parent / "kafka-trial")
PARTITIONS = 1000
METRICS = selected(FROM_JMX)
ASKED = asks(METRICS)
PAUSE = 0.01  # seconds between two scrapes
INCLUDED, EVERYTHING = "agent, include list", "agent, every bean"


@dataclass
class Cost:
    seconds: list[float] = field(default_factory=list)
    broker: list[float] = field(default_factory=list)  # seconds of its processors
    ours: list[float] = field(default_factory=list)
    series: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and scrapes")
    parser.add_argument("--stock", type=Path, help="jmx_exporter's own kafka-kraft-3_0_0.yml, instead of rules like it")
    asked = parser.parse_args()
    rounds, scrapes = (4, 300) if asked.quick else (12, 2000)
    with Cluster(brokers=3, javaagent=True, jolokia=True, provider="processes") as cluster:
        cluster.create_topic("wide", partitions=PARTITIONS, replication=1)
        everything = asked.stock.read_text() if asked.stock else read_everything()
        with closing(JmxQueryCollector(cluster.jmx(1), ASKED, timeout=60)) as jmxquery:
            costs = _costs(cluster, jmxquery, everything, rounds)
        together = _together(cluster, rounds)
        answers = {
            f"partitions = {mode}, every {interval} s": _scraped(cluster, mode, interval, scrapes)
            for interval in (2, 15)  # far too often, and the default
            for mode in ("off", "topic", "each")
        }
    _print(costs, together, answers, as_json=asked.json)


# ---- one broker, by every way --------------------------------------------------------------------------------------


def _costs(cluster: Cluster, jmxquery: JmxQueryCollector, everything: str, rounds: int) -> dict[str, Cost]:
    rules = cluster.folder / "node-1" / "agent.yaml"
    agent = AgentCollector(cluster.agent_url(1), METRICS, session=session(), timeout=60)
    page = session()
    ways: dict[str, Callable[[], int]] = {
        "jolokia": _series(JolokiaCollector(cluster.jolokia_url(1), ASKED, session=session(), timeout=60)),
        INCLUDED: _series(agent),
        EVERYTHING: lambda: ask(page, cluster.agent_url(1), timeout=60).count(b"\n"),
        "jmxquery": _series(jmxquery),
    }
    set_up = {INCLUDED: rules.read_text(), EVERYTHING: everything}
    broker = next(one for one in marked_processes(cluster.folder.name) if "node-1/" in one.cmdline()[-1])
    costs = {name: Cost() for name in ways}
    for number in range(rounds + 2):  # interleaved, so that a slow minute hits all alike; the first two warm up
        for name, way in ways.items():
            if name in set_up:
                _rewrite(rules, set_up[name])
                way()  # the agent sees that its rules are new, and forgets what it remembered of the old
            took = _measured(way, broker)
            if number >= 2:
                costs[name].seconds.append(took[0])
                costs[name].broker.append(took[1])
                costs[name].ours.append(took[2])
                costs[name].series = took[3]
    return costs


def _series(collector: Any) -> Callable[[], int]:
    translator = Translator(METRICS)
    return lambda: translator.translate(collector.collect()).series


def _rewrite(rules: Path, text: str) -> None:
    """The agent looks at the time of its file, in whole seconds."""
    before = rules.stat().st_mtime
    rules.write_text(text)
    if int(rules.stat().st_mtime) <= int(before):
        time.sleep(1.1)
        rules.touch()


def _measured(way: Callable[[], int], broker: psutil.Process) -> tuple[float, float, float, int]:
    theirs, ours, began = _processor(broker), _own(), time.perf_counter()
    series = way()
    return time.perf_counter() - began, _processor(broker) - theirs, _own() - ours, series


def _processor(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return float(spent.user + spent.system)


def _own() -> float:
    """Ours, and that of jmxquery's JVM."""
    jvms = [child for child in psutil.Process().children() if "KeptRunning" in child.cmdline()]
    return sum(_processor(process) for process in (psutil.Process(), *jvms))


def read_everything() -> str:
    """Rules for the agent that take every bean: unanchored, in the order of how special they are, as the KRaft example of
    jmx_exporter has them."""
    lines = ["lowercaseOutputName: true", "rules:"]

    def rule(pattern: str, name: str, kind: str, labels: dict[str, str]) -> None:
        lines.extend([f"- pattern: '{pattern}'", f"  name: {name}", f"  type: {kind}"])
        lines.extend(["  labels:", *(f"    '{key}': '{value}'" for key, value in labels.items())] if labels else [])

    rule("kafka.server<type=(.+)><>([a-z-]+)-total", "kafka_server_$1_$2_total", "COUNTER", {})
    rule("kafka.server<type=(.+)><>([a-z-]+)", "kafka_server_$1_$2", "GAUGE", {})
    ways = {  # what ends the name and the attribute → name, kind, the quantile's group after the labels
        ("PerSec\\w*", "Count"): ("kafka_$1_$2_$3_total", "COUNTER", False),
        ("", "Value"): ("kafka_$1_$2_$3", "GAUGE", False),
        ("", "Count"): ("kafka_$1_$2_$3_count", "COUNTER", False),
        ("", "(\\d+)thPercentile"): ("kafka_$1_$2_$3", "GAUGE", True),
        ("Percent\\w*", "MeanRate"): ("kafka_$1_$2_$3_percent", "GAUGE", False),
    }
    for ((end, attribute), (name, kind, quantile)), pairs in product(ways.items(), (2, 1, 0)):
        labels = {f"${4 + 2 * pair}": f"${5 + 2 * pair}" for pair in range(pairs)}
        more = {"quantile": f"0.${4 + 2 * pairs}"} if quantile else {}
        keys = ", (.+)=(.+)" * pairs
        rule(f"kafka.(\\w+)<type=(.+), name=(.+){end}{keys}><>{attribute}", name, kind, labels | more)
    return "\n".join(lines) + "\n"


# ---- all brokers, by jmxquery --------------------------------------------------------------------------------------


def _together(cluster: Cluster, rounds: int) -> list[float]:
    with ExitStack() as ending:
        collectors = [JmxQueryCollector(cluster.jmx(broker), ASKED, timeout=60) for broker in cluster.brokers]
        for collector in collectors:
            ending.callback(collector.close)
        return [_at_once(collectors) for _ in range(rounds + 2)][2:]  # as above, the first two start and warm up


def _at_once(collectors: list[JmxQueryCollector]) -> float:
    threads = [threading.Thread(target=collector.collect) for collector in collectors]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


# ---- /metrics ------------------------------------------------------------------------------------------------------


@dataclass
class Answers:
    milliseconds: list[float]
    asleep: list[float]  # how much longer than it should each pause between two scrapes took: the wait for a processor
    bytes: int
    series: int


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[int(part * (len(values) - 1))]


def _scraped(cluster: Cluster, partitions: str, interval: float, scrapes: int) -> Answers:
    """On one connection, as Prometheus does it, while the exporter goes on collecting."""
    with _exporter(cluster, partitions, interval) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        took, asleep, page = [], [], b""
        for _ in range(scrapes):
            began = time.perf_counter()
            connection.request("GET", "/metrics")
            page = connection.getresponse().read()
            ended = time.perf_counter()
            time.sleep(PAUSE)
            took.append((ended - began) * 1000)
            asleep.append((time.perf_counter() - ended - PAUSE) * 1000)
        connection.close()
    lines = page.splitlines()
    assert sum(line.startswith(b"kafka_jmx_up") and line.endswith(b" 1.0") for line in lines) == 3, "a broker was not seen"
    return Answers(took, asleep, len(page), sum(not line.startswith(b"#") for line in lines))


@contextmanager
def _exporter(cluster: Cluster, partitions: str, interval: float) -> Iterator[int]:
    nodes = ", ".join(f'{node} = "{cluster.jolokia_url(node)}"' for node in cluster.brokers)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "exporter.toml"
        file.write_text(
            f'listen = "127.0.0.1:0"\ninterval = {interval}\n[[clusters]]\nname = "wide"\ncollector = "jolokia"\n'
            f'partitions = "{partitions}"\nmax_series = 100000\nnodes = {{ {nodes} }}\n'
        )
        process = subprocess.Popen([TRIAL, "exporter", "--config", str(file)], stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            port = int(process.stderr.readline().rsplit(":", 1)[1].split("/")[0])
            wait_until(lambda: _status(port), lambda code: code == 200, what="the exporter is ready", timeout=120)
            yield port
        finally:
            process.terminate()
            process.communicate()


def _status(port: int) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/-/ready")
    return connection.getresponse().status


# ---- told ----------------------------------------------------------------------------------------------------------


def _print(costs: dict[str, Cost], together: list[float], answers: dict[str, Answers], *, as_json: bool) -> None:
    middle = {name: statistics.median(cost.seconds) for name, cost in costs.items()}
    ratios = {
        "jolokia / agent, include list": middle["jolokia"] / middle[INCLUDED],
        "jolokia / agent, every bean": middle["jolokia"] / middle[EVERYTHING],
        "agent, include list / every bean": middle[INCLUDED] / middle[EVERYTHING],
    }
    figures: dict[str, Any] = {
        "partitions": PARTITIONS,
        "one broker": {
            name: {
                "seconds": round(middle[name], 4),
                "processor of the broker": round(statistics.median(cost.broker), 4),
                "processor of ours": round(statistics.median(cost.ours), 4),
                "series": cost.series,
            }
            for name, cost in costs.items()
        },
        "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()},
        "jmxquery, three brokers at once, seconds": round(statistics.median(together), 3),
        "/metrics": {
            mode: {
                "p50 ms": round(quantile(found.milliseconds, 0.5), 2),
                "p99 ms": round(quantile(found.milliseconds, 0.99), 2),
                "pause p99 ms": round(quantile(found.asleep, 0.99), 2),
                "series": found.series,
                "bytes": found.bytes,
            }
            for mode, found in answers.items()
        },
    }
    if as_json:
        print(json.dumps(figures, indent=1))
        return
    print(f"one broker of three, {PARTITIONS} partitions in all; medians of {len(together)} rounds, in turns")
    for name, one in figures["one broker"].items():
        spent = f"broker {one['processor of the broker']:.3f} s, ours {one['processor of ours']:.3f} s"
        print(f"  {name:20} {one['seconds'] * 1000:7.0f} ms   processor: {spent}   {one['series']:6} series")
    for name, ratio in ratios.items():
        print(f"  {name:36} {ratio:.2f}")
    print(f"  jmxquery, three brokers at once      {figures['jmxquery, three brokers at once, seconds']:.2f} s")
    print(
        "/metrics, scraped while the exporter collects; and how late a bare pause ended meanwhile, waiting for a processor"
    )
    for mode, one in figures["/metrics"].items():
        size = f"{one['series']:6} series, {one['bytes'] / 1e6:.1f} MB"
        times = f"p50 {one['p50 ms']:6.2f} ms   p99 {one['p99 ms']:6.2f} ms   pause p99 {one['pause p99 ms']:6.2f} ms"
        print(f"  {mode:32} {times}   {size}")


if __name__ == "__main__":
    main()
