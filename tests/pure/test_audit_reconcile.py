"""The auditor's rules, one by one; beside each alarm stands what looks like it and is none."""

import random
from dataclasses import replace
from itertools import permutations

import pytest

from interceptors.audit.auditor import Wanted, exit_code
from interceptors.audit.reconcile import Verdict
from interceptors.audit.report import Unsure
from tests.pure.audit_books import BUCKET, EVERY, LATE, SIZE, T0, World, sketch

P, C = ("producer", "producer", "p"), ("billing", "consumer", "c")


# ---- complete, missing, extra ---------------------------------------------------------------------------------------


def test_what_everybody_has_is_complete_at_once():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(10))

    one = world.verdict()
    assert (one.verdict, one.records, one.counted, one.missing, one.extra) == (Verdict.COMPLETE, 10, 10, 0, 0)
    assert exit_code([one]) == 0


def test_a_record_that_the_consumer_went_past_is_missing_and_named():
    world = World()
    world.produced(*range(10))
    world.consumed(0, 1, 2, 5, 6, 7, 8, 9)

    one = world.verdict()
    assert (one.verdict, one.missing, one.missing_offsets, one.extra, one.exact) == (Verdict.MISSING, 2, (3, 4), 0, True)
    assert exit_code([one]) == 1


def test_a_record_that_came_twice_is_extra_and_named():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(10), 4)
    world.wait(LATE)
    world.alive(P)

    one = world.verdict()
    assert (one.verdict, one.extra, one.extra_offsets, one.missing) == (Verdict.EXTRA, 1, (4,), 0)
    assert exit_code([one]) == 1


def test_one_loss_and_one_duplicate_at_once_are_both_told():
    world = World()
    world.produced(*range(10))
    world.consumed(0, 1, 2, 4, 5, 6, 7, 7, 8, 9)
    world.wait(LATE)
    world.alive(P)

    one = world.verdict()
    assert (one.records, one.counted) == (10, 10)
    assert (one.verdict, one.missing_offsets, one.extra_offsets) == (Verdict.MISSING, (3,), (7,))


def test_another_record_at_the_same_offset_is_a_loss_and_a_stranger():
    """After an unclean election: what was acknowledged at offset 5 is gone, and somebody else's record is there."""
    world = World()
    world.produced(*range(10))
    world.consumed(0, 1, 2, 3, 4, 6, 7, 8, 9)
    world.consumed(5, content=1, begin=10, upto=10)
    world.wait(LATE)
    world.alive(P)

    one = world.verdict()
    assert (one.missing_offsets, one.extra_offsets) == ((5,), (5,))


def test_two_generations_lost_at_one_offset_are_two():
    world = World()
    world.produced(*range(5))
    world.produced(3, content=1)
    world.consumed(0, 1, 2, 4)

    one = world.verdict()
    assert (one.missing, one.missing_offsets) == (2, (3,))


def test_too_many_to_be_named_are_counted():
    world = World()
    world.produced(*range(500))
    world.consumed(*range(100), upto=500)

    one = world.verdict()
    assert (one.verdict, one.missing, one.missing_offsets, one.exact) == (Verdict.MISSING, 400, (), False)


def test_without_cells_a_loss_and_a_duplicate_are_still_seen():
    world = World()
    world.produced(*range(10), size=0)
    world.consumed(*range(9), 8, upto=10, size=0)
    world.wait(LATE)
    world.alive(P)

    one = world.verdict()
    assert (one.verdict, one.missing, one.extra, one.exact) == (Verdict.MISSING, 1, 1, False)


# ---- waiting --------------------------------------------------------------------------------------------------------


def test_what_is_not_read_yet_is_pending_and_later_late():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(6))
    assert world.verdict().verdict is Verdict.PENDING
    world.wait(LATE + 1)
    one = world.verdict()
    assert (one.verdict, exit_code([one])) == (Verdict.LATE, 3)
    world.produced(10, start=T0 + BUCKET, stretch=(10, 11))
    world.consumed(10, start=T0 + BUCKET, begin=6, upto=6)
    assert {one.verdict for one in world.judged()} == {Verdict.LATE, Verdict.COMPLETE}
    assert exit_code(world.judged()) == 3, "one that is complete does not make up for one that is late"

    world.consumed(*range(6, 10))
    assert {one.verdict for one in world.judged()} == {Verdict.COMPLETE}


