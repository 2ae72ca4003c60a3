"""How long ago was the next record written? Against logs whose every record's time is known, and with a count of what was
asked."""

import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lag_monitor.judge.ladder import RUNGS, rungs, seconds_behind
from lag_monitor.sources.times import ask_ladder, refine

NOW = 1_785_000_000.0
Partition = tuple[str, int]


class Brokers:
    """Logs as lists of their records' times, in order; answers as Kafka does, and counts."""

    def __init__(self, **ages: Sequence[float]) -> None:
        """By topic: how old each record is, oldest first."""
        self.times = {(topic, 0): [NOW - age for age in its] for topic, its in ages.items()}
        self.asked: list[list[Partition]] = []
        self.silent: set[Partition] = set()

    def offsets(self, partitions: Sequence[Partition], spec: str | float = "latest") -> dict[Partition, int]:
        assert isinstance(spec, float)
        return self.offsets_at(dict.fromkeys(partitions, spec))

    def offsets_at(self, times: Mapping[Partition, float]) -> dict[Partition, int]:
        self.asked.append(list(times))
        found = {}
        for part, moment in times.items():
            at = bisect_left(self.times[part], moment)
            if part not in self.silent:
                found[part] = at if at < len(self.times[part]) else -1
        return found

    def age(self, topic: str, offset: int) -> float:
        return NOW - self.times[topic, 0][offset]


def even(count: int = 100_000, every: float = 1.0, newest: float = 0.5) -> list[float]:
    return [newest + every * (count - 1 - at) for at in range(count)]


def told(brokers: Brokers, topic: str, positions: Sequence[int], slos: tuple[float, ...] = ()) -> list[float]:
    """What is said of positions, when whoever is furthest back decides what is asked."""
    part, end, ladder = (topic, 0), len(brokers.times[topic, 0]), rungs(slos)
    found = ask_ladder(brokers, [part], np.array([min(positions)]), np.array([end]), ladder, NOW)
    table = np.repeat(found, len(positions), axis=0)
    ends = np.full(len(positions), end, np.int64)
    return seconds_behind(np.array(positions, np.int64), ends, np.array(ladder), table).tolist()


# ---- how far behind -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("behind", [1, 2, 7, 59, 60, 61, 1_000, 5_000, 90_000])
def test_on_an_even_log_it_is_exact_within_a_few_percent(behind):
    brokers = Brokers(orders=even(200_000))
    position = 200_000 - behind

    (seconds,) = told(brokers, "orders", [position])

    assert seconds == pytest.approx(brokers.age("orders", position), rel=0.05, abs=1.0)


def test_positions_of_many_groups_are_told_from_the_same_answers():
    brokers = Brokers(orders=even())
    positions = [99_999, 99_000, 90_000, 50_000, 100_000]

    seconds = told(brokers, "orders", positions)

    assert seconds[-1] == 0.0
    assert seconds[:-1] == pytest.approx([brokers.age("orders", at) for at in positions[:-1]], rel=0.05, abs=1.0)


@pytest.mark.slow
@given(
    st.lists(st.floats(0.01, 900_000), min_size=1, max_size=200).map(lambda ages: sorted(ages, reverse=True)),
    st.floats(0, 1),
)
def test_on_any_log_it_lies_between_the_two_rungs_that_the_record_lies_between(ages, share):
    brokers = Brokers(orders=ages)
    position = int(share * (len(ages) - 1))
    age = brokers.age("orders", position)

    (seconds,) = told(brokers, "orders", [position])

    below = max((rung for rung in RUNGS if rung < age - 1e-3), default=0.0)
    above = min((rung for rung in RUNGS if rung >= age - 1e-3), default=RUNGS[-1])
    assert below <= seconds <= above + 1e-3


