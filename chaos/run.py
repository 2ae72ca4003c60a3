"""From what somebody asked for to a verdict: checked whole, run on a cluster, judged, reported."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chaos.evidence.folder import RunFolder
from chaos.recording import Observe, Subject, recording
from chaos.scenarios import scenario_named
from chaos.scenarios.scenario import Scenario
from chaos.schedule import Schedule
from chaos.settings import DEFAULT, Settings, settings_named
from chaos.trial import Say, Trial, TrialOver
from compose.clocks import check_clocks
from compose.cluster import Cluster
from compose.disks import check_disks
from compose.providers import provider_named
from compose.spec import DEFAULT_KAFKA, DEFAULT_SECURITY, ClusterSpec, check_version
from kernel.errors import NotReady, UsageError
from kernel.verdict import ANOMALIES

RUNS = Path("runs")
KIP_848 = (4, 0, 0)  # the first version whose brokers speak the new group protocol without being told to


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
    security: str = DEFAULT_SECURITY
    runs: Path = RUNS
    permitted: Sequence[str] = ()
    replay: Path | None = None  # the schedule.json of an earlier run
    schedule: Schedule | None = None  # the same, in hand
    clients: Mapping[str, str] = field(default_factory=dict)  # told to every producer and consumer of the run


@dataclass(frozen=True, slots=True)
class Plan:
    """Wishes that were found possible."""

    scenario: Scenario
    cluster: ClusterSpec
    subject: Subject


def plan(wishes: Wishes) -> Plan:
    scenario, settings = scenario_named(wishes.scenario), settings_named(wishes.settings)
    settings = replace(settings, clients={**settings.clients, **wishes.clients})
    for name in wishes.permitted:
        if name not in ANOMALIES:
            raise UsageError(f"anomaly {name!r} cannot be permitted: it is not one of {', '.join(ANOMALIES)}.")
    scenario.cluster(wishes.brokers)  # refused first, if there are too few
    options = scenario.chosen(wishes.options, wishes.brokers)
    cluster = _cluster(scenario, wishes, settings, options)
    if scenario.plaintext and cluster.security != "plaintext":
        raise UsageError(
            f"{scenario.name} tells single requests apart, which it cannot where everything is encrypted: leave out "
            f"--security {cluster.security}."
        )
    if scenario.since and check_version(cluster.kafka) < check_version(scenario.since):
        raise UsageError(f"{scenario.name} needs Kafka {scenario.since} or newer, not {cluster.kafka}: use another version.")
    if options.get("protocol") == "consumer" and check_version(wishes.kafka) < KIP_848:
        raise UsageError(
            f"protocol 'consumer' needs Kafka 4.0 or newer, not {wishes.kafka}: use classic, or another version."
        )
    schedule = wishes.schedule
    if wishes.replay is not None:
        schedule = Schedule.load(wishes.replay, nodes=cluster.node_ids)
    if schedule is not None and not scenario.replays:
        raise UsageError(
            f"{scenario.name} takes no schedule: its steps are its own. Repeat it with the same options and --seed; "
            "--replay is for storm."
        )
    seed = secrets.randbelow(2**31) if wishes.seed is None else wishes.seed
    subject = Subject(
        scenario.name, settings, scenario.promise, options, seed, tuple(wishes.permitted), cluster.config, schedule
    )
    return Plan(scenario, cluster, subject)


def _cluster(scenario: Scenario, wishes: Wishes, settings: Settings, options: Mapping[str, str]) -> ClusterSpec:
    wanted = scenario.cluster(wishes.brokers)
    special = dict(scenario.spec(options))
    for what, asked, usual in (("kafka", wishes.kafka, DEFAULT_KAFKA), ("security", wishes.security, DEFAULT_SECURITY)):
        if what in special and asked not in (usual, special[what]):
            own = next((name for name in scenario.options if options[name] == special[what]), None)
            instead = f"say -o {own}={asked}" if own else "leave it out"
            raise UsageError(f"--{what} {asked} cannot be: {scenario.name} itself decides on {special[what]}; {instead}.")
    config = {**settings.brokers, **wanted.pop("config"), **special.pop("config", {})}
    return ClusterSpec(**{**wanted, "kafka": wishes.kafka, "security": wishes.security, **special}, config=config)


def check_here(wanted: Plan, provider: str) -> None:
    """Whether it can be done on this machine, with brokers of this provider: told before anything is started."""
    there = provider_named(provider)
    if wanted.scenario.processes and there != "processes":
        raise UsageError(
            f"{wanted.scenario.name} reaches into what brokers keep or send, so they have to be processes of this machine: "
            "use --provider processes.",
            provider=there,
        )
    check_disks(wanted.cluster.disks, there)
    check_clocks(wanted.cluster.clocks, there)


def run(
    wishes: Wishes,
    *,
    say: Say = lambda _: None,
    watch: Callable[[Trial], None] = lambda _: None,
    observe: Observe = nullcontext,
    cluster: Cluster | None = None,
) -> tuple[RunFolder, dict[str, Any]]:
    """Run a scenario to its verdict. On a `cluster` that is handed in, the run leaves nothing of its own behind.
    `watch` is given the trial once it is there, to show its counts; `observe` is around it until its clients have ended."""
    wanted = plan(wishes)
    check_here(wanted, wishes.provider if cluster is None else cluster.provider)
    if cluster is not None:
        folder = _run_on(cluster, wanted, wishes.runs, say, watch, observe, shared=True)
    else:
        with Cluster(wanted.cluster, provider=wishes.provider, say=say) as own:
            folder = _run_on(own, wanted, wishes.runs, say, watch, observe, shared=False)
    return folder, judged(folder)


def _run_on(
    cluster: Cluster,
    wanted: Plan,
    runs: Path,
    say: Say,
    watch: Callable[[Trial], None],
    observe: Observe,
    *,
    shared: bool,
) -> RunFolder:
    with recording(
        cluster, wanted.subject, runs=runs, shared=shared, conclude=wanted.scenario.conclude, observe=observe, say=say
    ) as trial:
        watch(trial)
        _act(wanted.scenario, trial)
    return trial.folder


def _act(scenario: Scenario, trial: Trial) -> None:
    try:
        scenario.act(trial)
    except TrialOver:
        trial.over = True
    except NotReady as trouble:  # a state that we needed did not come: nothing is proved either way
        trial.over = True
        trial.expect("completed", None, f"The scenario could not be completed: {trouble.message}")


@contextmanager
def freehand(
    cluster: Cluster,
    *,
    runs: Path = RUNS,
    name: str = "freehand",
    settings: Settings = DEFAULT,
    observe: Observe = nullcontext,
    say: Say = lambda _: None,
) -> Iterator[Trial]:
    """A trial without a scenario: topics, traffic and faults as whoever holds it likes; judged when the block ends."""
    with recording(cluster, Subject(name, settings), runs=runs, shared=True, observe=observe, say=say) as trial:
        yield trial
    trial.verdict = judged(trial.folder)


def judged(folder: RunFolder) -> dict[str, Any]:
    """The verdict of a recorded run, written beside its evidence, with the report."""
    from chaos.judge import judge
    from chaos.report.html import write_report

    verdict = judge(folder)
    folder.write_verdict(verdict)
    write_report(folder)
    return verdict
