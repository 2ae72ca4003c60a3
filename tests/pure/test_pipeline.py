"""A pipeline's values, its plan, what a closed ledger says of transactions, and who coordinates them: both ways."""

import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from chaos.evidence.account import Account
from chaos.evidence.seal import seal
from chaos.traffic import worker
from chaos.traffic.client import Client
from chaos.traffic.piping import BATCHES, INPUTS, LIVES, Piping, input_of, output_value
from chaos.traffic.plans import ConsumerPlan, PipelinePlan, Plan, ProducerPlan, from_json, to_json
from chaos.traffic.traffic import VALUES_EACH
from chaos.traffic.transacting import answered
from compose.coordinators import java_hash, partition_of
from interceptors.ledger.announcement import ListedValues
from interceptors.ledger.ledger_writer import LedgerWriter
from interceptors.ledger.valuing import digits
from kernel.errors import SuiteError, UsageError

TOPICS = {"orders": 4}


# ---- values -------------------------------------------------------------------------------------------------------

lives, batches = st.integers(1, LIVES - 1), st.integers(1, BATCHES - 1)
inputs = st.integers(0, INPUTS - 1).map(lambda number: VALUES_EACH + number)


@given(lives, batches, inputs)
def test_an_output_tells_its_input_and_fits_into_a_record(life: int, batch: int, read: int):
    value = output_value(life, batch, read)

    assert input_of(value) == input_of(read) == read - VALUES_EACH
    assert digits(b"%016d" % value) == value


@given(st.tuples(lives, batches, inputs), st.tuples(lives, batches, inputs))
def test_every_attempt_at_an_input_has_a_value_of_its_own(one: tuple[int, int, int], other: tuple[int, int, int]):
    assert (output_value(*one) == output_value(*other)) is (one == other)


def test_no_output_has_the_value_of_an_ordinary_record():
    assert output_value(1, 1, VALUES_EACH) > 99 * VALUES_EACH


@pytest.mark.parametrize(("life", "batch"), [(0, 1), (LIVES, 1), (1, 0), (1, BATCHES)])
def test_what_has_no_value_left_says_so(life: int, batch: int):
    with pytest.raises(SuiteError, match=rf"^batch {batch} of life {life} has no values left: a run has 99 lives"):
        output_value(life, batch, VALUES_EACH)


# ---- calls that may never return ----------------------------------------------------------------------------------


def test_a_call_that_does_not_return_is_given_up():
    never = threading.Event()

    assert answered(never.wait, 0.01) is None
    never.set()


@pytest.mark.parametrize("answer", [True, False])
def test_a_call_that_returns_has_its_answer(answer: bool):
    assert answered(lambda: answer, 30) is answer


# ---- plans --------------------------------------------------------------------------------------------------------


def pipeline(**more: Any) -> PipelinePlan:
    return PipelinePlan(**{"topics": TOPICS, "target": "invoices", "identity": "pipeline-1", **more})


def test_a_pipeline_is_a_reader_of_committed_records_and_an_ordered_writer():
    facts = pipeline().facts()

    assert from_json(to_json(pipeline())) == pipeline()
    assert (facts["isolation"], facts["mode"], facts["ordered"], facts["role"]) == (
        "read_committed", "subscribe", True, "pipeline",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"topics": {}}, r"^a client without a topic has nothing to do"),
        ({"batch": 0}, r"^batch 0 cannot be: give more than 0\.$"),
        ({"target": "orders"}, r"^a pipeline from 'orders' into itself never ends: give another target\.$"),
    ],
)
def test_a_pipeline_that_cannot_be_is_refused(wrong: dict[str, Any], sentence: str):
    with pytest.raises(UsageError, match=sentence):
        pipeline(**wrong)


@pytest.mark.parametrize(
    "plan", [ConsumerPlan(topics=TOPICS), ProducerPlan(topics=TOPICS), ProducerPlan(topics=TOPICS, transaction=1)]
)
def test_who_has_no_middle_cannot_be_held_there(plan: Plan):
    client = object.__new__(Client)
    client.name, client.plan = "client-1", plan

    with pytest.raises(UsageError, match=r"^client client-1 has nothing to hold: a pipeline has, or transactions of 2"):
        client.hold()


