"""Faults as values: they heal whatever happens, go into JSON and back, find their targets, and name the right links."""

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from chaos.faults import dial, target
from chaos.faults.bridge import Bridge
from chaos.faults.catalogue import FAULTS, check, from_json, resolved, to_json
from chaos.faults.damage_segment import DamageSegment
from chaos.faults.drop_client_connection import DropClientConnection
from chaos.faults.fail_disk import FailDisk
from chaos.faults.fill_disk import FillDisk
from chaos.faults.freeze_client import FreezeClient
from chaos.faults.isolate import Isolate
from chaos.faults.kill_broker import KillBroker
from chaos.faults.kill_client import KillClient
from chaos.faults.link_fault import LinkFault
from chaos.faults.lose_tail import LoseTail
from chaos.faults.on_request import CutRequest, DelayRequest, DropRequest, HoldRequest
from chaos.faults.one_way import OneWay
from chaos.faults.pause_broker import PauseBroker
from chaos.faults.restart_broker import RestartBroker
from chaos.faults.ring import Ring
from chaos.faults.set_clock import SetClock
from chaos.faults.split import Split
from chaos.faults.stall_disk import StallDisk
from chaos.faults.stop_broker import StopBroker
from chaos.faults.stop_client import StopClient
from compose.links import Link, links_between
from compose.toxics import Bandwidth, Blackhole, Cut, Latency, LimitData, Reset, Slicer, SlowClose
from kernel.cluster import PartitionState
from kernel.errors import NotReady, UsageError
from kernel.waiting import wait_until

SOME = (Link("client", 2), Link(3, 1, "replication"))
EACH = (
    KillBroker(2),
    StopBroker(1),
    PauseBroker(3),
    RestartBroker(2, hard=True),
    LoseTail(2, "orders", 0, offset=40),
    FillDisk(3),
    FailDisk(3, directory=2),
    StallDisk(2, stall_ms=300, free_ms=100),
    DamageSegment(1, "orders", 0, 40, how="truncate", hard=False),
    SetClock(2, 3600, behind=True),
    Isolate(2, clients=False, silent=True),
    Split((1, 2), clients=False),
    Ring((3, 1, 2)),
    Bridge(2),
    OneWay(1, 3, silent=True),
    LinkFault(SOME, Cut()),
    LinkFault(SOME, Blackhole(direction="upstream")),
    LinkFault(SOME, Latency(ms=100, jitter=20)),
    LinkFault(SOME, Bandwidth(kbytes=50)),
    LinkFault(SOME, Reset(after_ms=10)),
    LinkFault(SOME, Slicer(size=20, delay_us=100)),
    LinkFault(SOME, LimitData(bytes=1000)),
    StopClient("producer-1"),
    KillClient("producer-1"),
    FreezeClient("consumer-1"),
    DropClientConnection("consumer-1"),
    HoldRequest("producer-1", "EndTxn"),
    DropRequest("producer-1", "Produce", nth=3),
    DelayRequest("consumer-1", "Fetch", ms=200, nth=0),
    CutRequest("consumer-1", "OffsetCommit", nth=2),
)


class Book:
    """A cluster, or its traffic, that only writes down what is done to it."""

    def __init__(self, *, nodes: tuple[int, ...] = (1, 2, 3), refuses: str = "") -> None:
        self.done: list[tuple[object, ...]] = []
        self.nodes = self.brokers = nodes
        self.links = SimpleNamespace(servers=links_between(nodes, nodes))
        self._refuses = refuses

    def __getattr__(self, name: str):
        def act(*arguments: object, **options: object) -> None:
            self.done.append((name, *arguments, *options.values()))
            if name == self._refuses:
                raise ZeroDivisionError

        return act

    def log(self, node: int) -> str:
        return ""

    @contextmanager
    def broken(self, toxic: object, *links: Link) -> Iterator[None]:
        self.done.append(("break", toxic, *links))
        try:
            yield
        finally:
            self.done.append(("heal", toxic, *links))


