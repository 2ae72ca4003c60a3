"""An EndTxn that arrives inside the next transaction: refused where client and cluster can tell, obeyed where not."""

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]
AS_EXPECTED = {"late EndTxn": True, "versions": True, "no error": True, "exact reads": True}


def lost_half(count: int) -> dict[str, int]:
    """Both readers of what is committed, the one that follows and the closing one, step over the half that is gone."""
    return {"lost-write": count, "torn-transaction": 1, "poll-skip": 2}


def versions(result) -> tuple[list[int], int]:
    """What the client spoke on the wire, and what the cluster had finalised, as the manifest has it."""
    facts = result.manifest["clients"]["producer-1"]
    return facts["end_txn_versions"], facts["transaction_version"]


@pytest.mark.parametrize("end", ["commit", pytest.param("abort", marks=pytest.mark.nightly)])
def test_java_at_transaction_version_2_is_not_harmed(trial, end):
    result = trial("late-end-transaction", end=end)

    assert result.passed, result
    assert result.expectations == AS_EXPECTED, result
    assert versions(result) == ([5], 2), result


def test_a_late_abort_takes_half_a_committed_transaction_from_librdkafka(trial):
    result = trial("late-end-transaction", client="librdkafka", end="abort", records="30")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == lost_half(30), result
    assert result.expectations == AS_EXPECTED, "and the application was told of no error"
    assert versions(result) == ([1], 2), "whatever the cluster could do"
    assert len(result.manifest["exposed"]) == 30, result


@pytest.mark.nightly
def test_a_late_commit_shows_half_an_aborted_transaction_of_librdkafka(trial):
    result = trial("late-end-transaction", client="librdkafka", end="commit", records="30")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == {"aborted-read": 30}, result
    assert result.expectations == AS_EXPECTED, result


@pytest.mark.nightly
@pytest.mark.parametrize("client", ["java", "librdkafka"])
@pytest.mark.parametrize(("end", "found"), [("commit", {"aborted-read": 20}), ("abort", lost_half(20))])
def test_at_transaction_version_1_nobody_is_safe(trial, client, end, found):
    result = trial("late-end-transaction", client=client, end=end, transaction_version="1")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == found, result
    assert result.expectations == AS_EXPECTED, result
    spoken, level = versions(result)
    assert max(spoken) < 5 and level == 1, result
