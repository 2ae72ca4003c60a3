"""Anybody's dashboard is read or refused in a sentence, its variables filled as Grafana would, Prometheus asked politely."""

import json
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.lint.known import of_catalogue
from dashboards.lint.linting import lint
from dashboards.prometheus import BadExpression, Prometheus, Sample, Series, without_login
from dashboards.reading import Grid, Panel, Target, Threshold, Variable, dashboard_of, read, with_queries
from dashboards.variables import filled, unfilled, used, values_of
from kernel.errors import UsageError
from kernel.metric_tables import METRICS

PANEL = {
    "id": 3,
    "title": "Heap",
    "description": "of the JVM",
    "type": "timeseries",
    "datasource": {"type": "prometheus", "uid": "$datasource"},
    "gridPos": {"x": 12, "y": 4, "w": 6, "h": 5},
    "repeat": "cluster",
    "fieldConfig": {
        "defaults": {
            "unit": "bytes",
            "noValue": "none",
            "min": 0,
            "max": "100",
            "decimals": 1,
            "thresholds": {
                "mode": "percentage",
                "steps": [{"value": None, "color": "green"}, {"value": 80, "color": "red"}],
            },
            "mappings": [{"type": "value", "options": {"0": {"text": "down"}}}],
            "custom": {"stacking": {"mode": "normal"}},
        },
        "overrides": [{"matcher": {"id": "byName", "options": "max"}, "properties": []}],
    },
    "options": {"legend": {"showLegend": False}},
    "targets": [
        {"refId": "A", "expr": "up", "legendFormat": "{{job}}", "instant": True, "format": "table"},
        {"refId": "B", "expr": "up == 0", "hide": True},
    ],
}


def board(*panels: object, **more: object) -> dict:
    return {"uid": "u1", "title": "A board", "schemaVersion": 39, "panels": list(panels)} | more


def test_a_panel_is_read_with_all_that_drawing_it_needs():
    (panel,) = dashboard_of(board(PANEL)).panels

    assert panel.targets == (
        Target("A", "up", "{{job}}", instant=True, format="table", datasource="$datasource"),
        Target("B", "up == 0", hidden=True, datasource="$datasource"),
    )
    assert [one.ref for one in panel.queries] == ["A"]
    assert (panel.id, panel.title, panel.type, panel.description) == (3, "Heap", "timeseries", "of the JVM")
    assert (panel.unit, panel.no_value, panel.grid, panel.repeat) == ("bytes", "none", Grid(12, 4, 6, 5), "cluster")
    assert (panel.minimum, panel.maximum, panel.decimals, panel.stacking, panel.legend) == (0.0, 100.0, 1, "normal", False)
    assert panel.thresholds == (Threshold(None, "green"), Threshold(80.0, "red"))
    assert panel.thresholds_mode == "percentage"
    assert panel.mappings[0]["type"] == "value"
    assert len(panel.overrides) == 1


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda inner: inner,
        lambda inner: {"meta": {}, "dashboard": inner},
        lambda inner: {"apiVersion": "dashboard.grafana.app/v1beta1", "kind": "Dashboard", "spec": inner},
    ],
    ids=["as a file", "as the API answers", "as a resource"],
)
def test_it_may_be_wrapped(wrapped):
    read_again = dashboard_of(wrapped(board(PANEL)))

    assert (read_again.uid, read_again.title, len(read_again.panels)) == ("u1", "A board", 1)


def test_rows_may_be_open_or_closed():
    closed = {"type": "row", "title": "Closed", "collapsed": True, "panels": [PANEL]}
    opened = {"type": "row", "title": "Open", "collapsed": False, "panels": []}

    panels = dashboard_of(board(PANEL, closed, opened, PANEL, PANEL)).panels

    assert [panel.row for panel in panels] == ["", "Closed", "Open", "Open"]


