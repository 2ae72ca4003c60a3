"""A record that is sent: whose child it is, what its header says, and that its span ends with the acknowledgement."""

import logging
import sys
import time
from typing import Any

import pytest
from confluent_kafka import KafkaError
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, _disable_tracer_configurator, sampling
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, SamplingResult
from opentelemetry.trace import SpanKind, StatusCode, TraceState

from interceptors.record import ProducerRecord
from interceptors.tracing import Tracing, process, process_batch
from tests.pure.tracing_stage import (
    SPAN,
    TRACE,
    Looks,
    Stage,
    acknowledged,
    header_of,
    ids_of,
    message,
    refused,
    told,
    traceparent,
)

OTHER = "1" * 32
CONFIG = {"client.id": "till-7", "bootstrap.servers": "broker-1:9092"}


def order(**more: Any) -> ProducerRecord:
    return ProducerRecord("orders", **{"value": b"v", "key": b"k"} | more)


# ---- the span ------------------------------------------------------------------------------------------------------


def test_a_send_span_ends_when_the_record_is_acknowledged_and_says_where_it_is():
    stage = Stage(CONFIG)
    record = stage.send(order())

    assert stage.spans == ()
    acknowledged(record, partition=3, offset=41)

    span = stage.span()
    assert (span.name, span.kind, span.status.status_code) == ("send orders", SpanKind.PRODUCER, StatusCode.UNSET)
    assert dict(span.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": "3",
        "messaging.kafka.offset": 41,
        "messaging.kafka.message.key": "k",
        "messaging.client.id": "till-7",
        "server.address": "broker-1",
        "server.port": 9092,
    }


def test_it_lasts_as_long_as_that_took():
    stage, before = Stage(), time.monotonic_ns()
    acknowledged(stage.send())
    span, after = stage.span(), time.monotonic_ns()

    assert 0 < (span.end_time or 0) - (span.start_time or 0) <= after - before


def test_its_ids_are_those_in_the_header():
    stage = Stage()
    record = stage.send(order())
    acknowledged(record)

    assert header_of(record) == ids_of(stage.span())
    assert header_of(record).endswith("-03")  # sampled, and made by chance: as the SDK's own propagator says it


def test_a_delivery_that_fails_is_an_error_by_kafkas_name():
    stage = Stage()
    acknowledged(stage.send(order()), error=KafkaError(KafkaError._MSG_TIMED_OUT))

    span = stage.span()
    assert span.attributes is not None
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "_MSG_TIMED_OUT")
    assert "messaging.kafka.offset" not in span.attributes


def test_a_record_that_was_refused_is_an_error_without_a_place():
    stage = Stage()
    refused(stage.send(order()), KafkaError(KafkaError._QUEUE_FULL))

    span = stage.span()
    assert span.attributes is not None
    assert span.attributes["error.type"] == "_QUEUE_FULL"
    assert "messaging.destination.partition.id" not in span.attributes


def test_a_tombstone_is_marked_and_others_are_not():
    stage = Stage()
    for value in (None, b"", b"v"):
        acknowledged(stage.send(order(value=value)))

    assert [(span.attributes or {}).get("messaging.kafka.message.tombstone") for span in stage.spans] == [True, None, None]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"k", "k"),
        ("ключ", "ключ"),
        (7, "7"),
        (b"\xff", None),
        (True, None),
        ({"a": 1}, None),
        (None, None),
        ("k" * 999, "k" * 256),
    ],
)
def test_a_key_is_told_if_it_has_one_spelling(key: Any, text: str | None):
    stage = Stage()
    acknowledged(stage.send(order(key=key)))

    assert (stage.span().attributes or {}).get("messaging.kafka.message.key") == text


def test_keys_are_not_told_if_they_are_not_to_be():
    stage = Stage({"interceptor.tracing.keys": "false"})
    acknowledged(stage.send(order()))

    assert "messaging.kafka.message.key" not in (stage.span().attributes or {})


# ---- both ways to a span -------------------------------------------------------------------------------------------

LIMITS = SpanLimits(max_span_attributes=4, max_span_attribute_length=3)
WAYS: list[dict[str, Any]] = [
    {},
    {"sampler": sampling.ALWAYS_ON},
    {"span_limits": LIMITS},
    {"resource": Resource({"service.name": "till"})},
    {"sampler": sampling.AlwaysRecordSampler(sampling.ALWAYS_ON)},
]
HEADERS: list[tuple[Any, ...]] = [
    (),
    (traceparent(),),
    (traceparent(flags="03"), ("tracestate", b"a=1")),
    (("b3", f"{TRACE}-{SPAN}-d"),),
    (("b3", f"{TRACE}-{SPAN}"),),
    (("traceId", TRACE),),
]


