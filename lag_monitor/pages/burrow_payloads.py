"""What Burrow knows, in the fields that Burrow answers with: their names, their order, null or an empty list.

Inside a consumer's windows it is `current-lag`, inside a status `current_lag`; both are Burrow's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lag_monitor.answers import BurrowGroup, BurrowPartition, BurrowWindow, Commit
from lag_monitor.pages.go_json import single
from lag_monitor.verdict import Burrow

Payload = dict[str, Any]


def request(url: str, host: str) -> Payload:
    return {"url": url, "host": host}


def answer(message: str, content: Mapping[str, object], asked: Payload) -> Payload:
    return {"error": False, "message": message, **content, "request": asked}


def refusal(message: str, asked: Payload) -> Payload:
    return {"error": True, "message": message, "request": asked}


def consumer(topics: Mapping[str, Sequence[BurrowWindow]]) -> Payload:
    return {topic: [_window(one) for one in topics[topic]] for topic in sorted(topics)}  # Go sorts the keys of a map


def status(cluster: str, group: BurrowGroup, *, every_partition: bool) -> Payload:
    shown = [one for one in group.partitions if every_partition or one.status > Burrow.OK]
    return {
        "cluster": cluster,
        "group": group.group,
        "status": group.status.name,
        "complete": single(group.complete),
        "partitions": [_partition(one) for one in shown],
        "partition_count": len(group.partitions),
        "maxlag": _partition(group.maxlag) if group.maxlag else None,
        "totallag": group.totallag,
    }


def not_found(group: str) -> BurrowGroup:
    return BurrowGroup(group, Burrow.NOTFOUND, 1.0)


def _partition(one: BurrowPartition) -> Payload:
    return {
        "topic": one.topic,
        "partition": one.partition,
        "owner": one.owner,
        "client_id": one.client_id,
        "status": one.status.name,
        "start": _commit(one.start),
        "end": _commit(one.end),
        "current_lag": one.current_lag,
        "complete": single(one.complete),
    }


def _window(one: BurrowWindow) -> Payload:
    offsets = [_commit(commit) for commit in one.offsets]
    return {"offsets": offsets, "owner": one.owner, "client_id": one.client_id, "current-lag": one.current_lag}


def _commit(one: Commit | None) -> Payload | None:
    if one is None:
        return None
    return {"offset": one.offset, "timestamp": one.timestamp, "observedAt": one.observed_at, "lag": one.lag}
