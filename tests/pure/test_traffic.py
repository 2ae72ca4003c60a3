"""What an error means for a record, when the next one is due, and that no record falls between two columns."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.evidence.folder import RunFolder
from chaos.traffic.flat_out import BATCH, FlatOut
from chaos.traffic.pacing import Pace
from chaos.traffic.plans import ConsumerPlan, DrainPlan, Plan, ProducerPlan, from_json, to_json
from chaos.traffic.traffic import Traffic
from interceptors.ledger.deliveries import Deliveries, Sent
from interceptors.outcomes import CERTAIN, UNKNOWN, outcome_of_commit, outcome_of_request, outcome_of_send
from kernel.errors import SuiteError, UsageError
from kernel.ledger import Outcome

TOPICS = {"orders": 2}
SECOND = 10**9
PAGE = Path(__file__).parent.parent.parent / "docs" / "traffic.md"


# ---- outcomes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", CERTAIN)
def test_an_error_that_can_only_mean_not_in_the_log_is_a_failure(error: str):
    assert outcome_of_send(error) is Outcome.FAIL


@pytest.mark.parametrize("error", [*UNKNOWN, "AN_ERROR_OF_NEXT_YEAR", ""])
def test_any_other_error_leaves_it_open(error: str):
    assert outcome_of_send(error) is Outcome.INFO


def test_a_send_without_an_error_is_acknowledged():
    assert outcome_of_send(None) is Outcome.OK


def test_no_error_is_both_certain_and_unknown():
    assert CERTAIN.keys() & UNKNOWN.keys() == set()


def test_the_errors_are_librdkafkas_but_for_our_own_word():
    from confluent_kafka import KafkaError

    known = {KafkaError(code).name() for name in dir(KafkaError) if isinstance(code := getattr(KafkaError, name), int)}

    assert {*CERTAIN, *UNKNOWN} - known == {"_CLIENT_KILLED"}


def test_a_commit_failed_only_if_an_abort_is_all_that_is_left():
    assert outcome_of_commit(None, must_abort=False) is Outcome.OK
    assert outcome_of_commit("_TIMED_OUT", must_abort=False) is Outcome.INFO
    assert outcome_of_commit("TRANSACTION_ABORTABLE", must_abort=True) is Outcome.FAIL


def test_a_request_that_was_refused_is_not_known_to_have_done_nothing():
    assert outcome_of_request(None) is Outcome.OK
    assert outcome_of_request("REBALANCE_IN_PROGRESS") is Outcome.INFO


def test_every_error_is_on_the_page_with_its_outcome():
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    told = {row[1].strip().strip("`"): row[2].strip() for row in rows}

    assert {name: told.get(name) for name in CERTAIN} == dict.fromkeys(CERTAIN, "fail")
    assert {name: told.get(name) for name in UNKNOWN} == dict.fromkeys(UNKNOWN, "info")


# ---- pacing -------------------------------------------------------------------------------------------------------


def test_after_a_stall_everything_that_was_due_is_due():
    pace = Pace(rate=100, start_ns=0)
    pace.take()

    assert pace.due(now_ns=3 * SECOND) == 300


def test_a_late_record_shows_when_it_was_meant_to_be_sent():
    pace = Pace(rate=100, start_ns=5 * SECOND)

    assert [pace.take() - 5 * SECOND for _ in range(3)] == [0, SECOND // 100, 2 * SECOND // 100]


def test_a_producer_that_keeps_up_owes_nothing_and_waits_for_the_next():
    pace = Pace(rate=100, start_ns=0, sent=51)

    assert pace.due(now_ns=505_000_000) == 0
    assert pace.wait_s(now_ns=505_000_000) == pytest.approx(0.005)


def test_a_rest_on_purpose_leaves_nothing_owing():
    pace = Pace(rate=100, start_ns=0, sent=51)

    pace.resumed(now_ns=60 * SECOND)

    assert pace.due(now_ns=60 * SECOND) <= 1  # the next one, and none of the six thousand
    assert pace.due(now_ns=61 * SECOND) in (100, 101)
    assert pace.take() == pytest.approx(60 * SECOND, abs=1)


@pytest.mark.slow
@given(
    rate=st.integers(1, 2000).map(lambda halves: halves / 2),
    start=st.integers(0, 10**15),
    looks=st.lists(st.integers(0, 500 * SECOND), min_size=1, max_size=20),
)
def test_by_any_time_as_many_were_due_as_the_rate_says(rate: float, start: int, looks: list[int]):
    """However often, and however late, somebody looked."""
    pace, scheduled = Pace(rate, start), []

    for elapsed in sorted(looks):
        scheduled += [pace.take() for _ in range(pace.due(start + elapsed))]

    assert len(scheduled) == int(Fraction(rate) * max(looks) / SECOND) + 1
    assert scheduled == sorted(scheduled)
    assert scheduled[-1] <= start + max(looks)


# ---- plans --------------------------------------------------------------------------------------------------------

BAD: list[tuple[Callable[[], Plan], str]] = [
    (lambda: ProducerPlan(topics={}), r"^a client without a topic has nothing to do: give \{topic: partitions\}\.$"),
    (lambda: ProducerPlan(topics={"a": 0}), r"^topic 'a' with 0 partitions cannot be: give 1 or more\.$"),
    (lambda: ProducerPlan(topics=TOPICS, rate=0), r"^rate 0 cannot be: give more than 0\.$"),
    (lambda: ProducerPlan(topics=TOPICS, records=-1), r"^records -1 cannot be"),
    (lambda: ProducerPlan(topics=TOPICS, keys=0), r"^keys 0 cannot be"),
    (lambda: ProducerPlan(topics=TOPICS, transaction=0), r"^transaction 0 cannot be"),
    (lambda: ProducerPlan(topics=TOPICS, transaction=5, abort_every=0), r"^abort_every 0 cannot be"),
    (lambda: ProducerPlan(topics=TOPICS, abort_every=3), r"^abort_every 3 aborts nothing: give transaction, too\.$"),
    (lambda: ProducerPlan(topics=TOPICS, acks="2"), r"^acks '2' is not known: choose one of 0, 1, all\.$"),
    (lambda: ProducerPlan(topics=TOPICS, size=15), r"^record size 15 is too small: .* 16 bytes at least\.$"),
    (lambda: ProducerPlan(topics=TOPICS, size=90, size_max=80), r"^record sizes from 90 to 80 are none"),
    (lambda: ProducerPlan(topics=TOPICS, acks="1"), r"^acks 1 cannot be idempotent or transactional"),
    (lambda: ConsumerPlan(topics={}), r"^a client without a topic"),
    (lambda: ConsumerPlan(topics=TOPICS, batch=0), r"^batch 0 cannot be"),
    (lambda: ConsumerPlan(topics=TOPICS, commit_every=0), r"^commit_every 0 cannot be"),
    (lambda: ConsumerPlan(topics=TOPICS, process_ms=-1), r"^process_ms -1 cannot be: give 0 or more\.$"),
    (lambda: ConsumerPlan(topics=TOPICS, mode="guess"), r"^mode 'guess' is not known: choose one of subscribe, assign\.$"),  # type: ignore[arg-type]
    (lambda: ConsumerPlan(topics=TOPICS, protocol="new"), r"^group protocol 'new' is not known: .* classic, consumer\.$"),
    (lambda: ConsumerPlan(topics=TOPICS, isolation="none"), r"^isolation 'none' is not known"),
    (
        lambda: ConsumerPlan(topics=TOPICS, commit="never"),
        r"^commit 'never' is not known: choose one of sync, auto, store, none\.$",
    ),
]


@pytest.mark.parametrize(("plan", "sentence"), BAD)
def test_a_plan_that_cannot_be_is_refused_in_a_sentence(plan: Callable[[], Plan], sentence: str):
    with pytest.raises(UsageError, match=sentence):
        plan()


@pytest.mark.parametrize(
    "plan",
    [
        ProducerPlan(topics=TOPICS, rate=None, size=20, size_max=30, acks="1", idempotence=False, config={"linger.ms": 5}),
        ProducerPlan(topics={"a": 1, "b": 9}, keys=3, transaction=4, abort_every=2, records=7, seed=9),
        ConsumerPlan(topics=TOPICS, mode="assign", isolation="read_uncommitted"),
        ConsumerPlan(topics=TOPICS, protocol="consumer", static="me", commit="auto", process_ms=1.5),
        DrainPlan(topics=TOPICS, timeout=3),
    ],
)
def test_a_plan_arrives_in_its_process_as_it_was(plan: Plan):
    assert from_json(json.loads(json.dumps(to_json(plan)))) == plan


@pytest.mark.parametrize(
    ("more", "ordered"),
    [
        ({}, True),
        ({"idempotence": False}, False),
        ({"idempotence": False, "transaction": 5}, True),
        ({"idempotence": False, "config": {"max.in.flight": 1}}, True),
        ({"idempotence": False, "config": {"max.in.flight.requests.per.connection": "1"}}, True),
        ({"idempotence": False, "config": {"max.in.flight": 5}}, False),
    ],
)
def test_the_manifest_calls_ordered_whoever_promises_an_order(more: dict[str, Any], ordered: bool):
    assert ProducerPlan(topics=TOPICS, **more).facts()["ordered"] is ordered


def test_the_manifest_knows_a_reader_by_isolation_mode_and_group():
    group, alone = ConsumerPlan(topics=TOPICS, group="g", commit="auto"), ConsumerPlan(topics=TOPICS, mode="assign")

    assert group.facts() | {"group": "g", "mode": "subscribe", "protocol": "classic", "auto_commit": True} == group.facts()
    assert alone.facts() | {"group": None, "mode": "assign", "isolation": "read_committed"} == alone.facts()


# ---- delivery reports ---------------------------------------------------------------------------------------------


@dataclass
class Message:
    """As librdkafka reports one."""

    number: int
    place: int | None = 0
    where: int = 0
    name: str = "orders"

    def value(self) -> bytes:
        return b"%016d......" % self.number

    def topic(self) -> str:
        return self.name

    def partition(self) -> int:
        return self.where

    def offset(self) -> int | None:
        return self.place


@dataclass
class Error:
    word: str

    def name(self) -> str:
        return self.word


def handed_over(values: Iterable[int], *, scheduled: int | None = None) -> Deliveries:
    deliveries = Deliveries()
    deliveries.open |= {value: Sent(value, 10 * value, scheduled, None, value) for value in values}
    return deliveries


def test_errors_among_acknowledgements_stay_with_their_records():
    deliveries = handed_over(range(6))
    for value, error in enumerate([None, None, "_MSG_TIMED_OUT", None, "MSG_SIZE_TOO_LARGE", None]):
        place, where = (value, 1) if error is None else (-1001, -1 if value == 4 else 1)
        deliveries.delivered(deliveries.open[value], error and Error(error), Message(value, place, where))

    count, columns = deliveries.columns()

    assert (count, columns["value"]) == (6, [0, 1, 2, 3, 4, 5])
    assert columns["outcome"] == ["ok", "ok", "info", "ok", "fail", "ok"]
    assert columns["error"] == [None, None, "_MSG_TIMED_OUT", None, "MSG_SIZE_TOO_LARGE", None]
    assert columns["offset"] == [0, 1, None, 3, None, 5]
    assert columns["partition"] == [1, 1, 1, 1, None, 1]
    assert columns["invoked_ns"] == (0, 10, 20, 30, 40, 50)
    assert deliveries.acked == {("orders", 1): 4}
    assert deliveries.outcomes == {"ok": 4, "info": 1, "fail": 1}
    assert deliveries.errors == {"_MSG_TIMED_OUT": 1, "MSG_SIZE_TOO_LARGE": 1}
    assert deliveries.open == {}


def test_where_all_is_well_one_word_serves_for_all():
    deliveries = handed_over(range(2))
    for value in range(2):
        deliveries.delivered(deliveries.open[value], None, Message(value, place=7 + value))

    _, columns = deliveries.columns()

    assert (columns["outcome"], columns["topic"], columns["txn"], columns["scheduled_ns"]) == ("ok", "orders", None, None)
    assert columns["offset"] == [7, 8]


def test_a_record_that_nobody_waited_for_has_no_offset():
    deliveries = handed_over([1])
    deliveries.delivered(deliveries.open[1], None, Message(1, place=None))  # acks=0

    assert deliveries.columns()[1]["offset"] == [None]


def test_what_is_not_reported_stays_open_and_what_was_told_is_not_told_again():
    deliveries = handed_over(range(3))
    deliveries.delivered(deliveries.open[1], None, Message(1))

    assert deliveries.columns()[0] == 1
    assert deliveries.columns() == (0, {})
    assert set(deliveries.open) == {0, 2}


def test_a_burst_among_paced_records_does_not_take_their_schedule():
    deliveries = handed_over([1])
    deliveries.open[2] = Sent(op=2, invoked_ns=20, scheduled_ns=15, txn=None, value=2)
    for value in (1, 2):
        deliveries.delivered(deliveries.open[value], None, Message(value))

    assert deliveries.columns()[1]["scheduled_ns"] == (None, 15)


# ---- as fast as it goes -------------------------------------------------------------------------------------------

TARGETS = [("orders", 0), ("orders", 1), ("books", 0)]
FIRST = 5 * 10**12


@dataclass
class Librdkafka:
    """A producer's queue: reports come when somebody polls, in whatever way `fate` says."""

    fate: Callable[[int], str | None] = lambda _: None
    room: int = 10**9
    queue: list[tuple[Message, Callable[[Any, Message], None]]] = field(default_factory=list)
    handed: list[int] = field(default_factory=list)

    def produce_batch(self, topic: str, messages: list[dict[str, Any]], *, partition: int, on_delivery: Any) -> None:
        for message in messages:
            if len(self.queue) >= self.room:
                message["_error"] = Error("_QUEUE_FULL")
                continue
            number = int(message["value"][:16])
            self.handed.append(number)
            self.queue.append((Message(number, number - FIRST, partition, topic), on_delivery))

    def poll(self, _timeout: float) -> None:
        reported, self.queue = self.queue, []
        for message, told in reported:
            error = self.fate(message.number - FIRST)
            if error == "silence":
                continue
            told(error and Error(error), message)


