"""Closing a ledger: nothing is lost, nothing is doubled, and a crash at any step is finished by the next call."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

from chaos.evidence import seal as sealing
from chaos.evidence.account import Account
from chaos.evidence.folder import RunFolder
from chaos.evidence.seal import FIRST_GUESS, close_abandoned, finish_swap, seal
from chaos.judge import judge
from interceptors.ledger.announcement import AHEAD, Announcement, announcement
from interceptors.ledger.ledger_writer import PLAIN, LedgerWriter
from kernel.errors import UsageError


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A producer that was killed after it had written down 0, 1 and 3 of five announced values; a reader that ended well."""
    folder = RunFolder.create(tmp_path, day="d", scenario="s", run_id="r")
    Announcement(folder.ledger, run_id="r", client="p", first=0, topic="orders", ahead=0).up_to(5)
    producer, reader = LedgerWriter(folder.ledger, "r", "p"), LedgerWriter(folder.ledger, "r", "reader.2")
    for op, value in enumerate((0, 1, 3), 1):
        producer.row(op=op, ix=0, kind="send", outcome="ok", topic="orders", partition=0, offset=value, value=value)
        producer.sync()  # a part each
    reader.row(op=1, ix=0, kind="poll", outcome="ok", topic="orders", partition=0, offset=0, value=0)
    producer.close()
    reader.close()
    (folder.ledger / ".p.00004.parquet.new").write_bytes(b"PAR1 and no end")
    return folder.path


