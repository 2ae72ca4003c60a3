"""Bounds come from what is in force, say what they are made of, and hold the elections that were really seen."""

from typing import Any

import pytest

from chaos import bounds
from chaos.bounds import Bound, Given, event_bounds
from kernel.errors import UsageError

# As a broker of Kafka 4.3.1 describes itself, as far as bounds ask.
BROKER = {
    "broker.heartbeat.interval.ms": "2000",
    "broker.session.timeout.ms": "9000",
    "controller.quorum.election.backoff.max.ms": "1000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "group.consumer.assignment.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.session.timeout.ms": "45000",
    "replica.fetch.backoff.ms": "1000",
    "replica.fetch.wait.max.ms": "500",
    "replica.lag.time.max.ms": "30000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "10000",
}


def given(client: dict[str, Any] | None = None, *, allowance: float = 3.0, **broker: str) -> Given:
    return Given(BROKER | {key.replace("_", "."): value for key, value in broker.items()}, client or {}, allowance)


def test_a_killed_leader_costs_a_session_and_the_clients_way_back():
    assert bounds.kill_broker(given()) == Bound(
        15.125,
        "9.0 s broker session + 1.1 s until the controller looks + "
        "1.0 s clients learn the leader + 1.0 s clients try again + 3.0 s allowance",
    )


def test_the_bound_follows_the_configuration():
    assert bounds.kill_broker(given(broker_session_timeout_ms="3000")).seconds == 8.375
    assert bounds.kill_broker(given({"retry.backoff.max.ms": 200, "fetch.error.backoff.ms": 100})).seconds == 13.525


def test_killing_the_active_controller_costs_a_quorum_election_more():
    more = bounds.kill_broker(given(), active_controller=True).seconds - bounds.kill_broker(given()).seconds

    assert more == 2 + 2 * 1 + 1
    assert "quorum fetch" in bounds.kill_broker(given(), active_controller=True).why


@pytest.mark.parametrize(
    ("session", "seen", "active_controller"),
    [("9000", (7.8, 8.4), False), ("3000", (2.6, 3.2), False), ("9000", (11.8, 12.4), True)],
)
def test_elections_seen_on_kafka_4_3_1_bear_the_signature_of_a_kill(session: str, seen: Any, active_controller: bool):
    signature = bounds.killed_signature(
        given(allowance=0, broker_session_timeout_ms=session), active_controller=active_controller
    )

    assert [signature.fits(seconds) for seconds in seen] == [True, True]


def test_an_election_too_early_or_too_late_for_a_kill_does_not_bear_its_signature():
    signature = bounds.killed_signature(given(allowance=0))

    assert [signature.fits(seconds) for seconds in (0.4, 6.9, 10.2)] == [False, False, False]


def test_a_controlled_shutdown_is_faster_than_the_session():
    assert bounds.stop_broker(given(allowance=0)).seconds == 4.0
    assert bounds.stopped_signature(given()).fits(0.3)
    assert not bounds.stopped_signature(given()).fits(9.7)


def test_a_broker_that_leads_again_is_met_by_clients_that_had_backed_off():
    assert bounds.stop_broker(given(), leads_again=True).seconds == 10 + 2 + 3
    assert bounds.kill_broker(given(), leads_again=True).seconds == 15.125
    assert bounds.stop_broker(given({"reconnect.backoff.max.ms": 500}), leads_again=True) == bounds.stop_broker(given())


def test_what_was_asked_of_a_paused_broker_hangs_until_the_client_gives_up():
    assert bounds.pause_broker(given(allowance=0), "send").seconds == 60 + 1 + 2
    assert bounds.pause_broker(given(allowance=0), "poll").seconds == 60 + 0.5 + 1 + 2
    assert "60.0 s socket timeout" in bounds.pause_broker(given(), "send").why


def test_a_client_that_gives_up_early_waits_for_the_fence_of_a_paused_broker():
    impatient = given({"socket.timeout.ms": 2000}, allowance=0)

    assert bounds.pause_broker(impatient, "send").seconds == 9 + 9 / 8 + 2
    assert bounds.pause_broker(given({"message.timeout.ms": 20_000}, allowance=0), "send").seconds == 20 + 1 + 2


def test_a_broker_that_is_resumed_answers_what_hung():
    assert bounds.pause_broker(given(allowance=0), "send", held_s=20) == Bound(
        22.0, "20.0 s paused + 1.0 s clients learn the leader + 1.0 s clients try again"
    )


def test_clients_that_still_reach_an_isolated_leader_may_learn_only_with_the_heal():
    assert bounds.isolate_leader(given(), held_s=40, clients_connected=True).seconds == 40 + 1 + 2 + 3
    assert bounds.isolate_leader(given(), held_s=40, clients_connected=False) == bounds.kill_broker(given())


def test_clients_cut_off_are_back_when_their_backoff_has_run_out():
    assert bounds.cut_clients(given(), held_s=5).seconds == 5 + 10 + 2 + 3


def test_a_follower_that_cannot_fetch_is_found_one_half_late_at_most():
    assert bounds.follower_cut(given(allowance=0)).seconds == 45 + 2
    assert bounds.follower_cut(given(allowance=0)).seconds > 44  # as it was seen


def test_the_metadata_stands_still_until_there_is_a_controller():
    assert bounds.controller_kill(given(allowance=0)).seconds == 5.0


def test_without_unclean_election_there_is_no_bound():
    assert bounds.unclean_election(given(), enabled="never") is None
    assert bounds.unclean_election(given(allowance=0), enabled="before") == Bound(
        4.0, "2.0 s broker heartbeat + 1.0 s clients learn the leader + 1.0 s clients try again"
    )
    late = bounds.unclean_election(given(allowance=0), enabled="after")
    assert late is not None
    assert late.seconds == 304.0


