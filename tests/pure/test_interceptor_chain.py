"""Java's contract: in order, each with the answer of the one before; whoever fails is passed over and counted."""

import gc
import logging
import threading
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from interceptors import chain as chain_module
from interceptors.chain import Chain
from interceptors.clients.consumer import committed, through
from interceptors.contract import Event, Happening, Interceptor
from interceptors.loading import load
from interceptors.metrics import Chains, InterceptorMetrics
from interceptors.record import ProducerRecord, Refused
from tests.pure.recording_interceptor import Recording

RECORD = ProducerRecord("orders", b"v", b"k")
REPORT = Refused(RECORD, None)


class Message:
    """As much of a Message as a chain looks at."""

    def __init__(self, value: Any, error: Any = None) -> None:
        self._value, self._error = value, error

    def value(self) -> Any:
        return self._value

    def error(self) -> Any:
        return self._error

    def __repr__(self) -> str:
        return f"<{self._value}>"


class Tagging(Interceptor):
    """Adds a letter to what passes."""

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value=record.value + self.letter)

    def on_consume(self, records: list[Any]) -> list[Any]:
        return [Message(record.value() + self.letter) for record in records]


def breaking(hook: str, error: BaseException | None = None, before: Callable[..., None] = lambda *_: None) -> Any:
    """An interceptor that fails in one hook."""

    def fail(self: Any, *args: Any) -> Any:
        before(*args)
        raise error or ValueError("broken")

    return type("Breaking", (Interceptor,), {hook: fail})()


def chain(*interceptors: Any) -> Chain:
    return Chain(list(interceptors), "client")


def tally(of: Chain, hook: str, name: str = "Breaking") -> Any:
    return next(each for each in of.tallies if each.hook == hook and each.interceptor.endswith(name))


CALLS: dict[str, Callable[[Chain], Any]] = {
    "on_send": lambda of: of.on_send(RECORD),
    "on_acknowledgement": lambda of: of.on_acknowledgement(REPORT, None, RECORD),
    "on_poll": lambda of: of.on_poll(),
    "on_consume": lambda of: of.on_consume([Message("v")]),
    "on_commit": lambda of: of.on_commit([Where(5)]),
    "on_event": lambda of: of.happened(Happening.BEGIN, 1),
    "close": lambda of: of.close(),
}


# ---- order and answers --------------------------------------------------------------------------------------------


def test_each_sees_what_the_one_before_it_answered():
    a, b = Tagging("a"), Tagging("b")

    assert chain(a, b).on_send(RECORD._replace(value="")).value == "ab"
    assert chain(b, a).on_send(RECORD._replace(value="")).value == "ba"
    assert [record.value() for record in chain(a, b).on_consume([Message("x"), Message("y")])] == ["xab", "yab"]


@pytest.mark.parametrize("hook", CALLS)
def test_every_hook_is_called_in_the_order_of_the_configuration_closing_too(hook: str):
    log: list[Any] = []

    CALLS[hook](chain(*(Recording(log, name) for name in "abc")))

    assert [entry[:2] for entry in log] == [("a", hook), ("b", hook), ("c", hook)]


def test_hooks_that_are_only_inherited_are_left_out():
    class Sends(Interceptor):
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            return record

    made = chain(Sends())

    assert made.send and not (made.acknowledge or made.poll or made.consume or made.commit or made.event)
    assert not chain() and chain(Sends())


def test_an_acknowledgement_may_be_written_as_javas_without_the_record():
    log: list[Any] = []

    class Java:
        def on_acknowledgement(self, report: Any, error: Any) -> None:
            log.append((report, error))

    class Anything:
        def on_acknowledgement(self, *what: Any) -> None:
            log.append(what)

    java, anything = chain(Java()), chain(Anything())
    java.on_acknowledgement(REPORT, None, None)
    anything.on_acknowledgement(REPORT, None, RECORD)

    assert log == [(REPORT, None), (REPORT, None, RECORD)]
    assert (java.wants_record, anything.wants_record) == (False, True)


