"""One look at all rows: what moved, what went back, how far behind each is. Writes what the next look needs. No clock.

Time in which we could not see does not count against anybody: when we see again, what we remember is moved on by as much.
"""

from dataclasses import dataclass

import numpy as np

from lag_monitor.judge.settings import Patience
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.heads import NONE
from lag_monitor.store.table import F64, I64, Mask
from lag_monitor.store.windows import ASSIGNED, GONE_TOPIC, OWN, SAMPLES

LATE = 2.5  # intervals between two looks: more is blindness
STALE = 60.0  # seconds: a last stable offset that much older than the end says nothing any more
SEEN = 0.1  # seconds: the pause of one that was seen to move, be it as quick as it may
DECAY = 0.8  # how a pause fades with each that is shorter


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look found, row by row, for every row that was ever given out."""

    now: float
    rows: I64  # those that are spoken of
    committed: I64  # −1: none
    position: I64  # the commit, or beyond it where nothing is to be read
    end: I64  # up to which it may read; −1: not known
    lag: I64
    seconds: F64  # nan: not known
    blind: Mask  # too old to say anything


def ends_of(store: ClusterStore, committed: I64) -> tuple[I64, I64]:
    """(up to where each may read, where its log ends). Who has committed beyond the last stable offset does not wait for
    transactions; of the others it is taken that they do."""
    windows, heads = store.windows, store.heads
    head = windows.head[: windows.used]
    if not heads.used:
        nothing = np.full(windows.used, NONE, np.int64)
        return nothing, nothing
    end = np.where(head >= 0, heads.ends[head, -1], NONE)
    told = (head >= 0) & (heads.asked_at[head] - heads.bounds_at[head] < STALE)  # else it would hide what came since
    stable = np.where(told, heads.stable[head], NONE)
    return np.where((stable >= 0) & (stable < end) & (committed <= stable), stable, end), end


def position_of(store: ClusterStore, committed: I64) -> I64:
    """Beyond the commit, where what follows it is known to hold nothing; only as long as the commit is the same."""
    windows = store.windows
    same = windows.committed[: windows.used] == committed
    position: I64 = np.where(same, np.maximum(committed, windows.clear_to[: windows.used]), committed)
    return position


def observe(
    store: ClusterStore, now: float, committed: I64, seconds: F64, patience: Patience, committed_at: F64 | None = None
) -> Looked:
    """`committed_at`: when the commits were made, where that is known (nan where not); for rows seen for the first time."""
    windows, used = store.windows, store.windows.used
    flags = windows.flags[:used]
    spoken = (flags & (OWN | ASSIGNED | GONE_TOPIC)) > 0
    tick, blind = tenths(store, now), _blind(store, now, patience)
    _forgive(store, now, patience)
    seen = spoken & ~blind

    before = windows.committed[:used]
    first = seen & (before < 0) & (committed >= 0)
    moved = seen & (before >= 0) & (committed >= 0) & (committed != before)
    _remember_gaps(store, moved, tick)
    _remember_moves(store, first, moved, committed, tick, committed_at)
    windows.clear_to[:used][moved | first] = NONE
    windows.committed[:used][seen] = committed[seen]
    _begin_unread(store, seen & (committed < 0), tick)

    end, _ = ends_of(store, committed)
    position = position_of(store, committed)
    lag = np.where(seen & (end >= 0) & (position >= 0), np.maximum(end - position, 0), 0)
    seconds = np.where(lag > 0, seconds, 0.0)
    _remember_lag(store, seen, lag, seconds, tick, patience)
    _sample(store, now, seen & (end >= 0), lag)
    return Looked(now, np.nonzero(spoken)[0], committed, position, end, lag, seconds, spoken & blind)


def tenths(store: ClusterStore, moment: float) -> int:
    return round((moment - store.began) * 10)


def _blind(store: ClusterStore, now: float, patience: Patience) -> Mask:
    windows, heads = store.windows, store.heads
    head, group = windows.head[: windows.used], windows.group[: windows.used]
    groups = np.array([one.asked_at if one else 0.0 for one in store.by_place] or [0.0])
    asked = groups[group]
    if heads.used:
        asked = np.where(head >= 0, np.minimum(asked, heads.asked_at[head]), asked)
    blind: Mask = now - asked > patience.blind
    return blind


def _forgive(store: ClusterStore, now: float, patience: Patience) -> None:
    """Rows that were not looked at for a while: as if that while had not been. A row is looked at when its group and its log
    are; the two may answer again at different looks, and what was dark in both is forgiven but once."""
    windows, used = store.windows, store.windows.used
    groups = np.array([(one.asked_at, one.dark) if one else (0.0, 0.0) for one in store.by_place] or [(0.0, 0.0)])
    asked, dark = groups[windows.group[:used]].T
    before = asked - dark
    if store.heads.used:
        head = windows.head[:used]
        of_log = store.heads.asked_at[head]
        before = np.where(head >= 0, np.minimum(before, of_log - store.heads.dark[head]), before)
        asked = np.where(head >= 0, np.minimum(asked, of_log), asked)
    dark = asked - before
    shift = np.where(dark > LATE * patience.interval, (dark - patience.interval) * 10, 0).astype(np.int32)
    if not shift.any():
        return
    latest = tenths(store, now)
    for column in (windows.moved_at, windows.lagging_since, windows.rewound_at, windows.first_seen):
        times = column[:used]
        times[:] = np.where(times >= 0, np.minimum(times + shift, latest), times)


def _remember_gaps(store: ClusterStore, moved: Mask, tick: int) -> None:
    windows, used = store.windows, store.windows.used
    lagging = windows.lagging_since[:used]
    pause = np.where(lagging >= 0, (tick - np.maximum(windows.moved_at[:used], lagging)) / 10, 0.0)
    gap = windows.gap[:used]
    gap[:] = np.where(moved, np.maximum(np.maximum(pause, SEEN), DECAY * gap), gap)


def _remember_moves(
    store: ClusterStore, first: Mask, moved: Mask, committed: I64, tick: int, committed_at: F64 | None
) -> None:
    windows, used = store.windows, store.windows.used
    moved_at, peak, rewound_at = windows.moved_at[:used], windows.peak[:used], windows.rewound_at[:used]
    before = windows.committed[:used]
    moved_at[moved | first] = tick
    if committed_at is not None:
        known = first & ~np.isnan(committed_at)
        made = np.clip(np.rint((committed_at[known] - store.began) * 10), -(2**31) + 1, tick)
        moved_at[known] = np.maximum(made, 0).astype(np.int32)
        _remember_pauses(store, np.nonzero(known)[0])
    windows.first_seen[:used][first] = tick
    back = moved & (committed < before)
    peak[back] = np.maximum(peak[back], before[back])
    rewound_at[back] = tick
    regained = (peak >= 0) & (committed >= peak)
    peak[regained], rewound_at[regained] = NONE, NONE


def _remember_pauses(store: ClusterStore, rows: I64) -> None:
    """From commits that were made before we began to look."""
    windows = store.windows
    rows = rows[windows.filled[rows] > 2]
    if not len(rows):
        return
    there = np.arange(windows.width) >= windows.width - windows.filled[rows].astype(np.int64)[:, None]
    pauses = np.where(there[:, :-1], np.diff(windows.timestamps[rows], axis=1), 0).max(axis=1) / 1000
    windows.gap[rows] = np.maximum(pauses, SEEN)


def _begin_unread(store: ClusterStore, uncommitted: Mask, tick: int) -> None:
    """Of a partition without a commit, only what came since we first saw it with a member counts: one that begins at the
    end has nothing to commit before."""
    windows, used = store.windows, store.windows.used
    new = uncommitted & (windows.clear_to[:used] < 0)
    end, _ = ends_of(store, np.full(used, NONE, np.int64))
    windows.first_seen[:used][new] = tick
    windows.clear_to[:used][new] = np.maximum(end[new], 0)


def _remember_lag(store: ClusterStore, seen: Mask, lag: I64, seconds: F64, tick: int, patience: Patience) -> None:
    """Who was seen at the end is not behind for longer than since then, be what it has to read as old as it may."""
    windows, used = store.windows, store.windows.used
    since = windows.lagging_since[:used]
    began = seen & (lag > 0) & (since < 0)
    known = windows.first_seen[:used] < tick
    earlier = np.where(np.isnan(seconds), 0.0, np.where(known, np.minimum(seconds, patience.interval), seconds))
    since[began] = np.maximum(tick - np.rint(earlier[began] * 10), 0).astype(np.int32)
    since[seen & (lag == 0)] = NONE


def _sample(store: ClusterStore, now: float, seen: Mask, lag: I64) -> None:
    samples = store.windows.samples[: store.windows.used]
    samples[:, :-1] = samples[:, 1:]
    samples[:, -1] = np.where(seen, lag, np.nan)
    store.ticks = [*store.ticks, now][-SAMPLES:]