def test_a_loss_is_not_told_before_the_consumer_has_passed_the_bucket():
    world = World()
    world.produced(*range(10))
    world.consumed(0, 1, 3, 4)

    assert world.verdict().verdict is Verdict.PENDING


def test_a_late_record_adds_to_its_old_bucket():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(10))
    world.wait(10 * LATE)
    world.produced(10, start=T0)
    assert world.verdict().verdict is Verdict.PENDING
    world.consumed(10, start=T0)
    assert world.verdict().verdict is Verdict.COMPLETE


def test_a_consumer_that_reports_before_the_producer_is_ahead_and_not_extra():
    world = World()
    world.produced(*range(5))
    world.consumed(*range(10))
    assert world.verdict().verdict is Verdict.PENDING
    world.wait(LATE + 1)
    assert world.verdict().verdict is Verdict.UNCERTAIN, "the producer was not heard of since"

    world.produced(*range(5, 10))
    assert world.verdict().verdict is Verdict.COMPLETE


def test_a_producer_that_lives_and_does_not_tell_of_it_makes_it_extra():
    world = World()
    world.produced(*range(5))
    world.consumed(*range(10))
    for _ in range(LATE // EVERY):
        world.wait(EVERY)
        world.alive(P)

    one = world.verdict()
    assert (one.verdict, one.extra_offsets) == (Verdict.EXTRA, (5, 6, 7, 8, 9))


# ---- clocks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, T0 - 365 * 86_400_000, T0 + 365 * 86_400_000, 4 * 10**15])
def test_timestamps_of_long_ago_or_from_the_future_are_judged_as_any_other(start: int):
    world = World()
    world.produced(*range(10), start=start)
    world.consumed(*range(9), start=start)
    assert world.verdict().verdict is Verdict.PENDING
    world.wait(LATE + 1)
    assert world.verdict().verdict is Verdict.LATE
    world.consumed(begin=9, upto=10)
    assert world.verdict().missing_offsets == (9,)


@pytest.mark.parametrize("skew", [-3_600_000, 3_600_000])
def test_a_tier_whose_clock_is_an_hour_wrong_is_judged_by_the_topics_clock(skew: int):
    """Buckets are the records' own, and a report's age is when the topic received it; `at_ms` decides nothing."""
    world = World()
    world.produced(*range(10))
    told = world.told("billing", "consumer", "c", range(8), stretch=(0, 8), lost=True)
    world.auditor.add(replace(told, at_ms=told.at_ms + skew), world.now)

    assert world.verdict().verdict is Verdict.PENDING
    world.wait(LATE + 1)
    assert world.verdict().verdict is Verdict.LATE


# ---- reports that come twice, or never -------------------------------------------------------------------------------


def test_a_report_that_comes_again_is_dropped():
    world = World()
    for report in (world.produced(*range(10)), world.consumed(*range(10))):
        assert world.auditor.add(report, world.now) is False

    assert world.verdict().verdict is Verdict.COMPLETE
    assert world.auditor.books.duplicates == 2


def test_a_consumers_report_that_never_came_is_uncertain_and_not_missing():
    world = World()
    world.produced(*range(10))
    world.consumed(0, 1, 2)
    world.consumed(3, 4, 5, lost=True)
    world.consumed(6, 7, 8, 9)
    assert world.verdict().verdict is Verdict.PENDING
    world.wait(LATE + 1)

    one = world.verdict()
    assert (one.verdict, one.why) == (Verdict.UNCERTAIN, "billing was not heard of the offsets from 3 to 5")
    assert world.auditor.books.tiers["billing", "consumer"].lives["c"].missed == 1


def test_beside_a_lost_report_a_true_loss_is_still_named():
    world = World()
    world.produced(*range(10))
    world.consumed(0, 2)
    world.consumed(3, 4, 5, lost=True)
    world.consumed(6, 7, 8, 9)

    one = world.verdict()
    assert (one.verdict, one.missing_offsets) == (Verdict.MISSING, (1,))


def test_a_producers_report_that_never_came_is_uncertain_and_not_extra():
    world = World()
    world.produced(0, 1, 2)
    world.produced(3, 4, 5, lost=True)
    world.produced(6, 7, 8, 9, stretch=(6, 10))
    world.consumed(*range(10))
    world.wait(LATE)
    world.alive(P)

    assert world.verdict().verdict is Verdict.UNCERTAIN


def test_beside_a_producers_lost_report_a_true_duplicate_is_still_named():
    world = World()
    world.produced(0, 1, 2)
    world.produced(3, 4, 5, lost=True)
    world.produced(6, 7, 8, 9, stretch=(6, 10))
    world.consumed(*range(10), 8)
    world.wait(LATE)
    world.alive(P)

    assert world.verdict().extra_offsets == (8,)


def test_what_a_lost_part_of_a_report_accounts_for_is_not_believed():
    """Two parts: the first has the rows, the second says what they account for. The first is lost."""
    world = World()
    world.produced(*range(10))
    world.consumed(0, 1)
    world.consumed(*range(2, 10), lost=True, seq=1)
    world.consumed(begin=2, upto=10, seq=2, begins=1)
    assert world.verdict().verdict is Verdict.PENDING

    world.consumed(*range(2, 10), seq=1, begin=0, upto=0)
    assert world.verdict().verdict is Verdict.COMPLETE


def test_the_order_in_which_reports_arrive_does_not_matter():
    chance = random.Random(3)
    first = World()
    reports = [
        first.produced(*range(5)), first.produced(*range(5, 10), stretch=(5, 10)), first.consumed(0, 1, 2),
        first.consumed(3, 4, 6), first.consumed(7, 8, 9, begin=7),
    ]  # fmt: skip
    wanted = first.verdict()
    assert wanted.missing_offsets == (5,)
    for order in chance.sample(list(permutations(reports)), 30):
        world = World()
        for report in order:
            world.auditor.add(report, T0)
        assert world.verdict() == wanted


# ---- lives that end -------------------------------------------------------------------------------------------------


def test_what_a_killed_producer_did_last_is_uncertain_and_never_extra():
    world = World()
    world.produced(*range(5))
    world.consumed(*range(8))
    for _ in range(100):
        world.wait(EVERY)
        assert world.verdict().verdict in (Verdict.PENDING, Verdict.UNCERTAIN)

    one = world.verdict()
    assert (one.verdict, one.why) == (Verdict.UNCERTAIN, "a client of producer ended without a last report")
    assert exit_code([one]) == 3


def test_a_killed_producers_last_records_with_timestamps_from_the_future_are_uncertain_too():
    world = World()
    world.produced(*range(5))
    world.consumed(*range(5))
    world.consumed(5, 6, start=T0 + 365 * 86_400_000)
    world.wait(2 * LATE)

    assert [one.verdict for one in world.judged()] == [Verdict.COMPLETE, Verdict.UNCERTAIN]


def test_what_comes_twice_below_a_killed_producers_last_word_is_extra_all_the_same():
    world = World()
    world.produced(*range(5))
    world.consumed(*range(5), 2)
    world.wait(2 * LATE)

    assert world.verdict().extra_offsets == (2,)


def test_a_producer_that_closed_well_leaves_nothing_uncertain():
    world = World()
    world.produced(*range(5), closed=True)
    world.consumed(*range(8))
    world.wait(LATE)

    assert world.verdict().extra_offsets == (5, 6, 7)


def test_long_after_a_killed_producer_its_silence_explains_nothing():
    world = World()
    world.produced(*range(5), life="dead")
    world.wait(10 * LATE)
    world.produced(10, 11, life="p", start=T0 + 10 * LATE, closed=True)
    world.consumed(*range(5))
    world.consumed(10, 11, 12, start=T0 + 10 * LATE)
    world.wait(LATE)

    found = world.judged()
    assert [one.verdict for one in found] == [Verdict.COMPLETE, Verdict.EXTRA]
    assert exit_code(found) == 1


def test_what_was_left_on_disk_makes_a_life_known_to_be_over():
    world = World()
    world.produced(*range(5), left=True)
    world.consumed(*range(8))
    world.wait(LATE)
    world.alive(("producer", "producer", "next"))

    assert world.verdict().verdict is Verdict.UNCERTAIN


def test_what_a_killed_consumer_had_committed_and_not_reported_is_uncertain_and_never_missing():
    world = World()
    world.produced(*range(10))
    world.consumed(0, 1, 2, life="dead")
    world.consumed(6, 7, 8, 9, life="next")
    for _ in range(100):
        world.wait(EVERY)
        assert world.verdict().verdict in (Verdict.PENDING, Verdict.UNCERTAIN)
    assert world.verdict().verdict is Verdict.UNCERTAIN

    world.consumed(3, 4, 5, life="dead", left=True)
    assert world.verdict().verdict is Verdict.COMPLETE


def test_records_whose_fate_the_producer_does_not_know_are_uncertain_and_not_extra():
    world = World()
    unsure = (Unsure("orders", 0, T0, T0 + BUCKET, 2),)
    world.produced(*range(5), unsure=unsure)
    world.consumed(*range(7))
    world.wait(LATE)
    world.alive(P)
    one = world.verdict()
    assert (one.verdict, one.why) == (Verdict.UNCERTAIN, "producer does not know what became of 2 records")

    world.consumed(7)
    world.wait(LATE)
    world.alive(P)
    assert world.verdict().verdict is Verdict.EXTRA, "one more than it does not know of"


# ---- who is compared ------------------------------------------------------------------------------------------------


def test_all_producers_of_a_topic_together_are_what_a_consumer_should_have():
    world = World()
    world.produced(0, 2, 4, tier="shop", life="s")
    world.produced(1, 3, 5, tier="import", life="i")
    world.consumed(*range(6))

    one = world.verdict()
    assert (one.verdict, one.flow.source) == (Verdict.COMPLETE, "import+shop")


def test_every_consumer_tier_is_judged_by_itself():
    world = World()
    world.produced(*range(6))
    world.consumed(*range(6))
    world.consumed(0, 1, 2, 4, 5, tier="search", life="s")

    assert {one.flow.tier[0]: one.verdict for one in world.judged()} == {
        "billing": Verdict.COMPLETE,
        "search": Verdict.MISSING,
    }


def test_members_of_a_group_are_one_tier():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(5), life="a", closed=True)
    world.consumed(*range(5, 10), life="b")

    assert world.verdict().verdict is Verdict.COMPLETE