# ---- a client that reads and writes -------------------------------------------------------------------------------


def test_a_killed_pipelines_values_are_unknown_and_what_it_read_hides_none_of_them(tmp_path: Path):
    """Its rows hold values of others, smaller and greater than all of its own."""
    import pyarrow.parquet as pq

    ledger = tmp_path / "ledger"
    ledger.mkdir()
    writer = LedgerWriter(ledger, "run", "pipeline-1")
    promise = ListedValues(ledger, run_id="run", client="pipeline-1")
    for value in (30, 10, 20):
        promise.sending(value)
    for op, (kind, value) in enumerate([("poll", 5), ("send", 20), ("poll", 99)]):
        writer.row(op=op, ix=0, kind=kind, outcome="ok", value=value, invoked_ns=1, completed_ns=2)
    writer.close()

    seal(tmp_path)

    rows = pq.read_table(ledger / "pipeline-1.parquet").to_pylist()
    assert {row["value"] for row in rows if row["outcome"] == "info"} == {10, 30}
    assert len(rows) == 5


# ---- once more ----------------------------------------------------------------------------------------------------


class Group:
    """A consumer with two partitions, whose coordinator gives these answers in turn, and the last one ever after.

    An answer is the error of all together, or by partition an offset, or the error of that one."""

    def __init__(self, *answers: KafkaError | dict[int, int | KafkaError], refuses: dict[int, int] | None = None) -> None:
        self._answers, self._refuses = list(answers), dict(refuses or {})  # how many seeks of a partition are refused
        self.asked: list[list[int]] = []
        self.sought: list[tuple[int, int]] = []

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition("orders", partition) for partition in (0, 1)]

    def committed(self, asked: list[TopicPartition], timeout: float) -> list[Any]:
        return self._answered(asked)

    def commit(self, *, offsets: list[Any], asynchronous: bool) -> list[Any]:
        return self._answered(offsets)

    def seek(self, where: TopicPartition) -> None:
        if self._refuses.get(where.partition, 0) > 0:
            self._refuses[where.partition] -= 1
            raise KafkaException(KafkaError(KafkaError._STATE))
        self.sought.append((where.partition, where.offset))

    def _answered(self, asked: list[Any]) -> list[Any]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.asked.append([where.partition for where in asked])
        if isinstance(answer, KafkaError):
            raise KafkaException(answer)
        return [self._told(where.partition, answer[where.partition]) for where in asked]

    def _told(self, partition: int, answer: int | KafkaError) -> SimpleNamespace:
        known = {"offset": answer, "error": None} if isinstance(answer, int) else {"offset": -1001, "error": answer}
        return SimpleNamespace(topic="orders", partition=partition, **known)


