"""Nights of run folders for tests and benchmarks: thousands in a minute, as runs leave them, with knobs for what is wrong.

Drawn from a seed, so that the same call writes the same bytes. What verdict.json says of sends agrees with the ledger.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernel.ledger import COLUMNS
from kernel.verdict import ANOMALIES

S = 1_000_000_000
BEGIN_NS = 4_000_000_000_000
FAULT_S, HEAL_S, DRAIN_S, END_S = 6.0, 20.0, 24.0, 25.0
PARTITIONS = 3
TYPES = {"i64": pa.int64(), "i32": pa.int32(), "str": pa.string(), "bool": pa.bool_()}
SCHEMA = pa.schema([(name, TYPES[kind]) for name, kind in COLUMNS.items()])
SCENARIOS = ("leader-election", "rolling-restart", "controller-election", "isolation", "storm", "consumer-rolling-restart")
DAMAGES = ("manifest", "no-verdict", "format", "verdict-word", "ledger", "page")
CONFIG = {f"some.broker.setting.number.{number}": str(number * 1000) for number in range(180)}  # as bulky as a true one


@dataclass(frozen=True)
class Night:
    """What the generator may be asked for."""

    runs: int = 12  # of all nights together
    nights: int = 3
    seed: int = 1
    last: date = date(2026, 11, 16)
    scenarios: Sequence[str] = SCENARIOS[:2]
    kafka: Sequence[str] = ("4.3.1",)
    recovery_s: float = 9.0
    noise: float = 0.05  # sigma of the logarithm
    slower: Mapping[str, tuple[date, float]] = field(default_factory=dict)  # scenario: from which night on, how many times
    failing: Mapping[str, date] = field(default_factory=dict)  # scenario: from which night on acknowledged records are lost
    flaky: Sequence[str] = ()  # scenarios with one seed for all runs, every other of which is inconclusive
    one_seed: Sequence[str] = ()  # scenarios with one seed for all runs
    censored: Sequence[str] = ()  # scenarios in which the last run of each night never recovers
    watched: Sequence[str] = ()  # scenarios with a lag monitor, alerts and an audit
    silent: Sequence[str] = ()  # of the watched ones: nobody said anything
    damaged: Sequence[str] = ()  # of DAMAGES; one run folder each, on top, on the last night
    rate: int = 20  # sends per second and partition
    ledger: bool = True


def make_runs(folder: Path, night: Night | None = None, **knobs: Any) -> list[Path]:
    """Writes runs/<date>/<scenario>/<run_id>/ below `folder`; returns the run folders, oldest night first."""
    asked = night or Night(**knobs)
    chance = random.Random(asked.seed)
    made = [_run(folder, asked, number, chance) for number in range(asked.runs)]
    return made + [_damaged(folder, asked, what, chance) for what in asked.damaged]


def _run(folder: Path, asked: Night, number: int, chance: random.Random) -> Path:
    nth_night = number * asked.nights // asked.runs
    nth = number - -(-nth_night * asked.runs // asked.nights)  # in its night
    day = asked.last - timedelta(days=asked.nights - 1 - nth_night)
    scenario = asked.scenarios[nth % len(asked.scenarios)]
    kafka = asked.kafka[nth // len(asked.scenarios) % len(asked.kafka)]
    last_of_night = nth + len(asked.scenarios) * len(asked.kafka) >= asked.runs // asked.nights
    gap = asked.recovery_s * chance.lognormvariate(0, asked.noise)
    since, times = asked.slower.get(scenario, (date.max, 1.0))
    gap *= times if day >= since else 1.0
    censored = scenario in asked.censored and last_of_night
    verdict = "PASS"
    if scenario in asked.flaky and number % 2:
        verdict = "INCONCLUSIVE"
    if day >= asked.failing.get(scenario, date.max):
        verdict = "FAIL"
    seed = 7 if scenario in (*asked.flaky, *asked.one_seed) else chance.randrange(2**31)
    run_id = f"{number % 24:02}{number // 24 % 60:02}{number % 60:02}-{number:04x}"
    started = datetime(day.year, day.month, day.day, number % 24, number // 24 % 60, number % 60, tzinfo=UTC)
    return write_run(
        folder, asked, scenario=scenario, run_id=run_id, started=started, kafka=kafka, seed=seed, gap=gap,
        censored=censored, verdict=verdict, chance=chance,
    )  # fmt: skip


def write_run(
    folder: Path, asked: Night, *, scenario: str, run_id: str, started: datetime, kafka: str = "4.3.1", seed: int = 1,
    gap: float = 9.0, censored: bool = False, verdict: str = "PASS", chance: random.Random | None = None,
) -> Path:  # fmt: skip
    chance = chance or random.Random(seed)
    path = folder / f"{started:%Y-%m-%d}" / scenario / run_id
    (path / "ledger").mkdir(parents=True)
    gaps = {partition: gap * (1 - 0.02 * partition) for partition in range(PARTITIONS)}
    if censored:
        gaps[0] = DRAIN_S - FAULT_S
    _write(path / "manifest.json", _manifest(scenario, run_id, started, kafka, seed))
    _write(path / "verdict.json", _verdict(scenario, run_id, verdict, gaps, censored, asked.rate))
    events = _events(asked, scenario, gaps, censored, chance)
    (path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    if asked.ledger:
        for client, table in _ledger(run_id, gaps, censored, asked.rate).items():
            pq.write_table(table, path / "ledger" / f"{client}.parquet", compression="zstd")
    return path


def _damaged(folder: Path, asked: Night, what: str, chance: random.Random) -> Path:
    started = datetime(asked.last.year, asked.last.month, asked.last.day, 23, DAMAGES.index(what), tzinfo=UTC)
    path = write_run(
        folder, asked, scenario=asked.scenarios[0], run_id=f"damaged-{what}", started=started, kafka=asked.kafka[0],
        seed=chance.randrange(2**31), gap=asked.recovery_s,
    )  # fmt: skip
    manifest, verdict, ledger = path / "manifest.json", path / "verdict.json", path / "ledger" / "producer-1.parquet"
    if what == "manifest":
        manifest.write_bytes(manifest.read_bytes()[:1000])
    elif what == "no-verdict":
        verdict.unlink()
    elif what == "format":
        _write(manifest, json.loads(manifest.read_text()) | {"format": 7})
    elif what == "verdict-word":
        _write(verdict, json.loads(verdict.read_text()) | {"verdict": "MAYBE"})
    elif what == "ledger":  # cut off: no footer
        ledger.write_bytes(ledger.read_bytes()[:-100])
    elif what == "page":  # the footer is good, what it points to is not
        whole = bytearray(ledger.read_bytes())
        whole[4 : len(whole) // 2] = bytes(len(whole) // 2 - 4)
        ledger.write_bytes(bytes(whole))
    return path


def _write(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n")


def _manifest(scenario: str, run_id: str, started: datetime, kafka: str, seed: int) -> dict[str, Any]:
    return {
        "format": 1,
        "run_id": run_id,
        "scenario": scenario,
        "promise": f"{scenario}: nothing acknowledged is lost",
        "seed": seed,
        "permitted": [],
        "clients": {"producer-1": {"ordered": True, "acks": "all"}, "reader-1": {"isolation": "read_committed"}},
        "started": started.isoformat(),
        "settings": "default",
        "client_config": {},
        "options": {"how": "kill", "acks": "all", "rate": "300"},
        "kafka": kafka,
        "provider": "processes",
        "brokers": 3,
        "controllers": 0,
        "security": "plaintext",
        "config": {"brokers": {str(broker): CONFIG for broker in (1, 2, 3)}, "topics": {}},
        "finished": (started + timedelta(seconds=END_S)).isoformat(),
    }


def _verdict(
    scenario: str, run_id: str, verdict: str, gaps: Mapping[int, float], censored: bool, rate: int
) -> dict[str, Any]:
    lost = 4 if verdict == "FAIL" else 0
    acknowledged = int(DRAIN_S * rate) * PARTITIONS
    finding = {"name": "lost-write", "sentence": "orders-0 @ 12 was acknowledged to producer-1 and is gone.", "value": 12}
    reasons = {"PASS": [], "FAIL": [f"{ANOMALIES['lost-write']} (lost-write): 4."], "INCONCLUSIVE": ["Nobody looked."]}
    return {
        "run_id": run_id,
        "scenario": scenario,
        "verdict": verdict,
        "reasons": reasons.get(verdict, []),
        "acknowledged": acknowledged,
        "read": acknowledged - lost,
        "counts": dict.fromkeys(ANOMALIES, 0) | {"lost-write": lost},
        "permitted": [],
        "findings": [finding] * lost,
        "recovery": [
            _recovery(kind, partition, gap, censored and partition == 0)
            for partition, gap in gaps.items()
            for kind in ("send", "poll")
        ],
        "engine": "local",
        "rows": acknowledged * 2,
        "seconds": 0.1,
    }


def _recovery(kind: str, partition: int, gap: float, censored: bool) -> dict[str, Any]:
    seconds = gap if kind == "send" else 1.4
    return {
        "fault": "f1", "kind": kind, "topic": "orders", "partition": partition, "affected": True, "gap_s": seconds,
        "gap_from_s": 0.0, "censored": censored and kind == "send", "detect_s": None, "elect_s": seconds - 0.05,
        "first_success_s": None if censored else seconds, "full_isr_s": 14.2, "drained_s": None, "bound_s": 15.125,
        "within": not censored, "why": "9.0 s broker session",
    }  # fmt: skip


def _events(
    asked: Night, scenario: str, gaps: Mapping[int, float], censored: bool, chance: random.Random
) -> list[dict[str, Any]]:
    def at(seconds: float, event: str, **facts: Any) -> dict[str, Any]:
        return {"t_ns": BEGIN_NS + int(seconds * S), "event": event, **facts}

    held = {"isr": [1, 2, 3], "elr": [], "replicas": [2, 1, 3]}

    def led(seconds: float, partition: int, leader: int, epoch: int) -> dict[str, Any]:
        return at(seconds, "partition", topic="orders", partition=partition, leader=leader, leader_epoch=epoch, **held)

    events = [at(0, "phase", phase="setup"), *(led(0.3, partition, 2, 0) for partition in range(PARTITIONS))]
    events += [at(3, "phase", phase="steady"), at(DRAIN_S, "phase", phase="drain"), at(END_S, "phase", phase="judge")]
    events.append(at(FAULT_S, "fault", id="f1", fault="kill-broker", sentence="broker 2 is killed (SIGKILL)"))
    events.append(at(FAULT_S + 0.02, "bite", id="f1", sentence="the process of broker 2 is gone"))
    events += [led(FAULT_S + gap - 0.05, part, 1, 1) for part, gap in gaps.items() if not (censored and part == 0)]
    events.append(at(HEAL_S, "heal", id="f1"))
    if scenario in asked.watched:
        events += [at(0.1, "observer", kind="lag"), at(0.1, "observer", kind="alert")]
    if scenario in asked.watched and scenario not in asked.silent:
        group = {"group": "trial", "topic": "orders", "partition": 0}
        events += [
            at(2, "lag", **group, status="OK", was="WARMING_UP"),
            at(FAULT_S + chance.uniform(2, 4), "lag", **group, status="STALLED", was="OK"),
            at(19, "lag", **group, status="OK", was="STALLED"),
            at(FAULT_S + chance.uniform(5, 9), "alert", alert="UnderReplicatedPartitions", state="firing"),
            at(22, "alert", alert="UnderReplicatedPartitions", state="resolved"),
            at(24.5, "audit", link="orders: producer → billing", sent=1000, received=998, missing=2, duplicated=0),
        ]
    return sorted(events, key=lambda event: int(event["t_ns"]))


def _ledger(run_id: str, gaps: Mapping[int, float], censored: bool, rate: int) -> dict[str, pa.Table]:
    """A producer and a reader; what is sent while a partition is dark is answered when it is back, or never."""
    sends: list[dict[str, Any]] = []
    reads: list[dict[str, Any]] = []
    count = int((DRAIN_S - 1) * rate)
    for partition, gap in gaps.items():
        invoked = 1.0 + np.arange(count) / rate
        dark = (invoked >= FAULT_S) & (invoked < FAULT_S + gap)
        answered = np.where(dark, FAULT_S + gap, invoked + 0.003)
        known = answered < DRAIN_S if censored else np.full(count, True)
        values = partition * 1_000_000 + np.arange(count)
        place = {"topic": "orders", "partition": partition}
        sends.append(
            place
            | {"op": values, "invoked": invoked, "completed": answered, "known": known, "value": values, "kind": "send"}
        )
        seen = {
            "op": values[known],
            "invoked": answered[known],
            "completed": answered[known] + 0.005,
            "value": values[known],
        }
        reads.append(place | seen | {"known": np.full(int(known.sum()), True), "kind": "poll"})
    at, ends = np.array([DRAIN_S + 0.9]), [int(part["known"].sum()) for part in sends]
    drained = [
        {"topic": "orders", "partition": part, "op": np.array([part]), "invoked": at, "completed": at, "kind": "drained",
         "known": np.array([True]), "value": pa.array([None], pa.int64()), "offset": np.array([end])}
        for part, end in enumerate(ends)
    ]  # fmt: skip
    parts = {"producer-1": sends, "reader-1": reads, "drain": drained}
    return {client: _table(run_id, client, rows) for client, rows in parts.items()}


def _table(run_id: str, client: str, parts: list[dict[str, Any]]) -> pa.Table:
    return pa.concat_tables([_rows(run_id, client, part) for part in parts])


def _rows(run_id: str, client: str, part: dict[str, Any]) -> pa.Table:
    size, known = len(part["op"]), part["known"]
    completed = BEGIN_NS + (part["completed"] * S).astype(np.int64)
    columns: dict[str, Any] = {
        "run_id": [run_id] * size,
        "client": [client] * size,
        "op": part["op"],
        "ix": np.zeros(size, np.int32),
        "kind": [part["kind"]] * size,
        "invoked_ns": BEGIN_NS + (part["invoked"] * S).astype(np.int64),
        "completed_ns": pa.array(completed, mask=~known),
        "outcome": np.where(known, "ok", "info"),
        "topic": [part["topic"]] * size,
        "partition": np.full(size, part["partition"], np.int32),
        "offset": part.get("offset", pa.array(np.arange(size), mask=~known)),
        "value": part["value"],
        "final": np.full(size, False),
    }
    return pa.table({field.name: pa.array(columns.get(field.name, [None] * size), field.type) for field in SCHEMA})
