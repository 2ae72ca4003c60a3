"""One fault, sixteen combinations of settings: each is held to its own contract, and a wrong contract is found out."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from kafka_trial.pytest_plugin import TrialResult

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]
N = 20


def seen(result: TrialResult, what: str) -> dict[str, int]:
    """By topic (without what a shared cluster adds to its name): how many exposed records were lost, or were there twice."""
    rows: list[dict[str, Any]] = json.loads((result.folder / "matrix.json").read_text())["rows"]
    return {row["topic"].removesuffix(f"-{result.manifest['run_id']}"): row[what] for row in rows if row[what]}


def expected(result: TrialResult) -> dict[str, bool | None]:
    return {name: result.expectations[name] for name in ("within the contract", "as the schedule decides")}


AS_EXPECTED = {"within the contract": True, "as the schedule decides": True}
TOPICS = [f"isr-{isr}-unclean-{unclean}" for isr in (1, 2) for unclean in ("off", "on")]


@pytest.mark.nightly
def test_a_leader_that_dies_with_records_loses_exactly_those_that_acks_0_and_1_promised(trial: Callable[..., TrialResult]):
    result = trial("delivery-matrix", records=str(N))

    assert result.passed, result
    assert expected(result) == AS_EXPECTED, result
    assert seen(result, "lost") == {f"acks-{acks}-{topic}": N for acks in (0, 1) for topic in TOPICS}
    assert seen(result, "twice") == {}
    assert result.found == {"lost-write": 4 * N, "unseen-write": 4 * N, "inconsistent-offsets": 4 * N}, result


@pytest.mark.nightly
def test_a_contract_that_says_acks_1_is_safe_is_found_out(trial: Callable[..., TrialResult]):
    result = trial("delivery-matrix", records=str(N), claim="acks-1-is-safe")

    assert result.verdict["verdict"] == "FAIL", result
    assert expected(result) == {"within the contract": False, "as the schedule decides": True}, result
    sentence = next(one["sentence"] for one in result.verdict["expectations"] if one["holds"] is False)
    assert "4 are otherwise" in sentence and sentence.count("acks=1, min ISR") == 4, sentence


@pytest.mark.nightly
def test_a_plain_kill_costs_nothing_that_acks_all_promised(trial: Callable[..., TrialResult]):
    result = trial("delivery-matrix", fault="clean-kill")

    assert result.passed, result
    assert expected(result) == AS_EXPECTED, result
    assert not any(topic.startswith(("acks-all", "idempotent")) for topic in seen(result, "lost")), result
    assert not any(topic.startswith("idempotent") for topic in seen(result, "twice")), result


@pytest.mark.nightly
def test_who_takes_over_decides_what_is_lost(trial: Callable[..., TrialResult]):
    """With min ISR 2 the ELR has a leader ready, which costs acks=1 what min ISR 1 would have kept by waiting."""
    result = trial("delivery-matrix", fault="unclean", records=str(N))

    assert result.passed, result
    assert expected(result) == AS_EXPECTED and result.expectations["offline"], result
    taken = [f"acks-{acks}-{topic}" for acks in (0, 1) for topic in TOPICS if topic != "isr-1-unclean-off"]
    alone = ["acks-all-isr-1-unclean-on", "idempotent-isr-1-unclean-on"]
    assert seen(result, "lost") == dict.fromkeys([*taken, *alone], N)
    assert seen(result, "twice") == {}


def test_a_lost_acknowledgement_doubles_exactly_what_is_sent_again_without_idempotence(trial: Callable[..., TrialResult]):
    result = trial("delivery-matrix", fault="lost-acks", records=str(N))

    assert result.passed, result
    assert expected(result) == AS_EXPECTED, result
    assert seen(result, "twice") == {f"acks-{acks}-{topic}": N for acks in (1, "all") for topic in TOPICS}
    assert seen(result, "lost") == {}
    assert result.found == {"duplicate": 8 * N}, result
