"""Several lag monitors as one: real daemons that are killed, ended, stopped and cut off; each incident is told of once."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer

from compose.cluster import Cluster
from kernel.waiting import wait_until
from lag_monitor.sharing.shards import shard_of
from tests.cluster.alertmanager import Inbox, inbox
from tests.cluster.lag_daemons import LagMonitor, Truth, commit, fill, lag_monitor, watching

pytestmark = pytest.mark.punctual

SESSION = 6.0
RECORDS = 20
OFFSETS_PARTITIONS = 5
SHARDS = 6
GROUPS = {
    test: [f"{test}-{number}" for number in range(count)]
    for test, count in {"kill": 2, "wire": 1, "sleep": 1, "away": 2, "count": 1, "shard": 10}.items()
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """With groups that all stopped just now."""
    config = {"offsets.topic.num.partitions": str(OFFSETS_PARTITIONS)}
    with Cluster(brokers=1, provider="processes", config=config) as cluster:
        cluster.create_topic("read", partitions=1)
        fill(cluster.address, "read", RECORDS, over=60)
        for group in [name for names in GROUPS.values() for name in names]:
            commit(cluster.address, group, "read", 1, 2, 3)
        yield cluster


@dataclass
class Several:
    """Instances of one test, each with a folder of its own, which it finds again when it returns."""

    cluster: Cluster
    folder: Path
    test: str
    box: Inbox
    stack: ExitStack
    running: dict[str, LagMonitor] = field(default_factory=dict)

    def start(self, *names: str, shards: int = 1, ready: bool = True) -> None:
        tail = (
            f'[[channels]]\ntype = "webhook"\nname = "hook"\nurl = "{self.box.url}"\ntimeout = 20\n'
            f'[[routes]]\nname = "team"\nchannels = ["hook"]\nallow = "^{self.test}-"\n'
            f'[instances]\ngroup = "{self.test} monitors"\ntopic = "{self.test}.open"\n'
            f"shards = {shards}\nsession = {SESSION}\n"
        )
        config = watching(self.cluster.address, tail=tail)
        for name in names:
            (self.folder / name).mkdir(exist_ok=True)
            self.running[name] = self.stack.enter_context(lag_monitor(config, self.folder / name, ready=False))
        for name in names if ready else ():
            self.wait_ready(name)

    def wait_ready(self, name: str) -> None:
        one = self.running[name]
        wait_until(lambda: one.ask("/-/ready")[0], lambda seen: seen == 200, what="ready", timeout=30, hint=one.last_words)

    def dies(self, name: str) -> None:
        process = self.running.pop(name).process
        process.kill()
        process.wait()

    def ends(self, name: str) -> None:
        assert self.running.pop(name).ends() == 0

    def held(self) -> dict[str, int]:
        """How many shards each has; what is told of it and whether it is active must agree."""
        found = {}
        for name, one in self.running.items():
            (shards,), (active,) = one.series("kafka_lag_shards").values(), one.series("kafka_lag_active").values()
            found[name] = int(shards) if bool(shards) == bool(active) else -1
        return found

    def share(self, *wanted: int, timeout: float = 30) -> dict[str, int]:
        """Until they have so many shards, the one with the most first."""
        return wait_until(
            self.held,
            lambda seen: sorted(seen.values(), reverse=True) == list(wanted),
            what=f"shards {wanted}",
            timeout=timeout,
            hint=self.last_words,
        )

    def active(self, timeout: float = 30) -> str:
        found = self.share(1, *[0] * (len(self.running) - 1), timeout=timeout)
        return max(found, key=lambda name: found[name])

    def other(self, name: str) -> str:
        (other,) = self.running.keys() - {name}
        return other

    def look(self, times: int = 2) -> None:
        """So that whoever has something to say says it."""
        for one in self.running.values():
            one.wait_looks(times)

    def recovers(self, *groups: str) -> None:
        for group in groups:
            commit(self.cluster.address, group, "read", RECORDS)

    def told(self) -> list[tuple[str, str]]:
        """A repeat, as one of two may find it graver, says nothing of who tells."""
        return sorted((one["group"], one["kind"]) for one in self.box.taken if one["kind"] != "repeat")

    def gets(self, *wanted: tuple[str, str]) -> None:
        """Exactly these, and each only once."""
        wait_until(self.told, lambda seen: len(seen) >= len(wanted), what=f"{wanted}", timeout=30, hint=self.last_words)
        self.look()
        assert self.told() == sorted(wanted), self.last_words()
        assert set(Counter(one["key"] for one in self.box.taken).values()) == {1}

    def last_words(self) -> str:
        logs = [
            f"--- {file.relative_to(self.folder)}\n{file.read_text()[-1500:]}"
            for file in sorted(self.folder.glob("*/*.log"))
        ]
        told = [f"{one['key']} {one['kind']} {one['group']} {one['status']}: {one['reason']}" for one in self.box.taken]
        return "\n".join([*logs, *told])


@pytest.fixture
def several(cluster: Cluster, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Several]:
    with inbox() as box, ExitStack() as stack:
        yield Several(cluster, tmp_path, request.param, box, stack)


def opens(*groups: str) -> list[tuple[str, str]]:
    return [(group, "open") for group in groups]


def closes(*groups: str) -> list[tuple[str, str]]:
    return [(group, "close") for group in groups]


@pytest.mark.parametrize("several", ["kill"], indirect=True)
def test_one_tells_and_if_it_is_killed_or_ends_another_goes_on_with_what_is_open(several: Several, cluster: Cluster):
    first, second = GROUPS["kill"]
    several.start("a", "b")
    leader = several.active()
    standby = several.other(leader)
    several.gets(*opens(first, second))

    several.dies(leader)
    began = time.monotonic()
    assert several.active() == standby
    missed = time.monotonic() - began
    several.recovers(first)
    several.gets(*opens(first, second), *closes(first))

    several.start(leader)  # with a file in which the first is still open
    assert (several.active(), several.running[leader].told("/api/incidents")["incidents"]) == (standby, [])
    began = time.monotonic()
    several.ends(standby)
    ended = time.monotonic() - began
    assert several.active() == leader
    handed = time.monotonic() - began
    assert [one["group"] for one in several.running[leader].told("/api/incidents")["incidents"]] == [second]
    several.recovers(second)
    several.gets(*opens(first, second), *closes(first, second))

    print(f"taken over {missed:.1f} s after kill -9, {handed:.1f} s after SIGTERM (it ended after {ended:.1f} s)")
    assert missed < SESSION + 4
    assert handed < 4
    assert len({one["incident"] for one in several.box.taken}) == 2
    assert "kill monitors" in Truth(cluster).groups()
    assert not {"kill monitors", "kafka-trial-lag-monitor-reader"} & several.running[leader].groups().keys()
    assert cluster.topic_config("kill.open")["cleanup.policy"] == "compact"


@pytest.mark.parametrize("several", ["wire"], indirect=True)
def test_one_that_is_killed_while_a_notice_is_on_the_wire_is_repeated_under_the_same_key(several: Several):
    (group,) = GROUPS["wire"]
    several.box.door.clear()
    several.start("a", "b")
    several.box.is_asked(1)
    several.dies(several.active())
    several.box.is_asked(2)
    several.box.door.set()
    several.recovers(group)
    wait_until(several.told, lambda seen: (group, "close") in seen, what="a close", timeout=30, hint=several.last_words)
    several.look()

    assert several.told() == [*closes(group), *opens(group), *opens(group)]
    assert len({one["key"] for one in several.box.taken if one["kind"] == "open"}) == 1
    assert len({one["incident"] for one in several.box.taken}) == 1


@pytest.mark.parametrize("several", ["sleep"], indirect=True)
def test_one_that_slept_for_longer_than_its_session_tells_nothing_when_it_wakes(several: Several):
    (group,) = GROUPS["sleep"]
    several.start("a", "b")
    leader = several.active()
    several.gets(*opens(group))
    sleeper = several.running.pop(leader)
    sleeper.process.send_signal(signal.SIGSTOP)
    several.active()
    several.recovers(group)
    several.gets(*opens(group), *closes(group))
    sleeper.process.send_signal(signal.SIGCONT)
    several.running[leader] = sleeper

    assert several.active() == several.other(leader)
    several.gets(*opens(group), *closes(group))
    wait_until(
        sleeper.log, lambda said: "are lost" in said and "are handed over" not in said, what="what it lost", timeout=30
    )


@pytest.mark.parametrize("several", ["away"], indirect=True)
def test_nobody_tells_while_the_cluster_where_they_meet_is_away_and_one_does_when_it_is_back(
    several: Several, cluster: Cluster
):
    first, second = GROUPS["away"]
    several.start("a", "b")
    several.active()
    several.gets(*opens(first, second))
    cluster.kill(1)
    several.start("c", ready=False)
    several.share(0, 0, 0)
    assert several.running["c"].ask("/-/ready")[0] == 503
    assert several.running["a"].ask("/-/ready")[0] == 200
    cluster.start(1)
    leader = several.active()
    several.wait_ready("c")
    several.recovers(first)
    several.gets(*opens(first, second), *closes(first))

    assert several.active() == leader
    wait_until(
        several.running["c"].log, lambda said: "no shard can be had, and nothing is told" in said, what="c", timeout=1
    )


@pytest.mark.parametrize("several", ["count"], indirect=True)
def test_one_that_is_told_another_number_of_shards_says_so_once_and_tells_nothing(several: Several, cluster: Cluster):
    (group,) = GROUPS["count"]
    several.start("a")
    several.gets(*opens(group))
    producer = Producer(cluster.address.librdkafka() | {"log_level": 0})
    producer.produce("count.open", b"nobody can read this", key=b"odd", partition=0)
    assert producer.flush(10) == 0
    alone = several.running["a"]
    sentence = "another instance wrote of odd in shard 0, which is ours; it is written over"
    wait_until(alone.log, lambda log: sentence in log, what="a word of it", timeout=30)
    several.start("b", shards=3, ready=False)
    said = "the topic count.open has 1 partitions, and instances.shards is 3: set shards = 1, or name another topic."
    wait_until(several.running["b"].log, lambda log: said in log, what="a sentence", timeout=30)
    several.look(3)

    assert several.held() == {"a": 1, "b": 0}
    assert several.running["b"].ask("/-/ready")[0] == 503
    assert several.running["b"].log().count(said) == 1
    several.dies("b")
    several.dies("a")
    several.start("c")
    several.recovers(group)
    several.gets(*opens(group), *closes(group))
    assert "shards [0] are ours, with 1 incidents" in several.running["c"].log()


@pytest.mark.parametrize("several", ["shard"], indirect=True)
def test_three_share_six_shards_and_every_group_is_looked_at_and_told_of_by_one(several: Several):
    groups = GROUPS["shard"]
    halves = groups[:5], groups[5:]
    assert len({shard_of(group, SHARDS, OFFSETS_PARTITIONS) for group in groups}) > 2

    def split() -> bool:
        """Each of our groups is in the answers of one."""
        counts = Counter(name for one in several.running.values() for name in one.groups() if name in groups)
        return counts == Counter(groups)

    several.start("a", shards=SHARDS)
    several.share(6)
    several.gets(*opens(*groups))
    several.start("b", "c", shards=SHARDS)
    several.share(2, 2, 2)
    wait_until(split, bool, what="every group with one", timeout=30, hint=several.last_words)
    several.gets(*opens(*groups))

    several.dies("b")
    several.share(3, 3)
    wait_until(split, bool, what="every group with one", timeout=30, hint=several.last_words)
    several.recovers(*halves[0])
    several.gets(*opens(*groups), *closes(*halves[0]))

    several.start("b", shards=SHARDS)
    several.share(2, 2, 2)
    several.ends("c")
    several.share(3, 3)
    wait_until(split, bool, what="every group with one", timeout=30, hint=several.last_words)
    several.recovers(*halves[1])
    several.gets(*opens(*groups), *closes(*groups))
    assert len({one["incident"] for one in several.box.taken}) == len(groups)
