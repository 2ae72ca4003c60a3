"""Consumers in every situation at once, watched by both judges on a real cluster: what each says, and how soon.

Ours has to be right in all of them, and has to keep quiet while nothing is wrong. What Burrow's rules say is printed beside.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from compose.cluster import Cluster
from lag_monitor.burrow.rules import BurrowRules
from lag_monitor.judge.settings import Patience
from lag_monitor.monitor import ClusterLoop
from lag_monitor.verdict import Burrow, Status
from lag_monitor.view import BurrowAnswers
from lag_monitor.watch import Watch
from tests.cluster.lag_situations import ExactlyOnce, Member, OpenTransaction, Traffic, rewind

pytestmark = pytest.mark.punctual

PATIENCE = Patience(interval=1, quiet=6, slow=3, transaction=5, blind=10)
FEW = {"offsets.topic.num.partitions": "5", "transaction.state.log.num.partitions": "5"}
QUIET = {Status.OK, Status.WARMING_UP}


@dataclass
class Seen:
    """What was said of one group, look by look, since something was done to it."""

    ours: list[tuple[float, Status]] = field(default_factory=list)
    burrow: list[tuple[float, Burrow]] = field(default_factory=list)

    def first(self, wanted: Status) -> float | None:
        return next((when for when, said in self.ours if said is wanted), None)

    def first_alarm_of_burrow(self) -> float | None:
        return next((when for when, said in self.burrow if said >= Burrow.WARN), None)


class Watching:
    """Looks on demand, as the daemon's thread does it on time."""

    def __init__(self, watch: Watch, file: Path) -> None:
        self.loop = ClusterLoop(watch, file, 1e9, lambda view: None)
        self._burrow = BurrowAnswers(lambda: {watch.name: self.loop.view})
        self.began = time.monotonic()
        self.seen: dict[str, Seen] = {}
        self.loop.looker.start()

    def look(self) -> None:
        due = time.monotonic() + PATIENCE.interval
        self.loop.looker.look()
        self.loop.view.publish()
        since = time.monotonic() - self.began
        for one in self.loop.view.groups:
            seen = self.seen.setdefault(one.group, Seen())
            seen.ours.append((since, one.status))
            told = self._burrow.status(self.loop.watch.name, one.group)
            seen.burrow.append((since, told.status if told else Burrow.NOTFOUND))
        time.sleep(max(0.0, due - time.monotonic()))

    def look_until(self, good: Callable[[], bool], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not good() and time.monotonic() < deadline:
            self.look()

    def begin(self) -> None:
        """From here on the time counts."""
        self.began, self.seen = time.monotonic(), {}

    def status(self, group: str) -> Status | None:
        verdict = self.loop.view.by_name.get(group)
        return verdict.status if verdict else None

    def end(self) -> None:
        """As a daemon that is stopped: what it knows is saved."""
        self.loop.looker.stop()
        self.loop.looker.reader.join(5)
        self.loop.looker.close()
        self.loop.save()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1, config=FEW, provider="processes") as made:
        yield made


