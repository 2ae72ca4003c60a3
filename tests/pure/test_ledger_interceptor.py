"""What the ledger makes of what it hears, hook by hook: every row in its place, nothing twice, nothing made up."""

import json
import logging
import multiprocessing
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from chaos.checkers.local import examine
from chaos.evidence.clients import clients_of, permitted_by
from chaos.evidence.seal import seal
from interceptors import BadInterceptor, Event, Happening, ProducerRecord, Refused
from interceptors.ledger import Ledger
from interceptors.ledger.announcement import ListedValues, announced, announcement
from interceptors.ledger.client_facts import client_facts
from interceptors.ledger.deliveries import Deliveries, Sent
from interceptors.ledger.joining import changing, join
from interceptors.ledger.ledger_writer import LedgerWriter
from interceptors.ledger.settings import KEYS
from interceptors.ledger.valuing import HEADER, HeaderValues, PayloadValues, digits
from kernel.waiting import wait_until
from tests.pure.snippets import DOCS

Row = dict[str, Any]


@dataclass
class Error:
    word: str
    again: bool = False
    must_abort: bool = False

    def name(self) -> str:
        return self.word

    def retriable(self) -> bool:
        return self.again

    def txn_requires_abort(self) -> bool:
        return self.must_abort


@dataclass
class Message:
    """As librdkafka hands it over, or reports it."""

    content: bytes = b""
    place: int | None = 0
    where: int = 0
    name: str = "orders"
    carried: list[tuple[str, Any]] | None = None
    trouble: Error | None = None

    def topic(self) -> str:
        return self.name

    def partition(self) -> int:
        return self.where

    def offset(self) -> int | None:
        return self.place

    def value(self) -> bytes:
        return self.content

    def headers(self) -> list[tuple[str, Any]] | None:
        return self.carried

    def leader_epoch(self) -> int:
        return 4

    def error(self) -> Error | None:
        return self.trouble


@dataclass
class Place:
    topic: str
    partition: int
    offset: int = -1001
    error: Error | None = None


def happened(what: Happening, *places: Place, error: Error | None = None, at: int = 1, asked: bool = True) -> Event:
    return Event(what, at, at + 1, error, places, asked)


def reported(record: ProducerRecord, report: Any, error: Any = None) -> None:
    """As the chain does it."""
    for _, ear, more in record.ears:
        ear(report, error, record, *more)


@dataclass
class Run:
    """A run folder, and clients that are configured as an application's are."""

    folder: Path
    ledgers: list[Ledger] = field(default_factory=list)

    def client(self, name: str = "shop", **config: Any) -> Ledger:
        ledger = Ledger()
        self.ledgers.append(ledger)
        named = {key.replace("__", "."): value for key, value in config.items()}
        ledger.configure({"interceptor.ledger.folder": str(self.folder), "client.id": name, **named})
        return ledger

    def close(self) -> None:
        for ledger in self.ledgers:
            ledger.close()

    def rows(self, **where: Any) -> list[Row]:
        """In order, what is null left out."""
        self.close()
        files = sorted((self.folder / "ledger").glob("[!.]*.parquet"))
        found = [row for file in files for row in pq.read_table(file).to_pylist()]
        found.sort(key=lambda row: (row["client"], row["op"], row["ix"]))
        return [row for row in found if all(row[name] == value for name, value in where.items())]

    def manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "manifest.json").read_text()))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path / "run")
    yield run
    run.close()


def told(rows: list[Row], *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in rows]


# ---- sending ----------------------------------------------------------------------------------------------------------


