"""What consumers are promised and what they promise: each scenario passes, and its twin finds exactly what it must."""

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]


@pytest.mark.nightly
def test_a_crash_skips_nothing_when_offsets_are_stored_after_the_work(trial):
    result = trial("auto-commit")

    assert result.passed, result
    assert result.found == {}, result
    wanted = {"commits behind the work": True, "none skipped": True, "exact repetition": True}
    assert result.expectations == wanted, result


def test_a_crash_loses_exactly_what_is_in_hand_when_offsets_are_stored_before(trial):
    result = trial("auto-commit", store="before")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found.keys() == {"commit-ahead"}, result
    assert result.expectations == {"exact loss": True, "exact repetition": True}, result
    assert result.manifest["exposed"], result


@pytest.mark.nightly
def test_a_slow_consumer_catches_up_while_retention_lets_it(trial):
    result = trial("retention-loss")

    assert result.passed, result
    assert result.found == {}, result
    assert result.expectations == {"kept": True, "none missed": True}, result


@pytest.mark.nightly
@pytest.mark.parametrize("limit", ["bytes", "ms"])
def test_retention_takes_from_a_slow_consumer_exactly_what_lies_below_the_log_start(trial, limit):
    result = trial("retention-loss", retention="short", limit=limit, records="3500")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found.keys() == {"lost-write", "poll-skip"} and result.found["poll-skip"] == 1, result
    assert limit == "bytes" or result.found["lost-write"] == 3500, "by age, all of them go"
    assert result.expectations == {"exact loss": True, "reset to the log start": True, "told nothing": True}, result


def test_a_consumer_misses_nothing_that_is_still_there_when_its_offset_was_deleted(trial):
    result = trial("offset-reset")

    assert result.passed, result
    assert result.found == {}, result
    assert result.expectations == {"none missed": True, "exact gap": True, "none again": True, "told": True}, result


@pytest.mark.nightly
def test_reset_to_latest_skips_exactly_what_lies_between(trial):
    result = trial("offset-reset", reset="latest")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == {}, "another reader has seen all of it"
    assert result.expectations == {"none missed": False, "exact gap": True, "none again": True, "told": True}, result


@pytest.mark.nightly
def test_without_a_reset_a_consumer_is_told_and_waits(trial):
    result = trial("offset-reset", reset="error")

    assert result.passed, result
    names = ("waits", "none missed", "exact gap", "none again", "told")
    assert result.expectations == dict.fromkeys(names, True), result


@pytest.mark.nightly
@pytest.mark.parametrize("reset", ["earliest", "latest", "error"])
def test_a_consumer_notices_that_the_log_was_cut_below_it(trial, reset):
    result = trial("offset-reset", how="truncated", reset=reset, records="40")

    assert result.verdict["verdict"] == "FAIL", "the log has lost what it had read"
    back = {} if reset == "error" else {"nonmonotonic-poll": 1}
    assert result.found == {"inconsistent-offsets": 40, **back}, result
    own = ("waits", "read again") if reset == "error" else ("taken back", "none again")
    assert result.expectations == dict.fromkeys(("exact truncation", "none missed", "told", *own), True), result


@pytest.mark.nightly
def test_records_that_fail_end_once_and_hold_up_nobody(trial):
    result = trial("retry-topics")

    assert result.passed, result
    assert result.found == {}, result
    names = ("all ended", "dead letters", "exact retries", "delay kept", "none held up")
    assert result.expectations == dict.fromkeys(names, True), result


@pytest.mark.nightly
def test_who_skips_records_that_fail_never_processes_exactly_those(trial):
    result = trial("retry-topics", mode="skip")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found.keys() == {"poll-skip"}, result
    assert result.expectations == {"exact loss": True, "none held up": True}, result


@pytest.mark.nightly
def test_who_tries_again_on_the_spot_holds_up_the_healthy_ones_behind(trial):
    result = trial("retry-topics", mode="block")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == {}, "nothing is lost by it"
    assert result.expectations == {"all ended": True, "dead letters": True, "none held up": False}, result