def test_both_judges_in_every_situation(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    address = cluster.address
    names = ["healthy", "dead", "stalled", "slow", "rewind", "dropped topic", "open transaction"]
    topics = {name: name.replace(" ", "-") for name in names}
    for topic in (*topics.values(), "exactly-once", "exactly-once-out"):
        cluster.create_topic(topic, partitions=1, replication=1)
    watch = Watch("trial", address, patience=PATIENCE, burrow=BurrowRules(10, 1), topics_every=2, groups_every=2, timeout=5)
    watching = Watching(watch, tmp_path / "trial.parquet")
    admin = AdminClient(address.librdkafka() | {"log_level": 0})
    wanted = {
        "healthy": Status.OK,
        "dead": Status.STOPPED,
        "stalled": Status.STALLED,
        "slow": Status.SLOW,
        "rewind": Status.REWOUND,
        "exactly-once": Status.OK,
        "dropped topic": Status.ABANDONED_TOPIC,
        "open transaction": Status.STUCK_TRANSACTION,
    }
    with Traffic(address, set(topics.values())) as traffic:
        members = {name: Member(address, name, topic) for name, topic in topics.items()}
        once = ExactlyOnce(address, "exactly-once", "exactly-once", "exactly-once-out")
        try:
            # All is well: long enough for Burrow's windows to be full.
            watching.look_until(lambda: len(watching.seen) == len(wanted), 40)
            watching.begin()
            for _ in range(14):
                watching.look()
            false_alarms = {
                (name, said.name) for name, seen in watching.seen.items() for _, said in seen.ours if said not in QUIET
            }
            assert set(watching.seen) == set(wanted)
            assert false_alarms == set()

            # Now everything at once.
            watching.begin()
            members["dead"].leave()
            members["stalled"].stuck.set()
            members["slow"].pause = 2 / 40  # half as fast as records come
            members.pop("rewind").leave()
            rewind(address, "rewind", topics["rewind"], 5)
            traffic.topics.discard(topics["dropped topic"])
            admin.delete_topics([topics["dropped topic"]])[topics["dropped topic"]].result(10)
            unfinished = OpenTransaction(address, topics["open transaction"])
            once.idle.set()
            members["rewind"] = Member(address, "rewind", topics["rewind"])
            members["rewind"].pause = 0.01
            bad = {name: status for name, status in wanted.items() if status is not Status.OK}
            watching.look_until(lambda: all(watching.seen.get(n, Seen()).first(s) is not None for n, s in bad.items()), 60)
            for _ in range(8):  # those that are well have to stay so, and the markers have to be seen through
                watching.look()
            table = _table(watching, wanted)
            for name, status in bad.items():
                assert watching.seen[name].first(status) is not None, table
            for name in ("healthy", "exactly-once"):
                assert {said for _, said in watching.seen[name].ours} <= QUIET, table
            assert watching.status("exactly-once") is Status.OK, table

            # The monitor is stopped, and another goes on where it was.
            kept = {name: watching.status(name) for name in ("healthy", "dead", "stalled", "open transaction")}
            watching.end()
            again = Watching(watch, tmp_path / "trial.parquet")
            again.look()
            with capsys.disabled():
                print(f"\n{table}\n\nafter a restart of the monitor, at its first look:\n{_after_restart(again, kept)}")
            assert {name: again.status(name) for name in kept} == kept, "a restart changed a verdict"

            # And what is mended is well again.
            members["stalled"].stuck.clear()
            members["slow"].pause = 0.0
            members["dead"] = Member(address, "dead", topics["dead"])
            unfinished.end()
            mended = ("healthy", "stalled", "slow", "dead", "rewind", "open transaction", "exactly-once")
            again.look_until(lambda: all(again.status(name) is Status.OK for name in mended), 60)
            assert {name: again.status(name) for name in mended} == dict.fromkeys(mended, Status.OK)
            again.end()
        finally:
            for member in members.values():
                member.leave()
            once.leave()


def _table(watching: Watching, wanted: dict[str, Status]) -> str:
    rows = [("situation", "our verdict", "after", "Burrow's verdicts since", "first alarm")]
    for name, status in wanted.items():
        seen = watching.seen.get(name, Seen())
        burrow = dict.fromkeys(said.name for _, said in seen.burrow)
        if status is Status.OK:
            ours, after = "/".join(dict.fromkeys(said.name for _, said in seen.ours)), "–"
        else:
            found = seen.first(status)
            ours, after = (status.name, f"{found:.1f} s") if found is not None else ("not " + status.name, "–")
        alarm = seen.first_alarm_of_burrow()
        rows.append((name, ours, after, " → ".join(burrow), "–" if alarm is None else f"{alarm:.1f} s"))
    return _aligned(rows)


def _after_restart(again: Watching, kept: dict[str, Status | None]) -> str:
    rows = [("situation", "our verdict", "after", "Burrow's verdict")]
    for name, before in kept.items():
        (when, now), (_, burrow) = again.seen[name].ours[0], again.seen[name].burrow[0]
        rows.append((name, now.name if now is before else f"{before} became {now.name}", f"{when:.1f} s", burrow.name))
    return _aligned(rows)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
