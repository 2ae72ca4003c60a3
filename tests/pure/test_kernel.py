"""The shared nouns: addresses that hide their secrets, waiting that tells what it saw, errors with their facts."""

import pytest

from kernel.cluster import ClusterAddress, PartitionState
from kernel.errors import NotReady, SuiteError, UsageError
from kernel.waiting import wait_until

SCRAM = ClusterAddress(
    "a:1,b:2", "SASL_SSL", ca_file="/ca.pem", sasl_mechanism="SCRAM-SHA-512", username="me", password="hush-hush"
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_an_address_prints_without_its_password():
    assert "hush-hush" not in repr(SCRAM)
    assert "hush-hush" not in str(SCRAM)


def test_an_address_speaks_to_each_client_in_its_own_words():
    assert SCRAM.librdkafka()["sasl.password"] == "hush-hush"
    assert 'ScramLoginModule required username="me" password="hush-hush";' in SCRAM.java()["sasl.jaas.config"]
    assert SCRAM.kafka_python()["bootstrap_servers"] == ["a:1", "b:2"]
    assert ClusterAddress("a:1").librdkafka() == {"bootstrap.servers": "a:1", "security.protocol": "PLAINTEXT"}


def test_waiting_returns_what_was_good():
    clock, looks = Clock(), iter([1, 2, 3])

    assert wait_until(lambda: next(looks), lambda n: n == 3, what="three", timeout=9, clock=clock, sleep=clock.sleep) == 3


def test_waiting_in_vain_tells_what_was_seen_last():
    clock = Clock()

    with pytest.raises(
        NotReady, match=r"broker 2 in the ISR: not so after 5 s, last saw \[1, 3\]\. Look at its log\."
    ) as vain:
        wait_until(
            lambda: [1, 3], lambda isr: 2 in isr, what="broker 2 in the ISR", timeout=5, hint="Look at its log.",
            clock=clock, sleep=clock.sleep,
        )  # fmt: skip

    assert vain.value.seen == [1, 3]


def test_waiting_goes_on_while_there_is_nobody_to_look_at():
    clock, looks = Clock(), iter([False, True])

    def look() -> str:
        if not next(looks):
            raise NotReady("no broker answered")
        return "there"

    assert wait_until(look, lambda _: True, what="it", timeout=9, clock=clock, sleep=clock.sleep) == "there"


def test_errors_carry_their_facts_and_their_exit_code():
    error = UsageError("port 1 is in use", port=1)

    assert (error.port, error.exit_code, SuiteError("x").exit_code) == (1, 2, 4)
    assert not hasattr(error, "colour")


@pytest.mark.parametrize(("leader", "isr", "complete"), [(1, {1, 2}, True), (1, {1}, False), (None, {1, 2}, False)])
def test_fully_replicated_means_led_and_in_sync(leader: int | None, isr: set[int], complete: bool):
    assert PartitionState("t", 0, leader, 1, (1, 2), frozenset(isr)).fully_replicated is complete
