"""An audited client, called as the chain calls it: what is counted, what is told, what is left for the next one."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, Message, TopicPartition

from interceptors.audit import Audit, sending
from interceptors.audit.report import Report, decode
from interceptors.audit.settings import KNOWN, PREFIX
from interceptors.audit.sketch import Sketch
from interceptors.contract import Event, Happening
from interceptors.loading import BadInterceptor
from interceptors.record import ProducerRecord, Refused
from kernel.waiting import wait_until

BASE = {"bootstrap.servers": "nowhere:1", "interceptor.audit.every.ms": 3_600_000, "interceptor.audit.close.ms": 2000}
GROUP = BASE | {"group.id": "billing"}
STAMP = 1_700_000_000_000
RECORD = ProducerRecord("orders")


class Topic:
    """Where reports go in these tests; may be away."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.away = False

    def sent(self, key: bytes, message: bytes, patience: Callable[[float], float], meanwhile: Callable[[], None]) -> bool:
        if not self.away:
            self.messages.append(message)
        return not self.away

    def reports(self) -> list[Report]:
        return [decode(message) for message in self.messages]

    def total(self) -> Sketch:
        whole = Sketch()
        for report in self.reports():
            for sketch in report.rows.values():
                whole = whole + sketch
        return whole

    def stretches(self) -> list[tuple[int, int]]:
        return [(one.begin, one.end) for report in self.reports() for one in report.stretches]


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    topic = Topic()
    monkeypatch.setattr(sending, "Sender", lambda *_: topic)
    return topic


@pytest.fixture
def audit(topic: Topic) -> Iterator[Callable[..., Audit]]:
    made: list[Audit] = []

    def make(config: dict[str, Any] = BASE, **more: Any) -> Audit:
        audit = Audit()
        audit.configure(config | {PREFIX + key.replace("_", "."): value for key, value in more.items()})
        made.append(audit)
        return audit

    yield make
    for one in made:
        one.close()


def message(offset: int, value: object = b"v", **more: Any) -> Message:
    told = {"topic": "orders", "partition": 0, "key": b"k", "timestamp": (1, STAMP + offset), "latency": 0.001}
    return Message(offset=offset, value=value, **(told | more))


def acknowledge(audit: Audit, *offsets: int, **more: Any) -> None:
    for offset in offsets:
        audit.on_acknowledgement(message(offset, **more), None, created=STAMP + offset)


def acknowledge_twice(audit: Audit, *offsets: int) -> None:
    """As a broker answers that has the batch already: with the newest timestamp, as if it were the time of appending."""
    for offset in offsets:
        reported = message(offset, timestamp=(TIMESTAMP_LOG_APPEND_TIME, STAMP + max(offsets)))
        audit.on_acknowledgement(reported, None, created=STAMP + offset)


def alike(topic: Topic) -> bool:
    """Whether producer and consumer have told the same."""
    books: dict[str, dict[Any, Sketch]] = {"producer": {}, "billing": {}}
    for report in topic.reports():
        for key, sketch in report.rows.items():
            books[report.tier][key] = books[report.tier].get(key, Sketch()) + sketch
    sent, got = ({key: (s.count, s.sum, s.xor, s.cells) for key, s in one.items()} for one in books.values())
    return bool(sent) and sent == got


def read_all(audit: Callable[..., Audit], count: int) -> None:
    consumer = audit(GROUP)
    consumer.on_consume([message(offset) for offset in range(count)])
    consumer.on_commit([at(count)])
    consumer.close()


def happened(what: Happening, error: object = None, *partitions: TopicPartition) -> Event:
    return Event(what, 0, 0, error, partitions)


def at(offset: int, partition: int = 0) -> TopicPartition:
    return TopicPartition("orders", partition, offset)


# ---- producers ------------------------------------------------------------------------------------------------------


def test_what_was_acknowledged_is_told_at_the_latest_when_the_client_is_closed(audit, topic: Topic):
    client = audit()
    acknowledge(client, *range(10_000))
    client.close()

    assert topic.total().count == 10_000
    assert topic.stretches() == [(0, 10_000)]
    assert [report.closed for report in topic.reports()] == [False, True]
    assert [report.seq for report in topic.reports()] == [0, 1]


