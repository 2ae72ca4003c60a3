"""Transactions and the pipeline that needs them, on real brokers: what holds, and what a twin without it finds exactly."""

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]

ALWAYS = {"LSO moves again", "LSO stands still", "open transaction", "committed only", "exactly the aborted: reader-2"}


@pytest.mark.parametrize(
    "how",
    [
        "coordinator",
        pytest.param("leader", marks=pytest.mark.nightly),
        pytest.param("producer", marks=pytest.mark.nightly),
        pytest.param("zombie", marks=pytest.mark.nightly),
    ],
)
def test_a_committed_reader_sees_whole_transactions_whatever_dies_in_the_middle_of_one(trial, how):
    result = trial("transactions", how=how)

    assert result.passed, result
    wanted = ALWAYS | {"exactly the committed"} | ({"fenced"} if how == "zombie" else set())
    assert result.expectations == dict.fromkeys(wanted, True), result
    assert len(result.manifest["exposed"]) == 15, "half a transaction was open"


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["coordinator", "producer"])
def test_an_uncommitted_reader_sees_exactly_the_aborted_records_too(trial, how):
    result = trial("transactions", how=how, isolation="read_uncommitted")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == {}, "who asks for uncommitted records gets what was asked for"
    expected = dict.fromkeys(ALWAYS | {"exactly the aborted: reader-1"}, True) | {"committed only": False}
    assert result.expectations == expected, result


@pytest.mark.nightly
def test_every_input_is_in_the_output_once_however_often_pipelines_are_killed(trial):
    result = trial("exactly-once")

    assert result.passed, result
    wanted = ("none missing", "none twice", "in order", "cut off, unseen")
    assert result.expectations == dict.fromkeys(wanted, True), result
    assert result.manifest["exposed"], "transactions were cut off"


@pytest.mark.nightly
def test_without_transactions_exactly_what_was_not_committed_is_in_the_output_twice(trial):
    result = trial("exactly-once", transactions="off")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == {}, "to Kafka each attempt is a record of its own"
    expected = {"none missing": True, "none twice": False, "in order": True, "exactly those twice": True}
    assert result.expectations == expected, result
    assert result.manifest["exposed"], result
