"""What Burrow would answer of a group: its partitions judged, and the group by its worst."""

import numpy as np

from lag_monitor.answers import BurrowGroup, BurrowPartition, BurrowWindow, Commit
from lag_monitor.burrow.rules import Windows, complete, judge
from lag_monitor.store.cluster_store import ClusterStore, Group
from lag_monitor.store.table import I32, I64
from lag_monitor.store.windows import MADE
from lag_monitor.verdict import Burrow


def windows_of(store: ClusterStore, rows: I32, lowest_end: I64 | None = None) -> Windows:
    """For the rules. `lowest_end` of all partitions, if somebody has it already."""
    table, head = store.windows, store.windows.head[rows]
    filled = table.filled[rows]
    lowest = store.heads.lowest() if lowest_end is None else lowest_end
    known = (head >= 0) & (filled > 0)
    lag = np.where(known, np.maximum(store.heads.latest(head) - table.offsets[rows, -1], 0), 0)
    return Windows(
        table.offsets[rows],
        table.timestamps[rows],
        table.lags[rows],
        filled,
        lag,
        lowest[head] if len(lowest) else np.zeros(len(rows), np.int64),
        (table.flags[rows] & MADE) > 0,
    )


def evaluate(store: ClusterStore, name: str, now: int) -> BurrowGroup | None:
    """None if there is no such group, or if it has been silent for so long that Burrow would have forgotten it."""
    group = store.groups.get(name)
    if group is None or store.expired(name, now):
        return None
    partitions = tuple(
        partition for topic in sorted(group.topics) for partition in _partitions(store, topic, group.topics[topic], now)
    )
    if not partitions:
        return BurrowGroup(name, Burrow.OK, 0.0)
    full = sum(partition.complete == 1.0 for partition in partitions)
    return BurrowGroup(
        name,
        min(max(partition.status for partition in partitions), Burrow.ERR),
        shortest(np.float32(full) / np.float32(len(partitions))),
        partitions,
        max(partitions, key=lambda partition: partition.current_lag),  # of equals the first, as Burrow within a topic
        sum(partition.current_lag for partition in partitions),
    )


def stored(store: ClusterStore, group: Group) -> dict[str, list[BurrowWindow]]:
    """The windows as they are."""
    found: dict[str, list[BurrowWindow]] = {}
    for topic, rows in group.topics.items():
        lags = windows_of(store, rows).current_lag.tolist()
        found[topic] = [_window(store, int(row), lag) for row, lag in zip(rows, lags, strict=True)]
    return found


def shortest(number: np.float32) -> float:
    """As it is printed when it is known to have 32 bits."""
    return float(str(number))


def _partitions(store: ClusterStore, topic: str, rows: I32, now: int) -> list[BurrowPartition]:
    windows = windows_of(store, rows)
    statuses = judge(windows, store.rules, now).tolist()
    shares = complete(windows.filled, windows.made, store.rules.intervals)
    found = []
    for number, row in enumerate(rows.tolist()):
        commits = commits_of(store, row)
        host, client_id = store.owners[store.windows.owner[row]]
        found.append(
            BurrowPartition(
                topic,
                number,
                host,
                client_id,
                Burrow(statuses[number]),
                commits[0] if commits else None,
                commits[-1] if commits else None,
                int(windows.current_lag[number]),
                shortest(shares[number]),
            )
        )
    return found


def commits_of(store: ClusterStore, row: int) -> list[Commit]:
    return [
        Commit(slot.offset, slot.timestamp, slot.observed * 1000, slot.lag if slot.lag >= 0 else None)
        for slot in store.windows.slots(row)
    ]


def _window(store: ClusterStore, row: int, lag: int) -> BurrowWindow:
    host, client_id = store.owners[store.windows.owner[row]]
    if not store.windows.flags[row] & MADE:
        return BurrowWindow((), host, client_id, lag)
    commits = commits_of(store, row)
    empty = (None,) * (store.windows.width - len(commits))
    return BurrowWindow((*empty, *commits), host, client_id, lag)
