"""Panels without data: judged on a scrape page, in either format, and by names that Kafka gave up."""

import pytest

from dashboards.lint.known import of_catalogue, with_names, with_series
from dashboards.lint.linting import lint
from dashboards.lint.pages import read_page, with_page
from dashboards.prometheus import BadExpression
from dashboards.reading import Dashboard, Panel, Target
from kernel.errors import UsageError
from kernel.metric_tables import METRICS

CATALOGUE = of_catalogue(METRICS)
OFFLINE = "kafka_controller_kafkacontroller_offlinepartitionscount"
URP = "kafka_server_replicamanager_underreplicatedpartitions"
IDLE = "kafka_server_kafkarequesthandlerpool_requesthandleravgidle"
PAGE = f"""\
# HELP {OFFLINE} Partitions without a leader.
# TYPE {OFFLINE} gauge
{OFFLINE}{{cluster="one",node="c1"}} 0
# TYPE {URP} gauge
{URP}{{cluster="one",node="b1"}} 0
{URP}{{cluster="one",node="b2"}} 0
# TYPE kafka_server_brokertopicmetrics_bytesin_total counter
kafka_server_brokertopicmetrics_bytesin_total{{cluster="one",node="b1",topic="orders"}} 7
# TYPE kafka_server_kafkarequesthandlerpool_requesthandleravgidle_seconds_total counter
kafka_server_kafkarequesthandlerpool_requesthandleravgidle_seconds_total{{node="b1"}} 7
# TYPE jvm_memory_used_bytes gauge
jvm_memory_used_bytes{{area="heap"}} 1e8
# TYPE queue_length gauge
queue_length 3
# TYPE jobs_done counter
jobs_done_total 3
"""
HERE = with_series(CATALOGUE, *read_page(PAGE))


def board(*expressions: str, **panel: object) -> Dashboard:
    targets = tuple(Target("ABCDEF"[at], one) for at, one in enumerate(expressions))
    return Dashboard("uid", "A board", (Panel(1, "A panel", "timeseries", targets, **panel),))


def told(expression: str, known=HERE, **more: object) -> list[tuple[str, str]]:
    return [(one.check, f"{one.sentence} → {one.hint}") for one in lint(board(expression), known, **more).findings]


@pytest.mark.parametrize(
    "expression",
    [
        f"max({OFFLINE})",
        f'{URP}{{node="b2"}}',
        f'{URP}{{node=~"b.*",cluster!="two"}}',
        f'{URP}{{job="kafka",instance=~"x.*"}}',  # of Prometheus: no page can have them
        f'{URP}{{environment="production"}}',  # nothing on the page has it, so Prometheus may add it
        f'{URP}{{node!~"c.*"}}',
        f"{URP} > 100",
        f"{URP} == 1 and {URP} == 2",
        f"sum({URP} or not_there)",
        f"not_there or {URP}",
        f"{URP} unless on (node) not_there",
        "absent(not_there)",
        f"absent(not_there) or {URP}",
        "vector(1)",
        "time()",
        'sum(up{job="kafka"}) + count(ALERTS{alertstate="firing"})',
        '{__name__=~"kafka_server_replica.*"}',
        'rate(kafka_server_brokertopicmetrics_bytesin_total{topic="orders"}[5m] offset 1d)',
        f'{URP}{{node=~"(?P<x>b).*\\\\z"}}',  # Go's pattern, not Python's
    ],
)
def test_a_query_whose_selectors_have_series_has_data(expression):
    assert told(expression) == []


