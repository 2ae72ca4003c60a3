"""The end of an application's own run: its ledger is closed, and every partition that it wrote is read back.

The application wrote its part by `interceptors.ledger.Ledger`. What it could not know is what its logs hold now; with that
in the same folder, the run can be judged like any trial.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from chaos.evidence.events import EventLog
from chaos.evidence.folder import RunFolder
from chaos.evidence.seal import close_application, seal
from chaos.traffic.plans import DrainPlan
from interceptors.ledger.joining import changing, new_life, this_clock
from interceptors.ledger.valuing import BY_HEADER, HeaderValues, PayloadValues, Values, value_function
from kernel.errors import NotReady, UsageError

if TYPE_CHECKING:
    from chaos.faults.fault import CanBeBroken, Fault

OUR_OWN = "interceptors.ledger."  # functions of ours that a manifest may name; what else it names is not run unasked


@dataclass(frozen=True, slots=True)
class Drained:
    read: int  # records of this run
    partitions: int
    reached: int  # of them, to the end
    missing: tuple[str, ...]  # topics that were written and do not exist any more

    @property
    def complete(self) -> bool:
        return self.reached == self.partitions and not self.missing


def drain(
    run: Path, config: Mapping[str, Any], *, topics: Iterable[str] = (), value: Any = None, timeout: float = 60
) -> Drained:
    """`config` is librdkafka's: the cluster's address. Topics are those that the ledger says were written, and these."""
    folder = RunFolder(run)
    values = _values(folder, value)
    close_application(run)
    _say(folder, "drain")
    wanted = {*_written(folder), *topics}
    if not wanted:
        raise UsageError(
            f"the ledger in {run} names no topic that was written: there is nothing to read back; give --topic."
        )
    found = _topics(config, timeout)
    there = {topic: found[topic] for topic in sorted(wanted & found.keys())}
    if not there:
        where = config.get("bootstrap.servers")
        raise UsageError(f"{where} has none of {', '.join(sorted(wanted))}: is it the cluster of the run in {run}?")
    status = _read_back(folder, config, {topic: facts["partitions"] for topic, facts in there.items()}, values, timeout)
    ended = Drained(
        status["read"], sum(facts["partitions"] for facts in there.values()), status["drained"],
        tuple(sorted(wanted - found.keys())),
    )  # fmt: skip
    _tell(folder, there, ended)
    return ended


@contextmanager
def injected(run: Path, fault: "Fault", cluster: "CanBeBroken") -> Iterator[None]:
    """A fault while the application runs: it goes on record, must be seen to bite, and is healed whatever happens inside."""
    folder, arena = RunFolder(run), SimpleNamespace(cluster=cluster, traffic=None)
    run.mkdir(parents=True, exist_ok=True)  # the application may not have begun yet
    folder.events_file.touch()
    name = next(f"f{n}" for n in count(1) if f"f{n}" not in {event.get("id") for event in folder.events()})
    events = EventLog(folder.events_file)
    try:
        events.write("fault", id=name, fault=fault.kind, sentence=fault.sentence, affected=None)
        with fault.applied(arena):
            events.write("bite", id=name, sentence=fault.bite(arena))
            yield
    finally:
        events.write("heal", id=name)
        events.close()


def _say(folder: RunFolder, phase: str) -> None:
    """Only where its time means something: the clock of another machine, or of another boot, is another clock."""
    if folder.manifest().get("clock") == this_clock():
        events = EventLog(folder.events_file)
        events.write("phase", phase=phase)
        events.close()


def _values(folder: RunFolder, told: Any) -> Values:
    manifest = folder.manifest()
    how = told if told is not None else manifest.get("value")
    if how == BY_HEADER:
        return HeaderValues(str(manifest["run_id"]))
    if told is None and not (isinstance(how, str) and how.startswith(OUR_OWN)):
        name = f" ({how})" if how else ""
        raise UsageError(
            f"the records of the run in {folder.path} have their values by a function of its own{name}: "
            "name it with --value."
        )
    return PayloadValues(value_function(how))


def _written(folder: RunFolder) -> set[str]:
    from chaos.evidence.history import FAIL, read_history

    history = read_history(folder.ledger)
    sends = history.sends
    places = {int(place) for place in set(sends.partition[sends.outcome != FAIL].tolist()) if place >= 0}
    return {history.partitions[place][0] for place in places}


def _topics(config: Mapping[str, Any], timeout: float) -> dict[str, dict[str, int]]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        found = AdminClient({**config, "log_level": 0}).list_topics(timeout=min(timeout, 30.0)).topics
    except KafkaException as trouble:
        raise NotReady(f"{config.get('bootstrap.servers')} does not answer: {trouble.args[0].str()}.") from None
    return {
        name: {"partitions": len(topic.partitions), "replication": min(len(p.replicas) for p in topic.partitions.values())}
        for name, topic in found.items()
        if topic.partitions
    }


def _read_back(
    folder: RunFolder, config: Mapping[str, Any], topics: dict[str, int], values: Values, timeout: float
) -> dict[str, Any]:
    from chaos.traffic.draining import Draining
    from interceptors.ledger.ledger_writer import LedgerWriter

    plan, status = DrainPlan(topics=topics, timeout=timeout), {"read": 0, "drained": 0}
    with changing(folder.path) as manifest:
        life = new_life("drain", manifest.setdefault("clients", {}))
        manifest["clients"][life] = plan.facts()
    writer = LedgerWriter(folder.ledger, str(manifest["run_id"]), life, final=True)
    Draining(plan, dict(config), writer, values).run(lambda: None, status.update)
    seal(folder.path)
    return status


def _tell(folder: RunFolder, topics: dict[str, dict[str, int]], ended: Drained) -> None:
    with changing(folder.path) as manifest:
        manifest["topics"] = {**manifest.get("topics", {}), **topics}
        if ended.complete:  # from now on, whoever would send more would be sending after the end
            manifest["finished"] = datetime.now(UTC).isoformat()
