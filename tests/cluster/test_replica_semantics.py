"""What replicas promise: the last one standing that lost its tail is not believed, and leaders may move as they like."""

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]


def test_with_eligible_leader_replicas_a_broker_that_lost_its_tail_may_not_lead(trial):
    result = trial("last-replica")

    assert result.passed, result
    assert result.found == {}, result
    assert result.expectations == {
        "ELR": True, "not the one that lost its tail": True, "who leads": True, "exact loss": True
    }, result  # fmt: skip


@pytest.mark.nightly
def test_without_them_exactly_the_end_of_the_log_is_lost_though_others_had_it(trial):
    result = trial("last-replica", elr="off", records="40")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == {"lost-write": 60, "inconsistent-offsets": 60}, result
    assert result.expectations == {"ELR": True, "who leads": True, "exact loss": True}, result


@pytest.mark.nightly
def test_an_idempotent_producer_has_no_record_twice_however_often_leadership_moves(trial):
    result = trial("leader-moves")

    assert result.passed, result
    assert result.found == {}, result
    assert result.expectations == {
        "every move is one": True, "exact duplicates": True, "duplicates by moves": True, "nothing lost": True
    }, result  # fmt: skip


@pytest.mark.nightly
def test_without_idempotence_exactly_the_records_whose_acknowledgement_was_lost_are_there_twice(trial):
    result = trial("leader-moves", idempotence="off", moves="30", records="30")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found.keys() == {"duplicate"}, result
    assert result.expectations == {
        "every move is one": True, "exact duplicates": True, "duplicates by moves": True, "nothing lost": True
    }, result  # fmt: skip