@pytest.mark.parametrize(
    ("expression", "check", "words"),
    [
        (f'{URP}{{node="b9"}}', "no-data", f'no series of {URP} has node="b9"'),
        (f'{URP}{{node!~"b.*"}}', "no-data", 'has node!~"b.*"'),
        (f'{URP}{{node=~"b"}}', "no-data", 'has node=~"b"'),
        (f'{URP}{{node="c1"}}', "no-data", 'has node="c1"'),
        (f'{URP}{{node="b1",cluster="two"}} > 0', "no-data", 'has cluster="two"'),
        (f'{URP}{{node=~"b1",node=~"b2"}}', "no-data", "each matcher has some"),
        (f'sum({URP}{{topic="orders"}})', "no-data", 'has topic="orders"'),
        (
            "kafka_server_replicamanager_leadercount",
            "no-data",
            "there is no series of kafka_server_replicamanager_leadercount",
        ),
        (f"not_there_1 or {OFFLINE}{{node='x'}}", "unknown-metric", "there is no metric not_there_1"),
        (f"{URP} and on (node) not_there", "unknown-metric", "there is no metric not_there"),
        (f"{URP} * on (node) group_left () kafka_server_app_version", "no-data", "kafka_server_app_version"),
        ('{__name__=~"nothing.*"}', "no-data", "no series matches"),
        ("rate(not_there[5m])", "unknown-metric", "no name is near it"),
        ("queue_lenght", "unknown-metric", "use queue_length"),
        ("rate(jobs_done[5m])", "unknown-metric", "use jobs_done_total"),
        (f"max({OFFLINE}_value)", "unknown-metric", f"use {OFFLINE}"),
        (
            "rate(kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent[5m])",
            "unknown-metric",
            "use kafka_server_kafkarequesthandlerpool_requesthandleravgidle_seconds_total, and mind that its value is 1e-09",
        ),
        ("jvm_memory_bytes_used", "unknown-metric", "use jvm_memory_used_bytes"),
        ("rate(kafka_network_requestmetrics_totaltimems_count[5m])", "no-data", "is what exports it scraped"),
        ("histogram_quantile(0.9, rate(kafka_probe_ack_seconds_bucket[5m]))", "no-data", "kafka_probe_ack_seconds_bucket"),
        ("kafka_server_ReplicaManager_UnderReplicatedPartitions", "unknown-metric", f"use {URP}"),
        ("Queue_Length_Value", "unknown-metric", "use queue_length"),
    ],
)
def test_a_query_without_data_is_told_with_what_is_to_blame(expression, check, words):
    found = told(expression)

    assert check in [name for name, _ in found]
    assert words in " ".join(sentence for _, sentence in found)


@pytest.mark.parametrize("known", [HERE, CATALOGUE], ids=["on a page", "by the catalogue"])
def test_a_constant_does_not_hide_a_wrong_name(known):
    assert [check for check, _ in told("sum(jvm_memory_bytes_used) or vector(0)", known)] == ["unknown-metric"]
    assert [check for check, _ in told(f"{URP} + (sum(jvm_memory_bytes_used) or on () vector(0))", known)] == [
        "unknown-metric"
    ]
    assert told("max(kafka_server_replicamanager_leadercount) or vector(0)", known) == []
    assert told(f'max({URP}{{node="b9"}}) or vector(0)', known) == []


def test_a_comparison_does_not_excuse_a_selector():
    assert [check for check, _ in told(f'{URP}{{node="b9"}} > 0')] == ["no-data"]


def test_a_panel_that_says_there_may_be_nothing_is_quiet_unless_strict():
    empty = board("kafka_server_replicamanager_leadercount", no_value="none yet")

    assert [len(part) for part in _parts(lint(empty, HERE))] == [0, 1]
    assert [len(part) for part in _parts(lint(empty, HERE, strict=True))] == [1, 0]


def test_a_wrong_name_is_told_even_by_a_panel_that_says_there_may_be_nothing():
    report = lint(board("jvm_memory_bytes_used", no_value="none yet"), HERE)

    assert [one.check for one in report.findings] == ["unknown-metric"]


def _parts(report):
    return report.findings, report.quiet


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("kafka_controller_controllerstats_leaderelectionrateandtimems_count", "newactivecontrollerscount_total"),
        ("kafka_server_kafkarequesthandlerpool_controlplanerequesthandleravgidlepercent", "controllerrequesthandleravgidle"),
        ("kafka_server_sessionexpirelistener_zookeeperdisconnects_total", "ZooKeeper"),
        ("sum(jvm_memory_bytes_max)", "use jvm_memory_max_bytes"),
        ("jvm_memory_pool_bytes_used", "use jvm_memory_pool_used_bytes"),
    ],
)
def test_names_that_kafka_or_its_exporters_gave_up_are_told_without_any_series(expression, words):
    found = dict(told(expression, CATALOGUE))

    assert words in found["unknown-metric"]