def test_the_application_hears_of_a_delivery_after_the_chain_and_its_exceptions_are_its_own():
    log: list[Any] = []
    made = chain(Recording(log))

    made.delivered(RECORD, lambda error, message: log.append("application"), None, REPORT)
    made.delivered(RECORD, None, None, REPORT)
    with pytest.raises(ZeroDivisionError):
        made.delivered(RECORD, lambda error, message: 1 // 0, None, REPORT)

    assert [entry if isinstance(entry, str) else entry[0] for entry in log] == [
        "on_acknowledgement", "application", "on_acknowledgement", "on_acknowledgement",
    ]  # fmt: skip


# ---- failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hook", CALLS)
def test_one_that_fails_is_passed_over_and_counted_and_the_others_are_called(hook: str):
    log: list[Any] = []
    made = chain(Recording(log, "a"), breaking(hook), Recording(log, "b"))

    CALLS[hook](made)

    assert [entry[:2] for entry in log] == [("a", hook), ("b", hook)]
    assert (tally(made, hook).calls, tally(made, hook).errors) == (1, 1)
    assert tally(made, hook, "Recording").errors == 0


def test_the_chain_goes_on_with_the_last_good_record():
    made = chain(Tagging("a"), breaking("on_send"), Tagging("b"))

    assert made.on_send(RECORD._replace(value="")).value == "ab"


def test_records_that_one_took_out_of_the_list_before_it_failed_are_still_there():
    made = chain(Tagging("a"), breaking("on_consume", before=list.clear), Tagging("b"))

    assert [record.value() for record in made.on_consume([Message("x")])] == ["xab"]


def test_an_interceptor_may_change_the_list_that_it_is_given_and_answer_with_it():
    class Drops(Interceptor):
        def on_consume(self, records: list[Any]) -> list[Any]:
            del records[0]
            return records

    given = [Message("x"), Message("y")]

    assert chain(Drops()).on_consume(given) == given[1:] and len(given) == 2


@pytest.mark.parametrize("answer", [None, "text", ("orders", b"v"), RECORD._asdict(), 5])
def test_an_answer_that_is_no_record_is_a_failure_and_no_word_of_it_is_logged(answer: Any, caplog: pytest.LogCaptureFixture):
    class Wrong(Interceptor):
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            return answer  # type: ignore[no-any-return]

    made = chain(Wrong())

    assert made.on_send(RECORD) is RECORD
    assert tally(made, "on_send", "Wrong").errors == 1
    kind = "None" if answer is None else f"a {type(answer).__name__}"
    assert f"TypeError: on_send answered {kind} and not a ProducerRecord" in caplog.text
    assert "orders" not in caplog.text


@pytest.mark.parametrize("answer", [None, (), "text", {}, Message("x")])
def test_an_answer_that_is_no_list_of_records_is_a_failure(answer: Any, caplog: pytest.LogCaptureFixture):
    class Wrong(Interceptor):
        def on_consume(self, records: list[Any]) -> list[Any]:
            return answer  # type: ignore[no-any-return]

    made, given = chain(Wrong()), [Message("x")]

    assert made.on_consume(given) == given
    assert tally(made, "on_consume", "Wrong").errors == 1
    assert "and not a list of records" in caplog.text


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("hook", CALLS)
def test_whoever_wants_the_program_to_stop_is_heard(hook: str, stop: type[BaseException]):
    with pytest.raises(stop):
        CALLS[hook](chain(breaking(hook, stop())))


# ---- words about it -----------------------------------------------------------------------------------------------


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    time = [1000.0]
    monkeypatch.setattr(chain_module.time, "monotonic", lambda: time[0])
    yield time


@pytest.mark.parametrize("hook", [hook for hook in CALLS if hook != "close"])
def test_a_failure_is_told_once_in_a_while_with_interceptor_hook_and_how_often(
    hook: str, now: list[float], caplog: pytest.LogCaptureFixture
):
    made = chain(breaking(hook))
    for _ in range(1000):
        CALLS[hook](made)
        now[0] += 0.06  # a minute in all, less one
    assert len(caplog.records) == 1
    now[0] += 1
    CALLS[hook](made)

    name = f"{__name__}.Breaking"
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        f"interceptor {name} failed in {hook} and was passed over ({since} times since it was last told of, {all_} in all): "
        "ValueError: broken"
        for since, all_ in ((1, 1), (1000, 1001))
    ]
    assert {(record.name, record.levelno) for record in caplog.records} == {("interceptors", logging.WARNING)}
    assert all(record.exc_info for record in caplog.records)


