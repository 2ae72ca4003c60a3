"""The block at the end of a run says what it ended in, all of it and nothing that says nothing."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.evidence.folder import RunFolder
from chaos.report.block import styled, verdict_block
from chaos.report.fold import fold
from chaos.report.words import seconds
from tests.pure.run_folders import Run, write_run


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("runs"), Run(lost=0))


def block(folder: RunFolder, **changes: Any) -> str:
    return verdict_block(folder.verdict() | changes, folder.manifest())


def finding(name: str = "lost-write", offset: int | None = 0, **more: Any) -> dict[str, Any]:
    return {"name": name, "sentence": f"{name} {offset}", "topic": "orders", "partition": 0, "offset": offset} | more


def test_the_first_line_says_it_all(failed: RunFolder):
    acknowledged = failed.verdict()["acknowledged"]

    assert " ".join(block(failed).split()).startswith(
        f"FAIL kill-leader 3 brokers, acks=1, {acknowledged} acknowledged, 4 lost, 3.1 s without an acknowledgement"
    )


def test_neighbouring_losses_are_one_line(failed: RunFolder):
    assert re.search(r"lost-write +orders-0 @ (\d+)-(\d+)   4 records acknowledged to producer-1, never read", block(failed))


def test_a_run_that_passed_has_no_findings_and_no_reasons(passed: RunFolder):
    text = block(passed)

    assert text.startswith("PASS")
    assert "because" not in text and "lost-write" not in text and "0 lost" in text


def test_no_line_is_wider_than_asked_and_none_is_blank(failed: RunFolder):
    for width in (80, 100, 140):
        lines = verdict_block(failed.verdict(), failed.manifest(), width=width).split("\n")

        assert max(map(len, lines)) <= width
        assert all(line.strip() for line in lines)


def test_recovery_names_the_worst_affected_partition_and_the_quiet_of_the_others(failed: RunFolder):
    text = block(failed)

    assert "orders-0 was 3.1 s without an acknowledgement, bound 15.0 s ✓" in text
    assert "2 unaffected partitions: no gap beyond 3.0 s ✓" in text


@pytest.mark.slow
def test_a_gap_that_never_closed_is_at_least_so_long(tmp_path: Path):
    text = block(write_run(tmp_path, Run(recovers=False)))

    assert "≥ 16.2 s without an acknowledgement, bound 15.0 s ✗" in text


def test_a_partition_that_should_have_been_left_alone_is_named(failed: RunFolder):
    rows = [row | {"gap_s": 7.5, "within": False} if row["partition"] == 2 else row for row in failed.verdict()["recovery"]]

    assert "orders-2 was 7.5 s without an acknowledgement, bound 3.0 s ✗, though" in " ".join(
        block(failed, recovery=rows).split()
    )


@pytest.mark.parametrize(("holds", "mark"), [(True, "✓"), (False, "✗"), (None, "?")])
def test_expectations_carry_their_mark(passed: RunFolder, holds: bool | None, mark: str):
    expected = [{"name": "n", "holds": holds, "sentence": "the group came back"}]

    assert f"expected     {mark} the group came back" in block(passed, expectations=expected)


def test_the_setting_that_explains_a_loss_is_told_and_the_others_are_not(failed: RunFolder):
    text = " ".join(block(failed).split())

    assert "acks=1 acknowledged when the leader has it" in text and "this setting allows it" in text
    assert "does not explain" not in text


def test_what_is_permitted_is_no_finding_but_is_not_hidden(failed: RunFolder):
    text = block(failed, permitted=["lost-write", "inconsistent-offsets"])

    assert re.search(r"permitted +lost-write +4 found", text)
    assert "orders-0 @" not in text


def test_more_findings_than_a_person_reads_are_counted(failed: RunFolder):
    scattered = [finding(offset=3 * number) for number in range(50)]
    text = block(failed, findings=scattered, counts={"lost-write": 1234})

    assert text.count("orders-0 @") == 5
    assert "… and 1229 more" in text


def test_control_characters_of_a_run_do_not_reach_the_terminal(failed: RunFolder):
    text = block(failed, reasons=["bad \x1b[31mred\x07\r\nline"])

    assert "\x1b" not in text and "\x07" not in text and "\r" not in text


def test_the_verdict_alone_is_coloured(passed: RunFolder):
    text = styled(block(passed))

    assert text.plain == block(passed)
    assert [(span.start, span.end, str(span.style)) for span in text.spans] == [(0, 4, "bold green")]


def test_a_verdict_with_nothing_but_its_name_is_a_line():
    assert verdict_block({"verdict": "PASS"}, {}) == "PASS  run  0 lost"


@given(st.lists(st.tuples(st.sampled_from(["lost-write", "duplicate"]), st.integers(0, 3), st.integers(0, 40)), max_size=40))
@settings(max_examples=60)
def test_folding_keeps_every_finding_and_bridges_no_hole(drawn: list[tuple[str, int, int]]):
    found = [finding(name, offset, partition=partition) for name, partition, offset in drawn]
    folds = fold(found)

    assert sorted(map(str, found)) == sorted(str(one) for part in folds for one in part.findings)
    for part in folds:
        offsets = [one["offset"] for one in part.findings]
        assert set(offsets) == set(range(offsets[0], offsets[-1] + 1))
        assert len({(one["name"], one["partition"]) for one in part.findings}) == 1


def test_findings_without_an_offset_say_where_else():
    found = [finding("torn-transaction", None, topic=None, partition=None, txn="t-7"), finding("commit-ahead", None)]

    assert [part.where for part in fold(found)] == ["transaction t-7", "orders-0"]


@pytest.mark.parametrize(
    ("value", "censored", "words"),
    [(0.0421, False, "42 ms"), (3.14, False, "3.1 s"), (16.2, True, "≥ 16.2 s"), (None, False, "–")],
)
def test_seconds_in_words(value: float | None, censored: bool, words: str):
    assert seconds(value, censored=censored) == words


@pytest.mark.parametrize(
    ("sends", "reads", "words"),
    [
        ({"gap_s": 3.0}, {"gap_s": 3.4}, "3.0 s without an acknowledgement"),
        ({"gap_s": 0.2}, {"gap_s": 4.0}, "4.0 s without a read"),
        ({"gap_s": 0.2}, {"gap_s": 0.3, "censored": True}, "≥ 300 ms without a read"),
        (None, {"gap_s": 2.0}, "2.0 s without a read"),
    ],
)
def test_the_gap_that_matters_is_in_the_first_line(sends: dict[str, Any] | None, reads: dict[str, Any], words: str):
    rows = [row | {"kind": kind} for kind, row in (("send", sends), ("poll", reads)) if row]

    assert verdict_block({"verdict": "PASS", "recovery": rows}, {}).split("\n")[0].endswith(words)


def test_a_reason_is_said_once(passed: RunFolder):
    sentence = "The group did not come back."
    expected = [{"name": "n", "holds": False, "sentence": sentence}]

    assert block(passed, verdict="FAIL", reasons=[sentence, "No bite."], expectations=expected).count(sentence) == 1
    assert "because      No bite." in block(passed, verdict="FAIL", reasons=[sentence, "No bite."], expectations=expected)
