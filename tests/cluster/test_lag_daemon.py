"""The lag monitor as a daemon beside a real cluster: what it tells against what Kafka tells, and that it forgets nothing.

One cluster, and groups that are well, stuck, without members or at the end; nobody writes to `still`, so all is known of it.
"""

import base64
import json
import os
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme

from compose.cluster import Cluster
from kafka_trial.daemon.handout import lag_file
from kernel.waiting import wait_until
from tests.cluster.alertmanager import inbox
from tests.cluster.daemons import TRIAL, free_port, prometheus
from tests.cluster.lag_daemons import (
    AS_LONG,
    CLUSTER,
    QUICK,
    LagMonitor,
    NewMember,
    Truth,
    commit,
    fill,
    lag_monitor,
    moment,
    watching,
)
from tests.cluster.lag_situations import Member, Traffic
from tests.promtool import linted

pytestmark = pytest.mark.punctual

RECORDS = 100  # in `still`
COMMITS = [10, 20, 30, 40]  # of `halted`
SOURCES = {"both": '["admin", "offsets topic"]', "admin": '["admin"]', "topic": '["offsets topic"]'}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1, config=QUICK) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def truth(cluster: Cluster) -> Truth:
    return Truth(cluster)


@dataclass
class World:
    stuck: Member
    alarming: Member


@pytest.fixture(scope="module")
def world(cluster: Cluster) -> Iterator[World]:
    address = cluster.address
    for topic in ("flow", "newer", "jammed", "alarming", "still"):
        cluster.create_topic(topic)
    fill(address, "still", RECORDS)
    commit(address, "halted", "still", *COMMITS)
    commit(address, "ended", "still", RECORDS)
    with Traffic(address, {"flow", "newer", "jammed", "alarming"}):
        members = [Member(address, *names) for names in (("well", "flow"), ("stuck", "jammed"), ("alarming", "alarming"))]
        members.append(NewMember(address, "newer", "newer"))
        yield World(members[1], members[2])
        for member in members:
            member.leave()


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text("let-me\n")
    return file


@pytest.fixture(scope="module")
def monitors(
    cluster: Cluster, world: World, token: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, LagMonitor]]:
    """One for each choice of sources. `stuck` is stuck once all three have seen it get on."""
    folders = {name: tmp_path_factory.mktemp(name) for name in SOURCES}
    head = f'delete_token_file = "{token}"'
    configs = {name: watching(cluster.address, head=head, cluster=f"sources = {which}") for name, which in SOURCES.items()}
    with (
        lag_monitor(configs["both"], folders["both"]) as both,
        lag_monitor(configs["admin"], folders["admin"]) as admin,
        lag_monitor(configs["topic"], folders["topic"]) as topic,
    ):
        found = {"both": both, "admin": admin, "topic": topic}
        for one in found.values():
            one.wait("stuck", "OK")
            moving(one, "stuck", "jammed")
        world.stuck.stuck.set()
        yield found


@pytest.fixture(scope="module")
def monitor(monitors: dict[str, LagMonitor]) -> LagMonitor:
    return monitors["both"]


def moving(monitor: LagMonitor, group: str, topic: str) -> None:
    """Until the monitor has seen it commit more than once."""
    wait_until(lambda: monitor.windows(group, topic), lambda seen: len(set(seen)) > 3, what="commits", timeout=AS_LONG)


