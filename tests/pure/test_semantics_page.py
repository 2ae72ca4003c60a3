"""A delivery matrix holds each topic to its own settings, and the page of semantics says what was seen and nothing else."""

import json
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from chaos import matrix
from chaos.contract import LOSS
from chaos.evidence.matrices import read_matrices
from chaos.matrix import COMBINATIONS, FAULTS, Combination, Decided, Row, Seen, decided, permitted
from chaos.pages.semantics import WORDS, semantics_page
from kernel.errors import UsageError

EXPOSED = frozenset(range(25))
KEPT = Combination("all", True, 2, False)
AT_ONE = Combination("1", False, 2, False)


def row(
    combination: Combination, lost: frozenset[int] = frozenset(), twice: frozenset[int] = frozenset(),
    *, fault: str = "kill-exposed", claim: str = "kafka", elr: bool = True, **observed: int,
) -> Row:  # fmt: skip
    counts = {name.replace("_", "-"): count for name, count in observed.items()}
    seen = Seen(frozenset(range(100)), EXPOSED, lost, twice, counts)
    return matrix.row(combination, combination.topic, seen, fault=fault, claim=claim, elr=elr)


def as_it_must_be(fault: str) -> list[Row]:
    def one(combination: Combination) -> Row:
        outcome = decided(fault, combination, elr=True)
        lost, twice = EXPOSED if outcome.lost else frozenset(), EXPOSED if outcome.twice else frozenset()
        return row(combination, lost, twice, fault=fault, unseen_write=len(lost), duplicate=len(twice))

    return [one(combination) for combination in COMBINATIONS]


# ---- what is decided, and what is permitted ---------------------------------------------------------------------------


def test_there_are_sixteen_combinations_each_with_a_topic_of_its_own():
    assert len({one.topic for one in COMBINATIONS}) == len(COMBINATIONS) == 16
    assert len({one.producer for one in COMBINATIONS}) == 4
    assert not any(one.idempotence and one.acks != "all" for one in COMBINATIONS)


def test_a_leader_that_dies_with_records_takes_those_that_it_promised_alone():
    lose = {one.acks for one in COMBINATIONS if decided("kill-exposed", one, elr=True).lost}

    assert lose == {"0", "1"}


def test_a_lost_acknowledgement_doubles_whatever_can_be_sent_again_and_is_not_known_again():
    double = {(one.acks, one.idempotence) for one in COMBINATIONS if decided("lost-acks", one, elr=True).twice}

    assert double == {("1", False), ("all", False)}


@pytest.mark.parametrize(
    ("elr", "lose"),
    [
        (True, {("0", 1, True), ("0", 2, True), ("0", 2, False), ("1", 1, True), ("1", 2, True), ("1", 2, False),
                ("all", 1, True)}),
        (False, {("0", 1, True), ("0", 2, True), ("1", 1, True), ("1", 2, True), ("all", 1, True)}),
    ],
)  # fmt: skip
def test_whoever_takes_over_loses_what_was_promised_without_it(elr: bool, lose: set[tuple[str, int, bool]]):
    found = {(one.acks, one.min_isr, one.unclean) for one in COMBINATIONS if decided("unclean", one, elr=elr).lost}

    assert found == lose


@pytest.mark.parametrize(("fault", "combination"), product(FAULTS, COMBINATIONS))
def test_nothing_that_a_schedule_decides_is_forbidden_by_the_contract(fault: str, combination: Combination):
    outcome, room = decided(fault, combination, elr=True), permitted(combination)

    assert not outcome.lost or room & LOSS
    assert not outcome.twice or "duplicate" in room


def test_a_plain_kill_leaves_to_chance_what_is_not_promised():
    assert decided("clean-kill", KEPT, elr=True) == Decided(lost=False, twice=False)
    assert decided("clean-kill", AT_ONE, elr=True) == Decided(lost=None, twice=None)


# ---- what fails a run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_a_matrix_as_it_must_be_passes(fault: str):
    rows = as_it_must_be(fault)

    assert matrix.within_contract(rows) == (
        True, "In none of 16 combinations is anything seen that its settings do not permit; so it is."
    )  # fmt: skip
    assert matrix.as_decided(rows)[0]


