"""Where logs begin and end is told of every partition that was asked for, or it is told which of them did not answer."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from compose.cluster import Cluster
from compose.log_offsets import ATTEMPTS, log_ends, log_offsets
from kernel.cluster import ClusterAddress
from kernel.errors import NotReady
from kernel.waiting import wait_until

ADDRESS = ClusterAddress("127.0.0.1:1")
BOTH = [("orders", 0), ("orders", 1)]
LOST, SILENT = KafkaError._DESTROY_BROKER, -1001

Answers = dict[int, int]  # of each partition an offset, or the code of an error


class Brokers:
    """What each client in turn is told; `asked` is what it asked for."""

    def __init__(self, *answers: Answers) -> None:
        self._answers, self.asked = list(answers), list[list[int]]()

    def admin(self, _config: dict[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(list_offsets=self._list_offsets)

    def _list_offsets(self, asked: dict[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        told = self._answers.pop(0)
        self.asked.append([where.partition for where in asked])
        return {where: _future(told[where.partition]) for where in asked}

    def consumer(self, _config: dict[str, Any]) -> SimpleNamespace:
        told = self._answers.pop(0)
        self.asked.append([])
        return SimpleNamespace(
            get_watermark_offsets=lambda where, **_: self._watermarks(told, where.partition), close=lambda: None
        )

    def _watermarks(self, told: Answers, partition: int) -> tuple[int, int]:
        self.asked[-1].append(partition)
        return (0, _future(told[partition]).result().offset)


def _future(told: int) -> Future[Any]:
    answer: Future[Any] = Future()
    if told >= 0 or told == SILENT:
        answer.set_result(SimpleNamespace(offset=told))
    else:
        answer.set_exception(KafkaException(KafkaError(told)))
    return answer


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch):
    def answering(*answers: Answers) -> Brokers:
        those = Brokers(*answers)
        monkeypatch.setattr("confluent_kafka.admin.AdminClient", those.admin)
        monkeypatch.setattr("confluent_kafka.Consumer", those.consumer)
        return those

    return answering


def ends() -> dict[tuple[str, int], int]:
    return log_ends(ADDRESS, BOTH, committed=False, patience=1)


def test_every_end_is_told_by_one_client(brokers: Any):
    those = brokers({0: 7, 1: 0})

    assert ends() == {("orders", 0): 7, ("orders", 1): 0}
    assert those.asked == [[0, 1]]


@pytest.mark.parametrize("trouble", [LOST, KafkaError._TIMED_OUT, SILENT])
def test_who_did_not_answer_is_asked_again_by_another_client(brokers: Any, trouble: int):
    those = brokers({0: trouble, 1: 5}, {0: 7})

    assert ends() == {("orders", 0): 7, ("orders", 1): 5}
    assert those.asked == [[0, 1], [0]]


@pytest.mark.parametrize(("trouble", "why"), [(KafkaError._TIMED_OUT, "Timed out"), (SILENT, "no answer in 1 s")])
def test_a_partition_that_never_answers_is_named_and_not_left_out(brokers: Any, trouble: int, why: str):
    those = brokers({0: 7, 1: trouble}, *[{1: trouble}] * (ATTEMPTS - 1))

    with pytest.raises(
        NotReady, match=rf"^where the log of orders-1 begins and ends could not be read in 3 .*{why}"
    ) as told:
        ends()

    assert told.value.partitions == [("orders", 1)]
    assert those.asked == [[0, 1], [1], [1]]


def test_whoever_waits_for_ends_goes_on_waiting_while_nobody_tells_them(brokers: Any):
    brokers(*[{0: LOST, 1: LOST}] * ATTEMPTS, {0: 7, 1: 5})

    seen = wait_until(ends, lambda known: all(end > 0 for end in known.values()), what="records", timeout=9, every=0)

    assert len(seen) == 2


def test_beginning_and_end_are_asked_for_again_and_whoever_is_silent_is_named(brokers: Any):
    those = brokers({0: 7, 1: LOST}, {1: 5})
    assert log_offsets(ADDRESS, "orders", 2) == {0: (0, 7), 1: (0, 5)}
    assert those.asked == [[0, 1], [1]]

    brokers({0: 7, 1: LOST}, *[{1: LOST}] * (ATTEMPTS - 1))
    with pytest.raises(NotReady, match=r"^where the log of orders-1 begins and ends could not be read"):
        log_offsets(ADDRESS, "orders", 2)


def test_a_topic_that_nobody_knows_yet_has_no_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Cluster, "direct_address", ADDRESS)
    cluster = Cluster()
    monkeypatch.setattr(cluster.view, "partitions", lambda *_: [])

    for look in (cluster.log_ends, cluster.log_offsets):
        with pytest.raises(NotReady, match=r"^no broker knows a partition of orders: create it first, or wait for it\.$"):
            look("orders")
