"""Our verdict on every row of one look. One rule, one mask; the gravest that holds is told. Pure.

A rule may only speak of what was seen: where we were blind the verdict is UNKNOWN, whatever the figures say.
"""

from dataclasses import dataclass

import numpy as np

from lag_monitor.judge.observing import Looked, tenths
from lag_monitor.judge.settings import Patience
from lag_monitor.judge.trend import ENOUGH, counted, growing
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.table import F32, F64, I8, I64, U8, Mask
from lag_monitor.store.windows import ASSIGNED, ASSIGNMENT_KNOWN, GONE_TOPIC, UNPROVED, UNREAD_TOPIC
from lag_monitor.verdict import Status

CHUNK = 32_768
UNKNOWN_MEMBERS = -1
MARKERS = 2  # offsets that may be markers and nothing else, where we may not look; more than that are records too
MOVING = 3  # intervals within which one that moves has moved
STRANGER = 5  # times the usual patience


@dataclass(frozen=True, slots=True)
class Facts:
    """Of the rows that are spoken of, in their order: what the rules look at, and what the words are made of."""

    rows: I64
    now: float
    committed: I64
    position: I64
    end: I64
    log_end: I64
    start: I64
    lag: I64
    seconds: F64
    still: F64  # seconds without a move while there was something to read
    patience: F64
    members: I64  # −1: not known
    slo: F64
    recommitted: Mask  # a commit was seen to be made of late, be it the same
    settled: Mask  # the end was told after the commit was
    waiting: F64  # seconds that the last stable offset has been seen to stand still
    blind: Mask
    recreated: Mask


def gather(store: ClusterStore, looked: Looked, patience: Patience, rows: I64) -> Facts:
    windows, heads = store.windows, store.heads
    head, group = windows.head[rows], windows.group[rows]
    has_head = head >= 0

    def of_head(column: I64 | F64, otherwise: float) -> I64 | F64:
        return np.where(has_head, column[head], otherwise) if len(column) else np.full(len(rows), otherwise)

    members, slo, told = group_figures(store)
    # Up to when it was known: who was not heard of may well have got on since.
    known = np.rint((np.minimum(told[group], of_head(heads.asked_at, np.inf)) - store.began) * 10)
    still = (known - np.maximum(windows.moved_at[rows], windows.lagging_since[rows])) / 10
    lag = looked.lag[rows]
    gap = windows.gap[rows].astype(np.float64)
    holds = _holds(windows.flags[rows], members[group])
    # Of somebody who is there and was never seen to move, it is not known what pauses he makes.
    allowed = np.where((gap == 0) & holds, STRANGER * patience.quiet, np.maximum(patience.quiet, patience.pauses * gap))
    # By our own clock, as brokers have theirs. What was there before we began to look was not seen to be made.
    last = windows.observed[rows, -1].astype(np.float64)
    seen_live = (windows.filled[rows] > 0) & (last > store.began + windows.first_seen[rows] / 10)
    asked = np.rint((of_head(heads.asked_at, 0.0) - store.began) * 10)
    waits_since = of_head(heads.waits_since, 0.0)
    log_end = of_head(heads.ends[:, -1], -1).astype(np.int64)
    print_, topic_print = windows.print[rows], of_head(heads.print, 0)
    committed = looked.committed[rows]
    return Facts(
        rows=rows,
        now=looked.now,
        committed=committed,
        position=looked.position[rows],
        end=looked.end[rows],
        log_end=log_end,
        start=of_head(heads.start, -1).astype(np.int64),
        lag=lag,
        seconds=looked.seconds[rows],
        still=np.where(lag > 0, np.maximum(still, 0.0), 0.0),
        patience=allowed,
        members=members[group],
        slo=slo[group],
        recommitted=seen_live & (looked.now - last < allowed),
        settled=windows.moved_at[rows] < asked,
        waiting=np.where(waits_since > 0, np.maximum(of_head(heads.bounds_at, 0.0) - waits_since, 0.0), 0.0),
        blind=looked.blind[rows],
        recreated=(print_ != 0) & (topic_print != 0) & (print_ != topic_print),
    )


def group_figures(store: ClusterStore) -> tuple[I64, F64, F64]:
    """Members, promises and when its commits were last told, by the groups' places."""
    members = np.full(max(1, len(store.by_place)), UNKNOWN_MEMBERS, np.int64)
    slo, told = np.zeros(len(members)), np.zeros(len(members))
    for group in store.groups.values():
        members[group.place] = UNKNOWN_MEMBERS if group.members is None else group.members
        slo[group.place], told[group.place] = group.slo, group.asked_at
    return members, slo, told


