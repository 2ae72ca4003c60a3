"""With which timestamps do acknowledged records stand in the log? Never a wrong one, whatever the delivery reports say."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interceptors.audit.acknowledged import APPEND, CREATE, Acknowledged
from interceptors.audit.clocks import QUIET_MS, Clocks
from interceptors.audit.table import MANY

Delivery = tuple[int, int, int, int, int]  # place, offset, kind, timestamp as reported, timestamp as sent


def of(*deliveries: Delivery) -> Acknowledged:
    where, offsets, kinds, stamps, created = (np.array(column, np.int64) for column in zip(*deliveries, strict=True))
    count = len(deliveries)
    return Acknowledged(
        where, offsets, kinds.astype(np.int8), stamps, created, offsets.astype(np.uint64), np.zeros(count)
    )  # fmt: skip


def batch(kind: int, created: Iterable[int], stamp: int | None = None, *, offset: int = 0, place: int = 0) -> Acknowledged:
    """As delivered with its records' own timestamps, or all of them with that one."""
    return of(*((place, offset + n, kind, own if stamp is None else stamp, own) for n, own in enumerate(created)))


def found(them: Iterable[Acknowledged]) -> dict[int, int]:
    """Timestamps by offset."""
    return {int(o): int(t) for some in them for o, t in zip(some.offsets, some.timestamps, strict=True)}


@pytest.fixture
def now() -> list[int]:
    return [1_000_000]


@pytest.fixture
def clocks(now: list[int]) -> Clocks:
    return Clocks(lambda: now[0])


def test_what_comes_with_the_producers_timestamps_has_them(clocks: Clocks):
    assert found(clocks.stamped(batch(CREATE, [10, 20]))) == {0: 10, 1: 20}


def test_a_duplicate_has_its_records_own_timestamps_and_not_the_newest_of_them(clocks: Clocks):
    clocks.stamped(batch(CREATE, [1]))

    assert found(clocks.stamped(batch(APPEND, [10, 90, 40], 90, offset=1))) == {1: 10, 2: 90, 3: 40}
    assert len(clocks) == 0


def test_a_broker_with_its_own_clock_is_told_by_a_run_that_is_older_and_believed_from_then_on(clocks: Clocks):
    assert found(clocks.stamped(batch(APPEND, [10, 20], 25))) == {}, "more of it may come"
    both = clocks.stamped(batch(APPEND, [30, 31], 31, offset=2))

    assert found(both) == {0: 25, 1: 25, 2: 31, 3: 31}
    assert found(clocks.stamped(batch(APPEND, [40, 41], 41, offset=4))) == {4: 41, 5: 41}, "within one millisecond"


def test_a_broker_whose_clock_is_behind_is_believed_at_once(clocks: Clocks):
    assert found(clocks.stamped(batch(APPEND, [10, 20], 15))) == {0: 15, 1: 15}


def test_what_fits_both_waits_for_the_next_delivery_whatever_its_partition(clocks: Clocks):
    twice = batch(APPEND, [10, 20], 20)
    assert found(clocks.stamped(twice)) == {} and len(clocks) == 2
    assert found(clocks.stamped(batch(CREATE, [30], offset=7, place=MANY))) == {7: 30}, "another topic tells nothing"
    assert found(clocks.stamped(batch(CREATE, [30], offset=8, place=1))) == {0: 10, 1: 20, 8: 30}


def test_what_fits_both_and_is_followed_by_the_brokers_clock_has_that_of_the_broker(clocks: Clocks):
    clocks.stamped(batch(APPEND, [10, 20], 20))
    clocks.stamped(batch(APPEND, [30], 35, offset=2))

    assert found(clocks.ended()) == {0: 20, 1: 20, 2: 35}


def test_what_has_but_one_timestamp_needs_no_judge(clocks: Clocks):
    assert found(clocks.stamped(batch(APPEND, [20, 20], 20))) == {0: 20, 1: 20}


def test_a_run_that_is_looked_at_in_parts_is_one(clocks: Clocks):
    """Its newest record came with the first part: the rest is no witness of the broker's clock."""
    assert found(clocks.stamped(batch(APPEND, [90], 90))) == {0: 90}
    assert found(clocks.stamped(batch(APPEND, [10, 20], 90, offset=1))) == {}
    assert found(clocks.stamped(batch(CREATE, [95], offset=3))) == {1: 10, 2: 20, 3: 95}