def flat_out(kafka: Librdkafka) -> FlatOut:
    return FlatOut(kafka, kafka.poll, TARGETS, FIRST, size=20)


def seen_in(fast: FlatOut) -> Counter[int]:
    """Every value by how often it was told, however it ended."""
    _, columns = fast.columns()
    rows = [*fast.failures(), *fast.unknown()]
    return Counter([*map(int, columns.get("value", [])), *(row["value"] for row in rows)])


@pytest.mark.slow
@given(fates=st.lists(st.sampled_from([None, None, None, "_MSG_TIMED_OUT", "MSG_SIZE_TOO_LARGE", "silence"]), min_size=1))
def test_flat_out_every_record_is_told_exactly_once(fates: list[str | None]):
    kafka = Librdkafka(fate=lambda number: fates[number % len(fates)])
    fast = flat_out(kafka)
    for _ in range(3):
        fast.send()

    silent = sum(fates[number % len(fates)] == "silence" for number in range(fast.sent))
    assert seen_in(fast) == Counter(range(FIRST, FIRST + 3 * BATCH))
    assert fast.open == silent


def test_flat_out_a_row_knows_where_and_when_its_record_went():
    kafka = Librdkafka(fate=lambda number: "_MSG_TIMED_OUT" if number == BATCH + 1 else None)
    fast = flat_out(kafka)
    before = time.monotonic_ns()
    for _ in range(4):
        fast.send()
    after = time.monotonic_ns()

    count, columns = fast.columns()
    (failure,) = fast.failures()

    assert count == 4 * BATCH - 1
    assert Counter(zip(columns["topic"].to_pylist(), columns["partition"].tolist(), strict=True)) == {
        ("orders", 0): 2 * BATCH, ("orders", 1): BATCH - 1, ("books", 0): BATCH,
    }  # fmt: skip
    assert list(columns["op"] - 1) == list(columns["value"] - FIRST) == columns["offset"]
    assert failure | {"topic": "orders", "partition": 1, "outcome": "info", "op": BATCH + 2} == failure
    assert all(
        before <= sent <= done <= after for sent, done in zip(columns["invoked_ns"], columns["completed_ns"], strict=True)
    )
    assert fast.acked_by_partition() == {("orders", 0): 2 * BATCH, ("orders", 1): BATCH - 1, ("books", 0): BATCH}


