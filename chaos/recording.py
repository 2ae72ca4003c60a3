"""The evidence of a trial from the first line to the last: folder, manifest, events, ledger, logs.

However the trial ends, faults are healed, clients are finished and everything is read back, as far as that is possible;
and what happened is on disk, because evidence of a broken run is evidence too.
"""

import importlib.metadata
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chaos.evidence.account import Account
from chaos.evidence.events import EventLog
from chaos.evidence.folder import RunFolder
from chaos.schedule import Schedule
from chaos.settings import Settings
from chaos.stalls import Stalls
from chaos.trial import Say, Trial
from chaos.watch import Watch
from compose.cluster import Cluster
from kernel.errors import NotReady, SuiteError

# Somebody who watches a trial from its setup until its clients have ended.
Observe = Callable[[Trial], AbstractContextManager[object]]
FEWEST = 10  # sends during the faults of a run: with fewer, nobody was there to notice


@dataclass(frozen=True, slots=True)
class Subject:
    """What is on trial, for the manifest."""

    scenario: str
    settings: Settings
    promise: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    permitted: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)  # broker configuration that must be in effect
    replayed: Schedule | None = None


@contextmanager
def recording(
    cluster: Cluster,
    subject: Subject,
    *,
    runs: Path,
    shared: bool,
    conclude: Callable[[Trial, Account], None] = lambda _trial, _account: None,
    observe: Observe = nullcontext,
    say: Say = lambda _: None,
) -> Iterator[Trial]:
    """A trial on a cluster. `shared`: others use it too, so topics and groups get names of their own, and go at the end.
    `conclude` sees the closed ledger, unless the trial was over before its time."""
    now = datetime.now(UTC)
    run_id = f"{now:%H%M%S}-{secrets.token_hex(2)}"
    folder = RunFolder.create(runs, day=f"{now:%Y-%m-%d}", scenario=subject.scenario, run_id=run_id)
    manifest = _manifest(cluster, subject, run_id, now)
    folder.write_manifest(manifest)
    with ExitStack() as cleaning:
        events = EventLog(folder.events_file)
        cleaning.callback(events.close)
        trial = Trial(
            cluster, folder, events, run_id=run_id, options=subject.options, settings=subject.settings, seed=subject.seed,
            suffix=f"-{run_id}" if shared else "", say=say, replayed=subject.replayed,
        )  # fmt: skip
        cleaning.enter_context(trial.traffic)
        if shared:
            cleaning.callback(_tidy, trial)
        with _closed(trial, manifest), Stalls(events), Watch(cluster, events, lambda: list(trial.topics)):
            _check_config(trial, subject.asked)
            trial.phase("setup")
            with observe(trial):
                yield trial
                _wind_down(trial)
            _keep_logs(trial)
        if not trial.over:
            account = Account.of(folder)
            _worth(trial, account)
            conclude(trial, account)
        trial.phase("judge", "judging")


def _wind_down(trial: Trial) -> None:
    """Whatever was left broken is mended first, so that the closing reader can reach everything."""
    try:
        _heal(trial)
        trial.wind_down()
    except SuiteError as trouble:  # a state that did not come, or a client that ended before its time
        trial.over = True
        trial.expect("closed", None, f"The run could not be brought to its end: {trouble.message}")


def _heal(trial: Trial) -> None:
    trial.cluster.links.heal_all()
    for node in trial.cluster.nodes:
        if trial.cluster.running(node):
            trial.cluster.resume(node)
        trial.cluster.start(node)
    try:
        if trial.topics:
            trial.cluster.wait_replicated(*trial.topics)
    except NotReady as trouble:
        trial.expect("healed", False, f"Healed of every fault, the partitions are not back: {trouble.message}")


@contextmanager
def _closed(trial: Trial, manifest: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    finally:
        trial.traffic.end()
        manifest |= {"clients": trial.traffic.facts(), "topics": trial.topics, "schedule": trial.schedule}
        manifest["permitted"] += sorted(trial.permits - set(manifest["permitted"]))
        manifest |= {"exposed": trial.exposed, "finished": datetime.now(UTC).isoformat()}
        manifest["config"]["topics"] = _topic_configs(trial)
        trial.folder.write_manifest(manifest)
        trial.traffic.seal()


def _topic_configs(trial: Trial) -> dict[str, dict[str, str]]:
    configs = {}
    for topic in trial.topics:
        with suppress(SuiteError):  # nobody there to ask
            configs[topic] = trial.cluster.topic_config(topic)
    return configs


def _manifest(cluster: Cluster, subject: Subject, run_id: str, now: datetime) -> dict[str, Any]:
    import psutil

    return {
        "run_id": run_id,
        "scenario": subject.scenario,
        "promise": subject.promise,
        "seed": subject.seed,
        "permitted": list(subject.permitted),
        "clients": {},
        "started": now.isoformat(),
        "anchor": {"monotonic_ns": time.monotonic_ns(), "wall": now.isoformat()},
        "process": {"pid": os.getpid(), "began": psutil.Process().create_time()},
        "settings": subject.settings.name,
        "client_config": dict(subject.settings.clients),
        "options": dict(subject.options),
        "kafka": cluster.spec.kafka,
        "provider": cluster.provider,
        "brokers": len(cluster.brokers),
        "controllers": len(cluster.spec.controller_ids) if cluster.spec.controllers else 0,
        "security": cluster.spec.security,
        "versions": _versions(),
        "config": {"brokers": {str(broker): cluster.effective_config(broker) for broker in cluster.brokers}, "topics": {}},
    }


def _versions() -> dict[str, str]:
    from confluent_kafka import libversion

    ours = {name: importlib.metadata.version(name) for name in ("kafka-trial", "confluent-kafka", "pyarrow")}
    return ours | {"librdkafka": libversion()[0]}


def _check_config(trial: Trial, asked: Mapping[str, str]) -> None:
    """A trial of another configuration than the one that was asked for proves nothing."""
    for broker in trial.cluster.brokers:
        effective = trial.cluster.effective_config(broker)
        for key, value in asked.items():
            if key in effective and effective[key] != value:
                said = f"Broker {broker} has {key}={effective[key]}, not {value} as asked for."
                trial.expect("effective configuration", None, said)


def _worth(trial: Trial, account: Account) -> None:
    """A fault that nobody was there to notice proves nothing, and neither does a heal after which nobody read."""
    if not trial.windows:
        return
    during = sum(
        any(begin <= (sent.invoked_ns or 0) <= end for begin, end in trial.windows.values()) for sent in account.sends
    )
    if during < FEWEST:
        trial.expect("traffic", None, f"Only {during} sends were made while something was broken: fewer than {FEWEST}.")
    healed = max(end for _, end in trial.windows.values())
    if trial.reading and not any(read.completed_ns > healed for read in account.reads):
        trial.expect("reads", None, "Nobody read anything after the last fault was healed.")


def _keep_logs(trial: Trial) -> None:
    for node in trial.cluster.nodes:
        (trial.folder.logs / f"node-{node}.log").write_text(trial.cluster.log(node))


def _tidy(trial: Trial) -> None:
    with suppress(SuiteError):  # whoever uses the cluster next finds out whether it still works
        trial.cluster.delete_topics(*trial.topics)
