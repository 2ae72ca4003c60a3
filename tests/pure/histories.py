"""Histories for the judge: builders for a row each, folders to put them in, and strategies that draw whole runs."""

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from kernel.ledger import COLUMNS
from kernel.verdict import ANOMALIES
from tests.pure.simulation import MANIFEST, simulate

Row = dict[str, Any]
ARROW = {"str": pa.string(), "i64": pa.int64(), "i32": pa.int32(), "bool": pa.bool_()}
SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in COLUMNS.items()])


# ---- rows -----------------------------------------------------------------------------------------------------------


def row(kind: str, client: str, op: int, *, outcome: str = "ok", ix: int = 0, **cells: Any) -> Row:
    return {"run_id": "r1", "client": client, "op": op, "ix": ix, "kind": kind, "outcome": outcome, **cells}


def sent(
    value: int, at: int | None = None, *, op: int | None = None, client: str = "p", on: int | None = 0, **cells: Any
) -> Row:
    """A send of the topic orders; `at` is its offset, `on` its partition."""
    where = {"topic": "orders", "partition": on} if on is not None else {}
    return row("send", client, value if op is None else op, value=value, offset=at, **where, **cells)


def read(value: int, at: int, *, op: int | None = None, client: str = "c", on: int = 0, **cells: Any) -> Row:
    return row(
        "poll",
        client,
        1000 + 10 * at + on if op is None else op,
        value=value,
        offset=at,
        topic="orders",
        partition=on,
        **cells,
    )


def drained(end: int, *, on: int = 0, op: int = 0, **cells: Any) -> Row:
    return row("drained", "drain", op or 9000 + on, topic="orders", partition=on, offset=end, final=True, **cells)


def turn(kind: str, op: int, *, client: str = "c", on: int = 0, **cells: Any) -> Row:
    return row(kind, client, op, topic="orders", partition=on, **cells)


def ended(kind: str, txn: str, op: int, *, client: str = "p", **cells: Any) -> Row:
    return row(kind, client, op, txn=txn, **cells)


# ---- folders --------------------------------------------------------------------------------------------------------