def test_a_tier_that_began_later_knows_nothing_of_what_was_before():
    world = World()
    world.produced(*range(10))
    world.produced(*range(10, 20), start=T0 + BUCKET, stretch=(10, 20))
    world.consumed(*range(10, 20), start=T0 + BUCKET)
    found = world.judged()
    assert [one.verdict for one in found] == [Verdict.UNKNOWN, Verdict.COMPLETE]
    assert exit_code(found) == 0


def test_a_consumer_that_reads_what_was_there_before_the_audit_began_finds_nothing_extra():
    world = World()
    world.produced(*range(105, 110), closed=True)
    world.consumed(*range(100), start=T0 - BUCKET)
    world.consumed(*range(100, 110), begin=100)
    world.wait(LATE + 1)

    assert [one.verdict for one in world.judged()] == [Verdict.UNKNOWN, Verdict.UNCERTAIN]


def test_named_flows_compare_what_they_say_also_consumers_with_consumers():
    world = World(Wanted(("billing",), "search", "orders"))
    world.consumed(*range(10))
    world.consumed(0, 1, 3, 4, 5, 6, 7, 8, 9, tier="search", life="s")

    assert world.verdict().missing_offsets == (2,)


def test_a_named_tier_that_never_reports_makes_it_late():
    world = World(Wanted(("producer",), "nobody"))
    world.produced(*range(10))
    world.wait(LATE + 1)

    one = world.verdict()
    assert (one.verdict, exit_code([one])) == (Verdict.LATE, 3)


