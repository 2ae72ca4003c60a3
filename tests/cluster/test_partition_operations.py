"""Brokers added, replaced and removed, partitions moved, replicas raised, leaders brought home: each under traffic, and each
twin fails with exactly what was left undone."""

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]


def within(result):
    return {row["within"] for row in result.verdict["recovery"]}


@pytest.mark.nightly
def test_a_new_broker_serves_what_it_is_given(trial):
    result = trial("add-broker")

    assert result.passed, result
    assert result.expectations == {"in sync": True, "leads": True, "others untouched": True}, result
    assert within(result) == {True}, result


@pytest.mark.nightly
def test_a_new_broker_that_is_given_nothing_serves_nobody(trial):
    result = trial("add-broker", move="no")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"in sync": False, "leads": False, "others untouched": True}, result
    assert result.found == {}, result


@pytest.mark.nightly
def test_a_broker_that_comes_back_with_an_empty_disk_costs_no_more_than_a_kill(trial):
    result = trial("replace-broker")

    assert result.passed, result
    assert result.expectations == {"nothing lost": True}, result
    assert within(result) == {True}, result


@pytest.mark.nightly
def test_what_only_the_replaced_broker_had_is_lost_exactly(trial):
    result = trial("replace-broker", replication="1")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"exact loss": True}, result
    assert result.found.keys() <= {"lost-write", "unseen-write", "inconsistent-offsets"}, result
    assert result.found.get("lost-write", 0) + result.found.get("unseen-write", 0) > 0, result


@pytest.mark.nightly
def test_a_broker_that_was_drained_is_not_missed(trial):
    result = trial("remove-broker")

    assert result.passed, result
    assert result.expectations == {"drained": True, "fully replicated": True, "exactly those": True}, result
    assert within(result) == {True}, result


@pytest.mark.nightly
def test_a_broker_that_was_not_drained_leaves_exactly_its_replicas_missing(trial):
    result = trial("remove-broker", drain="no")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"fully replicated": False, "exactly those": True}, result
    assert result.found == {}, result


@pytest.mark.nightly
def test_a_throttled_move_takes_its_bytes_over_the_rate(trial):
    result = trial("rebalance-partitions")

    assert result.passed, result
    assert result.expectations == {"throttle": True, "took at least": True, "took at most": True}, result
    assert within(result) == {True}, result


@pytest.mark.nightly
def test_a_throttle_that_nobody_set_is_found_by_the_clock(trial):
    result = trial("rebalance-partitions", apply="no")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"took at least": False, "took at most": True}, result
    assert result.found == {}, result


@pytest.mark.nightly
def test_a_move_that_is_cancelled_leaves_nothing_behind(trial):
    result = trial("rebalance-partitions", how="cancel")

    assert result.passed, result
    assert result.expectations == {"throttle": True, "as before": True, "space freed": True}, result


@pytest.mark.nightly
def test_a_move_waits_for_its_broker_and_completes(trial):
    result = trial("rebalance-partitions", how="kill")

    assert result.passed, result
    assert result.expectations == {"throttle": True, "waits": True, "took at least": True}, result


@pytest.mark.nightly
def test_replicas_that_are_in_sync_take_over(trial):
    result = trial("raise-replication")

    assert result.passed, result
    assert result.expectations == {"replicas": True, "in sync": True, "another leads": True, "always led": True}, result
    assert within(result) == {True}, result


@pytest.mark.nightly
def test_lowered_replication_keeps_exactly_the_replicas_it_should(trial):
    result = trial("raise-replication", to="1")

    assert result.passed, result
    assert result.expectations == {"replicas": True, "in sync": True, "space freed": True}, result


@pytest.mark.nightly
def test_replicas_on_paper_protect_nothing(trial):
    result = trial("raise-replication", wait="no")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations["always led"] is False and result.expectations["exactly those"], result
    assert result.found == {}, "the partition was offline; nothing is lost"


def test_an_election_brings_every_leader_home(trial):
    result = trial("preferred-leader")

    assert result.passed, result
    assert result.expectations == {"skewed": True, "leaders at home": True}, result
    assert within(result) == {True}, result


@pytest.mark.nightly
def test_without_an_election_exactly_the_restarted_ones_stay_away(trial):
    result = trial("preferred-leader", elect="no")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations == {"skewed": True, "leaders at home": False, "exactly those": True}, result
    assert result.found == {}, result
