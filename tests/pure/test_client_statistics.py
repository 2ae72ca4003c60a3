"""What librdkafka told of real clients, read: units, names, and what is not known."""

from typing import Any

import pytest

from exporters.clients.statistics import LONGEST, QUANTILES, Window, statistics
from exporters.clients.totals import Totals
from tests.pure.recorded_statistics import told


def partition(**figures: Any) -> dict[str, Any]:
    """Of a consumer that nothing is known of yet, but for `figures`."""
    unknown = {"query_offset": -1001, "lo_offset": -1001, "ls_offset": -1001, "app_offset": -1001}
    return {"fetch_state": "active", "consumer_lag": -1, "consumer_lag_stored": -1, "fetchq_cnt": 0, **unknown, **figures}


def consumer(**partitions: dict[str, Any]) -> dict[str, Any]:
    named = {name.removeprefix("p").replace("_", "-"): figures for name, figures in partitions.items()}
    return {"name": "reader#consumer-1", "type": "consumer", "topics": {"orders": {"partitions": named}}}


def lag(**figures: Any) -> int | None:
    return statistics(consumer(p0=partition(**figures))).lags.get(("orders", 0))


def producer_with(window: dict[str, Any], name: str = "rtt") -> dict[str, Any]:
    broker = {"name": "b:1/1", "nodeid": 1, "source": "learned", "state": "UP", "connects": 1, name: window}
    return {"name": "writer#producer-1", "type": "producer", "brokers": {"b:1/1": broker}}


def window(**figures: int) -> dict[str, int]:
    return {"cnt": 2, "sum": 6000, "max": 4000, "outofrange": 0, "p50": 2000, "p99": 4000, **figures}


def test_a_transactional_producer_is_read():
    found = statistics(told("transactional_producer"))

    assert (found.client, found.kind) == ("transactional_producer#producer-6", "producer")
    assert (found.records_sent, found.bytes_sent, found.queue_records) == (20, 20, 0)
    assert (found.queue_max_records, found.queue_max_bytes) == (100_000, 1 << 30)
    assert found.producer is not None
    assert (found.producer.idempotence, found.producer.transaction, found.producer.epochs) == (
        "Assigned",
        "InTransaction",
        1,
    )
    assert found.group is None and found.lags == {}


def test_a_consumer_in_a_group_is_read():
    found = statistics(told("group_consumer"))

    assert (found.kind, found.records_received, found.bytes_received) == ("consumer", 200, 200)
    assert found.group is not None
    assert (found.group.state, found.group.join_state, found.group.assigned) == ("up", "steady", 2)
    assert (found.group.rebalances, found.group.rebalance_age) == (1, 0.407)
    assert found.producer is None


def test_brokers_go_by_their_id_and_coordinators_by_what_they_do():
    assert set(statistics(told("transactional_producer")).brokers) == {"1", "2", "3", "transaction-coordinator"}
    assert set(statistics(told("group_consumer")).brokers) == {"1", "2", "3", "coordinator"}


def test_a_coordinators_connection_is_not_one_more_broker():
    assert statistics(told("group_consumer")).connected == 3
    assert statistics(told("transactional_producer")).connected == 2


def test_a_client_that_reaches_nobody_has_no_broker_and_is_connected_to_none():
    found = statistics(told("lost_producer"))

    assert (found.connected, found.brokers, found.queue_records) == (0, {}, 1)


def test_a_broker_that_was_never_needed_was_never_connected_to():
    brokers = statistics(told("transactional_producer")).brokers

    assert {name for name, broker in brokers.items() if not broker.connects} == {"1"}
    assert not brokers["1"].up and brokers["2"].up


def test_a_broker_whose_address_changes_is_still_up():
    updating = producer_with(window())
    updating["brokers"]["b:1/1"]["state"] = "UPDATE"

    assert statistics(updating).brokers["1"].up


def test_latencies_are_microseconds_and_throttling_is_milliseconds():
    assert statistics(producer_with(window())).brokers["1"].latency.total == pytest.approx(0.006)
    assert statistics(producer_with(window(), "throttle")).brokers["1"].throttle.total == pytest.approx(6.0)


def test_quantiles_are_those_of_the_interval_and_the_longest():
    seen = statistics(producer_with(window())).brokers["1"].latency.quantiles

    assert seen == pytest.approx({"0.5": 0.002, "0.99": 0.004, "1": 0.004})


def test_requests_too_slow_for_the_histogram_leave_no_quantile_but_the_longest():
    """Of a real broker 0.9 s away, librdkafka tells a median and a 99th percentile of 0."""
    slow = told("slow_producer")
    assert [slow["brokers"][name]["rtt"]["p99"] for name in slow["brokers"] if name.endswith("/3")] == [0]

    seen = statistics(slow).brokers["3"].latency

    assert seen.quantiles == pytest.approx({LONGEST: 0.91859})
    assert (seen.count, seen.total) == (1, pytest.approx(0.91859))