def test_who_reports_alone_is_told_and_proves_nothing():
    world = World()
    world.produced(*range(10))

    assert world.judged() == []
    assert world.auditor.alone() == [(("producer", "producer"), "orders")]
    assert exit_code([]) == 3


def test_tiers_with_buckets_of_different_length_are_not_compared():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(5), bucket_ms=60_000)

    assert world.verdict().verdict is Verdict.UNKNOWN


def test_mirrors_are_judged_by_content_when_they_have_had_their_time():
    world = World()
    rows = {("orders", 0, T0): sketch(range(5), size=SIZE)}
    fewer = {("orders", 0, T0): sketch(range(4), size=SIZE)}
    world.told("producer", "producer", "p", rows=rows, stretch=(100, 105), identity="content")
    world.told("mirror", "consumer", "m", rows=fewer, stretch=(0, 4), identity="content")
    assert world.verdict().verdict is Verdict.PENDING
    world.wait(LATE + 1)

    one = world.verdict()
    assert (one.verdict, one.missing, one.missing_offsets) == (Verdict.MISSING, 1, ())


# ---- a log that was cut ---------------------------------------------------------------------------------------------


def test_what_was_acknowledged_beyond_the_end_of_the_log_is_missing_once_it_is_late():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(7))
    world.auditor.log_ends = {("orders", 0): 7}
    assert world.verdict().verdict is Verdict.PENDING
    world.wait(LATE + 1)

    one = world.verdict()
    assert (one.verdict, one.missing_offsets) == (Verdict.MISSING, (7, 8, 9))