def arena(**how: object) -> SimpleNamespace:
    return SimpleNamespace(cluster=Book(**how), traffic=Book(**how))


# ---- harming and healing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "harm", "cure"),
    [
        (KillBroker(2), ("kill", 2), ("start", 2)),
        (StopBroker(2), ("stop", 2), ("start", 2)),
        (PauseBroker(2), ("pause", 2), ("resume", 2)),
        (RestartBroker(2, hard=True), ("restart", 2, True), ("start", 2)),
        (FillDisk(3), ("fill_disk", 3, 1), ("mend_disk", 3, 1)),
        (FailDisk(3, directory=2), ("fail_disk", 3, 2), ("mend_disk", 3, 2)),
        (SetClock(2, 60, behind=True), ("set_clock", 2, -60), ("set_clock", 2, 0)),
        (LinkFault(SOME, Cut()), ("break", Cut(), *SOME), ("heal", Cut(), *SOME)),
    ],
    ids=lambda part: part.kind if hasattr(part, "kind") else "",
)
def test_a_fault_on_the_cluster_heals_even_if_the_block_fails(fault, harm, cure):
    here = arena()

    with pytest.raises(ZeroDivisionError), fault.applied(here):
        assert here.cluster.done == [harm]
        raise ZeroDivisionError

    assert here.cluster.done == [harm, cure]


@pytest.mark.parametrize(("fault", "harm", "cure"), [(KillBroker(2), "kill", "start"), (PauseBroker(2), "pause", "resume")])
def test_a_fault_heals_even_if_the_harm_itself_fails_half_way(fault, harm: str, cure: str):
    here = arena(refuses=harm)

    with pytest.raises(ZeroDivisionError), fault.applied(here):
        pass

    assert here.cluster.done == [(harm, 2), (cure, 2)]


def test_a_frozen_client_is_thawed_even_if_the_block_fails():
    here = arena()

    with pytest.raises(ZeroDivisionError), FreezeClient("consumer-1").applied(here):
        raise ZeroDivisionError

    assert here.traffic.done == [("pause", "consumer-1"), ("resume", "consumer-1")]


def test_a_disk_stalls_again_and_again_and_is_thawed_in_the_end():
    here, fault = arena(), StallDisk(2, stall_ms=1, free_ms=1)

    with pytest.raises(ZeroDivisionError), fault.applied(here):
        wait_until(lambda: len(fault.stalls), lambda stalls: stalls > 2, what="three stalls", timeout=30, every=0.001)
        raise ZeroDivisionError

    freeze, thaw = ("freeze_disk", 2, 1), ("thaw_disk", 2, 1)
    assert here.cluster.done[:4] == [freeze, thaw, freeze, thaw]
    assert here.cluster.done[-1] == thaw
    assert (here.cluster.done.count(freeze), fault.troubles) == (len(fault.stalls), [])


def test_a_disk_that_cannot_stall_is_refused_to_whoever_asked_for_it():
    here, fault = arena(refuses="freeze_disk"), StallDisk(2)

    with pytest.raises(ZeroDivisionError), fault.applied(here):
        raise AssertionError("it is refused before anything is said to stall")

    assert here.cluster.done == [("freeze_disk", 2, 1), ("thaw_disk", 2, 1)]


def test_a_disk_that_stalls_no_more_is_told_by_its_probe_and_in_the_end():
    here, fault = arena(), StallDisk(2, stall_ms=1, free_ms=1)

    with pytest.raises(ZeroDivisionError), fault.applied(here):
        here.cluster.freeze_disk = _divided
        wait_until(lambda: fault.troubles, bool, what="the second stall refused", timeout=30, every=0.001)
        with pytest.raises(ZeroDivisionError):
            fault.bite(here)


def _divided(*_: object) -> None:
    raise ZeroDivisionError