def judge(store: ClusterStore, looked: Looked, patience: Patience) -> I8:
    """A code of `Status` for each row of `looked.rows`; remembered with the time since when it is so."""
    status = np.zeros(len(looked.rows), np.int8)
    for begin in range(0, len(status), CHUNK):
        rows = looked.rows[begin : begin + CHUNK]
        status[begin : begin + CHUNK] = statuses(store, gather(store, looked, patience, rows), patience)
    windows = store.windows
    changed = (windows.status[looked.rows] != status) | (windows.since[looked.rows] < 0)
    windows.since[looked.rows[changed]] = tenths(store, looked.now)
    windows.status[looked.rows] = status
    return status


def statuses(store: ClusterStore, facts: Facts, patience: Patience) -> I8:
    windows, rows = store.windows, facts.rows
    flags = windows.flags[rows]
    status = np.zeros(len(rows), np.int8)
    behind = facts.lag > 0
    uncommitted = facts.committed < 0
    quiet = behind & ~uncommitted & (facts.still > facts.patience)
    alive = _alive(facts, flags)
    unmoved = (tenths(store, facts.now) - windows.moved_at[rows]) / 10

    much = behind & ~uncommitted & ~(facts.seconds < _floor(store, facts, patience))  # more than lies between two commits
    # Who was behind when we first saw him, and has not moved since, may be anything: not well, at any rate.
    strange = much & (windows.gap[rows] == 0)
    status[strange | (much & counted_few(windows.samples, rows, much))] = Status.WARMING_UP
    status[behind & uncommitted & (facts.patience < _seen_for(store, facts))] = Status.NEVER_COMMITTED
    moving = facts.still <= np.maximum(MOVING * patience.interval, 2 * windows.gap[rows])  # else it does not even move
    status[_slow(store, facts, much & ~quiet & moving)] = Status.SLOW
    rewound = (windows.rewound_at[rows] >= 0) & behind
    status[rewound & (status < Status.REWOUND)] = Status.REWOUND
    status[(facts.slo > 0) & (facts.seconds > facts.slo) & ~uncommitted] = Status.BEHIND_SLO
    status[_stuck(facts, patience) & ~uncommitted] = Status.STUCK_TRANSACTION
    status[quiet & alive] = Status.STALLED
    status[quiet & ~alive] = Status.STOPPED
    status[facts.recreated] = Status.TOPIC_RECREATED
    cut = ~uncommitted & (facts.log_end >= 0) & (facts.committed > facts.log_end) & facts.settled
    status[cut & _same_topic(store, facts)] = Status.DATA_LOSS
    status[cut & ~_same_topic(store, facts)] = Status.TOPIC_RECREATED
    status[~uncommitted & (facts.start >= 0) & (facts.position < facts.start) & ~facts.recreated] = Status.DATA_LOSS
    # Nobody loses what nobody reads any more.
    status[quiet & (facts.members == 0) & (unmoved > patience.abandoned)] = Status.EMPTY_GROUP
    left = ((flags & UNREAD_TOPIC) > 0) & ~facts.recommitted & (unmoved > facts.patience)
    status[left] = Status.ABANDONED_TOPIC
    status[(flags & GONE_TOPIC) > 0] = Status.ABANDONED_TOPIC
    status[quiet & ((flags & UNPROVED) > 0) & (facts.lag <= MARKERS)] = Status.UNKNOWN
    status[facts.blind] = Status.UNKNOWN
    return status


def counted_few(samples: F32, rows: I64, which: Mask) -> Mask:
    """Whether rows have been looked at too seldom; counted only where it matters."""
    few = np.zeros(len(rows), np.bool_)
    few[which] = counted(samples[rows[which]]) < ENOUGH
    return few


def _alive(facts: Facts, flags: U8) -> Mask:
    """Somebody is there who should get on. Whose partitions are not known is alive if anybody is in the group."""
    return facts.recommitted | _holds(flags, facts.members)


def _holds(flags: U8, members: I64) -> Mask:
    holds: Mask = np.where((flags & ASSIGNMENT_KNOWN) > 0, (flags & ASSIGNED) > 0, members > 0)
    return holds


def _seen_for(store: ClusterStore, facts: Facts) -> F64:
    seen: F64 = (tenths(store, facts.now) - store.windows.first_seen[facts.rows]) / 10
    return seen


def _floor(store: ClusterStore, facts: Facts, patience: Patience) -> F64:
    floor: F64 = np.maximum(patience.slow, 2 * store.windows.gap[facts.rows].astype(np.float64))
    return floor


def _slow(store: ClusterStore, facts: Facts, which: Mask) -> Mask:
    slow = np.zeros(len(which), np.bool_)
    slow[which] = growing(store.windows.samples[facts.rows[which]])
    return slow


def _stuck(facts: Facts, patience: Patience) -> Mask:
    stuck: Mask = (facts.end < facts.log_end) & (facts.lag == 0) & (facts.waiting > patience.transaction)
    return stuck


def _same_topic(store: ClusterStore, facts: Facts) -> Mask:
    same: Mask = (store.windows.print[facts.rows] != 0) & ~facts.recreated
    return same
