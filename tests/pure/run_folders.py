"""A run folder as a run leaves it: three partitions, the leader of one killed at 6 s, acks=1, a few records lost.

Drawn from a seed and judged by the real judge, so that a page, a block and a list can be tried without a broker.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chaos.evidence.folder import RunFolder
from chaos.judge import judge
from kernel.ledger import COLUMNS

BEGIN_NS = 5_000_000_000_000
S = 1_000_000_000
KILLED, ELECTED, HEALED, FULL_ISR, STOPPED, END = 6.0, 9.1, 14.0, 16.5, 22.0, 22.9
TYPES = {"i64": pa.int64(), "i32": pa.int32(), "str": pa.string(), "bool": pa.bool_()}
SCHEMA = pa.schema([(name, TYPES[kind]) for name, kind in COLUMNS.items()])


def ns(seconds: float) -> int:
    return BEGIN_NS + int(seconds * S)


@dataclass
class Run:
    """What the generator may be asked for."""

    scenario: str = "kill-leader"
    run_id: str = "r-0001"
    day: str = "2025-11-16"
    topic: str = "orders"
    client: str = "producer-1"
    partitions: int = 3
    rate: int = 120  # sends per second and partition
    lost: int = 4
    seed: int = 7
    started: str = "2025-11-16T03:12:44+00:00"
    files: int = 2
    recovers: bool = True  # or the partition stays dark to the end
    manifest: dict[str, Any] = field(default_factory=dict)
    verdict: dict[str, Any] = field(default_factory=dict)  # put over what the judge says


def write_run(runs: Path, run: Run | None = None, *, rows: list[dict[str, Any]] | None = None) -> RunFolder:
    run = run or Run()
    folder = RunFolder.create(runs, day=run.day, scenario=run.scenario, run_id=run.run_id)
    ledger = list(_rows(run)) if rows is None else rows
    write_ledger(folder, ledger, files=run.files)
    folder.events_file.write_text("".join(json.dumps(event) + "\n" for event in events(run)))
    folder.write_manifest(manifest(run))
    folder.write_verdict(judge(folder) | run.verdict)
    return folder


def write_ledger(folder: RunFolder, rows: list[dict[str, Any]], *, files: int = 1) -> None:
    for number in range(files):
        table = pa.Table.from_pylist(rows[number::files], schema=SCHEMA)
        pq.write_table(table, folder.ledger / f"part-{number}.parquet")


def _rows(run: Run) -> Iterator[dict[str, Any]]:
    chance = random.Random(run.seed)
    value = 0
    for partition in range(run.partitions):
        sends, end = _sends(run, partition, value, chance)
        value += len(sends)
        yield from sends
        yield from _reads(run, partition, sends, chance)
        yield _row(run, "reader-final", 900_000_000 + partition, "drained", 22.8, 22.8, partition, offset=end, final=True)
    yield from _assignments(run)


def _sends(run: Run, partition: int, value: int, chance: random.Random) -> tuple[list[dict[str, Any]], int]:
    """Partition 0 is dark from the kill to the election; its last acknowledged records before it are gone afterwards."""
    rows: list[dict[str, Any]] = []
    offset, dark_until = 0, ELECTED if run.recovers else END
    for at in range(int(STOPPED * run.rate)):
        began = at / run.rate
        done, outcome, where = began + chance.lognormvariate(-5.9, 0.45), "ok", offset
        if partition == 0 and KILLED - done < 0 and began < dark_until:
            if not run.recovers or chance.random() < 0.25:
                done, outcome, where = min(began + 3.0, END), "info", None
            else:
                done = dark_until + 0.12 + chance.random() * 0.25
        if partition == 0 and outcome == "ok" and began >= KILLED > rows[-1]["invoked_ns"] / S - BEGIN_NS / S:
            offset -= run.lost  # the new leader never had them
            where = offset
        rows.append(
            _row(run, run.client, partition * 1_000_000 + at, "send", began, done, partition,
                 offset=where, value=value + at, outcome=outcome, error="_MSG_TIMED_OUT" if outcome == "info" else None)
        )  # fmt: skip
        offset += outcome == "ok"
    return rows, offset


def _reads(run: Run, partition: int, sends: list[dict[str, Any]], chance: random.Random) -> Iterator[dict[str, Any]]:
    """A consumer that lags behind from 11 s to 13 s, while its group rebalances; then the closing reader."""
    kept = {row["offset"]: row for row in sends if row["outcome"] == "ok"}  # the later of two values at one offset stays
    seen = 0.0
    for number, (offset, sent) in enumerate(sorted(kept.items())):
        seen = max(seen, (sent["completed_ns"] - BEGIN_NS) / S + 0.004 + chance.random() * 0.03)
        seen = max(seen, 13.0) if seen > 11 and partition == 2 else seen + 1e-5
        consumer = "consumer-1" if partition == 0 or (partition == 2 and seen < 12) else "consumer-2"
        where = {"offset": offset, "value": sent["value"]}
        if seen < 22.2:
            yield _row(run, consumer, partition * 1_000_000 + number, "poll", seen - 0.003, seen, partition, **where)
        final = 22.3 + number / 20_000
        yield _row(
            run, "reader-final", partition * 1_000_000 + number, "poll", final, final + 0.001, partition, final=True, **where
        )


def _assignments(run: Run) -> Iterator[dict[str, Any]]:
    changes = [("consumer-1", "assign", 0.05, (0, 2)), ("consumer-2", "assign", 0.06, (1,))]
    changes += [("consumer-1", "revoke", 11.0, (2,)), ("consumer-2", "assign", 12.0, (2,))]
    changes += [("consumer-2", "revoke", 22.2, (1, 2)), ("consumer-1", "revoke", 22.2, (0,))]
    for op, (client, kind, at, partitions) in enumerate(changes):
        for ix, partition in enumerate(partitions):
            if partition < run.partitions:
                yield _row(run, client, 800_000_000 + op, kind, at, at, partition, ix=ix)


def _row(
    run: Run, client: str, op: int, kind: str, began: float, done: float | None, partition: int, **more: Any
) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row |= {"run_id": run.run_id, "client": client, "op": op, "ix": 0, "kind": kind, "outcome": "ok", "final": False}
    row |= {"invoked_ns": ns(began), "completed_ns": None if done is None else ns(done)}
    return row | {"topic": run.topic, "partition": partition, "epoch": 3} | more


def events(run: Run) -> list[dict[str, Any]]:
    def at(seconds: float, event: str, **facts: Any) -> dict[str, Any]:
        return {"t_ns": ns(seconds), "event": event} | facts

    def state(seconds: float, partition: int, leader: int | None, epoch: int, isr: list[int]) -> dict[str, Any]:
        replicas = [(partition + step) % 3 + 1 for step in range(3)]
        facts = {"leader": leader, "leader_epoch": epoch, "isr": isr, "elr": [], "replicas": replicas}
        return at(seconds, "partition", topic=run.topic, partition=partition, **facts)

    every = range(run.partitions)
    phases = [(-3.5, "setup"), (-0.6, "healthy"), (0.0, "warm-up"), (2.0, "steady"), (6.0, "inject"), (6.2, "hold")]
    phases += [(14.0, "heal"), (14.4, "healthy-again"), (22.2, "drain"), (22.95, "judge")]
    told = [at(when, "phase", phase=name) for when, name in phases]
    told += [at(-0.6, "brokers", alive=[1, 2, 3]), at(-0.6, "controller", node=2, epoch=1)]
    told += [state(-0.6, number, number % 3 + 1, 3, [1, 2, 3]) for number in every]
    told += [
        at(KILLED, "fault", id="f1", fault="kill-broker", sentence="broker 1 is killed (SIGKILL)",
           affected=[[run.topic, 0]], bounds={"send": 15.0, "poll": 16.0, "why": "9.0 s broker session + 6.0 s allowance"},
           noise_s=3.0),
        at(6.15, "bite", id="f1", sentence="process 4711 is gone"),
        at(6.2, "brokers", alive=[2, 3]),
        at(8.8, "controller", node=3, epoch=2),
    ]  # fmt: skip
    told += [state(ELECTED, 0, 2, 4, [2, 3])] if run.recovers else [state(ELECTED, 0, None, 4, [])]
    told += [state(ELECTED, number, number % 3 + 1, 3, [2, 3]) for number in every if number]
    told += [at(HEALED, "heal", id="f1"), at(14.9, "brokers", alive=[1, 2, 3])]
    told += [
        state(FULL_ISR, number, number % 3 + 1 if number else 2, 4, [1, 2, 3]) for number in every if number or run.recovers
    ]
    told += [at(16.6, "health", clause="every partition has its full ISR", holds=True)]
    told += [at(22.9, "expectation", name="acks go on", holds=True, sentence="records were acknowledged after the heal")]
    return sorted(told, key=lambda event: event["t_ns"])


def manifest(run: Run) -> dict[str, Any]:
    effective = {
        "broker.session.timeout.ms": "9000",
        "broker.heartbeat.interval.ms": "2000",
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "false",
        "replica.lag.time.max.ms": "30000",
        "num.io.threads": "2",
        "ssl.keystore.password": "hunter2",
    }
    return {
        "run_id": run.run_id, "scenario": run.scenario, "seed": run.seed, "permitted": [], "started": run.started,
        "anchor": {"monotonic_ns": BEGIN_NS, "wall": run.started}, "settings": "default",
        "options": {"acks": "1", "brokers": 3}, "kafka": "4.3.1", "provider": "processes", "brokers": 3,
        "schedule": [{"at_s": 6.0, "fault": {"kind": "kill-broker", "target": "leader-of orders-0"}, "hold_s": 8.0}],
        "versions": {"kafka-trial": "0.2", "confluent-kafka": "2.16.1"},
        "config": {
            "brokers": {str(node): effective | {"node.id": str(node)} for node in (1, 2, 3)},
            "topics": {run.topic: {"min.insync.replicas": "2", "retention.ms": "604800000"}},
        },
        "clients": {
            run.client: {"acks": "1", "idempotence": False, "ordered": False},
            "consumer-1": {"isolation": "read_committed", "mode": "subscribe", "group": "readers", "protocol": "classic"},
            "consumer-2": {"isolation": "read_committed", "mode": "subscribe", "group": "readers", "protocol": "classic"},
        },
        "topics": {run.topic: {"partitions": run.partitions, "replication": 3, "config": {"min.insync.replicas": "2"}}},
    } | run.manifest  # fmt: skip
