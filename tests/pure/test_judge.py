"""From a folder to a verdict: what makes a pass, what leaves it open, what fails it, and what is refused, in words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chaos.checkers import CHECKERS
from chaos.checkers.local import examine
from chaos.evidence.tracks import Tracks
from chaos.judge import judge
from kernel.errors import UsageError
from kernel.verdict import ANOMALIES
from tests.pure.histories import SCHEMA, drained, ended, read, row, sent, write_run

GOOD = [sent(1, 0), read(1, 0), drained(1)]
LOST = [sent(1, 0), sent(2, 1), read(2, 1), drained(2)]
FAULT = {"t_ns": 5, "event": "fault", "id": "f1", "fault": "kill-broker", "sentence": "broker 1 is killed"}
BITE = {"t_ns": 6, "event": "bite", "id": "f1", "sentence": "it is gone"}

Judged = Callable[..., tuple[str, list[str]]]


@pytest.fixture
def verdict_of(tmp_path: Path) -> Judged:
    def judged(rows: list[dict[str, Any]], **given: Any) -> tuple[str, list[str]]:
        verdict = judge(write_run(tmp_path / f"run-{len(list(tmp_path.iterdir()))}", rows, **given))
        return verdict["verdict"], verdict["reasons"]

    return judged


@pytest.fixture
def refused(tmp_path: Path) -> Callable[[Path], str]:
    def sentence(run: Path) -> str:
        before = sorted(run.rglob("*"))
        with pytest.raises(UsageError) as refusal:
            judge(run)
        assert sorted(run.rglob("*")) == before
        assert "\n" not in refusal.value.message
        return refusal.value.message.replace(str(run) + "/", "")

    return sentence


# ---- the rule of the verdict ------------------------------------------------------------------------------------------


def test_a_run_in_which_nothing_is_wrong_and_enough_was_looked_at_passes(verdict_of: Judged):
    assert verdict_of(GOOD, events=[FAULT, BITE]) == ("PASS", [])


def test_an_anomaly_that_is_not_permitted_fails_it(verdict_of: Judged):
    assert verdict_of(LOST) == ("FAIL", ["An acknowledged record is gone, and later ones are there (lost-write): 1."])


def test_an_anomaly_that_is_permitted_is_counted_and_does_not_fail_it(tmp_path: Path):
    verdict = judge(write_run(tmp_path / "run", LOST, manifest={"permitted": ["lost-write"]}))

    assert (verdict["verdict"], verdict["counts"]["lost-write"], len(verdict["findings"])) == ("PASS", 1, 1)


def test_a_partition_that_was_written_and_not_drained_leaves_it_open(verdict_of: Judged):
    known, why = verdict_of([*GOOD, sent(2, on=1, outcome="info")])

    assert (known, why) == ("INCONCLUSIVE", ["orders-1 was written and not read to its end: what it holds is not known."])


def test_a_partition_that_only_failed_sends_name_was_not_written(verdict_of: Judged):
    assert verdict_of([*GOOD, sent(2, on=1, outcome="fail")]) == ("PASS", [])


def test_without_an_acknowledgement_or_a_read_it_is_open(verdict_of: Judged):
    assert verdict_of([sent(1, outcome="info"), read(1, 0), drained(1)])[0] == "INCONCLUSIVE"
    assert verdict_of([sent(1, txn="t"), row("poll", "c", 1), drained(1)])[0] == "INCONCLUSIVE"


def test_a_fault_that_was_not_seen_to_bite_leaves_it_open(verdict_of: Judged):
    known, why = verdict_of(GOOD, events=[FAULT, BITE | {"id": "f2"}])

    assert (known, why) == ("INCONCLUSIVE", ["Fault f1 was not seen to bite (broker 1 is killed)."])


def test_what_is_wrong_outweighs_what_is_open(verdict_of: Judged):
    assert verdict_of([*LOST, sent(3, on=1)], events=[FAULT])[0] == "FAIL"


def test_an_empty_ledger_is_open(verdict_of: Judged):
    assert verdict_of([])[0] == "INCONCLUSIVE"


def test_a_scenarios_own_expectation_counts(verdict_of: Judged):
    said = {"t_ns": 7, "event": "expectation", "name": "exactly 4 lost", "sentence": "3 were lost, not 4."}

    assert verdict_of(GOOD, events=[said | {"holds": True}]) == ("PASS", [])
    assert verdict_of(GOOD, events=[said | {"holds": False}]) == ("FAIL", ["3 were lost, not 4."])
    assert verdict_of(GOOD, events=[said | {"holds": None}]) == ("INCONCLUSIVE", ["3 were lost, not 4."])


def test_on_a_machine_that_stood_still_only_an_anomaly_counts(verdict_of: Judged):
    stall = {"t_ns": 6, "event": "stall", "seconds": 4.268}
    said = {"t_ns": 7, "event": "expectation", "name": "exactly 4 lost", "sentence": "3 were lost, not 4."}

    assert verdict_of(GOOD, events=[stall]) == ("PASS", [])
    assert verdict_of(GOOD, events=[stall, said | {"holds": False}]) == (
        "INCONCLUSIVE",
        ["This machine itself stood still for 4.3 s, so nothing is proved by this: 3 were lost, not 4."],
    )
    assert verdict_of(LOST, events=[stall, said | {"holds": False}])[0] == "FAIL"
    assert verdict_of(GOOD, events=[stall, said | {"holds": None}]) == ("INCONCLUSIVE", ["3 were lost, not 4."])
    ended = {"t_ns": 5, "event": "phase", "phase": "drain"}
    assert verdict_of(GOOD, events=[ended, stall, said | {"holds": False}]) == ("FAIL", ["3 were lost, not 4."])


def test_a_checker_that_crashes_passes_nothing(tmp_path: Path):
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("by zero")

    run = write_run(tmp_path / "run", GOOD)
    verdict = judge(
        run, engines={"local": lambda ledger, clients: examine(ledger, clients, CHECKERS | {"duplicate": broken})}
    )

    assert verdict["verdict"] == "INCONCLUSIVE"
    assert verdict["reasons"] == ["The check for duplicate could not be made: ZeroDivisionError: by zero."]


SECOND = 1_000_000_000


def recovering(*, dark: float) -> list[dict[str, Any]]:
    """A send and its read every tenth of a second, but for `dark` seconds after the fault at 2 s."""
    rows, at = [], 0.0
    for value in range(60):
        at += 0.1 + (dark if value == 20 else 0)
        begun, done = int((at - (dark if value == 20 else 0)) * SECOND), int(at * SECOND) + 1000
        times = {"invoked_ns": begun, "completed_ns": done}
        rows += [sent(value, value, **times), read(value, value, invoked_ns=done, completed_ns=done + 1000)]
    return [*rows, drained(60)]


def test_recovery_within_its_bound_passes_and_beyond_it_fails(tmp_path: Path):
    bounded = FAULT | {
        "t_ns": 2 * SECOND,
        "affected": [["orders", 0]],
        "bounds": {"send": 3.0, "poll": 3.0, "why": "by hand"},
    }
    verdicts = {
        dark: judge(write_run(tmp_path / str(dark), recovering(dark=dark), events=[bounded, BITE])) for dark in (1.0, 5.0)
    }

    assert {dark: verdict["verdict"] for dark, verdict in verdicts.items()} == {1.0: "PASS", 5.0: "FAIL"}
    assert {row["kind"] for row in verdicts[5.0]["recovery"]} == {"send", "poll"}
    assert "orders-0: no send was acknowledged for 5.0 s" in " ".join(verdicts[5.0]["reasons"])


def test_tracks_tell_when_a_record_was_due_and_leave_out_the_drain(tmp_path: Path):
    rows = [
        sent(1, 0, invoked_ns=10, completed_ns=15),
        sent(2, 1, invoked_ns=20, completed_ns=25, txn="t"),
        ended("commit", "t", 9, invoked_ns=30, completed_ns=40),
        sent(3, 2, invoked_ns=50, txn="u", outcome="info"),
        sent(4, 0, on=1),
        read(1, 0, completed_ns=60),
        read(2, 1, completed_ns=70, final=True),
        read(9, 9, on=2, invoked_ns=80),
    ]
    tracks = {t.partition: t for t in Tracks(write_run(tmp_path / "run", rows) / "ledger").all()}

    assert sorted(tracks) == [0, 2]  # nothing on partition 1 has a time
    assert tracks[0].sent_ns.tolist() == [10, 20, 50]
    assert tracks[0].acked_ns.tolist() == [15, 25, -1]
    assert tracks[0].sent_ok.tolist() == [True, True, False]
    assert tracks[0].due_ns is not None
    assert tracks[0].due_ns.tolist() == [15, 40, -1]
    assert (tracks[0].read_ns.tolist(), tracks[0].read_value.tolist()) == ([60], [1])
    assert (tracks[2].sent_ns.tolist(), tracks[2].read_ns.tolist()) == ([], [80])


def test_without_a_fault_there_is_nothing_to_recover_from(tmp_path: Path):
    assert judge(write_run(tmp_path / "run", recovering(dark=5.0)))["recovery"] == []


# ---- what a verdict holds ----------------------------------------------------------------------------------------------


def test_a_verdict_holds_what_the_contract_says(tmp_path: Path):
    verdict = judge(write_run(tmp_path / "run", LOST))

    assert {"verdict", "reasons", "counts", "permitted", "findings", "recovery", "engine", "rows", "seconds"} <= set(verdict)
    assert list(verdict["counts"]) == list(ANOMALIES)
    assert (verdict["engine"], verdict["rows"], verdict["acknowledged"], verdict["read"]) == ("local", 4, 2, 1)
    (finding,) = verdict["findings"]
    said = finding.pop("sentence")
    assert said == "Value 1, acknowledged to p (op 1) at orders-0 @ 0, was never read; the log goes on to 2."
    where = {"topic": "orders", "partition": 0, "offset": 0}
    assert finding == {"name": "lost-write", **where, "value": 1, "txn": None, "client": "p", "op": 1}
    json.dumps(verdict)


def test_of_many_findings_a_hundred_are_told_and_all_are_counted(tmp_path: Path):
    verdict = judge(write_run(tmp_path / "run", [*(sent(value, value) for value in range(250)), drained(250)]))

    assert verdict["counts"]["lost-write"] == 250
    assert [finding["offset"] for finding in verdict["findings"]] == list(range(100))


def test_an_engine_nobody_knows_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="There is no engine 'abacus': use local"):
        judge(write_run(tmp_path / "run", GOOD), "abacus")


# ---- files of many kinds -----------------------------------------------------------------------------------------------


def rewrite(run: Path, change: Callable[[pa.Table], pa.Table]) -> Path:
    file = run / "ledger" / "0.parquet"
    pq.write_table(change(pq.read_table(file)), file)
    return run


@pytest.mark.parametrize(
    "text",
    [
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
)
@pytest.mark.parametrize("number", [pa.int16(), pa.uint16(), pa.uint64(), pa.int64()])
def test_strings_and_integers_of_any_make_are_read(tmp_path: Path, text: Any, number: Any):
    def cast(table: pa.Table) -> pa.Table:
        wanted = {pa.string(): text, pa.int64(): number, pa.int32(): number}
        return table.cast(pa.schema([field.with_type(wanted.get(field.type, field.type)) for field in table.schema]))

    assert judge(rewrite(write_run(tmp_path / "run", LOST), cast))["counts"]["lost-write"] == 1


def test_columns_nobody_knows_are_ignored_and_those_nobody_needs_may_be_missing(tmp_path: Path):
    def change(table: pa.Table) -> pa.Table:
        return table.drop_columns(["run_id", "ix", "txn", "final", "epoch", "error"]).append_column(
            "mood", pa.array(["calm"] * 4)
        )

    assert judge(rewrite(write_run(tmp_path / "run", LOST), change))["counts"]["lost-write"] == 1


def test_rows_may_lie_in_any_number_of_files_of_both_forms(tmp_path: Path):
    run = write_run(tmp_path / "run", LOST, files=4, form="both")
    (run / "ledger" / "_SUCCESS").touch()
    (run / "ledger" / ".draft.parquet").write_bytes(b"half a fi")

    assert judge(run)["counts"]["lost-write"] == 1


def test_keys_of_a_json_line_may_be_missing_and_lines_empty(tmp_path: Path):
    run = write_run(tmp_path / "run", [], form="jsonl")
    lines = [json.dumps({key: cell for key, cell in one.items() if cell is not None}) for one in LOST]
    (run / "ledger" / "0.jsonl").write_text("\n\n".join(lines))

    assert judge(run)["counts"]["lost-write"] == 1


def test_a_swap_of_ledgers_that_a_crash_interrupted_is_finished(tmp_path: Path):
    run = write_run(tmp_path / "run", LOST)
    (run / "ledger").rename(run / "ledger.new")
    (run / "ledger.new" / ".complete").touch()
    (run / "ledger.old").mkdir()

    assert judge(run)["counts"]["lost-write"] == 1


# ---- what is refused, and how it is said --------------------------------------------------------------------------------

Refused = Callable[[Path], str]


def test_a_folder_without_its_files_is_refused(tmp_path: Path, refused: Refused):
    assert refused(tmp_path).startswith("manifest.json is missing")
    run = write_run(tmp_path / "a", GOOD)
    (run / "events.jsonl").unlink()
    assert refused(run).startswith("events.jsonl is missing")
    run = write_run(tmp_path / "b", GOOD)
    (run / "ledger" / "0.parquet").unlink()
    assert refused(run).endswith("ledger holds no *.parquet and no *.jsonl: a run folder's ledger has at least one.")


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ({"permitted": "lost-write"}, "manifest.json: permitted is 'lost-write', not a list of anomalies."),
        (
            {"permitted": ["lost-wirte"]},
            "manifest.json: permitted names 'lost-wirte', which is none of inconsistent-offsets",
        ),
        ({"permitted": [["lost-write"]]}, "manifest.json: permitted names ['lost-write'], which is none of"),
        ({"run_id": 7}, "manifest.json: run_id is 7, not a name."),
        ({"clients": ["c"]}, "manifest.json: clients is ['c'], not an object"),
        ({"clients": {"c": "calm"}}, "manifest.json: clients.c is 'calm', not an object."),
        (
            {"clients": {"c": {"isolation": "dirty"}}},
            "clients.c.isolation is 'dirty', not read_committed or read_uncommitted.",
        ),
        ({"clients": {"c": {"mode": ["assign"]}}}, "clients.c.mode is ['assign'], not assign or subscribe."),
        ({"clients": {"c": {"ordered": "yes"}}}, "clients.c.ordered is 'yes', not true or false."),
        ({"format": 99}, "manifest.json: format 99 is newer than 1"),
    ],
)
def test_a_manifest_that_says_what_it_cannot_mean_is_refused(
    tmp_path: Path, refused: Refused, manifest: dict[str, Any], sentence: str
):
    assert sentence in refused(write_run(tmp_path / "run", GOOD, manifest=manifest))


def test_a_manifest_that_does_not_say_what_is_permitted_is_refused(tmp_path: Path, refused: Refused):
    run = write_run(tmp_path / "run", GOOD)
    (run / "manifest.json").write_text('{"run_id": "r", "scenario": "s"}')

    assert refused(run).startswith("manifest.json: permitted is missing")


def test_a_manifest_that_is_no_object_is_refused(tmp_path: Path, refused: Refused):
    run = write_run(tmp_path / "run", GOOD)
    (run / "manifest.json").write_text("{")
    assert refused(run).startswith("manifest.json cannot be read")
    (run / "manifest.json").write_text("[]")
    assert refused(run) == "manifest.json holds list, not an object."


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"kind": "sned"}, "row 2: kind is 'sned', not one of send, poll, begin"),
        ({"outcome": "okay"}, "row 2: outcome is 'okay', not one of ok, fail, info."),
        ({"client": None}, "row 2: client is null: every row needs one."),
        ({"op": None}, "row 2: op is null: every row needs one."),
        ({"kind": None}, "row 2: kind is null: every row needs one."),
        ({"outcome": None}, "row 2: outcome is null: every row needs one."),
        ({"topic": None}, "row 2: topic is null: a poll that returned a record knows its topic, partition and offset."),
        ({"partition": None}, "row 2: partition is null: a poll that returned a record"),
        ({"offset": None}, "row 2: offset is null: a poll that returned a record"),
        ({"offset": -1001}, "row 2: offset is -1001: null stands for unknown."),
        ({"partition": -1}, "row 2: partition is -1: null stands for unknown."),
        ({"kind": "send", "value": None}, "row 2: value is null: every send carries a value."),
        ({"kind": "drained", "offset": None}, "row 2: offset is null: a drained row that is ok names topic"),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_row_that_breaks_the_contract_is_named(
    tmp_path: Path, refused: Refused, changed: dict[str, Any], sentence: str, form: str
):
    run = write_run(tmp_path / "run", [GOOD[0], GOOD[1] | changed, GOOD[2]], form=form)

    assert f"ledger/0.{form} {sentence.replace('row', 'line', 1) if form == 'jsonl' else sentence}" in refused(run)


def test_offsets_below_zero_where_a_consumer_was_merely_assigned_are_none(tmp_path: Path):
    assert judge(write_run(tmp_path / "run", [*GOOD, row("assign", "c", 1, topic="orders", partition=0, offset=-1001)]))


@pytest.mark.parametrize(
    ("column", "type_", "sentence"),
    [
        ("offset", pa.string(), "column offset is string, not an integer."),
        ("value", pa.float64(), "column value is double, not an integer."),
        ("epoch", pa.string(), "column epoch is string, not an integer."),
        ("client", pa.int64(), "column client is int64, not a string."),
        ("final", pa.int32(), "column final is int32, not a boolean."),
    ],
)
def test_a_column_of_another_type_is_refused(tmp_path: Path, refused: Refused, column: str, type_: Any, sentence: str):
    run = write_run(tmp_path / "run", GOOD)
    place = SCHEMA.get_field_index(column)

    rewrite(run, lambda table: table.set_column(place, column, pa.nulls(3, type_)))

    assert refused(run) == f"ledger/0.parquet: {sentence}"


def test_a_column_that_every_row_needs_must_be_there(tmp_path: Path, refused: Refused):
    run = rewrite(write_run(tmp_path / "run", GOOD), lambda table: table.drop_columns(["outcome"]))

    assert refused(run) == "ledger/0.parquet has no column outcome: every row needs one."


def test_a_number_too_large_is_refused(tmp_path: Path, refused: Refused):
    run, place = write_run(tmp_path / "run", GOOD), SCHEMA.get_field_index("op")

    rewrite(run, lambda table: table.set_column(place, "op", pa.array([1, 2, 2**64 - 1], pa.uint64())))

    assert refused(run).startswith("ledger/0.parquet: column op holds more than 64 bits with a sign can")


def test_a_parquet_file_that_was_cut_off_is_named(tmp_path: Path, refused: Refused):
    run = write_run(tmp_path / "run", GOOD)
    file = run / "ledger" / "0.parquet"
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b""):
        file.write_bytes(content)
        assert refused(run).startswith("ledger/0.parquet cannot be read as Parquet, is it cut off?")


def test_a_parquet_file_with_damaged_pages_is_named(tmp_path: Path, refused: Refused):
    run = write_run(tmp_path / "run", [sent(value, value) for value in range(5000)])
    file = run / "ledger" / "0.parquet"
    whole = bytearray(file.read_bytes())
    whole[100:4000] = bytes(3900)
    file.write_bytes(bytes(whole))

    assert refused(run).startswith("ledger/0.parquet cannot be read as Parquet")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "line 2 is not a JSON object: '{'."),
        ("[1]", "line 2 is not a JSON object: '[1]'."),
        ('{"client": 7}', "line 2: client is 7, not a string."),
        ('{"client": "c", "op": 1.5}', "line 2: op is 1.5, not an integer of 64 bits."),
        ('{"client": "c", "op": true}', "line 2: op is True, not an integer of 64 bits."),
        ('{"client": "c", "op": 18446744073709551616}', "line 2: op is 18446744073709551616, not an integer of 64 bits."),
        ('{"client": "c", "final": "no"}', "line 2: final is 'no', not true or false."),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, refused: Refused, line: str, sentence: str):
    run = write_run(tmp_path / "run", GOOD, form="jsonl")
    file = run / "ledger" / "0.jsonl"
    file.write_text(file.read_text().replace("\n", f"\n{line}\n", 1))

    assert refused(run) == f"ledger/0.jsonl {sentence}"


def test_two_rows_of_one_name_are_refused(tmp_path: Path, refused: Refused):
    run = write_run(tmp_path / "run", [*GOOD, GOOD[1] | {"kind": "begin"}])

    assert "client 'c', op 1000, ix 0 names more than one row" in refused(run)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("nonsense", "line 1 is not a JSON object: 'nonsense'."),
        ('{"event": "fault", "id": "f"}', "line 1: t_ns is None, not int."),
        ('{"t_ns": 1}', "line 1: event is None, not str."),
        ('{"t_ns": true, "event": "x"}', "line 1: t_ns is True, not int."),
        ('{"t_ns": 1, "event": "fault"}', "line 1: id is None; a fault has one."),
    ],
)
def test_an_event_that_is_none_is_named(tmp_path: Path, refused: Refused, line: str, sentence: str):
    run = write_run(tmp_path / "run", GOOD)
    (run / "events.jsonl").write_text(f"{line}\n")

    assert refused(run) == f"events.jsonl {sentence}"


def test_a_last_event_that_a_crash_tore_is_left_out_and_one_without_newline_counts(tmp_path: Path):
    run = write_run(tmp_path / "run", GOOD)
    whole = json.dumps(FAULT)

    (run / "events.jsonl").write_text(whole[:20])
    assert judge(run)["verdict"] == "PASS"
    (run / "events.jsonl").write_text(whole)
    assert judge(run)["verdict"] == "INCONCLUSIVE"
