"""Recorded sequences of events with what a real Burrow answered, played again: do we answer the same?

The form of the file is that of shared/data/burrow_recorded.json. Times in it are relative to "now".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lag_monitor.answers import BurrowGroup, BurrowPartition, Commit
from lag_monitor.burrow.evaluating import evaluate
from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.verdict import Burrow

NOW = 1_700_000_000  # any whole second does
HEAD, COMMIT, OWNER, TOPIC_DELETED = range(4)
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    case: int
    what: str  # which figure
    ours: Any
    burrow: Any


def replay(recorded: Json) -> list[Difference]:
    """Everything in which we differ, none if we agree."""
    return [difference for case in recorded["recorded_cases"] for difference in _differences(case)]


def answer(case: Json) -> dict[str, Any]:
    """What we say, in the form of the recording."""
    rules = BurrowRules(
        case["window_size"], case["min_distance_s"], case["expire_s"], case["allowed_lag"], case["min_complete"]
    )
    store = ClusterStore(rules)
    for event in case["events"]:
        _play(store, event)
    found = evaluate(store, str(case["ask_group"]), NOW)
    return _told(found if found is not None else BurrowGroup("", Burrow.NOTFOUND, 1.0))


def _play(store: ClusterStore, event: Json) -> None:
    kind, topic = event["kind"], str(event["topic"])
    if kind == HEAD:
        store.head(topic, event["partition"], event["partition_total"], event["offset"])
    elif kind == COMMIT:
        when = NOW * 1000 + event["rel_ms"]
        store.commit(str(event["group"]), topic, event["partition"], event["offset"], event["order"], when, NOW)
    elif kind == OWNER:
        store.owner(str(event["group"]), topic, event["partition"], "somebody")
    elif kind == TOPIC_DELETED:
        store.delete_topic(topic)


def _told(group: BurrowGroup) -> dict[str, Any]:
    return {
        "status": int(group.status),
        "complete": group.complete,
        "partition_count": len(group.partitions),
        "not_ok_partitions": sum(partition.status > Burrow.OK for partition in group.partitions),
        "total_lag": group.totallag,
        "max_lag": group.maxlag.current_lag if group.maxlag else None,
        "partitions": [_partition(one) for one in group.partitions],
    }


def _partition(one: BurrowPartition) -> dict[str, Any]:
    return {
        "topic": int(one.topic),
        "partition": one.partition,
        "status": int(one.status),
        "current_lag": one.current_lag,
        "complete": one.complete,
        "start": _commit(one.start),
        "end": _commit(one.end),
    }


def _commit(commit: Commit | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    return {"offset": commit.offset, "rel_ms": commit.timestamp - NOW * 1000, "lag": commit.lag}


def _differences(case: Json) -> list[Difference]:
    ours, burrow = answer(case), dict(case["expect"])
    found = []
    for what in sorted(ours.keys() | burrow.keys()):
        mine, theirs = (_in_order(side.get(what)) for side in (ours, burrow))
        if mine != theirs:
            found.append(Difference(case["id"], what, mine, theirs))
    return found


def _in_order(value: Any) -> Any:
    """Burrow lists topics in any order."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return sorted(value, key=lambda one: (one["topic"], one["partition"]))
    return value