def test_a_life_is_known_before_it_has_anything_to_tell(audit, topic: Topic):
    audit()

    wait_until(topic.reports, bool, what="a first report", timeout=10)
    assert [(report.seq, report.rows, report.closed) for report in topic.reports()] == [(0, {}, False)]


def test_a_producer_and_a_consumer_of_the_same_records_have_the_same_books(audit, topic: Topic):
    producer, consumer = audit(), audit(GROUP)
    acknowledge(producer, *range(100))
    for offset in range(100):
        consumer.on_consume([message(offset)])
    consumer.on_commit([at(100)])
    producer.close()
    consumer.close()

    books = {report.tier: report.rows for report in topic.reports() if report.rows}
    assert set(books) == {"producer", "billing"}
    sent, got = books["producer"], books["billing"]
    assert {key: (s.count, s.sum, s.xor, s.cells) for key, s in sent.items()} == {
        key: (s.count, s.sum, s.xor, s.cells) for key, s in got.items()
    }


def test_a_record_that_may_be_in_the_log_is_told_as_a_doubt_and_one_that_cannot_be_is_not(audit, topic: Topic):
    client = audit()
    for code in (KafkaError._MSG_TIMED_OUT, KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.TOPIC_AUTHORIZATION_FAILED):
        client.on_acknowledgement(message(-1001), KafkaError(code))
    client.on_acknowledgement(message(-1001, partition=-1), KafkaError(KafkaError._MSG_TIMED_OUT))
    client.on_acknowledgement(Refused(RECORD, None), KafkaError(KafkaError._QUEUE_FULL))
    client.close()

    [doubt] = topic.reports()[-1].unsure
    assert (doubt.topic, doubt.partition, doubt.records) == ("orders", 0, 1)
    assert doubt.from_ms <= STAMP < doubt.to_ms
    assert topic.total().count == 0


def test_records_without_an_offset_are_doubts_and_it_is_said_once(audit, topic: Topic, caplog: pytest.LogCaptureFixture):
    client = audit()
    acknowledge(client, -1001, 5, -1001)
    client.close()

    last = topic.reports()[-1]
    assert (topic.total().count, last.unaudited, sum(doubt.records for doubt in last.unsure)) == (1, 2, 2)
    assert [record.message for record in caplog.records if "acks=0" in record.message] == [
        "tier producer cannot audit records of client '': the broker does not tell it offsets (acks=0?)."
    ]


# ---- batches that were sent twice -----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False], ids=["then others", "others before"])
def test_a_batch_that_was_sent_twice_is_counted_with_the_timestamps_of_the_log(audit, topic: Topic, first: bool):
    """Far enough apart for buckets of their own."""
    client = audit(bucket_ms=1000)
    offsets = [*range(0, 5000, 1000)]
    if first:
        acknowledge_twice(client, *offsets)
        acknowledge(client, 9000)
    else:
        acknowledge(client, 9000)
        acknowledge_twice(client, *offsets)
    client.close()
    consumer = audit(GROUP, bucket_ms=1000)
    consumer.on_consume([message(offset) for offset in [*offsets, 9000]])
    consumer.on_commit([at(9001)])
    consumer.close()

    assert alike(topic)
    assert topic.reports()[1].unsure == ()


