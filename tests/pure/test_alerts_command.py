"""`kafka-trial alerts build` and `alerts test`: what is written, what is said of anybody's rules, and how each ends."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards.alerts.every import ALERTS
from dashboards.alerts.prometheus_rules import rule_file
from kafka_trial.cli.alerts import build, prove
from tests.promtool import needed
from tests.pure.commands import ran

pytestmark = pytest.mark.slow  # servers and programs, started for each: not for every change

WIDE = {"COLUMNS": "200"}
PROMETHEUS, GRAFANA = "prometheus/rules/kafka-trial.yml", "grafana/alerting/kafka-trial.yml"
GOOD = "groups: [{name: g, rules: [{alert: KafkaDiskFull, expr: 'up > 1', labels: {severity: critical}}]}]"


def only(folder: Path, name: str, change: Callable[[dict[str, Any]], None] = lambda rule: None) -> Path:
    """Our file with one of its rules alone, changed."""
    rules = [rule for group in rule_file()["groups"] for rule in group["rules"] if rule["alert"] == name]
    change(rules[0])
    file = folder / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}))
    return file


# build ----------------------------------------------------------------------------------------------------------------


def test_both_files_are_written_and_named(tmp_path):
    done = ran(build, tmp_path)

    assert (done.code, done.out.splitlines()) == (0, [str(tmp_path / PROMETHEUS), str(tmp_path / GRAFANA)])
    assert len([rule for group in read(tmp_path / PROMETHEUS)["groups"] for rule in group["rules"]]) == len(ALERTS)
    assert read(tmp_path / GRAFANA)["groups"][0]["folder"] == "Kafka"


def read(file: Path) -> Any:
    return yaml.safe_load(file.read_text())


def test_the_second_build_changes_not_a_byte(tmp_path):
    ran(build, tmp_path)
    before = (tmp_path / PROMETHEUS).read_bytes()
    ran(build, tmp_path)

    assert (tmp_path / PROMETHEUS).read_bytes() == before


def test_pace_and_runbooks_are_heeded(tmp_path):
    ran(build, tmp_path, "--pace", "0.1", "--runbooks", "https://wiki.example/")
    rule = read(tmp_path / PROMETHEUS)["groups"][0]["rules"][0]

    assert (rule["for"], rule["annotations"]["runbook_url"]) == ("3000ms", "https://wiki.example/KafkaOfflinePartitions.md")
    assert (tmp_path / GRAFANA).read_text().count("https://wiki.example/") == len(ALERTS)


@pytest.mark.parametrize("pace", ["0", "-1", "2", "fast"])
def test_a_pace_that_makes_no_sense_is_refused(tmp_path, pace):
    assert ran(build, tmp_path, "--pace", pace).code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_the_folder_should_be_is_one_sentence(tmp_path):
    (tmp_path / "prometheus").write_text("a file")
    done = ran(build, tmp_path)

    assert (done.code, done.err) == (2, f"kafka-trial: {tmp_path}/prometheus/rules cannot be written: Not a directory.\n")
    assert [file.name for file in tmp_path.iterdir()] == ["prometheus"]


# test: how it ends ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_our_rules_hold_and_the_table_names_every_one(tmp_path):
    needed("promtool")
    done = ran(prove, env=WIDE)

    assert done.code == 0, done.all
    assert [alert.name for alert in ALERTS if f"{alert.name} " not in done.out] == []
    assert "✗" not in done.out and "25 rules, 57 cases: none failed" in done.out


def test_as_json_every_case_is_told_and_nothing_else_is_printed(tmp_path):
    needed("promtool")
    done = ran(prove, "--rules", only(tmp_path, "KafkaDiskFull"), "--json")
    told = json.loads(done.out)

    assert (done.code, done.err) == (0, "")
    assert {one["case"] for one in told["cases"]} >= {"KafkaDiskFull fires and clears", "a rolling restart is quiet"}
    assert all(one["holds"] and one["promtool"] == "" for one in told["cases"])
    assert len(told["not in the file"]) == len(ALERTS) - 1


def test_a_weakened_rule_fails_with_promtool_s_words(tmp_path):
    needed("promtool")
    weak = only(tmp_path, "KafkaUncleanLeaderElection", lambda rule: rule.update({"for": "10m"}))
    done = ran(prove, "--rules", weak, env=WIDE)

    assert done.code == 1
    assert "KafkaUncleanLeaderElection fires and clears:" in done.out
    assert "alertname: KafkaUncleanLeaderElection" in done.out and "exp:[" in done.out
    assert "1 rules, 9 cases: 1 failed" in done.out
    assert "not in the file, and so not tried: KafkaOfflinePartitions" in done.out


def test_a_rule_with_other_words_or_another_url_holds_as_well(tmp_path):
    """Texts are anybody's to change."""
    needed("promtool")
    own = only(tmp_path, "KafkaDiskFull", lambda rule: rule.update({"annotations": {"summary": "Voll: {{ $value }}"}}))

    assert ran(prove, "--rules", own).code == 0


def test_in_a_narrow_terminal_the_names_of_rules_stay_whole(tmp_path):
    needed("promtool")
    done = ran(prove, "--rules", only(tmp_path, "KafkaCertificateExpiresSoon"), env={"COLUMNS": "80"})

    assert "KafkaCertificateExpiresSoon" in done.out.partition("✓ a healthy")[0]


# test: files that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("groups: [", "is no file of rules: "),
        ("just words", "cannot unmarshal"),
        ("\x00\x01", "is no file of rules: "),
        (GOOD.replace("up > 1", "sum((up)"), "could not parse expression"),
        (GOOD.replace("expr", "exprs"), "field exprs not found"),
        (GOOD.replace("KafkaDiskFull", "''"), "is no file of rules: "),
        ("", "has none of the alerts that are tried here"),
        ("groups:", "has none of the alerts that are tried here"),
        ("groups: [{name: g}]", "has none of the alerts that are tried here"),
        (GOOD.replace("KafkaDiskFull", "Mine"), "has none of the alerts that are tried here"),
    ],
)
def test_a_file_that_is_no_rules_of_ours_is_one_sentence(tmp_path, text, said):
    needed("promtool")
    (tmp_path / "rules.yml").write_text(text)
    done = ran(prove, "--rules", tmp_path / "rules.yml")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"kafka-trial: {tmp_path}/rules.yml ") and said in done.err
    assert done.err.count("\n") == 1 and done.err.endswith(".\n") and not done.err.endswith(":.\n")


def test_a_folder_or_nothing_is_no_file(tmp_path):
    needed("promtool")
    for path in (tmp_path, tmp_path / "nowhere.yml"):
        done = ran(prove, "--rules", path)
        assert (done.code, done.err) == (2, f"kafka-trial: {path} is no file: give a file of rules, or leave --rules out.\n")


def test_without_promtool_it_is_said_what_to_install():
    done = ran(prove, "--promtool", "/nowhere/promtool")

    assert done.code == 4
    assert "/nowhere/promtool is not" in done.err and "apt-get install prometheus" in done.err
    assert done.err.count("\n") == 1