def test_a_silent_partition_swallows_both_directions():
    here = arena()

    with OneWay(1, 2, silent=True).applied(here):
        pass

    assert [toxic.direction for what, toxic, *_ in here.cluster.done if what == "break"] == ["upstream", "downstream"]
    assert len([what for what, *_ in here.cluster.done if what == "heal"]) == 2


# ---- which links a partition severs ---------------------------------------------------------------------------


def severed_pairs(fault, nodes: tuple[int, ...]) -> set[tuple[object, int]]:
    return {(link.source, link.target) for link in fault.links(Book(nodes=nodes))}


def test_isolating_a_node_severs_both_directions_and_its_clients():
    assert severed_pairs(Isolate(2), (1, 2, 3)) == {(1, 2), (2, 1), (2, 3), (3, 2), ("client", 2)}


def test_isolating_a_node_may_leave_it_to_its_clients():
    assert severed_pairs(Isolate(2, clients=False), (1, 2, 3)) == {(1, 2), (2, 1), (2, 3), (3, 2)}


def test_a_partition_takes_replication_and_controller_traffic_alike():
    assert {link.traffic for link in Isolate(2, clients=False).links(Book())} == {"replication", "controller"}


def test_a_split_severs_only_what_crosses_it():
    pairs = severed_pairs(Split((1, 2)), (1, 2, 3, 4, 5))

    assert len(pairs) == 2 * 2 * 3 + 2
    assert {("client", 1), ("client", 2), (1, 3), (5, 2)} <= pairs
    assert not {(1, 2), (3, 4), ("client", 3)} & pairs