def test_a_batch_that_was_sent_twice_may_be_looked_at_in_parts(audit, topic: Topic, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("interceptors.audit.interceptor.MOST_RECORDS", 3)
    client = audit()
    acknowledge(client, 0)
    acknowledge_twice(client, *range(1, 9))
    client.close()
    read_all(audit, 9)

    assert alike(topic)


def test_what_nobody_can_tell_yet_is_told_as_a_doubt_and_counts_once_it_can(audit, topic: Topic):
    client = audit(every_ms=100, bucket_ms=1000)
    acknowledge_twice(client, 0, 1, 5000)
    wait_until(lambda: topic.reports()[-1].unsure if topic.reports() else (), bool, what="a doubt", timeout=10)
    [doubt] = topic.reports()[-1].unsure
    assert doubt.records == 3 and doubt.from_ms <= STAMP and doubt.to_ms > STAMP + 5000
    assert topic.total().count == 0
    acknowledge(client, 5001)
    client.close()

    assert topic.total().count == 4
    assert sum(len(report.unsure) for report in topic.reports()) == 1
    assert sum(report.unaudited for report in topic.reports()) == 0


def test_what_nobody_can_tell_to_the_end_is_a_doubt_and_unaudited(audit, topic: Topic):
    client = audit()
    acknowledge_twice(client, 0, 1, 2)
    client.close()

    last = topic.reports()[-1]
    assert (topic.total().count, [doubt.records for doubt in last.unsure], last.unaudited) == (0, [3], 3)


@pytest.mark.parametrize("end", [Happening.COMMIT, Happening.ABORT])
def test_a_batch_of_a_transaction_that_was_sent_twice_counts_if_it_is_committed(audit, topic: Topic, end: Happening):
    client = audit(BASE | {"transactional.id": "t"})
    client.on_event(happened(Happening.BEGIN))
    acknowledge(client, 0)
    acknowledge_twice(client, 1, 2, 3)
    client.on_event(happened(end))
    client.close()
    read_all(audit, 4)

    assert alike(topic) == (end is Happening.COMMIT)
    assert sum(report.unaudited + len(report.unsure) for report in topic.reports()) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("end", "doubts"), [(Happening.COMMIT, [3]), (Happening.ABORT, [])])
def test_what_nobody_can_tell_of_a_transaction_is_a_doubt_unless_it_is_aborted(audit, topic: Topic, end, doubts):
    client = audit(BASE | {"transactional.id": "t", "interceptor.audit.every.ms": 100})
    client.on_event(happened(Happening.BEGIN))
    acknowledge_twice(client, 0, 1, 2)
    seen = len(topic.reports())
    wait_until(lambda: len(topic.reports()), lambda now: now > seen + 2, what="reports", timeout=10)
    assert all(report.unsure == () for report in topic.reports()), "of an open transaction nothing is told"
    client.on_event(happened(end))
    client.close()

    assert [doubt.records for report in topic.reports() for doubt in report.unsure] == doubts
    assert topic.total().count == 0


@pytest.mark.parametrize("transactional", [False, True], ids=["", "in a transaction"])
def test_a_topic_with_the_brokers_clock_is_counted_by_it(audit, topic: Topic, transactional: bool):
    client, consumer = audit(BASE | ({"transactional.id": "t"} if transactional else {})), audit(GROUP)

    def tells(*events: Happening) -> None:
        for what in events if transactional else ():
            client.on_event(happened(what))

    tells(Happening.BEGIN)
    for offset in range(9):
        stamped = message(offset, timestamp=(TIMESTAMP_LOG_APPEND_TIME, STAMP + 100 * offset))
        client.on_acknowledgement(stamped, None, created=STAMP + 100 * offset - 7)
        consumer.on_consume([stamped])
        if offset == 0:  # the only one so far, with nothing behind it
            tells(Happening.COMMIT, Happening.BEGIN)
    consumer.on_commit([at(9)])
    tells(Happening.COMMIT)
    client.close()
    consumer.close()

    assert alike(topic)


# ---- transactions ---------------------------------------------------------------------------------------------------


def test_in_a_transaction_records_count_when_it_is_committed_and_never_when_it_is_aborted(audit, topic: Topic):
    client = audit(BASE | {"transactional.id": "t"})
    for offsets, end in (((0, 1), Happening.COMMIT), ((3, 4), Happening.ABORT), ((6,), Happening.COMMIT)):
        client.on_event(happened(Happening.BEGIN))
        acknowledge(client, *offsets)
        client.on_event(happened(end))
    client.close()

    assert (topic.total().count, topic.total().last) == (3, 6)
    assert topic.reports()[-1].unsure == ()


def test_a_commit_that_failed_and_is_tried_again_counts_once(audit, topic: Topic):
    client = audit(BASE | {"transactional.id": "t"})
    client.on_event(happened(Happening.BEGIN))
    acknowledge(client, 0, 1)
    client.on_event(happened(Happening.COMMIT, KafkaError(KafkaError._TIMED_OUT)))
    client.on_event(happened(Happening.COMMIT))
    client.close()

    assert topic.total().count == 2


def test_a_transaction_whose_end_nobody_knows_is_in_doubt(audit, topic: Topic):
    client = audit(BASE | {"transactional.id": "t"})
    client.on_event(happened(Happening.BEGIN))
    acknowledge(client, 0, 1)
    client.on_event(happened(Happening.COMMIT, KafkaError(KafkaError._TIMED_OUT)))
    client.close()

    assert topic.total().count == 0
    assert [doubt.records for doubt in topic.reports()[-1].unsure] == [2]


