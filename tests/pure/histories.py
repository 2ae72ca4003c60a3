"""Histories for the judge: builders for a row each, folders to put them in, and strategies that draw whole runs."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from kernel.ledger import COLUMNS

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
        "poll", client, 1000 + at if op is None else op, value=value, offset=at, topic="orders", partition=on, **cells
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

OUTCOMES = st.sampled_from(("ok", "ok", "ok", "fail", "info"))
PARTITIONS = st.sampled_from((0, 0, 1))
CLIENTS = ("a", "b", "c")
VALUES = st.one_of(st.integers(0, 6), st.sampled_from((-5, 1 << 40, -(1 << 62), (1 << 63) - 1)))
OFFSETS = st.one_of(st.integers(0, 8), st.just(1 << 40))
TXNS = st.sampled_from((None, None, "t1", "t2", "t3"))


@st.composite
def one_row(draw: st.DrawFn) -> Row:
    """Any row that keeps the contract, however little sense it makes beside the others."""
    kind = draw(
        st.sampled_from(
            (
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
                "drained",
                "begin",
                "crash",
            )
        )
    )
    outcome = draw(OUTCOMES)
    cells: Row = {
        "kind": kind,
        "outcome": outcome,
        "txn": draw(TXNS),
        "topic": draw(st.sampled_from(("x", "x", "x", "y", None))),
    }
    cells["partition"] = draw(st.one_of(PARTITIONS, st.none()) if kind not in ("poll", "drained") else PARTITIONS)
    cells["offset"] = draw(st.one_of(OFFSETS, OFFSETS, st.none()) if kind not in ("poll", "drained") else OFFSETS)
    if kind in ("poll", "drained") and cells["topic"] is None:
        cells["topic"] = "x"
    if kind == "send" or (kind == "poll" and draw(st.integers(0, 9))):
        cells["value"] = draw(VALUES)
    return cells


@st.composite
def dirty_runs(draw: st.DrawFn) -> tuple[Row, list[Row], list[Row]]:
    """(manifest, rows, events): rows at random, so that every anomaly comes up, and every border of each."""
    rows = draw(st.lists(one_row(), min_size=1, max_size=18))
    far = draw(st.sampled_from((0, 0, 1 << 62)))  # ops so far apart that they cannot be packed
    for number, one in enumerate(rows):
        one["client"] = draw(st.sampled_from(CLIENTS))
        one["op"], one["ix"] = draw(st.integers(0, 5)) + draw(st.sampled_from((0, far))), number
    manifest = {
        "permitted": draw(st.lists(st.sampled_from(("lost-write", "duplicate")), unique=True)),
        "clients": draw(clients()),
    }
    return manifest, draw(st.permutations(rows)), draw(faults())


@st.composite
def clients(draw: st.DrawFn) -> Row:
    facts = st.fixed_dictionaries(
        {}, optional={"isolation": st.sampled_from(("read_committed", "read_uncommitted")), "ordered": st.booleans()}
    )
    return draw(st.dictionaries(st.sampled_from(CLIENTS), facts))


@st.composite
def faults(draw: st.DrawFn) -> list[Row]:
    kinds = draw(st.lists(st.sampled_from(("fault", "bite", "heal", "leader")), max_size=3))
    return [{"t_ns": number, "event": kind, "id": "f1"} for number, kind in enumerate(kinds)]
