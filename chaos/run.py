"""The life of a run: folder, cluster, trial, verdict, report. Whatever goes wrong, what happened is on disk."""

import importlib.metadata
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chaos.evidence.account import Account
from chaos.evidence.events import EventLog
from chaos.evidence.folder import RunFolder
from chaos.scenarios import scenario_named
from chaos.scenarios.scenario import Scenario
from chaos.settings import Settings, settings_named
from chaos.trial import Say, Trial, TrialOver
from chaos.watch import Watch
from compose.cluster import Cluster
from compose.spec import DEFAULT_KAFKA
from kernel.errors import NotReady, SuiteError, UsageError
from kernel.verdict import ANOMALIES

RUNS = Path("runs")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What somebody asked for. Checked whole before anything is started."""

    scenario: str
    options: Mapping[str, str] = field(default_factory=dict)
    settings: str = "quick"
    seed: int | None = None
    brokers: int | None = None
    kafka: str = DEFAULT_KAFKA
    provider: str = "auto"
    security: str = "plaintext"
    runs: Path = RUNS
    permitted: Sequence[str] = ()
    schedule: Any = None  # a schedule to replay instead of drawing one


@dataclass(frozen=True, slots=True)
class Plan:
    """Wishes that were found possible."""

    scenario: Scenario
    options: dict[str, str]
    settings: Settings
    seed: int
    cluster: dict[str, Any]
    permitted: tuple[str, ...]


def plan(wishes: Wishes) -> Plan:
    scenario = scenario_named(wishes.scenario)
    settings = settings_named(wishes.settings)
    for name in wishes.permitted:
        if name not in ANOMALIES:
            raise UsageError(f"anomaly {name!r} cannot be permitted: it is not one of {', '.join(ANOMALIES)}.")
    cluster = scenario.cluster(wishes.brokers)
    cluster["config"] = {**settings.brokers, **cluster["config"]}
    cluster |= {"kafka": wishes.kafka, "security": wishes.security}
    seed = secrets.randbelow(2**31) if wishes.seed is None else wishes.seed
    return Plan(scenario, scenario.chosen(wishes.options), settings, seed, cluster, tuple(wishes.permitted))


def run(
    wishes: Wishes,
    *,
    say: Say = lambda _: None,
    watch: Callable[[Trial], None] = lambda _: None,
    cluster: Cluster | None = None,
) -> tuple[RunFolder, dict[str, Any]]:
    """Run a scenario to its verdict. On a `cluster` that is handed in, the run leaves nothing of its own behind.
    `watch` is given the trial once it is there, to show its counts."""
    wanted = plan(wishes)
    if cluster is None:
        with Cluster(**wanted.cluster, provider=wishes.provider, say=say) as own:
            folder = _run_on(own, wanted, wishes, say, watch, shared=False)
    else:
        folder = _run_on(cluster, wanted, wishes, say, watch, shared=True)
    return folder, _judge(folder)


def _run_on(
    cluster: Cluster, wanted: Plan, wishes: Wishes, say: Say, watch: Callable[[Trial], None], *, shared: bool
) -> RunFolder:
    now = datetime.now(UTC)
    run_id = f"{now:%H%M%S}-{secrets.token_hex(2)}"
    folder = RunFolder.create(wishes.runs, day=f"{now:%Y-%m-%d}", scenario=wanted.scenario.name, run_id=run_id)
    manifest = _manifest(cluster, wanted, run_id, now)
    folder.write_manifest(manifest)
    with ExitStack() as cleaning:
        events = EventLog(folder.events_file)
        cleaning.callback(events.close)
        trial = Trial(
            cluster, folder, events, run_id=run_id, options=wanted.options, settings=wanted.settings, seed=wanted.seed,
            suffix=f"-{run_id}" if shared else "", say=say, replayed=wishes.schedule,
        )  # fmt: skip
        cleaning.enter_context(trial.traffic)
        watch(trial)
        if shared:
            cleaning.callback(_tidy, trial)
        with _recorded(trial, manifest), Watch(cluster, events, lambda: list(trial.topics)):
            _check_config(trial, wanted.cluster["config"] if not shared else {})
            finished = _act(wanted.scenario, trial)
            _keep_logs(trial)
        if finished:
            wanted.scenario.conclude(trial, Account.of(folder))
        trial.phase("judge", "judging")
    return folder


def _act(scenario: Scenario, trial: Trial) -> bool:
    """Whether the scenario came to its end. If not, what is on record says why."""
    finished = False
    trial.phase("setup")
    try:
        scenario.act(trial)
        finished = True
    except TrialOver:
        pass
    except NotReady as trouble:  # a state that we needed did not come: nothing is proved either way
        trial.expect("completed", None, f"The scenario could not be completed: {trouble.message}")
    _heal(trial)
    trial.wind_down()
    return finished


def _heal(trial: Trial) -> None:
    """Whatever the scenario left broken, so that the closing reader can reach everything."""
    trial.cluster.links.heal_all()
    for node in trial.cluster.nodes:
        trial.cluster.resume(node) if trial.cluster.running(node) else None
        trial.cluster.start(node)
    try:
        trial.cluster.wait_replicated(*trial.topics) if trial.topics else None
    except NotReady as trouble:
        trial.expect("healed", False, f"Healed of every fault, the partitions are not back: {trouble.message}")


@contextmanager
def _recorded(trial: Trial, manifest: dict[str, Any]) -> Iterator[None]:
    """The manifest is completed and the ledger sealed however the trial ends: evidence of a broken run is evidence too."""
    try:
        yield
    finally:
        trial.traffic.end()
        manifest |= {"clients": trial.traffic.facts(), "topics": trial.topics, "schedule": trial.schedule}
        manifest |= {"exposed": trial.exposed, "finished": datetime.now(UTC).isoformat()}
        trial.folder.write_manifest(manifest)
        trial.traffic.seal()


def _judge(folder: RunFolder) -> dict[str, Any]:
    from chaos.judge import judge
    from chaos.report.html import write_report

    verdict = judge(folder)
    folder.write_verdict(verdict)
    write_report(folder)
    return verdict


def _manifest(cluster: Cluster, wanted: Plan, run_id: str, now: datetime) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "scenario": wanted.scenario.name,
        "promise": wanted.scenario.promise,
        "seed": wanted.seed,
        "permitted": list(wanted.permitted),
        "clients": {},
        "started": now.isoformat(),
        "anchor": {"monotonic_ns": time.monotonic_ns(), "wall": now.isoformat()},
        "settings": wanted.settings.name,
        "options": wanted.options,
        "kafka": cluster.spec.kafka,
        "provider": cluster.provider,
        "brokers": len(cluster.brokers),
        "security": cluster.spec.security,
        "versions": _versions(),
        "config": {"brokers": {str(b): cluster.effective_config(b) for b in cluster.brokers}, "topics": {}},
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


def _keep_logs(trial: Trial) -> None:
    for node in trial.cluster.nodes:
        (trial.folder.logs / f"node-{node}.log").write_text(trial.cluster.log(node))


def _tidy(trial: Trial) -> None:
    with suppress(SuiteError):  # whoever uses the cluster next finds out whether it still works
        trial.cluster.delete_topics(*trial.topics)
