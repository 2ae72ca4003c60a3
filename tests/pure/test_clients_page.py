"""What people will copy from docs/clients.md is right: its Python runs, its queries parse, and the alert fires."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from exporters.clients import ClientMetrics
from kernel.errors import UsageError
from kernel.metric_tables import METRICS
from tests.promtool import needed
from tests.pure.snippets import DOCS, alerts, blocks

PAGE = "clients.md"
PYTHON, QUERIES = blocks(PAGE, "python"), [*alerts(PAGE), *blocks(PAGE, "promql")]
NAMES = {metric.name for metric in METRICS}
SUFFIXES = ("_bucket", "_count", "_sum")


@pytest.fixture
def promtool() -> str:
    return needed("promtool")


def indented(query: str) -> str:
    return "\n".join("          " + line for line in query.strip().splitlines())


def rules(queries: list[str]) -> str:
    made = [f"      - alert: A{number}\n        expr: |\n{indented(query)}\n" for number, query in enumerate(queries)]
    return "groups:\n  - name: clients\n    rules:\n" + "".join(made)


def test_there_is_something_to_check():
    assert (len(PYTHON), len(alerts(PAGE)), len(blocks(PAGE, "promql"))) == (3, 14, 3)


@pytest.mark.parametrize("snippet", PYTHON, ids=range(len(PYTHON)))
def test_its_python_compiles(snippet: str):
    compile(snippet, PAGE, "exec")


@pytest.mark.parametrize("snippet", PYTHON[1:], ids=range(1, len(PYTHON)))
def test_what_needs_no_broker_runs(snippet: str):
    """The first is run by tests/cluster, where somebody answers."""
    scope: dict[str, Any] = {}
    exec(snippet.replace("localhost:9092", "127.0.0.1:1"), scope)  # noqa: S102

    scope["producer"].purge()
    scope["producer"].flush(10)


def test_its_queries_ask_for_what_is_there():
    asked = set(re.findall(r"kafka_client_\w+", " ".join(QUERIES)))
    asked = {next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end)), name) for name in asked}

    assert asked <= NAMES


def test_its_table_names_what_is_there():
    page = (DOCS / PAGE).read_text()
    named = {
        word
        for line in page.splitlines()
        if line.startswith("| `")
        for word in re.findall(r"`(\w+)[`{]", line.split("|")[1])
    }

    assert {f"kafka_client_{name}" for name in named} <= NAMES
    assert "deliveries_total" in named


def test_its_queries_are_understood_by_prometheus(promtool: str, tmp_path: Path):
    (tmp_path / "rules.yml").write_text(rules(QUERIES))

    checked = subprocess.run([promtool, "check", "rules", tmp_path / "rules.yml"], capture_output=True, text=True)

    assert (checked.returncode, f"{len(QUERIES)} rules found" in checked.stdout) == (0, True), (
        checked.stdout + checked.stderr
    )


@pytest.mark.parametrize(
    ("outcome", "values", "fires"),
    [("_MSG_TIMED_OUT", "_x10 7x3", True), ("_PURGE_QUEUE", "_x10 7x3", False), ("ok", "_x10 7x3", False)],
)
def test_the_first_failure_of_a_kind_is_seen(promtool: str, tmp_path: Path, outcome: str, values: str, fires: bool):
    """A series that appears at 7 has no increase; the third query sees it all the same."""
    rate, _, first = blocks(PAGE, "promql")
    series = f'kafka_client_deliveries_total{{topic="orders", outcome="{outcome}"}}'
    seen = "\n        exp_samples:\n          - labels: '{topic=\"orders\"}'\n            value: 7" if fires else ""
    (tmp_path / "test.yml").write_text(
        "rule_files: []\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n"
        f"      - series: '{series}'\n        values: '{values}'\n    promql_expr_test:\n"
        f"      - expr: |\n{indented(first)}\n        eval_time: 12m{seen}\n"
        f"      - expr: |\n{indented(rate)} > 0\n        eval_time: 12m\n"
    )

    checked = subprocess.run([promtool, "test", "rules", tmp_path / "test.yml"], capture_output=True, text=True)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_refusal_it_shows_is_the_one_that_comes():
    with pytest.raises(UsageError) as refused:
        ClientMetrics().watched({"statistics.interval.ms": 0})

    assert f"> `UsageError: {refused.value.message}`" in (DOCS / PAGE).read_text()