def test_rows_from_before_grafana_5_are_laid_out():
    old = {"type": "graph", "yaxes": [{"format": "s"}], "stack": True, "percentage": True, "targets": [{"expr": "up"}]}
    rows = [{"title": "One", "height": "300px", "panels": [old | {"span": 8}, old | {"span": 4}, old | {"span": 6}]}]

    panels = dashboard_of({"title": "old", "rows": rows}).panels

    assert [panel.grid for panel in panels] == [Grid(0, 0, 16, 10), Grid(16, 0, 8, 10), Grid(0, 10, 12, 10)]
    assert {(panel.unit, panel.row, panel.stacking) for panel in panels} == {("s", "One", "percent")}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"datasource": {"type": "loki", "uid": "x"}}, "its data source is loki, not Prometheus"),
        ({"datasource": {"type": "datasource", "uid": "grafana"}}, "its data source is grafana, not Prometheus"),
        ({"datasource": "-- Dashboard --"}, "its data source is another panel's data, not Prometheus"),
        ({"datasource": "$logs"}, "its data source is loki, not Prometheus"),
        ({"datasource": "${DS_X}"}, "its data source is graphite, not Prometheus"),
        ({"targets": [{"refId": "A"}]}, "it has no expression"),
        (
            {"targets": [], "libraryPanel": {"uid": "x", "name": "Shared"}},
            "a library panel (Shared), whose queries are not in this file",
        ),
    ],
)
def test_what_cannot_be_judged_is_noted_and_not_an_error(change, reason):
    variables = [{"name": "logs", "type": "datasource", "query": "loki"}]
    inputs = [{"name": "DS_X", "pluginId": "graphite"}]

    (panel,) = dashboard_of(board(PANEL | change, templating={"list": variables}, __inputs=inputs)).panels

    assert panel.skipped == reason
    assert panel.queries == ()


@pytest.mark.parametrize("datasource", [None, "Prometheus", "-- Mixed --", "${DS_P}", "$datasource", {"type": "prometheus"}])
def test_what_is_or_may_be_a_prometheus_is_not_skipped(datasource):
    more = {
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "__inputs": [{"name": "DS_P", "pluginId": "prometheus"}],
    }
    (panel,) = dashboard_of(board(PANEL | {"datasource": datasource}, **more)).panels

    assert panel.skipped == ""
    assert len(panel.queries) == 1


def test_a_query_of_another_source_in_a_mixed_panel_is_noted_by_itself():
    targets = [
        {"expr": "up"},
        {"expr": "x", "datasource": {"type": "loki"}},
        {"datasource": {"type": "__expr__", "uid": "__expr__"}},
    ]
    (panel,) = dashboard_of(board(PANEL | {"datasource": "-- Mixed --", "targets": targets})).panels

    assert panel.skipped == ""
    assert [(one.ref, bool(one.skipped)) for one in panel.targets] == [("A", False), ("B", True), ("C", True)]


def test_what_a_panel_of_text_was_left_with_is_no_query():
    (panel,) = dashboard_of(board(PANEL | {"type": "text"})).panels

    assert (panel.targets, panel.skipped) == ((), "")


def test_a_library_panel_that_came_along_is_read():
    elements = {"x": {"name": "Shared", "model": {"type": "stat", "targets": [{"refId": "A", "expr": "up"}]}}}
    reference = {"id": 7, "gridPos": {"x": 1}, "libraryPanel": {"uid": "x", "name": "Shared"}}

    (panel,) = dashboard_of(board(reference, __elements=elements)).panels

    assert (panel.id, panel.type, panel.queries[0].expression, panel.grid.x) == (7, "stat", "up", 1)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "it is a list"),
        (None, "it is null"),
        ("x", "it is a text"),
        (3, "it is a number"),
        ({}, "it is an empty object"),
        ({"groups": []}, "it has no panels (it has groups)"),
        ({"panels": 3}, "it has no panels"),
        ({"dashboard": {}}, "it has no panels (it has nothing)"),
        ({"spec": {"elements": {}, "layout": {}}}, "new v2 format"),
    ],
)
def test_what_is_no_dashboard_is_refused_in_a_sentence(document, words):
    with pytest.raises(UsageError) as refused:
        dashboard_of(document, "x.json")

    assert words in refused.value.message
    assert refused.value.message.startswith("x.json is ")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xff", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"panels": [1' + b"0" * 9999, "not JSON"),
    ],
)
def test_files_that_are_no_json_are_refused(tmp_path, content, words):
    path = tmp_path / "x.json"
    path.write_bytes(content)

    with pytest.raises(UsageError, match=words):
        read(path)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 10**400, "much", True, [], "1e999"])