def test_a_run_that_does_not_grow_for_a_while_is_over(clocks: Clocks, now: list[int]):
    clocks.stamped(batch(APPEND, [10, 20], 25))
    now[0] += QUIET_MS - 1
    assert found(clocks.settled()) == {}
    now[0] += 1
    assert found(clocks.settled()) == {0: 25, 1: 25}


def test_a_topic_that_changes_to_the_brokers_clock_is_believed_after_two_runs(clocks: Clocks):
    clocks.stamped(batch(CREATE, [1]))
    assert found(clocks.stamped(batch(APPEND, [10, 11], 15, offset=1))) == {}
    assert found(clocks.stamped(batch(APPEND, [20], 25, offset=3))) == {}
    assert found(clocks.stamped(batch(APPEND, [30], 35, offset=4))) == {1: 15, 2: 15, 3: 25, 4: 35}
    assert found(clocks.stamped(batch(CREATE, [40], offset=5))) == {5: 40}, "and back"
    assert found(clocks.stamped(batch(APPEND, [50, 60], 60, offset=6))) == {6: 50, 7: 60}


def test_without_the_timestamp_it_was_sent_with_a_duplicate_is_not_judged(clocks: Clocks):
    clocks.stamped(batch(CREATE, [1]))
    clocks.stamped(of((0, 1, APPEND, 20, 0), (0, 2, APPEND, 20, 20)))

    assert found(clocks.ended()) == {}
    assert [(found([some]), told) for some, told in clocks.given_up()] == [({1: 20, 2: 20}, False)]
    assert len(clocks) == 0


def test_what_waits_is_told_as_a_doubt_once(clocks: Clocks):
    clocks.stamped(batch(APPEND, [10, 20], 20))
    assert [len(some) for some in clocks.untold()] == [2]
    assert list(clocks.untold()) == []
    clocks.stamped(batch(APPEND, [15], 20, offset=2))

    assert [len(some) for some in clocks.untold()] == [1]
    assert [told for _, told in clocks.given_up()] == [True, True]


# ---- whatever happens -----------------------------------------------------------------------------------------------


@dataclass
class World:
    """Topics with clocks of their own, a log, and delivery reports in their order."""

    own_clock: dict[int, bool]
    log: dict[tuple[int, int], int] = field(default_factory=dict)  # place and offset → timestamp
    deliveries: list[Delivery] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)

    def sends(self, place: int, created: list[int], ahead: int, *, twice: bool) -> None:
        """`ahead`: by how much the broker's clock is behind or before the newest of the records."""
        begin = self.ends.get(place, 0)
        self.ends[place] = begin + len(created)
        appended = self.own_clock[place // MANY]
        stamp = max(created) + ahead if appended else max(created)
        for n, own in enumerate(created):
            self.log[place, begin + n] = stamp if appended else own
            told = (APPEND, stamp) if appended or twice else (CREATE, own)
            self.deliveries.append((place, begin + n, *told, own))


BATCHES = st.lists(
    st.tuples(
        st.sampled_from([0, 1, MANY, MANY + 1]), st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(-2, 3),
        st.booleans(),
    ),
    max_size=12,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(st.booleans(), st.booleans(), BATCHES, st.lists(st.integers(1, 7), max_size=60))
def test_whatever_is_told_has_the_timestamp_of_the_log_and_is_told_once(first, second, batches, parts):
    """Deliveries are looked at in parts of any size, so that batches are parted too."""
    world, clocks = World({0: first, 1: second}), Clocks(lambda: 0)
    for place, created, ahead, twice in batches:
        world.sends(place, created, ahead, twice=twice)
    told: list[Acknowledged] = []
    rest = world.deliveries
    for size in [*parts, len(rest)]:
        part, rest = rest[:size], rest[size:]
        told += clocks.stamped(of(*part)) if part else []
    told += clocks.ended()
    given_up = [some for some, _ in clocks.given_up()]

    stamps = [
        (int(w), int(o), int(t)) for some in told for w, o, t in zip(some.where, some.offsets, some.timestamps, strict=True)
    ]
    assert {(w, o): t for w, o, t in stamps}.items() <= world.log.items()
    waiting = [(int(w), int(o)) for some in given_up for w, o in zip(some.where, some.offsets, strict=True)]
    assert sorted([(w, o) for w, o, _ in stamps] + waiting) == sorted(world.log), "each once, told or given up"
    known = {place // MANY for place, _, kind, _, _ in world.deliveries if kind == CREATE}
    assert not {where // MANY for where, _ in waiting} & known, "who has seen one with the producers' clock can tell"
