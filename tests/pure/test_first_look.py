"""The demo's account finds a lost record, and finds none where none is lost."""

from chaos.first_look import account


def acks(*values: int, every: float = 0.1) -> dict[int, list[tuple[float, int]]]:
    return {0: [(number * every, value) for number, value in enumerate(values)]}


def test_an_acknowledged_record_that_nobody_reads_is_lost():
    assert account(acks(1, 2, 3), [1, 3], killed=1, new_leader=2, elected_after=8.0).lost == {2}


def test_a_record_that_was_never_acknowledged_is_not_missed():
    assert account(acks(1), [1, 7], killed=1, new_leader=2, elected_after=8.0).lost == frozenset()


def test_the_longest_gap_is_told_per_partition():
    found = account(
        {0: [(0.0, 1), (9.0, 2), (9.1, 3)], 1: [(0.0, 4), (0.5, 5)]},
        [1, 2, 3, 4, 5],
        killed=1,
        new_leader=2,
        elected_after=8.0,
    )

    assert found.longest_gap == {0: 9.0, 1: 0.5}