def test_offsets_sent_to_a_transaction_count_for_the_consumer_of_this_process(audit, topic: Topic):
    consumer, producer = audit(GROUP), audit(BASE | {"transactional.id": "t"})
    stranger = audit(GROUP | {"bootstrap.servers": "elsewhere:1"})
    for one in (consumer, stranger):
        one.on_consume([message(offset) for offset in range(6)])
    for upto, end in ((3, Happening.COMMIT), (6, Happening.ABORT)):
        producer.on_event(happened(Happening.BEGIN))
        producer.on_event(happened(Happening.SEND_OFFSETS, None, at(upto)))
        producer.on_event(happened(end))
    for one in (producer, consumer, stranger):
        one.close()

    assert topic.total().count == 3
    assert topic.stretches() == [(0, 3)]


def test_which_of_two_consumers_a_transaction_committed_for_is_not_guessed(audit, topic: Topic, caplog):
    consumers = [audit(GROUP), audit(GROUP | {"group.id": "search"})]
    producer = audit(BASE | {"transactional.id": "t"})
    for one in consumers:
        one.on_consume([message(0)])
    producer.on_event(happened(Happening.SEND_OFFSETS, None, at(1)))
    producer.on_event(happened(Happening.COMMIT))
    for one in consumers:
        one.close()

    assert topic.total().count == 0
    assert "2 audited consumers of this process have read orders-0" in caplog.text


# ---- consumers ------------------------------------------------------------------------------------------------------


def test_what_is_read_counts_when_it_is_committed_also_after_it_was_revoked(audit, topic: Topic):
    """librdkafka commits after the callback for revoked partitions; the commit comes through, so it is ours."""
    client = audit(GROUP)
    client.on_consume([message(offset) for offset in range(5)])
    client.on_event(happened(Happening.REVOKE, None, at(-1001)))
    client.on_commit([at(5)])
    client.close()

    assert topic.total().count == 5


@pytest.mark.parametrize("what", [Happening.LOST, Happening.ASSIGN])
def test_what_was_lost_or_is_assigned_anew_is_forgotten(audit, topic: Topic, what: Happening):
    client = audit(GROUP)
    client.on_consume([message(offset) for offset in range(5)])
    client.on_event(happened(what, None, at(-1001)))
    client.on_commit([at(5)])
    client.close()

    assert (topic.total().count, topic.stretches()) == (0, [])


def test_going_back_before_a_commit_counts_once_and_behind_it_twice(audit, topic: Topic):
    """All in one batch, where commits and reading must keep their order."""
    client = audit(GROUP)
    for offsets, commit in (((0, 1, 2), None), ((1, 2, 3), 4), ((2, 3), 4)):
        for offset in offsets:
            client.on_consume([message(offset)])
        if commit is not None:
            client.on_commit([at(commit)])
    client.close()

    assert topic.total().count == 6
    assert topic.stretches() == [(0, 4), (2, 4)]


def test_a_commit_that_goes_back_with_the_reader_accounts_for_no_more_than_was_read(audit, topic: Topic):
    client = audit(GROUP)
    for offsets, commit in ((range(10), 10), (range(5), 5)):
        for offset in offsets:
            client.on_consume([message(offset)])
        client.on_commit([at(commit)])
    client.close()

    assert topic.total().count == 15
    assert topic.stretches() == [(0, 10), (0, 5)]


def test_count_read_needs_no_commit(audit, topic: Topic):
    client = audit(GROUP, count="read")
    client.on_consume([message(offset) for offset in range(5)])
    client.close()

    assert (topic.total().count, topic.stretches()) == (5, [(0, 5)])


@pytest.mark.parametrize("known", [True, False], ids=["configured", "found out"])
def test_deserialised_records_cannot_be_audited_and_it_is_said_once(audit, topic: Topic, caplog, known: bool):
    client = audit(GROUP | ({"value.deserializer": bytes} if known else {}))
    for offset in range(3):
        client.on_consume([message(offset, {"an": "object"} if offset else None)])
        client.on_commit([at(offset + 1)])
        client._absorb()
    client.close()

    assert topic.total().count == (0 if known else 1)  # the first is a tombstone: nothing, before and after
    assert sum(report.unaudited for report in topic.reports()) == (3 if known else 2)
    assert caplog.text.count("cannot audit client") == 1
    assert topic.stretches() == ([] if known else [(0, 1)])