def sent(
    looking: bool, headers: tuple[Any, ...], error: KafkaError | None, options: dict[str, Any]
) -> tuple[Stage, ReadableSpan]:
    stage = Stage(CONFIG, looking=looking, **options)
    acknowledged(stage.send(order(headers=headers)), error=error)
    return stage, stage.span()


@pytest.mark.parametrize("error", [None, KafkaError(KafkaError._MSG_TIMED_OUT)], ids=["acknowledged", "failed"])
@pytest.mark.parametrize("headers", HEADERS, ids=lambda headers: ",".join(name for name, _ in headers))
@pytest.mark.parametrize("options", WAYS, ids=lambda options: ",".join(options))
def test_a_span_built_at_its_end_is_the_one_that_was_started(options: dict[str, Any], headers: Any, error: Any):
    (one, built), (two, started) = (sent(looking, headers, error, options) for looking in (False, True))

    assert one.looks.started == []
    assert [name for name, _ in two.looks.started] == ["send orders"]
    assert told(built) == told(started) | ({} if headers else {"context": told(built)["context"]})


def test_a_trace_that_only_has_a_name_is_continued_both_ways_without_a_parent():
    for looking in (False, True):
        _, span = sent(looking, (("traceId", TRACE),), None, {})

        assert (f"{span.context.trace_id:032x}", span.parent) == (TRACE, None)


def test_a_processor_that_is_added_later_sees_spans_start():
    stage, late = Stage(), Looks()
    acknowledged(stage.send())
    between = stage.send()
    stage.provider.add_span_processor(late)
    acknowledged(between)
    acknowledged(stage.send())

    assert [name for name, _ in late.started] == ["send orders"]
    assert stage.names() == ["send orders"] * 3


