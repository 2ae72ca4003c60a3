"""What became of the probe's records: each way a record can fare, and what may not be said of it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.probe.tallying import MOST_OPEN, RECENT, Patience, Tally

PATIENCE = Patience(ack=5.0, late=5.0, forget=35.0)


@pytest.fixture
def tally() -> Tally:
    return Tally(PATIENCE)


def counts(tally: Tally) -> dict[str, int]:
    names = ("sent", "acknowledged", "received", "late", "lost", "duplicated", "out_of_order")
    return {name: count for name in names if (count := getattr(tally, name))}


def test_a_record_that_makes_its_round(tally: Tally):
    tally.send(0, 10.0)

    assert tally.ack(0, 100, 10.25) == 0.25
    assert tally.read(0, 100, 10.5) == 0.5
    tally.reach(101)
    tally.look(1000.0)
    assert counts(tally) == {"sent": 1, "acknowledged": 1, "received": 1}
    assert (tally.available(11.0), tally.availability(11.0)) == (True, 1.0)


def test_a_record_that_is_read_before_its_acknowledgement_comes(tally: Tally):
    tally.send(0, 10.0)

    assert tally.read(0, 100, 10.1) == pytest.approx(0.1)
    tally.reach(101)
    assert tally.ack(0, 100, 10.2) == pytest.approx(0.2)
    tally.reach(102)
    tally.look(1000.0)
    assert counts(tally) == {"sent": 1, "acknowledged": 1, "received": 1}


def test_a_late_record_is_late_and_not_lost_and_may_still_come(tally: Tally):
    tally.send(0, 10.0)
    tally.ack(0, 100, 10.1)
    tally.look(15.0)
    assert (tally.late, tally.late_now) == (0, 0)

    tally.look(15.2)
    tally.look(99.0)
    assert (tally.late, tally.late_now, tally.lost) == (1, 1, 0)

    assert tally.read(0, 100, 100.0) == 90.0
    assert (tally.late, tally.late_now, tally.lost) == (1, 0, 0)


def test_a_record_is_lost_when_the_reader_went_past_its_place(tally: Tally):
    for number in range(3):
        tally.send(number, 10.0)
        tally.ack(number, 100 + number, 10.1)
    tally.read(0, 100, 10.2)
    tally.reach(101)
    tally.read(2, 102, 10.2)
    tally.reach(103)

    assert counts(tally) == {"sent": 3, "acknowledged": 3, "received": 2, "lost": 1}


def test_one_whose_place_is_yet_to_be_read_is_not_lost(tally: Tally):
    tally.send(0, 10.0)
    tally.ack(0, 100, 10.1)
    tally.reach(100)

    assert tally.lost == 0


def test_an_acknowledgement_that_comes_after_the_reader_went_past_tells_of_a_loss_too(tally: Tally):
    tally.send(0, 10.0)
    tally.reach(150)
    tally.ack(0, 100, 10.2)
    tally.reach(151)

    assert tally.lost == 1


def test_a_record_that_was_refused_and_is_there_all_the_same(tally: Tally):
    tally.send(0, 10.0)
    tally.fail(0, "_MSG_TIMED_OUT")
    tally.read(0, 100, 60.0)

    assert counts(tally) == {"sent": 1, "received": 1}
    assert dict(tally.failed) == {"_MSG_TIMED_OUT": 1}
    assert tally.available(60.0) is False


def test_two_copies_are_a_duplicate_and_reading_one_twice_is_not(tally: Tally):
    tally.send(0, 10.0)
    tally.read(0, 100, 10.1)
    tally.read(0, 100, 10.2)
    assert tally.duplicated == 0

    tally.read(0, 105, 10.3)
    assert (tally.duplicated, tally.received) == (1, 1)


def test_a_record_that_comes_after_a_later_one_is_out_of_order(tally: Tally):
    for number, offset in ((0, 100), (2, 101), (1, 102), (3, 103)):
        tally.send(number, 10.0)
        tally.read(number, offset, 10.1)

    assert tally.out_of_order == 1


def test_without_an_answer_in_time_a_partition_is_not_available(tally: Tally):
    assert tally.available(0.0) is None, "nothing is known"
    tally.send(0, 10.0)
    tally.ack(0, 100, 10.1)
    tally.send(1, 11.0)
    assert tally.available(15.9) is True, "it has its time"

    assert tally.available(16.1) is False
    assert tally.availability(16.1) == 0.5
    tally.ack(1, 101, 20.0)
    assert tally.available(20.0) is False, "an answer that came too late does not change it"
    tally.send(2, 21.0)
    tally.ack(2, 102, 21.1)
    assert tally.available(21.2) is True


def test_availability_is_of_the_last_records_only(tally: Tally):
    for number in range(RECENT):
        tally.send(number, float(number))
        tally.fail(number, "_TIMED_OUT")
    for number in range(RECENT, 2 * RECENT):
        tally.send(number, float(number))
        tally.ack(number, number, float(number))

    assert tally.availability(2.0 * RECENT) == 1.0


def test_memory_is_bounded_however_long_nobody_reads(tally: Tally):
    for number in range(MOST_OPEN + 500):
        tally.send(number, 10.0)
        tally.ack(number, number, 10.1)

    assert len(tally._open) == MOST_OPEN
    assert tally.lost == 0


@given(st.permutations(range(8)), st.sets(st.integers(0, 7)), st.integers(0, 7))
def test_exactly_those_the_reader_passed_and_did_not_see_are_lost(order: list[int], gone: set[int], end: int):
    tally = Tally(PATIENCE)
    for number in range(8):
        tally.send(number, 1.0)
    for number in order:
        tally.ack(number, number, 2.0)
    there = [number for number in range(end + 1) if number not in gone]
    for number in there:
        tally.read(number, number, 3.0)
        tally.reach(number + 1)

    reached = there[-1] if there else -1
    assert tally.lost == len([number for number in gone if number < reached])
    assert (tally.duplicated, tally.out_of_order) == (0, 0)
    assert all(earlier < later for earlier, later in pairwise(there))
