"""The ledger is on disk while it is written, whole after a kill, and a disk that fails is not passed over in silence."""

import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chaos.evidence.events import EventLog
from interceptors.ledger import ledger_writer
from interceptors.ledger.ledger_writer import MOST_ROWS, LedgerWriter
from kernel.ledger import COLUMNS

TOP = Path(__file__).parent.parent.parent


def written(folder: Path) -> list[dict[str, Any]]:
    """What any reader sees."""
    files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


@pytest.fixture
def ledger(tmp_path: Path):
    writer = LedgerWriter(tmp_path, "run", "p")
    yield writer
    writer.close()


def test_rows_can_be_read_while_the_client_runs(ledger: LedgerWriter, tmp_path: Path):
    ledger.row(op=1, kind="send", value=10)
    ledger.sync()
    ledger.row(op=2, kind="send", value=11)

    assert [row["value"] for row in written(tmp_path)] == [10]


def test_every_row_says_whose_it_is_and_what_it_does_not_know_is_null(ledger: LedgerWriter, tmp_path: Path):
    ledger.row(op=1, ix=0, kind="send", outcome="info", value=10)
    ledger.sync()

    (row,) = written(tmp_path)
    known = {
        "run_id": "run",
        "client": "p",
        "final": False,
        "op": 1,
        "ix": 0,
        "kind": "send",
        "outcome": "info",
        "value": 10,
    }
    assert row == dict.fromkeys([*COLUMNS, "scheduled_ns"]) | known


def test_types_are_those_of_the_contract(ledger: LedgerWriter, tmp_path: Path):
    ledger.rows(2, {"op": [1, 2], "kind": "poll", "partition": 3, "epoch": [0, None], "topic": ["a", "b"], "error": None})
    ledger.sync()

    schema = pq.read_schema(tmp_path / "p.00001.parquet")
    plain = {field.name: field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema}
    types = {"str": pa.string(), "i64": pa.int64(), "i32": pa.int32(), "bool": pa.bool_()}
    assert plain == {name: types[kind] for name, kind in COLUMNS.items()} | {"scheduled_ns": pa.int64()}


def test_columns_and_single_rows_come_together(ledger: LedgerWriter, tmp_path: Path):
    ledger.rows(2, {"op": (1, 2), "kind": "send", "txn": ["t1", None], "topic": pa.array(["a", "b"]), "offset": None})
    ledger.rows(0, {})
    ledger.row(op=3, kind="begin", txn="t2")
    ledger.sync()

    assert [(row["op"], row["kind"], row["txn"], row["topic"]) for row in written(tmp_path)] == [
        (1, "send", "t1", "a"),
        (2, "send", None, "b"),
        (3, "begin", "t2", None),
    ]


def test_the_closing_drain_marks_its_rows(tmp_path: Path):
    drain = LedgerWriter(tmp_path, "run", "drain", final=True)
    drain.row(op=1, kind="drained")
    drain.close()

    assert [row["final"] for row in written(tmp_path)] == [True]


def test_a_writer_with_nothing_to_write_makes_no_file_and_may_be_closed_again(tmp_path: Path):
    writer = LedgerWriter(tmp_path, "run", "p")
    for _ in range(3):
        writer.close()

    assert list(tmp_path.glob("*.parquet")) == []


def test_rows_are_due_after_a_second_or_when_there_are_too_many(ledger: LedgerWriter, monkeypatch: pytest.MonkeyPatch):
    ledger.rows(MOST_ROWS - 1, {"op": 0, "kind": "send"})
    now = time.monotonic()
    monkeypatch.setattr(ledger_writer.time, "monotonic", lambda: now - 60)
    assert not ledger.due

    ledger.row(op=1, kind="send")
    assert ledger.due

    ledger.flush()
    assert not ledger.due
    ledger.row(op=2, kind="send")
    monkeypatch.setattr(ledger_writer.time, "monotonic", lambda: now + 60)
    assert ledger.due


@pytest.mark.slow
def test_a_slow_disk_slows_the_client_down_instead_of_filling_its_memory(
    ledger: LedgerWriter, monkeypatch: pytest.MonkeyPatch
):
    gate, parts = threading.Event(), []
    monkeypatch.setattr(ledger, "_write_part", lambda chunks: (gate.wait(60), parts.append(chunks)))

    def client() -> None:
        for op in range(4):
            ledger.row(op=op, kind="send")
            ledger.flush()

    busy = threading.Thread(target=client)
    busy.start()
    busy.join(0.5)
    assert busy.is_alive()  # one part is being written, one waits; the third has to wait itself

    gate.set()
    busy.join(60)
    ledger.sync()
    assert len(parts) == 4


