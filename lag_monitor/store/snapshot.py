"""A cluster's store as one Parquet file: what a restart, or a kill -9, finds again. Spark can read it too.

A row is a group's partition, with what is remembered of its log beside it. Positions in the topic of commits stand in the
same file, so that reading goes on where these figures end, and nothing is lost or taken twice. Written whole or not at all.
"""

import json
import logging
import os
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kernel.errors import NoSpace
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.windows import GONE_TOPIC, Windows

log = logging.getLogger(__name__)
VERSION = 1
LOG = "log_"  # before the names of columns that tell of the partition, not of the group
OF_HEADS = ("stable", "start", "asked_at", "bounds_at", "waits_since", "print", "ends")
OF_WINDOWS = tuple(
    name
    for name in (*Windows.PLAIN, *Windows.WIDE, *Windows.SAMPLED)
    if name not in ("group", "head", "owner")  # places that mean nothing elsewhere: told by name
)


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where to go on."""

    positions: dict[int, int] = field(default_factory=dict)  # of the topic of commits
    since: dict[str, tuple[int, float]] = field(default_factory=dict)  # group → status and when it came to be so
    saved_at: float = 0.0


def captured(store: ClusterStore, resumed: Resumed) -> Any:
    """A table that is no longer touched by what the store does. To be called with the store locked."""
    import pyarrow as pa

    windows, heads = store.windows, store.heads
    rows, groups, topics, partitions = _rows(store)
    head = windows.head[rows]
    owners = [store.owners[place] for place in windows.owner[rows].tolist()]
    columns: dict[str, Any] = {
        "group": pa.array(groups).dictionary_encode(),
        "topic": pa.array(topics).dictionary_encode(),
        "partition": pa.array(partitions, pa.int32()),
        "owner": pa.array([host for host, _ in owners]).dictionary_encode(),
        "client_id": pa.array([client for _, client in owners]).dictionary_encode(),
    }
    for name in OF_WINDOWS:
        columns[name] = _column(getattr(windows, name)[rows])
    for name in OF_HEADS:
        columns[LOG + name] = _column(getattr(heads, name)[head])
    told = json.dumps(_told(store, resumed)).encode()
    return pa.table(columns).replace_schema_metadata({"kafka-trial": told, "crc32": f"{zlib.crc32(told):x}"})


def write(table: Any, file: Path) -> None:
    """NoSpace if the disk is full; what was there before is still there then."""
    import pyarrow.parquet as pq

    draft = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, draft, compression="zstd", write_page_checksum=True)
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.rename(file)
    except OSError as trouble:
        draft.unlink(missing_ok=True)
        raise NoSpace(f"{file} cannot be written: {trouble.strerror or trouble}.") from None


def load(store: ClusterStore, file: Path) -> Resumed:
    """Into an empty store. What cannot be read is put aside, told, and done without."""
    import pyarrow.parquet as pq

    if not file.exists():
        return Resumed()
    try:
        table = pq.read_table(file, page_checksum_verification=True)
        plain, crc = (table.schema.metadata[key] for key in (b"kafka-trial", b"crc32"))
        told = json.loads(plain)
        if zlib.crc32(plain) != int(crc, 16):
            raise ValueError("a bit of it is not what was written")
        if told["version"] != VERSION:
            raise ValueError(f"it has version {told['version']}, and this program reads {VERSION}")
        _restore(store, table, told)
    except Exception as trouble:  # whatever is wrong with a file, the monitor starts
        aside = file.with_name(f"{file.name}.broken-{int(time.time())}")
        file.rename(aside)
        why = " ".join(str(trouble).split())  # Arrow's have several lines
        log.warning("%s cannot be used (%s): it is put aside as %s, and everything is seen anew", file, why, aside.name)
        raise Damaged from None
    since = {name: (int(status), float(when)) for name, (status, when) in told["since"].items()}
    return Resumed({int(one): at for one, at in told["positions"].items()}, since, told["saved_at"])


class Damaged(Exception):
    """The store may be half filled: begin with a new one."""


def _rows(store: ClusterStore) -> tuple[Any, list[str], list[str], list[int]]:
    rows: list[int] = []
    groups: list[str] = []
    topics: list[str] = []
    partitions: list[int] = []
    for group in store.groups.values():
        # A topic that is gone is told as if it were there: whoever loads it asks for it, and finds out.
        for topic, its in (*group.topics.items(), *((topic, gone) for topic, (gone, _) in group.gone.items())):
            rows += its.tolist()
            groups += [group.name] * len(its)
            topics += [topic] * len(its)
            partitions += range(len(its))
    return np.array(rows, np.int32), groups, topics, partitions


def _told(store: ClusterStore, resumed: Resumed) -> dict[str, Any]:
    return {
        "version": VERSION,
        "began": store.began,
        "ticks": store.ticks,
        "saved_at": resumed.saved_at,
        "positions": resumed.positions,
        "since": resumed.since,
        "groups": {
            group.name: {
                "kind": group.kind,
                "state": group.state,
                "members": group.members,
                "asked_at": group.asked_at,
                "last_commit": int(store.last_commit[group.place]),
            }
            for group in store.groups.values()
        },
    }


def _column(values: Any) -> Any:
    import pyarrow as pa

    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def _values(column: Any, like: Any) -> Any:
    """As wide as the store's own: the newest of what there is, in front of it what an empty place holds."""
    whole = column.combine_chunks()
    if like.ndim == 1:
        return whole.to_numpy(zero_copy_only=False)
    flat = whole.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(whole), -1)[:, -like.shape[1] :]


def _restore(store: ClusterStore, table: Any, told: dict[str, Any]) -> None:
    store.began, store.ticks = float(told["began"]), [float(moment) for moment in told["ticks"]]
    kept = {name: one for name, one in told["groups"].items() if name in store.names}
    table = table.take([at for at, name in enumerate(table["group"].to_pylist()) if name in kept])
    for name, one in kept.items():
        group = store.group(name)
        group.kind, group.state, group.members = one["kind"], one["state"], one["members"]
        group.asked_at = float(one["asked_at"])
        store.last_commit[group.place] = one["last_commit"]
    names = [table[name].to_pylist() for name in ("group", "topic", "partition", "owner", "client_id")]
    rows = np.array(
        [_row(store, group, topic, partition) for group, topic, partition in zip(*names[:3], strict=True)], np.int32
    )
    if not len(rows):
        return
    windows, heads = store.windows, store.heads
    for name in OF_WINDOWS:
        _put(getattr(windows, name), rows, _values(table[name], getattr(windows, name)))
    windows.filled[rows] = np.minimum(windows.filled[rows], windows.width)
    windows.flags[rows] &= ~np.uint8(GONE_TOPIC)
    windows.owner[rows] = [store.owner_place(host, client) for host, client in zip(*names[3:], strict=True)]
    for name in OF_HEADS:
        _put(getattr(heads, name), windows.head[rows], _values(table[LOG + name], getattr(heads, name)))


def _put(column: Any, rows: Any, values: Any) -> None:
    if column.ndim == 1:
        column[rows] = values
    else:
        column[rows, -values.shape[1] :] = values


def _row(store: ClusterStore, group: str, topic: str, partition: int) -> int:
    store.heads.topic_rows(topic, partition + 1)
    return int(store.rows_of(store.group(group), topic, partition)[partition])