def test_each_hook_of_each_interceptor_has_its_own_word(now: list[float], caplog: pytest.LogCaptureFixture):
    class Other(Interceptor):
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            raise ValueError("other")

    made = chain(breaking("on_send"), Other(), breaking("on_poll"))
    for _ in range(3):
        made.on_send(RECORD)
        made.on_poll()

    assert len(caplog.records) == 3


def test_a_chain_without_trouble_says_nothing(caplog: pytest.LogCaptureFixture):
    made = chain(Recording())
    for call in CALLS.values():
        call(made)

    assert caplog.records == []


# ---- ears ---------------------------------------------------------------------------------------------------------


def test_an_ear_hears_of_its_record_with_what_it_was_given_after_the_class_hooks():
    log: list[Any] = []
    whose = Recording(log)
    record = RECORD.heard_by(whose, lambda *heard: log.append(heard), "span", 5)

    chain(whose).on_acknowledgement(REPORT, "error", record)  # type: ignore[arg-type]

    assert log[-1] == (REPORT, "error", record, "span", 5)
    assert RECORD.ears == ()


def test_an_ear_that_fails_is_counted_to_its_interceptor_and_the_next_one_hears():
    log: list[Any] = []

    class Owner(Interceptor):
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            return record.heard_by(self, self.broken).heard_by(self, self.works)

        def broken(self, *_: Any) -> None:
            raise ValueError("deaf")

        def works(self, *_: Any) -> None:
            log.append("heard")

    made = chain(Owner())
    made.on_acknowledgement(REPORT, None, made.on_send(RECORD))

    assert log == ["heard"]
    assert (tally(made, "on_acknowledgement", "Owner").calls, tally(made, "on_acknowledgement", "Owner").errors) == (2, 1)


def test_an_ear_of_somebody_who_is_not_in_the_chain_is_called_and_counted_too():
    log: list[Any] = []
    made = chain(Recording())

    made.on_acknowledgement(REPORT, None, RECORD.heard_by(Tagging("x"), lambda *_: log.append(1)))

    assert log == [1] and tally(made, "on_acknowledgement", "Tagging").calls == 1


def test_an_ear_that_was_added_and_then_lost_by_a_failure_is_not_called():
    """The record of the interceptor that failed is not the one that goes on."""
    log: list[Any] = []

    class Half(Interceptor):
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            record.heard_by(self, lambda *_: log.append("half")).with_headers(("half", b"1"))
            raise ValueError

    made = chain(Half())
    record = made.on_send(RECORD)
    made.on_acknowledgement(REPORT, None, record)

    assert log == [] and record is RECORD


# ---- records ------------------------------------------------------------------------------------------------------


def test_headers_replace_all_of_their_name_and_never_append():
    record = RECORD._replace(headers=(("a", b"1"), ("b", b"2"), ("a", b"3")))

    changed = record.with_headers(("a", b"new"), ("c", None))

    assert changed.headers == (("b", b"2"), ("a", b"new"), ("c", None))
    assert record.headers == (("a", b"1"), ("b", b"2"), ("a", b"3"))
    assert changed.with_headers(("a", b"new"), ("c", None)).headers == changed.headers
    assert changed._replace(headers=()) == record._replace(headers=())


def test_a_record_cannot_be_changed():
    for name in RECORD._fields:
        with pytest.raises(AttributeError):
            setattr(RECORD, name, 1)
    with pytest.raises(AttributeError):
        RECORD.headers.append  # type: ignore[attr-defined] # noqa: B018


def test_of_several_headers_of_one_name_the_last_counts_as_in_java():
    record = RECORD._replace(headers=(("a", b"1"), ("a", b"2"), ("n", None)))

    assert (record.header("a"), record.header("n"), record.header("x")) == (b"2", None, None)


