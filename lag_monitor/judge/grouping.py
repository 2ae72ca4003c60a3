"""From partitions to groups: the gravest partition speaks for its group. Done for all groups at once, after every look."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lag_monitor.burrow.evaluating import windows_of
from lag_monitor.burrow.rules import judge as burrow_judge
from lag_monitor.judge.observing import Looked, tenths
from lag_monitor.judge.rules import gather
from lag_monitor.judge.settings import Patience
from lag_monitor.judge.words import Speaker, number, records
from lag_monitor.store.cluster_store import ClusterStore, Group
from lag_monitor.store.table import I8, I64, U8
from lag_monitor.store.windows import GONE_TOPIC
from lag_monitor.verdict import Burrow, Gravity, GroupVerdict, PartitionVerdict, Status

WORST = 5  # partitions that a summary names
Since = dict[str, tuple[Status, float]]


@dataclass(frozen=True, slots=True)
class Judged:
    """All that the last look said, row by row: those of a group stand together, its gravest first."""

    looked: Looked
    rows: I64
    status: I8
    burrow: U8
    begins: I64  # where each group begins
    places: I64  # of the groups


def order(store: ClusterStore, looked: Looked, status: I8) -> Judged:
    rows = looked.rows
    group = store.windows.group[rows]
    by = np.lexsort((rows, -looked.lag[rows], -status.astype(np.int64), group))
    rows, status, group = rows[by], status[by], group[by]
    begins = np.nonzero(np.diff(group, prepend=-1))[0]
    return Judged(
        looked, rows, status, burrow_statuses(store, rows, int(looked.now)), begins, group[begins].astype(np.int64)
    )


def burrow_statuses(store: ClusterStore, rows: I64, now: int) -> U8:
    """Of rows that Burrow would know; OK for the others."""
    known = rows.astype(np.int32)
    status = burrow_judge(windows_of(store, known), store.rules, now)
    status[(store.windows.flags[known] & GONE_TOPIC) > 0] = Burrow.OK
    return status


def summaries(store: ClusterStore, judged: Judged, patience: Patience, cluster: str, since: Since) -> list[GroupVerdict]:
    """A verdict on every group, gravest first, with its worst partitions. `since` is kept from one look to the next."""
    ends = np.append(judged.begins, len(judged.rows))[1:]
    spans = dict(zip(judged.places.tolist(), zip(judged.begins.tolist(), ends.tolist(), strict=True), strict=True))
    found = []
    for group in store.groups.values():
        begin, end = spans.get(group.place, (0, 0))
        found.append(_group(store, judged, patience, cluster, group, slice(begin, end), since))
    for gone in since.keys() - store.groups.keys():
        del since[gone]
    return sorted(found, key=lambda one: (-one.status, one.group))


def _group(
    store: ClusterStore,
    judged: Judged,
    patience: Patience,
    cluster: str,
    group: Group,
    which: slice,
    since: Since,
) -> GroupVerdict:
    rows, looked = judged.rows[which], judged.looked
    status = Status(int(judged.status[which][0])) if len(rows) else Status.OK
    if status is Status.OK and _left(store, group, rows, looked.now, patience):
        status = Status.EMPTY_GROUP
    told = since.get(group.name)
    if told is None or told[0] is not status:
        told = since[group.name] = (status, looked.now)
    seconds = looked.seconds[rows]
    burrow = Burrow(int(judged.burrow[which].max())) if len(rows) else Burrow.OK
    worst = rows[:WORST] if status.gravity > Gravity.OK else rows[:0]
    speaking = partition_verdicts(store, judged, patience, worst, judged.status[which][:WORST], judged.burrow[which][:WORST])
    return GroupVerdict(
        cluster=cluster,
        group=group.name,
        status=status,
        reason=_reason(status, judged.status[which], looked.lag[rows], speaking),
        since=told[1],
        at=looked.now,
        lag=int(looked.lag[rows].sum()),
        seconds=number(float(np.nanmax(seconds))) if len(rows) and not np.isnan(seconds).all() else None,
        state=group.state,
        kind=group.kind,
        members=group.members,
        slo=group.slo or None,
        burrow=min(burrow, Burrow.ERR),
        partition_count=len(rows),
        partitions=tuple(speaking),
    )


def _left(store: ClusterStore, group: Group, rows: I64, now: float, patience: Patience) -> bool:
    """Nobody is in it, and nobody commits without being in it, as a consumer with partitions of its own choice does."""
    if group.members != 0:
        return False
    moved = store.windows.moved_at[rows]
    return not len(rows) or bool(tenths(store, now) - int(moved.max()) > 10 * patience.quiet)


def _reason(status: Status, statuses: I8, lag: I64, worst: list[PartitionVerdict]) -> str:
    if status is Status.OK:
        if not len(statuses):
            return "nothing is committed yet"
        most = int(lag.max())
        return "at the end of every partition" if most == 0 else f"at most {records(most)} behind in a partition"
    if status is Status.EMPTY_GROUP and not len(statuses):
        return "no members, and nothing is committed"
    if status is Status.EMPTY_GROUP and not (statuses == Status.EMPTY_GROUP).any():
        return "no members; everything there is has been read"
    first = worst[0]
    count = int(np.count_nonzero(statuses == status))
    several = f"{count} of {len(statuses)} partitions; " if len(statuses) > 1 else ""
    return f"{several}{first.topic}-{first.partition}: {first.reason}"


def partition_verdicts(
    store: ClusterStore, judged: Judged, patience: Patience, rows: I64, statuses: I8, burrow: U8
) -> list[PartitionVerdict]:
    if not len(rows):
        return []
    facts = gather(store, judged.looked, patience, rows)
    speaker = Speaker(store, facts, patience)
    gone = _gone_names(store, rows)
    found = []
    for at, row in enumerate(rows.tolist()):
        status = Status(int(statuses[at]))
        topic, partition = gone.get(row) or _name(store, row)
        host, client_id = store.owners[store.windows.owner[row]]
        found.append(
            PartitionVerdict(
                topic=topic,
                partition=partition,
                status=status,
                reason=speaker.reason(at, status),
                evidence=speaker.evidence(at, status),
                since=store.began + int(store.windows.since[row]) / 10,
                committed=int(facts.committed[at]) if facts.committed[at] >= 0 else None,
                end=int(facts.end[at]) if facts.end[at] >= 0 else None,
                lag=int(facts.lag[at]),
                seconds=number(float(facts.seconds[at])),
                owner=host.lstrip("/"),
                client_id=client_id,
                burrow=Burrow(int(burrow[at])),
                samples=_samples(store, row),
            )
        )
    return found


def _samples(store: ClusterStore, row: int) -> tuple[tuple[float, float], ...]:
    lags = store.windows.samples[row, -len(store.ticks) :].tolist() if store.ticks else []
    return tuple((when, lag) for when, lag in zip(store.ticks, lags, strict=True) if lag == lag)


def _name(store: ClusterStore, row: int) -> tuple[str, int]:
    head = int(store.windows.head[row])
    return store.heads.named(head) if head >= 0 else ("?", 0)


def _gone_names(store: ClusterStore, rows: I64) -> Mapping[int, tuple[str, int]]:
    if not ((store.windows.flags[rows] & GONE_TOPIC) > 0).any():
        return {}
    groups = {store.by_place[place] for place in np.unique(store.windows.group[rows]).tolist()}
    return {
        row: (topic, partition)
        for group in groups
        if group is not None
        for topic, (gone, _) in group.gone.items()
        for partition, row in enumerate(gone.tolist())
    }
