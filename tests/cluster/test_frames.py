"""The frame proxy beside Toxiproxy: it sees what clients ask of real brokers, acts on one request, and leaves no trace."""

import hashlib
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from struct import pack
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.faults import dial
from chaos.faults.catalogue import from_json, to_json
from chaos.faults.on_request import CutRequest, DelayRequest, DropRequest, HoldRequest
from compose.cluster import Cluster
from compose.frames.proxy import FrameProxy
from compose.frames.rules import Armed, Rule
from compose.links import Link
from kernel.errors import NotReady, UsageError
from tests.cluster.traffic import send

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]
TOPIC, CLIENT = "framed", "framed-client"
BYTES = 1 << 30  # each way

REQUESTS: list[tuple[Any, str]] = [
    (HoldRequest(CLIENT, "Produce"), r"^Produce v\d+ of framed-client to broker \d is held, and no answer to it goes back$"),
    (DropRequest(CLIENT, "Produce", nth=2), r"^Produce v\d+ of framed-client to broker \d is dropped, and no answer to it"),
    (
        DelayRequest(CLIENT, "Produce", ms=400),
        r"^Produce v\d+ of framed-client to broker \d was sent on ([4-9]\d\d|\d{4,}) ms late$",
    ),
    (CutRequest(CLIENT, "Produce"), r"^Produce v\d+ of framed-client to broker \d came, and its connection is closed$"),
]


@pytest.fixture
def cluster(kafka_cluster: Cluster) -> Cluster:
    kafka_cluster.create_topic(TOPIC, partitions=1)
    return kafka_cluster


@contextmanager
def sending(cluster: Cluster) -> Iterator[list[str]]:
    """Somebody who sends all the time; yields what was acknowledged."""
    from confluent_kafka import Producer

    acked: list[str] = []
    over = threading.Event()
    quick = {"socket.timeout.ms": 2000, "reconnect.backoff.max.ms": 200, "retry.backoff.max.ms": 200, "log_level": 0}
    producer = Producer({**cluster.address.librdkafka(), **quick, "client.id": CLIENT, "enable.idempotence": True})

    def run() -> None:
        while not over.wait(0.02):
            producer.produce(TOPIC, b"x", on_delivery=lambda error, _: acked.append(error.name() if error else "ok"))
            producer.poll(0)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield acked
    finally:
        over.set()
        thread.join()
        producer.flush(30)


def upstreams(cluster: Cluster) -> dict[int, tuple[str, int]]:
    return {broker: cluster.links.addresses_of(Link("client", broker))[1] for broker in cluster.brokers}


def test_requests_to_real_brokers_are_seen_and_the_road_is_put_back(cluster: Cluster):
    before = upstreams(cluster)
    with cluster.frames() as frames:
        assert upstreams(cluster) == frames.listening != before
        assert send(cluster.address, TOPIC, ["a", "b"]) == ["a", "b"]
        asked = {each.api for each in frames.seen(direction="request")}
        answered = {each.api for each in frames.seen(direction="response")}
        with cluster.frames() as again:
            assert again is frames, "whoever asks for it while it stands gets the same"
        assert upstreams(cluster) == frames.listening

    assert {0, 3, 18} <= asked
    assert {0, 3, 18} <= answered <= asked
    assert upstreams(cluster) == before
    assert send(cluster.address, TOPIC, ["c"]) == ["c"]


def test_the_road_is_put_back_whatever_happens_inside(cluster: Cluster):
    before = upstreams(cluster)

    with pytest.raises(ZeroDivisionError), cluster.frames():
        raise ZeroDivisionError

    assert upstreams(cluster) == before
    assert send(cluster.address, TOPIC, ["d"]) == ["d"]


@contextmanager
def impatient() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dial, "PATIENCE_S", 0.3)
        yield


