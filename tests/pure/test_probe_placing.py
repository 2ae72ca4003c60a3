"""One partition for each broker, as brokers come, go down, come back, and leave for good."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.probe.placing import Moves, home, moves, replicas
from kernel.cluster import PartitionState


def part(number: int, *holders: int, leader: int | None = 0, isr: tuple[int, ...] | None = None) -> PartitionState:
    """Led by its first holder and in sync with all, unless told otherwise."""
    led_by = holders[0] if leader == 0 else leader
    return PartitionState("probe", number, led_by, 0, holders, frozenset(isr if isr is not None else holders))


def test_a_new_topic_has_a_partition_for_every_broker():
    assert moves([], {1, 2, 3}, set(), 3) == Moves(create=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])


def test_where_everything_is_in_its_place_nothing_is_moved():
    assert not moves([part(0, 1, 2), part(1, 2, 3), part(2, 3, 1)], {1, 2, 3}, set(), 2)


def test_a_new_broker_gets_a_partition():
    assert moves([part(0, 1, 2), part(1, 2, 1)], {1, 2, 3}, set(), 2) == Moves(create=[[3, 1]])


def test_a_broker_that_is_down_keeps_its_partition():
    down = part(2, 3, 1, leader=1, isr=(1,))

    assert not moves([part(0, 1, 2), part(1, 2, 3, isr=(2,)), down], {1, 2}, set(), 2)


def test_a_broker_that_is_back_leads_its_partition_again():
    back = part(2, 3, 1, leader=1, isr=(1, 3))

    assert moves([part(0, 1, 2), part(1, 2, 3), back], {1, 2, 3}, set(), 2) == Moves(elect=[2])


def test_one_that_is_not_in_the_isr_yet_is_not_elected():
    assert not moves([part(0, 1, 2, leader=2, isr=(2,)), part(1, 2, 1)], {1, 2}, set(), 2)


def test_a_new_broker_takes_over_from_one_that_is_gone_for_good():
    found = moves([part(0, 1, 2), part(1, 2, 3), part(2, 3, 1, leader=1)], {1, 2, 4}, {3}, 2)

    assert found == Moves(reassign={1: [2, 4], 2: [4, 1]})


def test_a_partition_too_many_lives_on_where_it_can_be_written():
    found = moves([part(0, 1, 2), part(1, 2, 3), part(2, 3, 1, leader=1)], {1, 2}, {3}, 2)

    assert found.create == []
    assert found.reassign == {1: [2, 1], 2: [1, 2]}


def test_a_partition_with_too_few_copies_is_given_more_before_others_are_made():
    """Kafka refuses new partitions that have more copies than the ones that are there."""
    by_hand = part(0, 3)

    assert moves([by_hand], {1, 2, 3}, set(), 3) == Moves(reassign={0: [3, 1, 2]})
    assert moves([part(0, 3, 1, 2)], {1, 2, 3}, set(), 3) == Moves(create=[[1, 2, 3], [2, 3, 1]])


def test_copies_are_not_taken_away_and_new_partitions_have_as_many():
    assert moves([part(0, 1, 2, 3)], {1, 2, 3}, set(), 1) == Moves(create=[[2, 3, 1], [3, 1, 2]])


def test_while_its_broker_is_down_a_partition_is_left_as_it_is():
    assert not moves([part(0, 1), part(1, 2, leader=None, isr=())], {1}, set(), 1)


def test_a_partition_whose_copies_are_all_gone_stays_where_it_is_for_there_is_nothing_to_move():
    assert not moves([part(0, 1), part(1, 2, leader=None, isr=())], {1}, {2}, 1)


def test_without_brokers_nothing_can_be_said():
    assert not moves([part(0, 1)], set(), set(), 1)


def test_followers_are_spread_as_leaders_are():
    assert [replicas(first, [1, 2, 3, 4], 3) for first in (1, 2, 3, 4)] == [[1, 2, 3], [2, 3, 4], [3, 4, 1], [4, 1, 2]]


@pytest.mark.slow
@given(st.sets(st.integers(1, 6), min_size=1), st.lists(st.tuples(st.booleans(), st.integers(1, 6)), max_size=12))
def test_it_settles_and_then_every_broker_has_its_partition(alive: set[int], story: list[tuple[bool, int]]):
    partitions: list[PartitionState] = []
    for arrives, broker in [(True, 0), *story]:
        if broker:
            alive = alive | {broker} if arrives else alive - {broker} or alive
        gone = set(range(1, 7)) - alive
        for _ in range(6):
            wanted = moves(partitions, alive, gone, 2)
            if not wanted:
                break
            partitions = [
                part(state.partition, *wanted.reassign.get(state.partition, state.replicas)) for state in partitions
            ] + [part(len(partitions) + n, *new) for n, new in enumerate(wanted.create)]
        assert not moves(partitions, alive, gone, 2)
        assert {home(state) for state in partitions} >= alive
        assert all(set(state.replicas) <= alive for state in partitions)
        assert all(len(state.replicas) == min(2, len(alive)) for state in partitions)