def test_a_consumer_that_is_merely_behind_its_log_is_late_and_misses_nothing():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(5))
    world.wait(LATE + 1)
    for end in (7, 10):
        world.auditor.log_ends = {("orders", 0): end}
        assert world.verdict().verdict is Verdict.LATE


# ---- memory ---------------------------------------------------------------------------------------------------------


def test_what_is_complete_is_settled_and_forgotten_and_late_deltas_still_fit():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(10))
    world.wait(700_000)
    world.judged()
    world.auditor.tidy(world.now)
    assert world.judged() == []
    assert world.auditor.sums()["orders", "producer", "billing"].outcomes["complete"] == 10

    world.produced(10)
    world.consumed(10)
    assert world.verdict().verdict is Verdict.COMPLETE
    assert world.auditor.sums()["orders", "producer", "billing"].outcomes["complete"] == 11


def test_what_is_not_complete_is_kept_for_a_day_and_no_longer():
    world = World()
    world.produced(*range(10))
    world.consumed(*range(9), upto=10)
    world.wait(80_000_000)
    world.judged()
    world.auditor.tidy(world.now)
    assert world.verdict().verdict is Verdict.MISSING
    world.wait(20_000_000)
    world.auditor.tidy(world.now)
    assert world.judged() == []


# ---- chance ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_random_worlds_with_crashes_and_lost_reports_never_raise_a_false_alarm():
    """Producers and consumers are killed between reports, reports get lost or come twice; no record is lost or doubled."""
    for seed in range(300):
        world, chance = World(), random.Random(seed)
        simulate(world, chance, lose=set())
        for one in world.judged():
            assert one.verdict not in (Verdict.MISSING, Verdict.EXTRA), (seed, one)


@pytest.mark.slow
def test_in_quiet_random_worlds_exactly_what_was_lost_is_named():
    for seed in range(100):
        world, chance = World(), random.Random(seed)
        lose = set(chance.sample(range(200), 3))
        simulate(world, chance, lose=lose, quiet=True)
        assert {offset for one in world.judged() for offset in one.missing_offsets} == lose, seed


def simulate(world: World, chance: random.Random, *, lose: set[int], quiet: bool = False) -> None:
    """200 records, sent and read in batches; every batch is one report, which may be lost with the life that had it."""
    sent_life = read_life = 0
    sent_end: int | None = None
    position = 0
    world.alive(("producer", "producer", "p0"))
    for begin in range(0, 200, 10):
        batch = range(begin, begin + 10)
        start = T0 + begin // 40 * BUCKET
        killed = not quiet and chance.random() < 0.15
        unlucky = not quiet and chance.random() < 0.1
        low = sent_end if sent_end is not None else begin
        report = world.produced(*batch, life=f"p{sent_life}", start=start, stretch=(low, begin + 10), lost=killed or unlucky)
        sent_end = begin + 10
        if not quiet and chance.random() < 0.1 and not killed and not unlucky:
            world.auditor.add(report, world.now)
        if killed:
            sent_life, sent_end = sent_life + 1, None
            world.alive(("producer", "producer", f"p{sent_life}"))
        killed = not quiet and chance.random() < 0.15
        lost = killed or (not quiet and chance.random() < 0.1)
        got = [offset for offset in batch if offset not in lose]
        world.consumed(*got, begin=position, upto=begin + 10, life=f"c{read_life}", start=start, lost=lost)
        position = begin + 10
        read_life += killed
        world.wait(EVERY)
    for _ in range(LATE // EVERY + 5):
        world.wait(EVERY)
        world.alive(("producer", "producer", f"p{sent_life}"))
