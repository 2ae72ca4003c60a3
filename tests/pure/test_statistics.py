"""Slower, or chance: a real shift is found, noise is not, and what never ended is neither forgotten nor invented."""

import math

import numpy as np
import pytest

from spark_reports.nightly.statistics import LEVEL, Sample, adjusted, compared

SHIFT_S = 0.5


def heavy(chance: np.random.Generator, size: int, middle: float = 9.0) -> list[float]:
    """Recovery as it is measured: narrow, with a run every now and then that took much longer."""
    usual = middle * np.exp(chance.normal(0, 0.08, size))
    return list(np.where(chance.random(size) < 0.08, usual * chance.uniform(1.5, 4, size), usual))


def fires(now: Sample, before: Sample) -> bool:
    comparison = compared(now, before)
    return comparison.p_value is not None and comparison.is_longer(comparison.p_value, shift=SHIFT_S)


@pytest.mark.slow
def test_nights_without_a_change_raise_hardly_an_alarm():
    chance = np.random.default_rng(1)
    nights, alarmed, below = 300, 0, 0
    for _ in range(nights):
        pairs = [compared(Sample.of(heavy(chance, 8)), Sample.of(heavy(chance, 20)), seed=3) for _ in range(12)]
        corrected = adjusted([pair.p_value for pair in pairs if pair.p_value is not None])
        below += any(p < LEVEL for p in corrected)
        alarmed += any(pair.is_longer(p, shift=SHIFT_S) for pair, p in zip(pairs, corrected, strict=True))

    assert alarmed / nights < 0.05
    assert below / nights < 0.08  # the correction alone, before any threshold: 5 % and what 300 nights scatter


@pytest.mark.slow
def test_half_as_slow_again_is_found_nearly_always():
    chance = np.random.default_rng(2)
    found = 0
    for _ in range(200):
        slow = compared(Sample.of(heavy(chance, 8, 13.5)), Sample.of(heavy(chance, 20)), seed=5)
        others = [compared(Sample.of(heavy(chance, 8)), Sample.of(heavy(chance, 20)), seed=5) for _ in range(11)]
        corrected = adjusted([pair.p_value or 0.0 for pair in (slow, *others)])
        found += slow.is_longer(corrected[0], shift=SHIFT_S)

    assert found >= 188  # one in twelve runs of the baseline took long by chance: some nights hide behind that


def test_the_correction_lets_pass_what_many_comparisons_make_likely():
    assert adjusted([0.04, 0.5, 0.6, 0.7, 0.8]) == pytest.approx([0.2, 0.8, 0.8, 0.8, 0.8])
    assert adjusted([0.001, 0.5, 0.6, 0.7, 0.8])[0] == pytest.approx(0.005)
    assert adjusted([0.01, 0.02, 0.03]) == pytest.approx([0.03, 0.03, 0.03])
    assert adjusted([]) == []


def test_one_run_that_took_ten_times_as_long_is_no_regression_but_ten_are():
    before = Sample.of([9.0 + 0.01 * nth for nth in range(20)])

    assert not fires(Sample.of([9.05] * 9 + [90.0]), before)
    assert fires(Sample.of([90.0] * 10), before)


def test_runs_that_never_recovered_are_longer_than_any_that_did():
    before = Sample.of([9.0 + 0.01 * nth for nth in range(20)])
    never = Sample.of([18.0] * 8, [True] * 8)

    comparison = compared(never, before)

    assert comparison.effect == 1.0
    assert fires(never, before)


def test_an_open_gap_that_is_short_so_far_says_nothing():
    """A run that was ended after 3 s of darkness may have recovered after 4 or after 40."""
    before = Sample.of([9.0 + 0.01 * nth for nth in range(20)])

    comparison = compared(Sample.of([3.0] * 8, [True] * 8), before)

    assert comparison.effect == 0.0
    assert comparison.p_value > 0.3


def test_an_open_value_is_longer_than_a_measured_one_of_the_same_length():
    assert compared(Sample.of([9.0] * 4, [True] * 4), Sample.of([9.0] * 4)).effect == 1.0
    assert compared(Sample.of([9.0] * 4), Sample.of([9.0] * 4, [True] * 4)).effect == -1.0


def test_a_shift_of_few_runs_is_no_regression_however_sure():
    """Ten of a hundred went from the fast kind to the slow one: the median jumps, hardly any pair does."""
    now, before = Sample.of([9.0] * 225 + [14.0] * 275), Sample.of([9.0] * 275 + [14.0] * 225)
    comparison = compared(now, before)

    assert comparison.p_value < 0.01
    assert comparison.ratio > 1.5
    assert not fires(now, before)


