"""Gaps, whom they are charged to, and the stations on the way back: each rule fires, and stays quiet beside it."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.recovery import Track, error_budget, reasons, recover, worst
from chaos.recovery.attempts import NEVER, polls, sends
from chaos.recovery.gaps import gaps
from kernel.errors import UsageError

Send = tuple[float, float | None, bool]  # sent, answered, ok


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def track(
    sent: Iterable[Send] = (), read: Iterable[tuple[float, int]] = (), *, partition: int = 0, due: list[float] | None = None
) -> Track:
    """Values are the positions of the sends: the third one sent carries 2."""
    sent, read = list(sent), list(read)
    return Track(
        topic="orders",
        partition=partition,
        sent_ns=np.array([ns(at) for at, _, _ in sent], np.int64),
        acked_ns=np.array([-1 if answered is None else ns(answered) for _, answered, _ in sent], np.int64),
        sent_ok=np.array([ok for _, _, ok in sent], bool),
        sent_value=np.arange(len(sent), dtype=np.int64),
        read_ns=np.array([ns(at) for at, _ in read], np.int64),
        read_value=np.array([value for _, value in read], np.int64),
        due_ns=None if due is None else np.array([-1 if at < 0 else ns(at) for at in due], np.int64),
    )


def steady(begin: float, end: float, every: float = 0.1, takes: float = 0.01) -> list[Send]:
    return [(begin + every * n, begin + every * n + takes, True) for n in range(round((end - begin) / every))]


def read_soon(sent: list[Send], after: float = 0.005) -> list[tuple[float, int]]:
    return [(answered + after, value) for value, (_, answered, ok) in enumerate(sent) if ok and answered is not None]


def fault(at: float, name: str = "f1", **facts: Any) -> dict[str, Any]:
    facts = {
        "affected": [["orders", 0]],
        "bounds": {"send": 12.0, "poll": 12.0, "why": "9.0 s session + 3.0 s allowance"},
    } | facts
    return {"t_ns": ns(at), "event": "fault", "id": name, "fault": "kill-broker", "sentence": "", "noise_s": 2.0} | facts


def heal(at: float, name: str = "f1") -> dict[str, Any]:
    return {"t_ns": ns(at), "event": "heal", "id": name}


def state(at: float, leader: int | None, epoch: int, isr: list[int], partition: int = 0) -> dict[str, Any]:
    facts = {"topic": "orders", "partition": partition, "leader": leader, "leader_epoch": epoch, "isr": isr}
    return {"t_ns": ns(at), "event": "partition", "elr": [], "replicas": [1, 2, 3]} | facts


def rows(*tracks: Track, events: list[dict[str, Any]], end: float, kind: str = "send") -> list[dict[str, Any]]:
    return [row for row in recover(tracks, events, ns(end)) if row["kind"] == kind]


def one(*tracks: Track, events: list[dict[str, Any]], end: float, kind: str = "send") -> dict[str, Any]:
    (row,) = rows(*tracks, events=events, end=end, kind=kind)
    return row


def dark_from(begin: float, end: float, upto: float = 30.0) -> list[Send]:
    """Traffic that stands still between two moments; the send made at the first of them is answered at the second."""
    return [*steady(0, begin), (begin, end, True), *steady(end + 0.1, upto)]


# ---- gaps of sends ------------------------------------------------------------------------------------------------


def test_a_gap_runs_from_the_first_attempt_left_waiting_to_the_next_acknowledgement():
    row = one(track(dark_from(10, 18.5)), events=[fault(10)], end=30)

    assert (row["gap_s"], row["gap_from_s"], row["censored"], row["within"]) == (8.5, 0.0, False, True)


def test_an_attempt_made_before_the_fault_and_answered_after_it_counts_from_the_fault():
    row = one(track([*steady(0, 9), (9.5, 18.5, True)]), events=[fault(10)], end=30)

    assert row["gap_s"] == 8.5


def test_a_producer_with_nothing_to_send_leaves_no_gap():
    row = one(track([*steady(0, 11), *steady(25, 26)]), events=[fault(10)], end=30)

    assert row["gap_s"] == pytest.approx(0.01)


def test_a_gap_begins_with_an_attempt_and_not_with_the_silence_before_it():
    row = one(track([*steady(0, 11), (20, 21.5, True)]), events=[fault(10)], end=30)

    assert (row["gap_s"], row["gap_from_s"]) == (1.5, 10.0)


def test_attempts_that_failed_keep_the_gap_open_until_something_succeeds():
    row = one(track([*steady(0, 10), (10, 11, False), (11, 12, False), (14, 15, True)]), events=[fault(10)], end=30)

    assert row["gap_s"] == 5.0


def test_a_failure_that_a_later_success_has_answered_darkens_nothing_after_it():
    answered = [(10.0, 11.0, False), (11.0, 11.5, True)]

    assert one(track([*answered, *steady(25, 26)]), events=[fault(10)], end=30)["gap_s"] == 1.5
    assert one(track([*answered, (12.0, 13.0, False), *steady(25, 26)]), events=[fault(10)], end=30)[
        "gap_s"
    ] == pytest.approx(13.01)


def test_a_send_whose_answer_is_unknown_waits_until_the_next_success_and_no_longer():
    row = one(track([*steady(0, 10), (10, None, False), (12, 13, True), *steady(25, 26)]), events=[fault(10)], end=30)

    assert row["gap_s"] == 3.0


def test_a_gap_that_never_closes_is_censored_and_never_within():
    row = one(track([*steady(0, 10), (10, None, False)]), events=[fault(10)], end=14)

    assert (row["gap_s"], row["censored"], row["within"], row["first_success_s"]) == (4.0, True, False, None)


def test_a_gap_that_never_closes_outranks_a_longer_one_that_did():
    row = one(track([*dark_from(10, 18), (31, None, False)]), events=[fault(10)], end=34)

    assert (row["gap_s"], row["censored"], row["within"]) == (3.0, True, False)


def test_a_send_in_flight_when_the_run_ends_is_not_a_gap_that_never_closed():
    row = one(track([*steady(0, 30), (30.0, None, False)]), events=[fault(10)], end=30.2)

    assert (row["censored"], row["within"]) == (False, True)


def test_an_answer_after_the_end_still_closes_its_gap():
    row = one(track([*steady(0, 10), (10, 19, True)]), events=[fault(10)], end=18)

    assert (row["gap_s"], row["censored"]) == (9.0, False)


def test_attempts_without_any_success_are_one_gap_that_never_closed():
    row = one(track([(11, 12, False), (12, None, False)]), events=[fault(10)], end=20)

    assert (row["gap_s"], row["censored"], row["first_success_s"]) == (9.0, True, None)


def test_one_success_alone_is_a_gap_of_its_own_length():
    row = one(track([(11, 12.5, True)]), events=[fault(10)], end=20)

    assert (row["gap_s"], row["censored"], row["first_success_s"]) == (1.5, False, 2.5)


def test_acknowledgements_at_the_same_moment_are_one_success():
    row = one(track([(9, 10, True), (9.5, 10, True), (10, 10, True), (10, 12, True)]), events=[fault(10)], end=20)

    assert row["gap_s"] == 2.0


def test_no_traffic_after_the_fault_gives_no_row():
    assert rows(track(steady(0, 9)), events=[fault(10)], end=20) == []
    assert rows(track(), events=[fault(10)], end=20) == []


def test_a_failure_that_nothing_answered_darkens_the_next_fault_even_if_nobody_tried_again_under_it():
    found = rows(track([*steady(0, 9), (9, 9.5, False), (25, 26, True)]), events=[fault(10), fault(20, "f2")], end=30)

    assert [row["gap_s"] for row in found] == [10.0, 6.0]


def test_no_fault_gives_no_rows():
    assert recover([track(steady(0, 9))], [], ns(20)) == []


# ---- gaps of polls ------------------------------------------------------------------------------------------------


def test_a_record_waits_for_its_reader_from_its_acknowledgement_on():
    sent = steady(0, 20)
    read = [(at if at < 10 else max(at, 15.0), value) for at, value in read_soon(sent)]
    row = one(track(sent, read), events=[fault(10)], end=20, kind="poll")

    assert row["gap_s"] == pytest.approx(15 - 10.01)


def test_a_reader_without_new_records_leaves_no_gap():
    sent = [*steady(0, 11), *steady(25, 26)]
    row = one(track(sent, read_soon(sent)), events=[fault(10)], end=30, kind="poll")

    assert row["gap_s"] == pytest.approx(0.005)


def test_reading_the_same_records_again_ends_no_gap():
    sent = steady(0, 20)
    fresh = [(at, value) for at, value in read_soon(sent) if at < 10]
    again = [(10 + value / 10, value) for _, value in fresh]
    row = one(track(sent, [*fresh, *again]), events=[fault(10)], end=21, kind="poll")

    assert (row["censored"], row["within"]) == (True, False)
    assert row["gap_s"] == pytest.approx(21 - 10.01)


def test_reading_a_record_of_unknown_fate_is_progress():
    sent = [*steady(0, 10), (10.0, 10.1, True), (10.0, None, False), (10.0, 10.1, True)]
    read = [*read_soon(sent)[:100], (12.0, 100), (14.0, 101), (16.0, 102)]
    row = one(track(sent, read), events=[fault(10)], end=20, kind="poll")

    assert row["gap_s"] == 2.0


def test_a_record_read_before_its_acknowledgement_waited_for_nobody():
    row = one(track([(11, 12, True), (11, 20, True)], [(11.5, 0), (12.5, 1)]), events=[fault(10)], end=30, kind="poll")

    assert row["gap_s"] == 0.0


def test_a_record_that_was_passed_over_is_lost_and_not_late():
    sent = [*steady(0, 10), (10.5, 10.6, True), *steady(11, 12), (25.0, 25.1, True)]
    read = [(at, value) for at, value in read_soon(sent) if value != 100]
    row = one(track(sent, read), events=[fault(10)], end=40, kind="poll")

    assert (row["gap_s"], row["censored"]) == (pytest.approx(11.015 - 10.6), False)


def test_a_record_that_nobody_read_and_nothing_passed_stays_due():
    sent = [*steady(0, 10), (10.5, 10.6, True)]
    row = one(track(sent, read_soon(sent)[:-1]), events=[fault(10)], end=40, kind="poll")

    assert (row["gap_s"], row["censored"]) == (pytest.approx(29.4), True)


def test_a_record_of_a_transaction_is_due_from_its_commit_on_and_never_if_it_was_aborted():
    sent = [(11.0, 11.1, True), (11.2, 11.3, True)]
    row = one(track(sent, [(16.0, 0)], due=[15.0, -1]), events=[fault(10)], end=40, kind="poll")

    assert (row["gap_s"], row["censored"]) == (1.0, False)


def test_where_nobody_reads_a_topic_no_record_waits():
    assert rows(track(steady(0, 20)), events=[fault(10)], end=20, kind="poll") == []


def test_where_others_are_read_a_partition_that_is_not_stands_out():
    sent = steady(0, 20)
    found = rows(
        track(sent, read_soon(sent)), track(sent, partition=1), events=[fault(10, affected=None)], end=20, kind="poll"
    )

    assert [(row["partition"], row["censored"]) for row in found] == [(0, False), (1, True)]


# ---- the judgement ------------------------------------------------------------------------------------------------


def test_a_gap_longer_than_the_bound_is_not_within_and_says_why():
    found = rows(track(dark_from(10, 24)), events=[fault(10)], end=30)

    assert found[0]["within"] is False
    assert reasons(found) == [
        "orders-0: no send was acknowledged for 14.0 s after f1, bound 12.0 s (9.0 s session + 3.0 s allowance)."
    ]


def test_a_gap_that_never_closed_is_told_as_at_least_so_long():
    sent = steady(0, 15)
    found = rows(track(sent, read_soon(sent)[:100]), events=[fault(10)], end=18, kind="poll")

    assert reasons(found) == [
        "orders-0: no new record was read for ≥ 8.0 s and to the end of the run after f1, "
        "bound 12.0 s (9.0 s session + 3.0 s allowance)."
    ]


def test_rows_within_their_bounds_or_without_any_give_no_reasons():
    quiet = [fault(10), fault(10, bounds=None), fault(10, affected=None)]

    assert [reasons(rows(track(dark_from(10, 18)), events=[event], end=30)) for event in quiet] == [[], [], []]


def test_a_partition_that_the_fault_should_not_touch_is_judged_by_noise():
    calm, dark = track(steady(0, 30), partition=1), track(dark_from(11, 15), partition=2)
    found = rows(calm, dark, events=[fault(10)], end=30)

    assert [(row["partition"], row["affected"], row["bound_s"], row["within"]) for row in found] == [
        (1, False, 2.0, True),
        (2, False, 2.0, False),
    ]
    assert reasons(found) == [
        "orders-2: no send was acknowledged for 4.0 s after f1, bound 2.0 s (the fault should not have touched it)."
    ]


def test_a_partition_that_the_fault_should_not_touch_is_not_judged_for_what_comes_after_the_heal():
    """Bringing a broker back costs the machine more than losing it did."""
    dark_after = [*steady(0, 20), (20.0, 26.0, True), *steady(26, 40)]
    events = [fault(10, affected=[["orders", 1]]), heal(15)]

    healed_before = one(track(dark_after), events=events, end=40)
    healed_after = one(track(dark_after), events=[events[0], heal(30)], end=40)

    assert (healed_before["affected"], healed_before["within"]) == (False, True)
    assert (healed_after["affected"], healed_after["within"]) == (False, False)


def test_without_noise_the_untouched_are_measured_and_not_judged():
    row = one(track(dark_from(11, 15), partition=2), events=[fault(10, noise_s=None)], end=30)

    assert (row["gap_s"], row["bound_s"], row["within"]) == (4.0, None, None)


def test_a_fault_of_unknown_reach_is_measured_and_not_judged():
    row = one(track(dark_from(10, 29)), events=[fault(10, affected=None)], end=30)

    assert (row["affected"], row["gap_s"], row["within"]) == (None, 19.0, None)


def test_a_bound_for_one_kind_leaves_the_other_unjudged():
    sent = steady(0, 20)
    events = [fault(10, bounds={"send": 5.0, "why": "because"})]

    assert [row["within"] for row in recover([track(sent, read_soon(sent))], events, ns(20))] == [True, None]


def test_a_fault_that_cannot_be_read_is_refused_in_a_sentence():
    with pytest.raises(UsageError, match=r"the fault at t_ns 10000000000 cannot be read .*give id, affected as"):
        recover([track()], [fault(10, affected=["orders"])], ns(20))


# ---- several faults -----------------------------------------------------------------------------------------------


def test_two_faults_one_after_the_other_each_answer_for_their_own_gap():
    sent = [*dark_from(10, 18, upto=40), *dark_from(40, 43, upto=60)[400:]]
    found = rows(track(sent), events=[fault(10), heal(25), fault(40, "f2"), heal(50, "f2")], end=60)

    assert [(row["fault"], row["gap_s"]) for row in found] == [("f1", 8.0), ("f2", 3.0)]


def test_a_gap_across_two_faults_is_split_and_not_counted_twice():
    found = rows(track(dark_from(10, 23)), events=[fault(10), fault(16, "f2")], end=30)

    assert [(row["fault"], row["gap_s"], row["bound_s"]) for row in found] == [("f1", 6.0, 12.0), ("f2", 7.0, 12.0)]
    assert error_budget(found) == 13.0


def test_while_an_earlier_fault_is_not_over_the_later_deadline_counts():
    brief = fault(10.5, "f2", bounds={"send": 3.0, "why": "controlled shutdown"})
    late = rows(track(dark_from(10, 23)), events=[fault(10), brief], end=30)
    in_time = rows(track(dark_from(10, 21)), events=[fault(10), brief], end=30)

    assert [row["within"] for row in in_time] == [True, True]
    assert [row["within"] for row in late] == [True, False]
    assert late[1]["bound_s"] == 11.5
    assert late[1]["why"] == "what is left of f1: 9.0 s session + 3.0 s allowance"


def test_once_the_earlier_fault_is_over_the_later_one_has_its_own_deadline():
    sent = [*dark_from(10, 11.5, upto=13), (13, 18, True), *steady(18.1, 30)]
    brief = fault(13, "f2", bounds={"send": 3.0, "why": "controlled shutdown"})

    assert [row["within"] for row in rows(track(sent), events=[fault(10), heal(12), brief], end=30)] == [True, False]
    assert [row["within"] for row in rows(track(sent), events=[fault(10), heal(14), brief], end=30)] == [True, True]


def test_a_fault_elsewhere_does_not_answer_for_a_partition_that_is_still_dark():
    elsewhere = fault(14, "f2", affected=[["orders", 5]])

    for events in ([fault(10), elsewhere], [fault(10), heal(13), elsewhere]):
        assert [(r["fault"], r["gap_s"], r["within"]) for r in rows(track(dark_from(10, 18)), events=events, end=30)] == [
            ("f1", 8.0, True)
        ]


def test_a_fault_elsewhere_answers_by_noise_once_the_earlier_one_is_over():
    sent = [*dark_from(10, 18, upto=40), *dark_from(40, 44, upto=60)[400:]]
    events = [fault(10), heal(25), fault(40, "f2", affected=[["orders", 5]])]

    assert [(row["fault"], row["within"]) for row in rows(track(sent), events=events, end=60)] == [
        ("f1", True),
        ("f2", False),
    ]


def test_two_faults_of_which_one_has_no_bound_are_not_judged_together():
    found = rows(track(dark_from(10, 29)), events=[fault(10, bounds=None), fault(11, "f2")], end=30)

    assert [row["within"] for row in found] == [None, None]


def test_faults_in_any_order_of_lines_are_taken_in_order_of_time():
    events = [fault(16, "f2"), fault(10)]

    assert [row["fault"] for row in rows(track(dark_from(10, 23)), events=events, end=30)] == ["f1", "f2"]


# ---- the stations on the way back ---------------------------------------------------------------------------------


def test_detection_is_the_first_failure_a_client_was_told_of():
    told = [*steady(0, 10), (9.8, 9.9, False), (10, 13, False), (10, 14, False), (14, 18, True)]

    assert one(track(told), events=[fault(10)], end=30)["detect_s"] == 3.0
    assert one(track(dark_from(10, 18)), events=[fault(10)], end=30)["detect_s"] is None


def test_an_election_is_another_leader_in_a_higher_epoch():
    before = [state(0, 1, 4, [1, 2, 3]), fault(10), state(12, 1, 4, [1, 2])]
    sent = track(dark_from(10, 18))

    assert one(sent, events=[*before, state(17, None, 5, [2]), state(18, 2, 6, [2, 3])], end=30)["elect_s"] == 8.0
    assert one(sent, events=[*before, state(17, None, 5, []), state(18, 1, 6, [1])], end=30)["elect_s"] == 8.0
    assert one(sent, events=[*before, state(18, 1, 5, [1, 2, 3])], end=30)["elect_s"] is None
    assert one(sent, events=[*before, state(18, 2, 3, [1, 2, 3])], end=30)["elect_s"] is None  # somebody's stale view
    assert one(sent, events=[*before, state(18, 2, 6, [2, 3], partition=1)], end=30)["elect_s"] is None
    assert one(sent, events=[fault(10)], end=30)["elect_s"] is None


def test_an_election_that_was_seen_late_was_over_when_the_first_record_went_through():
    dark = [*steady(0, 10), (10.0, 13.0, True), *steady(13, 20)]

    a_moment_late = one(track(dark), events=[state(0, 1, 1, [1, 2, 3]), fault(10), state(13.4, 2, 2, [2, 3])], end=20)
    another_election = one(track(dark), events=[state(0, 1, 1, [1, 2, 3]), fault(10), state(17, 2, 2, [2, 3])], end=20)

    assert a_moment_late["elect_s"] == a_moment_late["first_success_s"] == pytest.approx(3.0)
    assert another_election["elect_s"] == pytest.approx(7.0)


def test_the_first_success_is_the_one_that_ends_the_gap_even_if_a_send_slipped_through_before_the_fault_landed():
    slipped = [*steady(0, 10.1), (10.2, 18, True), *steady(18.1, 30)]

    assert one(track(slipped), events=[fault(10)], end=30)["first_success_s"] == 8.0
    assert one(track(steady(0, 30)), events=[fault(10)], end=30)["first_success_s"] == pytest.approx(0.01)


def test_a_full_isr_is_reported_after_it_was_short():
    sent, whole, short = track(steady(0, 30)), state(0, 1, 4, [1, 2, 3]), state(18, 2, 5, [2, 3])

    assert one(sent, events=[whole, fault(10), short, state(25, 2, 5, [2, 3, 1])], end=30)["full_isr_s"] == 15.0
    assert one(sent, events=[state(9, 1, 4, [1]), fault(10), state(25, 2, 5, [2, 3, 1])], end=30)["full_isr_s"] == 15.0
    assert one(sent, events=[whole, fault(10), short], end=30)["full_isr_s"] is None
    assert one(sent, events=[whole, fault(10), state(25, 2, 5, [1, 2, 3])], end=30)["full_isr_s"] is None
    assert one(sent, events=[state(2, 1, 4, [1]), state(9, 1, 4, [1, 2, 3]), fault(10)], end=30)["full_isr_s"] is None


def test_the_backlog_is_drained_when_it_is_back_at_its_level_before_the_fault():
    sent = steady(0, 30)
    late = [(at if at < 10 else max(at, 15.0 + (value - 100) / 20), value) for at, value in read_soon(sent)]
    found = [one(track(sent, read), events=[fault(10)], end=30, kind="poll") for read in (late, read_soon(sent))]

    assert found[0]["drained_s"] == pytest.approx(10.0, abs=0.2)
    assert found[1]["drained_s"] == 0.0


def test_a_backlog_that_stays_is_never_drained():
    sent = steady(0, 30)
    row = one(
        track(sent, [(at if at < 10 else at + 5, value) for at, value in read_soon(sent)][:250]),
        events=[fault(10)],
        end=30,
        kind="poll",
    )

    assert row["drained_s"] is None


# ---- sums ---------------------------------------------------------------------------------------------------------


def test_the_worst_row_is_the_one_that_never_closed_then_the_longest():
    short, long_, never = ({"gap_s": s, "censored": c, "kind": "send"} for s, c in ((1.0, False), (9.0, False), (3.0, True)))

    assert worst([short, long_]) is long_
    assert worst([short, never, long_]) is never
    assert worst([]) is None


def test_the_error_budget_adds_up_partitions_for_one_kind_or_both():
    found = [{"gap_s": 8.0, "kind": "send"}, {"gap_s": 8.5, "kind": "send"}, {"gap_s": 2.0, "kind": "poll"}]

    assert (error_budget(found), error_budget(found, "send"), error_budget([])) == (18.5, 16.5, 0.0)


# ---- against the definition, word by word -------------------------------------------------------------------------

moment = st.integers(0, 30)
a_send = st.tuples(moment, st.one_of(st.none(), st.integers(0, 10)), st.booleans())
a_history = st.tuples(st.lists(a_send, max_size=12), st.lists(st.tuples(moment, st.integers(0, 14)), max_size=15))


def naive(attempts: list[tuple[int, int]], successes: set[int], end: int) -> list[tuple[int, int, bool]]:
    """(start, stop) of attempts; every gap by looking at every attempt in every stretch between successes."""
    edges, found = [-1, *sorted(successes), NEVER], []
    for a, b in pairwise(edges):
        begins = [max(a, start) for start, stop in attempts if start < b and stop > a]
        close = end if b == NEVER else b
        if begins and (b != NEVER or end - min(begins) >= ns(1)):  # else merely in flight
            found.append((min(begins), close, b == NEVER))
    return found


def naive_sends(history: Track) -> tuple[list[tuple[int, int]], set[int]]:
    sent = [(int(s), int(a), bool(ok)) for s, a, ok in zip(history.sent_ns, history.acked_ns, history.sent_ok, strict=True)]
    successes = {a for _, a, ok in sent if ok and a >= 0}
    return [(s, a if a >= 0 else min((x for x in successes if x > s), default=NEVER)) for s, a, _ in sent], successes


def naive_polls(history: Track) -> tuple[list[tuple[int, int]], set[int]]:
    first: dict[int, int] = {}
    for at, value in sorted(zip(history.read_ns.tolist(), history.read_value.tolist(), strict=True)):
        first.setdefault(value, at)
    sent, attempts = list(zip(history.sent_ns.tolist(), history.acked_ns.tolist(), history.sent_ok, strict=True)), []
    for value, (_, acked, ok) in enumerate(sent):
        past = min((first[v] for v, (s, _, _) in enumerate(sent) if s >= acked and v in first), default=NEVER)
        stop = first.get(value, past)
        if ok and acked >= 0 and stop > acked:
            attempts.append((acked, stop))
    return attempts, set(first.values())


@pytest.mark.slow
@settings(max_examples=150)
@given(a_history, st.integers(0, 45))
def test_gaps_are_those_of_the_plain_definition(history: Any, end: int):
    sent, read = history
    given_track = track([(s, None if t is None else s + t, ok) for s, t, ok in sent], read)
    for waits, plain in ((sends(given_track), naive_sends(given_track)), (polls(given_track), naive_polls(given_track))):
        found = gaps(waits, ns(end))

        assert list(zip(found.begin.tolist(), found.end.tolist(), found.open.tolist(), strict=True)) == naive(
            *plain, ns(end)
        )


@pytest.mark.slow
@settings(max_examples=150)
@given(a_history, st.lists(moment, min_size=1, max_size=3, unique=True), st.integers(31, 45))
def test_no_darkness_is_counted_twice_and_none_after_the_first_fault_is_dropped(history: Any, begins: list[int], end: int):
    """With every fault touching the partition, the longest of each window together cover the longest gap of the run."""
    sent, read = history
    given_track = track([(s, None if t is None else s + t, ok) for s, t, ok in sent], read)
    found = rows(given_track, events=[fault(at, f"f{at}") for at in begins], end=end)
    whole = rows(given_track, events=[fault(min(begins))], end=end)

    assert bool(found) == bool(whole)
    if whole and not whole[0]["censored"]:
        assert error_budget(found) >= whole[0]["gap_s"] - 1e-9
        assert max(row["gap_s"] for row in found) <= whole[0]["gap_s"]