def test_a_killed_consumer_costs_its_session_and_a_rebalance():
    assert bounds.consumer_killed(given(allowance=0)).seconds == 45 + 2 * 3 + 2
    assert bounds.consumer_killed(given({"session.timeout.ms": 6000}, allowance=0)).seconds == 6 + 2 * 3 + 2


def test_the_session_of_a_next_generation_group_is_the_brokers():
    client = {"group.protocol": "consumer", "session.timeout.ms": 6000, "heartbeat.interval.ms": 1}

    assert bounds.consumer_killed(given(client, allowance=0)).seconds == 45 + 2 * 5 + 1 + 2


def test_a_consumer_that_says_goodbye_costs_no_session():
    assert bounds.consumer_closed(given(allowance=0)).seconds == 2 * 3 + 2


def test_members_that_are_away_from_poll_hold_up_the_rebalance_but_not_for_ever():
    assert bounds.consumer_closed(given(allowance=0), busy_s=4).seconds == 2 * 3 + 4 + 2
    assert bounds.consumer_closed(given({"max.poll.interval.ms": 10_000}, allowance=0), busy_s=60).seconds == 2 * 3 + 10 + 2


def test_a_record_that_is_to_be_tried_again_waits_for_its_delay_on_purpose():
    assert bounds.retry_due(given(allowance=0), delay_s=0.5).seconds == 0.5 + 2
    assert bounds.retry_due(given(), delay_s=2).why.startswith("2.0 s delay before it is tried again + ")


def test_a_static_member_that_is_back_in_time_costs_its_absence():
    assert bounds.static_member_back(given(allowance=0), away_s=5).seconds == 7.0

    with pytest.raises(UsageError, match=r"away for 50 s has lost its session of 45 s \(session.timeout.ms\)"):
        bounds.static_member_back(given(), away_s=50)
    assert bounds.static_member_back(given(allowance=0), away_s=50, session_s=60).seconds == 52.0


def test_a_log_directory_that_fails_costs_a_heartbeat_and_no_session():
    assert bounds.log_dir_failure(given(allowance=0)).seconds == 2 + 2
    assert bounds.log_dir_failure(given(allowance=0)).seconds < bounds.kill_broker(given(allowance=0)).seconds


def test_a_slow_disk_costs_its_stalls_as_long_as_nobody_is_dropped_for_it():
    assert bounds.slow_disk(given(allowance=0), stall_s=0.4).seconds == 0.8

    with pytest.raises(UsageError, match="a stall of 30 s is no shorter than the replica lag of 30 s"):
        bounds.slow_disk(given(), stall_s=30)


def test_a_setting_that_the_broker_did_not_describe_is_asked_for_by_name():
    with pytest.raises(
        UsageError, match=r"the broker configuration lacks 'broker.session.timeout.ms': hand over everything"
    ):
        bounds.kill_broker(Given({}))


def test_a_setting_that_is_no_number_is_refused():
    with pytest.raises(UsageError, match=r"broker.session.timeout.ms is 'soon', not a number of milliseconds"):
        bounds.kill_broker(given(broker_session_timeout_ms="soon"))


def test_the_event_of_a_fault_carries_both_bounds_and_one_reason():
    both = bounds.kill_broker(given())

    assert event_bounds(both, both) == {"send": both.seconds, "poll": both.seconds, "why": both.why}
    assert event_bounds(Bound(1, "a"), Bound(2, "b")) == {"send": 1, "poll": 2, "why": "send: a; poll: b"}
    assert event_bounds(Bound(1, "a"), None) == {"send": 1, "why": "a"}
    assert event_bounds(None, None) == {}


def test_the_transaction_of_a_producer_that_is_gone_ends_when_its_time_is_up_and_somebody_looks():
    assert bounds.transaction_timed_out(given(), timeout_s=60) == Bound(
        73.0, "60.0 s transaction timeout + 10.0 s until the coordinator looks + 3.0 s allowance"
    )
    assert bounds.transaction_timed_out(given(), timeout_s=5).seconds == 18.0


def test_a_successor_costs_no_timeout():
    assert bounds.transaction_fenced(given()) == Bound(3.5, "0.5 s markers replicated + 3.0 s allowance")


def test_a_transaction_outlives_a_broker_by_a_session_and_its_own_end():
    killed, ended = bounds.kill_broker(given()).seconds, bounds.transaction_broker_killed(given())

    assert ended.seconds == killed + 0.5 + 1.0 + 0.5
    assert "clients ask for the coordinator" in ended.why
    assert bounds.transaction_broker_killed(given(), active_controller=True).seconds == ended.seconds + 5


QUOTA = {"quota.window.num": "5", "quota.window.size.seconds": "2"}


def test_a_quota_is_kept_in_samples_so_a_stretch_has_one_more_or_less():
    kept = Given(QUOTA, {}, 3.0)

    assert bounds.quota_window(kept) == Bound(10, "5 samples of 2.0 s")
    assert bounds.quota_bytes(kept, 1_000, seconds=10) == (8_000, 12_000)
    assert bounds.quota_bytes(kept, 1_000, seconds=1) == (0, 3_000)


def test_whoever_is_not_throttled_waits_for_no_sample():
    assert bounds.beside_a_throttled_client(Given(QUOTA), 0.25) == Bound(
        2.25, "0.2 s as in quiet + 2.0 s less than one sample"
    )
