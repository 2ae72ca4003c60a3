"""When a consumer's record counts: once, when its commit covers it, whatever was read again in between."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interceptors.audit.counting import Counting, by_place
from interceptors.audit.report import Stretch
from interceptors.audit.spans import Spans
from interceptors.audit.table import Columns, Names

NAMES = Names()
NAMES.number("orders")  # the first: its partitions are their own places


def counting_(**more: int) -> Counting:
    return Counting(NAMES, **more)


def columns(*offsets: int, partition: int = 0) -> Columns:
    count = len(offsets)
    numbers = np.array(offsets, np.int64)
    return Columns(np.full(count, partition), numbers, numbers, numbers.astype(np.uint64), np.zeros(count))


def counted(found: Columns | None) -> list[int]:
    return [] if found is None else sorted(found.offsets.tolist())


def commit(counting: Counting, offset: int, partition: int = 0) -> list[int]:
    return counted(counting.committed({partition: offset}))


def stretches(counting: Counting) -> list[tuple[int, int]]:
    return [(one.begin, one.end) for one in counting.stretches()]


def test_what_is_read_counts_when_it_is_committed_and_once():
    counting = counting_()
    counting.read(columns(0, 1, 2, 3))

    assert commit(counting, 2) == [0, 1]
    assert commit(counting, 2) == []
    assert commit(counting, 4) == [2, 3]
    assert stretches(counting) == [(0, 4)]
    assert stretches(counting) == []


def test_what_was_assigned_anew_or_lost_is_forgotten():
    counting = counting_()
    counting.read(columns(0, 1, 2, 3))
    commit(counting, 2)
    counting.forget([("orders", 0)])
    assert commit(counting, 4) == []

    counting.read(columns(2, 3, 4))
    assert commit(counting, 5) == [2, 3, 4]
    assert stretches(counting) == [(0, 5)]


def test_what_another_has_read_in_between_is_not_accounted_for():
    counting = counting_()
    counting.read(columns(0, 1))
    commit(counting, 2)
    counting.forget([("orders", 0)])
    counting.read(columns(7, 8))
    commit(counting, 9)

    assert stretches(counting) == [(0, 2), (7, 9)]


def test_reading_again_before_a_commit_counts_once():
    counting = counting_()
    counting.read(columns(0, 1, 2, 3))
    assert counting.goes_back(columns(1, 2))
    counting.read(columns(1, 2))
    assert not counting.goes_back(columns(3, 4))
    counting.read(columns(3, 4))

    assert commit(counting, 5) == [0, 1, 2, 3, 4]


def test_going_back_behind_a_commit_and_committing_again_counts_twice_for_it_was_done_twice():
    counting = counting_()
    counting.read(columns(0, 1, 2))
    commit(counting, 3)
    counting.read(columns(1, 2))

    assert commit(counting, 3) == [1, 2]


def test_a_gap_between_what_was_committed_and_what_is_read_next_is_accounted_for_it_holds_nothing():
    counting = counting_()
    counting.read(columns(0, 1))
    commit(counting, 2)
    counting.read(columns(5, 6))
    commit(counting, 7)

    assert stretches(counting) == [(0, 7)]


def test_offsets_that_hold_no_records_are_accounted_for_by_a_commit_behind_them():
    counting = counting_()
    counting.read(columns(0, 1))
    commit(counting, 2)

    assert commit(counting, 5) == []
    assert stretches(counting) == [(0, 5)]


def test_a_commit_of_what_was_never_read_accounts_for_nothing():
    counting = counting_()
    assert commit(counting, 100) == []
    counting.read(columns(100, partition=1))
    assert commit(counting, 100, partition=1) == []
    assert stretches(counting) == []


def test_read_to_the_end_counts_without_a_commit():
    counting = counting_()
    counting.read(columns(4, 5, 9))

    assert counted(counting.read_to_the_end()) == [4, 5, 9]
    counting.read(columns(10))
    assert counted(counting.read_to_the_end()) == [10]
    assert stretches(counting) == [(4, 11)]


def test_who_never_commits_costs_no_more_than_so_many_records_and_what_goes_is_not_accounted_for():
    counting = counting_(most=10)
    counting.read(columns(*range(8)))
    counting.read(columns(*range(3), partition=1))

    assert counting.dropped == 8
    assert commit(counting, 8) == []
    assert commit(counting, 3, partition=1) == [0, 1, 2]
    assert counting.stretches() == (Stretch("orders", 1, 0, 3),)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.integers(1, 20), st.just("commit"), st.just("restart")), max_size=40))
def test_whatever_is_read_again_after_restarts_every_record_counts_once(story: list[int | str]):
    """A reader that goes on from its last commit after every restart, and commits what it has read at the end."""
    counting, position, committed = counting_(), 0, 0
    seen: list[int] = []
    for act in [*story, "commit"]:
        if act == "commit":
            committed = position
            seen += commit(counting, committed)
        elif act == "restart":
            counting.forget([("orders", 0)])
            position = committed
        else:
            counting.read(columns(*range(position, position + int(act))))
            position += int(act)

    assert seen == list(range(committed))
    covered = Spans()
    for begin, end in stretches(counting):
        covered.add(begin, end)
    assert list(covered) == ([(0, committed)] if committed else [])


def test_columns_are_parted_by_place_in_their_order():
    both = Columns(np.array([1, 0, 1]), np.array([5, 6, 7]), np.array([0, 0, 0]), np.zeros(3, np.uint64), np.zeros(3))

    assert [(where, some.offsets.tolist()) for where, some in by_place(both)] == [(0, [6]), (1, [5, 7])]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=20))
def test_spans_are_what_a_set_of_numbers_would_be(told: list[tuple[int, int]]):
    spans, numbers = Spans(), set[int]()
    for begin, length in told:
        spans.add(begin, begin + length)
        numbers |= set(range(begin, begin + length))

    assert {n for n in range(80) if n in spans} == numbers
    assert all(a[1] < b[0] for a, b in zip(list(spans), list(spans)[1:], strict=False))
    assert {n for begin, end in spans.gaps() for n in range(begin, end)} == (
        set(range(min(numbers), max(numbers))) - numbers if numbers else set()
    )
    assert spans.covers(5, 20) == (set(range(5, 20)) <= numbers)