def on_a_lost_disk(tmp_path: Path) -> LedgerWriter:
    folder = tmp_path / "ledger"
    folder.mkdir()
    writer = LedgerWriter(folder, "run", "p")
    shutil.rmtree(folder)
    return writer


@pytest.mark.parametrize("last", ["flush", "sync", "close"])
def test_a_disk_that_cannot_be_written_stops_the_client(tmp_path: Path, last: str):
    writer = on_a_lost_disk(tmp_path)
    writer.row(op=1, kind="send")
    writer.flush()
    writer._full.join()

    with pytest.raises(FileNotFoundError):
        getattr(writer, last)()


def test_what_is_synced_is_on_disk_or_the_client_knows(tmp_path: Path):
    writer = on_a_lost_disk(tmp_path)
    writer.row(op=1, kind="offsets")

    with pytest.raises(FileNotFoundError):
        writer.sync()


def test_a_full_disk_is_told_and_nothing_hangs(ledger: LedgerWriter):
    draft = ledger._folder / ".p.00001.parquet.new"
    draft.symlink_to("/dev/full")
    ledger.row(op=1, kind="send")
    ledger.flush()
    ledger._full.join()

    with pytest.raises(OSError, match="No space left"):
        for op in range(5):  # more than the queue holds
            ledger.row(op=op, kind="send")
            ledger.flush()
    assert not (ledger._folder / "p.00001.parquet").exists()
    ledger._trouble = None


BUSY = """
import sys
from pathlib import Path
import numpy as np
from interceptors.ledger.ledger_writer import LedgerWriter

MANY = 200_000
writer = LedgerWriter(Path(sys.argv[1]), "run", "p")
for first in range(0, 100 * MANY, MANY):
    writer.rows(MANY, {"op": np.arange(MANY), "kind": "send", "topic": "orders", "value": np.arange(first, first + MANY)})
    writer.flush()
"""


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_file_leaves_whole_files_and_no_hole_between_them(tmp_path: Path):
    for life in range(2):
        folder = tmp_path / str(life)
        folder.mkdir()
        process = subprocess.Popen([sys.executable, "-c", BUSY, str(folder)], cwd=TOP)
        while process.poll() is None and len(list(folder.glob("*.parquet*"))) < 3 + life:  # the last of them just begun
            pass
        process.kill()
        process.wait()

        values = pq.read_table([file for file in sorted(folder.iterdir()) if file.name[0] != "."])["value"].to_pylist()
        assert len(values) >= (2 + life) * 200_000
        assert values == list(range(len(values)))


# ---- events -------------------------------------------------------------------------------------------------------


def test_events_of_many_threads_have_one_order_of_lines_and_times(tmp_path: Path):
    log, heard = EventLog(tmp_path / "events.jsonl"), []
    log.listen(heard.append)
    threads = [threading.Thread(target=lambda n=n: [log.write("tick", by=n, i=i) for i in range(300)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()

    lines = read_events(tmp_path / "events.jsonl")
    times = [line["t_ns"] for line in lines]
    assert times == sorted(times)
    assert [[line["i"] for line in lines if line["by"] == n] for n in range(4)] == [list(range(300))] * 4
    assert sorted(heard, key=lambda line: line["t_ns"]) == lines


def test_an_event_is_on_disk_before_the_next_thing_happens(tmp_path: Path):
    log = EventLog(tmp_path / "events.jsonl", clock=lambda: 7)

    log.write("fault", id="f1", where=Path("a"))
    log.write("heal", id="f1", t_ns=9)

    assert read_events(tmp_path / "events.jsonl") == [
        {"t_ns": 7, "event": "fault", "id": "f1", "where": "a"},
        {"t_ns": 9, "event": "heal", "id": "f1"},
    ]
    log.close()


def test_a_log_is_gone_on_with_not_begun_anew(tmp_path: Path):
    for event in ("one", "two"):
        log = EventLog(tmp_path / "events.jsonl")
        log.write(event)
        log.close()

    assert [line["event"] for line in read_events(tmp_path / "events.jsonl")] == ["one", "two"]


def read_events(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]