def test_a_refused_record_tells_what_it_was():
    record = ProducerRecord("t", b"v", b"k", (("h", b"1"),), 3, 17)
    refused = Refused(record, "why")

    assert (refused.topic(), refused.partition(), refused.offset()) == ("t", 3, -1001)
    assert (refused.key(), refused.value(), refused.headers()) == (b"k", b"v", [("h", b"1")])
    assert (refused.timestamp(), refused.latency(), refused.leader_epoch(), refused.error()) == ((0, 0), None, None, "why")


# ---- consumers ----------------------------------------------------------------------------------------------------


def test_errors_and_ends_of_partitions_do_not_pass_the_chain_and_keep_their_place():
    kept, eof = Recording(), Message("eof", error="eof")
    mixed = [Message("a"), eof, Message("b")]

    assert [str(each) for each in through(chain(Tagging("x"), kept), mixed)] == ["<ax>", "<eof>", "<bx>"]
    assert kept.log == [("on_consume", "ax", "bx")]
    assert through(chain(kept), [eof]) == [eof] and len(kept.log) == 1


def test_if_the_chain_changes_how_many_there_are_errors_come_first():
    class First(Interceptor):
        def on_consume(self, records: list[Any]) -> list[Any]:
            return records[:1]

    mixed = [Message("a"), Message("eof", error="eof"), Message("b")]

    assert [str(each) for each in through(chain(First()), mixed)] == ["<eof>", "<a>"]


class Where:
    def __init__(self, offset: int, error: Any = None) -> None:
        self.topic, self.partition, self.offset, self.error = "t", 0, offset, error


class Error:
    def __init__(self, code: int) -> None:
        self._code = code

    def code(self) -> int:
        return self._code


def test_of_a_commit_what_succeeded_is_told_and_the_event_has_it_all():
    kept = Recording()
    committed(chain(kept), 1, None, [Where(5), Where(6, error="no"), Where(-1001)], asked=True)

    assert kept.log == [("on_commit", ("t", 0, 5)), ("on_event", "offsets", ("t", 0), ("t", 0))]


def test_a_commit_that_failed_or_had_nothing_to_commit_is_no_commit():
    from confluent_kafka import KafkaError

    kept = Recording()
    committed(chain(kept), 1, Error(KafkaError._NO_OFFSET), [], asked=False)
    assert kept.log == []

    committed(chain(kept), 1, Error(KafkaError.REBALANCE_IN_PROGRESS), [Where(5)], asked=True)
    assert kept.log == [("on_event", "offsets", ("t", 0))]


# ---- life ---------------------------------------------------------------------------------------------------------


def test_configure_gets_the_whole_configuration_and_cannot_change_it():
    kept = [Recording(), Recording()]
    config = {"bootstrap.servers": "b", "sasl.password": "secret", "interceptor.mine": 5, "interceptor.classes": kept}

    load(config, ("on_send",), "producer")

    for each in kept:
        assert each.config == config and isinstance(each.config, MappingProxyType)
        with pytest.raises(TypeError):
            each.config["new"] = 1  # type: ignore[index]


def test_closing_again_does_nothing():
    kept = [Recording(), Recording()]
    made = chain(*kept)

    made.close()
    made.close()

    assert [each.closed for each in kept] == [1, 1]


def test_two_of_the_same_class_are_two_interceptors_and_counted_together():
    log: list[Any] = []
    made = Chain(load({"interceptor.classes": [Recording(log, "a"), Recording(log, "b")]}, ("on_send",), "producer"), "")

    made.on_send(RECORD)

    assert [entry[0] for entry in log] == ["a", "b"]
    assert [each.calls for each in made.tallies if each.hook == "on_send"] == [2]


