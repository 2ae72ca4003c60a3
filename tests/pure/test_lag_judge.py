"""Our own verdicts, each with its quiet twin: what must be told, and what looks like it and must not be."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lag_monitor.judge.settings import Patience
from lag_monitor.judge.trend import growing, slope
from lag_monitor.judge.words import records, span
from lag_monitor.store.windows import UNPROVED
from lag_monitor.verdict import Gravity, Status
from tests.pure.lag_world import FIRST, NOW, SECOND, Log, World

ALARMS = {status for status in Status if status.gravity is Gravity.ERROR}


def keeping_up(world: World, behind: int = 0) -> None:
    """One tick of a consumer that is fine."""
    world.produce(100)
    world.commit(world.end() - behind)


def fine(**options: object) -> World:
    """A group with a member, well for two minutes."""
    world = World(**options)  # type: ignore[arg-type]
    world.commit(0)
    world.join()
    world.run(12, lambda: keeping_up(world))
    return world


# ---- OK and WARMING_UP ----------------------------------------------------------------------------------------------------


def test_a_consumer_at_the_end_is_ok():
    world = fine()

    assert set(world.told) == {Status.OK}
    assert world.reason() == "at the end"
    assert (world.verdict().lag, world.verdict().seconds) == (0, 0.0)


def test_a_consumer_a_little_behind_that_gets_on_is_ok_and_says_how_far():
    world = fine()
    world.run(12, lambda: keeping_up(world, behind=100))

    assert set(world.told) == {Status.OK}
    assert world.reason() == "100 records behind (0 s), and getting on"


def test_a_consumer_found_far_behind_is_warming_up_until_it_was_looked_at_often_enough():
    world = World()
    world.produce(10_000)
    world.now += 600
    world.commit(10)
    world.join()

    world.run(3, lambda: world.commit(10 + int(world.now - NOW)))
    assert set(world.told) == {Status.WARMING_UP}
    assert "looked at 3 times, too few to tell where it is going" in world.reason()

    world.run(4, lambda: world.commit(10 + int(world.now - NOW)))
    assert world.status() is Status.OK


def test_a_consumer_found_far_behind_that_never_moves_is_at_no_time_called_well():
    """Of a group whose earlier commits nobody told us, the first that is said must not close what is open."""
    world = World(reads_topic=False)
    world.produce(10_000)
    world.now += 600
    world.commit(10)
    world.join()

    world.run(40)

    assert list(dict.fromkeys(world.told)) == [Status.WARMING_UP, Status.STALLED]


def test_one_that_moves_is_well_as_soon_as_it_was_looked_at_often_enough():
    world = World(reads_topic=False)
    world.produce(10_000)
    world.now += 600
    world.commit(10)
    world.join()

    world.run(10, lambda: world.commit(10 + int(world.now - NOW)))

    assert list(dict.fromkeys(world.told)) == [Status.WARMING_UP, Status.OK]


def test_a_consumer_found_at_the_end_does_not_warm_up():
    world = World()
    world.produce(10)
    world.commit(10)
    world.run(1)

    assert world.told == [Status.OK]


# ---- SLOW -----------------------------------------------------------------------------------------------------------------


def falling_behind(world: World, lags: list[int]) -> None:
    for lag in lags:
        world.now += 10
        world.produce(1_000)
        world.commit(max(0, world.end() - lag))
        world.look()


def loaded() -> World:
    """A log of many records, and a consumer near its end."""
    world = World()
    for _ in range(100):
        world.now += 10
        world.produce(1_000)
    world.commit(world.end())
    world.join()
    return world


def test_lag_that_grows_is_slow():
    world = loaded()
    falling_behind(world, list(range(2_000, 26_000, 2_000)))

    assert world.status() is Status.SLOW
    assert world.reason() == "24,000 records behind (3 min 50 s), growing by 200.0 records a second"
    assert world.verdict().evidence["growth_per_second"] == 200.0


@pytest.mark.parametrize("dip", range(11))
def test_lag_that_grows_with_one_dip_is_slow(dip):
    lags = list(range(4_000, 28_000, 2_000))
    lags[dip] -= 2_001
    world = loaded()
    falling_behind(world, lags)

    assert world.status() is Status.SLOW


@pytest.mark.parametrize("zero", range(11))
def test_lag_that_grows_with_one_zero_is_slow(zero):
    lags = list(range(4_000, 28_000, 2_000))
    lags[zero] = 0
    world = loaded()
    falling_behind(world, lags)

    assert world.status() is Status.SLOW


def test_lag_that_stays_is_not_slow():
    world = loaded()
    falling_behind(world, [20_000] * 24)

    assert world.status() is Status.OK


def test_lag_that_shrinks_is_not_slow():
    world = loaded()
    falling_behind(world, list(range(40_000, 10_000, -1_500)))

    assert world.status() is Status.OK


@pytest.mark.parametrize("seed", range(3))
def test_lag_that_goes_up_and_down_with_chance_is_hardly_ever_slow(seed):
    chance, world = random.Random(seed), loaded()
    falling_behind(world, [20_000 + chance.randint(-400, 400) for _ in range(100)])

    assert world.told.count(Status.SLOW) <= 2


@pytest.mark.parametrize("looks", range(6, 13))
def test_of_many_partitions_whose_lag_only_trembles_hardly_one_is_called_slow(looks):
    trembling = np.full((20_000, 12), np.nan, np.float32)
    trembling[:, -looks:] = np.random.default_rng(looks).normal(20_000, 300, (20_000, looks))

    assert np.count_nonzero(growing(trembling)) <= 80


@pytest.mark.parametrize("period", [4, 8, 12, 20])
def test_a_batch_consumer_whose_lag_is_a_sawtooth_is_not_slow(period):
    world = loaded()
    falling_behind(world, [20_000] * 12)
    world.told.clear()
    for at in range(5 * period):
        world.now += 10
        world.produce(1_000)
        if at % period == period - 1:
            world.commit(world.end())
        world.look()

    assert not {Status.SLOW, *ALARMS} & set(world.told[2 * period :])


def test_lag_that_grows_within_a_few_seconds_of_the_end_is_not_slow():
    world = fine()
    world.run(20, lambda: (world.produce(100), world.commit(world.end() - min(99, len(world.told)))))

    assert Status.SLOW not in world.told


def test_a_consumer_that_recovers_is_not_slow_any_more():
    world = loaded()
    falling_behind(world, list(range(2_000, 26_000, 2_000)))
    falling_behind(world, list(range(24_000, 0, -4_000)))

    assert world.status() is Status.OK


def test_growth_is_told_by_all_pairs_and_not_by_too_few():
    rising = np.array([[np.nan] * 6 + [1, 2, 3, 4, 5, 6], [np.nan] * 7 + [1, 2, 3, 4, 5]], np.float32)

    assert growing(rising).tolist() == [True, False]
    assert growing(np.zeros((1, 12), np.float32)).tolist() == [False]


def test_the_slope_passes_over_what_was_not_seen_and_over_one_that_is_far_off():
    samples = np.array([[0, 10, np.nan, 30, 4_000, 50]], np.float32)

    assert slope(samples, np.arange(0.0, 60, 10)).tolist() == [1.0]


# ---- STALLED and STOPPED --------------------------------------------------------------------------------------------------


def test_a_member_that_does_not_get_on_is_stalled_and_named():
    world = fine()
    world.run(8, lambda: world.produce(100))

    assert world.told[-1] is Status.STALLED
    assert set(world.told[:-1]) == {Status.OK}, "it does not move at all, so it is not slow either"
    assert world.reason() == "800 records behind (1 min 10 s); billing-1 at 10.0.0.7 has not got on for 1 min 10 s"


def test_a_member_that_commits_the_same_again_and_again_is_stalled():
    world = fine()
    stuck_at = world.end()
    world.run(8, lambda: (world.produce(100), world.commit(stuck_at)))

    assert world.status() is Status.STALLED


def test_one_that_commits_the_same_again_without_being_a_member_is_stalled_and_nobody_is_called_a_member():
    world = World()
    world.commit(0)
    world.leave()
    world.run(12, lambda: keeping_up(world))
    stuck_at = world.end()
    world.run(8, lambda: (world.produce(100), world.commit(stuck_at)))

    assert world.status() is Status.STALLED
    assert "member" not in world.reason()
    assert "commits the same offset again and again" in world.reason()


def test_a_member_of_a_kind_whose_partitions_are_not_known_is_stalled():
    world = fine()
    world.join(kind="streams")
    world.run(8, lambda: world.produce(100))

    assert world.status() is Status.STALLED


def test_a_member_that_pauses_for_less_than_its_patience_is_not_stalled():
    world = fine()
    for _ in range(5):
        world.run(5, lambda: world.produce(100))
        world.run(1, lambda: keeping_up(world))

    assert not ALARMS & set(world.told)


def test_a_group_without_members_that_is_behind_has_stopped():
    world = fine()
    world.leave()
    world.run(8, lambda: world.produce(100))

    assert world.told[-1] is Status.STOPPED
    assert world.told[-2] is not Status.STOPPED
    assert world.reason() == (
        "800 records behind (1 min 10 s); the group has no members, and the last commit was 1 min 20 s ago"
    )


def test_a_group_without_members_at_the_end_has_not_stopped():
    world = fine()
    world.leave()
    world.run(100)

    assert set(world.told) == {Status.OK}


def test_a_partition_that_no_member_has_is_stopped_and_its_neighbour_is_not():
    world = World(2)
    for partition in range(2):
        world.commit(0, partition)
    world.join(0, 1)

    def both() -> None:
        for partition in range(2):
            world.produce(100, partition)
            world.commit(world.end(partition), partition)

    world.run(12, both)
    world.join(1)
    world.run(8, lambda: (world.produce(100, 0), world.produce(100, 1), world.commit(world.end(1), 1)))

    assert (world.status(0), world.status(1)) == (Status.STOPPED, Status.OK)
    assert "no member has this partition" in world.reason(0)
    assert world.group().reason.startswith("1 of 2 partitions; orders-0: 800 records behind")


@pytest.mark.slow
def test_a_slow_committer_is_not_stopped_after_a_minute_once_its_pauses_are_known():
    world = World()
    world.commit(0)
    world.join()
    for _ in range(6):
        world.run(29, lambda: world.produce(100))
        world.run(1, lambda: keeping_up(world))
    world.told.clear()
    world.leave()
    world.run(30, lambda: world.produce(100))

    assert not ALARMS & set(world.told)


@pytest.mark.slow
def test_a_slow_committer_that_died_is_told_in_the_end_and_with_its_pause():
    world = World()
    world.commit(0)
    world.join()
    for _ in range(6):
        world.run(29, lambda: world.produce(100))
        world.run(1, lambda: keeping_up(world))
    world.leave()
    world.run(100, lambda: world.produce(100))

    assert world.status() is Status.STOPPED
    assert world.reason().endswith("(its longest pause of late was 4 min 50 s)")


def test_a_slow_committers_pauses_are_known_from_commits_made_before_we_began():
    world = World()
    for at in range(6):
        world.produce(100)
        world.commit(100 * at, made=NOW - 2_000 + 300 * at)
    world.produce(50)
    world.now = NOW - 2_000 + 300 * 5 + 200
    world.store.began = world.now - 1e6
    world.leave()
    world.look()

    assert not ALARMS & set(world.told)


def test_of_a_dead_group_that_we_meet_it_is_known_at_once_that_it_has_stopped():
    world = World()
    for at in range(6):
        world.produce(100, written=NOW - 1_100)
        world.commit(100 * at, made=NOW - 1_000 + 10 * at)
    world.leave()
    world.run(1)

    assert world.told == [Status.STOPPED]


def test_a_member_that_we_never_saw_move_has_more_time():
    world = World()
    world.produce(1_000)
    world.commit(10)
    world.join()
    world.run(30)
    assert not ALARMS & set(world.told)

    world.run(10)
    assert world.status() is Status.STALLED


@pytest.mark.slow
def test_a_consumer_idle_for_an_hour_is_not_stopped_by_the_next_record():
    world = fine()
    world.run(360)
    world.produce(1)
    world.run(5)

    assert set(world.told) == {Status.OK}

    world.run(3)
    assert world.status() is Status.STALLED


@pytest.mark.slow
@pytest.mark.parametrize("member", [True, False])
def test_a_record_that_carries_an_old_time_does_not_make_a_consumer_at_the_end_look_dead(member):
    """Mirrored and refilled topics keep the times of their records."""
    world = fine()
    world.run(360)
    if not member:
        world.leave()
    world.produce(1, written=world.now - 86_400)
    world.run(3)

    assert not ALARMS & set(world.told)

    world.run(6)
    assert world.status() in ALARMS


def test_without_known_times_one_that_stands_is_told_all_the_same():
    world = fine(time_known=False)
    world.leave()
    world.run(8, lambda: world.produce(100))

    assert world.status() is Status.STOPPED
    assert world.reason().startswith("800 records behind; the group has no members")


def test_without_the_topic_of_commits_one_that_stands_is_stalled_and_one_that_moves_is_not():
    world = fine(reads_topic=False)
    assert set(world.told) == {Status.OK}

    world.run(8, lambda: world.produce(100))
    assert world.status() is Status.STALLED


def test_a_group_between_two_assignments_keeps_who_it_had():
    world = fine()
    world.join(state="PreparingRebalance")
    world.run(8, lambda: world.produce(100))

    assert world.status() is Status.STALLED
    assert "billing-1 at 10.0.0.7" in world.reason()


# ---- REWOUND --------------------------------------------------------------------------------------------------------------


def test_one_that_went_back_is_rewound_until_it_has_come_again_to_where_it_was():
    world = fine()
    peak = world.end()
    world.produce(1)
    world.run(1, lambda: world.commit(200))
    went_back = world.now
    assert world.status() is Status.REWOUND
    assert world.reason().startswith(f"went back from {peak} at 17:22:10 UTC and is at 200 now; 1,001 records behind")
    assert world.verdict().evidence["committed_before"] == peak
    assert went_back == NOW + 130

    world.run(9, lambda: world.commit((world.verdict().committed or 0) + 100))
    assert world.status() is Status.REWOUND

    world.run(1, lambda: world.commit(peak))
    assert world.status() is Status.OK


def test_a_second_way_back_is_seen_too_although_the_first_was_made_good():
    world = fine()
    peak = world.end()
    world.run(1, lambda: world.commit(200))
    world.run(1, lambda: world.commit(peak))
    assert world.status() is Status.OK

    world.run(1, lambda: (world.produce(1), world.commit(300)))
    assert world.status() is Status.REWOUND


def test_going_back_twice_without_coming_again_counts_from_the_highest():
    world = fine()
    peak = world.end()
    world.run(1, lambda: world.commit(800))
    world.run(1, lambda: world.commit(200))
    world.run(1, lambda: world.commit(900))

    assert world.status() is Status.REWOUND
    assert f"went back from {peak}" in world.reason()


def test_one_that_was_set_forward_is_ok():
    world = fine()
    world.produce(10_000)
    world.run(1)
    world.run(1, lambda: world.commit(world.end()))

    assert world.status() is Status.OK


def test_one_that_went_back_and_then_stands_is_stalled_in_the_end():
    world = fine()
    world.run(1, lambda: world.commit(200))
    world.run(10)

    assert world.status() is Status.STALLED


# ---- EMPTY_GROUP and ABANDONED_TOPIC --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_group_left_for_a_day_is_empty_and_no_alarm():
    world = fine(patience=Patience(interval=600))
    world.leave()
    world.run(1, lambda: world.produce(100))
    world.run(143, every=600)
    assert world.status() is Status.STOPPED

    world.run(7, every=600)
    assert world.status() is Status.EMPTY_GROUP
    assert world.reason().endswith("; the group has no members, and has not committed for 1 d 1 h")
    assert world.group().status is Status.EMPTY_GROUP


@pytest.mark.slow
def test_a_group_with_a_member_is_not_empty_however_long_it_stands():
    world = fine(patience=Patience(interval=600))
    world.run(1, lambda: world.produce(100))
    world.run(200, every=600)

    assert world.status() is Status.STALLED


def test_a_group_without_members_that_read_everything_is_empty_and_says_so():
    world = fine()
    world.leave()
    world.run(8)

    assert world.group().status is Status.EMPTY_GROUP
    assert world.group().reason == "no members; everything there is has been read"


def test_a_group_without_members_and_without_commits_has_not_read_everything():
    world = World()
    world.leave()
    world.run(1)

    assert world.group().status is Status.EMPTY_GROUP
    assert world.group().reason == "no members, and nothing is committed"


def test_a_group_without_members_that_commits_is_not_empty():
    world = World()
    world.commit(0)
    world.leave()
    world.run(20, lambda: keeping_up(world))

    assert world.group().status is Status.OK
    assert world.group().reason == "at the end of every partition"


def test_commits_of_a_topic_that_is_gone_are_abandoned_and_keep_its_name():
    world = fine()
    world.delete_topic()
    world.run(2)

    assert world.status() is Status.ABANDONED_TOPIC
    assert world.reason() == "the topic is gone; what was committed for it is all that is left"


@pytest.mark.slow
def test_a_topic_that_is_gone_is_spoken_of_for_an_hour():
    world = fine()
    world.delete_topic()
    world.run(2)
    world.store.forget_gone(world.now - world.patience.forget)
    assert world.group().status is Status.ABANDONED_TOPIC

    world.run(361)
    world.store.forget_gone(world.now - world.patience.forget)
    world.look()
    assert world.verdicts() == {}


def test_a_topic_that_no_member_reads_any_more_is_abandoned():
    world = fine()
    world.join(topic="other")
    world.run(8, lambda: world.produce(100))

    assert world.status() is Status.ABANDONED_TOPIC
    assert world.reason() == "no member of the group reads this topic any more; the last move was 1 min 20 s ago"


def test_a_topic_that_somebody_commits_for_without_being_assigned_is_not_abandoned():
    world = fine()
    world.join(topic="other")
    world.run(20, lambda: keeping_up(world))

    assert set(world.told) == {Status.OK}


@pytest.mark.slow
@pytest.mark.parametrize("left", ["by its members", "by everybody"])
def test_what_nobody_reads_any_more_loses_nothing_when_its_records_are_deleted(left):
    world = fine(patience=Patience(interval=600))
    if left == "by its members":
        world.join(topic="other")
        world.run(8)
    else:
        world.leave()
        world.produce(100)
        world.run(150, every=600)
    world.produce(1_000)
    world.logs["orders", 0].start = world.end()
    world.run(1)

    assert world.status() is (Status.ABANDONED_TOPIC if left == "by its members" else Status.EMPTY_GROUP)


# ---- TOPIC_RECREATED and DATA_LOSS ----------------------------------------------------------------------------------------


def test_a_commit_for_an_earlier_topic_of_the_same_name_is_told_by_the_ids():
    world = fine(topic_id=FIRST)
    world.recreate(SECOND)
    world.produce(5_000)
    world.run(1)

    assert world.status() is Status.TOPIC_RECREATED
    assert world.reason() == "the commit 1200 was made for an earlier topic of this name; this one ends at 5000"


def test_one_that_commits_for_the_new_topic_is_ok_and_has_not_gone_back():
    world = fine(topic_id=FIRST)
    world.recreate(SECOND)
    world.produce(5_000)
    world.run(1)
    world.run(1, lambda: world.commit(10))

    assert world.status() in (Status.OK, Status.WARMING_UP)

    world.run(12, lambda: world.commit((world.verdict().committed or 0) + 200))
    assert world.status() is Status.OK


def test_without_ids_a_commit_beyond_the_end_says_that_the_topic_was_made_anew():
    world = fine()
    world.recreate()
    world.produce(7)
    world.run(1)

    assert world.status() is Status.TOPIC_RECREATED
    assert world.reason() == "the commit 1200 lies beyond the end 7: the topic was made anew, or its log was cut"


def test_a_commit_at_the_very_end_says_nothing_of_the_kind():
    world = fine(topic_id=FIRST)

    assert set(world.told) == {Status.OK}


def test_a_commit_that_came_after_the_end_was_asked_says_nothing_of_the_topic():
    """Commits are read all the time, ends are asked every ten seconds: one at the end is often beyond what we know."""
    world = fine()
    world.now += 10
    keeping_up(world)
    world.look(sees_ends=False)
    assert world.status() is Status.OK

    world.run(3, lambda: keeping_up(world))
    assert set(world.told) == {Status.OK}


def test_a_log_that_was_cut_below_a_commit_of_the_same_topic_has_lost_data():
    world = fine(topic_id=FIRST)
    world.logs["orders", 0].end = 1_000
    world.run(1)

    assert world.status() is Status.DATA_LOSS
    assert world.reason() == "the log was cut back to 1000, and 1200 was committed"


def test_records_deleted_before_they_were_read_are_lost():
    world = fine()
    world.produce(1_000)
    world.logs["orders", 0].start = 1_500
    world.run(1)

    assert world.status() is Status.DATA_LOSS
    assert world.reason() == "300 records deleted before being read: committed 1200, the log begins at 1500"


def test_records_deleted_after_they_were_read_are_not_lost():
    world = fine()
    world.produce(1_000)
    world.logs["orders", 0].start = 1_200
    world.run(1)

    assert world.status() is Status.OK


def test_the_loss_of_one_record_is_told_in_the_singular():
    world = fine()
    world.produce(2)
    world.logs["orders", 0].start = 1_201
    world.run(1)

    assert world.reason().startswith("1 record deleted before being read")


# ---- NEVER_COMMITTED ------------------------------------------------------------------------------------------------------


def test_a_member_that_never_commits_what_comes_is_told():
    world = World()
    world.join()
    world.run(40, lambda: world.produce(10))

    assert world.status() is Status.NEVER_COMMITTED
    assert world.reason() == "a member has this partition, 390 records have come since, and no commit was ever made"
    assert world.verdict().committed is None
    assert world.told[:25] == [Status.OK] * 25


def test_of_a_member_with_one_record_to_read_it_is_told_in_the_singular():
    world = World()
    world.join()
    world.run(1)
    world.produce(1)
    world.run(40)

    assert "1 record has come since" in world.reason()


def test_a_member_that_began_at_the_end_with_nothing_new_is_ok():
    world = World()
    world.produce(10_000)
    world.join()
    world.run(100)

    assert set(world.told) == {Status.OK}
    assert world.reason() == "nothing is committed yet, and nothing has come since a member has this partition"


def test_a_member_that_commits_in_the_end_is_ok():
    world = World()
    world.join()
    world.run(40, lambda: world.produce(10))
    world.run(3, lambda: keeping_up(world))

    assert world.status() is Status.OK


def test_a_member_whose_commit_was_deleted_is_not_said_to_be_behind_by_the_whole_log():
    world = fine()
    world.run(1, lambda: world.produce(10))
    world.nothing_to_read(world.end() - 5)
    world.run(1)
    assert world.verdict().lag == 5

    world.withdraw()
    world.run(40)

    assert world.status() is Status.OK

    world.run(40, lambda: world.produce(1))
    assert world.status() is Status.NEVER_COMMITTED
    assert world.verdict().lag == 40


# ---- transactions ---------------------------------------------------------------------------------------------------------


def waiting(looks: int, world: World | None = None) -> World:
    """At the last stable offset, with a transaction open beyond it."""
    world = world or fine()
    world.logs["orders", 0].stable = world.end()
    world.run(looks, lambda: world.produce(100))
    return world


def test_one_that_waits_for_a_transaction_is_told_what_it_waits_for():
    world = waiting(8)

    assert world.status() is Status.STUCK_TRANSACTION
    assert world.reason() == (
        "waits for a transaction: the last stable offset has been 1200 for 1 min 10 s, with 800 offsets beyond it"
    )


def test_a_transaction_of_less_than_a_minute_is_nothing_to_tell():
    assert waiting(6).status() is Status.OK


def test_when_the_transaction_ends_it_is_over():
    world = waiting(10)
    world.logs["orders", 0].stable = None
    world.run(1, lambda: world.commit(world.end()))

    assert world.status() is Status.OK


def test_many_short_transactions_are_not_one_long_one():
    world = fine()

    def step() -> None:
        world.logs["orders", 0].stable = world.end()
        world.commit(world.end())
        world.produce(100)

    world.run(30, step)

    assert not ALARMS & set(world.told)


def test_a_reader_of_uncommitted_records_does_not_wait():
    world = fine()
    world.logs["orders", 0].stable = world.end()
    world.run(20, lambda: keeping_up(world))

    assert set(world.told) == {Status.OK}


def test_a_transaction_that_began_while_nobody_looked_has_not_been_open_for_all_that_time():
    world = fine()
    world.run(60, sees=False)
    world.logs["orders", 0].stable = world.end()
    world.produce(5)
    world.run(3)

    assert not ALARMS & set(world.told)

    world.run(6)
    assert world.status() is Status.STUCK_TRANSACTION


@pytest.mark.parametrize("seen_to_wait", [0, 1])
def test_a_last_stable_offset_that_was_not_told_does_not_stand_still(seen_to_wait):
    """The ends are told and the rest of the answers fail: old figures must not look like a transaction without end."""
    world = waiting(seen_to_wait)
    for _ in range(20):
        world.now += 10
        world.produce(100)
        world.look(sees_bounds=False)

    assert Status.STUCK_TRANSACTION not in world.told


def test_a_consumer_that_reads_exactly_once_is_ok_once_it_is_known_that_only_a_marker_follows():
    world = fine()
    world.produce(1)
    world.run(1)
    world.nothing_to_read(world.end())
    world.run(60)

    assert world.status() is Status.OK
    assert world.verdict().lag == 0
    assert world.reason() == "at the end: what follows the commit is transaction markers or was compacted away"


def test_what_comes_after_the_marker_counts_again():
    world = fine()
    world.produce(1)
    world.run(1)
    world.nothing_to_read(world.end())
    world.run(60)
    world.produce(3)
    world.run(8)

    assert world.verdict().lag == 3
    assert world.status() is Status.STALLED


def test_what_was_known_of_markers_holds_only_for_that_commit():
    world = fine()
    world.produce(10)
    world.run(1)
    world.nothing_to_read(world.end())
    world.run(2)
    world.run(1, lambda: world.commit(world.end() - 5))

    assert world.verdict().lag == 5


def test_what_was_known_of_markers_does_not_hide_how_far_back_one_went():
    world = fine()
    world.produce(1)
    world.run(1)
    world.nothing_to_read(world.end())
    world.run(2)
    world.run(1, lambda: world.commit(200))

    assert (world.verdict().lag, world.verdict().seconds) == (1_001, 130.0)


def test_where_the_monitor_may_not_look_it_says_so_instead_of_an_alarm():
    world = fine()
    world.produce(1)
    world.store.windows.flags[world.row()] |= np.uint8(UNPROVED)
    world.run(10)

    assert world.status() is Status.UNKNOWN
    assert "1 record behind" in world.reason()
    assert "may not read the topic" in world.reason()


# ---- BEHIND_SLO -----------------------------------------------------------------------------------------------------------


def promised(seconds: float, behind_ticks: int) -> World:
    world = fine()
    world.store.groups["billing"].slo = seconds
    world.run(20, lambda: keeping_up(world, behind=100 * behind_ticks))
    return world


def test_one_that_is_further_behind_than_promised_is_told():
    world = promised(60, behind_ticks=8)

    assert world.status() is Status.BEHIND_SLO
    assert world.reason() == "800 records behind (1 min 10 s); at most 1 min were promised"
    assert world.verdict().evidence["slo_seconds"] == 60.0
    assert world.group().slo == 60.0


@pytest.mark.parametrize("seconds", [70, 120, 0])
def test_one_that_keeps_its_promise_or_made_none_is_ok(seconds):
    assert promised(seconds, behind_ticks=8).status() is Status.OK


# ---- blindness ------------------------------------------------------------------------------------------------------------


def test_while_the_monitor_cannot_see_it_says_so_and_nothing_else():
    world = fine()
    world.run(10, lambda: keeping_up(world), sees=False)

    assert world.status() is Status.UNKNOWN
    assert world.reason() == "the monitor has no fresh figures: nothing is said until it has"
    assert not ALARMS & set(world.told)


@pytest.mark.parametrize("behind", [0, 100])
def test_a_consumer_that_was_fine_while_the_monitor_was_blind_is_fine_after(behind):
    world = fine()
    world.run(60, lambda: keeping_up(world, behind), sees=False)
    world.run(10, lambda: keeping_up(world, behind))

    assert set(world.told) == {Status.OK, Status.UNKNOWN}
    assert set(world.told[-10:]) == {Status.OK}


@pytest.mark.slow
@pytest.mark.parametrize("before", ["at the end", "idle for an hour", "a little behind"])
@pytest.mark.parametrize("member", [True, False])
def test_a_consumer_that_died_while_the_monitor_was_blind_is_told_but_not_at_once(before, member):
    world = fine()
    if before == "idle for an hour":
        world.run(360)
    elif before == "a little behind":
        world.run(6, lambda: keeping_up(world, behind=100))
    if not member:
        world.leave()
    world.told.clear()
    world.run(60, lambda: world.produce(100), sees=False)
    world.run(3, lambda: world.produce(100))
    assert not ALARMS & set(world.told)

    world.run(10, lambda: world.produce(100))
    assert world.status() is (Status.STALLED if member else Status.STOPPED)


def test_one_that_was_stopped_before_the_monitor_went_blind_is_stopped_after():
    world = fine()
    world.leave()
    world.run(20, lambda: world.produce(100))
    world.run(60, lambda: world.produce(100), sees=False)
    world.run(1)

    assert world.status() is Status.STOPPED


def test_a_partition_whose_end_alone_is_not_told_is_unknown():
    world = fine()
    for _ in range(10):
        world.now += 10
        keeping_up(world)
        world.look(sees_ends=False)

    assert world.status() is Status.UNKNOWN


def test_two_looks_that_failed_are_no_blindness():
    world = fine()
    world.run(2, lambda: keeping_up(world), sees=False)
    world.run(2, lambda: keeping_up(world))

    assert set(world.told) == {Status.OK}


def test_a_blind_spell_leaves_holes_in_the_samples_and_not_zeros():
    world = fine()
    world.run(6, lambda: keeping_up(world), sees=False)

    assert len(world.verdict().samples) < 12
    assert all(not math.isnan(lag) for _, lag in world.verdict().samples)


# ---- the clock ------------------------------------------------------------------------------------------------------------


def scenes() -> dict[str, World]:
    """A world for every status that rests on time."""
    slow = loaded()
    falling_behind(slow, list(range(2_000, 26_000, 2_000)))
    stalled, stopped, rewound, gone, unread = fine(), fine(), fine(), fine(), fine()
    stopped.leave()
    for world in (stalled, stopped):
        world.run(9, lambda world=world: world.produce(100))
    rewound.run(1, lambda: rewound.commit(200))
    gone.delete_topic()
    gone.run(1)
    unread.join(topic="other")
    unread.run(9)
    recommitting = fine()
    recommitting.leave()
    at = recommitting.end()
    recommitting.run(9, lambda: (recommitting.produce(100), recommitting.commit(at)))
    return {
        "fine": fine(),
        "slow": slow,
        "stalled": stalled,
        "stopped": stopped,
        "rewound": rewound,
        "waiting": waiting(9),
        "gone": gone,
        "unread": unread,
        "recommitting": recommitting,
    }


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [3_600.0, -3_600.0])
@pytest.mark.parametrize("scene", scenes().keys())
def test_a_clock_that_is_set_by_an_hour_changes_no_verdict(scene, seconds):
    world = scenes()[scene]
    before, since = world.status(), world.verdict().since - world.now
    world.clock_set(seconds)
    if scene == "fine":
        world.run(3, lambda: keeping_up(world))
    else:
        world.store.forget_gone(world.now - world.patience.forget)
        world.look()

    assert world.status() is before
    if scene != "fine":
        assert world.verdict().since - world.now == pytest.approx(since)


def test_after_the_clock_was_set_a_consumer_that_dies_is_told_as_soon_as_ever():
    world = fine()
    world.clock_set(-3_600.0)
    world.leave()
    world.run(6, lambda: world.produce(100))
    assert not ALARMS & set(world.told)

    world.run(2, lambda: world.produce(100))
    assert world.status() is Status.STOPPED


# ---- odd figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intervals", [1, 2, 3])
def test_the_judge_needs_no_more_than_one_place_in_a_window(intervals):
    world = fine(intervals=intervals)
    assert set(world.told) == {Status.OK}

    world.run(8, lambda: world.produce(100))
    assert world.status() is Status.STALLED


def test_a_commit_from_the_far_future_breaks_nothing():
    world = fine()
    world.run(1, lambda: (world.produce(1), world.commit(world.end(), made=2.0**50)))
    world.run(10, lambda: world.produce(100))

    assert world.status() is Status.STALLED


def test_a_store_without_rows_is_judged_without_a_word():
    world = World()
    world.run(2)

    assert world.verdicts() == {}


EVENTS = (
    "produce commit back beyond join leave blind open close cut trim withdraw clock recreate delete marker wait nothing old"
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(EVENTS.split()),
        st.integers(0, 1),
        st.integers(0, 2_000),
    ),
    max_size=40,
)


def take_step(world: World, what: str, partition: int, amount: int) -> bool:
    """True if the monitor sees at this tick."""
    if ("orders", partition) not in world.logs:
        for number in range(2):
            world.logs["orders", number] = Log()
            world.store.head("orders", number, 2, 0)
    log = world.logs["orders", partition]
    if what in ("produce", "old"):
        world.produce(amount, partition, written=world.now - 1e6 if what == "old" else None)
    elif what in ("commit", "back", "beyond"):
        offset = {"commit": log.end - amount // 10, "back": amount // 4, "beyond": log.end + amount}[what]
        world.commit(max(0, offset), partition)
    elif what == "join":
        world.join(*([0, 1] if amount % 2 else [partition]), topic="orders" if amount % 3 else "other")
    elif what == "leave":
        world.leave()
    elif what == "open":
        log.stable = min(log.stable if log.stable is not None else log.end, log.end)
    elif what == "close":
        log.stable = None
    elif what == "cut":
        log.end = max(log.end - amount, 0)
        log.stable = None
    elif what == "trim":
        log.start = min(log.start + amount, log.end)
    elif what == "withdraw" and "billing" in world.store.groups:
        world.withdraw(partition)
    elif what == "clock":
        world.clock_set(float(amount - 1_000) * 10)
    elif what == "recreate":
        world.recreate(SECOND if amount % 2 else FIRST, noticed=bool(amount % 3))
    elif what == "delete":
        world.delete_topic()
    elif what == "marker" and "billing" in world.store.groups and "orders" in world.store.groups["billing"].topics:
        world.nothing_to_read(min(amount, log.end))
    elif what == "wait":
        world.now += amount
    return what != "blind"


@pytest.mark.slow
@given(STEPS, st.sampled_from([1, 2, 10]), st.booleans(), st.booleans())
@settings(max_examples=150)
def test_whatever_happens_figures_stay_figures(steps, intervals, reads_topic, time_known):
    world = World(2, intervals=intervals, reads_topic=reads_topic, time_known=time_known, topic_id=FIRST)
    for what, partition, amount in steps:
        world.now += 10
        sees = take_step(world, what, partition, amount)
        world.look(sees=sees)

        for verdict in world.verdicts().values():
            assert verdict.status in Status
            assert verdict.lag >= 0
            assert verdict.seconds is None or verdict.seconds >= 0
            assert verdict.since <= world.now + 0.1
            assert verdict.reason
            assert "nan" not in verdict.reason
            assert all(not isinstance(told, float) or math.isfinite(told) for told in verdict.evidence.values())
            assert all(lag >= 0 for _, lag in verdict.samples)
            assert verdict.evidence["seconds_without_progress"] >= 0
        for name in world.store.groups:
            group = world.group(name)
            assert group.lag >= 0
            assert group.seconds is None or group.seconds >= 0
            assert group.reason


# ---- groups ---------------------------------------------------------------------------------------------------------------


def test_the_gravest_partition_speaks_for_its_group_and_time_is_kept():
    world = World(3)
    for partition in range(3):
        world.commit(0, partition)
    world.join(0, 1, 2)

    def some(*which: int) -> None:
        for partition in range(3):
            world.produce(100, partition)
            if partition in which:
                world.commit(world.end(partition), partition)

    world.run(12, lambda: some(0, 1, 2))
    assert world.group().reason == "at the end of every partition"
    began = world.group().since

    world.run(12, lambda: some(0, 2))
    world.group()
    told = world.group()
    assert told.status is Status.STALLED
    assert told.reason.startswith("1 of 3 partitions; orders-1: ")
    assert told.partitions[0].partition == 1
    assert (told.partition_count, told.members, told.state) == (3, 1, "Stable")
    assert told.since > began
    assert told.lag == 1_200


def test_a_group_says_since_when_it_is_so_and_no_later():
    world = fine()
    world.run(12, lambda: world.produce(100))
    first = world.group().since
    world.run(5, lambda: world.produce(100))

    assert world.group().since == first
    assert world.verdict().since == pytest.approx(NOW + 120 + 70)


def test_a_group_of_which_nothing_is_known_has_committed_nothing():
    world = World()
    world.store.group("new")
    world.run(1)

    assert (world.group("new").status, world.group("new").reason) == (Status.OK, "nothing is committed yet")


# ---- words ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.34, "0.3 s"),
        (8.4, "8 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (7_500, "2 h 5 min"),
        (86_400, "1 d"),
        (273_600, "3 d 4 h"),
        (-3, "0 s"),
    ],
)
def test_spans_are_said_as_people_say_them(seconds, said):
    assert span(seconds) == said


@pytest.mark.parametrize(("count", "said"), [(0, "0 records"), (1, "1 record"), (12_345, "12,345 records")])
def test_records_are_counted_in_words(count, said):
    assert records(count) == said


def test_gravity_goes_with_the_order_of_the_statuses():
    gravities = [status.gravity for status in sorted(Status)]

    assert gravities == sorted(gravities)
    assert (Status.WARMING_UP.gravity, Status.UNKNOWN.gravity, Status.STOPPED.gravity) == (
        Gravity.NOTE,
        Gravity.WARNING,
        Gravity.ERROR,
    )


def test_one_who_is_patient_is_told_later():
    world = World(patience=Patience(quiet=300))
    world.commit(0)
    world.join()
    world.run(12, lambda: keeping_up(world))
    world.run(25, lambda: world.produce(100))
    assert not ALARMS & set(world.told)

    world.run(10, lambda: world.produce(100))
    assert world.status() is Status.STALLED
