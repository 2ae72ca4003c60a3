"""confluent-kafka's documented ways to use its clients, through its own classes and through ours, on real brokers.

Each pattern is one function that runs three times: with the originals, with ours and no interceptor, with ours and one that
hears everything. The results are the same; and what the interceptor heard is asserted, call by call.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka.serialization import (
    IntegerDeserializer,
    IntegerSerializer,
    StringDeserializer,
    StringSerializer,
)

import interceptors
from compose.cluster import Cluster
from kernel.waiting import wait_until
from tests.cluster.interceptor_kit import AS_LONG, Hearing, Kit, cluster, facts, read
from tests.pure.recording_interceptor import outcome

__all__ = ["cluster"]  # the fixture
NOW = int(time.time() * 1000) - 60_000  # brokers refuse the future and forget the past

Pattern = Callable[[Kit], Any]


@pytest.fixture
def alike(cluster: Cluster) -> Callable[[Pattern], tuple[Any, Hearing, Kit]]:
    """The result of a pattern, which is the same three times, what was heard, and of which topic."""

    def run(pattern: Pattern) -> tuple[Any, Hearing, Kit]:
        kept = Hearing()
        heard = Kit(cluster, interceptors, [kept])
        theirs = pattern(Kit(cluster, confluent_kafka, None))
        assert pattern(Kit(cluster, interceptors, [])) == theirs
        assert pattern(heard) == theirs
        return theirs, kept, heard

    return run


Alike = Callable[[Pattern], tuple[Any, Hearing, Kit]]


# ---- producers ----------------------------------------------------------------------------------------------------


def test_produce_with_callbacks_and_a_poll_loop(alike: Alike):
    def pattern(kit: Kit) -> Any:
        reports: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            reports.append((error, message.partition(), message.offset(), message.key(), message.value()))

        producer = kit.producer()
        for number in range(10):
            producer.produce(
                kit.topic, f"v{number}", key=f"k{number}", partition=number % 3, on_delivery=delivered,
                timestamp=NOW + number, headers={"n": f"{number}", "none": None},
            )  # fmt: skip
            producer.poll(0)
        while len(producer):
            producer.poll(0.1)
        consumer = kit.consumer()
        consumer.assign([kit.where(0, partition) for partition in range(3)])
        arrived = sorted(facts(message) for message in read(consumer, 10))
        consumer.close()
        return sorted(reports, key=lambda report: report[-1]), arrived, producer.flush(1), producer.close()

    (reports, arrived, left, closed), kept, _ = alike(pattern)

    assert len(reports) == len(arrived) == 10 and (left, closed) == (0, True)
    assert arrived[0][2:] == (b"k0", b"v0", [("n", b"0"), ("none", None)], (1, NOW))
    assert kept.heard("on_send") == [(f"v{number}",) for number in range(10)]
    assert sorted(kept.heard("on_acknowledgement")) == [(f"v{number}", None) for number in range(10)]
    assert kept.closed == 2  # one producer, one consumer


def test_a_full_queue_is_waited_for_and_every_attempt_is_told_of_once(alike: Alike):
    refusals: list[int] = []

    def pattern(kit: Kit) -> Any:
        refused, sent = 0, Counter[Any]()
        with kit.producer(queue_buffering_max_messages=5, linger_ms=1) as producer:
            for number in range(50):
                while True:
                    try:
                        producer.produce(kit.topic, f"{number}", callback=lambda e, m: sent.update([(e, m.value())]))
                        break
                    except BufferError as error:
                        assert "Queue full" in str(error)
                        refused += 1
                        producer.poll(0.1)
            assert producer.flush(AS_LONG) == 0
        refusals.append(refused)
        return sent

    sent, kept, _ = alike(pattern)

    assert sent == {(None, f"{number}".encode()): 1 for number in range(50)}
    told = Counter(error for _, error in kept.heard("on_acknowledgement"))
    assert told == {None: 50, "_QUEUE_FULL": refusals[-1]} and refusals[-1] > 0
    assert len(kept.heard("on_send")) == 50 + refusals[-1]


def test_a_batch_is_sent_whole_with_its_callbacks(alike: Alike):
    def pattern(kit: Kit) -> Any:
        reports: list[Any] = []
        note = lambda error, message: reports.append((error, message.partition(), message.value()))  # noqa: E731
        messages = [{"value": f"{n}", "key": "k", "partition": n % 3} for n in range(6)] + [
            {"value": None, "callback": note}
        ]
        with kit.producer() as producer:
            queued = producer.produce_batch(kit.topic, messages, partition=1, on_delivery=note)
            producer.flush(AS_LONG)
        return queued, sorted(reports, key=str), messages[:-1]

    (queued, reports, _), kept, _ = alike(pattern)

    assert queued == len(reports) == 7
    assert kept.heard("on_send") == [*((f"{n}",) for n in range(6)), (None,)]
    assert Counter(kept.heard("on_acknowledgement")) == Counter([*((f"{n}", None) for n in range(6)), (None, None)])


def test_consume_transform_produce_exactly_once_with_an_abort_in_between(alike: Alike):
    def pattern(kit: Kit) -> Any:
        kit.fill("a", "b", "c")
        output = f"{kit.topic}-out"
        kit.cluster.create_topic(output)
        consumer = kit.consumer(isolation_level="read_committed")
        consumer.subscribe([kit.topic])
        producer = kit.producer(transactional_id=kit.group)
        producer.init_transactions(AS_LONG)
        steps: list[Any] = []
        for value in ("abort", "commit"):
            records = read(consumer, 3)
            producer.begin_transaction()
            for record in records:
                producer.produce(output, record.value() + b"!" + value.encode(), record.key())
                producer.poll(0)
            here = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(here, consumer.consumer_group_metadata())
            getattr(producer, f"{value}_transaction")(AS_LONG)
            consumer.seek(kit.where(0))
        steps.append(outcome(producer.commit_transaction)[0])
        consumer.close()
        producer.close()
        reader = kit.consumer(isolation_level="read_committed")
        reader.assign([TopicPartition(output, 0, 0)])
        steps.append([record.value() for record in read(reader, 3)])
        reader.close()
        steps.append(wait_until(kit.committed, bool, what="offsets of the transaction", timeout=AS_LONG))
        return steps

    steps, kept, _ = alike(pattern)

    assert steps == ["KafkaException", [b"a!commit", b"b!commit", b"c!commit"], {0: 3}]
    told = [str(event.what) for event in kept.events if str(event.what) not in ("assign", "revoke")]
    once = ("begin", "send_offsets")
    assert told == [*once, "abort", "seek", *once, "commit", "seek", "commit"]
    assert [event.error is None for event in kept.events if event.what == "commit"] == [True, False]
    offsets = [where for event in kept.events if event.what == "send_offsets" for where in event.partitions]
    assert {where.offset for where in offsets if where.partition == 0} == {3}
    assert all(event.invoked_ns <= event.completed_ns for event in kept.events)
    assert len(kept.heard("on_acknowledgement")) == 6 and kept.heard("on_commit") == []


def test_serialisers_and_deserialisers_and_those_that_fail(alike: Alike):
    def pattern(kit: Kit) -> Any:
        reports: list[Any] = []
        producer = kit.client(
            "SerializingProducer", **{"key.serializer": StringSerializer(), "value.serializer": IntegerSerializer()}
        )
        note = lambda error, message: reports.append((error, message.key(), message.value()))  # noqa: E731
        for key, value in (("a", 1), ("b", "no number"), ("c", None), (b"bytes", 2)):
            reports.append(outcome(lambda k=key, v=value: producer.produce(kit.topic, k, v, partition=0, on_delivery=note)))
        producer.flush(AS_LONG)
        kit.fill("not four bytes")
        consumer = kit.client(
            "DeserializingConsumer",
            group_id=kit.group,
            enable_partition_eof=True,
            **{"key.deserializer": StringDeserializer(), "value.deserializer": IntegerDeserializer()},
        )
        consumer.assign([kit.where(0)])
        found: list[Any] = []
        while len(found) < 4:
            try:
                message = consumer.poll(0.1)
                if message is not None:  # a Message is as true as its value is long
                    found.append((message.key(), message.value()))
            except Exception as error:
                found.append((type(error).__name__, str(error)))
        batch = outcome(lambda: consumer.consume(5, 0))
        consumer.close()
        return reports, found, batch

    (reports, found, batch), kept, _ = alike(pattern)

    assert reports[1][0] == "ValueSerializationError" and reports[3][0] == "KeySerializationError"
    assert found[:2] == [("a", 1), ("c", None)]
    assert [name for name, _ in found[2:]] == ["ValueDeserializationError", "ConsumeError"]
    assert kept.heard("on_send") == [(1,), ("no number",), (None,), (2,)]
    assert Counter(kept.heard("on_acknowledgement")) == Counter(
        [(1, None), ("no number", "_VALUE_SERIALIZATION"), (None, None), (2, "_KEY_SERIALIZATION")]
    )
    assert kept.heard("on_consume") == [(1,), (None,)]
    assert batch == [] or isinstance(batch, tuple)


# ---- consumers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_basic_poll_loop_commits_by_itself_on_closing(alike: Alike, protocol: str):
    def pattern(kit: Kit) -> Any:
        kit.fill("a", "b", "c")
        consumer = kit.consumer(enable_auto_commit=True, auto_commit_interval_ms=600_000, group_protocol=protocol)
        consumer.subscribe([kit.topic])
        values = [record.value() for record in read(consumer, 3)]
        consumer.close()
        return values, kit.committed()

    (values, committed), kept, kit = alike(pattern)

    assert values == [b"a", b"b", b"c"] and committed == {0: 3}
    assert kept.heard("on_consume") == [(b"a",), (b"b",), (b"c",)]
    assert kept.heard("on_commit") == [((kit.topic, 0, 3),)]
    assert kept.events[0].what == "assign"
    assert Counter(str(event.what) for event in kept.events) == {"assign": 1, "offsets": 1, "revoke": 1}
    assert [event.asked for event in kept.events if event.what == "offsets"] == [False]
    assert kept.log[-1] == ("close",) and kept.polls >= 3


def test_synchronous_commits_are_told_once_each(alike: Alike):
    def pattern(kit: Kit) -> Any:
        kit.fill("a", "b", "c")
        consumer = kit.consumer()
        consumer.subscribe([kit.topic])
        nothing = outcome(lambda: consumer.commit(asynchronous=False))
        records = read(consumer, 3)
        answers = [
            consumer.commit(message=records[0], asynchronous=False),
            consumer.commit(offsets=[kit.where(2)], asynchronous=False),
            consumer.commit(asynchronous=False),
        ]
        wrong = outcome(lambda: consumer.commit(message=records[0], offsets=[kit.where(2)], asynchronous=False))
        failed = outcome(lambda: consumer.commit(offsets=[TopicPartition(kit.topic, 77, 1)], asynchronous=False))
        consumer.close()
        told = [
            [(where.partition, where.offset, where.error) for where in answer if where.offset >= 0] for answer in answers
        ]
        return nothing, told, wrong, failed if isinstance(failed, tuple) else len(failed), kit.committed()

    (nothing, told, wrong, _, _), kept, kit = alike(pattern)

    assert nothing[0] == "KafkaException" and wrong[0] == "ValueError"
    assert told == [[(0, 1, None)], [(0, 2, None)], [(0, 3, None)]]
    heard = kept.heard("on_commit")
    assert heard[:3] == [((kit.topic, 0, offset),) for offset in (1, 2, 3)]
    assert all(event.asked for event in kept.events)


def test_asynchronous_commits_are_told_once_each_and_the_applications_callback_too(alike: Alike):
    def pattern(kit: Kit) -> Any:
        kit.fill("a", "b", "c")
        answers: list[Any] = []
        note = lambda e, w: answers.append((e, [(p.partition, p.offset) for p in w if p.offset >= 0]))  # noqa: E731
        consumer = kit.consumer(on_commit=note)
        consumer.subscribe([kit.topic])
        for record in read(consumer, 3):
            assert consumer.commit(message=record) is None
        wait_until(lambda: (consumer.poll(0.05), len(answers))[1], lambda n: n == 3, what="three answers", timeout=AS_LONG)
        consumer.commit(asynchronous=True)  # its answer comes while closing
        consumer.close()
        return answers, kit.committed()

    (answers, committed), kept, kit = alike(pattern)

    assert answers[:3] == [(None, [(0, offset)]) for offset in (1, 2, 3)] and committed == {0: 3}
    assert len(answers) in (3, 4)
    done = [error for error, _ in answers if error is None]  # to the last one: there is nothing new to commit
    assert kept.heard("on_commit") == [((kit.topic, 0, offset),) for offset in (1, 2, 3, 3)[: len(done)]]
    offsets = [event for event in kept.events if event.what == "offsets"]
    assert [event.asked for event in offsets] == [True] * len(done)
    assert all(event.invoked_ns < event.completed_ns for event in offsets)


def test_commits_that_librdkafka_makes_by_itself_are_told_once_each(alike: Alike):
    answers: list[int] = []

    def pattern(kit: Kit) -> Any:
        answers.clear()
        note = lambda error, partitions: answers.extend(where.offset for where in partitions if where.offset >= 0)  # noqa: E731
        consumer = kit.consumer(enable_auto_commit=True, auto_commit_interval_ms=50, on_commit=note)
        consumer.subscribe([kit.topic])
        for number in range(1, 4):
            kit.fill(f"{number}")
            read(consumer, 1)
            wait_until(
                lambda: (consumer.poll(0.02), kit.committed().get(0))[1],
                lambda there, wanted=number: there == wanted,
                what=f"offset {number} committed",
                timeout=AS_LONG,
            )
        consumer.poll(0.1)
        consumer.close()
        return kit.committed()

    _, kept, kit = alike(pattern)

    # librdkafka may commit the same offset again on closing; its own callback is the witness of how often.
    assert kept.heard("on_commit") == [((kit.topic, 0, offset),) for offset in answers]
    assert sorted(set(answers)) == [1, 2, 3] and answers == sorted(answers)
    assert [event.asked for event in kept.events if event.what == "offsets"] == [False] * len(answers)


def test_only_stored_offsets_are_committed(alike: Alike):
    def pattern(kit: Kit) -> Any:
        kit.fill("a", "b", "c")
        consumer = kit.consumer(enable_auto_commit=True, enable_auto_offset_store=False)
        consumer.subscribe([kit.topic])
        records = read(consumer, 3)
        consumer.store_offsets(message=records[0])
        consumer.store_offsets(offsets=[kit.where(2)])
        consumer.close()
        return kit.committed()

    committed, kept, kit = alike(pattern)

    assert committed == {0: 2}
    assert kept.heard("on_commit") == [((kit.topic, 0, 2),)]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_on_assign_that_seeks_by_assigning_and_on_revoke_that_commits(alike: Alike, protocol: str):
    def pattern(kit: Kit) -> Any:
        kit.fill("a", "b", "c")
        seen: list[Any] = []
        consumer = kit.consumer(group_protocol=protocol)

        def on_assign(asked: Any, partitions: list[Any]) -> None:
            seen.append(("assign", asked is consumer, sorted(where.partition for where in partitions)))
            for where in partitions:
                where.offset = 1 if where.partition == 0 else 0
            if protocol == "classic":
                asked.assign(partitions)
            else:
                asked.incremental_assign(partitions)

        def on_revoke(asked: Any, partitions: list[Any]) -> None:
            seen.append(("revoke", asked is consumer, sorted(where.partition for where in partitions)))
            asked.commit(asynchronous=False)

        consumer.subscribe([kit.topic], on_assign=on_assign, on_revoke=on_revoke)
        values = [record.value() for record in read(consumer, 2)]
        consumer.close()
        return seen, values, kit.committed()

    (seen, values, committed), kept, kit = alike(pattern)

    assert seen == [("assign", True, [0, 1, 2]), ("revoke", True, [0, 1, 2])]
    assert values == [b"b", b"c"] and committed == {0: 3}
    assert [entry for entry in kept.log if entry[0] in ("on_commit", "on_event")] == [
        ("on_event", "assign", *((kit.topic, n) for n in _order(kept, "assign"))),
        ("on_commit", (kit.topic, 0, 3)),
        ("on_event", "offsets", (kit.topic, 0)),
        ("on_event", "revoke", *((kit.topic, n) for n in _order(kept, "revoke"))),
    ]


def _order(kept: Hearing, what: str) -> list[int]:
    """The partitions of an event, all three, in whatever order they came."""
    found = [where.partition for event in kept.events if event.what == what for where in event.partitions]
    assert sorted(found) == [0, 1, 2]
    return found


def test_partitions_are_lost_when_the_application_does_not_poll(alike: Alike):
    def pattern(kit: Kit) -> Any:
        kit.fill("a")
        seen: list[Any] = []
        consumer = kit.consumer(session_timeout_ms=1000, heartbeat_interval_ms=200, max_poll_interval_ms=1000)
        consumer.subscribe(
            [kit.topic],
            on_revoke=lambda asked, partitions: seen.append("revoke"),
            on_lost=lambda asked, partitions: seen.append(("lost", asked is consumer, len(partitions))),
        )
        read(consumer, 1)
        wait_until(lambda: kit.cluster.group(kit.group)[1], lambda n: n == 0, what="nobody in the group", timeout=AS_LONG)
        errors: list[Any] = []

        def look() -> Any:
            message = consumer.poll(0.05)
            if message is not None and message.error():
                errors.append(message.error().name())
            return seen

        wait_until(look, bool, what="lost", timeout=AS_LONG)
        consumer.close()
        return seen[0], errors[:1]

    (first, errors), kept, _ = alike(pattern)

    assert first == ("lost", True, 3) and errors in ([], ["_MAX_POLL_EXCEEDED"])
    assert [str(event.what) for event in kept.events[:2]] == ["assign", "lost"]
    assert all(value == (b"a",) for value in kept.heard("on_consume"))


def test_members_that_share_incrementally_are_given_and_give_up_only_what_moves(alike: Alike):
    def pattern(kit: Kit) -> Any:
        seen: list[Any] = []

        def on_assign(asked: Any, partitions: list[Any]) -> None:
            seen.append(("assign", len(partitions)))
            asked.incremental_assign(partitions)

        def on_revoke(asked: Any, partitions: list[Any]) -> None:
            seen.append(("revoke", len(partitions)))
            asked.incremental_unassign(partitions)

        cooperative = {"partition_assignment_strategy": "cooperative-sticky", "heartbeat_interval_ms": 100}
        first = kit.consumer(**cooperative)
        first.subscribe([kit.topic], on_assign=on_assign, on_revoke=on_revoke)
        held = lambda: (first.poll(0.05), len(first.assignment()))[1]  # noqa: E731
        wait_until(held, lambda n: n == 3, what="all partitions", timeout=AS_LONG)
        second = confluent_kafka.Consumer(
            kit.cluster.address.librdkafka()
            | {"group.id": kit.group, "log_level": 0, "partition.assignment.strategy": "cooperative-sticky"}
        )
        second.subscribe([kit.topic])
        wait_until(lambda: (second.poll(0.05), held())[1], lambda n: n == 2, what="one given up", timeout=AS_LONG)
        shared = list(seen)
        first.close()
        second.close()
        return [each for each in shared if each[1]], [each for each in seen[len(shared) :] if each[1]]

    (shared, at_the_end), kept, _ = alike(pattern)

    assert shared == [("assign", 3), ("revoke", 1)] and at_the_end == [("revoke", 2)]
    assert [(str(event.what), len(event.partitions)) for event in kept.events] == [*shared, *at_the_end]


def test_a_consumer_that_assigns_itself_pauses_seeks_and_asks(alike: Alike):
    def pattern(kit: Kit) -> Any:
        kit.fill("a", "b", "c", timestamp=NOW)
        kit.fill("d", timestamp=NOW + 5000)
        kit.fill("x", partition=1)
        asked: list[Any] = []
        with kit.consumer(enable_partition_eof=True) as consumer:
            consumer.assign([kit.where(0), kit.where(0, 1)])
            asked.append(sorted(record.value() for record in read(consumer, 5)))
            consumer.pause([kit.where(partition=1)])
            consumer.seek(kit.where(2))
            kit.fill("y", partition=1)
            asked.append([record.value() for record in read(consumer, 2)])
            asked.append([where.offset for where in consumer.position([kit.where(), kit.where(partition=1)])])
            consumer.resume([kit.where(partition=1)])
            asked.append([record.value() for record in read(consumer, 1)])
            asked.append(sorted((where.partition, where.offset) for where in consumer.assignment()))
            asked.append(consumer.get_watermark_offsets(kit.where(), timeout=AS_LONG))
            asked.append([w.offset for w in consumer.offsets_for_times([kit.where(NOW + 2500)], timeout=AS_LONG)])
            asked.append(sorted(consumer.list_topics(kit.topic, timeout=AS_LONG).topics[kit.topic].partitions))
            asked.append([where.offset for where in consumer.committed([kit.where()], timeout=AS_LONG)])
            consumer.unassign()
            asked.append(consumer.assignment())
            consumer.incremental_assign([kit.where(0, 2)])
            consumer.incremental_unassign([kit.where(0, 2)])
        return asked

    asked, kept, kit = alike(pattern)

    assert asked[0] == [b"a", b"b", b"c", b"d", b"x"] and asked[1] == [b"c", b"d"] and asked[3] == [b"y"]
    assert asked[5:9] == [(0, 4), [3], [0, 1, 2], [-1001]] and asked[9] == []
    assert sorted(value for (value,) in kept.heard("on_consume")) == sorted([*asked[0], *asked[1], *asked[3]])
    two = [(kit.topic, 0), (kit.topic, 1)]
    assert [entry[1:] for entry in kept.log if entry[0] == "on_event"] == [
        ("assign", *two), ("seek", (kit.topic, 0)), ("revoke", *two), ("assign", (kit.topic, 2)), ("revoke", (kit.topic, 2)),
    ]  # fmt: skip


def test_batches_hand_over_ends_of_partitions_and_interceptors_see_records_alone(alike: Alike):
    def pattern(kit: Kit) -> Any:
        kit.fill(*(f"{n}" for n in range(20)))
        consumer = kit.consumer(enable_partition_eof=True)
        consumer.assign([kit.where(0)])
        values: list[Any] = []
        ends = 0
        while not ends:
            for message in consumer.consume(num_messages=7, timeout=1.0):
                if message.error():
                    ends += message.error().code() == KafkaError._PARTITION_EOF
                else:
                    values.append(message.value())
        nothing = consumer.consume(5, 0)
        wrong = outcome(lambda: consumer.consume(-1))
        consumer.close()
        return values, ends, nothing, wrong

    (values, ends, nothing, wrong), kept, _ = alike(pattern)

    assert values == [f"{n}".encode() for n in range(20)] and (ends, nothing) == (1, []) and wrong[0] == "ValueError"
    assert [value for batch in kept.heard("on_consume") for value in batch] == values
    assert all(batch for batch in kept.heard("on_consume")) and kept.polls >= 4


def test_errors_of_a_subscription_pass_and_are_no_records(alike: Alike):
    def pattern(kit: Kit) -> Any:
        consumer = kit.consumer(**{"allow.auto.create.topics": False})
        consumer.subscribe([f"{kit.topic}-not-there"])
        message = wait_until(lambda: consumer.poll(0.1), lambda it: it is not None, what="an error", timeout=AS_LONG)
        consumer.close()
        return message.error().name(), outcome(lambda: consumer.poll(0))

    found, kept, _ = alike(pattern)

    assert found == ("UNKNOWN_TOPIC_OR_PART", ("RuntimeError", "Consumer closed"))
    assert kept.heard("on_consume") == []


# ---- interceptors that change things --------------------------------------------------------------------------------


class Adds:
    def on_send(self, record: Any) -> Any:
        return record.with_headers(("added", b"\xff\x00"))


class Drops:
    def on_consume(self, records: list[Any]) -> list[Any]:
        return [record for record in records if record.value() != b"drop"]


class Breaks:
    def _break(self, what: Any) -> Any:
        raise OSError("broken")

    on_send = on_consume = on_commit = on_event = _break

    def on_acknowledgement(self, report: Any, error: Any) -> None:
        raise OSError("broken")


def test_what_interceptors_make_of_records_is_what_is_sent_and_read_whoever_breaks_beside_them(cluster: Cluster):
    kit = Kit(cluster, interceptors, [Breaks()])
    kit._chain = [Breaks(), Adds(), Breaks()]
    with kit.producer() as producer:
        for value in ("keep", "drop", "keep too"):
            producer.produce(kit.topic, value, partition=0, headers=[("added", "old"), ("mine", "1")])
        producer.produce_batch(kit.topic, [{"value": "of a batch", "partition": 0}])
    kit._chain = [Breaks(), Drops(), Breaks()]
    consumer = kit.consumer()
    consumer.subscribe([kit.topic])
    records = read(consumer, 3)
    consumer.commit(asynchronous=False)
    consumer.close()

    assert [record.value() for record in records] == [b"keep", b"keep too", b"of a batch"]
    assert records[0].headers() == [("mine", b"1"), ("added", b"\xff\x00")]
    assert records[2].headers() == [("added", b"\xff\x00")]
    assert kit.committed() == {0: 4}


# ---- headers ------------------------------------------------------------------------------------------------------

HEADERS: list[Any] = [
    None,
    [],
    {},
    [("a", b"1"), ("a", b"2"), ("a", None)],
    {"a": "text", "b": b"\xff\xfe\x00", "c": None, "": b""},
    [("big", b"x" * 1_000_000)],
    [(f"{n}", b"y") for n in range(1000)],
    [("höher", "wörter")],
]


@pytest.mark.parametrize("headers", HEADERS, ids=lambda headers: str(headers)[:20])
def test_headers_arrive_byte_for_byte(alike: Alike, headers: Any):
    def pattern(kit: Kit) -> Any:
        big = {"message.max.bytes": 3_000_000}
        with kit.producer(**big) as producer:
            producer.produce(kit.topic, b"v", partition=0, headers=headers)
        consumer = kit.consumer()
        consumer.assign([kit.where(0)])
        (record,) = read(consumer, 1)
        consumer.close()
        return record.headers()

    arrived, kept, _ = alike(pattern)

    given = list(headers.items()) if isinstance(headers, dict) else headers
    expected = [(name, value.encode() if isinstance(value, str) else value) for name, value in given or []]
    assert arrived == (expected or None)
    assert len(kept.heard("on_acknowledgement")) == 1


@pytest.mark.parametrize("headers", [(), b"bytes", "text", 5, [("a", 5)], ["a"], [("a", b"b", "c")]], ids=str)
def test_headers_that_the_original_refuses_are_refused_in_its_words(alike: Alike, headers: Any):
    def pattern(kit: Kit) -> Any:
        with kit.producer() as producer:
            return outcome(lambda: producer.produce(kit.topic, b"v", headers=headers)), len(producer)

    (refusal, queued), _, _ = alike(pattern)

    assert refusal[0] in ("TypeError", "UnicodeEncodeError", "KafkaException") and queued == 0