def test_the_sentence_leaves_out_what_is_left_to_chance():
    assert matrix.as_decided(as_it_must_be("clean-kill")) == (
        True,
        "Where the schedule decides, 16 times of 32, exactly the exposed records are lost in 0 combinations, there twice "
        "in 0, else none; so it is.",
    )
    assert matrix.as_decided(as_it_must_be("unclean"))[1].startswith("Where the schedule decides, 32 times of 32, exactly")


@pytest.mark.parametrize("anomaly", ["lost_write", "duplicate", "poll_skip", "nonmonotonic_send"])
def test_what_one_combination_permits_fails_the_run_where_another_forbids_it(anomaly: str):
    rows = [*as_it_must_be("kill-exposed")[:-1], row(KEPT, **{anomaly: 1})]

    holds, sentence = matrix.within_contract(rows)

    assert not holds
    assert sentence.endswith(f"acks=all with idempotence, min ISR 2, unclean election off: 1 {anomaly.replace('_', '-')}.")


def test_the_same_anomaly_where_it_is_permitted_does_not_fail_it():
    assert matrix.within_contract([row(AT_ONE, EXPOSED, lost_write=25, inconsistent_offsets=25)])[0]


def test_what_no_combination_permits_is_not_in_the_manifest():
    assert set(matrix.room_in_any()) == LOSS | {"duplicate", "nonmonotonic-send", "nonmonotonic-poll"}


@pytest.mark.parametrize(
    ("lost", "twice"),
    [(EXPOSED - {3}, frozenset()), (EXPOSED | {99}, frozenset()), (EXPOSED, frozenset({7})), (frozenset(), frozenset())],
)
def test_one_record_more_or_less_than_was_exposed_is_not_exact(lost: frozenset[int], twice: frozenset[int]):
    assert row(AT_ONE, EXPOSED).exact
    assert not row(AT_ONE, lost, twice).exact
    assert not matrix.as_decided([row(AT_ONE, lost, twice)])[0]


def test_a_wrong_claim_about_acks_1_is_found_out_in_exactly_its_topics():
    seen = {"unseen_write": 25}
    rows = [
        row(one, EXPOSED, claim="acks-1-is-safe", **seen) if one.acks != "all" else row(one, claim="acks-1-is-safe")
        for one in COMBINATIONS
    ]

    assert not matrix.within_contract(rows)[0]
    assert {one.combination for one in rows if one.forbidden} == {one for one in COMBINATIONS if one.acks == "1"}


# ---- the page -------------------------------------------------------------------------------------------------------------


def run(fault: str = "kill-exposed", **facts: Any) -> dict[str, Any]:
    told = {"run_id": "101500-abcd", "scenario": "delivery-matrix", "started": "2026-11-17T10:15:00+00:00", "kafka": "4.3.1"}
    told |= {"settings": "quick", "librdkafka": "2.16.0", "elr": True, "fault": fault, "records": "25", "claim": "kafka"}
    rows = [json.loads(json.dumps(asdict(one))) for one in as_it_must_be(fault)]
    return {**told, "verdict": "PASS", "rows": rows, **facts}


def test_the_page_has_a_table_for_every_fault_with_its_run():
    page = semantics_page([run(fault, run_id=f"run-{fault}") for fault in FAULTS])

    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## What each setting promises", "## In short", *(f"## {fault}, Kafka 4.3.1" for fault in WORDS)
    ]  # fmt: skip
    for fault in FAULTS:
        assert f"- run `run-{fault}` of 2026-11-17: PASS, settings quick, with eligible leader replicas" in page


def test_a_line_has_what_is_promised_permitted_decided_and_seen():
    assert (
        "| 1 | off | 2 | off | may be lost, may be there twice | duplicate, inconsistent-offsets, lost-write, "
        "nonmonotonic-send, unseen-write | 100 | 25 | exactly these lost, none twice | 25 | 0 | 25 unseen-write |"
    ) in semantics_page([run()])
    assert "| all | on | 2 | off | not lost, there once | nothing | 100 | 25 | none lost, none twice | 0 | 0 | none |" in (
        semantics_page([run()])
    )


