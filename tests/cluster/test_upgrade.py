"""Kafka is upgraded under traffic, from the oldest version that is tried to the newest, and back before it is for good."""

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]

ALWAYS = {"nothing lost": True, "no error": True, "min ISR": True, "mixed versions serve": True, "binaries 4.3.1": True}


def test_kafka_is_upgraded_and_nobody_notices(trial):
    result = trial("rolling-upgrade")

    assert result.passed, result
    assert result.found == {}, result
    assert result.expectations == {**ALWAYS, "finalised": True, "no way back": True}, result
    assert [step["fault"] for step in result.manifest["schedule"]] == ["replace-binaries"] * 3 + ["finalise"], result
    assert {row["within"] for row in result.verdict["recovery"] if row["kind"] == "send"} == {True}, result


@pytest.mark.nightly
def test_before_the_metadata_version_is_raised_there_is_a_way_back(trial):
    result = trial("rolling-upgrade", back="yes")

    assert result.passed, result
    assert result.expectations == {**ALWAYS, "binaries 3.9.1": True}, result
    assert [step["fault"] for step in result.manifest["schedule"]] == ["replace-binaries"] * 6, result


@pytest.mark.nightly
def test_the_step_from_a_version_in_between_is_the_same(trial):
    result = trial("rolling-upgrade", **{"from": "4.1.0"})

    assert result.passed, result
    assert result.expectations == {**ALWAYS, "finalised": True, "no way back": True}, result


@pytest.mark.nightly
def test_an_upgrade_that_does_not_wait_is_caught(trial):
    result = trial("rolling-upgrade", wait="no")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.expectations["min ISR"] is False, result
    (short,) = [row["sentence"] for row in result.verdict["expectations"] if row["name"] == "min ISR"]
    assert short.endswith("is without a leader; orders-0, orders-1, orders-2."), short
    assert result.found == {}, "acks=all loses nothing even so"