def test_large_records_do_not_wait_by_the_thousand(audit):
    client = audit(GROUP)
    for offset in range(100):
        client.on_consume([message(offset, b"x" * 1_000_000)])
        assert len(client._batch) <= 5


# ---- the topic is away ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_while_the_topic_is_away_counts_add_up_and_are_told_once_when_it_is_back(audit, topic: Topic):
    topic.away = True
    client = audit(every_ms=100)
    acknowledge(client, *range(100))
    threading.Event().wait(0.35)
    acknowledge(client, *range(100, 150))
    topic.away = False
    client.close()

    assert topic.total().count == 150
    assert [report.seq for report in topic.reports()] == list(range(len(topic.reports())))


def test_what_could_not_be_told_until_the_end_is_said(audit, topic: Topic, caplog: pytest.LogCaptureFixture):
    topic.away = True
    client = audit(close_ms=200)
    acknowledge(client, *range(7))
    client.close()

    assert (
        "tier producer ends with reports of 7 records that did not arrive in time: the auditor will be uncertain."
        in caplog.text
    )


def test_a_spool_keeps_it_and_the_next_life_tells_it_under_the_old_name_once(audit, topic: Topic, tmp_path: Path, caplog):
    topic.away = True
    first = audit(spool=str(tmp_path), close_ms=200)
    acknowledge(first, *range(7))
    first.close()
    assert "they are in the spool" in caplog.text

    topic.away = False
    second = audit(spool=tmp_path)
    wait_until(lambda: topic.total().count, lambda count: count == 7, what="what the first had", timeout=10)
    second.close()

    lives = [report.life for report in topic.reports()]
    assert len(set(lives)) == 2
    old = [report for report in topic.reports() if report.left]
    assert ([report.seq for report in old], old[-1].closed) == ([0, 1], True)
    assert [file.name for file in tmp_path.iterdir() if not file.name.startswith(".")] == []


def test_what_a_living_client_has_in_the_spool_is_its_own(audit, topic: Topic, tmp_path: Path):
    topic.away = True
    first = audit(spool=str(tmp_path), save_ms=50)
    acknowledge(first, *range(7))
    wait_until(lambda: list(tmp_path.glob("*.json")), lambda files: len(files) == 2, what="two files", timeout=10)
    topic.away = False
    topic.messages.clear()
    second = audit(spool=str(tmp_path))
    wait_until(lambda: second._publisher.looks, bool, what="a look at the spool", timeout=10)
    acknowledge(second, 100)
    second.close()
    assert (topic.total().count, [report.left for report in topic.reports()]) == (1, [False, False])

    first.close()
    assert topic.total().count == 8


def test_a_damaged_file_in_the_spool_is_put_aside(audit, topic: Topic, tmp_path: Path, caplog):
    (tmp_path / "00000000000000aa-0000000000.json").write_bytes(b"{half a rep")
    client = audit(spool=str(tmp_path))
    wait_until(lambda: list(tmp_path.glob("*.damaged")), bool, what="put aside", timeout=10)
    client.close()

    assert "is no report of an audit" in caplog.text


KILLED = """
import os, sys, time
from interceptors.audit import sending
class Away:
    def sent(self, key, message, patience, meanwhile):
        meanwhile()
        return False
sending.Sender = lambda *_: Away()
from tests.pure.test_audit_client import BASE, Audit, acknowledge
audit = Audit()
audit.configure(BASE | {"interceptor.audit.spool": sys.argv[1], "interceptor.audit.save.ms": 50})
acknowledge(audit, *range(50))
while not any("0000000001" in name for name in os.listdir(sys.argv[1])): time.sleep(0.02)
os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
def test_what_a_killed_process_had_saved_is_told_by_the_next_and_marked_as_left(audit, topic: Topic, tmp_path: Path):
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], timeout=60, check=False)
    assert ended.returncode == -9

    client = audit(spool=str(tmp_path))
    wait_until(lambda: topic.total().count, lambda count: count == 50, what="what it had", timeout=10)
    client.close()
    assert [(report.left, report.closed) for report in topic.reports() if report.rows] == [(True, False)]


FORKED = """
import os, sys
from interceptors.audit import sending
class File:
    def sent(self, key, message, patience, meanwhile):
        with open(sys.argv[1], "ab") as file: file.write(message + b"\\n")
        return True
