"""Which records fail, how often, and how the values of what comes of them lead back to the first."""

import pytest

from chaos.traffic.failing import (
    ALWAYS,
    DEAD,
    DONE,
    FLAKY_EVERY,
    HOP,
    MOST_ATTEMPTS,
    POISON_EVERY,
    Failing,
    hop,
    original,
    sent_on,
)
from chaos.traffic.plans import ConsumerPlan, RetryPlan, from_json, to_json
from chaos.traffic.traffic import VALUES_EACH
from interceptors.ledger.valuing import SMALLEST
from kernel.errors import UsageError

TOPICS = {"orders": 3, "retry": 3}
NAMES = {"retry": "retry", "results": "results", "dead_letters": "dead-letters"}


def test_nothing_fails_before_it_is_told_to():
    some = range(VALUES_EACH, VALUES_EACH + 2 * POISON_EVERY * FLAKY_EVERY)

    assert not any(Failing().failures(value) for value in some)
    assert not any(Failing(some[-1] + 1).failures(value) for value in some)


def test_some_fail_once_some_twice_and_some_always_on_every_partition():
    failing = Failing(VALUES_EACH)
    found = {(failing.failures(value), value % 3) for value in range(VALUES_EACH, VALUES_EACH + 3000)}

    assert found == {(times, partition) for times in (0, 1, 2, ALWAYS) for partition in range(3)}


@pytest.mark.parametrize("to", [1, 2, DONE, DEAD])
def test_what_is_sent_on_leads_back_to_the_first_and_fails_as_it_does(to: int):
    for value in range(VALUES_EACH, VALUES_EACH + 3 * POISON_EVERY):
        further = sent_on(sent_on(value, 1), to)
        assert (hop(further), original(further)) == (to, value)
        assert Failing(VALUES_EACH).failures(further) == Failing(VALUES_EACH).failures(value)


def test_every_value_has_room_in_a_record():
    assert len(str(sent_on(HOP - 1, DEAD))) == SMALLEST
    assert ALWAYS >= MOST_ATTEMPTS and DONE >= MOST_ATTEMPTS  # a record that always fails never comes to its last try


def test_a_plan_comes_back_as_it_was_and_is_a_consumers():
    plan = RetryPlan(topics=TOPICS, way="block", attempts=2, delay_ms=50, **NAMES)

    assert from_json(to_json(plan)) == plan
    assert isinstance(plan, ConsumerPlan) and plan.facts()["role"] == "retrying"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"way": "forget"}, r"^way 'forget' is not known: choose one of topics, skip, block\.$"),
        ({"attempts": 0}, r"^attempts 0 cannot be: give 1 to 8\.$"),
        ({"attempts": 9}, r"^attempts 9 cannot be: give 1 to 8\.$"),
        ({"delay_ms": -1}, r"^delay_ms -1 cannot be: give 0 or more\.$"),
        ({"retry": "elsewhere"}, r"^retry topic 'elsewhere' is not read: name it among the topics\.$"),
        ({"batch": 0}, r"^batch 0 cannot be"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, object], sentence: str):
    with pytest.raises(UsageError, match=sentence):
        RetryPlan(**{"topics": TOPICS, **NAMES, **wrong})  # type: ignore[arg-type]
