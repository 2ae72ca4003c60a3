"""Configuration and quotas are changed under traffic: in effect where it is read back, and to the byte."""

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]

CHANGED = {
    "accepted": True, "in effect": True, "static refused": True, "min ISR of one broker": True, "restarts": True,
    "nothing lost": True, "no error": True, "fits": True, "too-large": True,
}  # fmt: skip


@pytest.mark.nightly
def test_what_is_dynamic_is_in_effect_without_a_restart(trial):
    result = trial("config-update")

    assert result.passed, result
    assert (result.expectations, result.found) == (CHANGED, {}), result
    assert {row["affected"] for row in result.verdict["recovery"]} == {False}, "every partition was watched for a gap"


@pytest.mark.nightly
def test_a_topics_own_setting_hides_that_of_the_brokers_and_is_named(trial):
    result = trial("config-update", override="topic")

    assert result.verdict["verdict"] == "FAIL", result
    assert (result.expectations, result.found) == ({**CHANGED, "in effect": False}, {}), result
    (reason,) = result.verdict["reasons"]
    assert "; topic payments retention.ms: 3600000, not 25200000." in reason, reason


@pytest.mark.nightly
def test_what_is_static_takes_a_rolling_restart(trial):
    result = trial("config-update", how="static")

    assert result.passed, result
    assert result.expectations == {"in effect": True, "restarts": True, "nothing lost": True, "no error": True}, result
    assert [step["fault"] for step in result.manifest["schedule"]] == ["restart-with-config"] * 3, result


@pytest.mark.nightly
def test_a_noisy_client_is_slowed_down_to_its_quota_and_the_other_is_not(trial):
    result = trial("quotas")

    assert result.passed, result
    assert result.expectations == {"read back": True, "throttled": True, "the other": True, "nothing lost": True}, result


@pytest.mark.nightly
def test_without_a_quota_the_noisy_client_gets_all_it_asks_for(trial):
    result = trial("quotas", quota="off")

    assert result.verdict["verdict"] == "FAIL", result
    assert (result.expectations["read back"], result.expectations["throttled"]) == (True, False), result
    assert result.found == {}, result


@pytest.mark.nightly
def test_who_bears_the_name_of_a_noisy_client_is_made_to_wait_with_it(trial):
    result = trial("quotas", quota="shared")

    assert result.verdict["verdict"] == "FAIL", result
    expected = {"read back": True, "throttled": True, "the other": False, "nothing lost": True}
    assert (result.expectations, result.found) == (expected, {}), result