@pytest.mark.parametrize("count", [3, 4, 5])
def test_in_a_ring_every_node_sees_a_majority_and_no_two_see_the_same(count: int):
    nodes = tuple(range(1, count + 1))
    cut = severed_pairs(Ring(nodes), nodes)
    seen = [frozenset({node} | {other for other in nodes if other != node and (node, other) not in cut}) for node in nodes]

    assert all(len(view) == count // 2 + 1 for view in seen)
    assert len(set(seen)) == count


def test_a_bridge_is_the_only_way_between_the_halves():
    pairs = severed_pairs(Bridge(3), (1, 2, 3, 4, 5))

    assert pairs == {(a, b) for a in (1, 4) for b in (2, 5)} | {(b, a) for a in (1, 4) for b in (2, 5)}


def test_one_way_leaves_the_other_way_open():
    assert severed_pairs(OneWay(1, 2), (1, 2, 3)) == {(1, 2)}


def test_a_partition_that_severs_nothing_is_refused():
    with pytest.raises(UsageError, match=r"severs no link of nodes 1, 2, 3: name other nodes\."):
        OneWay(1, 9).links(Book())


# ---- into JSON and back ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", EACH, ids=lambda fault: fault.kind)
def test_a_fault_goes_into_json_and_comes_back_the_same(fault):
    assert from_json(to_json(fault)) == fault
    assert to_json(fault)["fault"] == fault.kind


def test_every_fault_of_the_catalogue_is_tried_here():
    assert {fault.kind for fault in EACH} == set(FAULTS)


def test_every_fault_has_a_heading_in_the_docs():
    page = (Path(__file__).parents[2] / "docs" / "faults.md").read_text()
    headings = {line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")}

    assert headings == set(FAULTS)


def test_what_a_probe_remembers_is_no_part_of_the_fault():
    used = RestartBroker(2)
    with used.applied(arena()):
        pass

    assert used == RestartBroker(2)
    assert to_json(used) == {"fault": "restart-broker", "node": 2, "hard": False}


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ([], r"a fault is an object with a field 'fault', not \[\]\."),
        ({}, r"fault None is not known: choose one of kill-broker, stop-broker, .*drop-client-connection, .*cut-request\."),
        ({"fault": "kill-brokr"}, r"fault 'kill-brokr' is not known"),
        ({"fault": "kill-broker"}, r"kill-broker lacks its field 'node': it has node\."),
        ({"fault": "kill-broker", "node": 1, "hard": True}, r"kill-broker has no field 'hard': it has node\."),
        ({"fault": "kill-broker", "node": True}, r"kill-broker: node is True, not a node: say "),
        ({"fault": "kill-broker", "node": "client c"}, r"kill-broker: node is 'client c', not a node"),
        ({"fault": "kill-broker", "node": "boss"}, r"target 'boss' is not known: say \"broker 2\""),
        ({"fault": "kill-broker", "node": 7}, r"broker 7 does not exist: the cluster has 1, 2, 3\."),
        ({"fault": "restart-broker", "node": 1, "hard": "yes"}, r"restart-broker: hard is 'yes', not true or false\."),
        ({"fault": "ring", "nodes": [1, 2]}, r"nodes \[1, 2\] make no ring"),
        ({"fault": "ring", "nodes": 3}, r"ring: nodes is 3, not a list of nodes\."),
        ({"fault": "cut", "links": []}, r"cut: links is \[\], not a list of links"),
        ({"fault": "cut", "links": [{"source": 1}]}, r"cut: link \{'source': 1\} is not an object with source, target"),
        ({"fault": "cut", "links": [{"source": 1, "target": 2}]}, r"cannot carry 'client' traffic"),
        (
            {"fault": "cut", "links": [{"source": 1, "target": 1, "traffic": "controller"}]},
            r"link 1 to 1 does not exist: a node does not call itself\.",
        ),
        ({"fault": "latency", "links": [{"source": "client", "target": 1}]}, r"latency lacks its field 'ms'"),
        (
            {"fault": "latency", "links": [{"source": "client", "target": 1}], "ms": -1},
            r"latency: ms is -1, not a whole number, 0 or more\.",
        ),
        ({"fault": "latency", "links": [{"source": "client", "target": 1}], "ms": 0}, r"latency with ms 0 does nothing"),
        (
            {"fault": "reset", "links": [{"source": "client", "target": 1}], "direction": "left"},
            r"reset: direction is 'left', not upstream or downstream\.",
        ),
        ({"fault": "hold-request", "client": "producer-1", "api": "EndTx"}, r"^api 'EndTx' is not known: choose one of Pro"),
        ({"fault": "delay-request", "client": "c", "api": "Fetch", "ms": 0}, r"^delay with ms 0 cannot be: a delay takes 1"),
        ({"fault": "cut-request", "client": "c"}, r"^cut-request lacks its field 'api': it has client, api, nth\."),
        ({"fault": "drop-request", "client": "c", "api": "Fetch", "nth": -1}, r"nth is -1, not a whole number, 0 or more"),
        ({"fault": "kill-client", "client": ""}, r"kill-client: client is '', not a name\."),
    ],
)
def test_a_wrong_plan_is_refused_in_one_sentence(plan, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        check(plan, nodes=(1, 2, 3))


def test_a_fault_is_not_made_of_a_role_that_nobody_resolved():
    with pytest.raises(UsageError, match=r"kill-broker: node is 'controller', not the id of a node\."):
        from_json({"fault": "kill-broker", "node": "controller"})


def test_a_toxic_without_a_probe_is_refused():
    with pytest.raises(UsageError, match="SlowClose has no probe that sees it bite: use one of cut, blackhole,"):
        LinkFault(SOME, SlowClose(ms=100))


# ---- targets --------------------------------------------------------------------------------------------------


class Asked:
    """A cluster whose broker 2 leads, and whose active controller is 3."""

    nodes = (1, 2, 3)

    def __init__(self, leader: int | None = 2, isr: tuple[int, ...] = (1, 2, 3)) -> None:
        self.state = PartitionState("my.or-ders", 0, leader, 5, (3, 2, 1), frozenset(isr))

    def partition(self, topic: str, partition: int) -> PartitionState:
        assert (topic, partition) == ("my.or-ders", 0)
        return self.state

    def controller(self) -> int:
        return 3


@pytest.mark.parametrize(
    ("words", "node"),
    [("broker 2", 2), (2, 2), ("2", 2), ("leader-of my.or-ders-0", 2), ("follower-of my.or-ders-0", 1), ("controller", 3)],
)
def test_a_role_is_found_in_the_cluster_as_it_is_now(words: str | int, node: int):
    assert target.resolve(words, Asked()) == node


def test_a_follower_in_sync_is_preferred():
    assert target.resolve("follower-of my.or-ders-0", Asked(isr=(2, 3))) == 3


def test_chance_decides_where_several_fit_and_repeats_itself():
    picks = [[target.resolve("follower-of my.or-ders-0", Asked(), random.Random(seed)) for seed in range(20)] for _ in "ab"]

    assert set(picks[0]) == {1, 3}
    assert picks[0] == picks[1]


def test_nobody_is_hit_while_nobody_leads():
    with pytest.raises(NotReady, match=r"my\.or-ders-0 has no leader now, so nobody is its follower\."):
        target.resolve("follower-of my.or-ders-0", Asked(leader=None))


@pytest.mark.parametrize("words", ["", "leader-of", "leader-of orders", "broker two", "broker -1", -1, "Controller"])
def test_words_that_name_nobody_are_refused(words: str | int):
    with pytest.raises(UsageError, match='is not known: say "broker 2"'):
        target.parse(words)


def test_a_plan_is_resolved_wherever_it_names_a_role():
    plan = {
        "fault": "latency",
        "links": [{"source": "follower-of my.or-ders-0", "target": "leader-of my.or-ders-0", "traffic": "replication"}],
        "ms": 100,
    }

    fault = from_json(resolved(plan, Asked()))

    assert fault == LinkFault((Link(1, 2, "replication"),), Latency(ms=100))
    assert resolved({"fault": "ring", "nodes": ["controller", 1, "2"]}, Asked()) == {"fault": "ring", "nodes": [3, 1, 2]}


def test_traffic_of_controllers_is_no_role():
    plan = {"fault": "cut", "links": [{"source": 1, "target": 2, "traffic": "controller"}]}

    assert resolved(plan, Asked()) == plan


def test_resolving_a_broker_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match=r"broker 9 does not exist: this cluster has 1, 2, 3\."):
        resolved({"fault": "kill-broker", "node": "broker 9"}, Asked())


