"""Small dashboards with the mistakes of the well-known ones, and exactly what is said of each; our own, without one."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from dashboards.lint.known import of_catalogue
from dashboards.lint.linting import lint
from dashboards.lint.unit import UNITS
from dashboards.reading import Dashboard, Panel, Target, read
from kafka_trial.cli.dashboards.lint import lint as command
from kernel.metric_tables import METRICS
from kernel.metrics import Kind, Metric, Scope

BOARDS = Path(__file__).parent.parent / "data" / "dashboards"
KNOWN = of_catalogue(METRICS)
EXPECTED = {
    "controllers.json": [
        ("Offline partitions", "A", "sum-of-replicated"),
        ("Unclean elections", "A", "sum-of-replicated"),
        ("Unclean elections", "A", "raw-counter"),
        ("Current leader", "A", "sum-of-ids"),
        ("Elections", "A", "unknown-metric"),
        ("Heartbeats", "A", "unit"),
    ],
    "traffic.json": [
        ("Bytes in", "A", "total-and-parts"),
        ("Bytes in", "A", "unit"),
        ("Records", "A", "raw-counter"),
        ("Records", "A", "total-and-parts"),
        ("Handlers idle", "A", "since-boot"),
        ("Network idle", "A", "unit"),
        ("Produce p99", "A", "average-of-quantiles"),
        ("Produce p99", "A", "quantile-without-traffic"),
        ("Under-replicated", "A", "rate-of-gauge"),
        ("Broken", "A", "does-not-parse"),
    ],
    "jvm.json": [
        ("Heap", "A", "unknown-metric"),
        ("Heap", "B", "unit"),
        ("Heap in use", "A", "unit"),
    ],
    "sound.json": [],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_exactly_the_mistakes_of_a_dashboard_are_told(name):
    report = lint(read(BOARDS / name), KNOWN)

    assert [(one.panel, one.ref, one.check) for one in report.findings] == EXPECTED[name]


def test_every_file_has_its_expectation():
    assert {path.name for path in BOARDS.glob("*.json")} == set(EXPECTED)


def test_what_cannot_be_judged_is_named_with_its_reason():
    report = lint(read(BOARDS / "traffic.json"), KNOWN)

    assert [(one.panel, one.sentence) for one in report.skipped] == [
        ("Logs", "its data source is loki, not Prometheus"),
        ("Shared", "a library panel (Shared), whose queries are not in this file"),
    ]


def rightly_used(metric: Metric) -> list[str]:
    name = metric.name + ('{topic=""}' if "topic" in KNOWN.fact(metric.name).labels else "")
    over = "max" if metric.scope in (Scope.CONTROLLERS, Scope.ACTIVE) else "sum"
    if metric.kind is Kind.COUNTER:
        return [f"{over}(rate({name}[5m]))", f"{over} by (cluster) (increase({name}[5m]))"]
    if metric.kind is Kind.SUMMARY:
        mean = f"sum(rate({metric.name}_sum[5m])) / sum(rate({metric.name}_count[5m]))"
        gated = f"max({metric.name} and ignoring (quantile) rate({metric.name}_count[5m]) > 0)"
        return [mean] if metric.total else [mean, gated]
    if metric.kind is Kind.HISTOGRAM:
        return [f"histogram_quantile(0.99, sum by (le) (rate({metric.name}_bucket[5m])))"]
    return [name, f"max by (instance) ({name})"]


@pytest.mark.parametrize("metric", [one for one in METRICS if not one.until], ids=lambda metric: metric.key)
def test_every_metric_of_the_catalogue_used_rightly_is_let_be(metric):
    gathered = ("increase",)
    for expression in rightly_used(metric):
        counts = metric.kind is Kind.COUNTER and not any(word in expression for word in gathered)
        for shown in _right_units(metric, by_the_second=counts):
            panel = Panel(1, "p", "timeseries", (Target("A", expression),), unit=shown)
            assert lint(Dashboard("u", "b", (panel,)), KNOWN).findings == (), (expression, shown)


def _right_units(metric: Metric, *, by_the_second: bool) -> list[str]:
    plain = {
        "bytes": "bytes",
        "seconds": "s",
        "ms": "ms",
        "us": "µs",
        "ratio": "percentunit",
        "percent": "percent",
        "": "short",
    }
    rates = {"bytes": "Bps", "seconds": "percentunit", "": "cps"}
    if metric.name.endswith("byte_rate"):
        return ["", "Bps"]
    return ["", (rates if by_the_second else plain)[metric.unit]]


@pytest.mark.parametrize("metric", [one for one in METRICS if one.kind is Kind.COUNTER], ids=lambda metric: metric.key)
def test_every_counter_shown_as_it_stands_is_told_by_all_its_names(metric):
    for name in filter(None, (metric.name, metric.confluent, metric.bitnami)):
        panel = Panel(1, "p", "timeseries", (Target("A", f'{name}{{topic=""}}'),))
        assert "raw-counter" in {one.check for one in lint(Dashboard("u", "b", (panel,)), KNOWN).findings}, name


@pytest.mark.parametrize("metric", [one for one in METRICS if one.scope is Scope.CONTROLLERS], ids=lambda metric: metric.key)
def test_every_sum_over_what_controllers_repeat_is_told(metric):
    panel = Panel(1, "p", "timeseries", (Target("A", f"sum({metric.name})"),))

    assert "sum-of-replicated" in {one.check for one in lint(Dashboard("u", "b", (panel,)), KNOWN).findings}


def test_the_units_of_our_own_dashboards_are_known_to_the_check():
    from dashboards.build import dashboards
    from dashboards.reading import dashboard_of

    used = {panel.unit for made in dashboards().values() for panel in dashboard_of(made).panels if panel.unit}

    assert {one for one in used if one not in UNITS and not one.startswith("suffix:")} <= {"bool", "bool_yes_no", "string"}


def test_our_own_dashboards_have_no_findings():
    from dashboards.build import dashboards
    from dashboards.reading import dashboard_of

    reports = [lint(dashboard_of(made, name), KNOWN) for name, made in dashboards().items()]

    assert [one for report in reports for one in report.findings] == []
    assert sum(report.queries for report in reports) > 200


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(command)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_tells_one_line_each_and_fails(run):
    told = run(BOARDS / "controllers.json")

    assert told.exit_code == 1
    lines = told.stdout.splitlines()
    assert lines[0].startswith("Controllers, as often drawn")
    assert lines[1] == "  Offline partitions"
    assert lines[2].startswith(
        "    A  sum-of-replicated: the sum of kafka_controller_kafkacontroller_offlinepartitionscount is"
    )
    assert lines[-1].startswith("1 dashboard, 7 panels, 7 queries: 6 findings (judged by the catalogue alone")


def test_the_command_is_content_with_a_sound_dashboard(run):
    told = run(BOARDS / "sound.json")

    assert (told.exit_code, told.stdout.split(" (")[0]) == (0, "1 dashboard, 9 panels, 9 queries: 0 findings")


def test_a_folder_stands_for_the_dashboards_in_it(run):
    told = run(BOARDS)

    assert told.exit_code == 1
    assert told.stdout.splitlines()[-1].startswith("4 dashboards, 29 panels, 28 queries: 19 findings")


def test_a_page_is_asked_for_data(run, tmp_path):
    page = tmp_path / "page.txt"
    page.write_text("kafka_controller_kafkacontroller_offlinepartitionscount 0\n")
    told = run(BOARDS / "sound.json", "--metrics", page)

    assert told.exit_code == 1
    assert "no-data: there is no series of kafka_server_raftmetrics_current_leader" in told.stdout
    assert "1 query without data in panels that say there may be none" in told.stdout
    assert "catalogue alone" not in told.stdout


def test_json_has_everything(run):
    facts = json.loads(run(BOARDS / "traffic.json", "--json").stdout)

    assert (facts["dashboards"], facts["panels"], facts["queries"], facts["findings"]) == (1, 10, 8, 10)
    assert facts["reports"][0]["findings"][0] == {
        "check": "total-and-parts",
        "board": "Traffic, as often drawn",
        "panel": "Bytes in",
        "ref": "A",
        "sentence": "sum of kafka_server_brokertopicmetrics_bytesin_total takes each topic and, without a topic, "
        "the total of all",
        "hint": 'say topic="" for the total, or topic!="" for the topics',
    }
    assert len(facts["reports"][0]["skipped"]) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["none.json"], "none.json cannot be read: No such file or directory."),
        (["."], "has no *.json in it"),
        (["x.json"], "x.json is not a Grafana dashboard: it is not JSON"),
        ([BOARDS / "sound.json", "--metrics", "none.txt"], "none.txt cannot be read"),
        ([BOARDS / "sound.json", "--prometheus", "http://127.0.0.1:9"], "nobody answers at http://127.0.0.1:9"),
        ([BOARDS / "sound.json", "--prometheus", "localhost"], "not a URL"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(run, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    if words == ["x.json"]:
        Path("x.json").write_text("panels:")
    refused = run(*words).exception

    assert refused.exit_code == 2
    assert sentence in refused.message