@pytest.mark.parametrize(("fault", "seen"), REQUESTS, ids=lambda part: getattr(part, "kind", ""))
def test_a_fault_on_a_request_bites_and_heals(cluster: Cluster, fault: Any, seen: str):
    before, arena = upstreams(cluster), SimpleNamespace(cluster=cluster, traffic=None)
    with sending(cluster) as acked:
        with fault.applied(arena):
            assert re.search(seen, fault.bite(arena))
        assert upstreams(cluster) == before
        with impatient(), pytest.raises(NotReady, match="the fault is not applied"):
            from_json(to_json(fault)).bite(arena)

    assert set(acked) == {"ok"}, "an idempotent producer asks again"
    assert send(cluster.address, TOPIC, ["e"]) == ["e"]


@pytest.mark.parametrize(("fault", "seen"), REQUESTS, ids=lambda part: getattr(part, "kind", ""))
def test_a_fault_on_a_request_that_did_nothing_is_noticed(fault: Any, seen: str):
    idle = SimpleNamespace(armed=lambda rule: nullcontext(Armed(rule)))
    arena = SimpleNamespace(cluster=SimpleNamespace(frames=lambda: nullcontext(idle)), traffic=None)

    with impatient(), fault.applied(arena), pytest.raises(NotReady, match="it did not come"):
        fault.bite(arena)


@pytest.mark.kafka(brokers=1, security="tls")
@pytest.mark.nightly
def test_what_is_encrypted_cannot_be_told_apart_and_is_refused(kafka_cluster: Cluster):
    before = upstreams(kafka_cluster)

    with pytest.raises(UsageError, match=r"^single requests cannot be told apart on a cluster with security tls, where "):
        kafka_cluster.frames().__enter__()

    assert upstreams(kafka_cluster) == before


# ---- 1 GB each way through the proxy --------------------------------------------------------------------------


def test_a_gigabyte_each_way_arrives_as_it_was_sent():
    """Frames of many sizes, with a rule armed that matches none of them: each must be looked at, and none may be lost."""
    blocks = {way: [_block(way, size) for size in (20, 700, 60_000, 1_000_000, 3)] for way in ("request", "response")}
    sent, came = dict.fromkeys(blocks, ""), dict.fromkeys(blocks, "")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        FrameProxy({1: server.getsockname()}) as frames,
        socket.create_connection(frames.listening[1]) as client,
        frames.armed(Rule("drop", "EndTxn", nth=0)) as rule,
    ):
        broker, _ = server.accept()
        with broker:
            ends = {"request": (client, broker), "response": (broker, client)}
            threads = [threading.Thread(target=_pour, args=(ends[way][0], way, blocks[way], sent)) for way in blocks]
            threads += [threading.Thread(target=_catch, args=(ends[way][1], way, blocks[way], came)) for way in blocks]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        seen = {each.size for each in frames.seen(direction="request")}

    assert came == sent
    assert len(set(sent.values())) == 2
    assert (rule.matched, len(seen)) == (0, 5)


def _block(way: str, size: int) -> bytes:
    """Four frames; what is in them is different in every block."""
    heads = [pack(">hhih", 0, 9, n, 3) + b"app" if way == "request" else pack(">i", n) for n in range(4)]
    return b"".join(pack(">i", len(head) + size) + head + os.urandom(size) for head in heads)


def _rounds(blocks: list[bytes]) -> int:
    return -(-BYTES // sum(map(len, blocks)))


def _pour(line: socket.socket, way: str, blocks: list[bytes], sent: dict[str, str]) -> None:
    digest = hashlib.sha1(usedforsecurity=False)
    for _ in range(_rounds(blocks)):
        for block in blocks:
            line.sendall(block)
            digest.update(block)
    sent[way] = digest.hexdigest()


def _catch(line: socket.socket, way: str, blocks: list[bytes], came: dict[str, str]) -> None:
    digest, left, buffer = hashlib.sha1(usedforsecurity=False), _rounds(blocks) * sum(map(len, blocks)), bytearray(1 << 20)
    while left and (count := line.recv_into(buffer)):
        digest.update(memoryview(buffer)[:count])
        left -= count
    came[way] = digest.hexdigest()
