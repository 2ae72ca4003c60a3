"""Every alert rule, on a real cluster that is broken, with a real Prometheus: the right one fires, alone, and clears.

Rules at a tenth of their durations, scrapes every second. At the end every panel is asked for what it showed meanwhile.
"""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field

import pytest

from compose.cluster import Cluster
from dashboards.alerts.durations import seconds, windows
from dashboards.alerts.every import ALERTS
from dashboards.build import dashboards
from dashboards.reading import dashboard_of
from dashboards.variables import filled, values_of
from kernel.waiting import wait_until
from tests.cluster import alert_situations as situations
from tests.cluster.alert_watch import PACE, Interval, Watch, watched
from tests.cluster.daemons import TRIAL, daemon

pytestmark = pytest.mark.chaos
RULES = {alert.name: alert for alert in ALERTS}
KAFKA = 30.0  # seconds that Kafka itself, and a machine that has other work, may need until a trouble is to be seen
NEED_A_DISK = {"KafkaDiskFilling", "KafkaDiskFull", "KafkaLogDirOffline"}  # of its own, and so root
LOOKING_BACK = ("KafkaIsrFlapping", "KafkaRequestHandlersBusy")  # a state that has to fill the window
C = {"cluster": "c"}
Expected = Mapping[str, list[dict[str, str]]]  # alert → the labels of each that must fire


def remembers(name: str) -> float:
    """How long a rule that counts over a window still counts what is over: with little more it fires again, and rightly."""
    return max(windows(RULES[name].expression), default=0) * PACE if name in LOOKING_BACK else 0.0


@dataclass(frozen=True, slots=True)
class Tried:
    situation: str
    expected: Expected
    began: float
    healed: float
    may: frozenset[str] = frozenset()  # what may come of it as well, depending on how long this machine takes

    def explains(self, one: Interval) -> bool:
        named = one.name in self.may or any(
            labels.items() <= one.labels.items() for labels in self.expected.get(one.name, ())
        )
        return named and self.began <= one.start <= self.healed + KAFKA + remembers(one.name)


@dataclass
class Table:
    watch: Watch
    rows: list[Tried] = field(default_factory=list)

    def tried(
        self,
        situation: str,
        broken: AbstractContextManager[object],
        expected: Expected,
        *,
        may: str = "",
        linger: bool = False,
    ) -> None:
        """Broken until all that is expected fires; `linger`: an alert that clears with its window is not waited for."""
        began = time.time()
        with broken:
            within = max(self.bound(name) for name in expected)
            wait_until(
                lambda: self._missing(expected), lambda missing: not missing, what=f"alerts on {situation}", timeout=within
            )
        self.rows.append(Tried(situation, expected, began, time.time(), frozenset(may.split())))
        if not linger:
            wait_until(
                lambda: self._firing(expected), lambda firing: not firing, what=f"the end of {situation}", timeout=120
            )

    def bound(self, name: str) -> float:
        """Of the time to fire: what the rule waits and looks back, and Kafka's own time."""
        return seconds(RULES[name].hold) * PACE + remembers(name) + 2 * KAFKA

    def _missing(self, expected: Expected) -> list[str]:
        return [
            f"{name} {labels}" for name, each in expected.items() for labels in each if not self.watch.fires(name, **labels)
        ]

    def _firing(self, expected: Expected) -> list[str]:
        return [f"{name} {labels}" for name, each in expected.items() for labels in each if self.watch.fires(name, **labels)]

    def told(self, one: Interval) -> str:
        """Of an alert that nothing explains: what was going on, and what its group's verdicts were."""
        nearest = max((row for row in self.rows if row.began <= one.start), key=lambda row: row.began, default=None)
        when = f"{one.start - nearest.began:.0f} s after the beginning of {nearest.situation}" if nearest else "at first"
        asked = f'kafka_lag_group_status{{group="{one.labels.get("group", "")}"}} == 1'
        seen = self.watch.prometheus.query_range(asked, one.start - 30, one.end + 5, 1)
        verdicts = {series.labels["status"]: [round(at - one.start) for at, _ in series.points] for series in seen}
        return f"{one.name} {one.labels}, {when}; the group's verdicts, in seconds from there: {verdicts or 'none'}"

    def text(self, fired: list[Interval]) -> str:
        """The table: rule × situation × fired after × cleared after."""
        lines = [f"{'rule':28} {'situation':24} {'fired after':>11} {'cleared after':>13}"]
        for one in sorted(fired, key=lambda one: one.start):
            for row in [row for row in self.rows if row.explains(one)][-1:]:  # the nearest, where two would
                cleared = max(0.0, one.end - row.healed)
                lines.append(f"{one.name:28} {row.situation:24} {one.start - row.began:9.0f} s {cleared:11.0f} s")
        return "\n".join(lines)


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    with watched(tmp_path_factory.mktemp("watched")) as watch:
        yield watch


