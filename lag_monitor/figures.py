"""What the monitor knows, as figures for Prometheus: a name of the catalogue, labels, a value. From memory alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from lag_monitor.burrow.evaluating import windows_of
from lag_monitor.judge.grouping import Judged
from lag_monitor.monitor import ClusterLoop, Monitor
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.windows import GONE_TOPIC
from lag_monitor.verdict import Burrow, Status
from lag_monitor.view import ClusterView

Labels = tuple[tuple[str, str], ...]
Figure = tuple[str, Labels, float]


def of_cluster(loop: ClusterLoop, most: int) -> Iterator[Figure]:
    """`most`: group-partitions that get series of their own; if there are more, only those that are behind do."""
    view = loop.view
    cluster = (("cluster", loop.watch.name),)
    yield from _work(loop, cluster)
    yield from _groups(view, cluster)
    judged = view.judged
    if judged is not None:
        with view.looker.lock:
            yield from list(_partitions(view.looker.store, judged, cluster, most))
            yield from list(_ends(view.looker.store, cluster))


def of_monitor(monitor: Monitor) -> Iterator[Figure]:
    yield "kafka_lag_active", (), float(monitor.alerts.active)
    if monitor.lease is not None:
        yield "kafka_lag_shards", (), len(monitor.lease.held)
    figures = monitor.alerts.figures()
    for route, count in figures.open.items():
        yield "kafka_lag_incidents", (("route", route),), count
    for (channel, result), count in figures.notices.items():
        yield "kafka_lag_notices_total", (("channel", channel), ("result", result)), count
    for channel, count in figures.queued.items():
        yield "kafka_lag_notices_queued", (("channel", channel),), count
    for channel, since in figures.oldest.items():
        yield "kafka_lag_oldest_notice_timestamp_seconds", (("channel", channel),), since
    yield "kafka_lag_outbox_errors_total", (), figures.store_failures


def _work(loop: ClusterLoop, cluster: Labels) -> Iterator[Figure]:
    looker, view, saved = loop.looker, loop.view, loop.saved
    figures, taken = looker.figures, looker.taker.counts
    yield "kafka_lag_up", cluster, float(looker.up)
    yield "kafka_lag_ready", cluster, float(view.ready)
    if view.judged is not None:
        yield "kafka_lag_judged_timestamp_seconds", cluster, view.judged.looked.now
    yield "kafka_lag_look_seconds", cluster, figures.seconds
    yield "kafka_lag_looks_total", cluster, figures.looks
    yield "kafka_lag_failed_looks_total", cluster, figures.failed
    for error, count in figures.errors.items():
        yield "kafka_lag_errors_total", (*cluster, ("error", error)), count
    yield "kafka_lag_commits_total", cluster, taken.commits
    yield "kafka_lag_malformed_total", cluster, taken.malformed
    for reason, count in taken.dropped.items():
        yield "kafka_lag_dropped_commits_total", (*cluster, ("reason", reason)), count
    yield "kafka_lag_mismatches_total", cluster, figures.mismatches
    yield "kafka_lag_clock_jumps_total", cluster, figures.clock_jumps
    yield "kafka_lag_saves_total", cluster, saved.times
    yield "kafka_lag_failed_saves_total", cluster, saved.failures
    if saved.last:
        yield "kafka_lag_saved_timestamp_seconds", cluster, saved.last


def _groups(view: ClusterView, cluster: Labels) -> Iterator[Figure]:
    counts = dict.fromkeys(Status, 0)
    for one in view.groups:
        counts[one.status] += 1
        who = (*cluster, ("group", one.group))
        yield "kafka_lag_group_status", (*who, ("status", one.status.name)), 1.0
        yield "kafka_lag_group_gravity", who, float(one.gravity)
        if one.members is not None:
            yield "kafka_lag_group_members", who, one.members
        if one.slo:
            yield "kafka_lag_group_slo_seconds", who, one.slo
        if one.status is not Status.UNKNOWN:  # a gap is honest
            yield "kafka_lag_group_records", who, one.lag
            if one.seconds is not None:
                yield "kafka_lag_group_seconds", who, one.seconds
            burrow = (*cluster, ("consumer_group", one.group))
            yield "burrow_kafka_consumer_status", burrow, float(one.burrow)
    for status, count in counts.items():
        yield "kafka_lag_groups", (*cluster, ("status", status.name)), count
    yield "kafka_lag_disagreements", cluster, view.disagreeing


def _partitions(store: ClusterStore, judged: Judged, cluster: Labels, most: int) -> Iterator[Figure]:
    rows, status, looked = judged.rows, judged.status, judged.looked
    told = (store.windows.since[rows] >= 0) & (status != Status.UNKNOWN) & ((store.windows.flags[rows] & GONE_TOPIC) == 0)
    told &= store.windows.head[rows] >= 0
    if np.count_nonzero(told) > most:
        told &= (looked.lag[rows] > 0) | (status != Status.OK)
        told &= np.cumsum(told) <= most
    which = np.nonzero(told)[0]
    yield "kafka_lag_partitions_left_out", cluster, float(len(rows) - len(which))
    windows = windows_of(store, rows.astype(np.int32))
    full = windows.filled >= store.windows.width
    totals = np.bincount(store.windows.group[rows], windows.current_lag, len(store.by_place))
    for group, total in zip(store.by_place, totals, strict=False):
        if group is not None:
            yield "burrow_kafka_consumer_lag_total", (*cluster, ("consumer_group", group.name)), float(total)
    for at in which.tolist():
        yield from _partition(store, judged, cluster, at, int(windows.current_lag[at]), bool(full[at]))


def _partition(
    store: ClusterStore, judged: Judged, cluster: Labels, at: int, burrow_lag: int, full: bool
) -> Iterator[Figure]:
    row, looked = int(judged.rows[at]), judged.looked
    group, head = store.by_place[store.windows.group[row]], int(store.windows.head[row])
    if group is None:
        return
    where = (("topic", store.heads.names[store.heads.topic[head]]), ("partition", str(store.heads.partition[head])))
    who = (*cluster, ("group", group.name), *where)
    yield "kafka_lag_partition_records", who, float(looked.lag[row])
    seconds: Any = looked.seconds[row]
    if seconds == seconds:
        yield "kafka_lag_partition_seconds", who, float(seconds)
    if gravity := Status(int(judged.status[at])).gravity:
        yield "kafka_lag_partition_gravity", who, float(gravity)
    burrow = (*cluster, ("consumer_group", group.name), *where)
    if store.windows.filled[row]:
        yield "burrow_kafka_consumer_partition_lag", burrow, burrow_lag
    if full:
        yield "burrow_kafka_consumer_current_offset", burrow, float(store.windows.offsets[row, -1])
        yield "burrow_kafka_topic_partition_status", burrow, float(Burrow(int(judged.burrow[at])))


def _ends(store: ClusterStore, cluster: Labels) -> Iterator[Figure]:
    for topic, rows in store.heads.rows.items():
        for partition, end in enumerate(store.heads.latest(rows).tolist()):
            if end >= 0:
                where = (*cluster, ("topic", topic), ("partition", str(partition)))
                yield "burrow_kafka_topic_partition_offset", where, end
