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
from dataclasses import asdict, dataclass
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
from lag_monitor.judge.grouping import burrow_statuses, order
from lag_monitor.judge.observing import observe
from lag_monitor.judge.rules import judge
from lag_monitor.judge.settings import Patience
from lag_monitor.looking import Looker
from lag_monitor.sources.reader import BATCH
from lag_monitor.sources.reader import TOPIC as OFFSETS
from lag_monitor.sources.taking import Record, Taker, partition_of
from lag_monitor.store.cluster_store import ClusterStore
from lag_monitor.store.table import I32
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
# Burrow's own code in process, 200,000 group-partitions on two cores; and a real Burrow's catch-up with a million commits.
BURROW_VERDICTS, BURROW_COMMITS, BURROW_BYTES, BURROW_BYTES_CACHED, BURROW_SECONDS = 540_000, 515_000, 943, 1147, 48.0
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
        group.members = group.place % 2  # who does not move is stalled in the one, and has stopped in the other
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
        STALLED: 99_000 + min(number, 2),
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
    """What the process has more than before: with every window full, and again after a look."""
    process = psutil.Process()
    _fill(filled_with_groups((1, 1, BATCH))[0])  # what a batch takes while it is stored is there already
    before = process.memory_info().rss
    store = filled_with_groups(shape)[0]
    _fill(store)
    count = store.windows.used
    full = process.memory_info().rss - before
    looked = observe(store, NOW, store.windows.offsets[:count, -1].copy(), np.zeros(count), Patience())
    judged = order(store, looked, judge(store, looked, Patience()))
    with_verdicts = process.memory_info().rss - before
    assert len(judged.rows) == count
    return {"group-partitions": count, "bytes": full / count, "bytes with verdicts": with_verdicts / count}


def _fill(store: ClusterStore) -> None:
    for number, begin in product(range(INTERVALS), range(0, store.windows.used, BATCH)):
        rows = np.arange(begin, min(begin + BATCH, store.windows.used), dtype=np.int32)
        told(store, rows, np.full(len(rows), SLOW), number, NOW)


# ---- raw commits -----------------------------------------------------------------------------------------------------


def decoded(groups: int, commits: int) -> dict[str, Any]:
    """As the reader hands them over: one partition of `__consumer_offsets` after the other, thousands at a time."""
    logs: dict[int, list[Record]] = {number: [] for number in range(OFFSETS_PARTITIONS)}
    for partition, key, value in raw_commits(groups, commits, OFFSETS_PARTITIONS, NOW):
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
        assert taker.counts.commits == groups * PARTITIONS * commits, taker.counts
        assert len(store.windows) == groups * PARTITIONS
    return {"records": groups * PARTITIONS * commits, "seconds": min(seconds)}


def raw_commits(groups: int, commits: int, partitions: int, now: int) -> Iterator[tuple[int, bytes, bytes]]:
    """(partition of `__consumer_offsets`, key, value) in the order in which they are made: each group commits all its
    partitions at once, and again after a while. The values are of version 4, as brokers write them."""
    names = [f"a-group-of-consumers-{number:05}" for number in range(groups)]
    places = [partition_of(name, partitions) for name in names]
    keys = [[_key(name, "orders", number) for number in range(PARTITIONS)] for name in names]
    for number in range(commits):
        when = (now - (commits - number) * EVERY) * 1000
        value = pack(">hqiBqBBB", 4, number + 1, 0, 1, when, 1, 0, len(TOPIC_ID)) + TOPIC_ID
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
    for place, key, value in raw_commits(groups, COMMITS, there, int(time.time())):
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
        wait_until(lambda: _looked(looker), bool, what="the reader is at the end", timeout=30)
        assert len(looker.store.windows) >= groups * PARTITIONS
    finally:
        looker.stop()
        looker.reader.join(30)
    return seconds


def _looked(looker: Looker) -> bool:
    looker.look()
    return looker.caught_up


# ---- told ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    what: str
    figure: float
    unit: str
    target: float | None = None  # at least so much; of seconds and bytes, at most
    burrow: float | None = None

    @property
    def less_is_better(self) -> bool:
        return self.unit in ("s", "bytes")

    @property
    def ratio(self) -> float | None:
        """How many times better than Burrow."""
        if self.burrow is None:
            return None
        return self.burrow / self.figure if self.less_is_better else self.figure / self.burrow

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.figure <= self.target if self.less_is_better else self.figure >= self.target