def test_an_interval_without_requests_has_no_quantiles():
    assert statistics(producer_with(window(cnt=0, sum=0))).brokers["1"].latency.quantiles == {}


def test_all_of_librdkafkas_quantiles_are_known():
    rtt = next(iter(told("slow_producer")["brokers"].values()))["rtt"]

    assert {name for name in rtt if name.startswith("p")} == set(QUANTILES)


def test_lag_is_behind_what_the_application_was_handed():
    found = statistics(told("group_consumer"))

    assert found.lags["orders", 0] == 95


def test_a_partition_read_from_its_beginning_lags_by_all_of_it_until_the_first_record_is_taken():
    found = statistics(told("group_consumer"))

    assert told("group_consumer")["topics"]["orders"]["partitions"]["1"]["consumer_lag"] == -1
    assert found.lags["orders", 1] == 100


@pytest.mark.parametrize(
    ("figures", "wanted"),
    [
        ({"consumer_lag_stored": 3, "consumer_lag": 7}, 3),
        ({"consumer_lag": 7}, 7),
        ({"app_offset": 10, "ls_offset": 25, "lo_offset": 5, "query_offset": -2}, 15),
        ({"lo_offset": 5, "ls_offset": 25, "query_offset": -2}, 20),
        ({"lo_offset": 5, "ls_offset": 25, "query_offset": -1}, None),
        ({"query_offset": -2}, None),
        ({}, None),
        ({"consumer_lag_stored": 0}, 0),
    ],
    ids=["stored", "committed", "taken", "from the beginning", "from the end", "end not known", "nothing known", "none"],
)
def test_lag_by_what_is_known(figures: dict[str, int], wanted: int | None):
    assert lag(**figures) == wanted


def test_a_partition_that_is_not_fetched_has_no_lag():
    assert lag(consumer_lag_stored=3, fetch_state="stopped") is None
    assert lag(consumer_lag_stored=3, fetch_state="active") == 3


def test_records_without_a_partition_are_no_partition():
    assert statistics(consumer(p_1=partition(consumer_lag_stored=3))).lags == {}


def test_the_queue_that_every_partition_tells_whole_is_counted_once():
    waiting = [figures["fetchq_cnt"] for figures in told("group_consumer")["topics"]["orders"]["partitions"].values()]

    assert waiting == [195, 195, 0]
    assert statistics(told("group_consumer")).fetch_queue == 195


def test_a_group_that_never_rebalanced_has_no_age_of_a_rebalance():
    fresh = told("group_consumer")
    fresh["cgrp"] |= {"rebalance_cnt": 0, "rebalance_age": 37_000_000}

    group = statistics(fresh).group

    assert group is not None and group.rebalance_age is None


def test_an_idempotent_producer_is_in_no_transaction_state():
    """Without a transactional.id, librdkafka tells the state Init for ever."""
    idempotent = told("transactional_producer")
    del idempotent["brokers"]["TxnCoordinator"]

    state = statistics(idempotent).producer

    assert state is not None and (state.idempotence, state.transaction) == ("Assigned", None)


def test_what_an_older_librdkafka_lacks_is_not_known():
    found = statistics({"name": "old#producer-1", "type": "producer"})

    assert (found.records_sent, found.brokers, found.group, found.producer) == (0, {}, None, None)


@pytest.mark.parametrize(
    "odd", [{}, {"name": "x", "type": "producer", "txmsgs": "many"}, {"name": "x", "type": "", "brokers": 3}]
)
def test_what_is_no_statistics_is_an_error(odd: dict[str, Any]):
    with pytest.raises((KeyError, ValueError, AttributeError)):
        statistics(odd)


def test_windows_add_up_to_totals():
    totals = Totals()
    totals.add(Window(2, 0.5, {"0.5": 0.25}))
    totals.add(Window(1, 0.1, {"0.5": 0.1}))

    assert list(totals.samples({"client": "a"})) == [
        ("", {"client": "a", "quantile": "0.5"}, 0.1),
        ("_count", {"client": "a"}, 3),
        ("_sum", {"client": "a"}, 0.6),
    ]


def test_a_quiet_interval_takes_the_quantiles_away_and_keeps_the_sum():
    totals = Totals()
    totals.add(Window(2, 0.5, {"0.5": 0.25}))
    totals.add(Window(0, 0.0, {}))

    assert list(totals.samples({})) == [("_count", {}, 2), ("_sum", {}, 0.5)]