def rows(run: Path) -> list[dict[str, Any]]:
    files = sorted((run / "ledger").glob("[!.]*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def sends(run: Path) -> dict[int, str]:
    found = [row for row in rows(run) if row["kind"] == "send"]
    assert len({row["value"] for row in found}) == len(found)
    return {row["value"]: row["outcome"] for row in found}


CLOSED = {0: "ok", 1: "ok", 2: "info", 3: "ok", 4: "info"}


def test_parts_become_one_file_a_client_and_the_rest_goes(run: Path):
    seal(run)

    assert sorted(file.name for file in run.iterdir()) == ["ledger", "logs"]
    assert sorted(file.name for file in (run / "ledger").iterdir()) == ["p.parquet", "reader.2.parquet"]
    assert pq.read_schema(run / "ledger" / "p.parquet").equals(PLAIN)


def test_what_was_announced_and_has_no_row_is_unknown(run: Path):
    seal(run)

    assert sends(run) == CLOSED
    (second, _) = [row for row in rows(run) if row["outcome"] == "info"]
    told = {"client": "p", "run_id": "r", "kind": "send", "error": "_CLIENT_KILLED", "topic": "orders", "partition": None}
    assert second | told == second
    assert second["op"] >= FIRST_GUESS
    assert (second["completed_ns"], second["offset"], second["final"]) == (None, None, False)


def test_rows_keep_their_order_and_each_its_cells(run: Path):
    before = [row for row in rows(run) if row["client"] == "p"]

    seal(run)

    assert [row for row in rows(run) if row["client"] == "p" and row["outcome"] == "ok"] == before


def test_to_seal_again_changes_nothing(run: Path):
    seal(run)
    before = {file.name: file.read_bytes() for file in (run / "ledger").iterdir()}

    seal(run)

    assert {file.name: file.read_bytes() for file in (run / "ledger").iterdir()} == before


def test_a_producer_that_ended_well_leaves_nothing_open(run: Path):
    promise = Announcement(run / "ledger", run_id="r", client="q", first=100, topic=None)
    promise.up_to(150)
    writer = LedgerWriter(run / "ledger", "r", "q")
    writer.row(op=1, ix=0, kind="send", outcome="ok", value=100)
    writer.close()
    promise.kept()

    seal(run)

    assert [row["value"] for row in rows(run) if row["client"] == "q"] == [100]


def test_a_producer_killed_before_its_first_row_leaves_all_it_announced_unknown(run: Path):
    Announcement(run / "ledger", run_id="r", client="q", first=100, topic=None, ahead=9)

    seal(run)

    assert {row["value"]: row["outcome"] for row in rows(run) if row["client"] == "q"} == dict.fromkeys(
        range(100, 110), "info"
    )


def test_a_value_is_announced_before_it_may_be_sent_and_not_for_each_anew(tmp_path: Path):
    promise = Announcement(tmp_path, run_id="r", client="q", first=7, topic="orders")
    said = [announced(tmp_path)]
    for value in range(7, 7 + AHEAD + 5):
        promise.up_to(value + 1)
        assert announced(tmp_path) > value
        said.append(announced(tmp_path))

    assert len(set(said)) == 2
    assert max(said) <= 7 + AHEAD + 5 + AHEAD + 1


def announced(ledger: Path) -> int:
    return int(json.loads(announcement(ledger, "q").read_text())["next"])


def test_files_of_others_beside_ours_are_kept(run: Path):
    (run / "ledger" / "by-hand.jsonl").write_text('{"client": "x", "op": 1}\n')

    seal(run)

    assert (run / "ledger" / "by-hand.jsonl").read_text() == '{"client": "x", "op": 1}\n'


def test_a_ledger_without_parts_is_left_alone(tmp_path: Path):
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "by-hand.jsonl").touch()

    seal(tmp_path)

    assert [file.name for file in (tmp_path / "ledger").iterdir()] == ["by-hand.jsonl"]


def test_a_long_ledger_is_joined_a_stretch_at_a_time(run: Path, monkeypatch: pytest.MonkeyPatch):
    before = sends(run)
    monkeypatch.setattr(sealing, "ROWS", 2)

    seal(run)

    assert sends(run) == before | {2: "info", 4: "info"}
    assert pq.ParquetFile(run / "ledger" / "p.parquet").num_row_groups == 3  # two and one, and what is unknown


# ---- a crash in the middle ----------------------------------------------------------------------------------------


class Crash(BaseException):
    """Nobody catches it, and nobody tidies up after it."""


def crashing(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Every call that changes the disk is counted, and the one that follows so many never happens."""
    done = 0

    def dying(step: Callable[..., Any]) -> Callable[..., Any]:
        def take(*args: Any, **more: Any) -> Any:
            nonlocal done
            if done == after:
                raise Crash
            done += 1
            return step(*args, **more)

        return take

    for name in ("rename", "touch", "mkdir", "unlink"):
        monkeypatch.setattr(Path, name, dying(getattr(Path, name)))
    for name in ("rmtree", "copy2"):
        monkeypatch.setattr(shutil, name, dying(getattr(shutil, name)))
    monkeypatch.setattr(sealing, "_join", dying(sealing._join))


@pytest.mark.slow
def test_a_crash_before_any_step_is_finished_by_the_next_call(run: Path, tmp_path: Path):
    """Every step that changes the disk is once not taken: from there, the next call ends where an undisturbed one does."""
    (run / "ledger" / "by-hand.jsonl").touch()
    for after in range(100):
        copy = tmp_path / f"crash-{after}"
        shutil.copytree(run, copy)
        with pytest.MonkeyPatch.context() as monkeypatch:
            crashing(monkeypatch, after)
            try:
                seal(copy)
                break
            except Crash:
                pass

        seal(copy)

        assert sends(copy) == CLOSED
        assert sorted(file.name for file in copy.iterdir()) == ["ledger", "logs"]
        assert sorted(f.name for f in (copy / "ledger").iterdir()) == ["by-hand.jsonl", "p.parquet", "reader.2.parquet"]
    assert 8 <= after < 100


STANDS: dict[str, Callable[[Path], None]] = {
    "the new one complete, the old one in place": lambda run: None,
    "the old one put aside": lambda run: move(run, "ledger", "ledger.old"),
    "the new one in its place": lambda run: (move(run, "ledger", "ledger.old"), move(run, "ledger.new", "ledger"))[0],
    "an even older one left": lambda run: (run / "ledger.old").mkdir(),
}


def move(run: Path, source: str, target: str) -> None:
    (run / source).rename(run / target)


@pytest.mark.parametrize("stand", STANDS)
def test_a_swap_is_finished_from_wherever_it_stands(tmp_path: Path, stand: str):
    for name, value in (("ledger", "old"), ("ledger.new", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows").write_text(value)
    (tmp_path / "ledger.new" / ".complete").touch()
    STANDS[stand](tmp_path)

    for _ in range(2):
        finish_swap(tmp_path)

        assert [file.name for file in tmp_path.iterdir()] == ["ledger"]
        assert [(file.name, file.read_text()) for file in (tmp_path / "ledger").iterdir()] == [("rows", "new")]


def test_a_new_ledger_that_is_not_complete_does_not_take_the_place_of_the_old(tmp_path: Path):
    for name in ("ledger", "ledger.new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows").write_text(name)

    finish_swap(tmp_path)

    assert (tmp_path / "ledger" / "rows").read_text() == "ledger"


# ---- a run whose process is gone ----------------------------------------------------------------------------------


def process(pid: int) -> dict[str, Any]:
    return {"process": {"pid": pid, "began": psutil.Process(pid).create_time()}}


def test_a_run_that_is_under_way_is_left_alone(run: Path):
    with pytest.raises(UsageError, match=rf"still under way \(process {os.getpid()}\): judge it when it has ended"):
        close_abandoned(run, process(os.getpid()))

    assert (run / "ledger" / "p.00001.parquet").exists()


def test_a_run_whose_process_is_gone_is_closed(run: Path):
    gone = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    manifest = process(gone.pid)
    gone.communicate()

    close_abandoned(run, manifest)

    assert sends(run) == CLOSED


@pytest.mark.slow
def test_a_client_that_outlives_its_trial_is_waited_for(run: Path):
    orphan = LedgerWriter(run / "ledger", "r", "orphan")
    orphan.row(op=1, ix=0, kind="send", outcome="ok", value=77)
    closing = threading.Timer(0.5, orphan.close)
    closing.start()

    close_abandoned(run, {"process": {"pid": os.getpid(), "began": 1.0}})

    assert sends(run) == CLOSED | {77: "ok"}


def test_a_process_that_took_the_pid_of_another_is_not_taken_for_it(run: Path):
    close_abandoned(run, {"process": {"pid": os.getpid(), "began": 1.0}})

    assert sends(run) == CLOSED


@pytest.mark.parametrize(
    "manifest",
    [{}, {"process": {"pid": 1, "began": 1}, "finished": "2025-11-16"}, {"scenario": "application", "finished": "x"}],
)
def test_a_run_that_ended_well_or_was_never_ours_is_not_touched(run: Path, manifest: dict[str, Any]):
    close_abandoned(run, manifest)

    assert (run / "ledger" / "p.00001.parquet").exists()


def test_the_ledger_of_an_application_is_closed_once_its_clients_have_ended(run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sealing, "GRACE", 0.1)
    alive = LedgerWriter(run / "ledger", "r", "alive")
    with pytest.raises(UsageError, match=r"clients of the run in .* are still at work.*: close them, or end them\."):
        close_abandoned(run, {"scenario": "application"})
    assert (run / "ledger" / "p.00001.parquet").exists()

    alive.close()
    close_abandoned(run, {"scenario": "application"})

    assert sends(run) == CLOSED


# ---- what a scenario asks of it -----------------------------------------------------------------------------------


def test_the_account_of_a_closed_ledger_names_values_not_counts(run: Path):
    drain = LedgerWriter(run / "ledger", "r", "drain", final=True)
    drain.rows(
        1, {"op": 1, "ix": 0, "kind": "poll", "outcome": "ok", "topic": "orders", "partition": 0, "offset": 1, "value": 1}
    )
    drain.close()
    seal(run)

    account = Account.of(RunFolder(run))

    assert account.acked == {0, 1, 3}
    assert account.drained == {1}
    assert account.gone == {0, 3}
    assert account.lost == {3}
    assert [read.value for read in account.read_by({"reader.2"})] == [0]


def test_records_of_a_killed_producer_that_are_in_the_log_are_no_phantoms(run: Path):
    """Without the announced values they would be."""
    drain = LedgerWriter(run / "ledger", "r", "drain", final=True)
    for value in range(4):
        drain.row(op=1, ix=value, kind="poll", outcome="ok", topic="orders", partition=0, offset=value, value=value)
    drain.row(op=2, ix=0, kind="drained", outcome="ok", topic="orders", partition=0, offset=4)
    drain.close()
    RunFolder(run).write_manifest({"run_id": "r", "scenario": "s", "permitted": []})
    (run / "events.jsonl").touch()
    announcement(run / "ledger", "p").rename(run / "aside")
    assert judge(run)["counts"]["phantom-read"] == 1

    (run / "aside").rename(announcement(run / "ledger", "p"))
    seal(run)

    assert judge(run)["verdict"] == "PASS"
