"""What a consumer does: a span for each poll that brought something, for each commit, and for what is done with a record."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition
from opentelemetry import baggage, trace
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, sampling
from opentelemetry.trace import SpanKind, StatusCode

from interceptors.contract import Event, Happening
from interceptors.loading import BadInterceptor
from interceptors.tracing import process, process_batch, processing
from interceptors.tracing.facts import MOST_LINKS
from interceptors.tracing.origins import ORIGINS
from tests.pure.tracing_stage import SPAN, TRACE, Stage, acknowledged, header_of, message, told, traceparent

OTHER = "1" * 32
GROUP = {"group.id": "tills", "client.id": "till-7", "bootstrap.servers": "a:1,b:2"}


@pytest.fixture(autouse=True)
def nobody_reads_yet() -> Iterator[None]:
    yield
    ORIGINS._readers.clear()


def poll(stage: Stage, *messages: Any) -> None:
    stage.tracing.on_poll()
    assert stage.tracing.on_consume(list(messages)) == list(messages)


def place(context: Any) -> str:
    return f"{context.trace_id:032x}-{context.span_id:016x}"


def links(span: ReadableSpan) -> list[str]:
    return [place(link.context) for link in span.links]


# ---- poll ----------------------------------------------------------------------------------------------------------


def test_a_poll_that_brings_one_record_is_a_span_in_its_trace():
    stage = Stage(GROUP)
    poll(stage, message(headers=[traceparent()]))

    span = stage.span()
    assert (span.name, span.kind) == ("poll orders", SpanKind.CLIENT)
    assert (place(span.parent), links(span)) == (f"{TRACE}-{SPAN}", [f"{TRACE}-{SPAN}"])
    assert dict(span.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "poll",
        "messaging.operation.type": "receive",
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": "3",
        "messaging.kafka.offset": 41,
        "messaging.kafka.message.key": "k",
        "messaging.consumer.group.name": "tills",
        "messaging.client.id": "till-7",
    }


def test_it_is_only_linked_if_processing_is():
    stage = Stage({"interceptor.tracing.process": "link"})
    poll(stage, message(headers=[traceparent()]))

    assert (stage.span().parent, links(stage.span())) == (None, [f"{TRACE}-{SPAN}"])


def test_polls_of_records_without_a_trace_are_sampled_once():
    stage = Stage(sampler=sampling.ParentBasedTraceIdRatio(0.5))
    for _ in range(400):
        poll(stage, message(), message())

    assert 150 < len(stage.spans) < 250


def test_one_that_brings_several_is_linked_to_each_and_child_of_none():
    stage = Stage(GROUP)
    headers = [traceparent(), traceparent(OTHER), None, traceparent(OTHER)]
    poll(stage, *(message(offset=at, headers=[header] if header else None) for at, header in enumerate(headers)))

    span = stage.span()
    attributes = dict(span.attributes or {})
    assert span.parent is None
    assert links(span) == [f"{TRACE}-{SPAN}", f"{OTHER}-{SPAN}"]
    assert [dict(link.attributes or {})["messaging.kafka.offset"] for link in span.links] == [0, 1]
    assert attributes["messaging.batch.message_count"] == 4
    assert attributes["messaging.destination.partition.id"] == "3"
    assert "messaging.kafka.offset" not in attributes and "messaging.kafka.message.key" not in attributes


def test_several_topics_in_one_poll_are_told_by_the_links():
    stage = Stage()
    poll(stage, message(headers=[traceparent()]), message(topic="books", partition=1, headers=[traceparent(OTHER)]))

    span = stage.span()
    assert span.name == "poll"
    assert "messaging.destination.name" not in (span.attributes or {})
    assert [dict(link.attributes or {})["messaging.destination.name"] for link in span.links] == ["orders", "books"]


@pytest.mark.slow
def test_links_are_bounded_and_the_count_is_not():
    stage = Stage(span_limits=SpanLimits(max_links=1000))  # ours bites before the SDK's
    poll(stage, *(message(offset=at, headers=[traceparent(f"{at + 1:032x}")]) for at in range(200)))

    assert len(stage.span().links) == MOST_LINKS
    assert (stage.span().attributes or {})["messaging.batch.message_count"] == 200


@pytest.mark.parametrize("error", [KafkaError._PARTITION_EOF, KafkaError._TRANSPORT])
def test_an_empty_poll_and_errors_make_no_span(error: int):
    stage = Stage()
    poll(stage)
    poll(stage, message(error=KafkaError(error)))

    assert stage.spans == ()


@pytest.mark.parametrize("link", ["child", "link"])
@pytest.mark.parametrize("many", [1, 2])
def test_records_that_are_not_sampled_leave_no_span(many: int, link: str):
    stage = Stage({"interceptor.tracing.process": link})
    messages = [message(headers=[traceparent(flags="00")]) for _ in range(many)]
    poll(stage, *messages)
    with process(messages[0]), process_batch(messages):
        record = stage.send()

    assert (stage.spans, record.ears) == ((), ())


def test_one_of_them_that_is_sampled_is_enough():
    stage = Stage()
    poll(stage, message(headers=[traceparent(flags="00")]), message(headers=[traceparent(OTHER)]))

    assert stage.names() == ["poll orders"]


def test_a_poll_inside_a_span_is_its_child():
    stage = Stage()
    with stage.provider.get_tracer("app").start_as_current_span("work") as work:
        poll(stage, message(headers=[traceparent()]))

    assert place(stage.spans[0].parent) == place(work.get_span_context())
    assert links(stage.spans[0]) == [f"{TRACE}-{SPAN}"]


def test_a_poll_takes_as_long_as_the_application_waited_but_not_from_before_there_was_a_record():
    stage = Stage()
    now = time.time_ns()
    for made in ((0, 0), (1, now // 1_000_000 - 1000), (1, now // 1_000_000 + 3_600_000)):
        stage.tracing.on_poll()
        stage.tracing._consuming._polled = time.monotonic_ns() - 30_000_000_000
        stage.tracing.on_consume([message(headers=[traceparent()], timestamp=made)])

    seconds = [((span.end_time or 0) - (span.start_time or 0)) / 1e9 for span in stage.spans]
    assert seconds == [pytest.approx(30, abs=0.9), pytest.approx(1, abs=0.9), 0]


@pytest.mark.parametrize("many", [1, 3])
def test_a_poll_is_told_the_same_both_ways(many: int):
    spans = []
    for looking in (False, True):
        stage = Stage(GROUP, looking=looking)
        poll(stage, *(message(offset=at, headers=[traceparent(f"{at + 1:032x}")]) for at in range(many)))
        spans.append(told(stage.span()))
        spans[-1]["context"].pop("trace_id", None)

    assert spans[0] == spans[1]


def test_bad_headers_are_counted_and_the_record_arrives():
    stage = Stage()
    bad = message(headers=[("traceparent", b"\xff"), ("b3", None)])
    poll(stage, bad)
    with process(bad):
        pass

    assert stage.tracing.bad_headers == {"traceparent": 1, "b3": 1}
    assert stage.names() == ["poll orders", "process orders"]


# ---- commit --------------------------------------------------------------------------------------------------------


def settled(stage: Stage, what: Happening, *partitions: Any, **more: Any) -> None:
    end = time.monotonic_ns()
    stage.tracing.on_event(Event(what, end - 2_000_000_000, end, partitions=partitions, **more))


def test_a_commit_is_a_span_of_its_length():
    stage = Stage(GROUP)
    settled(stage, Happening.OFFSETS, TopicPartition("orders", 3, 42))

    span = stage.span()
    attributes = dict(span.attributes or {})
    assert (span.name, span.kind) == ("commit orders", SpanKind.CLIENT)
    assert (attributes["messaging.operation.name"], attributes["messaging.operation.type"]) == ("commit", "settle")
    assert (attributes["messaging.destination.partition.id"], attributes["messaging.kafka.offset"]) == ("3", 42)
    assert attributes["messaging.consumer.group.name"] == "tills"
    assert (span.end_time or 0) - (span.start_time or 0) == 2_000_000_000
    assert abs(time.time_ns() - (span.end_time or 0)) < 1_000_000_000


def test_a_commit_that_fails_is_an_error():
    stage = Stage()
    settled(stage, Happening.OFFSETS, TopicPartition("orders", 3, 42), error=KafkaError(KafkaError.ILLEGAL_GENERATION))

    assert stage.span().status.status_code is StatusCode.ERROR
    assert (stage.span().attributes or {})["error.type"] == "ILLEGAL_GENERATION"


class Partly:
    topic, partition, offset, error = "orders", 1, 7, KafkaError(KafkaError.UNKNOWN_MEMBER_ID)


def test_one_that_fails_for_a_partition_is_an_error_too():
    stage = Stage()
    settled(stage, Happening.OFFSETS, TopicPartition("orders", 3, 42), Partly())

    assert (stage.span().attributes or {})["error.type"] == "UNKNOWN_MEMBER_ID"


@pytest.mark.parametrize(("what", "name"), [(Happening.COMMIT, "commit"), (Happening.ABORT, "abort")])
def test_a_transaction_is_settled_in_a_span(what: Happening, name: str):
    stage = Stage()
    settled(stage, what)

    assert stage.names() == [name]
    assert (stage.span().attributes or {})["messaging.operation.type"] == "settle"


@pytest.mark.parametrize("what", sorted(set(Happening) - {Happening.OFFSETS, Happening.COMMIT, Happening.ABORT}))
def test_other_happenings_leave_no_span(what: Happening):
    stage = Stage()
    settled(stage, what)

    assert stage.spans == ()


# ---- process -------------------------------------------------------------------------------------------------------


def test_what_is_done_with_a_record_is_a_child_of_its_sending_and_parent_of_what_is_sent():
    stage = Stage(GROUP)
    about = message(headers=[traceparent()])
    poll(stage, about)
    with process(about) as active:
        record = stage.send()
    acknowledged(record)

    _, span, sent = stage.spans
    assert active is not None
    assert (span.name, span.kind, place(span.parent)) == ("process orders", SpanKind.CONSUMER, f"{TRACE}-{SPAN}")
    assert place(span.context) == place(sent.parent) == f"{active.trace_id}-{active.span_id}"
    assert dict(span.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": "3",
        "messaging.kafka.offset": 41,
        "messaging.kafka.message.key": "k",
        "messaging.consumer.group.name": "tills",
        "messaging.client.id": "till-7",
    }
    assert header_of(stage.send())[3:35] != TRACE  # and after it nothing is active


def test_it_may_be_linked_instead():
    stage = Stage({"interceptor.tracing.process": "link"})
    with process(message(headers=[traceparent()]), stage.tracing):
        pass

    assert (stage.span().parent, links(stage.span())) == (None, [f"{TRACE}-{SPAN}"])


def test_a_record_without_a_trace_begins_one():
    stage = Stage()
    with process(message(), stage.tracing):
        record = stage.send()

    assert stage.span().parent is None
    assert header_of(record)[3:35] == f"{stage.span().context.trace_id:032x}"


def test_an_exception_is_recorded_and_goes_on():
    stage = Stage()
    with pytest.raises(ZeroDivisionError), process(message(headers=[traceparent()]), stage.tracing):
        1 / 0  # noqa: B018

    span = stage.span()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "ZeroDivisionError: division by zero")
    assert (span.attributes or {})["error.type"] == "ZeroDivisionError"
    assert [event.name for event in span.events] == ["exception"]
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_the_application_can_add_to_the_span():
    stage = Stage()
    with process(message(headers=[traceparent()]), stage.tracing):
        trace.get_current_span().set_attribute("till", 7)

    assert (stage.span().attributes or {})["till"] == 7


def test_baggage_of_the_record_is_there_and_goes_on():
    stage = Stage()
    with process(message(headers=[traceparent(), ("baggage", b"user=7")]), stage.tracing):
        assert baggage.get_baggage("user") == "7"
        record = stage.send()

    assert ("baggage", b"user=7") in record.headers
    assert baggage.get_baggage("user") is None


def test_a_batch_is_one_span_linked_to_each_and_errors_are_none_of_them():
    stage = Stage(GROUP)
    end = message(error=KafkaError(KafkaError._PARTITION_EOF))
    with process_batch(
        [message(headers=[traceparent()]), end, message(offset=42, headers=[traceparent(OTHER)])], stage.tracing
    ):
        record = stage.send()

    span = stage.span()
    assert (span.parent, links(span)) == (None, [f"{TRACE}-{SPAN}", f"{OTHER}-{SPAN}"])
    assert (span.attributes or {})["messaging.batch.message_count"] == 2
    assert header_of(record)[3:35] == f"{span.context.trace_id:032x}"


def test_a_batch_of_nothing_is_nothing():
    stage = Stage()
    with process_batch([], stage.tracing) as active:
        assert active is None

    assert stage.spans == ()


def test_threads_have_each_their_own():
    stage, inside = Stage(), threading.Barrier(4)
    sent: dict[str, str] = {}

    def handle(trace_id: str) -> None:
        with process(message(headers=[traceparent(trace_id)]), stage.tracing):
            inside.wait()
            sent[trace_id] = header_of(stage.send())[3:35]
            inside.wait()

    threads = [threading.Thread(target=handle, args=(f"{number:032x}",)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sent == {f"{number:032x}": f"{number:032x}" for number in range(1, 5)}


def test_tasks_have_each_their_own_and_a_coroutine_may_be_decorated():
    stage = Stage()
    poll(stage, message())
    sent: dict[int, str] = {}

    @processing
    async def handle(about: Any, gate: asyncio.Event) -> int:
        """Documented."""
        await gate.wait()
        sent[about.offset()] = header_of(stage.send())[3:35]
        return about.offset()

    async def all_of_them() -> list[int]:
        gate = asyncio.Event()
        tasks = [
            asyncio.create_task(handle(message(offset=at, headers=[traceparent(f"{at:032x}")]), gate)) for at in range(1, 5)
        ]
        await asyncio.sleep(0)
        gate.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(all_of_them()) == [1, 2, 3, 4]
    assert sent == {at: f"{at:032x}" for at in range(1, 5)}
    assert handle.__doc__ == "Documented."


def test_a_function_may_be_decorated():
    stage = Stage()
    poll(stage, message())

    @processing
    def handle(about: Any, factor: int) -> int:
        return int(about.offset()) * factor

    assert handle(message(), 2) == 82
    assert stage.names() == ["poll orders", "process orders"]


# ---- whose message -------------------------------------------------------------------------------------------------


def group(span: ReadableSpan) -> Any:
    return (span.attributes or {}).get("messaging.consumer.group.name")


def test_of_two_consumers_of_one_topic_only_what_they_share_is_told():
    stage = Stage(GROUP)
    other = stage.another({**GROUP, "group.id": "books", "interceptor.tracing.process": "link"})
    stage.tracing.on_consume([message()])
    other.on_consume([message()])
    stage.exporter.clear()
    with process(message(headers=[traceparent()])):
        pass
    with process(message(), other):
        pass

    assert [group(span) for span in stage.spans] == [None, "books"]
    assert (stage.spans[0].attributes or {})["messaging.client.id"] == "till-7"
    assert place(stage.spans[0].parent) == f"{TRACE}-{SPAN}"


def test_one_that_was_closed_is_forgotten():
    stage = Stage(GROUP)
    other = stage.another({"group.id": "books"})
    stage.tracing.on_consume([message()])
    other.on_consume([message()])
    other.close()
    with process(message()):
        pass

    assert group(stage.spans[-1]) == "tills"


def test_a_consumer_that_is_not_traced_cannot_be_named():
    with (
        pytest.raises(BadInterceptor, match=r"object has no interceptor interceptors\.tracing\.Tracing"),
        process(message(), object()),
    ):
        pass


def test_a_message_of_nobody_known_is_processed_all_the_same():
    with process(message(topic="elsewhere", headers=[traceparent()])) as active:
        assert trace.get_current_span().get_span_context().trace_id == int(TRACE, 16)

    assert active is not None and active.trace_id == TRACE


class Broken(sampling.Sampler):
    def should_sample(self, *args: Any, **more: Any) -> sampling.SamplingResult:
        raise RuntimeError("sampler is broken")

    def get_description(self) -> str:
        return "Broken"


def test_tracing_that_fails_does_not_keep_the_application_from_its_record(caplog: pytest.LogCaptureFixture):
    stage, done = Stage(sampler=Broken()), []
    with process(message(), stage.tracing):
        done.append(1)

    assert done == [1]
    assert "sampler is broken" in caplog.text
