"""Shrinking: what is left still fails, nothing of it can be left out, and luck is not mistaken for proof."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.schedule import Step
from chaos.shrink import shrink
from kernel.errors import UsageError


def steps(count: int) -> list[Step]:
    return [Step(float(number), {"fault": "kill-broker", "node": number}, 1.0) for number in range(count)]


def numbers(some: list[Step]) -> set[int]:
    return {int(step.at_s) for step in some}


@pytest.mark.slow
@given(count=st.integers(1, 20), data=st.data())
def test_exactly_the_guilty_steps_are_left(count: int, data: st.DataObject):
    guilty = data.draw(st.sets(st.integers(0, count - 1), max_size=5))

    left = shrink(steps(count), lambda some: guilty <= numbers(some), tries=10_000).steps

    assert numbers(left) == guilty


@given(count=st.integers(1, 7), seed=st.integers(0, 10_000))
def test_whatever_fails_is_shrunk_until_each_step_is_needed(count: int, seed: int):
    """Any function of the steps at all, however contrary: more steps may well pass where fewer fail."""

    def fails(some: list[Step]) -> bool:
        return len(some) == count or random.Random(f"{seed} {sorted(numbers(some))}").random() < 0.4

    left = shrink(steps(count), fails, tries=10_000).steps

    assert fails(left)
    assert not any(fails([*left[:place], *left[place + 1 :]]) for place in range(len(left)))


@pytest.mark.slow
@given(count=st.integers(1, 12), guilty=st.sets(st.integers(0, 11), min_size=1, max_size=3))
def test_the_order_of_the_steps_is_kept_and_nothing_is_run_twice(count: int, guilty: set[int]):
    runs: list[tuple[int, ...]] = []

    def fails(some: list[Step]) -> bool:
        runs.append(tuple(int(step.at_s) for step in some))
        return len(some) == count or guilty <= numbers(some)

    shrink(steps(count), fails, tries=10_000)

    assert all(list(run) == sorted(run) for run in runs)
    assert len(runs) == len(set(runs))


def test_a_failure_that_needs_no_fault_leaves_none():
    assert shrink(steps(5), lambda some: True).steps == []


def test_a_schedule_that_passes_is_not_shrunk():
    with pytest.raises(UsageError, match=r"all 4 steps together passed 3 times, so there is nothing to shrink: if it fails"):
        shrink(steps(4), lambda some: False, confirm=3)


def test_the_tries_are_bounded_and_the_best_so_far_is_honest_about_it():
    said: list[str] = []
    made: list[int] = []

    def fails(some: list[Step]) -> bool:
        made.append(len(some))
        return {3, 12} <= numbers(some)

    result = shrink(steps(16), fails, said.append, tries=6)

    assert (len(made), result.tries, result.minimal) == (6, 6, False)
    assert {3, 12} <= numbers(result.steps)
    assert said[-1] == f"stopped after 6 tries: {len(result.steps)} steps are left, perhaps not all of them needed"


def test_a_result_says_how_sure_it_is():
    said: list[str] = []

    result = shrink(steps(8), lambda some: 5 in numbers(some), said.append)

    assert (numbers(result.steps), result.minimal, result.failed, result.runs) == ({5}, True, 1, 1)
    assert said[0] == "try 1: 8 of 8 steps fail"
    assert said[-1] == "1 of 8 steps are enough, and each is needed (failed 1 of 1 runs)"


def test_a_flaky_failure_is_found_if_each_set_of_steps_gets_several_chances():
    luck = random.Random(1)

    def fails(some: list[Step]) -> bool:
        return {2, 9} <= numbers(some) and luck.random() < 0.3

    result = shrink(steps(12), fails, tries=10_000, confirm=40)

    assert numbers(result.steps) == {2, 9}
    assert result.runs >= result.failed == 1


def test_a_single_chance_keeps_more_steps_of_a_flaky_failure_but_never_loses_the_guilty_ones():
    left = []
    for seed in range(30):
        luck = random.Random(seed)
        try:
            left.append(numbers(shrink(steps(12), lambda some: {2, 9} <= numbers(some) and luck.random() < 0.5).steps))  # noqa: B023
        except UsageError:
            continue  # it passed at the first try

    assert all({2, 9} <= some for some in left)
    assert max(map(len, left)) > 2


@pytest.mark.parametrize("wrong", [{"tries": 0}, {"confirm": 0}])
def test_no_tries_are_no_shrinking(wrong: dict[str, int]):
    with pytest.raises(UsageError, match="must both be 1 or more"):
        shrink(steps(2), lambda some: True, **wrong)
