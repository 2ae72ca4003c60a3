"""Sketches: in whatever order, in whatever parts; a loss and a duplicate never cancel; what is peeled is the difference."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interceptors.audit import cells
from interceptors.audit.latency import BINS, LOWEST, PER_OCTAVE, quantile, upper_seconds
from interceptors.audit.sketch import Sketch, as_row, difference, from_row
from tests.pure.audit_books import identity, sketch

OFFSETS = st.lists(st.integers(0, 10**12), max_size=30)


@given(OFFSETS, st.randoms())
def test_order_does_not_matter(offsets: list[int], chance: random.Random):
    shuffled = list(offsets)
    chance.shuffle(shuffled)

    assert sketch(shuffled) == sketch(offsets)


@pytest.mark.slow
@given(OFFSETS, OFFSETS, OFFSETS)
def test_it_does_not_matter_in_which_parts_it_comes(a: list[int], b: list[int], c: list[int]):
    one, two, three = sketch(a), sketch(b), sketch(c)

    assert (one + two) + three == one + (two + three) == sketch(a + b + c)
    assert one + two == two + one


@given(OFFSETS)
def test_it_is_the_same_after_a_journey_as_json(offsets: list[int]):
    assert from_row(json.loads(json.dumps(as_row(sketch(offsets))))) == sketch(offsets)


@pytest.mark.slow
def test_one_loss_and_one_duplicate_never_cancel_in_a_hundred_thousand_trials():
    """With the counts alike, only the fingerprint can tell; there are no cells to help."""
    chance = random.Random(7)
    false_complete = 0
    for _ in range(100_000):
        ids = [chance.getrandbits(64) for _ in range(chance.randint(2, 6))]
        lost, doubled = chance.sample(range(len(ids)), 2)
        got = [*ids[:lost], *ids[lost + 1 :], ids[doubled]]
        false_complete += difference(bare(ids), bare(got)).same

    assert false_complete == 0


@pytest.mark.slow
def test_two_lost_and_two_others_twice_never_cancel_either():
    chance = random.Random(8)
    for _ in range(20_000):
        ids = [chance.getrandbits(64) for _ in range(6)]
        got = [*ids[2:], ids[2], ids[3]]
        assert not difference(bare(ids), bare(got)).same


def bare(ids: list[int]) -> Sketch:
    xor = 0
    for one in ids:
        xor ^= one
    return Sketch(len(ids), sum(ids) & cells.MASK, xor, 0, len(ids))


def test_a_record_three_times_is_not_the_same_as_once_though_the_xor_is():
    found = difference(sketch([5]), sketch([5, 5, 5]))

    assert not found.same
    assert found.items == {(5, identity(5)): -2}


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.sets(st.integers(0, 10**9), max_size=60),
    st.dictionaries(st.integers(0, 10**9), st.sampled_from((-3, -2, -1, 1, 2, 4)), max_size=12),
)
def test_what_is_peeled_is_exactly_the_difference(common: set[int], changes: dict[int, int]):
    sent = [*common, *(offset for offset, n in changes.items() for _ in range(n) if n > 0)]
    got = [*common, *(offset for offset, n in changes.items() for _ in range(-n) if n < 0)]

    found = difference(sketch(sent), sketch(got))

    assert found.same == (not changes)
    assert found.count == sum(changes.values())
    if found.items is not None:
        assert found.items == {(offset, identity(offset)): n for offset, n in changes.items()}


@pytest.mark.slow
def test_sixteen_are_mostly_named_and_a_few_always():
    chance = random.Random(9)

    def named(count: int, trials: int = 200) -> float:
        lost = [chance.sample(range(10**6), count) for _ in range(trials)]
        return sum(difference(sketch([1, *some]), sketch([1])).items is not None for some in lost) / trials

    assert named(1, 50) == 1
    assert named(5) > 0.97
    assert named(16) > 0.8


def test_too_many_to_be_named_are_still_counted():
    found = difference(sketch(range(500)), sketch(range(100)))

    assert (found.items, found.missing, found.extra, found.same) == (None, 400, 0, False)


def test_cells_of_different_size_or_none_at_all_only_count():
    for other in (sketch([1], size=0), sketch([1], size=24)):
        found = difference(sketch([1, 2]), other)
        assert (found.items, found.missing) == (None, 1)


def test_cells_that_were_damaged_are_not_believed():
    """Whole in themselves, and at odds with the sum."""
    sent = sketch([1, 2, 3])
    wrong = Sketch(sent.count, sent.sum ^ 1, sent.xor, 1, 3, sent.cells)

    assert difference(wrong, sketch([1, 2])).items is None


def test_bins_of_latencies_end_where_they_say():
    assert upper_seconds(-LOWEST * PER_OCTAVE - 1) == 0.001
    assert quantile({}, 0.5) is None
    assert quantile({0: 1, BINS - 1: 99}, 0.001) == upper_seconds(0)
    assert quantile({3: 50, 9: 50}, 0.5) == upper_seconds(3)
    assert quantile({3: 50, 9: 50}, 0.51) == upper_seconds(9)
