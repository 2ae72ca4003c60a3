"""Each anomaly of the evidence's contract is found where it is, and not where it only looks like it; borders included."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaos.checkers import CHECKERS
from chaos.checkers.rings import rings
from chaos.judge import judge
from kernel.verdict import ANOMALIES
from tests.pure.histories import (
    Drawn,
    drained,
    ended,
    random_runs,
    read,
    row,
    sent,
    soiled_runs,
    turn,
    write_run,
)
from tests.pure.naive_checker import NaiveChecker
from tests.pure.simulation import MANIFEST, simulate

Counts = Callable[..., dict[str, int]]


@pytest.fixture
def found(tmp_path: Path) -> Counts:
    """What the judge finds in these rows, without the zeros."""

    def judged(*rows: dict[str, Any], **clients: dict[str, Any]) -> dict[str, int]:
        run = write_run(tmp_path / f"run-{len(list(tmp_path.iterdir()))}", list(rows), manifest={"clients": clients})
        return {name: count for name, count in judge(run)["counts"].items() if count}

    return judged


UNCOMMITTED = {"isolation": "read_uncommitted"}
ORDERED = {"ordered": True}


def test_there_is_a_checker_for_every_anomaly():
    assert list(CHECKERS) == list(ANOMALIES)


# ---- inconsistent-offsets, duplicate ---------------------------------------------------------------------------------


def test_two_values_at_one_offset_are_inconsistent(found: Counts):
    assert found(sent(1, 5), sent(2), read(1, 5), read(2, 5, client="d")) == {"inconsistent-offsets": 1}


def test_one_value_read_twice_at_one_offset_is_consistent(found: Counts):
    assert found(sent(1, 5), read(1, 5), read(1, 5, client="d")) == {}


def test_the_same_offset_of_another_partition_is_another_place(found: Counts):
    assert found(sent(1, 5), sent(2, 5, on=1), read(1, 5), read(2, 5, on=1)) == {}


def test_an_acknowledgement_is_a_seat_as_good_as_a_read(found: Counts):
    assert found(sent(1, 5), sent(2), read(2, 5)) == {"inconsistent-offsets": 1}


def test_an_acknowledgement_inside_an_aborted_transaction_is_a_seat_too(found: Counts):
    assert found(sent(1, 5, txn="t"), ended("abort", "t", 9), sent(2), read(2, 5)) == {"inconsistent-offsets": 1}


def test_an_unknown_send_has_no_seat_even_if_it_claims_an_offset(found: Counts):
    assert found(sent(1, 5, outcome="info"), sent(2), read(2, 5)) == {}


def test_three_values_at_one_offset_are_one_inconsistent_offset(found: Counts):
    rows = [sent(1), sent(2), sent(3), read(1, 5), read(2, 5, client="d"), read(3, 5, client="e")]

    assert found(*rows) == {"inconsistent-offsets": 1}


def test_a_value_at_two_offsets_is_a_duplicate(found: Counts):
    assert found(sent(1, 5), read(1, 5), read(1, 6)) == {"duplicate": 1}


def test_a_value_in_two_partitions_is_a_duplicate(found: Counts):
    assert found(sent(1, 5), read(1, 5), read(1, 5, on=1, op=1)) == {"duplicate": 1}


def test_a_value_at_three_offsets_is_one_duplicate(found: Counts):
    assert found(sent(1), read(1, 5), read(1, 6), read(1, 7)) == {"duplicate": 1}


# ---- lost-write, unseen-write ----------------------------------------------------------------------------------------


def test_a_record_the_reader_went_past_is_lost(found: Counts):
    assert found(sent(1, 0), sent(2, 1), read(2, 1), drained(2)) == {"lost-write": 1}


def test_a_record_that_anybody_read_is_not_lost(found: Counts):
    assert found(sent(1, 0), sent(2, 1), read(2, 1), read(1, 0, client="u"), drained(2), u=UNCOMMITTED) == {}


def test_in_a_partition_that_was_not_drained_nothing_is_lost(found: Counts):
    assert found(sent(1, 0), sent(2, 1), read(2, 1)) == {}


def test_a_drain_that_did_not_succeed_is_no_drain(found: Counts):
    assert found(sent(1, 0), sent(2, 1), read(2, 1), drained(2, outcome="info")) == {}


def test_an_unknown_send_is_not_lost(found: Counts):
    assert found(sent(1, 0, outcome="info"), sent(2, 1), read(2, 1), drained(2)) == {}


def test_a_record_just_below_the_drained_end_is_lost_and_one_at_the_end_is_unseen(found: Counts):
    assert found(sent(1, 9), drained(10)) == {"lost-write": 1}
    assert found(sent(1, 10), drained(10)) == {"unseen-write": 1}


def test_of_several_drains_the_greatest_end_counts(found: Counts):
    assert found(sent(1, 9), drained(5), drained(10, op=9999)) == {"lost-write": 1}


def test_a_record_without_an_offset_is_unseen(found: Counts):
    assert found(sent(1), drained(10)) == {"unseen-write": 1}


def test_a_record_of_an_unknown_partition_is_neither(found: Counts):
    assert found(sent(1, on=None), drained(10)) == {}


def test_an_empty_log_that_was_drained_shows_an_unseen_write(found: Counts):
    assert found(sent(1, 0), drained(0)) == {"unseen-write": 1}


def test_inside_a_committed_transaction_even_an_unknown_send_must_be_there(found: Counts):
    assert found(sent(1, txn="t", outcome="info"), ended("commit", "t", 9), drained(10)) == {"unseen-write": 1}


def test_inside_a_transaction_of_unknown_end_nothing_is_lost(found: Counts):
    assert found(sent(1, 3, txn="t"), ended("commit", "t", 9, outcome="info"), drained(10)) == {}
    assert found(sent(1, 3, txn="t"), drained(10)) == {}


def test_a_commit_that_is_known_outweighs_one_that_is_not(found: Counts):
    rows = [ended("commit", "t", 8, outcome="info"), ended("commit", "t", 9), ended("abort", "t", 10)]

    assert found(sent(1, 3, txn="t"), *rows, drained(10)) == {"lost-write": 1}


# ---- aborted-read, phantom-read --------------------------------------------------------------------------------------


def test_a_failed_record_that_was_read_is_an_aborted_read(found: Counts):
    assert found(sent(1, outcome="fail"), read(1, 5)) == {"aborted-read": 1}


def test_a_record_of_an_aborted_transaction_that_was_read_is_an_aborted_read(found: Counts):
    assert found(sent(1, 5, txn="t"), ended("abort", "t", 9), read(1, 5)) == {"aborted-read": 1}


def test_a_commit_that_failed_is_as_good_as_an_abort(found: Counts):
    assert found(sent(1, 5, txn="t"), ended("commit", "t", 9, outcome="fail"), read(1, 5)) == {"aborted-read": 1}


def test_an_abort_after_a_commit_of_unknown_end_decides_nothing(found: Counts):
    assert found(sent(1, 5, txn="t"), ended("commit", "t", 8, outcome="info"), ended("abort", "t", 9), read(1, 5)) == {}


def test_an_abort_of_unknown_end_decides_nothing(found: Counts):
    assert found(sent(1, 5, txn="t"), ended("abort", "t", 9, outcome="info"), read(1, 5)) == {}


def test_who_reads_uncommitted_may_see_aborted_records(found: Counts):
    assert found(sent(1, 5, txn="t"), ended("abort", "t", 9), read(1, 5, client="u"), u=UNCOMMITTED) == {}


def test_an_unknown_record_may_be_read(found: Counts):
    assert found(sent(1, outcome="info"), read(1, 5)) == {}


def test_a_failed_send_inside_a_committed_transaction_stays_failed(found: Counts):
    rows = [sent(1, outcome="fail", txn="t"), sent(2, 6, txn="t"), ended("commit", "t", 9), read(1, 5), read(2, 6)]

    assert found(*rows) == {"aborted-read": 1}


def test_a_record_nobody_sent_is_a_phantom(found: Counts):
    assert found(sent(1, 4), read(1, 4), read(2, 5), read(2, 5, client="d")) == {"phantom-read": 1}


def test_a_phantom_is_one_for_readers_of_uncommitted_records_too(found: Counts):
    assert found(read(2, 5, client="u"), u=UNCOMMITTED) == {"phantom-read": 1}


def test_a_poll_that_did_not_succeed_read_nothing(found: Counts):
    assert found(read(2, 5, outcome="info"), read(3, 6, outcome="fail")) == {}


# ---- nonmonotonic-poll, poll-skip ------------------------------------------------------------------------------------

FOUR = [sent(value, value) for value in range(4)]


def test_a_reader_that_goes_back_is_not_monotonic(found: Counts):
    assert found(*FOUR, read(1, 1, op=10), read(0, 0, op=11), read(1, 1, op=12)) == {"nonmonotonic-poll": 1}


def test_the_same_offset_again_is_not_monotonic(found: Counts):
    assert found(*FOUR, read(1, 1, op=10, ix=0), read(1, 1, op=10, ix=1)) == {"nonmonotonic-poll": 1}


@pytest.mark.parametrize("kind", ["assign", "revoke", "lost"])
def test_a_new_assignment_may_begin_anywhere(found: Counts, kind: str):
    assert found(*FOUR, read(1, 1, op=10), turn(kind, 11, outcome="info"), read(0, 0, op=12), read(1, 1, op=13)) == {}


def test_an_assignment_of_another_partition_or_reader_changes_nothing(found: Counts):
    others = [turn("assign", 11, on=1), turn("assign", 11, client="d"), row("revoke", "c", 11, ix=1)]

    assert found(*FOUR, read(1, 1, op=10), *others, read(0, 0, op=12)) == {"nonmonotonic-poll": 1}


def test_the_order_is_that_of_op_and_ix_not_of_the_file(found: Counts):
    assert found(*FOUR, read(2, 2, op=11), read(1, 1, op=10, ix=1), read(0, 0, op=10, ix=0)) == {}


def test_a_reader_that_passes_over_a_record_skips(found: Counts):
    rows = [*FOUR, read(0, 0, op=10), read(3, 3, op=11), *(read(v, v, client="d") for v in range(4))]

    assert found(*rows) == {"poll-skip": 1}


def test_a_record_of_unknown_fate_that_nobody_saw_may_be_passed(found: Counts):
    assert found(sent(0, 0), sent(1, outcome="info"), sent(2, 2), read(0, 0), read(2, 2)) == {}


def test_aborted_records_and_markers_may_be_passed(found: Counts):
    rows = [sent(0, 0), sent(1, 1, txn="t"), ended("abort", "t", 9), sent(3, 3), read(0, 0), read(3, 3)]

    assert found(*rows, read(1, 1, client="u"), u=UNCOMMITTED) == {}


def test_a_record_that_another_committed_reader_saw_must_not_be_passed(found: Counts):
    rows = [sent(0, 0), sent(1, outcome="info"), sent(2, 2), read(0, 0), read(2, 2), read(1, 1, client="d")]

    assert found(*rows) == {"poll-skip": 1}


def test_across_a_rebalance_nothing_is_skipped(found: Counts):
    rows = [*FOUR, read(0, 0, op=10), turn("assign", 11), read(3, 3, op=12), *(read(v, v, client="d") for v in range(4))]

    assert found(*rows) == {}


def test_offsets_at_the_ends_of_a_leap_are_not_passed(found: Counts):
    assert (
        found(sent(1, 1), sent(9, 9), read(1, 1), read(9, 9), sent(2, 1, outcome="info"), sent(3, 9, outcome="info")) == {}
    )


# ---- nonmonotonic-send -----------------------------------------------------------------------------------------------


def test_an_ordered_producer_keeps_its_order(found: Counts):
    assert found(sent(1, 5, op=1), sent(2, 4, op=2), sent(3, 6, op=3), p=ORDERED) == {"nonmonotonic-send": 1}


def test_a_producer_that_promised_no_order_need_not(found: Counts):
    assert found(sent(1, 5, op=1), sent(2, 4, op=2)) == {}


def test_order_is_kept_per_partition(found: Counts):
    assert found(sent(1, 5, op=1), sent(2, 4, op=2, on=1), p=ORDERED) == {}


def test_sends_without_an_offset_or_not_acknowledged_are_left_out(found: Counts):
    rows = [sent(1, 5, op=1), sent(2, op=2), sent(3, 2, op=3, outcome="info"), sent(4, 6, op=4)]

    assert found(*rows, p=ORDERED) == {}


def test_one_offset_twice_is_not_out_of_order(found: Counts):
    assert found(sent(1, 5, op=1), sent(2, 5, op=2), p=ORDERED) == {"inconsistent-offsets": 1}


# ---- torn-transaction ------------------------------------------------------------------------------------------------

PAIR = [sent(1, 0, txn="t"), sent(2, 0, on=1, txn="t"), drained(1), drained(1, on=1)]


def test_a_transaction_seen_in_part_is_torn(found: Counts):
    assert found(*PAIR, ended("commit", "t", 9), read(1, 0)) == {"torn-transaction": 1, "lost-write": 1}
    assert found(*PAIR, ended("commit", "t", 9, outcome="info"), read(1, 0)) == {"torn-transaction": 1}
    assert found(*PAIR, read(1, 0)) == {"torn-transaction": 1}


def test_a_transaction_seen_as_a_whole_or_not_at_all_is_not_torn(found: Counts):
    assert found(*PAIR, ended("commit", "t", 9, outcome="info"), read(1, 0), read(2, 0, on=1)) == {}
    assert found(*PAIR, ended("commit", "t", 9, outcome="info")) == {}


def test_before_all_its_partitions_are_drained_it_is_not_torn(found: Counts):
    assert found(*PAIR[:3], ended("commit", "t", 9, outcome="info"), read(1, 0)) == {}


def test_a_part_seen_uncommitted_does_not_tear_it(found: Counts):
    assert found(*PAIR, ended("commit", "t", 9, outcome="info"), read(1, 0, client="u"), u=UNCOMMITTED) == {}


def test_an_aborted_transaction_seen_in_part_is_an_aborted_read(found: Counts):
    assert found(*PAIR, ended("abort", "t", 9), read(1, 0)) == {"aborted-read": 1}


def test_a_send_that_failed_is_no_part_of_it(found: Counts):
    rows = [sent(1, 0, txn="t"), sent(2, on=1, txn="t", outcome="fail"), drained(1), ended("commit", "t", 9), read(1, 0)]

    assert found(*rows) == {}


# ---- precommitted-read -----------------------------------------------------------------------------------------------


def test_a_client_that_reads_its_own_open_transaction_reads_too_early(found: Counts):
    assert found(sent(1, 5, op=1, txn="t"), read(1, 5, op=2, client="p"), ended("commit", "t", 3)) == {
        "precommitted-read": 1
    }
    assert found(sent(1, 5, op=1, txn="t"), read(1, 5, op=2, client="p")) == {"precommitted-read": 1}


def test_the_border_is_the_op_of_the_commit(found: Counts):
    early = [sent(1, 5, op=1, txn="t"), read(1, 5, op=3, ix=1, client="p"), ended("commit", "t", 3)]
    later = [sent(1, 5, op=1, txn="t"), read(1, 5, op=4, client="p"), ended("commit", "t", 3)]

    assert found(*early) == {"precommitted-read": 1}
    assert found(*later) == {}


def test_after_an_abort_of_any_outcome_it_is_not_too_early(found: Counts):
    rows = [sent(1, 5, op=1, txn="t"), ended("abort", "t", 2, outcome="info"), read(1, 5, op=3, client="p")]

    assert found(*rows) == {}


def test_others_may_read_at_any_time_and_values_outside_transactions_too(found: Counts):
    assert found(sent(1, 5, op=9, txn="t"), read(1, 5, op=2), sent(2, 6, op=8), read(2, 6, op=1, client="p")) == {}


def test_the_commit_of_another_client_says_nothing_about_the_order(found: Counts):
    rows = [sent(1, 5, op=1, txn="t"), read(1, 5, op=4, client="p"), ended("commit", "t", 3, client="q")]

    assert found(*rows) == {"precommitted-read": 1}


# ---- write-read-cycle ------------------------------------------------------------------------------------------------


def wrote_and_read(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    """For each (writer, reader) a value that the one sent and the other read, all of unknown end."""
    rows = []
    for number, (writer, reader) in enumerate(pairs):
        rows.append(sent(number, number, op=number, client=f"p-{writer}", txn=writer))
        rows.append(read(number, number, op=number, client=f"c-{reader}-{number}", txn=reader))
    return rows


def test_two_transactions_that_read_each_other_are_a_ring(found: Counts):
    assert found(*wrote_and_read(("a", "b"), ("b", "a"))) == {"write-read-cycle": 1}


def test_a_chain_is_no_ring_and_nor_is_reading_ones_own(found: Counts):
    assert found(*wrote_and_read(("a", "b"), ("b", "c"), ("a", "c"), ("c", "c"))) == {}


def test_rings_that_share_a_transaction_are_one_and_others_are_two(found: Counts):
    assert found(*wrote_and_read(("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"))) == {"write-read-cycle": 1}
    assert found(*wrote_and_read(("a", "b"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "c"))) == {"write-read-cycle": 2}


def test_a_read_outside_of_transactions_closes_no_ring(found: Counts):
    rows = wrote_and_read(("a", "b"), ("b", "a"))
    rows[-1]["txn"] = None

    assert found(*rows) == {}


@pytest.mark.slow
def test_a_ring_may_be_a_hundred_thousand_long():
    length = 100_000

    assert [len(ring) for ring in rings((n, (n + 1) % length) for n in range(length))] == [length]
    assert rings((n, n + 1) for n in range(length)) == []


# ---- commit-ahead ----------------------------------------------------------------------------------------------------

READ_BY_ALL = [*FOUR, *(read(value, value, client="d") for value in range(4))]


def test_a_commit_past_a_record_that_was_not_read_is_ahead(found: Counts):
    assert found(*READ_BY_ALL, read(0, 0, op=10), turn("offsets", 11, offset=2)) == {"commit-ahead": 1}


def test_a_commit_of_the_next_position_is_not_ahead(found: Counts):
    assert found(*READ_BY_ALL, read(0, 0, op=10), turn("offsets", 11, offset=1)) == {}


def test_a_commit_that_did_not_succeed_is_not_ahead(found: Counts):
    assert found(*READ_BY_ALL, read(0, 0, op=10), turn("offsets", 11, offset=4, outcome="fail")) == {}


def test_markers_may_be_passed_by_a_commit(found: Counts):
    assert found(sent(0, 0), read(0, 0, op=10), turn("offsets", 11, offset=7)) == {}


def test_without_a_read_in_its_assignment_a_commit_is_not_judged(found: Counts):
    assert found(*READ_BY_ALL, turn("offsets", 11, offset=4)) == {}
    assert found(*READ_BY_ALL, read(0, 0, op=10), turn("assign", 11), turn("offsets", 12, offset=4)) == {}


def test_a_commit_is_judged_by_the_last_read_before_it_in_time(found: Counts):
    rows = [read(0, 0, op=10), read(1, 1, op=11), turn("offsets", 12, offset=2), read(2, 2, op=13), read(3, 3, op=14)]

    assert found(*READ_BY_ALL, *rows) == {}
    assert found(*READ_BY_ALL, *rows, turn("offsets", 10, offset=2, ix=1)) == {"commit-ahead": 1}


def test_a_read_of_another_partition_is_no_ground_for_a_commit(found: Counts):
    other = [sent(9, 0, on=1), read(9, 0, on=1, op=10)]

    assert found(*READ_BY_ALL, *other, turn("offsets", 11, offset=4)) == {}


# ---- values that were sent twice, against the contract ----------------------------------------------------------------


def test_a_value_that_failed_once_and_was_sent_again_may_be_read(found: Counts):
    assert found(sent(1, op=1, outcome="fail"), sent(1, 5, op=2), read(1, 5)) == {}


def test_a_value_lost_from_one_place_is_lost_once(found: Counts):
    assert found(sent(1, 5, op=1), sent(1, op=2), drained(9)) == {"lost-write": 1}


# ---- against plain loops ---------------------------------------------------------------------------------------------

BOUNDED = settings(max_examples=150, suppress_health_check=list(HealthCheck))
FORMS = st.sampled_from(("parquet", "jsonl", "both"))


def agrees_with_plain_loops(place: Path, run: Drawn, form: str, files: int) -> None:
    folder = write_run(place, run.rows, files=files, form=form, manifest=run.manifest, events=run.events)
    verdict, naive = judge(folder), NaiveChecker(run.manifest, run.rows, run.events)

    assert verdict["counts"] == naive.counts()
    assert verdict["verdict"] == naive.verdict()
    for name, count in verdict["counts"].items():
        assert sum(finding["name"] == name for finding in verdict["findings"]) == min(count, 100)


@pytest.mark.slow
@BOUNDED
@given(run=random_runs, form=FORMS, files=st.integers(1, 3))
def test_rows_at_random_are_judged_as_by_plain_loops(
    tmp_path_factory: pytest.TempPathFactory, run: Drawn, form: str, files: int
):
    agrees_with_plain_loops(tmp_path_factory.mktemp("random") / "run", run, form, files)


@pytest.mark.slow
@BOUNDED
@given(run=soiled_runs, form=FORMS, files=st.integers(1, 3))
def test_soiled_runs_are_judged_as_by_plain_loops(
    tmp_path_factory: pytest.TempPathFactory, run: Drawn, form: str, files: int
):
    agrees_with_plain_loops(tmp_path_factory.mktemp("soiled") / "run", run, form, files)


@pytest.mark.parametrize("seed", range(5))
def test_clients_that_behave_are_passed(tmp_path: Path, seed: int):
    verdict = judge(write_run(tmp_path / "run", simulate(seed, 80), manifest=MANIFEST))

    assert (verdict["verdict"], verdict["reasons"]) == ("PASS", [])
    assert set(verdict["counts"].values()) == {0}
