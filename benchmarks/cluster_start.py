"""How long until three brokers are up: plainly, our way, and in containers. One run, one machine, rounds interleaved.

Plain is what the quick-start guides do: format each node's storage with the storage tool, start three JVMs without a
class archive, wait for Kafka's own election timeouts. Ours is `Cluster(brokers=3)` as everybody uses it, warm cache.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from compose.cluster import Cluster
from compose.processes import Processes
from compose.provider import NodePlan
from compose.spec import ClusterSpec
from compose.storage import META, format_storage
from compose.toolchain import docker_trouble
from compose.training import ensure_archive


class PlainProcesses(Processes):
    """No class archive, no storage template: every node formats its own storage, one JVM each."""

    def __init__(self) -> None:
        super().__init__(lambda _: None, archives=False)

    def prepare(self, spec: ClusterSpec) -> None:
        self._spec = spec
        super().prepare(spec)

    def run(self, plan: NodePlan) -> None:
        formatted = format_storage(self._spec, self.storage_tool(self._spec.kafka), self._folder / "format")
        own_names = {META: plan.storage[META]}  # and not the first vote, which is ours too
        super().run(replace(plan, storage=formatted | own_names))


def seconds(start: Callable[[], Cluster]) -> float:
    began = time.monotonic()
    with start():
        return time.monotonic() - began


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="one round instead of five")
    options.add_argument("--json", action="store_true", help="answer in JSON")
    chosen = options.parse_args()
    spec = ClusterSpec(brokers=3)
    ensure_archive(spec.kafka)
    ways: dict[str, Callable[[], Cluster]] = {
        "plain": lambda: Cluster(spec, provider=PlainProcesses()),
        "ours": lambda: Cluster(spec, provider="processes"),
    }
    if docker_trouble() is None:
        ways["containers"] = lambda: Cluster(spec, provider="containers")
    for start in ways.values():
        seconds(start)  # imports, page cache, images: paid once, by nobody
    rounds = 1 if chosen.quick else 5
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):  # interleaved, so that a slow moment of the machine falls on all alike
        for name, start in ways.items():
            taken[name].append(seconds(start))
    middle = {name: statistics.median(times) for name, times in taken.items()}
    if chosen.json:
        print(json.dumps({"seconds": taken, "median": middle, "ratio": {n: m / middle["plain"] for n, m in middle.items()}}))
        return
    print(f"three brokers up, Kafka {spec.kafka}, median of {rounds}:")
    for name, median in middle.items():
        spread = f"{min(taken[name]):.2f}–{max(taken[name]):.2f}"
        print(f"  {name:<11} {median:5.2f} s  ({spread})  {median / middle['plain']:.2f} of plain")


if __name__ == "__main__":
    main()