# ---- the eyes of the probes -----------------------------------------------------------------------------------


@contextmanager
def listener(answer) -> Iterator[tuple[str, int]]:
    """A listener that hands each connection to `answer` once its first bytes are there."""

    def serve() -> None:
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            with line:
                line.recv(65536)
                answer(line)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield server.getsockname()
        finally:
            server.shutdown(socket.SHUT_RDWR)


def frame(size: int) -> bytes:
    return size.to_bytes(4) + b"x" * size


def test_a_call_is_answered_once_all_answers_are_complete():
    with listener(lambda line: line.sendall(frame(10) + frame(20))) as where:
        reply = dial.call(where, secure=False, patience=5, times=2)

    assert (reply.how, reply.received) == ("answered", 38)


def test_half_an_answer_is_no_answer():
    with listener(lambda line: line.sendall(frame(10)[:9])) as where:
        reply = dial.call(where, secure=False, patience=5)

    assert (reply.how, reply.received) == ("hung up", 9)


def test_a_call_that_nobody_answers_is_silent():
    held = threading.Event()
    with listener(lambda line: held.wait(5)) as where:
        reply = dial.call(where, secure=False, patience=0.1)
        held.set()

    assert (reply.how, reply.received) == ("silent", 0)


def test_a_call_to_nobody_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = server.getsockname()

    assert dial.call(where, secure=False, patience=5).how == "refused"


def test_a_greeting_over_tls_begins_a_handshake():
    hello = dial.client_hello()

    assert hello[0] == 22  # the record type of a handshake
    assert hello[5] == 1  # a ClientHello