def write_run(
    path: Path,
    rows: list[Row],
    *,
    files: int = 1,
    form: str = "parquet",
    manifest: Row | None = None,
    events: list[Row] = [],  # noqa: B006
) -> Path:
    """A run folder; rows are dealt out to the files in turn."""
    (path / "ledger").mkdir(parents=True)
    basics = {"run_id": "r1", "scenario": "by-hand", "seed": 1, "permitted": [], "clients": {}}
    (path / "manifest.json").write_text(json.dumps(basics | (manifest or {})))
    (path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    for number in range(files):
        mine = rows[number::files]
        if form == "jsonl" or (form == "both" and number % 2):
            (path / "ledger" / f"{number}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in mine))
        else:
            pq.write_table(pa.Table.from_pylist(mine, schema=SCHEMA), path / "ledger" / f"{number}.parquet")
    return path


# ---- whole runs, drawn ----------------------------------------------------------------------------------------------
# Hypothesis draws a seed and sizes, and shrinks the sizes: drawing every cell through it costs a hundred times more.

KINDS = (
    "send",
    "send",
    "send",
    "poll",
    "poll",
    "poll",
    "commit",
    "abort",
    "offsets",
    "assign",
    "revoke",
    "lost",
    "drained",
    "begin",
)
FAR = (0, 0, 0, 1 << 62)  # ops and values so far apart that they cannot be packed, nor tabled
CLIENTS = ("a", "b", "c")


@dataclass(frozen=True)
class Drawn:
    manifest: Row
    rows: list[Row]
    events: list[Row]


def random_row(random: Random, far: int) -> Row:
    """Any row that keeps the contract, however little sense it makes beside the others."""
    kind, whole = random.choice(KINDS), random.random() < 0.9
    cells = {"kind": kind, "outcome": random.choice(("ok", "ok", "ok", "ok", "fail", "info"))}
    cells |= {"client": random.choice(CLIENTS), "op": random.randrange(8) + random.choice((0, far))}
    cells |= {"txn": random.choice((None, None, "t1", "t2", "t3"))}
    if whole or kind in ("poll", "drained"):
        cells |= {"topic": random.choice("xxxy"), "partition": random.choice((0, 0, 1)), "offset": random.randrange(7)}
    elif random.random() < 0.5:
        cells |= {"topic": "x", "partition": 0}
    if kind == "drained":
        cells["offset"] += 3
    if kind == "send" or (kind == "poll" and whole):
        cells["value"] = random.choice((0, 1, 2, 3, 4, 5, 5 - far))
    return cells


def random_run(seed: int, count: int) -> Drawn:
    """Rows at random, so that every anomaly comes up, and every border of each."""
    random = Random(seed)
    far = random.choice(FAR)
    rows = [random_row(random, far) | {"ix": number} for number in range(count)]
    random.shuffle(rows)
    return Drawn(random_manifest(random, CLIENTS), rows, random_events(random))


def random_manifest(random: Random, names: tuple[str, ...]) -> Row:
    facts = [{}, {"ordered": True}, {"ordered": True, "isolation": "read_committed"}, {"isolation": "read_uncommitted"}]
    permitted = random.sample(sorted(ANOMALIES), random.choice((0, 0, 3)))
    return {"permitted": permitted, "clients": {name: random.choice(facts) for name in names if random.random() < 0.8}}


def random_events(random: Random) -> list[Row]:
    kinds = random.choice(((), (), ("fault",), ("fault", "bite"), ("fault", "bite", "heal"), ("leader",)))
    return [{"t_ns": number, "event": kind, "id": "f1"} for number, kind in enumerate(kinds)]


def soiled_run(seed: int, rounds: int, stains: int) -> Drawn:
    """A run in which everybody did as they should, and then a few cells were changed, rows dropped or repeated."""
    random = Random(seed)
    rows = simulate(seed, rounds, random.choice((1, 2, 3)))
    for _ in range(stains):
        soil(random, rows)
    manifest = {"permitted": [], "clients": dict(MANIFEST["clients"])}
    if random.random() < 0.3:
        manifest["clients"].pop(random.choice(sorted(manifest["clients"])))
    return Drawn(manifest, rows, random_events(random))


def soil(random: Random, rows: list[Row]) -> None:
    one, other = random.choice(rows), random.choice(rows)
    stain = random.choice(("drop", "again", "outcome", "offset", "swap", "txn", "forget", "undrain"))
    if stain == "drop":
        rows.remove(one)
    elif stain == "again":
        rows.append(one | {"ix": max(row["ix"] for row in rows if row["op"] == one["op"]) + 1})
    elif stain == "outcome":
        one["outcome"] = random.choice(("ok", "fail", "info"))
    elif stain == "offset" and one.get("offset") is not None:
        one["offset"] = max(0, one["offset"] + random.choice((-2, -1, 1, 2)))
    elif stain == "swap" and one["kind"] == other["kind"] and one.get("value") is not None is not other.get("value"):
        one["value"], other["value"] = other["value"], one["value"]
    elif stain == "txn":
        one["txn"] = other.get("txn")
    elif stain == "forget" and one.get("value") is not None:
        rows[:] = [row for row in rows if row["kind"] != "poll" or row.get("value") != one["value"]]
    elif stain == "undrain" and random.random() < 0.3:
        rows[:] = [row for row in rows if row["kind"] != "drained" or row["partition"]]


random_runs = st.builds(random_run, st.integers(0, 1 << 32), st.integers(4, 60))
soiled_runs = st.builds(soiled_run, st.integers(0, 1 << 32), st.integers(10, 60), st.sampled_from((0, 1, 2, 4, 8)))