def test_numbers_that_are_none_are_left_out(number):
    field_config = {"defaults": {"min": number, "decimals": number}}
    (panel,) = dashboard_of(board(PANEL | {"id": number, "gridPos": {"x": number}, "fieldConfig": field_config})).panels

    assert (panel.id, panel.grid, panel.minimum, panel.decimals) == (0, Grid(), None, None)


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("\ufeff" + json.dumps(board(PANEL)), encoding="utf-8")

    assert read(path).source == str(path)


def test_variables_and_annotations_are_read():
    variables = [
        {
            "name": "cluster",
            "type": "query",
            "query": {"query": "label_values(up, cluster)"},
            "current": {"value": ["a", "b"]},
        },
        {
            "name": "size",
            "type": "custom",
            "multi": True,
            "includeAll": True,
            "options": [{"value": "$__all"}, {"value": "1"}],
        },
        {"type": "query"},
    ]
    annotations = [
        {"name": "Restarts", "expr": "changes(up[5m])", "datasource": {"type": "prometheus", "uid": "p"}},
        {"name": "Built in", "datasource": "-- Grafana --", "enable": False},
    ]
    made = dashboard_of(board(templating={"list": variables}, annotations={"list": annotations}))

    assert [one.name for one in made.variables] == ["cluster", "size"]
    assert (made.variables[0].query, made.variables[0].chosen) == ("label_values(up, cluster)", ("a", "b"))
    assert (made.variables[1].options, made.variables[1].multi, made.variables[1].include_all) == (("1",), True, True)
    assert [(one.expression, one.enabled) for one in made.annotations] == [("changes(up[5m])", True), ("", False)]


def test_another_question_can_be_put_into_a_panel():
    assert [one.expression for one in with_queries(Panel(1, "p", "stat"), "up", "1").targets] == ["up", "1"]


@pytest.mark.parametrize(
    ("expression", "full"),
    [
        ('up{a="$one"}', 'up{a="1st"}'),
        ('up{a="${one}"}', 'up{a="1st"}'),
        ('up{a=~"${one:regex}"}', 'up{a=~"1st"}'),
        ('up{a=~"${one.text:raw}"}', 'up{a=~"1st"}'),
        ('up{a="[[one]]"}', 'up{a="1st"}'),
        ('up{a=~"[[one:regex]]"}', 'up{a=~"1st"}'),
        ('up{a=~"$one|$two"}', 'up{a=~"1st|x|y"}'),
        ('up{a="$other"}', 'up{a=~".*"}'),
        ('up{a = "$other-$one"}', 'up{a =~ ".*-1st"}'),
        ('up{a=~"$other"}', 'up{a=~".*"}'),
        ('up{a!="$other"}', 'up{a!="a^"}'),
        ('up{a!~"$other"}', 'up{a!~"a^"}'),
        ("up{a='$other'}", "up{a=~'.*'}"),
        ("rate(x[$__rate_interval])", "rate(x[1m])"),
        ("rate(x[$__interval])", "rate(x[15s])"),
        ("increase(x[$__range])", "increase(x[3600s])"),
        ("increase(x[${__range_s}s]) / $__range_s", "increase(x[3600s]) / 3600"),
        ("x / $__range_ms * $__interval_ms / $__rate_interval_ms", "x / 3600000 * 15000 / 60000"),
        ("topk($n, x)", "topk($n, x)"),
        ('label_replace(x, "a", "$1", "b", "(.*)")', 'label_replace(x, "a", "$1", "b", "(.*)")'),
        ('label_replace(x, "a", "$one-${1}", "b", "(.*)$")', 'label_replace(x, "a", "1st-${1}", "b", "(.*)$")'),
        ('up{a=~"x$"}', 'up{a=~"x$"}'),
        ('up{a="\\"$one\\""}', 'up{a="\\"1st\\""}'),
        ("$metric{}", "$metric{}"),
        ('x # don\'t $one\n{a="$one"}', 'x # don\'t 1st\n{a="1st"}'),
    ],
)
def test_variables_are_filled(expression, full):
    assert filled(expression, {"one": "1st", "two": "x|y"}) == full


