"""Alert rules as they are written down: for Prometheus and for Grafana the same, and nothing in them that could not fire."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards.alerts.alert import Alert
from dashboards.alerts.build import build, files
from dashboards.alerts.cases import BROKE, NOTICED, Case, as_promtool
from dashboards.alerts.durations import at_pace, seconds, windows
from dashboards.alerts.every import ALERTS, GROUPS
from dashboards.alerts.grafana_rules import provisioned
from dashboards.alerts.healthy import CONTROLLER, NODES, broken, named
from dashboards.alerts.prometheus_rules import rule_file
from dashboards.expressions import known
from dashboards.lint.tree import name_of, parsed, selectors
from tests.promtool import needed

pytestmark = pytest.mark.slow  # promtool, started for each: not for every change

EVERY = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
NAMES = [
    "KafkaOfflinePartitions", "KafkaUnderMinIsr", "KafkaNoActiveController", "KafkaTwoActiveControllers",
    "KafkaUncleanLeaderElection", "KafkaBrokerDead", "KafkaBrokerUnreachable", "KafkaProbeLostRecords",
    "KafkaUnderReplicated", "KafkaIsrFlapping",
    "KafkaRequestHandlersBusy", "KafkaProduceSlow",
    "KafkaDiskFilling", "KafkaDiskFull", "KafkaFileDescriptors", "KafkaLogDirOffline",
    "KafkaConsumerGroupFailing", "KafkaConsumerGroupSlow", "KafkaConsumerGroupBehindSlo", "KafkaAuditMissing",
    "KafkaNodeNotRead", "KafkaMonitorGone", "KafkaMonitorBlind", "KafkaCertificateExpiring", "KafkaCertificateExpiresSoon",
]  # fmt: skip
WAKES = {
    "KafkaOfflinePartitions", "KafkaUnderMinIsr", "KafkaNoActiveController", "KafkaTwoActiveControllers",
    "KafkaUncleanLeaderElection", "KafkaBrokerDead", "KafkaBrokerUnreachable", "KafkaProbeLostRecords", "KafkaDiskFull",
    "KafkaLogDirOffline", "KafkaConsumerGroupFailing", "KafkaAuditMissing", "KafkaMonitorGone",
    "KafkaCertificateExpiresSoon",
}  # fmt: skip
LABEL = re.compile(r"\$labels\.(\w+)")


def prometheus_rules(**more: Any) -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for group in rule_file(**more)["groups"] for rule in group["rules"]}


def grafana_rules() -> dict[str, dict[str, Any]]:
    return {rule["title"]: rule for group in provisioned()["groups"] for rule in group["rules"]}


def expression_of(rule: dict[str, Any]) -> str:
    return next(one["model"]["expr"] for one in rule["data"] if one["refId"] == "found")


# Which there are ------------------------------------------------------------------------------------------------------


def test_there_are_twenty_five_rules_each_under_its_name():
    assert [alert.name for alert in ALERTS] == NAMES
    assert len(set(NAMES)) == 25


def test_it_is_decided_who_is_woken_and_what_waits_for_the_morning():
    assert {alert.name for alert in ALERTS if alert.severity == "critical"} == WAKES
    assert {alert.severity for alert in ALERTS} == {"critical", "warning"}


@EVERY
def test_every_metric_in_a_rule_is_in_the_catalogue(alert):
    names = {name_of(one) for one in selectors(parsed(alert.expression))}

    assert names
    for name in names:
        known(name)


def test_a_metric_that_is_not_in_the_catalogue_would_be_found():
    with pytest.raises(LookupError):
        known("kafka_server_replicamanager_underreplicated")


@EVERY
def test_no_rule_waits_as_long_as_it_looks_back(alert):
    """What happens once is seen for as long as the window; waited for as long, it would never fire."""
    if looks_back := windows(alert.expression):
        assert seconds(alert.hold) < min(looks_back)


def test_there_are_rules_that_look_back():
    assert sum(bool(windows(alert.expression)) for alert in ALERTS) >= 5


@EVERY
def test_the_sentence_names_what_the_alert_is_about_and_nothing_it_does_not_know(alert):
    assert set(LABEL.findall(alert.summary)) == set(alert.labels)
    assert alert.summary.endswith(".") and alert.description.endswith(".")


@EVERY
def test_a_rule_is_tried_no_sooner_than_it_may_fire_and_soon_after(alert):
    """`fires` is the promise of the table: a little more than the wait and what must come in for a window to tell."""
    assert seconds(alert.hold) < seconds(alert.fires)
    assert seconds(alert.fires) <= seconds(alert.hold) + max(windows(alert.expression), default=0) + 30
    assert set(alert.also) <= set(NAMES) - {alert.name}


# For Prometheus -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pace", [1, 0.1, 0.01])
def test_prometheus_takes_the_file(tmp_path, pace):
    file = build(tmp_path, pace=pace)[0]
    ran = subprocess.run([needed("promtool"), "check", "rules", str(file)], capture_output=True, text=True, timeout=60)

    assert ran.returncode == 0 and "25 rules found" in ran.stdout, ran.stdout + ran.stderr


def test_every_rule_of_the_file_is_what_was_written():
    rules = prometheus_rules()

    for alert in ALERTS:
        rule = rules[alert.name]
        assert (rule["expr"], rule["for"], rule["labels"]) == (alert.expression, alert.hold, {"severity": alert.severity})
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert [group["name"] for group in rule_file()["groups"]] == list(GROUPS)


def test_the_files_are_yaml_and_the_same_each_time(tmp_path):
    written = {file: file.read_bytes() for file in build(tmp_path)}

    assert {file: file.read_bytes() for file in build(tmp_path)} == written
    assert [str(file.relative_to(tmp_path)) for file in written] == [
        "prometheus/rules/kafka-trial.yml",
        "grafana/alerting/kafka-trial.yml",
    ]
    assert [yaml.safe_load(text) for text in files().values()] == [rule_file(), provisioned()]


# For Grafana ----------------------------------------------------------------------------------------------------------


def test_grafana_has_the_same_rules():
    theirs, ours = grafana_rules(), prometheus_rules()

    assert list(theirs) == list(ours)
    for name, rule in theirs.items():
        assert expression_of(rule) == ours[name]["expr"]
        assert (rule["for"], rule["labels"]) == (ours[name]["for"], ours[name]["labels"])
        assert rule["annotations"]["runbook_url"] == ours[name]["annotations"]["runbook_url"]


def test_no_two_rules_of_grafana_have_one_uid_and_none_is_too_long():
    uids = [rule["uid"] for rule in grafana_rules().values()]

    assert len(set(uids)) == 25
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", uid) for uid in uids)
    assert grafana_rules()["KafkaOfflinePartitions"]["uid"] == "kafka-trial-a1c7a3246722"


def test_grafana_fires_on_every_value_0_too_and_not_on_none():
    for rule in grafana_rules().values():
        condition = next(one for one in rule["data"] if one["refId"] == rule["condition"])
        assert condition["datasourceUid"] == "__expr__" and condition["model"]["expression"] == "found"
        (judged,) = condition["model"]["conditions"]
        assert judged["evaluator"]["type"] == "gt" and judged["evaluator"]["params"][0] < -1e300
        assert rule["noDataState"] == "OK" and rule["execErrState"] == "Error"


def test_grafana_knows_the_value_by_another_name():
    for rule in grafana_rules().values():
        assert "$value " not in rule["annotations"]["summary"]
    said = grafana_rules()["KafkaOfflinePartitions"]["annotations"]["summary"]
    assert said.startswith('{{ printf "%.0f" $values.found.Value }} partitions')


def test_grafana_evaluates_in_steps_that_it_takes():
    for group in provisioned()["groups"]:
        assert seconds(group["interval"]) % 10 == 0
        assert group["folder"] == "Kafka"


# At another pace ------------------------------------------------------------------------------------------------------

MADE_UP = Alert(
    name="Made", expression='sum_over_time((rate(x{a="5m"}[1m]) > bool 10)[30m:1m]) >= 300 and y > 5', hold="1m30s",
    severity="warning", summary="Within 10m.", description="For 5m.", broken={}, labels={}, fires="2m", clears="1m",
)  # fmt: skip


def test_pace_shortens_waits_windows_and_steps_and_nothing_else():
    fast = at_pace(MADE_UP, 0.1)

    assert fast.expression == 'sum_over_time((rate(x{a="5m"}[6000ms]) > bool 10)[180000ms:6000ms]) >= 300 and y > 5'
    assert fast.hold == "9000ms"
    assert (fast.summary, fast.description, fast.severity) == (MADE_UP.summary, MADE_UP.description, MADE_UP.severity)
    assert at_pace(MADE_UP, 1) is MADE_UP


@EVERY
def test_at_any_pace_a_rule_judges_the_same(alert):
    fast = at_pace(alert, 0.1)

    assert re.sub(r"\[[^\]]+\]", "[]", fast.expression) == re.sub(r"\[[^\]]+\]", "[]", alert.expression)
    assert [10 * one for one in windows(fast.expression)] == pytest.approx(windows(alert.expression))
    assert 10 * seconds(fast.hold) == pytest.approx(seconds(alert.hold))


@pytest.mark.parametrize(
    ("words", "number"), [("0s", 0), ("90s", 90), ("1m30s", 90), ("250ms", 0.25), ("1d", 86_400), ("2h", 7200)]
)
def test_durations_are_read_as_prometheus_writes_them(words, number):
    assert seconds(words) == number


@pytest.mark.parametrize("words", ["", "5", "m", "5 m", "-5m", "5m ", "1.5m", "1y2x"])
def test_what_is_no_duration_is_refused(words):
    with pytest.raises(ValueError, match="is no duration"):
        seconds(words)


# The sentences, as they are sent --------------------------------------------------------------------------------------


def sentences(tmp_path: Path, case: Case, moment: int, name: str) -> list[str]:
    """What promtool makes of a rule's summary: it prints what it found in place of what it was told to expect."""
    rules = tmp_path / "rules.yml"
    rules.write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": [prometheus_rules()[name]]}]}))
    asked = as_promtool(Case(case.name, case.series, {moment: {}}), str(rules), [name])
    (tmp_path / "case.json").write_text(json.dumps(asked))
    command = [needed("promtool"), "test", "rules", str(tmp_path / "case.json")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return re.findall(r'summary="((?:[^"\\]|\\.)*)"', ran.stdout + ran.stderr)


@EVERY
def test_every_sentence_can_be_read_by_whoever_is_woken(tmp_path, alert):
    case = Case(alert.name, broken(alert.broken), {})
    (said,) = sentences(tmp_path, case, BROKE + int(seconds(alert.fires)), alert.name)

    assert not re.search(r"\{\{|\}\}|<no value>|error|  |NaN", said), said
    assert all(f"{text}" in said for text in alert.labels.values()), said


def test_a_broker_without_a_number_and_a_monitor_without_a_cluster_make_sentences_too(tmp_path):
    fenced = broken({named(f"{CONTROLLER}fencedbrokercount", node=node): 1 for node in NODES})
    nothing = {
        series: [None if place > 80 else one for place, one in enumerate(values)] for series, values in broken({}).items()
    }

    assert sentences(tmp_path, Case("fenced", fenced, {}), BROKE + 135, "KafkaBrokerDead") == [
        "A broker of c is silent for longer than a restart takes."
    ]
    assert "The exporter is no longer scraped." in sentences(
        tmp_path, Case("nothing", nothing, {}), BROKE + NOTICED, "KafkaMonitorGone"
    )


def test_a_million_is_written_out_and_a_second_has_no_fractions(tmp_path):
    missing = broken({named("kafka_audit_records", topic="t", source="a", tier="b", outcome="missing"): 1_234_567})
    late = broken({named("kafka_lag_group_seconds", group="reader"): 90.0170001})

    assert sentences(tmp_path, Case("missing", missing, {}), BROKE + 315, "KafkaAuditMissing") == [
        "1234567 records of t in c never came to b."
    ]
    assert sentences(tmp_path, Case("late", late, {}), BROKE + 135, "KafkaConsumerGroupBehindSlo") == [
        "Group reader of c is 90 s behind, more than was promised."
    ]