def test_bursts_are_told_within_their_bracket():
    chance = random.Random(8)
    ages = sorted((600 * burst + chance.random() for burst in range(100) for _ in range(50)), reverse=True)
    brokers = Brokers(orders=ages)

    for position in range(0, 5_000, 37):
        (seconds,) = told(brokers, "orders", [position])
        age = brokers.age("orders", position)
        assert max((rung for rung in RUNGS if rung < age), default=0) <= seconds
        assert seconds <= min((rung for rung in RUNGS if rung >= age), default=RUNGS[-1])


def test_who_is_at_the_end_or_beyond_is_not_behind():
    assert seconds_behind(np.array([10, 11]), np.array([10, 10]), np.array([1.0]), np.array([[3], [3]])).tolist() == [0, 0]


def test_an_empty_log_has_nobody_behind():
    assert seconds_behind(np.array([0]), np.array([0]), np.array([1.0]), np.array([[-1]])).tolist() == [0.0]


def test_one_record_behind_in_a_log_that_was_last_written_long_ago_is_told_by_its_age():
    brokers = Brokers(orders=[5_000.0])

    (seconds,) = told(brokers, "orders", [0])

    assert 3_600 <= seconds <= 7_200


def test_beyond_the_last_rung_it_is_as_much_as_that_at_least():
    brokers = Brokers(orders=[2_000_000.0, 10.0])

    (seconds,) = told(brokers, "orders", [0])

    assert seconds == pytest.approx(604_800)
    assert seconds > 604_800


def test_where_nothing_was_told_nothing_is_said():
    assert np.isnan(seconds_behind(np.array([0]), np.array([9]), np.array([1.0, 2.0]), np.array([[-1, -1]])))[0]


def test_a_rung_that_was_not_told_is_passed_over():
    ladder, offsets = np.array([10.0, 20.0, 40.0]), np.array([[80, -1, 20]])

    (seconds,) = seconds_behind(np.array([50]), np.array([100]), ladder, offsets).tolist()

    assert seconds == pytest.approx(25.0)  # half way from 10 s to 40 s


@given(st.integers(0, 50), st.lists(st.integers(-1, 60), min_size=3, max_size=3))
def test_whatever_is_told_it_is_never_below_zero(position, offsets):
    (seconds,) = seconds_behind(np.array([position]), np.array([40]), np.array([1.0, 5.0, 60.0]), np.array([offsets]))

    assert np.isnan(seconds) or 0 <= seconds < 60.001


# ---- promises -------------------------------------------------------------------------------------------------------------


def test_there_is_a_rung_at_every_promise():
    assert rungs() == RUNGS
    assert set(rungs((45.0, 60.0, 1e6))) == {*RUNGS, 45.0, 1e6}
    assert list(rungs((45.0, 1e6))) == sorted(rungs((45.0, 1e6)))


@pytest.mark.parametrize("slo", [45.0, 777.0, 1_000_000.0])
@pytest.mark.parametrize("late", [-0.25, 0.25])
def test_whether_a_promise_is_kept_is_no_estimate(slo, late):
    """Just within it and just beyond it, in a log so uneven that an estimate would be far off."""
    brokers = Brokers(orders=[slo + late, *(0.01 for _ in range(1_000))])

    (seconds,) = told(brokers, "orders", [0], (slo,))

    assert (seconds > slo) is (late > 0)


def test_a_promise_beyond_all_rungs_is_broken_by_one_who_is_further_back_than_that():
    brokers = Brokers(orders=[9e6, 1.0])

    (seconds,) = told(brokers, "orders", [0], (1_000_000.0,))

    assert seconds > 1_000_000


# ---- what is asked --------------------------------------------------------------------------------------------------------


def test_when_nobody_is_behind_nothing_is_asked():
    brokers = Brokers(orders=even(100))

    found = ask_ladder(brokers, [("orders", 0)], np.array([100]), np.array([100]), RUNGS, NOW)

    assert brokers.asked == []
    assert (found == -1).all()


def test_asking_ends_at_the_rung_that_whoever_is_furthest_back_is_within():
    brokers = Brokers(orders=even(10_000))

    ask_ladder(brokers, [("orders", 0)], np.array([10_000 - 55]), np.array([10_000]), RUNGS, NOW)

    assert len(brokers.asked) == RUNGS.index(60) + 1


