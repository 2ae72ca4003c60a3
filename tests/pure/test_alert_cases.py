"""The cases by which promtool proves the rules: they hold for ours, and every rule that is made worse is found by one."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from dashboards.alerts.alert import Alert, Gone
from dashboards.alerts.cases import BROKE, HEALTHY, QUIET, Case, blind_case, cases, firing_case, notation
from dashboards.alerts.every import ALERTS
from dashboards.alerts.healthy import ACTIVE, CONTROLLER, END, HEARTBEAT, NODES, UP, broken, healthy, named, restarting
from dashboards.alerts.promtool import Told, names_in, tried
from dashboards.alerts.rules.availability import CONTROLLERS
from dashboards.alerts.rules.load import SLOW
from dashboards.alerts.rules.replication import SHRINKS
from dashboards.lint.tree import name_of, parsed, selectors
from tests.promtool import needed

OURS = {alert.name: alert for alert in ALERTS}
RESTART = "a rolling restart is quiet"
TURNED = {"==": "!=", "!=": "==", ">": "<=", "<": ">=", ">=": "<", "<=": ">"}
# That of Kafka before 4.1, which has no heartbeats to compare; it has a case of its own below.
FALLBACK = ("KafkaBrokerDead", 2)
COMPARISON = re.compile(r"(?<= )(==|!=|>=|<=|>|<)(?= )")


def rules_of(folder: Path, alerts: Iterable[Alert]) -> Path:
    rules = [
        {"alert": one.name, "expr": one.expression, "for": one.hold, "labels": {"severity": one.severity}} for one in alerts
    ]
    file = folder / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "tried", "rules": rules}]}))
    return file


def told(folder: Path, alert: Alert, *wanted: str) -> dict[str, Told]:
    """Of one rule alone, changed or not, tried by the cases of ours."""
    by_name = {case.name: case for case in cases()}
    chosen = [by_name[name] for name in wanted]
    return {one.case: one for one in tried(rules_of(folder, [alert]), chosen, needed("promtool"))}


def holds(folder: Path, alert: Alert, case: str) -> bool:
    return told(folder, alert, case)[case].holds


# What they are, without promtool --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_there_are_fifty_seven_cases_each_under_a_name_of_its_own():
    names = [case.name for case in cases()]

    assert len(names) == len(set(names)) == 57
    assert all({firing_case(alert.name), blind_case(alert.name)} <= set(names) for alert in ALERTS)


def test_a_healthy_cluster_has_every_series_that_a_rule_looks_at():
    """Else a rule would be quiet because it sees nothing."""
    there = {series.partition("{")[0] for series in healthy()}
    asked = {name_of(one) for alert in ALERTS for one in selectors(parsed(alert.expression))}

    assert asked <= there


def test_a_firing_case_asks_before_it_may_fire_when_it_must_and_after_it_healed():
    case = next(case for case in cases() if case.name == firing_case("KafkaUnderReplicated"))
    moments = {moment: set(firing) for moment, firing in case.moments.items()}

    assert moments == {
        BROKE - 15: set(),
        BROKE + 585: set(),
        BROKE + 615: {"KafkaUnderReplicated"},
        HEALTHY - 15: {"KafkaUnderReplicated"},
        HEALTHY + 15: set(),
    }


def test_a_rolling_restart_takes_every_node_away_once_and_always_has_one_active_controller():
    series = restarting()

    for node in NODES:
        assert 0 in series[named(UP, node=node)]
        assert series[named(UP, node=node)][-1] == 1
    for place in range(END):
        assert sum(series[named(ACTIVE, node=node)][place] or 0 for node in NODES) == 1


def test_series_are_written_as_promtool_reads_them():
    assert notation([1, 1.5, None, None, 2]) == "1 1.5 stale _ 2"
    assert notation([None, 3, 1_234_567]) == "_ 3 1234567"


# What they prove ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_case_holds_for_our_rules(tmp_path):
    tool, file = needed("promtool"), rules_of(tmp_path, ALERTS)
    found = list(tried(file, cases(), tool))

    assert names_in(file) == [alert.name for alert in ALERTS]
    assert {one.case: one.words for one in found if not one.holds} == {}
    assert len(found) == 57


def comparisons() -> list[tuple[str, int]]:
    found = [(alert.name, place) for alert in ALERTS for place in range(len(COMPARISON.findall(alert.expression)))]
    return [one for one in found if one != FALLBACK]


def turned(alert: Alert, place: int) -> Alert:
    """With one of its comparisons turned round."""
    found = list(COMPARISON.finditer(alert.expression))[place]
    return replace(
        alert, expression=alert.expression[: found.start()] + TURNED[found.group()] + alert.expression[found.end() :]
    )


def test_all_rules_but_the_one_that_looks_for_nothing_compare_something():
    assert {name for name, _ in comparisons()} == set(OURS) - {"KafkaMonitorGone"}
    assert len(comparisons()) > 30


@pytest.mark.slow
@pytest.mark.parametrize(("name", "place"), comparisons())
def test_a_comparison_that_is_turned_round_is_found_by_the_rule_s_own_case(tmp_path, name, place):
    assert not holds(tmp_path, turned(OURS[name], place), firing_case(name))


CHANGED = {
    "an unclean election that is waited for as long as it is seen": (
        replace(OURS["KafkaUncleanLeaderElection"], hold="10m"),
        firing_case("KafkaUncleanLeaderElection"),
    ),
    "nobody misses the exporter when all is gone": (
        replace(OURS["KafkaMonitorGone"], expression=OURS["KafkaMonitorGone"].expression.rpartition(" or ")[0]),
        "every series vanishes",
    ),
    "nobody misses a monitor that was there": (
        replace(OURS["KafkaMonitorGone"], expression=f'label_replace(absent({UP}), "monitor", "exporter", "", "")'),
        firing_case("KafkaMonitorGone"),
    ),
    "under-replicated for half a minute": (replace(OURS["KafkaUnderReplicated"], hold="30s"), RESTART),
    "under-replicated for as long as a quick broker is away": (
        replace(OURS["KafkaUnderReplicated"], hold="3m"),
        "a rolling restart with slow brokers is quiet",
    ),
    "dead after a quarter of a minute": (replace(OURS["KafkaBrokerDead"], hold="15s"), RESTART),
    "unreachable at once, dead or not": (
        replace(OURS["KafkaBrokerUnreachable"], hold="0s", expression="kafka_probe_broker_available == 0"),
        RESTART,
    ),
    "shrinks are counted and not minutes": (
        replace(OURS["KafkaIsrFlapping"], expression=f"sum by (cluster) (increase({SHRINKS}[30m])) >= 10"),
        RESTART,
    ),
    "controllers that tell nothing are taken for well": (
        replace(OURS["KafkaNoActiveController"], expression=f"{CONTROLLERS} == 0"),
        "controllers tell nothing",
    ),
    "a percentile is believed without the mean": (replace(OURS["KafkaProduceSlow"], expression=SLOW), RESTART),
    "a node that is not read is told of at once": (
        replace(OURS["KafkaNodeNotRead"], hold="1m"), firing_case("KafkaNodeNotRead"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGED)
def test_a_rule_that_is_made_worse_is_found(tmp_path, what):
    worse, case = CHANGED[what]

    assert not holds(tmp_path, worse, case)
    assert holds(tmp_path, OURS[worse.name], case)


@pytest.mark.slow
def test_a_kafka_that_tells_no_heartbeats_has_its_dead_brokers_told_by_those_it_fenced(tmp_path):
    silent = {named(HEARTBEAT, broker=node): Gone() for node in NODES}
    fenced = {named(f"{CONTROLLER}fencedbrokercount", node=node): 1.0 for node in NODES}
    dead = {"KafkaBrokerDead": ({"cluster": "c"},)}
    case = Case("before 4.1", broken({**silent, **fenced}), {BROKE + 105: QUIET, BROKE + 135: dead, HEALTHY + 15: QUIET})
    well = Case("and well", broken(dict(silent)), {BROKE + 135: QUIET})

    assert [one.words for one in tried(rules_of(tmp_path, ALERTS), [case, well], needed("promtool"))] == ["", ""]


@pytest.mark.slow
def test_a_rule_that_fires_beside_another_is_found(tmp_path):
    """Every case asks of every alert in the file."""
    loud = replace(
        OURS["KafkaDiskFilling"], expression="max by (cluster, node, dir) (kafka_log_dir_free_bytes) < 1000", hold="0s"
    )
    file = rules_of(tmp_path, [OURS["KafkaUnderReplicated"], loud])
    case = next(case for case in cases() if case.name == firing_case("KafkaUnderReplicated"))
    (found,) = tried(file, [case], needed("promtool"))

    assert not found.holds and "KafkaDiskFilling" in found.words