@pytest.fixture(scope="module")
def table(watch: Watch) -> Table:
    return Table(watch)


@pytest.fixture(scope="module")
def tiny(watch: Watch) -> Iterator[Cluster]:
    with Cluster(brokers=1, jolokia=True, provider="processes") as cluster:
        yield cluster


def test_a_healthy_cluster_and_a_rolling_restart_are_quiet(watch: Watch, table: Table):
    began = time.time()
    longest = situations.restart_all(watch)
    dead = {"KafkaBrokerDead"} if longest > seconds(RULES["KafkaBrokerDead"].hold) * PACE else set()  # then it is right
    table.rows.append(Tried("rolling restart", {}, began, time.time(), frozenset(dead)))


def test_a_broker_is_killed(watch: Watch, table: Table):
    expected = {"KafkaBrokerDead": [C | {"broker": "3"}], "KafkaOfflinePartitions": [C], "KafkaUnderReplicated": [C]}
    # A partition's only replica that comes back after it was killed is elected uncleanly: what it had not flushed is lost.
    table.tried("broker killed", situations.broker_killed(watch), expected, may="KafkaUncleanLeaderElection")


def test_clients_are_cut_off_from_a_broker_that_lives(watch: Watch, table: Table):
    broker = situations.coordinator(watch, situations.PROBE)
    unreachable = {"KafkaBrokerUnreachable": [C | {"broker": str(broker)}]}
    may = "KafkaConsumerGroupFailing"  # the application is such a client, too
    table.tried("clients cut off", situations.clients_cut_off(watch, broker), unreachable, may=may)


def test_a_follower_is_cut_off(watch: Watch, table: Table):
    table.tried("follower cut off", situations.follower_cut_off(watch), {"KafkaUnderMinIsr": [C]})


def test_a_follower_flaps(watch: Watch, table: Table):
    may = "KafkaUnderReplicated"  # where it is out for longer than it is in
    table.tried("follower flaps", situations.follower_flapping(watch), {"KafkaIsrFlapping": [C]}, may=may, linger=True)


def test_the_quorum_is_lost(watch: Watch, table: Table):
    table.tried("quorum lost", situations.quorum_lost(watch), {"KafkaNoActiveController": [C]})


def test_two_clusters_have_one_name(watch: Watch, table: Table, tiny: Cluster):
    same = situations.another_cluster_under_the_same_name(watch, tiny)
    table.tried("two clusters, one name", same, {"KafkaTwoActiveControllers": [C]})


def test_a_leader_is_elected_from_outside_the_isr(watch: Watch, table: Table):
    expected = {"KafkaUncleanLeaderElection": [C], "KafkaProbeLostRecords": [C]}
    # Two brokers are killed on the way.
    may = "KafkaBrokerDead KafkaOfflinePartitions KafkaBrokerUnreachable KafkaUnderReplicated"
    table.tried("unclean election", situations.unclean_election(watch), expected, may=may, linger=True)


def test_request_handlers_have_too_much_to_do(watch: Watch, table: Table):
    broker, _ = situations.brokers_apart(watch)
    busy = {"KafkaRequestHandlersBusy": [C | {"node": str(broker)}]}
    table.tried("handlers busy", situations.handlers_busy(watch, broker), busy, may="KafkaProduceSlow")


def test_followers_are_far_away(watch: Watch, table: Table):
    _, leader = situations.brokers_apart(watch)  # another one: a percentile remembers all that was quick
    slow = {"KafkaProduceSlow": [C | {"node": str(leader)}]}
    table.tried("followers far away", situations.followers_far_away(watch, leader), slow)


