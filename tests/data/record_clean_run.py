"""Records tests/data/clean_run: real traffic on three real brokers, everything that a client here can do, no anomaly.

    python -m tests.data.record_clean_run

Round-robin, keyed and transactional producers; a group that gains a member and loses it again; readers of both isolation
levels; a harmless fault; the closing drain. The mutators edit this history, so it must have a place for each of them.
"""

import shutil
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chaos.evidence.events import EventLog
from chaos.evidence.folder import RunFolder
from chaos.faults.link_fault import LinkFault
from chaos.judge import judge
from chaos.settings import QUICK
from chaos.trial import Trial
from chaos.watch import Watch
from compose.cluster import Cluster
from compose.links import Link
from compose.toxics import Latency

HERE = Path(__file__).parent / "clean_run"
RUN_ID, SEED = "clean-run", 1
# Of a broker's two hundred settings those that promises are made of; none that names a host or a folder.
TOLD = ("min.insync.replicas", "unclean.leader.election.enable", "broker.session.timeout.ms", "replica.lag.time.max.ms")


def main() -> int:
    with tempfile.TemporaryDirectory() as place, Cluster(config=dict(QUICK.brokers)) as cluster:
        folder = RunFolder.create(Path(place), day="day", scenario="recording", run_id=RUN_ID)
        record(cluster, folder)
        verdict = judge(folder)
        print(f"{verdict['verdict']}: {verdict['acknowledged']} acknowledged, {verdict['rows']} rows", *verdict["reasons"])
        if verdict["verdict"] == "PASS":
            keep(folder)
    return 0 if verdict["verdict"] == "PASS" else 1


def record(cluster: Cluster, folder: RunFolder) -> None:
    events = EventLog(folder.events_file)
    trial = Trial(cluster, folder, events, run_id=RUN_ID, options={}, settings=QUICK, seed=SEED, say=print)
    began = datetime.now(UTC).isoformat()
    with trial.traffic, Watch(cluster, events, lambda: list(trial.topics)):
        act(trial)
        trial.wind_down()
    folder.write_manifest(manifest(trial, began))
    trial.traffic.seal()
    events.close()


def act(trial: Trial) -> None:
    trial.phase("setup")
    orders, payments, books = (trial.topic(name, partitions=2) for name in ("orders", "payments", "books"))
    trial.producer("round-robin", orders, rate=24)
    trial.producer("keyed", payments, rate=16, keys=10, size=40, size_max=200)
    trial.producer("transactional", books, rate=30, transaction=6, abort_every=5)
    for member in ("member-1", "member-2"):
        trial.consumer(member, commit_every=0.7)
    trial.consumer("committed", mode="assign")
    trial.consumer("uncommitted", mode="assign", isolation="read_uncommitted")
    trial.healthy(canary=False)
    trial.warm_up()
    with trial.inject(LinkFault((Link("client", 1),), Latency(ms=40))) as fault:
        trial.hold(fault, 1.5)
    trial.healthy("healthy-again")
    rebalance(trial)
    trial.steady()


def rebalance(trial: Trial) -> None:
    """One member more, and gone again as a member should go."""
    trial.consumer("member-3")
    trial.healthy("healthy-again")
    trial.steady()
    trial.traffic.close("member-3")
    trial.groups[trial.group()] -= 1
    trial.healthy("healthy-again")


def manifest(trial: Trial, began: str) -> dict[str, Any]:
    cluster = trial.cluster
    return {
        "run_id": RUN_ID,
        "scenario": "recording",
        "seed": SEED,
        "permitted": [],
        "clients": trial.traffic.facts(),
        "topics": trial.topics,
        "schedule": trial.schedule,
        "started": began,
        "anchor": {"monotonic_ns": trial.began_ns, "wall": began},
        "settings": trial.settings.name,
        "kafka": cluster.spec.kafka,
        "provider": cluster.provider,
        "brokers": len(cluster.brokers),
        "config": {"brokers": {str(b): told(cluster.effective_config(b)) for b in cluster.brokers}},
    }


def told(config: Mapping[str, str]) -> dict[str, str]:
    return {key: config[key] for key in TOLD}


def keep(folder: RunFolder) -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    shutil.copytree(folder.path, HERE, ignore=shutil.ignore_patterns("logs"))


if __name__ == "__main__":
    sys.exit(main())
