"""Frames are found however a stream is split, no byte is lost or changed, and a rule does what it says to one frame."""

import socket
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.scenarios.semantics import sequence_gap
from chaos.scenarios.semantics.late_end_transaction import Parts, error_of, parts_of, safe, visible
from compose.frames import cutting
from compose.frames.apis import api_key, api_name
from compose.frames.beside import Beside
from compose.frames.cutting import LARGEST, Cutter
from compose.frames.proxy import FrameProxy
from compose.frames.rules import Armed, Rule
from compose.spec import ClusterSpec
from kernel.errors import NotReady, SuiteError, UsageError
from kernel.waiting import wait_until
from tests.pure.frame_wire import END_TXN, PRODUCE, Broker, answered, broker, received, request, response

CLIENTS = st.none() | st.text(max_size=20)
REQUESTS = st.builds(
    request,
    st.integers(-(2**31), 2**31 - 1),
    api=st.integers(0, 100),
    version=st.integers(0, 20),
    client=CLIENTS,
    body=st.binary(max_size=60),
)
LENGTHS = st.one_of(st.integers(-(2**31), -1), st.integers(0, 9), st.integers(LARGEST + 1, 2**31 - 1))
GARBAGE = st.one_of(
    st.binary(max_size=40),
    LENGTHS.map(lambda length: length.to_bytes(4, "big", signed=True) + b"rest"),
    st.just(request(1, client="app")[:12] + b"\x7f\xff" + b"x" * 20),  # a client id that is longer than its frame
)


# ---- cutting --------------------------------------------------------------------------------------------------


def cut(read, pieces: list[bytes]) -> tuple[bytes, list[tuple[int, ...]], bool]:
    """Everything that comes out, the frames by where they begin in it, and whether the stream went blind."""
    cutter, out, frames = Cutter(read), b"", []
    for piece in pieces:
        passed, seen = cutter.feed(piece)
        frames += [(len(out) + frame.at, *frame[1:]) for frame in seen]
        out += bytes(passed)
    return out + cutter.finish(), frames, cutter.blind


def split(stream: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return [stream[a:b] for a, b in pairwise(at)]


@pytest.mark.slow
@settings(max_examples=400)
@given(st.lists(REQUESTS, max_size=6), GARBAGE, st.lists(st.integers(0, 2000), max_size=12), st.booleans())
def test_any_split_of_any_stream_gives_the_same_bytes_and_the_same_frames(frames, garbage, cuts, junk):
    stream = b"".join(frames) + (garbage if junk else b"")

    whole, apart, by_byte = (
        cut(cutting.request, pieces) for pieces in ([stream], split(stream, cuts), [bytes([b]) for b in stream])
    )

    assert whole[0] == apart[0] == by_byte[0] == stream
    assert whole[1] == apart[1] == by_byte[1]
    assert whole[2] == apart[2] == by_byte[2]
    assert len(whole[1]) >= len(frames)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=8))
def test_noise_comes_out_as_it_went_in_from_either_side(stream, cuts):
    for read in (cutting.request, cutting.response):
        assert cut(read, [stream]) == cut(read, split(stream, cuts))
        assert cut(read, split(stream, cuts))[0] == stream


@pytest.mark.slow
@given(st.lists(REQUESTS, min_size=1, max_size=5))
def test_what_a_header_says_is_read(frames):
    _, seen, blind = cut(cutting.request, [b"".join(frames)])

    assert not blind
    assert [size for _, size, *_ in seen] == [len(frame) for frame in frames]
    for frame, (at, size, correlation, api, version, client) in zip(frames, seen, strict=True):
        assert b"".join(frames)[at : at + size] == frame
        body = frame[14 + len((client or "").encode()) :]
        assert request(correlation, api=api, version=version, client=client, body=body) == frame


def test_an_answer_is_known_by_its_correlation_id():
    _, seen, _ = cut(cutting.response, [response(7, b"abc") + response(8)])

    assert [(frame[0], frame[2]) for frame in seen] == [(0, 7), (11, 8)]


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 9, LARGEST + 1, 2**31 - 1])
def test_a_length_that_cannot_be_makes_a_stream_blind_and_changes_nothing(length: int):
    stream = request(1) + length.to_bytes(4, "big", signed=True) + request(2)

    assert cut(cutting.request, [stream]) == (stream, cut(cutting.request, [request(1)])[1], True)