def test_a_disk_fills_and_then_is_full(watch: Watch, table: Table):
    where = C | {"node": "3"}
    with situations.small_disk(watch, 3) as disk:
        filled = {"KafkaDiskFilling": [where], "KafkaDiskFull": [where]}
        table.tried("disk nearly full", situations.disk_filled(disk, 0.97), filled)
        offline = {"KafkaLogDirOffline": [where]}
        table.tried(
            "disk full",
            situations.disk_filled(disk, 1.0),
            offline,
            may="KafkaDiskFull KafkaDiskFilling KafkaUnderReplicated",
            linger=True,
        )


def test_what_machines_consumers_and_monitors_suffer(watch: Watch, table: Table, tiny: Cluster):
    """Troubles that have nothing to do with each other, all at once: each has its own alert, with its own labels."""
    expected = {
        "KafkaFileDescriptors": [C | {"node": "1"}],
        "KafkaConsumerGroupFailing": [C | {"group": "stuck"}, C | {"group": "late"}],
        "KafkaConsumerGroupBehindSlo": [C | {"group": "late"}],
        "KafkaConsumerGroupSlow": [C | {"group": "slow"}],
        "KafkaAuditMissing": [C | {"topic": "audited", "tier": "skipper"}],
        "KafkaNodeNotRead": [C | {"node": "2"}],
        "KafkaMonitorGone": [{"cluster": "tiny", "monitor": "exporter"}],
        "KafkaMonitorBlind": [{"cluster": "tiny", "monitor": "lag monitor"}],
        "KafkaCertificateExpiring": [{"cluster": "tls", "broker": "1"}],
        "KafkaCertificateExpiresSoon": [{"cluster": "tls", "broker": "1"}],
    }
    with situations.groups(watch, "stuck", "late", "slow") as members, ExitStack() as broken:
        for one in (
            situations.certificate_about_to_expire(watch),
            situations.tiny_cluster_unseen(watch, tiny),
            situations.stuck_and_slow(members),
            situations.records_skipped(watch),
            situations.few_file_descriptors(watch, 1),
            situations.node_hidden(watch),
        ):
            broken.enter_context(one)
        table.tried("ten troubles at once", broken, expected)


def test_what_some_panels_wait_for(watch: Watch):
    """A quota, a batch that is refused, trials: what a cluster does not have every day, and a panel has a place for."""
    situations.held_back(watch)
    situations.refused(watch)
    runs = watch.folder / "runs"
    for scenario, code in ((["leader-election"], 0), (["acks-exposure", "--acks", "1"], 1)):  # which loses what it must
        ran = subprocess.run([TRIAL, "run", *scenario, "--runs", str(runs)], capture_output=True, text=True)
        assert ran.returncode == code, ran.stdout + ran.stderr
    watch.stays.enter_context(daemon("runs exporter", f'runs_dir = "{runs}"\n', watch.folder, port=watch.targets["runs"]))
    time.sleep(5)  # a few scrapes of each


def test_nothing_fired_that_nothing_explains(watch: Watch, table: Table, capsys: pytest.CaptureFixture[str]):
    lingering = lambda: [name for name, _ in watch.firing()]  # noqa: E731
    wait_until(lingering, lambda firing: not firing, what="no alert", timeout=200)
    fired = watch.history()
    with capsys.disabled():
        print(f"\n{table.text(fired)}")

    unexplained = [one for one in fired if not any(row.explains(one) for row in table.rows)]
    assert not unexplained, "\n".join(map(table.told, unexplained))
    skipped = set() if any(row.situation == "disk full" for row in table.rows) else NEED_A_DISK
    assert {*RULES} - {name for row in table.rows for name in row.expected} == skipped, "each was made to fire"


def test_every_panel_has_shown_something(watch: Watch):
    """Each query of each panel of each dashboard, over the time of these tests."""
    missing, asked = [], 0
    for name, made in dashboards().items():
        board = dashboard_of(made, name)
        values = values_of(board)
        for panel in board.panels:
            for target in panel.queries:
                asked += 1
                long = int(time.time() - watch.began)
                expression = filled(target.expression, values, rate_interval="5s", interval="1s", range_seconds=long)
                if not watch.prometheus.query_range(expression, watch.began, time.time(), max(2, long / 300)):
                    missing.append(f"{board.title}, {panel.title}, {target.ref}: {expression}")

    assert asked > 250
    assert not missing, "\n".join(missing)