@pytest.mark.parametrize(
    "expression",
    [
        URP,
        "a_metric_of_somebody_else",
        "jvm_memory_used_bytes or jvm_memory_bytes_used",
        "jvm_memory_used_bytes",
        "zookeepers",
        'kafka_server_brokertopicmetrics_total_bytesinpersec_count{a="b"} > bool 0',
    ],
)
def test_without_any_series_other_names_are_let_be(expression):
    assert [check for check, _ in told(expression, CATALOGUE)] == []


def test_a_name_that_is_gone_and_yet_there_is_let_be():
    old = "kafka_server_kafkarequesthandlerpool_controlplanerequesthandleravgidlepercent"
    here = with_series(CATALOGUE, *read_page(f"{old} 1\n"))

    assert told(old, here) == []


def test_openmetrics_is_read_too():
    text = PAGE.replace(
        "# TYPE kafka_server_brokertopicmetrics_bytesin_total", "# TYPE kafka_server_brokertopicmetrics_bytesin"
    )
    text = text.replace("avgidle_seconds_total counter", "avgidle_seconds counter") + "# EOF\n"

    assert read_page(text)[0] == read_page(PAGE)[0]


def test_openmetrics_may_have_exemplars():
    text = '# TYPE took histogram\ntook_bucket{le="+Inf"} 3 # {trace="a"} 0.5\ntook_count 3\ntook_sum 1\n# EOF\n'

    assert read_page(text)[0] == {"took_bucket": ({"le": "+Inf"},), "took_count": ({},), "took_sum": ({},)}


@pytest.mark.parametrize("kind", ["plain", "openmetrics"])
def test_the_declared_type_of_a_metric_nobody_knows_is_used(kind):
    end = "# EOF\n" if kind == "openmetrics" else ""
    here = with_series(
        CATALOGUE, *read_page("# TYPE jobs_done counter\njobs_done_total 3\n# TYPE depth gauge\ndepth 3\n" + end)
    )

    assert [check for check, _ in told("rate(depth[5m])", here)] == ["rate-of-gauge"]
    assert [check for check, _ in told("jobs_done_total", here)] == ["raw-counter"]
    assert told("rate(jobs_done_total[5m]) + depth", here) == []


def test_a_summary_is_judged_as_kafkas_only_if_it_is():
    page = '# TYPE {0}_seconds summary\n{0}_seconds{{quantile="0.5"}} 1\n{0}_seconds_count 3\n'
    here = with_series(HERE, *read_page(page.format("kafka_streams_lag") + page.format("go_gc")))

    assert [check for check, _ in told("kafka_streams_lag_seconds", here)] == ["quantile-without-traffic"]
    assert [check for check, _ in told("kafka_streams_lag_seconds_count", here)] == ["raw-counter"]
    assert told("go_gc_seconds", here) == []


def test_several_pages_are_one():
    both = with_series(HERE, *read_page('# TYPE runs counter\nruns{node="b3"} 3\n'))

    assert told(f"{URP} + on () sum(rate(runs[5m]))", both) == []
    assert 'has node="b3"' in told(f'{URP}{{node="b3"}}', both)[0][1]
    assert [check for check, _ in told("runs", both)] == ["raw-counter"]


@pytest.mark.parametrize(
    ("name", "right", "decoy"),
    [
        ("jvm_memory_bytes_used", "jvm_memory_used_bytes", "jvm_memory_bytes_users"),
        (f"{IDLE}percent", f"{IDLE}_seconds_total", f"{IDLE}percents"),
        ("jobs_done_count", "jobs_done_total", "jobs_done_counts"),
    ],
)
def test_the_same_under_another_name_goes_before_what_is_only_spelt_alike(name, right, decoy):
    here = with_series(CATALOGUE, *read_page(f"{right} 1\n{decoy} 1\n"))

    assert f"use {right}" in dict(told(f"sum(rate({name}[5m]))", here))["unknown-metric"]


def test_matchers_on_job_and_instance_are_prometheus_to_judge_even_if_a_page_has_such_labels():
    here = with_series(HERE, *read_page('pushed{job="backup",instance="x"} 1\n'))

    assert told(f'sum({URP}{{job="kafka",instance="b1:9404"}})', here) == []


def test_a_page_with_only_the_topics_makes_their_sum_right():
    expression = "sum(rate(kafka_server_brokertopicmetrics_bytesin_total[5m]))"
    total = "kafka_server_brokertopicmetrics_bytesin_total 9\n"

    assert told(expression) == []
    assert [check for check, _ in told(expression, with_series(HERE, *read_page(total)))] == ["total-and-parts"]