def test_several_threads_at_once_are_counted_right():
    made = chain(breaking("on_send"), Recording([]))
    logging.getLogger("interceptors").disabled = True
    try:
        threads = [threading.Thread(target=lambda: [made.on_send(RECORD) for _ in range(5000)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        logging.getLogger("interceptors").disabled = False

    assert (tally(made, "on_send").calls, tally(made, "on_send").errors) == (40_000, 40_000)
    assert tally(made, "on_send", "Recording").calls == 40_000


def test_an_event_knows_when_it_began_and_ended():
    events: list[Event] = []

    class Hears(Interceptor):
        def on_event(self, event: Event) -> None:
            events.append(event)

    chain(Hears()).happened(Happening.COMMIT, 5, "error", [1, 2], asked=False)

    assert events[0][:2] == (Happening.COMMIT, 5) and events[0].completed_ns > 5
    assert events[0][3:] == ("error", (1, 2), False)


# ---- figures ------------------------------------------------------------------------------------------------------


def figures(registry: CollectorRegistry) -> dict[str, dict[tuple[str, str, str], float]]:
    found: dict[str, dict[tuple[str, str, str], float]] = {}
    for family in registry.collect():
        for sample in family.samples:
            labels = sample.labels["interceptor"].rpartition(".")[2], sample.labels["hook"], sample.labels["client"]
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


@pytest.mark.slow
def test_calls_errors_and_time_are_prometheus_counters_that_outlive_the_client():
    chains, registry = Chains(), CollectorRegistry()
    registry.register(InterceptorMetrics(chains))
    assert figures(registry) == {}

    first = chain(Recording(), breaking("on_send"))
    chains.add(first)
    first.on_send(RECORD)
    first.on_acknowledgement(REPORT, None, RECORD)
    before = figures(registry)
    assert before.keys() == {
        "kafka_interceptor_calls_total",
        "kafka_interceptor_errors_total",
        "kafka_interceptor_seconds_total",
    }
    assert before["kafka_interceptor_calls_total"][("Breaking", "on_send", "client")] == 1
    assert before["kafka_interceptor_errors_total"][("Breaking", "on_send", "client")] == 1
    assert before["kafka_interceptor_errors_total"][("Recording", "on_send", "client")] == 0
    assert 0 < before["kafka_interceptor_seconds_total"][("Recording", "on_send", "client")] < 1

    del first
    gc.collect()
    assert figures(registry) == before

    second = chain(Recording(), breaking("on_send"))
    chains.add(second)
    second.on_send(RECORD)
    assert figures(registry)["kafka_interceptor_calls_total"][("Breaking", "on_send", "client")] == 2


@pytest.mark.slow
def test_a_client_that_is_collected_as_garbage_in_the_middle_of_a_scrape_is_neither_waited_for_nor_lost(
    monkeypatch: pytest.MonkeyPatch,
):
    chains = Chains()
    doomed = [chain(Recording())]
    chains.add(doomed[0])
    doomed[0].on_send(RECORD)
    before = chains.totals()

    class Scraping(list[Any]):
        """In the middle of adding up, garbage is collected."""

        def __iter__(self) -> Iterator[Any]:
            doomed.clear()
            gc.collect()
            return super().__iter__()

    other = chain(Recording())
    other.tallies = Scraping(other.tallies)
    chains.add(other)
    scraping = threading.Thread(target=chains.totals, daemon=True)
    scraping.start()
    scraping.join(10)

    assert not scraping.is_alive(), "a scrape waits for itself"
    assert chains.totals() == before | {key: figure for key, figure in chains.totals().items() if key not in before}


def test_a_chain_of_a_consumer_has_no_figures_of_acknowledgements():
    class Reads(Interceptor):
        def on_consume(self, records: list[Any]) -> list[Any]:
            return records

    assert {each.hook for each in chain(Reads()).tallies} == {"on_consume"}


def test_an_error_that_interrupted_a_delivery_report_keeps_its_name():
    from confluent_kafka import KafkaError, KafkaException

    from interceptors.clients.producer import kafka_error

    trouble = SystemError("returned a result with an exception set")
    trouble.__cause__ = KafkaException(KafkaError(KafkaError._FENCED))

    assert kafka_error(trouble).name() == "_FENCED"
    assert kafka_error(SystemError("of another kind")).name() == "_INVALID_ARG"