sending.Sender = lambda *_: File()
from tests.pure.test_audit_client import BASE, Audit, acknowledge
audit = Audit()
audit.configure(BASE | {"interceptor.audit.spool": sys.argv[2]})
acknowledge(audit, *range(10))
if not os.fork():
    acknowledge(audit, *range(10, 5000))
    audit.close()
    os._exit(0)
os.wait()
acknowledge(audit, 10)
audit.close()
"""


@pytest.mark.slow
def test_the_child_of_a_fork_neither_counts_nor_tells(tmp_path: Path):
    reports, spool = tmp_path / "reports", tmp_path / "spool"
    subprocess.run([sys.executable, "-c", FORKED, str(reports), str(spool)], timeout=60, check=True)

    told = [decode(line) for line in reports.read_bytes().splitlines()]
    assert sum(report.records for report in told) == 11
    assert [report.seq for report in told] == [0, 1]


# ---- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("bucket.ms", 10, r"bucket\.ms is 10: give a whole number from 1000 to 86400000\."),
        ("bucket.ms", "soon", r"bucket\.ms is 'soon': give a whole number"),
        ("bucket.ms", True, r"bucket\.ms is True"),
        ("every.ms", 1.5, r"every\.ms is 1\.5"),
        ("cells", 25, r"cells is 25: give a multiple of 3, at least 6, or 0 for none\."),
        ("cells", 3, r"cells is 3: give a multiple"),
        ("identity", "header", r"identity is 'header': give 'offset' or 'content'\."),
        ("count", "polled", r"count is 'polled': give 'commit' or 'read'\."),
        ("role", "broker", r"role is 'broker': give 'producer' or 'consumer'\."),
        ("tier", "", r"tier is '': give a name"),
        ("tier", 7, r"tier is 7: give a name"),
        ("topic", "a/b", r"topic is 'a/b', no name of a topic"),
        ("spool", 7, r"spool is 7: give the path of a folder\."),
        ("spool", "/proc/none/such", r"spool = '/proc/none/such' cannot be written to"),
        ("config", "x", r"config is a str: give a dict"),
        ("colour", "red", r"interceptor\.audit\.colour is not known: choose one of interceptor\.audit\.bucket\.ms, "),
    ],
)
def test_a_wrong_setting_is_told_in_one_sentence(key: str, value: object, says: str):
    with pytest.raises(BadInterceptor, match=says):
        Audit().configure(BASE | {PREFIX + key: value})


def test_without_a_cluster_there_is_nowhere_to_report_to():
    with pytest.raises(BadInterceptor, match=r"nowhere to report to: set bootstrap\.servers"):
        Audit().configure({"group.id": "g"})


def test_an_audit_belongs_to_one_client(audit):
    client = audit()
    with pytest.raises(BadInterceptor, match="belongs to one client"):
        client.configure(BASE)


def test_reports_go_where_the_client_goes_unless_told_otherwise():
    from interceptors.audit.settings import read

    config = BASE | {"sasl.password": "secret", "ssl.ca.location": "ca.pem", "linger.ms": 5, "transactional.id": "t"}
    assert read(config).connection == {
        "bootstrap.servers": "nowhere:1", "sasl.password": "secret", "ssl.ca.location": "ca.pem",
    }  # fmt: skip
    elsewhere = read(config | {"interceptor.audit.config": {"bootstrap.servers": "other:1"}})
    assert elsewhere.connection == {"bootstrap.servers": "other:1"}
    assert "secret" not in repr(read(config))


def test_every_key_is_explained_on_its_page():
    page = (Path(__file__).parent.parent.parent / "docs" / "audit.md").read_text()

    assert [key for key in KNOWN if f"`{PREFIX}{key}`" not in page] == []


def test_the_light_parts_need_neither_numpy_nor_xxhash():
    """An auditor reads and judges without them."""
    code = (
        "import sys, interceptors.audit.auditor, interceptors.audit.reading; print({'numpy', 'xxhash'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"