@pytest.mark.parametrize("text", ["", "<html>", "# TYPE x gauge\n", "x{ 1\n", "x\n", '{"panels": []}'])
def test_what_is_no_page_is_refused_in_a_sentence(tmp_path, text):
    path = tmp_path / "page.txt"
    path.write_text(text)

    with pytest.raises(UsageError, match=r"page\.txt is not a page of metrics"):
        with_page(CATALOGUE, path)


def test_a_page_that_is_not_there_or_not_text_is_refused(tmp_path):
    (tmp_path / "page.bin").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(UsageError, match="cannot be read"):
        with_page(CATALOGUE, tmp_path / "no.txt")
    with pytest.raises(UsageError, match="not text"):
        with_page(CATALOGUE, tmp_path / "page.bin")


def test_a_constant_does_not_hide_a_wrong_name_from_a_prometheus():
    known = with_names(CATALOGUE, {URP}, {})

    def ask(expression: str) -> bool:
        return "vector" in expression or expression == URP

    assert [check for check, _ in told("sum(underreplicated) or vector(0)", known, ask=ask)] == ["unknown-metric"]
    assert told(f"sum({URP}) or vector(0)", known, ask=ask) == []


def test_each_question_is_put_once_to_a_prometheus():
    asked = []

    def ask(expression: str) -> bool:
        asked.append(expression)
        return False

    known = with_names(CATALOGUE, {URP}, {})
    lint(board(URP, f"sum({URP})", URP), known, ask=ask)

    assert len(asked) == len(set(asked)) > 1


def test_a_query_that_is_empty_though_its_selectors_are_not_is_told():
    known = with_names(CATALOGUE, {URP, OFFLINE}, {})
    found = told(f"{URP} / on (node) {OFFLINE}", known, ask=lambda expression: "/" not in expression)

    assert [check for check, _ in found] == ["no-data"]
    assert "labels of its two sides differ" in found[0][1]


def test_a_query_of_a_time_before_there_was_data_has_data():
    known = with_names(CATALOGUE, {URP}, {})
    expression = f'{URP}{{node="an offset 1d"}} - {URP} offset 1d'

    assert told(expression, known, ask=lambda asked: not asked.endswith("offset 1d")) == []


def test_a_query_that_is_too_much_for_prometheus_is_told_and_the_others_are_judged():
    def ask(expression: str) -> bool:
        if "heavy" in expression:
            raise UsageError("http://p did not answer within 10 s: is it well?")
        return True

    report = lint(board("sum(heavy)", f"sum({OFFLINE})"), with_names(CATALOGUE, {"heavy", OFFLINE}, {}), ask=ask)

    assert [(one.ref, one.check) for one in report.findings] == [("A", "refused"), ("B", "sum-of-replicated")]


def test_a_query_that_is_empty_by_its_comparison_alone_has_data():
    known = with_names(CATALOGUE, {URP}, {})

    assert told(f"sum({URP}) > 5", known, ask=lambda expression: ">" not in expression) == []


def test_alerts_that_never_fired_are_missing_data_and_no_wrong_name():
    found = told("count(ALERTS)", with_names(CATALOGUE, {"up"}, {}), ask=lambda _: False)

    assert [check for check, _ in found] == ["no-data"]


def test_prometheus_has_the_last_word_on_what_can_be_read():
    def refuse(expression: str) -> bool:
        raise BadExpression("no", reason="unexpected end of input")

    newer = lint(board("x offset (1m)"), with_names(CATALOGUE, {"x"}, {}), ask=lambda _: True)

    assert ([one.check for one in newer.findings], len(newer.skipped)) == ([], 1)
    assert told("sum(", with_names(CATALOGUE, {"x"}, {}), ask=refuse)[0][1].startswith(
        "Prometheus cannot read the query: unexpected end of input"
    )


def test_a_query_that_prometheus_refuses_is_told_in_its_words():
    def refuse(expression: str) -> bool:
        raise BadExpression("no", reason="many-to-many matching not allowed")

    found = told(f"{URP} / {OFFLINE}", with_names(CATALOGUE, {URP, OFFLINE}, {}), ask=refuse)

    assert found[0][0] == "refused"
    assert "many-to-many" in found[0][1]