LOADING, FENCED = (KafkaError(code) for code in (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaos.traffic.piping.PATIENCE", 0.3)
    monkeypatch.setattr("chaos.traffic.piping.COMMIT_AGAIN", 0.3)


def piping(group: Group) -> Piping:
    client = object.__new__(Piping)
    client.plan, client._consumer = pipeline(), group
    return client


def test_an_undone_batch_goes_back_to_what_is_committed_or_to_the_beginning():
    group = Group({0: 7, 1: -1001})

    piping(group)._rewind()

    assert group.sought == [(0, 7), (1, 0)]


def test_a_coordinator_that_does_not_know_yet_is_asked_again():
    group = Group(LOADING, {0: 7, 1: 5})

    piping(group)._rewind()

    assert group.sought == [(0, 7), (1, 5)]


def test_an_offset_with_an_error_is_not_the_beginning():
    group = Group({0: LOADING, 1: 5}, {0: 7})

    piping(group)._rewind()

    assert (group.sought, group.asked) == ([(1, 5), (0, 7)], [[0, 1], [0]])


def test_one_partition_that_cannot_be_set_back_leaves_none_of_the_others_ahead():
    group = Group({0: 7, 1: 5}, refuses={0: 1})

    piping(group)._rewind()

    assert (group.sought, group.asked) == ([(1, 5), (0, 7)], [[0, 1], [0]])


def test_a_pipeline_that_cannot_go_back_ends_instead_of_skipping(impatient: None):
    group = Group({0: 7, 1: LOADING})

    with pytest.raises(SuiteError, match=r"^orders-1 could not be set back within 0\.3 s to what group pipeline has comm"):
        piping(group)._rewind()


def test_what_a_group_did_not_take_is_told_again():
    group = Group({0: 7, 1: LOADING}, {1: 5})

    assert piping(group)._group_committed([TopicPartition("orders", 0, 7), TopicPartition("orders", 1, 5)])
    assert group.asked == [[0, 1], [1]]


@pytest.mark.parametrize("answer", [FENCED, {0: 7, 1: FENCED}], ids=["all", "one"])
def test_who_is_no_longer_a_member_has_not_committed(answer: Any):
    group = Group(answer)

    assert not piping(group)._group_committed(group.assignment())
    assert group.asked == [[0, 1]]


def test_a_commit_that_is_never_taken_has_not_been_made(impatient: None):
    assert not piping(Group({0: 7, 1: LOADING}))._group_committed(Group().assignment())


@pytest.mark.parametrize(("trouble", "code"), [(None, 0), (SuiteError("orders-1 could not be set back."), 1)])
def test_a_pipeline_whose_producer_hangs_is_gone_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], trouble: SuiteError | None, code: int
):
    left: list[int] = []
    monkeypatch.setattr(worker.os, "_exit", left.append)
    client = object.__new__(Piping)
    client.stuck = [object()]

    with suppress(SuiteError):
        try:
            if trouble:
                raise trouble
        finally:
            worker._leave(client)

    assert left == [code]
    assert ("orders-1 could not be set back." in capsys.readouterr().err) is bool(trouble)


# ---- the account --------------------------------------------------------------------------------------------------

BLANK = dict.fromkeys(("client", "op", "ix", "invoked_ns", "completed_ns", "error", "topic", "partition", "offset", "epoch"))


def row(kind: str, outcome: str = "ok", *, txn: str | None = None, value: int | None = None, **more: Any) -> dict[str, Any]:
    return {**BLANK, "client": "c", "kind": kind, "outcome": outcome, "txn": txn, "value": value, "final": False, **more}


@pytest.mark.parametrize(
    ("ends", "fate"),
    [
        ([("commit", "ok")], "ok"),
        ([("abort", "ok")], "fail"),
        ([("commit", "fail"), ("abort", "ok")], "fail"),
        ([("commit", "fail")], "fail"),
        ([("commit", "info"), ("abort", "ok")], "info"),
        ([("commit", "info"), ("commit", "ok")], "ok"),
        ([("abort", "info")], "info"),
        ([], "info"),
    ],
)
def test_the_fate_of_a_record_is_that_of_its_transaction(ends: list[tuple[str, str]], fate: str):
    account = Account([row("send", txn="t", value=1), *(row(kind, outcome, txn="t") for kind, outcome in ends)])

    assert account.fates == {1: fate}


def test_outside_a_transaction_and_refused_on_the_spot_the_fate_is_its_own():
    rows = [
        row("send", value=1),
        row("send", "info", value=2),
        row("send", "fail", txn="t", value=3),
        row("commit", txn="t"),
    ]

    assert Account(rows).fates == {1: "ok", 2: "info", 3: "fail"}


def test_what_the_closing_reader_saw_stands_apart_from_what_others_read():
    account = Account([row("poll", value=1, final=True), row("poll", value=2)])

    assert ([read.value for read in account.final], [read.value for read in account.reads]) == ([1], [2])
    assert account.drained == {1}


# ---- coordinators -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("abc", 96354),
        ("polygenelubricants", -(1 << 31)),
        ("€", 8364),
        ("😀", 1772899),
        ("kafka-trial", -1469373009),
    ],
)
def test_an_id_is_hashed_as_java_does(text: str, code: int):
    assert java_hash(text) == code


def test_a_coordinators_partition_is_never_negative():
    assert partition_of("polygenelubricants", 50) == 0
    assert partition_of("abc", 50) == 96354 % 50
    assert partition_of("kafka-trial", 50) == 1469373009 % 50
