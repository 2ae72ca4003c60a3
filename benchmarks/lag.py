"""How much the lag monitor takes in, holds and judges, beside what Burrow does on such a machine.

Verdicts of both judges on a million group-partitions, most of them at the end of their logs as in an ordinary cluster, and
all of them behind as on the worst of days; the memory of as many, in few groups with many topics and in many groups with
one; raw commit records decoded and stored; and a cold start on a real broker whose `__consumer_offsets` holds a million
commits. Each in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice, product
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil

from compose.cluster import Cluster
from kernel.cluster import ClusterAddress
from kernel.waiting import wait_until
from lag_monitor.burrow.evaluating import windows_of
from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.burrow.rules import judge as burrow_judge
from lag_monitor.judge.grouping import burrow_statuses
from lag_monitor.judge.observing import observe
from lag_monitor.judge.rules import judge
from lag_monitor.judge.settings import Patience
from lag_monitor.looking import Looker
from lag_monitor.sources.reader import BATCH
from lag_monitor.sources.reader import TOPIC as OFFSETS
from lag_monitor.sources.taking import Record, Taker, partition_of
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.table import I32, I64
from lag_monitor.store.windows import SAMPLES
from lag_monitor.verdict import Burrow, Status
from lag_monitor.watch import TOPIC, Watch

MILLION = 1_000_000
INTERVALS, EVERY = 10, 10  # slots of a window; seconds between two commits, and between two looks
NOW = 1_700_000_000
AT_THE_END, STOPPED, REWOUND, STALLED, SLOW, GETTING_ON = range(6)
BURROW_SAYS = (Burrow.OK, Burrow.STOP, Burrow.REWIND, Burrow.STALL, Burrow.WARN, Burrow.OK)
MIX, WORST = (0.6, 0.08, 0.08, 0.08, 0.08, 0.08), (0.0, 0.2, 0.2, 0.2, 0.2, 0.2)
TIMED = 5  # looks
GROUPS, PARTITIONS, COMMITS = 200, 100, 50
OFFSETS_PARTITIONS = 50  # Kafka's default
TOPIC_ID = bytes(range(1, 17))
# Burrow with 200,000 group-partitions in process on two cores; its catch-up is that of a real one on the same records.
BURROW_VERDICTS, BURROW_COMMITS, BURROW_BYTES, BURROW_SECONDS = 540_000, 515_000, 943, 48.0
Shape = tuple[int, int, int]  # groups, topics, partitions of each


# ---- verdicts --------------------------------------------------------------------------------------------------------


def verdicts(shares: tuple[float, ...], shape: Shape) -> dict[str, Any]:
    """After so many looks that nothing is new any more. The best of some more of them."""
    store, rows = filled_with_groups(shape)
    kinds = np.random.default_rng(1).choice(len(shares), len(rows), p=shares)
    rules, ours, whole = [], [], []
    for number in range(SAMPLES + TIMED):
        now = NOW + number * EVERY
        told(store, rows, kinds, number, now)
        committed = store.windows.offsets[rows, -1]
        seconds = np.maximum(store.heads.latest(store.windows.head[rows]) - committed, 0) / 10
        began = time.perf_counter()
        looked = observe(store, now, committed, seconds, Patience())
        status = judge(store, looked, Patience())
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        burrow = burrow_statuses(store, looked.rows, now)
        whole.append(time.perf_counter() - began)
        windows = windows_of(store, rows)
        began = time.perf_counter()
        burrow_judge(windows, store.rules, now)
        rules.append(time.perf_counter() - began)
    assert (burrow == np.array(BURROW_SAYS, np.uint8)[kinds]).all(), "the mix is not what it is said to be"
    return {
        "group-partitions": len(rows),
        "Burrow's rules, seconds": min(rules[SAMPLES:]),
        "Burrow's judge, seconds": min(whole[SAMPLES:]),
        "our judge, seconds": min(ours[SAMPLES:]),
        "ours": {Status(code).name: count for code, count in enumerate(np.bincount(status).tolist()) if count},
    }


def filled_with_groups(shape: Shape) -> tuple[ClusterStore, I32]:
    """Every group reads every topic; nothing is committed yet."""
    groups, topics, partitions = shape
    store = ClusterStore(BurrowRules(intervals=INTERVALS), now=NOW)
    names = [f"topic-{number:03}" for number in range(topics)]
    for topic in names:
        rows = store.heads.topic_rows(topic, partitions)
        store.heads.told(rows, np.zeros(partitions, np.int64), NOW)
    for number, topic, partition in product(range(groups), names, range(partitions)):
        store.resolve(f"a-group-of-consumers-{number:05}", topic, partition)
    for group in store.groups.values():
        group.members = 1
    return store, np.arange(store.windows.used, dtype=np.int32)


def told(store: ClusterStore, rows: I32, kinds: npt.NDArray[np.int64], number: int, now: int) -> None:
    """What comes between two looks: logs grow, and everybody commits but those who stopped two hours ago."""
    heads = np.arange(store.heads.used, dtype=np.int32)
    store.heads.told(heads, np.full(len(heads), 100_000 + 100 * number), now)
    for group in store.groups.values():
        group.told(now)
    at = {
        AT_THE_END: 100_000 + 100 * number,
        STOPPED: 95_000 + 50 * number,
        REWOUND: 95_000 + 100 * number if number < SAMPLES else 80_000 + 100 * number,
        STALLED: 99_000,
        SLOW: 95_000 + 50 * number,
        GETTING_ON: 50_000 + 150 * number,
    }
    offsets = np.array([at[kind] for kind in range(6)], np.int64)[kinds]
    when = np.where(kinds == STOPPED, now - 7200, now) * 1000
    which = np.nonzero((kinds != STOPPED) | (number < INTERVALS))[0]
    order = np.full(len(which), number, np.int64)
    store.commits(rows[which], offsets[which], order, when[which], now)


# ---- memory ----------------------------------------------------------------------------------------------------------


def memory(shape: Shape) -> dict[str, Any]:
    """What the process has more than before, with every window full."""
    filled_with_groups((1, 1, 1))
    before = psutil.Process().memory_info().rss
    store, rows = filled_with_groups(shape)
    kinds = np.zeros(len(rows), np.int64)
    for number in range(INTERVALS):
        for begin in range(0, len(rows), BATCH):
            part = slice(begin, begin + BATCH)
            told(store, rows[part], kinds[part], number, NOW)
    more = psutil.Process().memory_info().rss - before
    columns = store.windows.nbytes + store.heads.nbytes
    return {"group-partitions": len(rows), "bytes": more / len(rows), "columns, bytes": columns / len(rows)}


# ---- raw commits -----------------------------------------------------------------------------------------------------


def decoded(groups: int) -> dict[str, Any]:
    """As the reader hands them over: one partition of `__consumer_offsets` after the other, thousands at a time."""
    logs: dict[int, list[Record]] = {number: [] for number in range(OFFSETS_PARTITIONS)}
    for partition, key, value in raw_commits(groups, OFFSETS_PARTITIONS, NOW, TOPIC_ID):
        logs[partition].append((key, value, len(logs[partition])))
    records = chain.from_iterable(logs.values())
    batches = list(iter(lambda: list(islice(records, BATCH)), []))
    seconds = []
    for _ in range(TIMED):
        store = ClusterStore(BurrowRules(intervals=INTERVALS), now=NOW)
        for number in range(PARTITIONS):
            store.head("orders", number, PARTITIONS, 2 * COMMITS)
        taker = Taker(store)
        began = time.perf_counter()
        for batch in batches:
            taker.take(batch, NOW)
        seconds.append(time.perf_counter() - began)
        assert taker.counts.commits == groups * PARTITIONS * COMMITS, taker.counts
        assert len(store.windows) == groups * PARTITIONS
    return {"records": groups * PARTITIONS * COMMITS, "seconds": min(seconds)}


def raw_commits(groups: int, partitions: int, now: int, topic_id: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """(partition of `__consumer_offsets`, key, value) in the order in which they are made: each group commits all its
    partitions at once, and again after a while. The values are of version 4, as brokers write them."""
    names = [f"a-group-of-consumers-{number:05}" for number in range(groups)]
    places = [partition_of(name, partitions) for name in names]
    keys = [[_key(name, "orders", number) for number in range(PARTITIONS)] for name in names]
    for number in range(COMMITS):
        when = (now - (COMMITS - number) * EVERY) * 1000
        value = pack(">hqiBqBBB", 4, number + 1, 0, 1, when, 1, 0, len(topic_id)) + topic_id
        for place, its in zip(places, keys, strict=True):
            for key in its:
                yield place, key, value


def _key(group: str, topic: str, partition: int) -> bytes:
    return pack(f">hh{len(group)}sh{len(topic)}si", 1, len(group), group.encode(), len(topic), topic.encode(), partition)


# ---- a cold start ----------------------------------------------------------------------------------------------------


def caught_up(groups: int, rounds: int = 2) -> dict[str, Any]:
    with Cluster(brokers=1, provider="processes") as cluster:
        cluster.create_topic("orders", partitions=PARTITIONS, replication=1)
        _write(cluster.address, groups)
        took = [_cold_start(cluster.address, groups) for _ in range(rounds)]
    return {"records": groups * PARTITIONS * COMMITS, "seconds": min(took)}


def _write(address: ClusterAddress, groups: int) -> None:
    """Only a client of this name may write to Kafka's own topics."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    consumer = Consumer({**address.librdkafka(), "group.id": "the-first", "log_level": 0})
    consumer.commit(offsets=[TopicPartition("orders", 0, 0)], asynchronous=False)  # makes `__consumer_offsets`
    there = len(consumer.list_topics(OFFSETS, timeout=10).topics[OFFSETS].partitions)
    consumer.close()
    settings = {"client.id": "__admin_client", "linger.ms": 20, "queue.buffering.max.messages": 500_000, "log_level": 0}
    producer = Producer({**address.librdkafka(), **settings, "enable.idempotence": True})
    for partition, number in product(range(PARTITIONS), range(2 * COMMITS)):
        producer.produce("orders", str(number).encode(), partition=partition)
    for place, key, value in raw_commits(groups, there, int(time.time()), TOPIC_ID):
        while True:
            try:
                producer.produce(OFFSETS, value, key, place)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0, "not everything was written"


def _cold_start(address: ClusterAddress, groups: int) -> float:
    """Until every record is taken in and every log was read to its end. Coordinators are not asked: they know nothing of
    commits that were written past them."""
    watch = Watch("cold", address, sources=(TOPIC,), burrow=BurrowRules(intervals=INTERVALS))
    began = time.perf_counter()
    looker = Looker(watch, ClusterStore(watch.burrow, now=time.time()))
    looker.start()
    try:
        looker.look()
        wanted = groups * PARTITIONS * COMMITS
        while looker.taker.counts.commits < wanted:
            assert time.perf_counter() - began < 300, looker.taker.counts
            time.sleep(0.02)
        seconds = time.perf_counter() - began
        wait_until(lambda: (looker.look(), looker.caught_up)[1], bool, what="the reader is at the end", timeout=30)
        assert len(looker.store.windows) >= groups * PARTITIONS
    finally:
        looker.stop()
        looker.reader.join(30)
    return seconds
