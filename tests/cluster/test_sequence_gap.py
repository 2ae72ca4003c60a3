"""An idempotent producer misses a number in one partition and an acknowledgement in another (librdkafka#4953)."""

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]
AS_EXPECTED = {"gap": True, "no error": True, "exact duplicates": True, "nothing lost": True}


def test_librdkafka_writes_twice_exactly_what_it_was_not_told_of_in_another_partition(trial):
    result = trial("sequence-gap", client="librdkafka", records="30")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == {"duplicate": 30}, result
    assert result.expectations == AS_EXPECTED, "and the application was told of no error"
    assert len(result.manifest["exposed"]) == 30, result


@pytest.mark.nightly
def test_java_writes_nothing_twice(trial):
    result = trial("sequence-gap", client="java")

    assert result.passed, result
    assert result.found == {}, result
    assert result.expectations == AS_EXPECTED, result


@pytest.mark.nightly
@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_with_one_request_under_way_there_is_no_gap_and_nothing_is_there_twice(trial, client):
    result = trial("sequence-gap", client=client, in_flight="1")

    assert result.passed, result
    assert result.found == {}, result
    assert result.expectations == AS_EXPECTED, result
