"""Moves are decided without a cluster: who inherits, what has to be copied, whom a throttle is for."""

import pytest

from chaos import bounds
from chaos.bounds import Given, Signature
from compose.reassigning import added, bytes_in, drained, weighed
from compose.throttling import FOLLOWERS, LEADERS, nobody, rates, throttled_replicas
from kernel.cluster import PartitionState
from kernel.errors import NotReady, UsageError

BEFORE = {("orders", 0): [1, 2], ("orders", 1): [2, 1], ("payments", 0): [3, 1]}
AFTER = {("orders", 0): [1, 3], ("orders", 1): [2, 3], ("payments", 0): [3, 1]}


def state(topic: str, partition: int, *replicas: int) -> PartitionState:
    return PartitionState(topic, partition, replicas[0], 0, replicas, frozenset(replicas))


def test_whoever_leaves_is_replaced_where_it_stood():
    states = [state("orders", 0, 4, 1, 2), state("orders", 1, 1, 2, 4), state("orders", 2, 1, 2, 3)]

    assert drained(states, 4, [1, 2, 3]) == {("orders", 0): [3, 1, 2], ("orders", 1): [1, 2, 3]}


def test_replicas_go_to_whoever_has_fewest():
    states = [state("orders", partition, 4) for partition in range(3)] + [state("orders", 3, 1)]

    assert sorted(replicas[0] for replicas in drained(states, 4, [1, 2, 3]).values()) == [1, 2, 3]


def test_a_broker_without_replicas_has_nothing_to_move():
    assert drained([state("orders", 0, 1, 2, 3)], 4, [1, 2, 3]) == {}


def test_a_broker_whose_replicas_fit_nowhere_cannot_be_drained():
    with pytest.raises(UsageError, match=r"^broker 3 cannot be drained: orders-0 has a replica on every other one"):
        drained([state("orders", 0, 1, 2, 3)], 3, [1, 2])


def test_only_what_was_not_there_has_to_be_copied():
    assert added(BEFORE, AFTER) == {("orders", 0): [3], ("orders", 1): [3], ("payments", 0): []}
    assert bytes_in(BEFORE, AFTER, {("orders", 0): 10, ("orders", 1): 20, ("payments", 0): 40}) == {3: 30}


def test_a_change_of_order_copies_nothing():
    assert bytes_in(BEFORE, {("orders", 0): [2, 1]}, {("orders", 0): 10}) == {}


def test_a_throttle_is_for_those_copied_from_and_those_copied_to():
    assert throttled_replicas(BEFORE, AFTER) == {
        "orders": {LEADERS: "0:1,0:2,1:2,1:1", FOLLOWERS: "0:3,1:3"},
        "payments": {LEADERS: "0:3,0:1", FOLLOWERS: ""},
    }


def test_whatever_a_throttle_sets_is_taken_off_again():
    assert rates(2000).keys() == rates(None).keys()
    assert set(rates(2000).values()) == {"2000"} and set(rates(None).values()) == {None}
    assert nobody(["orders"]) == {"orders": {LEADERS: None, FOLLOWERS: None}}


def log_dirs(broker: int, *replicas: tuple[str, int, int, bool], error: int = 0) -> dict[str, object]:
    topics = [
        {"name": t, "partitions": [{"partition_index": p, "partition_size": size, "is_future_key": future}]}
        for t, p, size, future in replicas
    ]
    return {"broker": broker, "log_dirs": [{"error_code": error, "log_dir": "/data", "topics": topics}]}


def test_replicas_are_weighed_by_broker():
    answers = [log_dirs(1, ("orders", 0, 10, False), ("other", 0, 5, False)), log_dirs(2, ("orders", 0, 8, False))]

    assert weighed(answers, ["orders"]) == {("orders", 0): {1: 10, 2: 8}}


def test_a_replica_on_its_way_to_another_directory_counts_once():
    assert weighed([log_dirs(1, ("orders", 0, 10, False), ("orders", 0, 4, True))], ["orders"]) == {("orders", 0): {1: 10}}


def test_a_directory_that_cannot_be_read_is_not_an_empty_one():
    with pytest.raises(NotReady, match=r"^broker 1 cannot read /data: 56\.$"):
        weighed([log_dirs(1, error=56)], ["orders"])


COPYING = {
    "replica.fetch.response.max.bytes": "1000",
    "replication.quota.window.num": "11",
    "replication.quota.window.size.seconds": "1",
    "replica.fetch.backoff.ms": "1000",
    "replica.fetch.wait.max.ms": "500",
    "retry.backoff.max.ms": "1000",
}


def test_a_throttled_copy_takes_its_bytes_over_the_rate_but_for_one_fetch_of_each_source():
    fits = bounds.throttled_copy(Given(COPYING, {}, 2.0), at_first=20_000, at_last=24_000, rate=2_000, sources=2)

    assert fits == Signature(9.0, 12.0 + 1.0 + 0.5 + 1.0 + 2.0)
    assert fits.fits(10.0) and not fits.fits(2.0) and not fits.fits(17.0)


def test_what_goes_over_the_rate_is_forgotten_with_the_windows():
    fits = bounds.throttled_copy(Given(COPYING, {}, 0.0), at_first=48_000, at_last=48_000, rate=2_000, sources=1)

    assert fits.at_least_s == (48_000 - 3 * 1000) / 2000


def test_a_copy_that_fits_into_one_fetch_has_no_least_time():
    assert bounds.throttled_copy(Given(COPYING), at_first=900, at_last=900, rate=100, sources=1).at_least_s == 0.0


def test_a_configuration_without_a_number_is_refused():
    with pytest.raises(UsageError, match=r"has replication\.quota\.window\.num=None, not a whole number"):
        broken = {key: value for key, value in COPYING.items() if "num" not in key}
        bounds.throttled_copy(Given(broken), at_first=1, at_last=1, rate=1, sources=1)


def test_leadership_that_moves_costs_the_clients_way_and_no_session():
    bound = bounds.leadership_moved(Given({}, {"retry.backoff.max.ms": 200}, 2.5))

    assert bound.seconds == 0.2 + 0.5 + 2.5
    assert "session" not in bound.why


def test_space_is_freed_by_the_brokers_delay():
    assert bounds.space_freed(Given({"log.segment.delete.delay.ms": "1000"}, {}, 2.5)).seconds == 30 + 2 * 1 + 2.5
    known = {"log.segment.delete.delay.ms": "1000", "log.initial.task.delay.ms": "500"}
    assert bounds.space_freed(Given(known)).seconds == 2.5