def test_the_largest_frame_is_still_a_frame():
    begin = LARGEST.to_bytes(4, "big") + request(3)[4:]

    out, seen, blind = cut(cutting.request, [begin])

    assert (out, len(seen), blind) == (begin, 1, False)


# ---- rules ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"deed": "bend", "api": 0}, r"^deed 'bend' is not known: choose one of hold, drop, delay, cut\.$"),
        ({"deed": "hold", "api": "EndTx"}, r"^api 'EndTx' is not known: choose one of Produce, .* or give its key\.$"),
        ({"deed": "hold", "api": 0, "nth": -1}, r"^nth -1 cannot be: count from 1, or give 0 for all\.$"),
        ({"deed": "delay", "api": 0}, r"^delay with ms 0 cannot be"),
        ({"deed": "hold", "api": 0, "ms": 5}, r"^hold with ms 5 cannot be"),
        ({"deed": "hold", "api": 0, "direction": "up"}, r"^direction 'up' is not known: choose one of request, response\.$"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_in_a_sentence(rule, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        Rule(**rule)


def test_a_rule_counts_what_matches_and_takes_the_one_it_is_for():
    second, each = Armed(Rule("hold", "EndTxn", client="app", nth=2)), Armed(Rule("drop", END_TXN, nth=0))
    frames = [(END_TXN, "app"), (PRODUCE, "app"), (END_TXN, "apple"), (END_TXN, "app.2"), (END_TXN, "app")]

    assert [second.takes(*frame) for frame in frames] == [False, False, False, True, False]
    assert [each.takes(*frame) for frame in frames] == [True, False, True, True, True]


def test_apis_have_names_and_numbers():
    assert (api_key("EndTxn"), api_key(26), api_name(26), api_name(999)) == (26, 26, "EndTxn", "api 999")


# ---- the proxy on loopback ------------------------------------------------------------------------------------


@pytest.fixture
def served() -> Iterator[tuple[Broker, FrameProxy]]:
    with broker() as one, FrameProxy({1: one.address}) as frames:
        yield one, frames


def call(frames: FrameProxy) -> socket.socket:
    return socket.create_connection(frames.listening[1], timeout=10)


def test_requests_and_answers_pass_and_are_on_record(served):
    _, frames = served
    with call(frames) as line:
        line.sendall(request(1) + request(2, api=END_TXN, version=1))
        assert [answered(line), answered(line)] == [1, 2]

    seen = [(each.direction, each.api, each.version, each.correlation, each.client, each.done) for each in frames.seen()]
    assert sorted(seen) == [
        ("request", 0, 9, 1, "app", "passed"),
        ("request", 26, 1, 2, "app", "passed"),
        ("response", 0, 9, 1, "app", "passed"),
        ("response", 26, 1, 2, "app", "passed"),
    ]
    assert (frames.versions("EndTxn", "app"), frames.versions("EndTxn", "nobody")) == ({1}, set())


def test_a_request_is_held_with_what_comes_behind_it_until_it_is_released(served):
    there, frames = served
    with call(frames) as line, frames.armed(Rule("hold", "EndTxn")) as held:
        line.sendall(request(1) + request(2, api=END_TXN) + request(3))
        assert held.wait_caught().correlation == 2
        assert answered(line) == 1
        assert there.correlations() == [1]
        frames.release(held)
        assert [answered(line), answered(line)] == [2, 3]
        assert held.wait_answer()[:4] == (2).to_bytes(4, "big")

    assert [each.done for each in frames.seen("EndTxn", direction="request")] == ["held", "released"]


def test_a_held_request_outlives_its_connection_and_is_released_onto_the_brokers(served):
    there, frames = served
    with call(frames) as line, frames.armed(Rule("hold", "EndTxn")) as held:
        line.sendall(request(5, api=END_TXN, body=b"late"))
        held.wait_caught()
        frames.cut(held)
        assert received(line, 1) == b"", "the client sees its connection closed"
        with call(frames) as again:
            again.sendall(request(6))
            assert answered(again) == 6
            assert not there.ended.is_set()
            frames.release(held)
            assert there.wait_for(2) == [6, 5]
            assert held.wait_answer() == response(5, b"\0\0\0\0\0\7")[4:]
            assert there.ended.wait(10), "nothing more is to come on it, so it goes too"
    wait_until(frames.lines, lambda lines: not lines, what="no connection left", timeout=10)


def test_a_held_request_outlives_a_client_that_goes_by_itself(served):
    there, frames = served
    with frames.armed(Rule("hold", "EndTxn")) as held:
        with call(frames) as line:
            line.sendall(request(5, api=END_TXN))
            held.wait_caught()
        assert there.got == []
        frames.release(held)

        assert there.wait_for(1) == [5]


def test_disarming_lets_go_what_was_held(served):
    _, frames = served
    with call(frames) as line:
        with frames.armed(Rule("hold", "Produce")) as held:
            line.sendall(request(1))
            held.wait_caught()
        assert answered(line) == 1
        line.sendall(request(2))
        assert answered(line) == 2


def test_a_large_request_is_held_whole_though_it_comes_in_many_pieces(served):
    there, frames = served
    large = request(1, body=bytes(range(256)) * 20_000)
    with call(frames) as line, frames.armed(Rule("hold", "Produce")) as held:
        line.sendall(large)
        held.wait_caught()
        frames.cut(held)
        frames.release(held)
        there.wait_for(1)

    assert there.got == [large[4:]]


def test_one_request_of_several_is_dropped(served):
    there, frames = served
    with call(frames) as line, frames.armed(Rule("drop", "Produce", client="app", nth=2)) as dropped:
        line.sendall(b"".join(request(n, body=b"x" * 100_000) for n in range(1, 5)))
        assert [answered(line) for _ in range(3)] == [1, 3, 4]

    assert (dropped.matched, [each.correlation for each in dropped.caught]) == (4, [2])
    assert there.correlations() == [1, 3, 4]


def test_an_answer_is_dropped_and_the_next_one_is_not(served):
    there, frames = served
    with call(frames) as line, frames.armed(Rule("drop", "EndTxn", direction="response")):
        line.sendall(request(1) + request(2, api=END_TXN) + request(3))
        assert [answered(line), answered(line)] == [1, 3]

    assert there.correlations() == [1, 2, 3]


@pytest.mark.slow
def test_a_request_is_delayed_by_so_many_milliseconds(served):
    _, frames = served
    with call(frames) as line, frames.armed(Rule("delay", "Produce", ms=300)):
        began = time.monotonic()
        line.sendall(request(1) + request(2))
        assert [answered(line), answered(line)] == [1, 2]

    assert time.monotonic() - began >= 0.3


def test_a_cut_closes_that_connection_and_no_other(served):
    there, frames = served
    with call(frames) as other, call(frames) as line, frames.armed(Rule("cut", "EndTxn", client="app")) as cut_off:
        other.sendall(request(1, client="other"))
        assert answered(other) == 1
        line.sendall(request(2) + request(3, api=END_TXN))
        cut_off.wait_caught()
        while received(line, 1000):
            pass
        other.sendall(request(4, api=END_TXN, client="other"))
        assert answered(other) == 4

    assert 3 not in there.correlations()
    assert 2 in there.wait_for(3)


@pytest.mark.parametrize(
    "noise",
    [
        b"\xff\xff\xff\xff" + b"x" * 50,
        (LARGEST + 1).to_bytes(4, "big") + b"x" * 50,
        b"\x00\x00\x00\x02ab",
        request(1)[:12] + b"\x7f\xff" + b"y" * 30,
        b"\x16\x03\x01\x02\x00\x01",
        b"\x00",
    ],
)
def test_noise_on_one_connection_leaves_the_others_alone(served, noise: bytes):
    _, frames = served
    with call(frames) as other, frames.armed(Rule("hold", "EndTxn")):
        with call(frames) as line:
            line.sendall(noise)
        other.sendall(request(9))
        assert answered(other) == 9
        with call(frames) as another:
            another.sendall(request(10))
            assert answered(another) == 10


def test_a_broker_that_is_not_there_hangs_up_on_its_clients_alone(served):
    there, _ = served
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = server.getsockname()
    with FrameProxy({1: there.address, 2: nobody}) as frames:
        with socket.create_connection(frames.listening[2], timeout=10) as line:
            assert received(line, 1) == b""
        with call(frames) as line:
            line.sendall(request(1))
            assert answered(line) == 1


@pytest.mark.slow
def test_a_reader_that_does_not_read_stops_its_sender():
    """Bounded memory: what nobody takes is left in the sender's hands."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        FrameProxy({1: server.getsockname()}) as frames,
        call(frames) as line,
    ):
        silent, _ = server.accept()
        line.settimeout(1.0)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 1 << 28:
                sent += line.send(request(1, body=b"x" * 1_000_000))
        silent.close()

    assert sent < 1 << 26, "no more than the sockets' buffers and a little of ours"


def test_a_proxy_that_is_closed_leaves_no_thread_and_says_so():
    with broker() as one, FrameProxy({1: one.address}) as frames, call(frames) as line:
        line.sendall(request(1))
        answered(line)

    assert not any(thread.name == "kafka-frames" for thread in threading.enumerate())
    with pytest.raises(SuiteError, match="the frame proxy is not running"):
        frames.arm(Rule("hold", "EndTxn"))


def test_waiting_for_what_does_not_come_says_what_was_seen(served):
    _, frames = served
    words = r"^hold number 1 of app: EndTxn request: it did not come in 0 s \(0 matched"
    with frames.armed(Rule("hold", "EndTxn", client="app")) as held, pytest.raises(NotReady, match=words):
        held.wait_caught(timeout=0.05)


@pytest.mark.parametrize(
    ("security", "provider", "sentence"),
    [
        ("tls", "processes", r"^single requests cannot be told apart .* security tls, where .*: use plaintext\.$"),
        ("sasl_ssl", "processes", r"^single requests cannot be told apart on a cluster with security sasl_ssl"),
        ("plaintext", "containers", r"^the frame proxy cannot stand beside .* containers, .*: use --provider processes\.$"),
    ],
)  # fmt: skip
def test_where_it_cannot_read_or_reach_it_is_refused_in_a_sentence(security: str, provider: str, sentence: str):
    cluster = SimpleNamespace(spec=ClusterSpec(security=security), provider=provider)  # nothing of which is touched

    with pytest.raises(UsageError, match=sentence), Beside().opened(cluster):
        pass


# ---- what the late EndTxn leaves to be read ----------------------------------------------------------------------


def test_the_parts_of_the_schedule_are_those_in_order():
    parts = parts_of(list(range(16)), 2)

    assert parts == Parts({0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}, {10, 11}, {12, 13, 14, 15})
    with pytest.raises(NotReady, match=r"15 records were sent, not 16"):
        parts_of(list(range(15)), 2)


@pytest.mark.parametrize(
    ("end", "told_apart", "unseen"),
    [("commit", True, {8, 9, 10, 11}), ("commit", False, {10, 11}), ("abort", True, {4, 5, 6, 7}),
     ("abort", False, set(range(4, 10)))],
)  # fmt: skip
def test_what_a_committed_reader_must_see(end: str, told_apart: bool, unseen: set[int]):
    assert visible(parts_of(list(range(16)), 2), end, safe=told_apart) == set(range(16)) - unseen


def test_only_java_at_transaction_version_2_is_safe():
    pairs = [(client, version) for client in ("java", "librdkafka") for version in ("1", "2")]

    assert [pair for pair in pairs if safe({"client": pair[0], "transaction_version": pair[1]})] == [("java", "2")]


def test_the_error_is_found_in_old_answers_and_in_new_ones():
    assert error_of(bytes(8) + (47).to_bytes(2, "big"), 1) == 47
    assert error_of(bytes(9) + (90).to_bytes(2, "big") + bytes(11), 5) == 90


# ---- what a missing number leads to ------------------------------------------------------------------------------


def test_only_librdkafka_with_more_than_one_request_under_way_is_harmed():
    pairs = [(client, many) for client in ("java", "librdkafka") for many in ("5", "1")]
    harmed = [pair for pair in pairs if sequence_gap.harmed({"client": pair[0], "in_flight": pair[1]})]

    assert harmed == [("librdkafka", "5")]


def test_refusals_are_counted_for_the_topic_alone():
    """Lines of Kafka 4.3.1, 2026-11-18."""
    refused = (
        "org.apache.kafka.common.errors.OutOfOrderSequenceException: Out of order sequence number for producer 0 at "
        "offset 22 in partition {}: 40 (incoming seq. number), 19 (current end sequence number)"
    )
    log = "\n".join([refused.format("orders-0"), refused.format("others-0"), "ERROR append to partition orders-0"])

    assert sequence_gap.refusals(log, "orders") == 1