def cli(*words: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    wide = {"COLUMNS": "300", **environment}
    return subprocess.run(
        [TRIAL, *map(str, words)], capture_output=True, text=True, check=False, timeout=90, env={**os.environ, **wide}
    )


# ---- what it tells ---------------------------------------------------------------------------------------------------


def test_it_is_ready_when_it_has_caught_up_and_not_before(cluster: Cluster, world: World, tmp_path: Path):
    cluster.pause(1)
    try:
        with lag_monitor(watching(cluster.address), tmp_path, ready=False) as fresh:
            before = [fresh.ask(path) for path in ("/-/healthy", "/-/ready", "/burrow/admin/ready", "/burrow/admin")]
            cluster.resume(1)
            wait_until(lambda: fresh.ask("/-/ready")[0], lambda code: code == 200, what="ready", timeout=AS_LONG)
            after = [fresh.ask(path) for path in ("/-/healthy", "/-/ready", "/burrow/admin/ready")]
            known = fresh.statuses().keys()
    finally:
        cluster.resume(1)

    assert before == [(200, "healthy\n"), (503, "not ready\n"), (503, "STARTING"), (200, "GOOD")]
    assert after == [(200, "healthy\n"), (200, "ready\n"), (200, "READY")]
    assert {"halted", "ended"} <= known, "ready means that there is something to tell"


def test_what_burrow_would_answer_is_true(cluster: Cluster, monitor: LagMonitor, truth: Truth):
    monitor.wait("halted", "STOPPED")
    told = monitor.burrow("/consumer/halted/lag")["status"]
    (partition,) = told["partitions"]

    assert monitor.told("/v3/kafka")["clusters"] == [CLUSTER]
    assert set(monitor.burrow("/consumer")["consumers"]) == truth.groups()
    assert set(monitor.burrow("/topic")["topics"]) == truth.topics()
    assert set(monitor.burrow("/topic/still/consumers")["consumers"]) == {"halted", "ended"}
    assert monitor.burrow("/topic/still")["offsets"] == [RECORDS] == [truth.end("still")]
    assert (told["status"], told["totallag"], told["partition_count"]) == ("ERR", RECORDS - 40, 1)
    assert (partition["topic"], partition["partition"], partition["status"]) == ("still", 0, "STOP")
    assert (partition["start"]["offset"], partition["end"]["offset"], partition["current_lag"]) == (10, 40, RECORDS - 40)
    assert told["maxlag"] == partition
    assert monitor.burrow("/consumer/halted/status")["status"] == told
    assert monitor.windows("halted", "still") == COMMITS == truth.every_commit("halted")
    ended = monitor.burrow("/consumer/ended/status")["status"]
    assert (ended["status"], ended["partitions"], ended["totallag"]) == ("OK", [], 0)


def test_heads_and_windows_follow_a_group_that_moves(monitor: LagMonitor, truth: Truth):
    end = truth.end("flow")
    (head,) = wait_until(
        lambda: monitor.burrow("/topic/flow")["offsets"], lambda seen: seen[0] >= end, what="flow's end", timeout=AS_LONG
    )
    window = monitor.windows("well", "flow")
    (owned,) = monitor.burrow("/consumer/well")["topics"]["flow"]

    assert end <= head <= truth.end("flow")
    assert len(window) == 10 and is_part_of(window, truth.every_commit("well"))
    assert owned["client_id"] == "rdkafka" and owned["owner"]
    assert monitor.burrow("/consumer/well/status")["status"]["status"] in ("OK", "WARN")


def is_part_of(part: Sequence[int], whole: Sequence[int]) -> bool:
    """One after the other, none left out, none twice."""
    return any(list(whole[at : at + len(part)]) == list(part) for at in range(len(whole)))


def test_what_is_not_there_is_answered_as_burrow_answers_it(monitor: LagMonitor):
    unknown = {
        path: monitor.ask(f"/v3/kafka/{path}")
        for path in ("trial/consumer/nobody/status", "trial/consumer/nobody/lag", "trial/consumer/nobody", "none/consumer")
    }

    assert {path: code for path, (code, _) in unknown.items()} == dict.fromkeys(unknown, 404)
    errors = {path: json.loads(text)["error"] for path, (_, text) in unknown.items()}
    assert errors == {
        "trial/consumer/nobody/status": False,
        "trial/consumer/nobody/lag": False,
        "trial/consumer/nobody": True,
        "none/consumer": True,
    }
    assert json.loads(unknown["trial/consumer/nobody/status"][1])["status"]["status"] == "NOTFOUND"


def test_a_group_is_forgotten_by_who_has_the_token_and_by_nobody_else(
    cluster: Cluster, monitor: LagMonitor, monitors: dict[str, LagMonitor]
):
    commit(cluster.address, "forgotten", "still", 1, 2, 3)
    path = f"/v3/kafka/{CLUSTER}/consumer/forgotten"
    for one in (monitor, monitors["topic"]):
        wait_until(lambda one=one: one.windows("forgotten", "still"), lambda seen: seen == [1, 2, 3], what="it", timeout=30)

    refused = [monitor.ask(path, "DELETE")[0], monitor.ask(path, "DELETE", Authorization="Bearer wrong")[0]]
    assert refused == [401, 403]
    assert monitor.windows("forgotten", "still") == [1, 2, 3]

    for one in (monitor, monitors["topic"]):
        assert one.ask(path, "DELETE", Authorization="Bearer let-me")[0] == 200
    assert monitors["topic"].ask(path)[0] == 404
    assert monitors["topic"].groups().get("forgotten") is None or monitors["topic"].wait_looks(1) is None
    assert "forgotten" not in monitors["topic"].groups()
    commit(cluster.address, "forgotten", "still", 4)
    for one in (monitor, monitors["topic"]):
        wait_until(lambda one=one: one.windows("forgotten", "still"), bool, what="heard of again", timeout=30)
        assert one.windows("forgotten", "still") == [4]
        assert one.windows("halted", "still") == COMMITS
    Truth(cluster).delete_group("forgotten")


def test_each_group_is_told_with_its_reason(monitor: LagMonitor, truth: Truth):
    halted = monitor.wait("halted", "STOPPED")
    stuck = monitor.wait("stuck", "STALLED")
    (partition,) = halted["partitions"]

    assert halted["reason"].startswith("still-0: 60 records behind (") and "the group has no members" in halted["reason"]
    assert (halted["gravity"], halted["state"], halted["members"], halted["lag"]) == ("ERROR", "Empty", 0, 60)
    assert (partition["committed"], partition["end"], partition["lag"]) == (40, RECORDS, 60)
    assert partition["evidence"]["log_end"] == RECORDS
    assert "rdkafka at " in stuck["reason"] and " has not got on for " in stuck["reason"]
    assert (stuck["state"], stuck["members"], stuck["partitions"][0]["committed"]) == (
        "Stable",
        1,
        truth.committed("stuck", "jammed"),
    )
    assert {name: monitor.wait(name, "OK")["kind"] for name in ("well", "newer")} == {"well": "classic", "newer": "consumer"}
    assert monitor.wait("ended", "EMPTY_GROUP")["reason"] == "no members; everything there is has been read"
    assert [one["cluster"] for one in monitor.told("/api/clusters")["clusters"]] == [CLUSTER]
    assert {one["group"] for one in monitor.told("/api/clusters/trial/groups?gravity=error")["groups"]} == {
        "halted",
        "stuck",
    }


def test_the_pages_name_the_group_and_why(monitor: LagMonitor):
    monitor.wait("halted", "STOPPED")
    code, page = monitor.ask("/")
    one_code, one = monitor.ask("/clusters/trial/groups/halted")

    assert (code, one_code) == (200, 200)
    for text in (page, one):
        assert "halted" in text and "60 records behind" in text and "the group has no members" in text
    assert "stuck" in page and "stuck" not in one
    assert monitor.ask("/clusters/trial/groups/nobody")[0] == 404


@pytest.mark.parametrize("source", ["admin", "topic"])
def test_one_source_alone_gives_the_same_verdicts(monitors: dict[str, LagMonitor], truth: Truth, source: str):
    both, alone = monitors["both"], monitors[source]
    wanted = {"well": "OK", "newer": "OK", "halted": "STOPPED", "ended": "EMPTY_GROUP", "stuck": "STALLED"}

    for one in (both, alone):
        told = {name: one.wait(name, status) for name, status in wanted.items()}
        assert told["halted"]["lag"] == RECORDS - 40 and told["ended"]["lag"] == 0
        assert told["halted"]["partitions"][0]["committed"] == 40
        assert told["stuck"]["partitions"][0]["committed"] == truth.committed("stuck", "jammed")
        assert {name: (one["kind"], one["members"], one["state"]) for name, one in told.items()} == {
            "well": ("classic", 1, "Stable"),
            "newer": ("consumer", 1, "Stable"),
            "stuck": ("classic", 1, "Stable"),
            "halted": ("classic", 0, "Empty"),
            "ended": ("classic", 0, "Empty"),
        }
        assert told["well"]["lag"] < 200 > told["newer"]["lag"]
    assert alone.about()["sources"] == json.loads(SOURCES[source])


# ---- metrics ---------------------------------------------------------------------------------------------------------


def test_prometheus_reads_what_is_so(monitor: LagMonitor, truth: Truth, tmp_path: Path):
    monitor.wait("halted", "STOPPED")
    monitor.wait("stuck", "STALLED")

    assert linted(monitor.page()) == ""
    with prometheus(tmp_path, [monitor.address.removeprefix("http://")]) as server:

        def ask(expression: str, label: str = "group") -> dict[str, float]:
            return {dict(labels)[label]: value for labels, value in server.query(expression).items()}

        known = {"halted", "ended", "well", "newer", "stuck", "alarming"}
        assert ask("kafka_lag_group_records").keys() >= known
        assert ask('kafka_lag_group_records{group=~"halted|ended"}') == {"halted": 60, "ended": 0}
        assert ask('kafka_lag_group_status{status="STOPPED"}') == {"halted": 1}
        assert ask('kafka_lag_group_status{status="STALLED"}') == {"stuck": 1}
        assert ask('kafka_lag_group_members{group=~"halted|stuck"}') == {"halted": 0, "stuck": 1}
        assert ask('kafka_lag_partition_records{group="halted",partition="0"}') == {"halted": 60}
        burrow = "consumer_group"
        assert ask('burrow_kafka_consumer_lag_total{consumer_group=~"halted|ended"}', burrow) == {"halted": 60, "ended": 0}
        assert ask('burrow_kafka_consumer_status{consumer_group="halted"}', burrow) == {"halted": 3}
        assert ask('burrow_kafka_topic_partition_offset{topic="still"}', "topic") == {"still": truth.end("still")}
        assert ask("kafka_lag_up", "cluster") == {CLUSTER: 1} == ask("kafka_lag_ready", "cluster")
        committed, end = truth.committed("stuck", "jammed"), truth.end("jammed")
        wait_until(
            lambda: ask('kafka_lag_group_records{group="stuck"}')["stuck"],
            lambda lag: committed is not None and lag >= end - committed,
            what=f"a lag of {end} - {committed} or more",
            timeout=AS_LONG,
        )
        assert ask('kafka_lag_group_records{group="stuck"}')["stuck"] <= truth.end("jammed") - (committed or 0)


def test_a_deleted_group_is_gone_from_everywhere(cluster: Cluster, monitors: dict[str, LagMonitor], truth: Truth):
    commit(cluster.address, "doomed", "still", 5)
    for one in monitors.values():
        wait_until(one.page, lambda page: '"doomed"' in page, what="doomed in the metrics", timeout=AS_LONG)

    truth.delete_group("doomed")

    for one in monitors.values():
        wait_until(one.page, lambda page: '"doomed"' not in page, what="doomed not in the metrics", timeout=AS_LONG)
        assert "doomed" not in one.groups()
        assert "doomed" not in one.burrow("/consumer")["consumers"]
        assert one.ask(f"/v3/kafka/{CLUSTER}/consumer/doomed")[0] == 404
        assert '"halted"' in one.page() and "halted" in one.groups()


# ---- what it remembers -----------------------------------------------------------------------------------------------


def test_after_kill_9_it_knows_what_it_knew(cluster: Cluster, monitor: LagMonitor, truth: Truth, tmp_path: Path):
    config = watching(cluster.address, tail="[burrow]\nintervals = 60")
    with lag_monitor(config, tmp_path) as first:
        stuck = first.wait("stuck", "STALLED")
        halted = first.wait("halted", "STOPPED")
        wait_until(lambda: first.windows("well", "flow"), lambda seen: len(seen) > 30, what="a long window", timeout=AS_LONG)
        saves = first.figure("kafka_lag_saves_total")
        first.wait_figure("kafka_lag_saves_total", lambda now: now >= saves + 2)
        window, killed = first.windows("well", "flow"), time.time()
    with lag_monitor(config, tmp_path) as second:
        after, ready = second.groups(), time.time()
        resumed = second.windows("well", "flow")
        samples = second.group("stuck")["partitions"][0]["samples"]
        said = second.log()

    assert after["stuck"]["status"] == "STALLED" and after["halted"]["status"] == "STOPPED"
    assert (after["stuck"]["since"], after["halted"]["since"]) == (stuck["since"], halted["since"])
    assert moment(samples[0]["at"]) < killed, "looks from before are remembered"
    assert len(resumed) > 2 * (ready - killed) / 0.5 and set(window) & set(resumed)
    assert is_part_of(resumed, truth.every_commit("well")), "none is lost and none is there twice"
    assert after["well"]["status"] == "OK"
    assert "Traceback" not in said and "put aside" not in said


def test_a_fresh_one_knows_less(cluster: Cluster, world: World, monitor: LagMonitor, tmp_path: Path):
    """The other side of the one before: without its state it has to see for itself."""
    before = monitor.wait("stuck", "STALLED")["since"]
    with lag_monitor(watching(cluster.address, cluster='sources = ["admin"]'), tmp_path) as fresh:
        told = fresh.groups()["stuck"]
        samples = fresh.group("stuck")["partitions"][0]["samples"]

    assert told["status"] in ("WARMING_UP", "OK") and moment(told["since"]) > moment(before)
    assert len(samples) < 4


def test_a_state_that_is_damaged_is_put_aside_with_a_sentence(cluster: Cluster, world: World, tmp_path: Path):
    config = watching(cluster.address)
    with lag_monitor(config, tmp_path) as first:
        first.wait_figure("kafka_lag_saves_total", lambda saves: saves > 0)
        assert first.ends() == 0
    (state,) = (tmp_path / "state").glob("cluster-*.parquet")
    bytes_ = bytearray(state.read_bytes())
    for at in range(100, len(bytes_), 97):
        bytes_[at] ^= 0xFF
    state.write_bytes(bytes_)

    with lag_monitor(config, tmp_path) as second:
        second.wait("halted", "STOPPED")
        second.wait_figure("kafka_lag_saves_total", lambda saves: saves > 0)
        said = [line for line in second.log().splitlines() if "put aside" in line]
        assert "Traceback" not in second.log()
        assert second.windows("halted", "still") == COMMITS, "read anew"
    (aside,) = (tmp_path / "state").glob("*.broken-*")

    assert len(said) == 1 and "cannot be used (" in said[0] and aside.name in said[0]
    assert aside.read_bytes() == bytes(bytes_)
    with lag_monitor(config, tmp_path) as third:
        assert "put aside" not in third.log(), "what it wrote since is well"


# ---- signals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["both", "topic"])
def test_a_new_file_is_taken_and_a_broken_one_refused(cluster: Cluster, world: World, tmp_path: Path, source: str):
    config = watching(cluster.address, cluster=f"sources = {SOURCES[source]}")
    with lag_monitor(config, tmp_path) as running:
        running.wait_for("both groups", lambda told: {"halted", "well"} <= told.keys())
        running.wait_figure("kafka_lag_saves_total", lambda saves: saves > 0)
        was = running.file.read_text()

        running.file.write_text(was + 'deny = "^hal"\n')
        running.reloads()
        running.wait_for("halted denied", lambda told: "halted" not in told and "well" in told)
        running.wait_looks(3)
        assert "halted" not in running.groups() and '"halted"' not in running.page()
        assert "halted" not in running.burrow("/consumer")["consumers"]

        running.file.write_text(was + 'deny = "("\n')
        running.reloads()
        wait_until(running.log, lambda said: "stays" in said, what="a refusal", timeout=AS_LONG)
        (sentence,) = [line for line in running.log().splitlines() if " ERROR " in line]
        assert "the configuration was not taken, and the one before stays: " in sentence
        assert "deny = '(': not a regular expression" in sentence
        running.wait_looks(2)
        told = running.statuses()
        assert "halted" not in told and told["well"] == "OK"

        running.file.write_text(was)
        running.reloads()
        assert running.wait("halted", "STOPPED")["lag"] == RECORDS - 40
        assert running.ends() == 0
        assert "Traceback" not in running.log()


def test_it_ends_soon_and_well_and_keeps_what_it_knows(cluster: Cluster, world: World, tmp_path: Path):
    with lag_monitor(watching(cluster.address, head="").replace("save_every = 2", "save_every = 3600"), tmp_path) as running:
        assert not list((tmp_path / "state").glob("*.parquet"))
        began = time.monotonic()
        assert running.ends() == 0
        assert time.monotonic() - began < 8
    assert len(list((tmp_path / "state").glob("cluster-trial.parquet"))) == 1
    assert "Traceback" not in running.log()


def test_it_ends_soon_and_well_where_nobody_answers(cluster: Cluster, tmp_path: Path):
    nobody = watching(cluster.address).replace(cluster.address.bootstrap, f"127.0.0.1:{free_port()}")
    with lag_monitor(nobody, tmp_path, ready=False) as running:
        running.wait_figure("kafka_lag_failed_looks_total", lambda failed: failed > 0)
        about = running.about()
        began = time.monotonic()
        assert running.ends() == 0
        assert time.monotonic() - began < 12
    assert (about["up"], about["ready"], about["groups"]) == (False, False, 0)
    assert about["trouble"].startswith("the cluster did not answer (")
    assert "Traceback" not in running.log()


# ---- the file, the door, the terminal --------------------------------------------------------------------------------


def test_the_file_can_be_checked_without_a_cluster(tmp_path: Path):
    address = "127.0.0.1:1"
    right, wrong = tmp_path / "right.toml", tmp_path / "wrong.toml"
    right.write_text(f'[[clusters]]\nname = "a"\nkafka.bootstrap = "{address}"\n')
    wrong.write_text(f'[[clusters]]\nname = "a"\nkafka.bootstrap = "{address}"\nkafka.ca_file = "none.pem"\n')

    fine, refused = (cli("lag-monitor", "--config", file, "--check") for file in (right, wrong))

    assert (fine.returncode, fine.stdout) == (0, "") and "is right: a; nobody is told." in fine.stderr
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "kafka.ca_file" in refused.stderr and "none.pem" in refused.stderr and refused.stderr.count("\n") == 1


def test_behind_a_login_and_a_certificate(cluster: Cluster, world: World, tmp_path: Path):
    authority, password = trustme.CA(), "s3cret-word"
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    identity = authority.issue_cert("127.0.0.1")
    identity.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    identity.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    (tmp_path / "password").write_text(password + "\n")
    door = 'tls = { cert_file = "cert.pem", key_file = "key.pem" }\nlogin = { username = "ann", password_file = "password" }'
    trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    paths = ("/metrics", "/api/clusters", "/v3/kafka", "/", "/clusters/trial/groups/halted", "/burrow/admin")

    with lag_monitor(watching(cluster.address, head=door), tmp_path, context=trusting) as running:
        assert {path: running.ask(path)[0] for path in paths} == dict.fromkeys(paths, 401)
        assert {path: running.ask(path, Authorization=basic("ann", "no"))[0] for path in paths} == dict.fromkeys(paths, 401)
        assert {path: running.ask(path, Authorization=basic("ann", password))[0] for path in paths} == dict.fromkeys(
            paths, 200
        )
        at = ("lag", "status", "--url", running.address)
        unknown = cli(*at, KAFKA_TRIAL_LAG_LOGIN=f"ann:{password}")
        stranger = cli(*at, "--ca-file", tmp_path / "ca.pem")
        let_in = cli(*at, "--ca-file", tmp_path / "ca.pem", "--all", KAFKA_TRIAL_LAG_LOGIN=f"ann:{password}")
        assert password not in running.log() and "Traceback" not in running.log()

    assert (unknown.returncode, stranger.returncode) == (2, 2)
    assert "no lag monitor answers" in unknown.stderr and "wants a login" in stranger.stderr
    assert let_in.returncode in (0, 1) and "halted" in let_in.stdout


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_in_a_terminal_the_exit_code_says_whether_something_is_wrong(cluster: Cluster, monitor: LagMonitor, tmp_path: Path):
    monitor.wait("halted", "STOPPED")
    file = tmp_path / "one.toml"
    file.write_text(watching(cluster.address, cluster='allow = "^(well|ended)$"'))
    commit(cluster.address, "beyond", "still", RECORDS + 1000)  # wrong at once, however long one looks

    bad = cli("lag", "status", "--url", monitor.address)
    machine = cli("lag", "status", "--url", monitor.address, "--json")
    own = cli("lag", "status", "--bootstrap", cluster.address.bootstrap)
    good = cli("lag", "status", "--config", file, "--all")
    nobody = cli("lag", "status", "--url", f"http://127.0.0.1:{free_port()}")
    twice = cli("lag", "status", "--config", file, "--bootstrap", cluster.address.bootstrap)
    Truth(cluster).delete_group("beyond")

    assert bad.returncode == 1 and "STOPPED" in bad.stdout and "60 records behind" in bad.stdout
    assert "well" not in bad.stdout
    assert machine.returncode == 1
    groups: list[Any] = json.loads(machine.stdout)[0]["groups"]
    assert next(one for one in groups if one["group"] == "halted")["lag"] == RECORDS - 40
    assert own.returncode == 1 and "beyond" in own.stdout, own.stdout + own.stderr
    assert good.returncode == 0 and "well" in good.stdout and "halted" not in good.stdout, good.stdout + good.stderr
    assert (nobody.returncode, twice.returncode) == (2, 2)
    assert "start one with kafka-trial lag-monitor" in nobody.stderr and "both say where to look" in twice.stderr
    for one in (bad, machine, own, good, nobody, twice):
        assert "Traceback" not in one.stderr


# ---- alerts, time, security ------------------------------------------------------------------------------------------


def test_a_stall_is_told_once_and_so_is_its_end(cluster: Cluster, world: World, tmp_path: Path):
    with inbox() as heard:
        tail = (
            f'[[channels]]\ntype = "webhook"\nname = "hook"\nurl = "{heard.url}"\n'
            '[[routes]]\nname = "team"\nchannels = ["hook"]\nallow = "^(alarming|well)$"\n'
        )
        with lag_monitor(watching(cluster.address, tail=tail), tmp_path) as running:
            running.wait("alarming", "OK")
            moving(running, "alarming", "alarming")
            world.alarming.pause = 9.0  # for the next record
            (opened,) = heard.gets(1)
            world.alarming.pause = 0.0
            running.wait("alarming", "OK")
            heard.gets(2)
            running.wait_looks(4)
            incidents = running.told("/api/incidents")["incidents"]
        told = list(heard.taken)

    assert [(one["kind"], one["group"], one["status"]) for one in told] == [
        ("open", "alarming", "STALLED"),
        ("close", "alarming", "OK"),
    ]
    assert told[0]["incident"] == told[1]["incident"] and "has not got on for" in opened["reason"]
    assert [one for one in incidents if one.get("opened_at") and not one.get("closed_at")] == []


def test_seconds_are_right_at_the_first_verdict_and_a_promise_is_held_against_them(cluster: Cluster, tmp_path: Path):
    """Ten minutes of records, evenly; groups at several places among them; and a monitor that has never seen any of it."""
    count, over = 6_000, 600.0
    cluster.create_topic("dated")
    first = fill(cluster.address, "dated", count, over=over)
    places = {"oldest": 10, "older": 1_500, "middle": 3_000, "newer-still": 5_400, "end": count}
    for group, offset in places.items():
        commit(cluster.address, f"dated-{group}", "dated", offset)
    config = watching(
        cluster.address,
        judge="quiet = 600",
        cluster='allow = "^dated"\nslo = [{ groups = "older|middle", seconds = 400 }]',
    )

    with lag_monitor(config, tmp_path) as fresh:
        told = fresh.groups()

    for group, offset in places.items():
        one = told[f"dated-{group}"]
        written = first + offset * over / count
        behind = moment(one["judged_at"]) - written if offset < count else 0.0
        assert one["seconds"] == pytest.approx(behind, rel=0.1), (group, one)
        assert one["lag"] == count - offset
    assert told["dated-older"]["status"] == "BEHIND_SLO"
    assert told["dated-older"]["reason"].endswith("at most 6 min 40 s were promised")
    assert told["dated-middle"]["status"] in ("OK", "WARMING_UP") and told["dated-middle"]["slo_seconds"] == 400
    assert told["dated-oldest"]["status"] in ("OK", "WARMING_UP"), "nothing was promised of it"
    for group in places:
        Truth(cluster).delete_group(f"dated-{group}")


def test_a_cluster_that_wants_a_password_and_a_certificate(tmp_path: Path):
    with Cluster(brokers=1, security="sasl_ssl", config=QUICK) as guarded:
        guarded.create_topic("still")
        fill(guarded.address, "still", RECORDS)
        commit(guarded.address, "halted", "still", *COMMITS)
        config = lag_file(CLUSTER, guarded.address, tmp_path).replace("topics_every = 10", "topics_every = 10\ntimeout = 3")
        with lag_monitor(config, tmp_path) as running:
            assert running.group("halted")["lag"] == RECORDS - 40
            assert running.windows("halted", "still") == COMMITS
            (module,) = [running.burrow()["module"]]
            assert guarded.address.password and guarded.address.password not in running.log() + json.dumps(module)
            assert running.ends() == 0
        (tmp_path / "password").write_text("wrong\n")
        with lag_monitor(config, tmp_path, ready=False) as stranger:
            stranger.wait_figure("kafka_lag_failed_looks_total", lambda failed: failed > 0)
            assert stranger.ask("/-/ready")[0] == 503 and not stranger.about()["up"]
            assert stranger.ends() == 0