def test_flat_out_a_full_queue_delays_records_and_loses_none():
    kafka = Librdkafka(room=BATCH // 3)
    fast = flat_out(kafka)

    fast.send()

    assert kafka.handed == list(range(FIRST, FIRST + BATCH))
    assert seen_in(fast) == Counter(kafka.handed)


@pytest.mark.slow
def test_flat_out_a_producer_that_takes_nothing_any_more_leaves_its_records_unknown():
    fast = flat_out(Librdkafka(room=0))

    fast.send()

    assert [row["outcome"] for row in fast.unknown()] == ["info"] * BATCH


@pytest.mark.slow
def test_flat_out_remembers_one_straggler_over_many_and_forgets_the_rest():
    kafka = Librdkafka(fate=lambda number: "silence" if number == 70_000 else None)
    fast = flat_out(kafka)
    told: Counter[int] = Counter()
    for _ in range(400):
        fast.send()
        told.update(fast.columns()[1]["value"].tolist())

    left = [row["value"] for row in fast.unknown()]

    assert (fast.open, left) == (1, [FIRST + 70_000])
    assert told + Counter(left) == Counter(range(FIRST, FIRST + 400 * BATCH))
    assert fast._window._base > FIRST + 60_000  # what lies before the straggler takes no memory any more


# ---- clients, as far as they go without a broker ------------------------------------------------------------------


@pytest.fixture
def traffic(tmp_path: Path):
    folder = RunFolder.create(tmp_path, day="d", scenario="s", run_id="r")
    with Traffic(folder, "r", {"bootstrap.servers": "127.0.0.1:1"}) as traffic:
        yield traffic


def test_a_client_nobody_started_is_not_found(traffic: Traffic):
    with pytest.raises(UsageError, match=r"client 'p' does not exist: there are none\."):
        traffic.client("p")


@pytest.mark.parametrize("name", ["a.b", "a/b", "", ".."])
def test_a_name_that_cannot_be_a_files_is_refused(traffic: Traffic, name: str):
    with pytest.raises(UsageError, match="cannot be: its files bear its name"):
        traffic.start(name, ConsumerPlan(topics=TOPICS))


@pytest.mark.slow
def test_a_producer_that_only_knows_full_speed_has_no_bursts(traffic: Traffic):
    client = traffic.start("p", ProducerPlan(topics=TOPICS, rate=None))

    with pytest.raises(UsageError, match="client p has no bursts"):
        client.burst(3)


@pytest.mark.slow
def test_a_client_that_comes_back_is_a_new_client(traffic: Traffic):
    plan = ConsumerPlan(topics=TOPICS)

    first = traffic.start("reader", plan, wait=False)
    traffic.kill("reader")
    again = traffic.revive("reader")

    assert (first.name, again.name) == ("reader", "reader.2")
    assert traffic.client("reader") is again
    assert list(traffic.facts()) == ["reader", "reader.2"]


@pytest.mark.slow
def test_a_client_that_cannot_start_is_told_with_its_last_words(traffic: Traffic):
    with pytest.raises(SuiteError, match=r'client p ended before it was ready\. Its log ends in ".*no\.such\.setting'):
        traffic.start("p", ProducerPlan(topics=TOPICS, config={"no.such.setting": 1}))


@pytest.mark.slow
def test_a_client_that_ended_by_itself_is_not_passed_over_at_the_end(traffic: Traffic):
    client = traffic.start("reader", ConsumerPlan(topics=TOPICS, mode="assign"))
    client._process.kill()  # not by our order
    client._process.wait()

    with pytest.raises(SuiteError, match="client reader ended before it was closed"):
        traffic.stop()


@pytest.mark.slow
def test_to_stop_the_producers_of_a_run_that_has_none_stops_nobody(traffic: Traffic):
    reader = traffic.start("reader", ConsumerPlan(topics=TOPICS, mode="assign"))

    traffic.stop_producers()

    assert reader.running


def test_the_slowest_audience_says_how_far_readers_are_behind(traffic: Traffic):
    """Two readers that each read half are not one that read all; two members of a group are."""
    frozen(traffic, "p", ProducerPlan(topics={"orders": 1}), {"acked": {"orders": {"0": 10}}})
    for member in ("m1", "m2"):
        frozen(traffic, member, ConsumerPlan(topics={"orders": 1}), {"read": {"orders": {"0": 5}}})
    assert traffic.lag() == {("orders", 0): 0}

    frozen(traffic, "alone", ConsumerPlan(topics={"orders": 1}, mode="assign"), {"read": {"orders": {"0": 7}}})

    assert traffic.lag() == {("orders", 0): 3}


def frozen(traffic: Traffic, name: str, plan: Plan, status: dict[str, Any]) -> None:
    """A client that has said this and says no more."""
    client = traffic.start(name, plan, wait=False)
    client.pause()
    client.status = status
