"""Our own verdicts as plain values for JSON. Times are ISO 8601 in UTC; what is not known is null, and nothing is NaN."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lag_monitor.answers import ClusterSummary, Disagreement
from lag_monitor.pages.words import iso
from lag_monitor.verdict import GroupVerdict, PartitionVerdict

Payload = dict[str, Any]
# Under these names an incident's numbers are times; 0 is never.
TIMES = frozenset(("at", "since", "began", "looked", "opened", "opened_at", "closed", "closed_at", "last_sent", "refreshed"))


def cluster(one: ClusterSummary) -> Payload:
    return {
        "cluster": one.name,
        "bootstrap": one.bootstrap,
        "ready": one.ready,
        "up": one.up,
        "trouble": one.trouble or None,
        "judged_at": iso(one.judged_at),
        "groups": one.groups,
        "partitions": one.partitions,
        "by_status": {status.name: number for status, number in sorted(one.by_status.items(), reverse=True)},
        "sources": list(one.sources),
        "disagreements": one.disagreements,
    }


def group(one: GroupVerdict) -> Payload:
    return {
        "cluster": one.cluster,
        "group": one.group,
        "status": one.status.name,
        "gravity": one.gravity.name,
        "reason": one.reason,
        "since": iso(one.since),
        "judged_at": iso(one.at),
        "lag": one.lag,
        "seconds": _number(one.seconds),
        "slo_seconds": _number(one.slo),
        "state": one.state or None,
        "kind": one.kind or None,
        "members": one.members,
        "burrow": one.burrow.name,
        "partition_count": one.partition_count,
    }


def whole_group(one: GroupVerdict) -> Payload:
    return {**group(one), "partitions": [_partition(part) for part in one.partitions]}


def disagreement(one: Disagreement) -> Payload:
    return {
        "group": one.group,
        "topic": one.topic,
        "partition": one.partition,
        "ours": one.ours.name,
        "burrow": one.burrow.name,
        "reason": one.reason,
    }


def incidents(known: Iterable[Mapping[str, Any]]) -> list[Payload]:
    """As they are told, but with times and numbers as everywhere here."""
    return [_timed(one) for one in known]


def _partition(one: PartitionVerdict) -> Payload:
    return {
        "topic": one.topic,
        "partition": one.partition,
        "status": one.status.name,
        "gravity": one.status.gravity.name,
        "reason": one.reason,
        "evidence": {name: _plain(value) for name, value in one.evidence.items()},
        "since": iso(one.since),
        "committed": one.committed,
        "end": one.end,
        "lag": one.lag,
        "seconds": _number(one.seconds),
        "owner": one.owner or None,
        "client_id": one.client_id or None,
        "burrow": one.burrow.name,
        "samples": [{"at": iso(at), "lag": _number(lag)} for at, lag in one.samples],
    }


def _timed(one: Mapping[str, Any]) -> Payload:
    told: Payload = {}
    for name, value in one.items():
        if name in TIMES and isinstance(value, int | float) and not isinstance(value, bool):
            told[str(name)] = iso(value) if value else None
        else:
            told[str(name)] = _timed(value) if isinstance(value, Mapping) else _plain(value)
    return told


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return getattr(value, "name", value)  # an enumeration by its name
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, Sequence | set | frozenset) else str(value)


def _number(value: float | None) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else value
