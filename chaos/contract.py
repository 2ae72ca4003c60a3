"""What the settings of a run promise, and what was seen under them: setting → promise → observed.

It explains a finding; it never excuses one. Whoever accepts an anomaly says so with --permit.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Clause:
    """One value of a setting: what Kafka promises under it, and which anomalies it leaves room for."""

    promise: str
    leaves_room: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Watch:
    """The anomalies by which a promise is seen to hold or not, and the words for both."""

    anomalies: tuple[str, ...]
    none: str
    some: str


LOSS = frozenset({"lost-write", "unseen-write", "inconsistent-offsets"})
LOST = Watch(("lost-write", "unseen-write"), "no acknowledged record lost", "acknowledged records lost")
TWICE = Watch(("duplicate", "nonmonotonic-send"), "no record twice, none out of order", "records twice or out of order")
UNCOMMITTED = Watch(
    ("aborted-read", "precommitted-read", "torn-transaction", "write-read-cycle"),
    "no record read that was not committed",
    "reads of what was not, or not wholly, committed",
)
READING = Watch(
    ("nonmonotonic-poll", "poll-skip"), "no reader went back or skipped", "steps back or over a record by a reader"
)
AHEAD = Watch(("commit-ahead",), "no commit ran ahead of its reader", "commits ahead of their reader")

WATCHED = {
    "acks": LOST,
    "enable.idempotence": TWICE,
    "isolation.level": UNCOMMITTED,
    "mode": READING,
    "enable.auto.commit": AHEAD,
    "unclean.leader.election.enable": LOST,
    "min.insync.replicas": LOST,
    "replication": LOST,
}

CLAUSES: dict[str, Callable[[str], Clause | None]] = {
    "acks": {
        "all": Clause("acknowledged when every replica in sync has it: it outlives its leader as long as one of them lives"),
        "1": Clause("acknowledged when the leader has it: it may die with the leader", LOSS),
        "0": Clause("counted as sent, by no broker acknowledged: it may never arrive", LOSS - {"inconsistent-offsets"}),
    }.get,
    "enable.idempotence": {
        "true": Clause("a retry is written once, and in order, as long as the producer lives"),
        "false": Clause("a retry may be written twice, and overtaken", frozenset({"duplicate", "nonmonotonic-send"})),
    }.get,
    "isolation.level": {
        "read_committed": Clause("a reader sees committed transactions only, each of them whole"),
        "read_uncommitted": Clause(
            "a reader sees records of open and aborted transactions",
            frozenset({"aborted-read", "precommitted-read", "write-read-cycle"}),
        ),
    }.get,
    "mode": {
        "assign": Clause("a reader sees each partition in order, without gaps, from where it began"),
        "subscribe": Clause(
            "the same inside one assignment; after a rebalance records may come again, but none is left out"
        ),
    }.get,
    "enable.auto.commit": {
        "true": Clause("handed over counts as done: who dies in between leaves records behind", frozenset({"commit-ahead"})),
        "false": Clause("only what the application commits counts as done"),
    }.get,
    "unclean.leader.election.enable": {
        "true": Clause(
            "availability first: a replica that fell behind may lead, and cut the log", LOSS | {"nonmonotonic-poll"}
        ),
        "false": Clause("no leader rather than one that lacks acknowledged records"),
    }.get,
    "min.insync.replicas": lambda value: Clause(
        "acks=all may mean the leader alone"
        if value == "1"
        else f"acks=all is refused while fewer than {value} replicas are in sync"
    ),
    "replication": lambda value: Clause(
        "one copy, gone while its broker is gone" if value == "1" else f"{value} copies, each on a broker of its own"
    ),
}


def contract(manifest: Mapping[str, Any], counts: Mapping[str, int]) -> list[dict[str, str]]:
    """One row for every setting and value that the run knows of; what the manifest does not tell is left out."""
    rows = []
    for setting, values in _in_force(manifest).items():
        for value in sorted(values):
            if clause := CLAUSES[setting](value):
                observed = _observed(clause, WATCHED[setting], counts)
                rows.append({"setting": setting, "value": value, "promise": clause.promise, "observed": observed})
    return rows


def permitted_by(settings: Settings) -> set[str]:
    """Which anomalies these settings (one value each, by Kafka's names) explain."""
    clauses = [CLAUSES[setting](_value(setting, value)) for setting, value in settings.items() if setting in CLAUSES]
    return {name for clause in clauses if clause for name in clause.leaves_room}


def _observed(clause: Clause, watch: Watch, counts: Mapping[str, int]) -> str:
    seen = {name: counts[name] for name in watch.anomalies if name in counts}
    if not seen:
        return "not looked at"
    if not any(seen.values()):
        return watch.none
    explained = all(name in clause.leaves_room for name, count in seen.items() if count)
    ending = "this setting allows it" if explained else "this setting does not explain it"
    return f"{sum(seen.values())} {watch.some}: {ending}"


def _in_force(manifest: Mapping[str, Any]) -> dict[str, set[str]]:
    """Every value of every setting, over all clients and topics."""
    clients, topics = _mappings(manifest.get("clients")), _topic_settings(manifest)
    sources: dict[str, Iterable[Any]] = {
        "acks": _all(clients, "acks"),
        "enable.idempotence": _all(clients, "idempotence"),
        "isolation.level": _all(clients, "isolation"),
        "mode": _all(clients, "mode"),
        "enable.auto.commit": _all(clients, "auto_commit"),
        "unclean.leader.election.enable": _all(topics, "unclean.leader.election.enable"),
        "min.insync.replicas": _all(topics, "min.insync.replicas"),
        "replication": _all(_mappings(manifest.get("topics")), "replication"),
    }
    return {setting: {_value(setting, value) for value in values} for setting, values in sources.items()}


def _topic_settings(manifest: Mapping[str, Any]) -> list[Settings]:
    """What a topic says of itself; what it was created with; what its brokers say, if it is silent."""
    config = manifest.get("config") or {}
    described = config.get("topics") or {}
    asked = {name: topic.get("config") or {} for name, topic in (manifest.get("topics") or {}).items()}
    brokers = _mappings(config.get("brokers"))
    fallback = brokers[0] if brokers else {}
    return [{**fallback, **asked.get(name, {}), **described.get(name, {})} for name in sorted({*described, *asked})]


def _mappings(found: Mapping[str, Settings] | None) -> list[Settings]:
    return list((found or {}).values())


def _all(found: Iterable[Settings], key: str) -> list[Any]:
    return [settings[key] for settings in found if settings.get(key) is not None]


def _value(setting: str, value: Any) -> str:
    text = str(value).lower()
    return "all" if setting == "acks" and text == "-1" else text