def test_what_is_left_open_is_named():
    expression = 'topk($n, rate(x{a="$b"}[$window]))'

    assert used(expression + '+ label_replace(x, "a", "$1", "b", "(.*)")') == ["n", "b", "window"]
    assert filled('x{a=~"(b)$1"}', {}) == 'x{a=~"(b)$1"}'
    assert unfilled(filled(expression, {"n": "5"})) == ["window"]
    assert unfilled(filled(expression, {"n": ".*", "window": "5m"})) == ["n"]  # a pattern is no number


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        (Variable("v", "query", chosen=("there",)), ".*"),
        (Variable("v", "query", chosen=("$__all",), all_value="[a-z]+"), "[a-z]+"),
        (Variable("v", "custom", chosen=("a.b",)), "a.b"),
        (Variable("v", "custom", chosen=("a.b",), multi=True), "a\\\\.b"),
        (Variable("v", "custom", chosen=("a", "b"), multi=True), "(a|b)"),
        (Variable("v", "custom", chosen=("$__all",), options=("a", "b"), include_all=True), "(a|b)"),
        (Variable("v", "custom"), ".*"),
        (Variable("v", "constant", query="here"), "here"),
        (Variable("v", "textbox", chosen=("typed",)), "typed"),
        (Variable("v", "interval", chosen=("5m",)), "5m"),
        (Variable("v", "interval", chosen=("$__auto_interval_v",)), "1m"),
        (Variable("v", "datasource", chosen=("p",)), "p"),
        (Variable("v", "adhoc"), None),
    ],
)
def test_a_variable_has_the_value_that_grafana_would_choose(variable, value):
    made = dashboard_of(board())

    assert values_of(replace(made, variables=(variable,))).get("v") == value


def test_what_is_given_goes_before_and_what_was_saved_is_used_if_asked_for():
    made = replace(dashboard_of(board()), variables=(Variable("v", "query", chosen=("there",)),))

    assert values_of(made, {"v": "here"}) == {"v": "here"}
    assert values_of(made, saved=True) == {"v": "there"}


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_KEYS = st.sampled_from(
    (
        "panels", "rows", "dashboard", "spec", "title", "type", "targets", "expr", "refId", "datasource", "uid",
        "fieldConfig", "defaults", "overrides", "unit", "gridPos", "x", "w", "span", "height", "templating", "list",
        "name", "query", "current", "value", "options", "includeAll", "thresholds", "steps", "libraryPanel",
        "annotations", "custom", "stacking", "mode", "legend", "schemaVersion", "id", "links", "tags", "__inputs",
        "__elements", "model",
    )
)  # fmt: skip
_ANYTHING = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=6), max_leaves=30
)
_EXPRESSIONS = st.text(alphabet="$[]{}()\"'`=~!:._ \\abx15m+-*/", max_size=40)
_PANELS = st.fixed_dictionaries(
    {"targets": st.lists(st.fixed_dictionaries({"expr": _EXPRESSIONS}), max_size=3)},
    optional=dict.fromkeys(("type", "datasource", "fieldConfig", "gridPos", "options", "title", "panels", "id"), _ANYTHING),
)
KNOWN = of_catalogue(METRICS)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    document=_ANYTHING
    | st.fixed_dictionaries({"panels": st.lists(_PANELS | _ANYTHING, max_size=3), "templating": _ANYTHING})
)
def test_whatever_it_is_it_is_read_and_judged_or_refused(document):
    try:
        made = dashboard_of(document)
    except UsageError:
        return
    lint(made, KNOWN)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(expression=_EXPRESSIONS, values=st.dictionaries(st.sampled_from(["a", "b", "x"]), st.text(max_size=5)))
def test_filling_never_fails_and_leaves_what_has_no_variables(expression, values):
    full = filled(expression, values)

    if "$" not in expression and "[[" not in expression:
        assert full == expression


ANSWERS = {
    "/api/v1/query": {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [1.5, "+Inf"]}]},
    "/api/v1/query_range": {"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "2"], [2, "NaN"]]}]},
    "/api/v1/metadata": {"x": [{"type": "gauge"}], "y": [{"type": "gauge"}, {"type": "counter"}]},
    "/api/v1/label/__name__/values": ["x", "y"],
    "/api/v1/status/buildinfo": {"version": "2.42.0"},
}


