"""What became of the probe's records: each way a record can fare, and what may not be said of it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.probe.tallying import MOST_OPEN, RECENT, REMEMBERED, Patience, Tally

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
    tally.look(1000.0)
    assert counts(tally) == {"sent": 1, "acknowledged": 1, "received": 1}
    assert (tally.available(11.0), tally.availability(11.0)) == (True, 1.0)


def test_a_record_that_is_read_before_its_acknowledgement_comes(tally: Tally):
    tally.send(0, 10.0)

    assert tally.read(0, 100, 10.1) == pytest.approx(0.1)
    assert tally.ack(0, 100, 10.2) == pytest.approx(0.2)
    tally.read(None, 101, 10.3)
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
    tally.read(2, 102, 10.2)

    assert counts(tally) == {"sent": 3, "acknowledged": 3, "received": 2, "lost": 1}


def test_one_whose_place_is_yet_to_be_read_is_not_lost(tally: Tally):
    tally.send(0, 10.0)
    tally.ack(0, 100, 10.1)
    tally.read(None, 99, 10.2)

    assert tally.lost == 0


def test_an_acknowledgement_that_comes_after_the_reader_went_past_tells_of_a_loss_too(tally: Tally):
    tally.send(0, 10.0)
    tally.read(None, 149, 10.1)
    tally.ack(0, 100, 10.2)
    tally.read(None, 150, 10.3)

    assert tally.lost == 1


def test_a_record_is_lost_when_another_has_taken_its_place_though_it_was_read_before(tally: Tally):
    for number in range(3):
        tally.send(number, 10.0)
        tally.ack(number, 100 + number, 10.1)
        tally.read(number, 100 + number, 10.2)
    tally.send(3, 20.0)
    tally.ack(3, 101, 20.1)

    tally.read(0, 100, 20.2)
    assert tally.lost == 0, "the same record in its place"
    tally.read(3, 101, 20.2)
    assert tally.lost == 1, "record 1 was there"
    tally.read(None, 102, 20.3)
    assert tally.lost == 2, "somebody else's record takes the place of record 2"
    tally.read(3, 101, 20.4)
    tally.read(None, 102, 20.4)
    assert counts(tally) == {"sent": 4, "acknowledged": 4, "received": 4, "lost": 2}, "and is counted once"


def test_one_that_was_never_acknowledged_is_not_lost_when_it_goes(tally: Tally):
    tally.send(0, 10.0)
    tally.read(0, 100, 10.1)
    tally.fail(0, "_MSG_TIMED_OUT")
    tally.read(None, 100, 20.0)

    assert tally.lost == 0


def test_one_that_was_acknowledged_after_it_was_read_is_lost_when_it_goes(tally: Tally):
    tally.send(0, 10.0)
    tally.read(0, 100, 10.1)
    tally.ack(0, 100, 10.2)
    tally.read(None, 100, 20.0)

    assert tally.lost == 1


def test_an_acknowledgement_without_a_place_makes_late_and_never_lost(tally: Tally):
    tally.send(0, 10.0)
    tally.ack(0, -1001, 10.1)
    tally.read(None, 500, 10.2)
    tally.look(20.0)
    assert (tally.late, tally.late_now, tally.lost) == (1, 1, 0)

    tally.look(10.0 + PATIENCE.forget + 1)
    assert (tally.late, tally.late_now, tally.lost) == (1, 0, 0), "in the end it is forgotten"


def test_a_topic_that_was_made_anew_is_not_asked_about_what_the_old_one_had(tally: Tally):
    for number in range(3):
        tally.send(number, 10.0)
        tally.ack(number, 100 + number, 10.1)
    tally.read(0, 100, 10.2)
    tally.begin()
    tally.send(3, 20.0)
    tally.ack(3, 0, 20.1)
    tally.read(3, 0, 20.2)
    tally.read(2, 1, 20.3)
    tally.look(99.0)

    assert counts(tally) == {"sent": 4, "acknowledged": 4, "received": 2}
    assert tally.late_now == 0


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


def test_memory_of_what_was_read_is_bounded_and_what_is_read_again_is_not_counted_again(tally: Tally):
    for number in range(REMEMBERED + 500):
        tally.send(number, 10.0)
        tally.ack(number, number, 10.1)
        tally.read(number, number, 10.2)
    before = counts(tally)
    for number in range(REMEMBERED + 500):
        tally.read(number, number, 20.0)

    assert counts(tally) == before
    assert (len(tally._read), len(tally._places), len(tally._unpromised)) == (REMEMBERED, REMEMBERED, 0)


@pytest.mark.slow
@given(st.integers(0, 11), st.sets(st.integers(0, 11)))
def test_of_a_log_that_was_cut_exactly_what_was_acknowledged_and_overwritten_is_lost(cut: int, failed: set[int]):
    """Twelve records are read; the log is cut and written anew as far as it went, and read again from its beginning."""
    tally = Tally(PATIENCE)
    for number in range(12):
        tally.send(number, 1.0)
        tally.fail(number, "_MSG_TIMED_OUT") if number in failed else tally.ack(number, number, 2.0)
        tally.read(number, number, 3.0)
    for number in range(cut):
        tally.read(number, number, 4.0)
    for offset in range(cut, 12):
        number = 12 + offset - cut
        tally.send(number, 5.0)
        tally.ack(number, offset, 5.1)
        tally.read(number, offset, 5.2)

    assert tally.lost == len(set(range(cut, 12)) - failed)
    assert (tally.duplicated, tally.out_of_order, tally.received) == (0, 0, 24 - cut)


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

    reached = there[-1] if there else -1
    assert tally.lost == len([number for number in gone if number < reached])
    assert (tally.duplicated, tally.out_of_order) == (0, 0)
    assert all(earlier < later for earlier, later in pairwise(there))