def test_partitions_are_asked_together_and_each_only_as_far_as_it_must():
    brokers = Brokers(near=even(10_000), far=even(10_000), well=even(10))
    parts = [("near", 0), ("far", 0), ("well", 0)]

    ask_ladder(brokers, parts, np.array([9_996, 9_000, 10]), np.array([10_000, 10_000, 10]), RUNGS, NOW)

    assert brokers.asked[0] == [("near", 0), ("far", 0)]
    assert brokers.asked[-1] == [("far", 0)]
    assert len(brokers.asked) == RUNGS.index(1_200) + 1


def test_one_that_does_not_answer_holds_up_nobody():
    brokers = Brokers(mute=even(100), orders=even(100))
    brokers.silent = {("mute", 0)}

    found = ask_ladder(brokers, [("mute", 0), ("orders", 0)], np.array([50, 95]), np.array([100, 100]), RUNGS, NOW)

    assert (found[0] == -1).all()
    assert (found[1] >= 0).any()
    assert len(brokers.asked) == len(RUNGS)


def test_that_nothing_is_so_young_means_that_all_of_it_is_further_back():
    brokers = Brokers(orders=[100.0] * 10)

    found = ask_ladder(brokers, [("orders", 0)], np.array([4]), np.array([10]), (1.0, 60.0, 120.0), NOW)

    assert found.tolist() == [[10, 10, 0]]


# ---- more rungs between two -----------------------------------------------------------------------------------------------


def refined(brokers: Brokers, position: int, slos: tuple[float, ...] = ()) -> float:
    part, ladder = [("orders", 0)], rungs(slos)
    lowest, ends = np.array([position]), np.array([len(brokers.times["orders", 0])])
    asked = ask_ladder(brokers, part, lowest, ends, ladder, NOW)
    rungs_of, offsets = refine(brokers, part, lowest, ends, ladder, asked, NOW)
    return float(seconds_behind(lowest, ends, rungs_of, offsets)[0])


@pytest.mark.slow
@given(
    st.lists(st.floats(0.01, 600_000), min_size=1, max_size=100).map(lambda ages: sorted(ages, reverse=True)),
    st.floats(0, 1),
)
def test_with_more_rungs_any_log_is_told_to_a_sixteenth_of_the_distance(ages, share):
    brokers = Brokers(orders=ages)
    position = int(share * (len(ages) - 1))
    age = brokers.age("orders", position)
    above = min(rung for rung in RUNGS if rung >= age - 1e-3)
    below = max((rung for rung in RUNGS if rung < above), default=0.0)

    assert abs(refined(brokers, position) - age) <= (above - below) / 16 + 2e-3


@pytest.mark.parametrize("late", [-0.25, 0.25])
def test_with_more_rungs_a_promise_is_still_no_estimate(late):
    brokers = Brokers(orders=[777 + late, *(0.01 for _ in range(1_000))])

    assert (refined(brokers, 0, (777.0,)) > 777) is (late > 0)


def test_more_rungs_are_asked_only_where_somebody_is_behind():
    brokers = Brokers(orders=even(100))
    asked = np.full((1, len(RUNGS)), -1, np.int64)

    refine(brokers, [("orders", 0)], np.array([100]), np.array([100]), RUNGS, asked, NOW)

    assert brokers.asked == []


def test_one_that_does_not_answer_between_the_rungs_is_told_as_before():
    brokers = Brokers(orders=even(1_000))
    part, lowest, ends = [("orders", 0)], np.array([900]), np.array([1_000])
    asked = ask_ladder(brokers, part, lowest, ends, RUNGS, NOW)
    brokers.silent = {("orders", 0)}

    rungs_of, offsets = refine(brokers, part, lowest, ends, RUNGS, asked, NOW)

    plain = seconds_behind(lowest, ends, np.array(RUNGS), asked)
    assert seconds_behind(lowest, ends, rungs_of, offsets).tolist() == plain.tolist()