def test_a_record_gets_a_value_in_a_header_and_a_row_when_its_fate_is_known(run: Run):
    shop = run.client()
    first, second, third = (shop.on_send(ProducerRecord("orders", b"x", headers=(("a", b"b"),))) for _ in range(3))
    reported(second, Message(place=8, where=1))
    reported(first, Message(place=None, where=1), Error("_MSG_TIMED_OUT"))

    rows = run.rows()

    base = run.manifest()["clients"]["shop"]["life"] << 32
    columns = ("op", "ix", "kind", "outcome", "error", "topic", "partition", "offset", "value", "txn")
    assert told(rows, *columns) == [
        (1, 0, "send", "info", "_MSG_TIMED_OUT", "orders", 1, None, base, None),
        (2, 0, "send", "ok", None, "orders", 1, 8, base + 1, None),
        (3, 0, "send", "info", "_DESTROY", None, None, None, base + 2, None),  # open when it was closed
    ]
    assert all(row["invoked_ns"] <= row["completed_ns"] for row in rows[:2])
    assert rows[2]["completed_ns"] is None
    assert [name for name, _ in third.headers] == ["a", HEADER]
    assert not announcement(run.folder / "ledger", "shop").exists()


def test_a_record_that_is_sent_on_with_its_headers_gets_a_value_of_its_own(run: Run):
    shop = run.client()
    order = shop.on_send(ProducerRecord("orders", b"x"))

    invoice = shop.on_send(ProducerRecord("invoices", b"y", headers=order.headers))

    assert len(invoice.headers) == 1
    assert invoice.headers != order.headers


@pytest.mark.parametrize("error", ["_QUEUE_FULL", "MSG_SIZE_TOO_LARGE", "_UNKNOWN_TOPIC", "AN_ERROR_OF_NEXT_YEAR"])
def test_what_was_refused_before_it_was_sent_failed_for_certain(run: Run, error: str):
    shop = run.client()
    record = shop.on_send(ProducerRecord("orders", b"x", partition=2))
    reported(record, Refused(record, Error(error)), Error(error))

    assert told(run.rows(), "outcome", "error", "topic", "partition", "offset") == [("fail", error, "orders", 2, None)]


def test_a_record_that_is_handed_over_again_after_a_full_queue_is_one_send(run: Run):
    """If it brings its value itself; in a header, each try has its own."""
    shop = run.client(interceptor__ledger__value=digits)
    for _ in range(3):
        record = shop.on_send(ProducerRecord("orders", b"0000000000000007 and more"))
        reported(record, Refused(record, Error("_QUEUE_FULL")), Error("_QUEUE_FULL"))
    reported(shop.on_send(ProducerRecord("orders", b"0000000000000007 and more")), Message(place=1))
    given_up = shop.on_send(ProducerRecord("orders", "0000000000000008"))
    reported(given_up, Refused(given_up, Error("_QUEUE_FULL")), Error("_QUEUE_FULL"))

    assert told(run.rows(), "op", "value", "outcome", "error") == [(1, 7, "ok", None), (2, 8, "fail", "_QUEUE_FULL")]
    assert given_up.headers == ()


def test_a_value_that_the_application_gives_twice_is_two_sends(run: Run):
    shop = run.client(interceptor__ledger__value=digits)
    records = [shop.on_send(ProducerRecord("orders", b"0000000000000007")) for _ in range(2)]
    for place, record in enumerate(records):
        reported(record, Message(place=place))

    assert told(run.rows(), "op", "value", "offset") == [(1, 7, 0), (2, 7, 1)]


def test_a_client_that_sends_from_two_threads_promises_no_order(run: Run):
    shop = run.client(enable__idempotence=True)
    shop.on_send(ProducerRecord("orders"))
    shop.on_send(ProducerRecord("orders"))
    assert run.manifest()["clients"]["shop"]["ordered"] is True

    other = threading.Thread(target=shop.on_send, args=(ProducerRecord("orders"),))
    other.start()
    other.join()

    assert run.manifest()["clients"]["shop"]["ordered"] is False


def test_a_report_that_comes_while_others_are_taken_is_taken_next_time():
    class Busy(list[Any]):
        def __getitem__(self, some: Any) -> Any:
            taken = super().__getitem__(some)
            if len(self) == 1:
                deliveries.delivered(Sent(2, 0, None, None, 8), None, Message())
            return taken

    deliveries = Deliveries()
    deliveries._reports = Busy()
    deliveries.delivered(Sent(1, 0, None, None, 7), None, Message())

    assert [deliveries.columns()[1]["value"] for _ in range(2)] == [[7], [8]]