@contextmanager
def answering(status: int = 200, body: object = None, wants: str = ""):
    """A server that answers as Prometheus would, and notes who asked what with which login."""
    seen: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen.append((self.path, self.headers.get("Authorization", "")))
            told = {"status": "success", "data": ANSWERS.get(self.path.split("?")[0])} if body is None else body
            denied = wants and self.headers.get("Authorization") != wants
            self.send_response(401 if denied else status)
            self.end_headers()
            self.wfile.write(told.encode() if isinstance(told, str) else json.dumps(told).encode())

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    monkeypatch.delenv("PROMETHEUS_TOKEN", raising=False)


def test_answers_of_prometheus_are_plain_values():
    with answering() as (where, _):
        server = Prometheus(f"http://{where}/")

        assert server.query("x", at=3.0) == [Sample({"a": "b"}, float("inf"), 1.5)]
        (series,) = server.query_range("x", 0, 10, 1)
        assert (series.labels, series.points[0]) == ({}, (1.0, 2.0))
        assert server.metadata() == {"x": "gauge", "y": "unknown"}
        assert (server.names(), server.version()) == ({"x", "y"}, "2.42.0")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ({"resultType": "scalar", "result": [1, "42"]}, [Sample({}, 42.0, 1.0)]),
        ({"resultType": "string", "result": [1, "x"]}, []),
        ({"resultType": "vector", "result": []}, []),
        (
            {"resultType": "matrix", "result": [{"metric": {"a": "b"}, "values": [[1, "2"], [2, "3"]]}]},
            [Sample({"a": "b"}, 3.0, 2.0)],
        ),
    ],
)
def test_every_shape_of_answer_is_understood(data, found):
    with answering(body={"status": "success", "data": data}) as (where, _):
        assert Prometheus(f"http://{where}").query("x") == found


def test_a_login_in_the_address_and_a_token_are_used_and_never_shown(monkeypatch):
    with answering(wants="Basic dXNlcjpzZWNyZXQ=") as (where, seen):
        Prometheus(f"http://user:secret@{where}").query("x")
        monkeypatch.setenv("PROMETHEUS_TOKEN", "sesame")
        with pytest.raises(UsageError, match="wants a login") as refused:
            Prometheus(f"http://{where}").query("x")

    assert [login for _, login in seen] == ["Basic dXNlcjpzZWNyZXQ=", "Bearer sesame"]
    assert "sesame" not in refused.value.message


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, "<html>Grafana</html>", "is not a Prometheus"),
        (200, [1], "is not a Prometheus"),
        (404, "not found", "is not a Prometheus"),
        (403, "no", "wants a login"),
        (503, {"status": "error", "error": "too busy"}, "too busy"),
    ],
)
def test_what_is_no_prometheus_is_refused_without_its_secrets(status, body, words):
    with answering(status, body) as (where, _), pytest.raises(UsageError, match=words) as refused:
        Prometheus(f"http://user:secret@{where}").query("up")

    assert "secret" not in refused.value.message
    assert not isinstance(refused.value, BadExpression)


def test_nobody_there_is_told_without_secrets():
    with pytest.raises(UsageError, match=r"nobody answers at http://127\.0\.0\.1:9 ") as refused:
        Prometheus("http://user:secret@127.0.0.1:9").query("up")

    assert "secret" not in refused.value.message


def test_an_expression_that_is_refused_is_its_own_error():
    answer = {"status": "error", "errorType": "bad_data", "error": "parse error"}

    with answering(400, answer) as (where, _), pytest.raises(BadExpression, match=r"refuses up\{: parse error"):
        Prometheus(f"http://{where}").query("up{")


def test_a_prometheus_that_keeps_no_metadata_is_fine():
    with answering(404, "not found") as (where, _):
        assert (Prometheus(f"http://{where}").metadata(), Prometheus(f"http://{where}").version()) == ({}, "")


@pytest.mark.parametrize("url", ["", "localhost:9090", "ftp://x", "http://", "http://[::1", "http://x:port"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(UsageError, match="not a URL"):
        without_login(url)


def test_an_address_is_shown_without_its_login():
    assert without_login("https://me:p%40ss@host:1/prom/") == ("https://host:1/prom", ("me", "p@ss"))
    assert without_login("http://[::1]:9090") == ("http://[::1]:9090", None)


def test_series_are_values():
    assert Series({"a": "b"}) == Series({"a": "b"}, ())
