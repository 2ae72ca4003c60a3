"""The auditor as a program: its file, its page for Prometheus, its alerts, its words when something is wrong."""

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from kafka_trial.cli.app import app
from kafka_trial.cli.audit import _line, _places
from kafka_trial.daemon.audit_config import AuditConfig
from kafka_trial.daemon.audit_metrics import figures, page
from kafka_trial.daemon.config_file import load
from kernel.errors import UsageError
from tests.promtool import linted, needed
from tests.pure.audit_books import LATE, World

PAGE = Path(__file__).parent.parent.parent / "docs" / "audit.md"
READER: Any = SimpleNamespace(up=True, malformed=0)


def world() -> World:
    world = World()
    world.produced(*range(10))
    world.consumed(0, 1, 2, 4, 5, 6, 7, 7, 8, 9)
    world.wait(LATE + 1)
    world.alive()
    world.judged()
    return world


def told(world: World) -> str:
    return page(figures(world.auditor, READER, True, world.now), "")[1].decode()


def by(text: str, name: str, label: str, **where: str) -> dict[str, float]:
    """What is not 0, by one label."""
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    found = (sample for sample in samples if sample.name == name and where.items() <= sample.labels.items())
    return {sample.labels[label]: sample.value for sample in found if sample.value}


def test_what_is_missing_and_extra_is_on_the_page_by_topic_and_tier_and_prometheus_finds_no_fault_with_it():
    text = told(world())

    assert by(text, "kafka_audit_records", "outcome", topic="orders", source="producer", tier="billing") == {
        "complete": 9.0, "missing": 1.0, "extra": 1.0,
    }  # fmt: skip
    assert by(text, "kafka_audit_buckets", "verdict", topic="orders", source="producer", tier="billing") == {"missing": 1.0}
    assert by(text, "kafka_audit_counted_records_total", "tier", topic="orders") == {"producer": 10.0, "billing": 10.0}
    assert by(text, "kafka_audit_clients", "state", tier="producer") == {"alive": 1.0}
    assert by(text, "kafka_audit_clients", "state", tier="billing") == {"lost": 1.0}
    assert linted(text) == ""


def test_an_empty_page_is_well_too():
    assert linted(told(World())) == ""


def expressions() -> list[str]:
    [block] = re.findall(r"```promql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line for line in block.splitlines() if not line.startswith("#")]


def test_the_documents_alert_fires_when_records_are_missing_and_stays_quiet_when_they_are_not(tmp_path: Path):
    rules = [{"alert": f"Audit{number}", "expr": expression} for number, expression in enumerate(expressions())]
    (tmp_path / "rules.json").write_text(json.dumps({"groups": [{"name": "audit", "rules": rules}]}))
    series = 'kafka_audit_records{topic="orders",source="p",tier="t",outcome="%s"}'

    def case(values: str, outcome: str, *, fires: bool) -> dict[str, Any]:
        samples = [{"series": series % outcome, "values": values}, {"series": "kafka_audit_up", "values": "1x40"}]
        firing = {"exp_labels": {"topic": "orders", "source": "p", "tier": "t"}}
        return {
            "interval": "1m",
            "input_series": samples,
            "alert_rule_test": [
                {"eval_time": "30m", "alertname": "Audit0", "exp_alerts": [firing] if fires else []},
                {"eval_time": "30m", "alertname": "Audit3", "exp_alerts": []},
            ],
        }

    tests = [
        case("0x40", "missing", fires=False),
        case("0x20 3x20", "missing", fires=True),
        case("1x40", "extra", fires=True),
        case("9x40", "late", fires=False),
    ]
    (tmp_path / "tests.json").write_text(json.dumps({"rule_files": ["rules.json"], "tests": tests}))
    checked = subprocess.run(
        [needed("promtool"), "test", "rules", "tests.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_documents_file_is_right(tmp_path: Path):
    [block] = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "audit.toml").write_text(block)

    found = load(tmp_path / "audit.toml", AuditConfig)

    assert (found.flow[0].wanted.sources, found.flow[0].wanted.tier, found.flow[0].wanted.topic) == (
        ("shop", "import"),
        "billing",
        "orders",
    )


KAFKA = '[kafka]\nbootstrap = "b:1"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"kafka is missing\."),
        ('topic = "a/b"\n' + KAFKA, r"topic = 'a/b': no name of a topic"),
        ("lateness = -1\n" + KAFKA, r"lateness = -1: input should be greater than or equal to 0"),
        ('lateness = "soon"\n' + KAFKA, r"lateness = 'soon': "),
        ("colour = 1\n" + KAFKA, r"the key colour is not known: choose one of listen, "),
        ('since = "yesterday"\n' + KAFKA, r"since = 'yesterday': "),
        (KAFKA + '[[flow]]\nto = "b"\n', r"flow\[0\]\.from is missing\."),
        (KAFKA + '[[flow]]\nfrom = "a"\nto = ""\n', r"flow\[0\]\.to = '': "),
        (KAFKA + '[[flow]]\nfrom = "a"\nto = "b"\ncolour = 1\n', r"the key flow\[0\]\.colour is not known"),
        ("keep = 1\n" + KAFKA, r"keep = 1: "),
    ],
)
def test_a_wrong_file_is_told_in_one_sentence(tmp_path: Path, text: str, says: str):
    (tmp_path / "audit.toml").write_text(text)
    with pytest.raises(UsageError, match=says):
        load(tmp_path / "audit.toml", AuditConfig)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give a file with --config, or a command"),
        (["report"], "give either --bootstrap HOST:PORT or --config FILE"),
        (["report", "--bootstrap", "nowhere"], "--bootstrap 'nowhere' is not HOST:PORT"),
        (["report", "--bootstrap", "b:1", "--topic", "a b"], "--topic 'a b' is no name of a topic"),
        (["--check", "report", "--bootstrap", "b:1"], "belong behind the command"),
        (["--config", "none.toml"], "there is no configuration file none.toml"),
    ],
)
def test_wrong_words_are_told_in_one_sentence(words: list[str], says: str):
    told = CliRunner().invoke(app, ["audit", *words])

    assert isinstance(told.exception, UsageError)
    assert says in told.exception.message


def test_a_bucket_is_one_line_with_its_offsets():
    [one] = world().auditor.judgements

    assert _line(one) == (
        "MISSING   orders-0  2023-11-14 22:13:20  10 from producer, 10 in billing · 1 missing @ 3 · 1 extra @ 7"
    )
    assert _places((1, 2, 3, 7, 9, 10)) == " @ 1-3, 7, 9-10"