def test_many_threads_at_once_lose_no_row_and_double_none(run: Run):
    shop = run.client()

    def busy() -> None:
        for n in range(500):
            reported(shop.on_send(ProducerRecord("orders")), Message(place=n))

    threads = [threading.Thread(target=busy) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        shop.book.write_down()
    for thread in threads:
        thread.join()

    rows = run.rows(outcome="ok")
    assert len({row["value"] for row in rows}) == len({row["op"] for row in rows}) == len(rows) == 2000


# ---- reading ----------------------------------------------------------------------------------------------------------


def sent_by(shop: Ledger, count: int) -> list[list[tuple[str, Any]]]:
    return [list(shop.on_send(ProducerRecord("orders")).headers) for _ in range(count)]


def test_a_poll_is_one_operation_and_who_is_not_ours_has_no_row(run: Run):
    shop, billing = run.client("shop"), run.client("billing", group__id="g")
    ours = sent_by(shop, 2)
    right = ours[0][0][1]
    wrong = [None, "text", b"short", b"x" * 12, right[:-1], right + b"0", right[:4] + b"\xff" * 8]
    theirs: list[Any] = [None, [], [("a", b"b")], *([(HEADER, content)] for content in wrong)]
    billing.on_poll()
    handed = [Message(place=n, carried=carried) for n, carried in enumerate([ours[0], *theirs, ours[1]])]

    assert billing.on_consume(handed) == handed
    billing.on_poll()
    billing.on_consume([Message(place=20, carried=ours[0])])

    rows = run.rows(kind="poll")
    first = run.manifest()["clients"]["shop"]["life"] << 32
    assert told(rows, "op", "ix", "offset", "value", "epoch", "outcome") == [
        (1, 0, 0, first, 4, "ok"),
        (1, 1, 11, first + 1, 4, "ok"),
        (2, 0, 20, first, 4, "ok"),
    ]
    assert billing.foreign == len(theirs)


def test_the_records_of_another_run_are_not_ours(run: Run, tmp_path: Path):
    other = Run(tmp_path / "other")
    left_over = sent_by(other.client(), 1)
    other.close()

    billing = run.client(group__id="g")
    billing.on_consume([Message(carried=left_over[0])])

    assert (billing.foreign, run.rows()) == (1, [])


def test_commits_assignments_and_errors_of_single_partitions_are_rows_in_order(run: Run):
    billing = run.client("billing", group__id="g")
    billing.on_event(happened(Happening.ASSIGN, Place("orders", 0), Place("orders", 1)))
    billing.on_event(
        happened(
            Happening.OFFSETS, Place("orders", 0, 5), Place("orders", 1), Place("orders", 2, 6, Error("UNKNOWN_MEMBER_ID"))
        )
    )
    billing.on_event(happened(Happening.OFFSETS, Place("orders", 0, 9), error=Error("_TIMED_OUT"), asked=False))
    billing.on_event(happened(Happening.LOST, Place("orders", 1)))
    billing.on_event(happened(Happening.REVOKE, Place("orders", 0)))

    assert told(run.rows(), "op", "ix", "kind", "partition", "offset", "outcome", "error") == [
        (1, 0, "assign", 0, None, "ok", None),
        (1, 1, "assign", 1, None, "ok", None),
        (2, 0, "offsets", 0, 5, "ok", None),
        (2, 1, "offsets", 2, 6, "info", "UNKNOWN_MEMBER_ID"),
        (3, 0, "offsets", 0, 9, "info", "_TIMED_OUT"),
        (4, 0, "lost", 1, None, "ok", None),
        (5, 0, "revoke", 0, None, "ok", None),
    ]
    assert billing.committed == {("orders", 0): 5}


def test_a_reader_that_seeks_begins_anew_and_went_neither_back_nor_over_a_record(run: Run):
    shop, billing = run.client("shop"), run.client("billing", group__id="g")
    carried = [list(record.headers) for record in [shop.on_send(ProducerRecord("orders")) for _ in range(3)]]
    for place in (0, 2):
        billing.on_event(happened(Happening.SEEK, Place("orders", 0, place)))
        billing.on_consume([Message(place=place, carried=carried[place])])
    billing.on_event(happened(Happening.SEEK, Place("orders", 0, 1)))
    billing.on_consume([Message(place=1, carried=carried[1])])
    run.close()

    counts = examine(run.folder / "ledger", {}).counts
    assert told(run.rows(client="billing"), "kind") == [("assign",), ("poll",)] * 3
    assert (counts["nonmonotonic-poll"], counts["poll-skip"]) == (0, 0)


def test_who_says_itself_when_a_record_is_processed_has_no_row_before(tmp_path: Path):
    """As a trial's consumers do: between being handed over and being processed lies what a crash loses."""
    writer = LedgerWriter(tmp_path, "r", "reader")
    reader = Ledger(writer, PayloadValues(digits))
    reader.configure({})
    reader.on_poll()
    reader.on_consume([Message(b"0000000000000005", place=3)])
    reader.poll_failed(Message(trouble=Error("_TRANSPORT"), where=1))
    reader.book.sync()
    assert [row["kind"] for row in pq.read_table(tmp_path / "reader.00001.parquet").to_pylist()] == ["poll"]

    reader.processed(77)
    reader.close()

    rows = [row for file in sorted(tmp_path.glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    assert told(rows, "op", "outcome", "error", "value", "partition") == [
        (1, "info", "_TRANSPORT", None, 1),
        (2, "ok", None, 5, 0),
    ]
    assert rows[1]["completed_ns"] == 77


# ---- transactions -----------------------------------------------------------------------------------------------------


def test_records_bear_the_name_of_their_transaction_and_each_has_its_own(run: Run):
    shop = run.client(transactional__id="t")
    for end in (Happening.COMMIT, Happening.ABORT):
        shop.on_event(happened(Happening.BEGIN))
        reported(shop.on_send(ProducerRecord("orders")), Message())
        shop.on_event(happened(end))
    reported(shop.on_send(ProducerRecord("orders")), Message())

    assert told(run.rows(), "op", "kind", "txn", "outcome") == [
        (1, "begin", "shop-1", "ok"),
        (2, "send", "shop-1", "ok"),
        (3, "commit", "shop-1", "ok"),
        (4, "begin", "shop-2", "ok"),
        (5, "send", "shop-2", "ok"),
        (6, "abort", "shop-2", "ok"),
        (7, "send", None, "ok"),
    ]


AGAIN, REFUSED, FATAL = Error("_TIMED_OUT", again=True), Error("TRANSACTION_ABORTABLE", must_abort=True), Error("_FENCED")
COMMIT, ABORT = Happening.COMMIT, Happening.ABORT
UNKNOWN, TAKEN_BACK = ("commit", "info", "_TIMED_OUT"), ("abort", "ok", None)
FENCED = [(kind, "info", "_FENCED") for kind in ("commit", "abort")]


@pytest.mark.parametrize(
    ("tries", "rows"),
    [
        pytest.param([(COMMIT, AGAIN), (COMMIT, None)], [("commit", "ok", None)], id="tried again"),
        pytest.param(
            [(COMMIT, AGAIN), (COMMIT, REFUSED), (ABORT, None)],
            [("commit", "fail", "TRANSACTION_ABORTABLE"), TAKEN_BACK],
            id="refused in the end",
        ),
        pytest.param([(COMMIT, AGAIN), (ABORT, None)], [UNKNOWN, TAKEN_BACK], id="given up"),
        pytest.param([(COMMIT, AGAIN)], [UNKNOWN], id="closed in between"),
        pytest.param([(COMMIT, FATAL), (ABORT, FATAL)], FENCED, id="fenced"),
    ],
)
def test_an_end_that_may_be_tried_again_is_no_end_yet(run: Run, tries: list[Any], rows: list[Any]):
    shop = run.client(transactional__id="t")
    shop.on_event(happened(Happening.BEGIN))
    for at, (what, error) in enumerate(tries, 100):
        shop.on_event(happened(what, error=error, at=at))

    ends = [row for row in run.rows() if row["kind"] != "begin"]
    assert told(ends, "kind", "outcome", "error") == rows
    assert ends[0]["invoked_ns"] == 100
    assert {row["txn"] for row in ends} == {"shop-1"}


@pytest.mark.parametrize(("end", "error", "outcome"), [(COMMIT, None, "ok"), (COMMIT, FATAL, "info"), (ABORT, None, "fail")])
def test_offsets_in_a_transaction_stand_or_fall_with_it(run: Run, end: Happening, error: Error | None, outcome: str):
    shop = run.client(transactional__id="t")
    shop.on_event(happened(Happening.BEGIN))
    shop.on_event(happened(Happening.SEND_OFFSETS, Place("orders", 0, 5), Place("orders", 1, 6)))
    shop.on_event(happened(end, error=error))

    offsets = told(run.rows(kind="offsets"), "op", "ix", "txn", "partition", "offset", "outcome")
    assert offsets == [(3, 0, "shop-1", 0, 5, outcome), (3, 1, "shop-1", 1, 6, outcome)]


def test_a_transaction_that_is_begun_twice_goes_on(run: Run):
    shop = run.client(transactional__id="t")
    shop.on_event(happened(Happening.BEGIN))
    shop.on_event(happened(Happening.BEGIN, error=Error("_STATE")))
    reported(shop.on_send(ProducerRecord("orders")), Message())

    assert told(run.rows(kind="send"), "txn") == [("shop-1",)]


# ---- the run ----------------------------------------------------------------------------------------------------------


def test_the_manifest_is_one_that_check_accepts_and_says_what_its_clients_are(run: Run):
    run.client("shop", acks=-1, enable__idempotence="true", interceptor__ledger__run="black-friday")
    run.client("shop", acks="1")
    run.client("billing/eu 1", group__id="g", isolation__level="read_uncommitted", enable__auto__commit="false")

    manifest, file = run.manifest(), run.folder / "manifest.json"
    clients = clients_of(manifest, file)
    known = {"run_id": "black-friday", "scenario": "application", "seed": 0, "permitted": [], "value": "header"}
    assert manifest | known == manifest
    assert permitted_by(manifest, file) == []
    assert sorted(clients.listed) == ["billing-eu-1", "shop", "shop.2"]
    assert [clients.ordered(name) for name in ("shop", "shop.2")] == [True, False]
    assert not clients.reads_committed("billing-eu-1")
    assert (run.folder / "events.jsonl").read_text() == ""


FACTS: list[tuple[Mapping[str, Any], dict[str, Any]]] = [
    ({}, {"role": "producer", "ordered": False, "acks": "all", "idempotence": False}),
    ({"acks": 0}, {"role": "producer", "ordered": False, "acks": "0", "idempotence": False}),
    ({"request.required.acks": "-1"}, {"role": "producer", "ordered": False, "acks": "all", "idempotence": False}),
    ({"max.in.flight": 1}, {"role": "producer", "ordered": True, "acks": "all", "idempotence": False}),
    ({"transactional.id": "t"}, {"role": "producer", "ordered": True, "acks": "all", "idempotence": True}),
    (
        {"group.id": "g"},
        {"role": "consumer", "isolation": "read_committed", "mode": "subscribe", "group": "g", "auto_commit": True},
    ),
]


@pytest.mark.parametrize(("config", "facts"), FACTS)
def test_the_defaults_are_librdkafkas(config: Mapping[str, Any], facts: dict[str, Any]):
    assert client_facts(config) == facts


def join_often(folder: Path, name: str, times: int) -> None:
    for _ in range(times):
        join(folder, name=name, facts={"ordered": True}, run_id=None, value="header")


@pytest.mark.slow
def test_processes_that_join_at_once_all_get_names_and_numbers_of_their_own(tmp_path: Path):
    processes = [multiprocessing.Process(target=join_often, args=(tmp_path / "run", "shop", 25)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    clients = json.loads((tmp_path / "run" / "manifest.json").read_text())["clients"]
    assert clients.keys() == {"shop"} | {f"shop.{n}" for n in range(2, 101)}
    assert len({facts["life"] for facts in clients.values()}) == 100


def test_without_a_name_it_is_called_after_machine_and_process(run: Run):
    run.client(name="shop")
    ledger = Ledger()
    run.ledgers.append(ledger)
    ledger.configure({"interceptor.ledger.folder": run.folder})

    assert ledger.client.endswith(f"-{os.getpid()}")


def test_a_killed_client_leaves_what_seal_needs_in_either_way_of_valuing(run: Run):
    for name, config in (("header", {}), ("payload", {"interceptor__ledger__value": digits})):
        folder = Run(run.folder.with_name(name))
        shop = folder.client(**config)
        records = [shop.on_send(ProducerRecord("orders", f"{value:016}")) for value in (70, -3, 5000)]
        reported(records[1], Message(place=1))
        shop.book.sync()  # what follows never happens: the client is killed

        seal(folder.folder)

        rows = [row for file in (folder.folder / "ledger").glob("*.parquet") for row in pq.read_table(file).to_pylist()]
        values = (
            [int.from_bytes(record.headers[0][1][4:], "big") for record in records] if name == "header" else [70, -3, 5000]
        )
        found = {row["value"]: (row["outcome"], row["error"]) for row in rows}
        unknown = ("info", "_CLIENT_KILLED")
        assert [found[value] for value in values] == [unknown, ("ok", None), unknown]
        assert len(found) == len(rows)
        shop._promise = None  # kept by nobody, and sealed away


def test_a_list_of_values_that_a_kill_cut_off_is_read_as_far_as_it_goes(tmp_path: Path):
    listed = ListedValues(tmp_path, run_id="r", client="p")
    for value in (5, -(1 << 63), (1 << 63) - 1):
        listed.sending(value)
    os.write(listed._file, b"abc")

    facts, values = announced(announcement(tmp_path, "p"))

    assert (facts["run_id"], facts["client"], values) == ("r", "p", [5, -(1 << 63), (1 << 63) - 1])
    listed.kept()


def test_the_child_of_a_fork_leaves_its_parents_ledger_alone(run: Run):
    shop = run.client()
    record = shop.on_send(ProducerRecord("orders"))
    child = multiprocessing.get_context("fork").Process(target=shop.close)
    child.start()
    child.join(60)
    reported(record, Message())

    assert (child.exitcode, announcement(run.folder / "ledger", "shop").exists()) == (0, True)
    assert told(run.rows(), "outcome") == [("ok",)]


@pytest.mark.slow
def test_rows_reach_the_disk_though_the_application_is_silent(run: Run):
    shop = run.client()
    reported(shop.on_send(ProducerRecord("orders")), Message())

    wait_until(lambda: len(list((run.folder / "ledger").glob("*.parquet"))), bool, what="a file", timeout=30)


# ---- bad input --------------------------------------------------------------------------------------------------------

BAD: list[tuple[dict[str, Any], str]] = [
    ({"interceptor.ledger.folder": None}, r"^interceptor\.ledger\.folder is None: give the folder of the run, as text\.$"),
    ({"interceptor.ledger.folder": 7}, r"^interceptor\.ledger\.folder is 7: give the folder"),
    ({"interceptor.ledger.folder": ""}, r"^interceptor\.ledger\.folder is '': give the folder"),
    (
        {"interceptor.ledger.folder": "/proc/1/nowhere"},
        r"^interceptor\.ledger\.folder '/proc/1/nowhere' cannot be written: .+; give",
    ),
    ({"interceptor.ledger.client": 7}, r"^interceptor\.ledger\.client is 7: give a name, as text\.$"),
    ({"interceptor.ledger.run": ""}, r"^interceptor\.ledger\.run is '': give a name"),
    ({"interceptor.ledger.value": 7}, r"^interceptor\.ledger\.value is 7: give 'header', a function"),
    ({"interceptor.ledger.value": "payload"}, r"^interceptor\.ledger\.value is 'payload': give 'header', a function"),
    (
        {"interceptor.ledger.value": "no.such.thing"},
        r"^interceptor\.ledger\.value 'no\.such\.thing' cannot be imported: No module",
    ),
    ({"interceptor.ledger.value": "json.no_such"}, r"cannot be imported: module 'json' has no attribute 'no_such'\.$"),
    (
        {"interceptor.ledger.value": "json.__name__"},
        r"^interceptor\.ledger\.value 'json\.__name__' is a str, not a function\.$",
    ),
    ({"interceptor.ledger.floder": "x"}, r"^interceptor\.ledger\.floder is not a setting of the ledger: it has .*folder,"),
]


@pytest.mark.parametrize(("config", "message"), BAD)
def test_what_cannot_be_is_told_before_anything_is_written(tmp_path: Path, config: dict[str, Any], message: str):
    with pytest.raises(BadInterceptor, match=message):
        Ledger().configure({"interceptor.ledger.folder": str(tmp_path / "run"), **config})

    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_joined_is_named(run: Run, tmp_path: Path):
    shop = run.client(interceptor__ledger__run="r")
    for config, message in (
        ({"interceptor__ledger__run": "another"}, "holds run 'r' and not interceptor.ledger.run 'another'"),
        ({"interceptor__ledger__value": digits}, "values by 'header', and this one by 'interceptors.ledger.valuing.digits'"),
    ):
        with pytest.raises(BadInterceptor, match=message):
            run.client(**config)
    with pytest.raises(BadInterceptor, match="one Ledger cannot serve two clients"):
        shop.configure({})
    with changing(run.folder) as manifest:
        manifest["finished"] = "today"
    with pytest.raises(BadInterceptor, match=r"is over, and drained: give interceptor\.ledger\.folder a new folder"):
        run.client()
    (run.folder / "manifest.json").write_text("{")
    with pytest.raises(BadInterceptor, match="is not JSON"):
        run.client()
    (run.folder / "manifest.json").write_text("[1]")
    with pytest.raises(BadInterceptor, match="is no manifest of a run"):
        run.client()
    (tmp_path / "file").touch()
    with pytest.raises(BadInterceptor, match="cannot be written: Not a directory"):
        Run(tmp_path / "file").client()


def test_a_value_that_cannot_be_had_costs_its_record_the_row_and_nothing_else(run: Run):
    shop = run.client(interceptor__ledger__value=lambda payload: {b"a": 1, b"b": None, b"c": 1.5, b"d": True}[payload])
    for payload, trouble in ((b"z", KeyError), (b"c", TypeError), (b"d", TypeError)):
        with pytest.raises(trouble):  # the chain counts it, tells of it, and sends the record
            shop.on_send(ProducerRecord("orders", payload))
    assert shop.on_send(ProducerRecord("orders", b"b")).ears == ()
    reported(shop.on_send(ProducerRecord("orders", "a")), Message())  # text goes out as bytes, and is asked for as bytes
    shop.on_consume([Message(content) for content in (b"z", b"c", b"b", b"a")])

    assert told(run.rows(), "kind", "value") == [("send", 1), ("poll", 1)]
    assert shop.foreign == 4


@pytest.mark.slow
def test_a_full_disk_ends_the_ledger_and_not_the_application(run: Run, caplog: pytest.LogCaptureFixture):
    shop = run.client()
    (run.folder / "ledger" / ".shop.00001.parquet.new").symlink_to("/dev/full")
    reported(shop.on_send(ProducerRecord("orders")), Message())
    with caplog.at_level(logging.ERROR, "interceptors.ledger"):
        wait_until(lambda: shop._broken, bool, what="the ledger knows", timeout=30)

    after = shop.on_send(ProducerRecord("orders"))
    with pytest.raises(OSError, match="No space left"):
        shop.close()

    assert (after.headers, after.ears) == ((), ())
    assert "the ledger of shop is not written any more" in caplog.text
    [event] = [json.loads(line) for line in (run.folder / "events.jsonl").read_text().splitlines()]
    assert (event["event"], event["holds"]) == ("expectation", None)
    assert announcement(run.folder / "ledger", "shop").exists()
    run.ledgers.clear()


def test_a_header_value_is_found_as_it_was_given():
    values = HeaderValues("r", first=(1 << 62) + 5)
    value, record = values.give(ProducerRecord("orders"))

    assert value == (1 << 62) + 5
    assert values.find(Message(carried=list(record.headers))) == value
    assert HeaderValues("another").find(Message(carried=list(record.headers))) is None


def test_every_setting_is_on_the_page():
    assert [key for key in KEYS if f"| `{key}` |" not in (DOCS / "ledger.md").read_text()] == []