def tasks(*, quick: bool) -> dict[str, Callable[[], dict[str, Any]]]:
    """`quick`: a tenth."""
    wide, many, groups = ((100, 10, 100), (1_000, 1, 100), 20) if quick else ((100, 100, 100), (10_000, 1, 100), GROUPS)
    return {
        "mix": lambda: verdicts(MIX, wide),
        "worst": lambda: verdicts(WORST, wide),
        "wide": lambda: memory(wide),
        "many": lambda: memory(many),
        "again": lambda: decoded(groups, COMMITS),
        "new": lambda: decoded(groups * COMMITS, 1),
        "cold": lambda: caught_up(groups),
    }


def measured(task: str, *, quick: bool) -> dict[str, Any]:
    """In a process of its own, so that its memory is its own."""
    command = [sys.executable, "-m", "benchmarks.lag", "--task", task, *(["--quick"] if quick else [])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def lines(found: dict[str, dict[str, Any]], *, quick: bool) -> list[Line]:
    table: list[Line] = []
    for task, those in (("mix", "60 % at the end"), ("worst", "all behind")):
        one = found[task]
        count = one["group-partitions"]
        target = 2.5 * MILLION if task == "mix" else None
        rules, whole, ours = (one[f"{what}, seconds"] for what in ("Burrow's rules", "Burrow's judge", "our judge"))
        table += [
            Line(f"Burrow's rules alone, {those}", count / rules, "verdicts/s", target, BURROW_VERDICTS),
            Line(f"Burrow's rules from the store, {those}", count / whole, "verdicts/s", target, BURROW_VERDICTS),
            Line(f"a million by Burrow's judge, {those}", whole * MILLION / count, "s", 1.0, MILLION / BURROW_VERDICTS),
            Line(f"a million by our judge, {those}", ours * MILLION / count, "s", 1.0),
        ]
    for task, those in (("wide", "few groups with many topics"), ("many", "many groups with a topic each")):
        full, judged = found[task]["bytes"], found[task]["bytes with verdicts"]
        table += [
            Line(f"a group-partition, {those}", full, "bytes", 500, BURROW_BYTES),
            Line("  and with the verdicts of a look", judged, "bytes", None, BURROW_BYTES_CACHED),
        ]
    again, new = (found[task]["records"] / found[task]["seconds"] for task in ("again", "new"))
    seconds, records = found["cold"]["seconds"], found["cold"]["records"]
    target, burrow = (None, None) if quick else (10, BURROW_SECONDS)  # told of a million
    table += [
        Line(f"raw commits decoded and stored, {COMMITS} to each key", again, "records/s", 300_000, BURROW_COMMITS),
        Line("raw commits decoded and stored, every key is new", new, "records/s"),
        Line(f"cold start on a real broker, {records:,} commits", seconds, "s", target, burrow),
        Line("  that is", records / seconds, "records/s"),
    ]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--task", choices=tasks(quick=True), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.task:
        print(json.dumps(tasks(quick=asked.quick)[asked.task]()))
        return
    found = {task: measured(task, quick=asked.quick) for task in tasks(quick=asked.quick)}
    _print(lines(found, quick=asked.quick), found, as_json=asked.json)


def _print(table: list[Line], found: dict[str, dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        figures = [{**asdict(line), "ratio": line.ratio, "met": line.met} for line in table]
        print(json.dumps({"figures": figures, "measured": found}, indent=1))
        return
    count = found["mix"]["group-partitions"]
    print(f"{count:,} group-partitions with {INTERVALS} slots each; the best of {TIMED}, and of 2 cold starts")
    print(f"{'':62}{'ours':>11} {'':10}{'target':>13}{'Burrow':>11}{'times better':>14}")
    for line in table:
        target = "" if line.target is None else f"{'≤' if line.less_is_better else '≥'} {_number(line.target)}"
        burrow = "" if line.burrow is None else _number(line.burrow)
        ratio = "" if line.ratio is None else f"{line.ratio:.1f}"
        missed = "  MISSED" if line.met is False else ""
        print(f"{line.what:62}{_number(line.figure):>11} {line.unit:10}{target:>13}{burrow:>11}{ratio:>14}{missed}")
    said = ", ".join(f"{name} {count:,}" for name, count in found["worst"]["ours"].items())
    print(f"our judge on those that are all behind: {said}")
    print("Burrow: its own code in process on such a machine, 515,000 commits/s (decoded already), 540,000 verdicts/s,")
    print("943 bytes, 1147 with the results that it keeps; a real one took 48 s to catch up with a million commits.")


def _number(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