def test_nothing_is_worse_than_a_baseline_that_never_recovered():
    assert not fires(Sample.of([50.0] * 8), Sample.of([18.0] * 20, [True] * 20))


def test_open_on_both_sides_is_no_difference():
    both = Sample.of([18.0] * 8, [True] * 8)

    comparison = compared(both, both)

    assert (comparison.p_value, comparison.effect, comparison.ratio) == (1.0, 0.0, None)


def test_equal_values_are_no_difference():
    comparison = compared(Sample.of([9.0] * 8), Sample.of([9.0] * 20))

    assert (comparison.p_value, comparison.effect, comparison.ratio, comparison.shift) == (1.0, 0.0, 1.0, 0.0)


@pytest.mark.parametrize(("now", "before"), [(3, 20), (20, 3), (0, 0), (1, 1), (0, 9)])
def test_too_few_runs_say_nothing(now: int, before: int):
    comparison = compared(Sample.of([90.0] * now), Sample.of([9.0] * before))

    assert not comparison.enough
    assert comparison.effect is None
    assert not comparison.is_longer(0.0, shift=0.0)


def test_four_on_each_side_are_enough():
    comparison = compared(Sample.of([90.0, 91, 92, 93]), Sample.of([9.0, 9.1, 9.2, 9.3]))

    assert comparison.p_value == pytest.approx(1 / math.comb(8, 4))


def test_a_difference_nobody_would_notice_is_none_however_sure():
    """0.3 s of 1 s, in every run: sure, and large as a share; but nobody is paged for it."""
    assert not fires(Sample.of([1.3] * 20), Sample.of([1.0] * 20))
    assert not fires(Sample.of([101.0] * 20), Sample.of([100.0] * 20))
    assert fires(Sample.of([1.6] * 20), Sample.of([1.0] * 20))


@pytest.mark.slow
def test_shuffles_and_the_normal_distribution_agree_with_counting_all():
    chance = np.random.default_rng(7)
    values = chance.normal(9, 1, 16)
    exact = compared(Sample.of(list(values[:4] + 0.5)), Sample.of(list(values[4:])))
    many = chance.normal(9, 1, 390)
    shuffled = compared(Sample.of(list(many[:150] + 0.1)), Sample.of(list(many[150:])), seed=2)
    normal = compared(Sample.of(list(many[:150] + 0.1) * 2), Sample.of(list(many[150:]) * 2))

    assert exact.p_value == pytest.approx(_naive_p(values[:4] + 0.5, values[4:]), abs=0.02)
    assert shuffled.p_value == pytest.approx(_rank_sum_p(many[:150] + 0.1, many[150:]), abs=0.015)
    assert normal.p_value == pytest.approx(_rank_sum_p(np.tile(many[:150] + 0.1, 2), np.tile(many[150:], 2)), abs=0.01)


def test_the_same_seed_gives_the_same_p_value():
    chance = np.random.default_rng(9)
    now, before = Sample.of(list(chance.normal(9, 1, 30))), Sample.of(list(chance.normal(9, 1, 40)))

    assert compared(now, before, seed=4) == compared(now, before, seed=4)
    assert compared(now, before, seed=4).p_value != compared(now, before, seed=5).p_value


def test_a_median_that_falls_on_an_open_value_is_bounded_from_the_right_side():
    half_open = Sample.of([9.0, 10.0, 18.0, 18.0, 18.0], [False, False, True, True, True])

    assert half_open.median_at_least() == 18.0
    assert half_open.median_at_most() is None
    assert Sample.of([9.0, 10.0, 11.0], [False, False, True]).median_at_most() == 10.0
    assert Sample.of([9.0, 10.0]).median_at_least() == 9.0
    assert Sample.of([]).median_at_least() is None


def _naive_p(now: np.ndarray, before: np.ndarray) -> float:
    """Mann and Whitney's U over random shuffles, written another way."""
    chance, pooled = np.random.default_rng(11), np.concatenate([now, before])

    def wins(side: np.ndarray, rest: np.ndarray) -> int:
        return int((side[:, None] > rest[None, :]).sum())

    seen, drawn = wins(now, before), 0
    for _ in range(4000):
        chance.shuffle(pooled)
        drawn += wins(pooled[: len(now)], pooled[len(now) :]) >= seen
    return drawn / 4000


def _rank_sum_p(now: np.ndarray, before: np.ndarray) -> float:
    """The textbook's approximation for many untied values."""
    wins = (now[:, None] > before[None, :]).sum() + 0.5 * (now[:, None] == before[None, :]).sum()
    size, rest = len(now), len(before)
    spread = math.sqrt(size * rest * (size + rest + 1) / 12)
    return 0.5 * math.erfc((wins - size * rest / 2) / spread / math.sqrt(2))
