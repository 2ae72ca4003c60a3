"""How many ledger rows a second does the local engine judge on one core, and with how much memory?

Writes a ledger as traffic would: half sends, half polls, several producers and consumers, some transactions, some of
them aborted. Beside it, on the same core in the same run: reading the Parquet files alone, and the same judgement in
plain Python loops on a slice.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from chaos.judge import judge
from interceptors.ledger.ledger_writer import SCHEMA

MILLION = 1_000_000
PRODUCERS, TRANSACTIONAL = 7, 2
PARTITIONS, CONSUMERS = 24, 6
IN_TRANSACTION, ABORTED_EACH = 100, 20  # records in a transaction; every twentieth is aborted
POLL = 500  # records
FILE = 4 * MILLION
SLICE = 200_000
# What the engine promises, see docs/decisions/008-local-engine.md; this ledger's transactions are part of it.
BYTES_PER_ROW, CONSTANT = 60, 400 * MILLION

Ints = npt.NDArray[np.int64]


def offset_of(record: Ints) -> Ints:
    """A commit marker after every hundred records of a partition, so that readers meet gaps."""
    position = record // PARTITIONS
    return position + position // IN_TRANSACTION


def transaction_of(record: Ints) -> Ints:
    """-1 outside."""
    producer, sequence = record % PRODUCERS, record // PRODUCERS
    number = (sequence // IN_TRANSACTION) * TRANSACTIONAL + producer
    return np.where(producer < TRANSACTIONAL, number, -1)


def is_aborted(transaction: Ints) -> npt.NDArray[np.bool_]:
    last: npt.NDArray[np.bool_] = transaction // TRANSACTIONAL % ABORTED_EACH == ABORTED_EACH - 1
    return last & (transaction >= 0)


def words(codes: Ints, names: list[str]) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), pa.array(names, pa.string()))


def table(client: str, kind: str, op: Ints, **columns: Any) -> Any:
    count, zeros = op.size, np.zeros(op.size, dtype=np.int64)
    fixed = {"run_id": "bench", "client": client, "kind": kind, "outcome": "ok"}
    cells = {name: words(zeros, [text]) for name, text in fixed.items()}
    cells |= {"op": op, "ix": zeros, "invoked_ns": op * 1000, "completed_ns": op * 1000 + 500, "final": zeros > 0} | columns
    if "partition" in cells:
        cells["topic"] = words(zeros, ["orders"])
    arrays = [pa.array(cells[f.name]) if f.name in cells else pa.nulls(count, f.type) for f in SCHEMA]
    return pa.table([a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, SCHEMA, strict=True)], schema=SCHEMA)


def sends(producer: int, sequence: Ints) -> Any:
    record = sequence * PRODUCERS + producer
    transaction = transaction_of(record)
    extra: dict[str, Any] = {}
    if producer < TRANSACTIONAL:
        first = int(transaction.min())
        names = [f"p{producer}-{number}" for number in range(first, int(transaction.max()) + 1)]
        extra["txn"] = words(transaction - first, names)
    # Each transaction begins and ends with an op of its own.
    op = sequence + 2 * (sequence // IN_TRANSACTION) + 1
    return table(
        f"producer-{producer}", "send", op, partition=record % PARTITIONS, offset=offset_of(record), value=record, **extra
    )


def ends(producer: int, sequences: int) -> Any:
    number = np.arange(-(-sequences // IN_TRANSACTION))
    transaction = number * TRANSACTIONAL + producer
    op = np.minimum((number + 1) * IN_TRANSACTION, sequences) + 2 * number + 1
    rows = table(
        f"producer-{producer}",
        "commit",
        op,
        txn=words(transaction, [f"p{producer}-{n}" for n in range(int(transaction[-1]) + 1)]),
    )
    kind = words(is_aborted(transaction).astype(np.int64), ["commit", "abort"])
    return rows.set_column(SCHEMA.get_field_index("kind"), SCHEMA.field("kind"), kind)


def polls(consumer: int, first: int, rows: int, records: int) -> Any:
    """Poll by poll from the consumer's partitions in turn, each committed; records of aborted transactions stay unseen."""
    mine = PARTITIONS // CONSUMERS
    row = np.arange(first, first + rows)
    poll, ix = row // POLL, row % POLL
    partition = consumer * mine + poll % mine
    record = ((poll // mine) * POLL + ix) * PARTITIONS + partition
    seen = (record < records) & ~is_aborted(transaction_of(record))
    poll, ix, partition, record = poll[seen], ix[seen], partition[seen], record[seen]
    offset, name = offset_of(record), f"consumer-{consumer}"
    last = np.flatnonzero(np.append(poll[1:] != poll[:-1], True))
    return pa.concat_tables(
        [
            table(name, "poll", 2 * poll + 1, ix=ix, partition=partition, offset=offset, value=record),
            table(name, "offsets", 2 * poll[last] + 2, partition=partition[last], offset=offset[last] + 1),
        ]
    ).unify_dictionaries()


def generate(run: Path, rows: int) -> None:
    (run / "ledger").mkdir(parents=True)
    clients = {f"producer-{number}": {"ordered": True} for number in range(PRODUCERS)}
    manifest = {"run_id": "bench", "scenario": "check", "seed": 1, "permitted": [], "clients": clients}
    (run / "manifest.json").write_text(json.dumps(manifest))
    (run / "events.jsonl").write_text("")
    records = rows // 2
    for producer in range(PRODUCERS):
        count = -(-(records - producer) // PRODUCERS)
        for first in range(0, count, FILE):
            part = sends(producer, np.arange(first, min(first + FILE, count)))
            pq.write_table(part, run / "ledger" / f"producer-{producer}-{first // FILE:03}.parquet", compression="zstd")
        if producer < TRANSACTIONAL:
            pq.write_table(ends(producer, count), run / "ledger" / f"producer-{producer}-ends.parquet")
    polls_each = -(-records // (PARTITIONS * POLL))
    share = polls_each * POLL * (PARTITIONS // CONSUMERS)
    for consumer in range(CONSUMERS):
        for first in range(0, share, FILE):
            part = polls(consumer, first, min(FILE, share - first), records)
            pq.write_table(part, run / "ledger" / f"consumer-{consumer}-{first // FILE:03}.parquet", compression="zstd")
    partition = np.arange(PARTITIONS)
    last = (records - 1 - partition) // PARTITIONS * PARTITIONS + partition
    pq.write_table(
        table("drain", "drained", partition, partition=partition, offset=offset_of(last) + 1),
        run / "ledger" / "drain.parquet",
    )


def measured(run: Path, task: str) -> dict[str, float]:
    """In a process of its own, on one core, so that its memory is its own."""
    command = [sys.executable, "-m", "benchmarks.check", "--task", task, "--run", str(run)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def perform(task: str, run: Path) -> dict[str, float]:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    before, cpu = time.monotonic(), time.process_time()
    rows = {"judge": judge_all, "read": read_all, "naive": judge_slice}[task](run)
    seconds, busy = time.monotonic() - before, time.process_time() - cpu
    return {"rows": rows, "seconds": seconds, "cpu_seconds": busy, "rows_per_s": rows / busy, "peak_bytes": peak_bytes()}


def peak_bytes() -> int:
    """Of this program alone: what getrusage tells includes the parent before the fork."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def judge_all(run: Path) -> int:
    verdict = judge(run)
    assert verdict["verdict"] == "PASS", verdict["reasons"]
    return int(verdict["rows"])


def read_all(run: Path) -> int:
    """Every column the judge needs, decoded and dropped."""
    from chaos.evidence.history import COLUMNS

    texts = ["client", "kind", "outcome", "txn", "topic"]
    rows = 0
    for file in sorted((run / "ledger").glob("*.parquet")):
        with pq.ParquetFile(file, read_dictionary=texts) as parquet:
            rows += sum(batch.num_rows for batch in parquet.iter_batches(1 << 18, columns=list(COLUMNS), use_threads=False))
    return rows


def judge_slice(run: Path) -> int:
    from tests.pure.naive_checker import NaiveChecker

    rows = [row for file in sorted((run / "ledger").glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    NaiveChecker(json.loads((run / "manifest.json").read_text()), rows).verdict()
    return len(rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=100 * MILLION, help="rows of the ledger (100 million)")
    options.add_argument("--quick", action="store_true", help="4 million rows")
    options.add_argument("--json", action="store_true", help="answer in JSON")
    options.add_argument("--task", choices=("judge", "read", "naive"), help=argparse.SUPPRESS)
    options.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.task:
        print(json.dumps(perform(chosen.task, chosen.run)))
        return
    rows = 4 * MILLION if chosen.quick else chosen.rows
    with tempfile.TemporaryDirectory(prefix="kafka-trial-bench-") as place:
        generate(Path(place) / "large", rows)
        generate(Path(place) / "small", min(rows, SLICE))
        results = {task: measured(Path(place) / "large", task) for task in ("judge", "read")}
        results["naive"] = measured(Path(place) / "small", "naive")
    ours, bound = results["judge"], BYTES_PER_ROW * results["judge"]["rows"] + CONSTANT
    ratios = {task: ours["rows_per_s"] / results[task]["rows_per_s"] for task in ("read", "naive")}
    if chosen.json:
        print(json.dumps({**results, "bound_bytes": bound, "ratio": ratios}))
        return
    speed = {task: f"{result['rows_per_s'] / MILLION:6.2f} million rows/s" for task, result in results.items()}
    peak, gigabyte = ours["peak_bytes"], 1e9
    print(f"{ours['rows'] / MILLION:.1f} million rows, one core, rates by processor time:")
    print(f"  judged         {speed['judge']}, {ours['seconds']:.1f} s")
    print(f"                 peak memory {peak / gigabyte:.2f} GB, the formula allows {bound / gigabyte:.2f} GB")
    print(f"  Parquet alone  {speed['read']}: judged at {ratios['read']:.2f} of it")
    print(f"  plain Python   {speed['naive']}: judged {ratios['naive']:.0f} times faster")


if __name__ == "__main__":
    main()
