"""Each setting is named with its promise, and a finding with the setting that explains it, or that none does."""

from typing import Any

import pytest

from chaos.contract import CLAUSES, WATCHED, contract, permitted_by
from kernel.verdict import ANOMALIES

NOTHING = dict.fromkeys(ANOMALIES, 0)


def manifest(**producer: Any) -> dict[str, Any]:
    return {
        "clients": {
            "producer-1": {"acks": "all", "idempotence": True, **producer},
            "consumer-1": {"isolation": "read_committed", "mode": "subscribe", "auto_commit": False},
        },
        "topics": {"orders": {"partitions": 6, "replication": 3, "config": {}}},
        "config": {
            "brokers": {"1": {"unclean.leader.election.enable": "false", "min.insync.replicas": "1"}},
            "topics": {"orders": {"min.insync.replicas": "2"}},
        },
    }


def row(setting: str, run: dict[str, Any], counts: dict[str, int] = NOTHING) -> dict[str, str]:
    (found,) = [row for row in contract(run, counts) if row["setting"] == setting]
    return found


def test_every_setting_of_the_run_has_its_row():
    found = {(row["setting"], row["value"]) for row in contract(manifest(), NOTHING)}

    assert found == {
        ("acks", "all"),
        ("enable.idempotence", "true"),
        ("isolation.level", "read_committed"),
        ("mode", "subscribe"),
        ("enable.auto.commit", "false"),
        ("unclean.leader.election.enable", "false"),
        ("min.insync.replicas", "2"),
        ("replication", "3"),
    }


def test_a_promise_that_held_says_so():
    assert row("acks", manifest())["observed"] == "no acknowledged record lost"


def test_a_loss_under_acks_1_is_explained_by_it():
    assert row("acks", manifest(acks="1"), NOTHING | {"lost-write": 2, "unseen-write": 1}) == {
        "setting": "acks",
        "value": "1",
        "promise": "acknowledged when the leader has it: it may die with the leader",
        "observed": "3 acknowledged records lost: this setting allows it",
    }


def test_a_loss_under_acks_all_is_explained_by_nothing():
    assert row("acks", manifest(), NOTHING | {"lost-write": 3})["observed"] == (
        "3 acknowledged records lost: this setting does not explain it"
    )


def test_going_back_inside_an_assignment_is_not_excused_by_a_subscription():
    assert row("mode", manifest(), NOTHING | {"nonmonotonic-poll": 1})["observed"].endswith("does not explain it")


def test_the_topics_own_word_counts_before_the_brokers():
    run = manifest()
    del run["config"]["topics"]["orders"]["min.insync.replicas"]

    assert row("min.insync.replicas", run)["value"] == "1"


def test_two_producers_with_different_settings_have_a_row_each():
    run = manifest()
    run["clients"]["producer-2"] = {"acks": 1, "idempotence": False}

    assert [row["value"] for row in contract(run, NOTHING) if row["setting"] == "acks"] == ["1", "all"]


@pytest.mark.parametrize(("spelled", "value"), [(-1, "all"), ("-1", "all"), (1, "1"), ("all", "all"), (0, "0")])
def test_acks_are_known_however_they_are_spelled(spelled: Any, value: str):
    assert row("acks", manifest(acks=spelled))["value"] == value


def test_what_the_manifest_does_not_tell_is_left_out():
    assert contract({}, NOTHING) == []
    assert [row["setting"] for row in contract({"clients": {"p": {"acks": "all"}}, "config": {}}, NOTHING)] == ["acks"]


def test_what_was_not_counted_was_not_looked_at():
    assert row("acks", manifest(), {})["observed"] == "not looked at"


def test_weak_settings_explain_their_anomalies_and_strong_ones_nothing():
    weak = {
        "acks": "1",
        "enable.idempotence": False,
        "isolation.level": "read_uncommitted",
        "enable.auto.commit": True,
        "unclean.leader.election.enable": "true",
    }
    strong = {
        "acks": "all",
        "enable.idempotence": True,
        "isolation.level": "read_committed",
        "mode": "subscribe",
        "linger.ms": 5,
    }

    assert permitted_by({"acks": 1}) == {"lost-write", "unseen-write", "inconsistent-offsets"}
    assert permitted_by({"acks": 0}) == {"lost-write", "unseen-write"}
    assert permitted_by({"enable.idempotence": False}) == {"duplicate", "nonmonotonic-send"}
    assert permitted_by(weak) == set(ANOMALIES) - {"phantom-read", "poll-skip", "torn-transaction"}
    assert permitted_by(strong) == set()


def test_only_known_anomalies_are_spoken_of():
    watched = {name for watch in WATCHED.values() for name in watch.anomalies}
    explained = {
        name
        for setting in CLAUSES
        for value in ("0", "1", "true", "false", "read_uncommitted")
        for name in permitted_by({setting: value})
    }

    assert watched | explained <= set(ANOMALIES)
    assert set(WATCHED) == set(CLAUSES)