def test_runs_that_agree_share_a_figure_and_runs_that_do_not_have_each_their_own():
    other = run()
    other["rows"][4] |= {"lost": 24, "observed": {"unseen-write": 24}}

    page = semantics_page([run(), other])

    assert "| 1 | off | 1 | off | 25 / 24 lost of 25 |" in page
    assert "| 1 | off | 1 | on | 25 lost of 25 |" in page


def test_what_was_acknowledged_stands_run_by_run_as_all_that_is_held_against_it():
    other = run()
    other["rows"][-2]["acknowledged"] = 90

    page = semantics_page([run(), other])

    assert "| all | on | 2 | off | not lost, there once | nothing | 100 / 90 | 25 |" in page
    assert "| all | on | 1 | off | not lost, there once | nothing | 100 | 25 |" in page


def test_without_a_run_that_was_held_to_kafkas_claim_there_is_no_page():
    assert semantics_page([]) == semantics_page([run(claim="acks-1-is-safe")]) == ""


def test_a_forbidden_anomaly_is_printed_as_one():
    broken = run(verdict="FAIL")
    broken["rows"][-2]["observed"] = {"duplicate": 3}

    assert "| 3 duplicate; **not permitted: duplicate** |" in semantics_page([broken])
    assert "not permitted" not in semantics_page([run()])


def test_runs_held_to_a_wrong_claim_are_left_out():
    page = semantics_page([run(), run(run_id="twin", claim="acks-1-is-safe")])

    assert "twin" not in page


def matrix_in(folder: Path, facts: Any, verdict: str | None = '{"verdict": "PASS"}') -> Path:
    folder.mkdir(parents=True)
    (folder / "matrix.json").write_text(json.dumps(facts))
    if verdict:
        (folder / "verdict.json").write_text(verdict)
    return folder / "matrix.json"


def test_matrices_are_found_below_the_runs_with_their_verdicts(tmp_path: Path):
    runs = tmp_path / "2026-11-17" / "delivery-matrix"
    matrix_in(runs / "b", run(run_id="b", started="2026-11-17T10:00:00"))
    matrix_in(runs / "a", run(run_id="a", started="2026-11-17T11:00:00"), '{"verdict": "FAIL"}')
    matrix_in(runs / "unjudged", run(run_id="unjudged", started="2026-11-17T12:00:00"), None)

    assert [(one["run_id"], one["verdict"]) for one in read_matrices(tmp_path)] == [("b", "PASS"), ("a", "FAIL")]


def test_a_matrix_that_cannot_be_read_is_named(tmp_path: Path):
    (tmp_path / "matrix.json").write_text("{")
    (tmp_path / "verdict.json").write_text("{}")

    with pytest.raises(UsageError, match=r"matrix\.json cannot be read as a matrix"):
        read_matrices(tmp_path)


@pytest.mark.parametrize("lacking", ["started", "claim", "rows"])
def test_a_matrix_that_lacks_something_is_named_with_what_it_lacks(tmp_path: Path, lacking: str):
    file = matrix_in(tmp_path / "run", {name: value for name, value in run().items() if name != lacking})

    with pytest.raises(UsageError) as refused:
        read_matrices(tmp_path)

    assert refused.value.message == (
        f"{file} cannot be read as a matrix: it lacks {lacking}. Move its run away, and run delivery-matrix again."
    )


@pytest.mark.parametrize(
    ("rows", "why"),
    [([{"lost": 1}], "it lacks acknowledged of a row, combination of a row"), (7, "not iterable"), ([3], "not iterable")],
)
def test_a_matrix_whose_rows_are_damaged_is_named(tmp_path: Path, rows: Any, why: str):
    matrix_in(tmp_path / "run", run(rows=rows))

    with pytest.raises(UsageError, match=rf"matrix\.json cannot be read as a matrix: .*{why}"):
        read_matrices(tmp_path)