def test_an_sdk_that_looks_different_inside_is_used_the_public_way(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace._tracer_metrics", None)
    stage = Stage()
    record = stage.send()
    ((_, _, (draft, *_)),) = record.ears
    acknowledged(record)

    assert draft.live.is_recording() is False  # it had been started, and has ended
    assert header_of(record) == ids_of(stage.span())


class Counts(RandomIdGenerator):
    """An application's own ids, which may mean something."""

    def __init__(self) -> None:
        self.last = 0xFACE0000

    def generate_trace_id(self) -> int:
        self.last += 1
        return self.last

    def is_trace_id_random(self) -> bool:
        return False


@pytest.mark.parametrize("looking", [False, True])
def test_an_id_generator_of_the_application_is_used(looking: bool):
    stage = Stage(looking=looking, id_generator=Counts())
    record = stage.send()
    acknowledged(record)

    assert header_of(record) == ids_of(stage.span())
    assert header_of(record).startswith(f"00-{'face0001':0>32}-")
    assert header_of(record).endswith("-01")


class Picky(sampling.Sampler):
    """Unknown to us: by attributes, and with a word in the tracestate."""

    def __init__(self) -> None:
        self.asked = 0

    def should_sample(
        self, parent_context: Any, trace_id: int, name: str, kind: Any = None, attributes: Any = None, *more: Any
    ):
        self.asked += 1
        wanted = attributes["messaging.destination.name"] == "orders"
        decision = Decision.RECORD_AND_SAMPLE if wanted else Decision.DROP
        return SamplingResult(decision, {**attributes, "picked": 1}, TraceState([("picky", "1")]))

    def get_description(self) -> str:
        return "Picky"


@pytest.mark.parametrize("looking", [False, True])
def test_an_unknown_sampler_is_asked_once_and_obeyed(looking: bool):
    sampler = Picky()
    stage = Stage(looking=looking, sampler=sampler)
    record, other = stage.send(), stage.send(ProducerRecord("books", b"v"))
    acknowledged(record)

    assert sampler.asked == 2
    assert other.ears == ()
    assert header_of(other).endswith("-02")
    assert header_of(record) == ids_of(stage.span())
    assert ("tracestate", b"picky=1") in record.headers
    assert (stage.span().attributes or {})["picked"] == 1


class Hears(SpanProcessor):
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.heard.append(span)


@pytest.mark.parametrize("looking", [False, True])
def test_what_is_to_be_recorded_and_not_sampled_is_heard_of_and_not_exported(looking: bool):
    stage, hears = Stage(looking=looking, sampler=sampling.AlwaysRecordSampler(sampling.ALWAYS_OFF)), Hears()
    stage.provider.add_span_processor(hears)
    record = stage.send()
    acknowledged(record)

    assert [ids_of(span) for span in hears.heard] == [header_of(record)]
    assert (header_of(record)[-2:], stage.spans) == ("02", ())


# ---- what is not recorded ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("looking", [False, True])
@pytest.mark.parametrize("headers", [(), (traceparent(flags="00"),), (("b3", b"0"),)])
def test_a_record_that_is_not_sampled_has_a_header_and_no_ear(headers: Any, looking: bool):
    stage = Stage(looking=looking, sampler=sampling.ParentBased(sampling.ALWAYS_OFF))
    record = stage.send(order(headers=headers))

    assert record.ears == ()
    assert int(header_of(record)[-2:], 16) & 1 == 0
    assert stage.looks.started == []


def test_some_are_sampled_by_the_very_id_in_the_header():
    stage = Stage(sampler=sampling.ParentBasedTraceIdRatio(0.5))
    records = [stage.send() for _ in range(300)]

    for record in records:
        recorded = int(header_of(record)[3 + 16 : 3 + 32], 16) < 1 << 63
        assert (recorded, bool(record.ears)) == (header_of(record).endswith("-03"), recorded)
    assert 90 < sum(bool(record.ears) for record in records) < 210


def test_a_tracer_that_is_switched_off_records_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    record = Stage().send()

    assert record.ears == ()
    assert int(header_of(record)[-2:], 16) & 1 == 0


def test_so_it_is_if_it_was_switched_off_by_its_provider():
    record = Stage(_tracer_configurator=_disable_tracer_configurator).send()

    assert record.ears == ()
    assert int(header_of(record)[-2:], 16) & 1 == 0


def test_where_telemetry_is_suppressed_a_record_is_left_alone():
    stage, record = Stage(), order()
    token = context.attach(context.set_value(context._SUPPRESS_INSTRUMENTATION_KEY, True))
    try:
        assert stage.send(record) is record
    finally:
        context.detach(token)
    assert stage.send(record) != record


def test_a_record_without_anything_else_keeps_what_it_was():
    record = order(partition=5, timestamp=7)._replace(ears=(("somebody", print, ()),))
    answer = Stage(sampler=sampling.ALWAYS_OFF).send(record)

    assert answer._replace(headers=()) == record
    assert type(answer) is ProducerRecord


# ---- whose child ---------------------------------------------------------------------------------------------------


def parents(stage: Stage) -> list[str | None]:
    return [span.parent and f"{span.parent.trace_id:032x}-{span.parent.span_id:016x}" for span in stage.spans]


def test_what_the_application_put_into_the_headers_is_continued():
    stage = Stage()
    record = stage.send(order(headers=[traceparent(), ("tracestate", b"a=1"), ("mine", b"1")]))
    acknowledged(record)

    assert parents(stage) == [f"{TRACE}-{SPAN}"]
    assert record.headers[0] == ("mine", b"1")
    assert header_of(record) == ids_of(stage.span())
    assert header_of(record).startswith(f"00-{TRACE}-")
    assert ("tracestate", b"a=1") in record.headers


def test_without_headers_the_active_span_is_the_parent():
    stage = Stage()
    with stage.provider.get_tracer("app").start_as_current_span("work") as work:
        record = stage.send()
    acknowledged(record)

    assert header_of(record)[3:35] == f"{work.get_span_context().trace_id:032x}"
    assert parents(stage)[1] == header_of(record)[3:36] + f"{work.get_span_context().span_id:016x}"


def test_headers_of_another_trace_count_more_than_the_active_span():
    stage = Stage()
    with stage.provider.get_tracer("app").start_as_current_span("work"):
        acknowledged(stage.send(order(headers=[traceparent()])))

    assert parents(stage)[0] == f"{TRACE}-{SPAN}"


def test_headers_of_the_same_trace_count_less_than_the_active_span():
    """A message whose headers are forwarded while it is processed: the process span is nearer than the one it came from."""
    stage = Stage()
    with process(message(headers=[traceparent()]), stage.tracing) as active:
        acknowledged(stage.send(order(headers=[traceparent(), ("mine", b"1")])))

    assert active is not None
    assert parents(stage) == [f"{TRACE}-{active.span_id}", f"{TRACE}-{SPAN}"]


@pytest.mark.parametrize("batch", [False, True])
def test_headers_of_a_record_that_is_processed_in_another_trace_count_less_too(batch: bool):
    stage = Stage({"interceptor.tracing.process": "link"})
    about = message(headers=[traceparent()])
    with process_batch([about], stage.tracing) if batch else process(about, stage.tracing) as active:
        acknowledged(stage.send(order(headers=[traceparent()])))
        acknowledged(stage.send(order(headers=[traceparent(span="3" * 16)])))

    assert active is not None
    assert parents(stage)[:2] == [f"{active.trace_id}-{active.span_id}", f"{TRACE}-{'3' * 16}"]


def test_a_decision_alone_is_taken_into_the_active_trace():
    stage = Stage()
    with stage.provider.get_tracer("app").start_as_current_span("work") as work:
        record = stage.send(order(headers=[("b3", b"0")]))

    assert record.ears == ()
    assert header_of(record)[3:35] == f"{work.get_span_context().trace_id:032x}"
    assert int(header_of(record)[-2:], 16) & 1 == 0


def test_an_old_tracestate_does_not_come_along_into_another_trace():
    stage = Stage()
    headers = [("traceparent", b"bad"), ("tracestate", b"old=1"), ("b3", b"bad"), ("X-B3-TraceId", OTHER)]
    record = stage.send(order(headers=headers))

    assert [name for name, _ in record.headers] == ["traceparent"]
    assert stage.tracing.bad_headers == {"traceparent": 1, "b3": 1, "X-B3-SpanId": 1}


def test_good_headers_are_not_counted_as_bad():
    stage = Stage()
    stage.send(order(headers=[traceparent(), ("baggage", b"a=1"), ("other", b"\xff")]))

    assert stage.tracing.bad_headers == {}


@pytest.mark.parametrize("sampler", [sampling.ALWAYS_OFF, sampling.ALWAYS_ON])
def test_other_headers_stay_before_ours(sampler: sampling.Sampler):
    record = Stage(sampler=sampler).send(order(headers=(("mine", b"1"), ("mine", None))))

    assert [name for name, _ in record.headers] == ["mine", "mine", "traceparent"]


def test_headers_that_are_used_again_tell_of_the_last_record_only():
    stage, record = Stage(), order(headers=[("mine", b"1")])
    for _ in range(3):
        again = stage.send(record)
        acknowledged(again)
        record = order(headers=again.headers)

    assert [name for name, _ in again.headers] == ["mine", "traceparent"]
    assert header_of(again) == ids_of(stage.spans[-1])


@pytest.mark.parametrize(
    ("write", "names"),
    [
        ("b3", ["b3"]),
        ("traceId", ["traceId"]),
        ("w3c, b3", ["traceparent", "b3"]),
        (["traceId", "w3c"], ["traceId", "traceparent"]),
    ],
)
@pytest.mark.parametrize("sampler", [sampling.ALWAYS_OFF, sampling.ALWAYS_ON])
def test_the_configured_formats_are_written(write: Any, names: list[str], sampler: sampling.Sampler):
    assert [name for name, _ in Stage({"interceptor.tracing.write": write}, sampler=sampler).send().headers] == names


def test_b3_keeps_its_debug_mark():
    stage = Stage({"interceptor.tracing.write": "b3"})
    (header,) = stage.send(order(headers=[("b3", f"{TRACE}-{SPAN}-d")])).headers

    assert header[1].startswith(TRACE.encode()) and header[1].endswith(b"-d")  # type: ignore[union-attr, arg-type]


def test_baggage_of_the_application_goes_along_unless_the_record_has_its_own():
    stage = Stage(sampler=sampling.ALWAYS_OFF)
    token = context.attach(baggage.set_baggage("user", "7 up"))
    try:
        with_it, *own = (
            stage.send(order(headers=headers)) for headers in ([], [("baggage", b"mine=1")], [("baggage", None)])
        )
    finally:
        context.detach(token)

    assert ("baggage", b"user=7+up") in with_it.headers
    assert [[pair for pair in record.headers if pair[0] == "baggage"] for record in own] == [
        [("baggage", b"mine=1")],
        [("baggage", None)],
    ]
    assert not any(name == "baggage" for name, _ in stage.send().headers)


# ---- providers -----------------------------------------------------------------------------------------------------


def test_a_provider_that_is_set_late_is_found(monkeypatch: pytest.MonkeyPatch):
    stage, tracing = Stage(), Tracing()
    assert tracing.on_send(order()).ears == ()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: stage.provider)
    tracing.providers.next = 0  # a second later
    acknowledged(tracing.on_send(order()))

    assert stage.names() == ["send orders"]


def test_without_a_provider_a_span_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture):
    tracing = Tracing()
    with caplog.at_level(logging.INFO, "interceptors.tracing"):
        record = tracing.on_send(order())
        acknowledged(record)

    (line,) = caplog.records
    assert line.span["name"] == "send orders"  # type: ignore[attr-defined]
    assert header_of(record)[3:52] == f"{line.span['trace_id']}-{line.span['span_id']}"  # type: ignore[attr-defined]


def test_nobody_listening_means_no_ear_and_the_same_header():
    record = Tracing().on_send(order())

    assert record.ears == ()
    assert header_of(record).endswith("-03")
