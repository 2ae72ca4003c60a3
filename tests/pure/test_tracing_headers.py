"""Trace headers: all that are known are read, bad ones are passed over and named, and writing leaves one story only."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interceptors.record import ProducerRecord
from interceptors.tracing.context import TraceContext
from interceptors.tracing.reading import KNOWN, read
from interceptors.tracing.writing import WRITERS, replaced, written

TRACE, SPAN, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
OTHER, OTHER_SPAN = "1" * 32, "2" * 16
SHORT = TRACE[16:]
PADDED = "0" * 16 + SHORT
W3C = f"00-{TRACE}-{SPAN}-01"

hexadecimal = st.text("0123456789abcdef")
ids = st.tuples(
    st.text("0123456789abcdef", min_size=32, max_size=32).filter(lambda text: text.strip("0")),
    st.text("0123456789abcdef", min_size=16, max_size=16).filter(lambda text: text.strip("0")),
)
values = st.one_of(st.binary(max_size=80), st.text(max_size=80), hexadecimal, st.none())


def told(*headers: tuple[str, Any]) -> TraceContext | None:
    return read(headers).context


# ---- traceparent ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [W3C, W3C.encode()])
def test_a_traceparent_is_read_from_bytes_and_text(value: bytes | str):
    assert read([("traceparent", value)]) == (TraceContext(TRACE, SPAN, True), "", ())


@pytest.mark.parametrize(("flags", "sampled", "random"), [("00", False, False), ("02", False, True), ("ff", True, True)])
def test_its_flags_are_bits(flags: str, sampled: bool, random: bool):
    assert told(("traceparent", f"00-{TRACE}-{SPAN}-{flags}")) == TraceContext(TRACE, SPAN, sampled, random)


@pytest.mark.parametrize("more", ["", "-what-comes-later"])
def test_a_version_to_come_is_read_as_far_as_it_is_known(more: str):
    assert told(("traceparent", f"cc-{TRACE}-{SPAN}-01{more}")) == TraceContext(TRACE, SPAN, True)


BAD_TRACEPARENTS = [
    None,
    b"",
    b"\xff\xfe" + W3C.encode()[2:],
    W3C.upper(),
    f"00-{TRACE.upper()}-{SPAN}-01",
    f"00-{'0' * 32}-{SPAN}-01",
    f"00-{TRACE}-{'0' * 16}-01",
    f"ff-{TRACE}-{SPAN}-01",
    f"00-{TRACE}-{SPAN}-01-more",
    f"cc-{TRACE}-{SPAN}-01more",
    f"00-{TRACE[:-1]}-{SPAN}-01",
    f"00-{TRACE}-{SPAN}",
    f"{W3C}\n",
    f"00-{TRACE[:-1]}٣-{SPAN}-01",
    b"x" * (1 << 20),
    f"cc-{TRACE}-{SPAN}-01-" + "x" * (1 << 20),
    17,
    bytearray(W3C.encode()),
]


@pytest.mark.parametrize("value", BAD_TRACEPARENTS, ids=lambda value: repr(value)[:40])
def test_a_bad_traceparent_is_passed_over_and_named(value: Any):
    assert read([("traceparent", value)]) == (None, "", ("traceparent",))


def test_after_a_bad_one_the_next_format_counts():
    found = read([("traceparent", b"\xff"), ("b3", f"{TRACE}-{SPAN}-1")])

    assert found == (TraceContext(TRACE, SPAN, True), "", ("traceparent",))


def test_tracestate_comes_along_and_means_nothing_alone():
    assert told(("tracestate", b"a=1,b=2"), ("traceparent", W3C)) == TraceContext(TRACE, SPAN, True, state="a=1,b=2")
    assert told(("tracestate", b"a=1")) is None
    assert told(("tracestate", b"a=1"), ("b3", f"{TRACE}-{SPAN}-1")) == TraceContext(TRACE, SPAN, True)


@pytest.mark.parametrize("state", [b"\xff", None, b"a=" + b"x" * (1 << 20), "a=é"])
def test_a_bad_tracestate_is_dropped_alone(state: Any):
    assert read([("traceparent", W3C), ("tracestate", state)]) == (
        TraceContext(TRACE, SPAN, True),
        "",
        ("tracestate",),
    )


def test_baggage_is_read_beside_any_format():
    assert read([("baggage", b"user=7"), ("traceId", TRACE)]) == (TraceContext(TRACE), "user=7", ())
    assert read([("baggage", b"\xff"), ("traceId", TRACE)]) == (TraceContext(TRACE), "", ("baggage",))


# ---- b3 ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "context"),
    [
        ("0", TraceContext(sampled=False)),
        ("1", TraceContext(sampled=True)),
        ("d", TraceContext(sampled=True, debug=True)),
        (f"{TRACE}-{SPAN}", TraceContext(TRACE, SPAN)),
        (f"{TRACE}-{SPAN}-0", TraceContext(TRACE, SPAN, False)),
        (f"{TRACE}-{SPAN}-1", TraceContext(TRACE, SPAN, True)),
        (f"{TRACE}-{SPAN}-d", TraceContext(TRACE, SPAN, True, debug=True)),
        (f"{TRACE}-{SPAN}-1-{PARENT}", TraceContext(TRACE, SPAN, True)),
        (f"{TRACE}-{SPAN}-{PARENT}", TraceContext(TRACE, SPAN)),
        (f"{SHORT}-{SPAN}-1", TraceContext(PADDED, SPAN, True)),
    ],
)
def test_every_form_of_b3_is_read(value: str, context: TraceContext):
    assert read([("b3", value.encode())]) == (context, "", ())


@pytest.mark.parametrize(
    "value",
    [
        *("", "2", "true", None, b"\xff", b"x" * (1 << 20)),
        *(TRACE, f"{TRACE.upper()}-{SPAN}-1", f"{'0' * 32}-{SPAN}-1", f"{'0' * 16}-{SPAN}-1", f"{TRACE}-{'0' * 16}-1"),
        *(f"{TRACE}-{SPAN}-2", f"{TRACE}-{SPAN}-1-{PARENT}-", f"{TRACE}-{SPAN}-1-xyz", f"{TRACE[:-1]}-{SPAN}-1"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_bad_b3_is_passed_over_and_named(value: Any):
    assert read([("b3", value)]) == (None, "", ("b3",))


@pytest.mark.parametrize("spelled", [str, str.lower])
@pytest.mark.parametrize(
    ("headers", "context"),
    [
        ({"X-B3-TraceId": TRACE, "X-B3-SpanId": SPAN}, TraceContext(TRACE, SPAN)),
        ({"X-B3-TraceId": SHORT, "X-B3-SpanId": SPAN, "X-B3-Sampled": "1"}, TraceContext(PADDED, SPAN, True)),
        ({"X-B3-TraceId": TRACE, "X-B3-SpanId": SPAN, "X-B3-Sampled": "false"}, TraceContext(TRACE, SPAN, False)),
        (
            {"X-B3-TraceId": TRACE, "X-B3-SpanId": SPAN, "X-B3-ParentSpanId": PARENT, "X-B3-Flags": "1"},
            TraceContext(TRACE, SPAN, True, debug=True),
        ),
        ({"X-B3-Sampled": "0"}, TraceContext(sampled=False)),
        ({"X-B3-ParentSpanId": PARENT}, None),
    ],
)
def test_b3_in_several_headers_is_read(headers: dict[str, str], context: TraceContext | None, spelled: Any):
    assert read([(spelled(name), value.encode()) for name, value in headers.items()]) == (context, "", ())


@pytest.mark.parametrize(
    ("headers", "bad"),
    [
        ({"X-B3-TraceId": TRACE}, "X-B3-SpanId"),
        ({"X-B3-SpanId": SPAN}, "X-B3-TraceId"),
        ({"X-B3-TraceId": "0" * 32, "X-B3-SpanId": SPAN}, "X-B3-TraceId"),
        ({"X-B3-TraceId": TRACE, "X-B3-SpanId": SPAN, "X-B3-Sampled": "maybe"}, "X-B3-Sampled"),
        ({"X-B3-TraceId": TRACE, "X-B3-SpanId": None}, "X-B3-SpanId"),
    ],
)
def test_bad_ones_among_them_are_named(headers: dict[str, Any], bad: str):
    assert read(headers.items()) == (None, "", (bad,))


# ---- traceId, and all together -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "trace"),
    [
        (TRACE, TRACE),
        (TRACE.upper().encode(), TRACE),
        (SHORT, PADDED),
        ("0af76519-16cd-43dd-8448-eb211c80319c", TRACE),
    ],
)
def test_a_plain_trace_id_is_read_in_every_spelling(value: Any, trace: str):
    assert told(("traceId", value)) == TraceContext(trace)


@pytest.mark.parametrize("value", ["order-17", "", "0" * 32, b"\xff", None, 17, b"a" * (1 << 20), f"{TRACE}0"])
def test_another_kind_of_trace_id_is_passed_over(value: Any):
    assert read([("traceId", value)]) == (None, "", ("traceId",))


def test_of_several_formats_the_first_in_order_counts():
    one, two, three, four = "a" * 32, "b" * 32, "c" * 32, "d" * 32
    formats = [
        [("traceId", four)],
        [("X-B3-TraceId", three), ("X-B3-SpanId", SPAN)],
        [("b3", f"{two}-{SPAN}-1")],
        [("traceparent", f"00-{one}-{SPAN}-01")],
    ]
    found = [told(*(pair for headers in formats[:many] for pair in headers)) for many in (4, 3, 2, 1)]

    assert [context and context.trace_id for context in found] == [one, two, three, four]


def test_of_headers_with_one_name_the_last_counts():
    assert told(("traceparent", f"00-{OTHER}-{SPAN}-01"), ("traceparent", W3C)) == TraceContext(TRACE, SPAN, True)


def test_if_the_last_is_bad_those_before_it_are_not_asked():
    assert read([("traceparent", W3C), ("traceparent", b"\xff")]) == (None, "", ("traceparent",))


@pytest.mark.parametrize("headers", [None, [], (), [("other", b"x"), ("Traceparent", W3C)]])
def test_without_trace_headers_nothing_is_found_and_nothing_is_bad(headers: Any):
    assert read(headers) == (None, "", ())


@pytest.mark.parametrize("headers", [17, ["traceparent"], [("a", 1, 2)], [([], 1)]])
def test_headers_that_are_no_pairs_are_bad_and_no_more(headers: Any):
    assert read(headers) == (None, "", ("headers",))


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(sorted(KNOWN)), values)))
def test_no_header_whatsoever_makes_reading_fail(headers: list[tuple[str, Any]]):
    found = read(headers)

    assert found.context is None or found.context.trace_id or found.context.sampled is not None


# ---- writing -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(ids, st.booleans(), st.booleans(), st.sampled_from(["", "a=1", "a=1,b@c=x y"]))
def test_w3c_comes_back_as_it_was_written(pair: tuple[str, str], sampled: bool, random: bool, state: str):
    context = TraceContext(*pair, sampled, random, state)

    assert read(written(context, ("w3c",))) == (context, "", ())


@pytest.mark.slow
@given(ids, st.booleans(), st.booleans())
def test_b3_comes_back_as_it_was_written(pair: tuple[str, str], sampled: bool, debug: bool):
    context = TraceContext(*pair, sampled, debug=sampled and debug)

    assert read(written(context, ("b3",))) == (context, "", ())


@pytest.mark.slow
@given(ids)
def test_a_plain_trace_id_comes_back_as_it_was_written(pair: tuple[str, str]):
    assert told(*written(TraceContext(*pair, True), ("traceId",))) == TraceContext(pair[0])


def test_what_is_written_is_bytes():
    assert written(TraceContext(TRACE, SPAN, True, True, "a=1"), tuple(WRITERS)) == (
        ("traceparent", f"00-{TRACE}-{SPAN}-03".encode()),
        ("tracestate", b"a=1"),
        ("b3", f"{TRACE}-{SPAN}-1".encode()),
        ("traceId", TRACE.encode()),
    )


OLD = (
    ("traceparent", f"00-{OTHER}-{OTHER_SPAN}-01"),
    ("mine", b"1"),
    ("traceparent", f"00-{OTHER}-{OTHER_SPAN}-00"),
    ("tracestate", b"old=1"),
    ("b3", f"{OTHER}-{OTHER_SPAN}-1"),
    ("X-B3-TraceId", OTHER),
    ("x-b3-spanid", OTHER_SPAN),
    ("baggage", b"user=7"),
    ("traceId", OTHER),
    ("mine", b"2"),
)


@pytest.mark.parametrize("formats", [("w3c",), ("b3",), ("traceId",), ("b3", "w3c")])
def test_writing_replaces_every_trace_header_and_nothing_else(formats: tuple[str, ...]):
    context = TraceContext(TRACE, SPAN, True)

    new = replaced(OLD, context, formats)

    assert new == (("mine", b"1"), ("baggage", b"user=7"), ("mine", b"2"), *written(context, formats))


def test_writing_again_and_again_never_adds_up():
    record = ProducerRecord("orders", headers=(("mine", b"1"),))
    for digit in "123":
        record = record._replace(headers=replaced(record.headers, TraceContext(digit * 32, SPAN, True), ("w3c", "b3")))

    assert [name for name, _ in record.headers] == ["mine", "traceparent", "b3"]
    assert told(*record.headers) == TraceContext("3" * 32, SPAN, True)


@pytest.mark.parametrize("spelling", [TRACE.upper(), "0AF76519-16cd-43dd-8448-eb211c80319c"])
@pytest.mark.parametrize("formats", [("w3c",), ("traceId", "w3c")])
def test_a_trace_id_of_this_trace_stays_as_it_is_spelled(spelling: str, formats: tuple[str, ...]):
    new = replaced((("traceId", spelling),), TraceContext(TRACE, SPAN, True), formats)

    assert new == (("traceId", spelling), ("traceparent", W3C.encode()))


def test_a_trace_id_that_is_none_stays_unless_the_name_is_ours():
    old, context = (("traceId", "order-17"),), TraceContext(TRACE, SPAN, True)

    assert replaced(old, context, ("w3c",)) == (*old, ("traceparent", W3C.encode()))
    assert replaced(old, context, ("traceId",)) == (("traceId", TRACE.encode()),)
